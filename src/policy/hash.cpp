#include "policy/hash.h"

#include <array>

#include "core/hash.h"

namespace wg::policy {

namespace {
void put(char* at, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) at[i] = static_cast<char>(word >> (i * 8) & 0xFF);  // the same on every machine
}
}  // namespace

Decision rendezvous(std::span<const ReplicaView> pool, const SessionKey& session) {
  Decision decision;
  decision.rule = "hash: rendezvous of the session key";
  decision.candidates.reserve(pool.size());
  std::array<char, 24> bytes;  // session key and replica
  put(bytes.data(), session.high);
  put(bytes.data() + 8, session.low);
  std::uint64_t highest = 0;
  for (const ReplicaView& view : pool) {
    if (!view.up) continue;
    decision.candidates.push_back({view.replica, view.in_flight, -1, static_cast<double>(view.active_sessions)});
    put(bytes.data() + 16, view.identity);
    const std::uint64_t score = xxh3({bytes.data(), bytes.size()});
    if (decision.replica != no_replica && score <= highest) continue;
    highest = score;
    decision.replica = view.replica;
  }
  return decision;
}

}  // namespace wg::policy
