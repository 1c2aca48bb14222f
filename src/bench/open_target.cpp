#include "bench/open_target.h"

#include <nlohmann/json.hpp>

#include "config/config.h"
#include "core/hash.h"

namespace wg::bench {
namespace {

constexpr Duration question_timeout = std::chrono::seconds(10);
constexpr std::size_t page_limit = 16 << 20;

std::string url_of(const Target& target) {
  return EngineAddress{target.host, target.port, target.base_path, ""}.text();
}

EngineAddress address_of(const Target& target) {
  return {target.host, target.port, target.base_path, target.credential};
}

// As our own admin API writes it: http://HOST:PORT/PREFIX.
EngineAddress address_of(const std::string& url, const std::string& credential) {
  EngineAddress address;
  const auto parsed = config::parse_url(url);
  if (parsed) address = {parsed->host, parsed->port, parsed->base_path, credential};
  return address;
}

std::string first_model(const std::string& page) {
  const auto json = nlohmann::json::parse(page, nullptr, false);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) return {};
  for (const auto& card : json["data"])
    if (card.is_object() && card.contains("id") && card["id"].is_string()) return card["id"].get<std::string>();
  return {};
}

}  // namespace

OpenTarget::OpenTarget(net::Loop& its_loop, const TargetPlan& its_plan)
    : loop(its_loop), plan(its_plan), target(its_plan.target), caller(its_loop, target) {}

net::Task<Result<void>> OpenTarget::open(TargetFacts& facts, bool may_hide) {
  const auto found = co_await find_model();
  if (!found) co_return found;
  const auto asked = co_await find_policy();
  if (!asked) co_return asked;
  co_await watch_engines(facts, may_hide);
  const std::uint64_t text = mix(0x63616c, static_cast<std::uint64_t>(loop.now().time_since_epoch().count()));
  facts.calibration = co_await calibrate(caller, target, text);
  target.simulated = facts.calibration.simulated;
  target.bytes_per_token = facts.calibration.bytes_per_token;
  facts.name = target.name;
  facts.url = url_of(target);
  facts.model = target.model;
  co_return Result<void>();
}

net::Task<Result<void>> OpenTarget::find_model() {
  net::HttpClient::Target to;
  to.host = target.host;
  to.port = target.port;
  to.base_path = target.base_path;
  to.credential = target.credential;
  net::HttpClient client(loop, to);
  const std::string where = url_of(target) + "/v1/models";
  const auto reply = co_await client.get("/v1/models", question_timeout, page_limit);
  if (!reply) co_return fail(Fault::upstream, where + ": " + reply.error().what);
  if (!target.model.empty()) co_return Result<void>();
  if (reply->status == 200) target.model = first_model(reply->body);
  if (target.model.empty())
    co_return fail(Fault::upstream, where + " names no model (it answers " + std::to_string(reply->status) +
                                        "): give one as --model NAME");
  co_return Result<void>();
}

net::Task<Result<void>> OpenTarget::find_policy() {
  if (!plan.admin) co_return Result<void>();
  admin = std::make_unique<AdminClient>(loop, *plan.admin);
  const auto looked = co_await admin->look(target.model);
  if (!looked) co_return looked;
  const auto policy = co_await admin->policy();
  if (!policy) co_return tl::unexpected(policy.error());
  policy_before = *policy;
  co_return Result<void>();
}

net::Task<void> OpenTarget::watch_engines(TargetFacts& facts, bool may_hide) {
  std::vector<EngineAddress> engines = plan.engines;
  if (engines.empty() && admin)
    for (const std::string& url : admin->engine_urls()) engines.push_back(address_of(url, target.credential));
  if (engines.empty()) engines.push_back(address_of(target));
  facts.engines = engines.size();
  watch = std::make_unique<EngineWatch>(loop, engines);
  const EngineLook look = co_await watch->look();
  facts.ranks = look.ranks;
  if (look.complete) co_return;
  facts.engines = 0;
  // Something that is no engine, or hides its figures. Its caches may still be reset if it was named as an engine.
  if (!may_hide) watch = std::make_unique<EngineWatch>(loop, std::vector<EngineAddress>());
}

}  // namespace wg::bench
