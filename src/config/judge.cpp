#include <algorithm>
#include <cstdlib>
#include <map>

#include "config/accept.h"
#include "config/globs.h"
#include "config/reading.h"
#include "core/header.h"

namespace wg::config {
namespace {

std::string pool_path(std::size_t pool) { return "pools[" + std::to_string(pool) + ']'; }
std::string engine_path(std::size_t pool, std::size_t engine) {
  return pool_path(pool) + ".engines[" + std::to_string(engine) + ']';
}
std::string alias_path(std::size_t pool, std::size_t alias) {
  return pool_path(pool) + ".aliases[" + std::to_string(alias) + ']';
}

bool is_any_host(const std::string& host) { return host == "0.0.0.0" || host == "::"; }
bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

bool collide(const std::string& host, std::uint16_t port, const Address& taken) {
  if (port == 0 || port != taken.port) return false;
  return host == taken.host || is_any_host(host) || (is_any_host(taken.host) && is_loopback(host)) ||
         (is_loopback(host) && is_loopback(taken.host) && (host == "localhost" || taken.host == "localhost"));
}

void judge_listeners(Reading& reading) {
  Config& config = reading.config;
  if (collide(config.admin.host, config.admin.port, config.listen) ||
      collide(config.listen.host, config.listen.port, config.admin))
    reading.error_at(reading.was_given("admin") ? "admin" : "listen",
                     "listen (" + config.listen.text() + ") and admin (" + config.admin.text() +
                         ") are the same address; allowed: two different ones");
  constexpr Duration engines_close_after = std::chrono::seconds(5);
  if (config.timeouts.upstream_keep_alive >= engines_close_after)
    reading.warn_at("timeouts.upstream_keep_alive",
                    "vLLM and llama.cpp close idle connections after 5s: with 5s or more, requests meet closed ones");
}

void judge_pool_names(Reading& reading) {
  const std::vector<Pool>& pools = reading.config.pools;
  std::map<std::string, std::size_t> first;
  for (std::size_t i = 0; i < pools.size(); ++i) {
    const std::string path = pool_path(i) + ".model";
    if (pools[i].model.empty()) {
      if (pools.size() > 1 && !reading.was_given(path))
        reading.error_at(path, "is missing; only a single pool can take its name from its engines");
      continue;
    }
    const auto [known, is_new] = first.emplace(pools[i].model, i);
    if (!is_new)
      reading.error_at(path, "is the name of " + pool_path(known->second) + " too; put the engines into one pool");
  }
}

// The order of precedence is told in the table: own names, aliases without wildcards, aliases with them.
void judge_alias_pair(Reading& reading, std::size_t pool, std::size_t alias, std::size_t earlier_pool,
                      std::size_t earlier) {
  const std::string& mine = reading.config.pools[pool].aliases[alias];
  const std::string& other = reading.config.pools[earlier_pool].aliases[earlier];
  const std::string path = alias_path(pool, alias), other_path = alias_path(earlier_pool, earlier);
  if (mine == other) {
    if (pool == earlier_pool)
      reading.warn_at(path, quoted(mine) + " stands there twice");
    else
      reading.error_at(path, quoted(mine) + " is " + other_path + " too; an alias leads to one pool");
  } else if (pool != earlier_pool && is_glob(mine) && is_glob(other) && globs_overlap(mine, other)) {
    reading.warn_at(path, quoted(mine) + " and " + other_path + " " + quoted(other) +
                              " have names in common: those go to the earlier pool");
  }
}

void judge_aliases(Reading& reading) {
  constexpr std::size_t most_compared = 2'000;  // pairs grow with the square; a file with more is a generated one
  const std::vector<Pool>& pools = reading.config.pools;
  std::vector<std::pair<std::size_t, std::size_t>> before;
  for (std::size_t pool = 0; pool < pools.size(); ++pool)
    for (std::size_t alias = 0; alias < pools[pool].aliases.size(); ++alias) {
      if (pools[pool].aliases[alias].empty()) continue;  // already complained about
      for (std::size_t other = 0; other < pools.size(); ++other)
        if (pools[other].model == pools[pool].aliases[alias]) {
          const std::string text = quoted(pools[other].model) + " is the model of " + pool_path(other);
          if (other == pool)
            reading.warn_at(alias_path(pool, alias), text + " itself: no alias is needed");
          else
            reading.error_at(alias_path(pool, alias),
                             text + ": a model's own name comes first, the alias never applies");
        }
      for (const auto& [earlier_pool, earlier] : before) judge_alias_pair(reading, pool, alias, earlier_pool, earlier);
      if (before.size() < most_compared) before.emplace_back(pool, alias);
    }
}

// Never shows the value.
void judge_api_key(Reading& reading, Engine& engine, const std::string& path) {
  if (engine.api_key_env.empty()) return;
  const char* value = std::getenv(engine.api_key_env.c_str());
  if (value == nullptr || *value == '\0')
    return reading.error_at(path,
                            "the environment variable " + engine.api_key_env + (value ? " is empty" : " is not set"));
  engine.api_key = value;
  if (!is_visible(engine.api_key)) {
    engine.api_key.clear();
    reading.error_at(path, "the environment variable " + engine.api_key_env +
                               " holds characters that a header cannot carry (a line end, perhaps)");
  }
}

void judge_engine_address(Reading& reading, const Engine& engine, const std::string& path) {
  if (engine.url.host.empty()) return;
  for (const Address* own : {&reading.config.listen, &reading.config.admin})
    if (collide(engine.url.host, engine.url.port, *own))
      reading.error_at(path, "is this gateway's own address " + own->text() + ": requests would go in circles");
  if (engine.url.base_path == "/v1" || engine.url.base_path.ends_with("/v1"))
    reading.warn_at(path,
                    "ends with /v1; paths of requests bring their own /v1, so this asks the engine for /v1/v1/...");
}

void judge_engines(Reading& reading) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> urls;
  for (std::size_t pool = 0; pool < reading.config.pools.size(); ++pool) {
    std::map<std::string, std::size_t> names;
    std::vector<Engine>& engines = reading.config.pools[pool].engines;
    for (std::size_t i = 0; i < engines.size(); ++i) {
      Engine& engine = engines[i];
      const std::string path = engine_path(pool, i);
      judge_api_key(reading, engine, path + ".api_key_env");
      if (engine.url.host.empty()) continue;  // already complained about
      judge_engine_address(reading, engine, path + ".url");
      const auto [same, is_new] = urls.emplace(engine.url.text(), std::pair(pool, i));
      const auto [first_pool, first] = same->second;
      if (!is_new && first_pool == pool)
        reading.error_at(path + ".url",
                         "is the url of " + engine_path(pool, first) + " too: its replicas would count twice");
      else if (!is_new)
        reading.warn_at(path + ".url",
                        "is the url of " + engine_path(first_pool, first) + " too: each pool sees only its own load");
      const bool named = !engine.name.empty();
      if (!named) engine.name = "engine" + std::to_string(i + 1);  // not its address: clients see it
      const auto [taken, unused] = names.emplace(engine.name, i);
      if (!unused && (is_new || first_pool != pool || named))
        reading.error_at(path + (named ? ".name" : ".url"), "the name " + quoted(engine.name) + " is that of " +
                                                                engine_path(pool, taken->second) +
                                                                " too; each engine of a pool needs its own");
    }
  }
}

}  // namespace

void judge(Reading& reading) {
  judge_listeners(reading);
  judge_pool_names(reading);
  judge_aliases(reading);
  judge_engines(reading);
  std::transform(reading.config.sessions.key_header.begin(), reading.config.sessions.key_header.end(),
                 reading.config.sessions.key_header.begin(), lower);
}

}  // namespace wg::config
