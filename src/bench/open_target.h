// A target in use: what it is found to serve, its admin API, and the engines whose pages are read. Owner: one loop; one
// call at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/admin_client.h"
#include "bench/caller.h"
#include "bench/engine_watch.h"
#include "bench/result.h"
#include "bench/target.h"

namespace wg::bench {

struct TargetPlan {
  Target target;  // its model may be empty: the first that it lists
  std::optional<EngineAddress> admin;
  std::vector<EngineAddress> engines;  // empty: those that the admin API names, else the target itself
};

struct OpenTarget {
  OpenTarget(net::Loop& its_loop, const TargetPlan& its_plan);

  // Asks it what it is, and how many bytes a token is. `may_hide`: its engines are to be kept though their figures are
  // not complete.
  net::Task<Result<void>> open(TargetFacts& facts, bool may_hide);

  net::Loop& loop;
  const TargetPlan& plan;
  Target target;
  Caller caller;  // for our own questions
  std::unique_ptr<AdminClient> admin;
  std::string policy_before;
  std::unique_ptr<EngineWatch> watch;

 private:
  net::Task<Result<void>> find_model();
  net::Task<Result<void>> find_policy();
  net::Task<void> watch_engines(TargetFacts& facts, bool may_hide);
};

}  // namespace wg::bench
