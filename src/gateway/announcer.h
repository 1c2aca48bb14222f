// What the log is told of the fleet: engines that come and go, caches that are doubted, what limits a pool. Each thing
// once, or seldom enough to be read. Owner: the brain's loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/known_engines.h"
#include "record/request_log.h"

namespace wg::gateway {

class Announcer {
 public:
  Announcer(record::Log& log, KnownEngines& engines, const DirectoryHolder& directory, std::size_t pools)
      : log_(log), engines_(engines), directory_(directory), last_advised_(pools) {}

  void note(const fleet::Note& note);
  // Something that a flag of the engine would mend: logged once, shown in the API.
  void warn_once(EngineIndex engine, const std::string& what);
  void cached_tokens_missing(EngineIndex engine);
  void suspected(EngineIndex engine);
  void probe_failed(EngineIndex engine, const std::string& why);
  void recording_lost(const std::string& file);
  // While turns wait, what limits is said once a minute. `now` is real, the fleet's may run faster.
  void advise(PoolIndex pool, const fleet::Fleet& fleet, TimePoint now, TimePoint fleet_now);

  std::uint64_t unsteered_total() const { return unsteered_; }

 private:
  record::Log& log_;
  KnownEngines& engines_;
  const DirectoryHolder& directory_;
  std::vector<std::optional<TimePoint>> last_advised_;  // by pool
  std::uint64_t unsteered_ = 0;
  bool told_of_loss_ = false;
};

}  // namespace wg::gateway
