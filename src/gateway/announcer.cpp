#include "gateway/announcer.h"

#include <cstdio>
#include <utility>

namespace wg::gateway {

namespace {
// The flag that mends a missing per-request cache figure; llama.cpp always reports it.
const char* cached_tokens_flag(probe::EngineKind kind) {
  return kind == probe::EngineKind::sglang ? "--enable-cache-report" : "--enable-prompt-tokens-details";
}
}  // namespace

void Announcer::note(const fleet::Note& note) {
  using What = fleet::Note::What;
  const auto engine = [&] { return "engine " + engines_.name(note.engine); };
  switch (note.what) {
    case What::decision:
      if (note.route == policy::Route::unsteered && unsteered_++ == 0)
        log_.warning(
            "a request went to an engine with several ranks by a path that cannot be steered (/v1/responses and the "
            "like): the engine chooses the rank itself; said once, counted in the API");
      break;
    case What::engine_up:
      log_.info(engine() + " is up");
      break;
    case What::engine_down:
      log_.warning(engine() + " is down: " + note.rule);
      break;
    case What::engine_changed:
      log_.info(engine() + " serves " + engines_.all()[note.engine].model + " now: its replicas are new");
      break;
    case What::policy_changed:
      log_.info("policy changed");
      break;
    case What::cache_doubted:
      log_.warning("replica " + directory_.get()->replicas[note.replica].id + ": " + note.rule +
                   " (GET /api/v1/warm shows how much)");
      break;
    case What::home_dropped:
      break;
  }
}

void Announcer::warn_once(EngineIndex engine, const std::string& what) {
  if (engines_.add_warning(engine, what)) log_.warning("engine " + engines_.name(engine) + ": " + what);
}

void Announcer::cached_tokens_missing(EngineIndex engine) {
  warn_once(
      engine,
      std::string(
          "answers do not say how many prompt tokens were cached, so all count as computed; start the engine with ") +
          cached_tokens_flag(engines_.all()[engine].kind));
}

void Announcer::suspected(EngineIndex engine) {
  log_.debug("engine " + engines_.name(engine) + " reset a request before its answer: it is being looked at");
}

void Announcer::probe_failed(EngineIndex engine, const std::string& why) {
  log_.debug("engine " + engines_.name(engine) + ": probe failed: " + why);
}

void Announcer::recording_lost(const std::string& file) {
  if (std::exchange(told_of_loss_, true)) return;
  log_.warning("the recording " + file +
               " lost events: its disk is too slow or full; a replay ends where the first is missing");
}

void Announcer::advise(PoolIndex pool, const fleet::Fleet& fleet, TimePoint now, TimePoint fleet_now) {
  constexpr Duration every = std::chrono::minutes(1);
  if (fleet.waiting(pool) == 0) return;
  if (last_advised_[pool] && now - *last_advised_[pool] < every) return;
  last_advised_[pool] = now;
  const fleet::WarmPoolState state = fleet.warm_pool(pool, fleet_now);
  char waits[96];
  std::snprintf(waits, sizeof waits, "; %zu wait for a seat, the longest for %.1f s", state.waiting,
                state.longest_wait_s);
  log_.info("pool " + engines_.pool_name(pool) + ": " + fleet::advice(state) + waits);
}

}  // namespace wg::gateway
