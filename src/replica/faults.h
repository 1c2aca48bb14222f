// Faults on demand: what was ordered, which request it hits, how often each has happened. Pure; the server carries them
// out. Invariant: the same orders and the same sequence of requests give the same hits. Owner: one server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/rng.h"
#include "core/units.h"
#include "sim/fault_kind.h"

namespace wg::replica {

using sim::FaultKind;

// All times are on the model's clock.
struct FaultOrder {
  FaultKind kind = FaultKind::status_500;
  std::optional<std::uint32_t> rank;   // only requests there; of die_group: whose engine core was killed
  std::optional<std::uint64_t> count;  // so many requests; absent: one, or all for `lasts`
  std::optional<Duration> lasts;       // armed, or down, or stalled for so long
  double share = 1.0;                  // of the requests that could be hit, chosen by `seed`
  std::uint64_t seed = 1;
  Duration delay = std::chrono::seconds(2);   // of slow_first_byte
  std::optional<std::uint32_t> after_tokens;  // where mid-stream is; absent: drawn from 1..8
  std::string model;                          // of other_model
};

// A JSON object: {"kind", "rank", "count", "for_s", "share", "seed", "delay_s", "after_tokens", "model"}. Errors (400)
// say which member is wrong and what is allowed.
Result<FaultOrder> read_fault(std::string_view body);
// The header's short form: "kind; for_s=2; after_tokens=3".
Result<FaultOrder> read_fault_header(std::string_view value);

struct FaultHit {
  FaultKind kind;
  std::optional<Duration> lasts;
  Duration delay{};
  std::uint32_t after_tokens = 1;
};
FaultHit hit_of(const FaultOrder& order, Rng& rng);

class Faults {
 public:
  void arm(FaultOrder order, TimePoint now);  // of a request
  void disarm() { armed_.clear(); }
  // The fault that hits a request now on that rank, if any; the oldest order first.
  std::optional<FaultHit> next(std::uint32_t rank, TimePoint now);
  void count(FaultKind kind) { ++counts_[kind]; }
  std::string report(TimePoint now) const;  // JSON: {"armed":[...],"counts":{kind: n}}

 private:
  struct Armed {
    FaultOrder order;
    Rng rng;
    std::optional<std::uint64_t> left;
    std::optional<TimePoint> until;
  };
  std::vector<Armed> armed_;
  std::map<FaultKind, std::uint64_t> counts_;
};

}  // namespace wg::replica
