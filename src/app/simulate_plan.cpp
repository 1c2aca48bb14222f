#include "app/simulate_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "sim/trace.h"

namespace wg::app {
namespace {

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> list(1);
  for (const char c : text)
    if (c == ',')
      list.emplace_back();
    else
      list.back() += c;
  return list;
}

tl::unexpected<Error> wrong(std::string what) { return fail(Fault::client, std::move(what)); }

// A whole number from 1 to `most`, or 0.
std::uint32_t count_of(const std::string& text, std::uint32_t most) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos) return 0;
  const unsigned long number = std::stoul(text);
  return number <= most ? static_cast<std::uint32_t>(number) : 0;
}

// NAME-dpN: N ranks of the machine NAME; NAME alone: one.
Result<void> read_preset(SimulatePlan& plan, const std::string& text) {
  std::string name = text;
  plan.run.ranks = 1;
  if (const std::size_t dp = text.rfind("-dp"); dp != text.npos) {
    plan.run.ranks = count_of(text.substr(dp + 3), 999);
    if (plan.run.ranks == 0) return wrong("--preset " + text + ": behind -dp stands the number of replicas, 1 to 999");
    name = text.substr(0, dp);
  }
  auto preset = sim::preset_named(name);
  if (!preset) return wrong("--preset: " + preset.error().what + ", each with -dpN for N replicas");
  plan.run.preset = std::move(*preset);
  plan.target = text;
  return {};
}

Result<Duration> time_of(const char* option, const std::string& text, bool may_be_zero) {
  auto time = sim::duration_named(text);
  if (!time) return wrong(std::string(option) + ": " + time.error().what);
  if (!may_be_zero && time->count() == 0) return wrong(std::string(option) + " must be longer than nothing");
  return time;
}

Result<std::shared_ptr<const sim::Trace>> trace_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return wrong("--workload: cannot read " + file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto trace = sim::read_trace(text);
  if (!trace) return wrong("--workload: " + file + ": " + trace.error().what);
  return std::make_shared<const sim::Trace>(std::move(*trace));
}

Result<sim::Workload> work_of(const SimulateWords& words, SimulatePlan& plan) {
  sim::Workload work;
  const auto name = sim::workload_named(words.workload);
  if (!name) return wrong("--workload: " + name.error().what);
  if (!(words.scale > 0) || words.scale > 100) return wrong("--scale must be above 0 and at most 100");
  work.kind = name->kind;
  work.load = sim::scaled(plan.run.preset.load, words.scale);
  work.scale = words.scale;
  work.limit = plan.run.preset.engine.model_len();
  if (!words.think.empty()) {
    const auto think = sim::think_named(words.think);
    if (!think) return wrong("--think: " + think.error().what);
    if (work.kind == sim::WorkloadKind::mix) return wrong("--think: the workload mix has its own pauses");
    work.think = *think;
  }
  if (!words.cap_think.empty()) {
    const auto cap = time_of("--cap-think", words.cap_think, false);
    if (!cap) return tl::unexpected(cap.error());
    work.longest_pause = *cap;
  }
  if (work.kind != sim::WorkloadKind::trace) return work;
  auto trace = trace_in(name->file);
  if (!trace) return tl::unexpected(trace.error());
  work.trace = std::move(*trace);
  if (const double cut = sim::share_cut(work); cut > 0.001) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "%.1f %% of the trace's turns are longer than the engine's context of %lld tokens and are cut to it; "
                  "--scale makes them shorter",
                  100 * cut, static_cast<long long>(work.limit.count));
    plan.notes.emplace_back(text);
  }
  return work;
}

// The longest turn must fit into one replica, or every session would end in an error.
Result<void> check_fit(const SimulatePlan& plan) {
  const sim::Workload& work = *plan.run.work;
  if (work.kind == sim::WorkloadKind::trace) return {};
  const sim::AgentLoad& load = work.load;
  const std::int64_t longest =
      load.head + load.first.high + load.output.high + (load.turns - 1) * (load.added.high + load.output.high);
  const std::int64_t most = plan.run.preset.engine.model_len().count;
  if (longest <= most) return {};
  return wrong("the last turn of a session has up to " + std::to_string(longest) + " tokens, a replica's context is " +
               std::to_string(most) + "; --scale makes sessions shorter");
}

}  // namespace

Result<SimulatePlan> plan_of(const SimulateWords& words) {
  SimulatePlan plan;
  if (const auto read = read_preset(plan, words.preset); !read) return tl::unexpected(read.error());
  for (const std::string& name : list_of(words.policies)) {
    const auto policy = policy::policy_named(name);
    if (!policy)
      return wrong("--policies: there is no policy '" + name + "'; known are " + std::string(policy::policy_names));
    plan.policies.push_back(*policy);
  }
  for (const std::string& text : list_of(words.sessions)) {
    const std::uint32_t sessions = count_of(text, 99'999);
    if (sessions == 0) return wrong("--sessions: '" + text + "' must be a whole number from 1 to 99999");
    plan.sessions.push_back(sessions);
  }
  const auto step = time_of("--step", words.step, false), warmup = time_of("--warmup", words.warmup, true);
  if (!step) return tl::unexpected(step.error());
  if (!warmup) return tl::unexpected(warmup.error());
  plan.run.step = *step;
  plan.run.warmup = *warmup;
  if (words.spill_threshold != "auto") {
    const std::uint32_t threshold = count_of(words.spill_threshold, 99'999);
    if (threshold == 0)
      return wrong("--spill-threshold: '" + words.spill_threshold + "' must be auto or a number from 1");
    plan.run.spill_threshold = threshold;
  }
  auto work = work_of(words, plan);
  if (!work) return tl::unexpected(work.error());
  plan.run.work = std::move(*work);
  if (const auto fits = check_fit(plan); !fits) return tl::unexpected(fits.error());
  if (words.keep_cache)
    plan.notes.emplace_back(
        "each policy but the first begins, at each number of sessions, with the caches that the policy before it left "
        "there, and asks the same prompts");
  return plan;
}

}  // namespace wg::app
