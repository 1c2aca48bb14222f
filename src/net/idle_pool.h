// Idle connections to one engine, kept by one loop: the last one returned is the first one taken. They live shorter
// than the engine keeps them (uvicorn: 5 s), and one that the engine has closed is not handed out.
#pragma once

#include <optional>
#include <vector>

#include "net/stream.h"

namespace wg::net {

class IdlePool {
 public:
  // oldest: connections of a greater age are not kept; zero: of any age.
  IdlePool(Loop& loop, Duration keep_for, Duration oldest = {}, std::size_t limit = 256);

  std::optional<Stream> take();
  void give_back(Stream stream);  // only after a complete exchange on a connection that both sides keep
  void clear() { idle_.clear(); }
  std::size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    Stream stream;
    TimePoint since;
  };
  void sweep();

  Loop& loop_;
  Duration keep_for_, oldest_;
  std::size_t limit_;
  std::vector<Idle> idle_;  // oldest first
  Timer sweeper_;
};

}  // namespace wg::net
