#include "policy/hash.h"

#include <array>

#include "core/hash.h"

namespace wg::policy {

namespace {
std::uint64_t weight(const SessionKey& session, std::uint64_t identity) {
  std::array<char, 24> bytes;  // little-endian by hand: the same answer on every machine
  const std::array<std::uint64_t, 3> words{session.high, session.low, identity};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(words[i / 8] >> (i % 8 * 8) & 0xFF);
  return xxh3({bytes.data(), bytes.size()});
}
}  // namespace

Decision rendezvous(std::span<const ReplicaView> pool, const SessionKey& session) {
  Decision decision;
  decision.rule = "hash: rendezvous of the session key";
  std::uint64_t highest = 0;
  for (const ReplicaView& view : pool) {
    if (!view.up) continue;
    decision.candidates.push_back({view.replica, view.in_flight, -1, static_cast<double>(view.active_sessions)});
    const std::uint64_t score = weight(session, view.identity);
    if (decision.replica != no_replica && score <= highest) continue;
    highest = score;
    decision.replica = view.replica;
  }
  return decision;
}

}  // namespace wg::policy
