#include "app/bench_options.h"

#include <algorithm>
#include <cstdlib>

#include "app/workload_words.h"
#include "config/config.h"
#include "policy/load.h"

namespace wg::app {
namespace {

using bench::BenchPlan;
using bench::EngineAddress;
using bench::TargetPlan;

// NAME=URL, or a URL alone.
struct Named {
  std::string name;
  config::Url url;
};

Result<Named> named_url(const char* option, const std::string& text) {
  Named named;
  const std::size_t equals = text.find('='), scheme = text.find("://");
  std::string url = text;
  if (equals != text.npos && equals < scheme) named.name = text.substr(0, equals), url = text.substr(equals + 1);
  if (equals == 0) return fail(Fault::client, std::string(option) + " " + text + ": nothing stands before the =");
  auto parsed = config::parse_url(url);
  if (!parsed) return fail(Fault::client, std::string(option) + " " + text + ": " + parsed.error().what);
  named.url = std::move(*parsed);
  if (named.url.base_path.ends_with("/v1"))
    return fail(Fault::client, std::string(option) + " " + text + ": give the URL without /v1");
  return named;
}

Result<std::string> key_of(const std::string& variable) {
  if (variable.empty()) return std::string();
  const char* const value = std::getenv(variable.c_str());
  if (value == nullptr || *value == 0)
    return fail(Fault::client, "--api-key-env " + variable + ": the environment has no such variable");
  return std::string(value);
}

Result<void> read_targets(BenchPlan& plan, const BenchWords& words, const std::string& key) {
  if (words.urls.empty()) return fail(Fault::client, "no target: give --url http://HOST:PORT (repeatable)");
  for (const std::string& text : words.urls) {
    const auto named = named_url("--url", text);
    if (!named) return tl::unexpected(named.error());
    TargetPlan& target = plan.targets.emplace_back();
    target.target.name = named->name.empty() ? named->url.host + ":" + std::to_string(named->url.port) : named->name;
    target.target.host = named->url.host;
    target.target.port = named->url.port;
    target.target.base_path = named->url.base_path;
    target.target.credential = key;
    target.target.model = words.model;
    target.target.session_header = words.session_header;
    target.target.ignore_eos = words.ignore_eos;
    target.target.api = words.dialect == "anthropic" ? dialect::Api::messages : dialect::Api::chat;
    const auto same = [&](const TargetPlan& other) { return other.target.name == target.target.name; };
    if (std::count_if(plan.targets.begin(), plan.targets.end(), same) > 1)
      return fail(Fault::client,
                  "--url " + text + ": there is a target " + target.target.name + " already; name it as NAME=URL");
  }
  return {};
}

// NAME=URL belongs to that target; without a name it belongs to the only one.
Result<TargetPlan*> target_of(BenchPlan& plan, const char* option, const std::string& text, const std::string& name) {
  std::string known;
  for (TargetPlan& target : plan.targets) {
    if (target.target.name == name || (name.empty() && plan.targets.size() == 1)) return &target;
    known += (known.empty() ? "" : ", ") + target.target.name;
  }
  return fail(Fault::client,
              std::string(option) + " " + text + ": write NAME=URL with the target's name; there are: " + known);
}

Result<void> read_admins(BenchPlan& plan, const BenchWords& words) {
  for (const std::string& text : words.admins) {
    const auto named = named_url("--admin", text);
    if (!named) return tl::unexpected(named.error());
    const auto target = target_of(plan, "--admin", text, named->name);
    if (!target) return tl::unexpected(target.error());
    (*target)->admin = EngineAddress{named->url.host, named->url.port, named->url.base_path, ""};
  }
  return {};
}

// Without a name they stand behind every target.
Result<void> read_engines(BenchPlan& plan, const BenchWords& words, const std::string& key) {
  for (const std::string& text : words.engines) {
    const auto named = named_url("--engine", text);
    if (!named) return tl::unexpected(named.error());
    const EngineAddress engine{named->url.host, named->url.port, named->url.base_path, key};
    if (named->name.empty()) {
      for (TargetPlan& target : plan.targets) target.engines.push_back(engine);
      continue;
    }
    const auto target = target_of(plan, "--engine", text, named->name);
    if (!target) return tl::unexpected(target.error());
    (*target)->engines.push_back(engine);
  }
  return {};
}

Result<void> read_compared(BenchPlan& plan, const BenchWords& words) {
  if (words.compare.empty()) return {};
  for (const std::string& name : list_of(words.compare)) {
    if (!policy::policy_named(name))
      return fail(Fault::client,
                  "--compare: there is no policy '" + name + "'; known are " + std::string(policy::policy_names));
    plan.policies.push_back(name);
  }
  const auto has_admin = [](const TargetPlan& target) { return target.admin.has_value(); };
  if (std::none_of(plan.targets.begin(), plan.targets.end(), has_admin))
    return fail(Fault::client, "--compare needs --admin URL: the policy is switched there");
  return {};
}

Result<void> read_sessions(BenchPlan& plan, const BenchWords& words) {
  for (const std::string& text : list_of(words.sessions)) {
    const bool is_number = !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == text.npos;
    if (!is_number || std::stoul(text) == 0)
      return fail(Fault::client, "--sessions: '" + text + "' must be a whole number from 1 to 9999");
    plan.sessions.push_back(static_cast<std::uint32_t>(std::stoul(text)));
  }
  return {};
}

Result<void> read_times(BenchPlan& plan, const BenchWords& words) {
  const auto step = time_of("--step", words.step, false), warmup = time_of("--warmup", words.warmup, true);
  if (!step) return tl::unexpected(step.error());
  if (!warmup) return tl::unexpected(warmup.error());
  plan.step = *step, plan.warmup = *warmup;
  return {};
}

Result<void> read_workload(BenchPlan& plan, const BenchWords& words) {
  const auto preset = sim::preset_named(words.preset);
  if (!preset) return fail(Fault::client, "--preset: " + preset.error().what);
  Tokens limit = words.context > 0 ? Tokens{words.context} : preset->engine.model_len();
  limit -= {limit.count / 32};  // a chat template, and text that is not as long as was learnt
  auto work = workload_of({words.workload, words.think, words.cap_think, words.scale}, preset->load, limit, plan.notes);
  if (!work) return tl::unexpected(work.error());
  plan.work = std::move(*work);
  plan.work_words = words.workload + (words.think.empty() ? "" : ", think " + words.think) +
                    (words.cap_think.empty() ? "" : ", pauses of at most " + words.cap_think);
  return {};
}

}  // namespace

Result<BenchPlan> bench_plan(const BenchWords& words) {
  BenchPlan plan;
  const auto key = key_of(words.api_key_env);
  if (!key) return tl::unexpected(key.error());
  if (words.dialect != "openai" && words.dialect != "anthropic")
    return fail(Fault::client, "--dialect: '" + words.dialect + "' is none; known are openai, anthropic");
  for (const Result<void>& read :
       {read_targets(plan, words, *key), read_admins(plan, words), read_engines(plan, words, *key),
        read_compared(plan, words), read_sessions(plan, words), read_times(plan, words), read_workload(plan, words)})
    if (!read) return tl::unexpected(read.error());
  plan.seeds = words.seeds;
  plan.time_scale = words.time_scale;
  plan.reset_prefix_cache = words.reset_prefix_cache;
  return plan;
}

}  // namespace wg::app
