// A simulated vLLM behind real HTTP: N ranks of the engine model on one port, with vLLM's paths, bodies, metrics,
// errors and, on demand, its ways to fail. What `warmgate replica` runs; also runs inside another program.
// Owner: one loop. All calls on its thread, or before it runs; the server must not outlive the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"
#include "net/loop.h"
#include "sim/balancer.h"
#include "sim/preset.h"

namespace wg::replica {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;        // 0: any free one
  std::string name = "replica";  // answers carry `x-replica: NAME/RANK`
  std::string model;             // empty: the preset's
  std::uint32_t ranks = 1;
  sim::Preset preset =
      sim::presets().front();  // engine is one rank's; block_size, prefix_caching, network_s, ... may be changed
  sim::BalancerKind balancer = sim::BalancerKind::random;
  double speed = 1.0;                   // the model's clock runs so many times faster than ours
  std::uint64_t seed = 1;               // of the balancer, answers, their lengths and the faults
  std::size_t max_num_queued_reqs = 0;  // unfinished requests of all ranks beyond which 503 is answered; 0: none
  std::string api_key;                  // not empty: /v1 paths need `Authorization: Bearer KEY`
  bool prompt_tokens_details = true;    // vLLM's --enable-prompt-tokens-details
  bool admin = true;                    // /fault and the x-fault, x-output-tokens, x-finish request headers
};

// The same options, or what is wrong with them in one sentence.
Result<Options> checked(Options options);

class Server {
 public:
  Server(net::Loop& loop, const Options& options);  // options that passed `checked`
  ~Server();                                        // closes everything, streams too
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  Result<void> start();        // binds and listens; the error says why not
  std::uint16_t port() const;  // after start
  void stop();                 // as SIGTERM does to vLLM: no more connections, what runs is aborted

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the connections being served
};

}  // namespace wg::replica
