// All that `warm` knows. fleet/forecast.h reads it, fleet/learn.h and fleet/warm_book.h write it.
// Invariant: a lineage's seat, if it has one, is at its home. Owner: the fleet.
#pragma once

#include "fleet/heads.h"
#include "fleet/lineages.h"
#include "fleet/tokens_per_byte.h"
#include "fleet/warm_replica.h"

namespace wg::fleet {

// Estimates and blocks of an engine's cache are never to the token.
constexpr bool is_nearly(Tokens part, Tokens whole) { return part.count * 10 >= whole.count * 9; }

struct WarmFacts {
  explicit WarmFacts(std::size_t session_limit) : lineages(session_limit) {}

  std::vector<WarmReplica> replicas;
  std::vector<Standing> standings;  // of these
  Lineages lineages;
  Heads heads;
  GapModel gaps;
  TokenRatios ratios;
  policy::PrefillFit all_reading;  // of all replicas
  InterToken all_tokens;           // likewise
  // What a sub-agent's prompt has in common with its parent's: the list of tools, a fifth of Claude Code's head.
  Mean parent_share{20, 0.2};
};

}  // namespace wg::fleet
