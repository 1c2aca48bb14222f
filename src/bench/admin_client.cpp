#include "bench/admin_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dialect/error_body.h"

namespace wg::bench {
namespace {

using nlohmann::json;

constexpr Duration timeout = std::chrono::seconds(5);
constexpr std::size_t page_limit = 16 << 20;

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos) {
      out += c;
      continue;
    }
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", byte);
    out += code;
  }
  return out;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

template <class Strings>
void add_once(Strings& strings, const std::string& text) {
  if (!text.empty() && std::find(strings.begin(), strings.end(), text) == strings.end()) strings.push_back(text);
}

net::HttpClient::Target target_of(const EngineAddress& address) {
  net::HttpClient::Target target;
  target.host = address.host;
  target.port = address.port;
  target.base_path = address.base_path;
  target.credential = address.credential;
  return target;
}

}  // namespace

AdminClient::AdminClient(net::Loop& loop, const EngineAddress& admin)
    : admin_(admin), client_(loop, target_of(admin)) {}

net::Task<Result<void>> AdminClient::look(const std::string& model) {
  const std::string where = admin_.text() + "/api/v1/replicas";
  const auto reply = co_await client_.get("/api/v1/replicas", timeout, page_limit);
  if (!reply) co_return fail(Fault::upstream, where + ": " + reply.error().what);
  const json page = json::parse(reply->body, nullptr, false);
  if (reply->status != 200 || !page.is_object() || !page.contains("replicas") || !page["replicas"].is_array())
    co_return fail(Fault::upstream,
                   where + " is no warmgate's admin address (it answers " + std::to_string(reply->status) + ")");
  std::vector<std::string> pools;
  for (const json& row : page["replicas"]) add_once(pools, text_of(row, "pool"));
  if (std::find(pools.begin(), pools.end(), model) != pools.end()) pool_ = model;
  if (pool_.empty() && pools.size() == 1) pool_ = pools.front();
  if (pool_.empty()) {
    std::string known;
    for (const std::string& pool : pools) known += (known.empty() ? "" : ", ") + pool;
    co_return fail(Fault::client, where + " has no pool " + model + "; there are: " + known + " (give one as --model)");
  }
  for (const json& row : page["replicas"])
    if (text_of(row, "pool") == pool_) add_once(engine_urls_, text_of(row, "url"));
  co_return Result<void>();
}

net::Task<Result<std::string>> AdminClient::policy() {
  const std::string nothing;
  auto policy = co_await policy_after("GET", nothing);
  co_return policy;
}

net::Task<Result<void>> AdminClient::set_policy(const std::string& policy_name) {
  const std::string body = "{\"policy\":\"" + policy_name + "\"}";
  const auto now = co_await policy_after("PUT", body);
  if (!now) co_return tl::unexpected(now.error());
  if (*now != policy_name)
    co_return fail(Fault::upstream,
                   admin_.text() + ": pool " + pool_ + " routes by " + *now + ", not by " + policy_name);
  co_return Result<void>();
}

net::Task<Result<std::string>> AdminClient::policy_after(const char* method, const std::string& body) {
  const std::string path = "/api/v1/pools/" + percent_encoded(pool_) + "/policy";
  const auto reply = co_await client_.send(method, path, body, timeout, page_limit);
  if (!reply) co_return fail(Fault::upstream, admin_.text() + path + ": " + reply.error().what);
  const json page = json::parse(reply->body, nullptr, false);
  if (reply->status != 200 || !page.is_object())
    co_return fail(Fault::upstream, admin_.text() + path + " answers " + std::to_string(reply->status) + ": " +
                                        dialect::error_message(reply->body));
  co_return text_of(page, "policy");
}

}  // namespace wg::bench
