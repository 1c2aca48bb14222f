// How far a bench is, on standard error: one line over itself with a bar on a terminal, a line now and then elsewhere.
// Owner: one loop's thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/units.h"

namespace wg::bench {

struct Standing {
  std::string what;                       // "sticky, 8 sessions"
  double done = 0;                        // 0..1 of everything
  Duration left{};                        // real time, estimated
  std::uint64_t turns = 0, failures = 0;  // of the load under way
};

// "[#####...............]  25 %  2:05 left  sticky, 8 sessions  143 turns"
std::string progress_line(const Standing& standing);

class Progress {
 public:
  Progress(bool shown, bool on_terminal) : shown_(shown), on_terminal_(on_terminal) {}
  void show(const Standing& standing, TimePoint now);
  void note(const std::string& line);  // stays
  void end();                          // the line goes

 private:
  bool shown_, on_terminal_, drawn_ = false;
  std::string last_what_;
  TimePoint last_line_{};
};

}  // namespace wg::bench
