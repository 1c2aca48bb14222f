// Short ways to write a pool down in the table tests of this room. Tests only.
// Invariant: row i is replica i of engine i, up, without a KV gauge, N = 8, unless a test says otherwise.
// Owner: the test that made it.
#pragma once

#include <initializer_list>
#include <vector>

#include "policy/load.h"

namespace wg::policy {

struct Figures {
  double in_flight = 0;
  std::optional<double> kv = {};
  std::uint32_t sessions = 0;
  bool up = true;
};

inline std::vector<ReplicaView> pool_of(std::initializer_list<Figures> rows) {
  std::vector<ReplicaView> pool;
  for (const Figures& row : rows) {
    ReplicaView view;
    view.replica = static_cast<ReplicaIndex>(pool.size());
    view.engine = view.replica;
    view.up = row.up;
    view.in_flight = row.in_flight;
    view.kv_usage = row.kv;
    view.active_sessions = row.sessions;
    view.identity = 1000 + view.replica;
    pool.push_back(view);
  }
  return pool;
}

}  // namespace wg::policy
