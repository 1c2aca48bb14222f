// What a bench asks and tells a warmgate at its admin address: which engines are behind it, and by which policy it is
// to route. Owner: one loop; one call at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/engine_watch.h"

namespace wg::bench {

class AdminClient {
 public:
  AdminClient(net::Loop& loop, const EngineAddress& admin);

  // Finds the pool that serves `model` (or the only one) and its engines. Before all else.
  net::Task<Result<void>> look(const std::string& model);
  const std::string& pool() const { return pool_; }
  const std::vector<std::string>& engine_urls() const { return engine_urls_; }

  net::Task<Result<std::string>> policy();                             // in force, as the gateway words it
  net::Task<Result<void>> set_policy(const std::string& policy_name);  // its threshold stays as it is

 private:
  net::Task<Result<std::string>> policy_after(const char* method, const std::string& body);

  const EngineAddress admin_;
  net::HttpClient client_;
  std::string pool_;
  std::vector<std::string> engine_urls_;
};

}  // namespace wg::bench
