// Looks at one engine again and again: is it there, what does it serve, how loaded is it. Reports facts and decides
// nothing. Runs as a coroutine on the brain's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "net/http_client.h"
#include "probe/engine_sample.h"

namespace wg::collect {

// What a look found. Called on the loop.
struct Reports {
  std::function<void(const std::string& model, const probe::EngineSample&, std::optional<std::uint32_t> slots)> found;
  std::function<void(const probe::EngineSample&)> sampled;
  std::function<void()> good;
  std::function<void(bool refused, const std::string& why)> bad;
  std::function<void(const std::string& what)> warning;  // something that a flag of the engine would mend
};

class Poller {
 public:
  // `wanted_model`: the pool's name; the engine's model of that name is taken if it serves several.
  Poller(net::Loop& loop, const config::Engine& engine, std::string wanted_model, Reports reports);
  ~Poller();

  void start();
  void look_now();  // before its time, unless it is looking already or has only just looked; on the loop
  // ... and anew: what a look that is under way finds good was so before now, and is not reported. On the loop.
  void look_anew();
  void set_interval(Duration interval);  // from now on; a look that is due later than that is brought forward

  struct State;

 private:
  std::shared_ptr<State> state_;  // shared with its coroutine, which may be in the middle of a look
};

}  // namespace wg::collect
