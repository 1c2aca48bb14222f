#include "bench/progress.h"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace wg::bench {
namespace {
constexpr Duration plain_lines_every = std::chrono::seconds(15);
constexpr std::size_t bar_width = 20;
}  // namespace

std::string progress_line(const Standing& standing) {
  const double done = std::clamp(standing.done, 0.0, 1.0);
  std::string bar(bar_width, '.');
  std::fill_n(bar.begin(), static_cast<std::size_t>(done * static_cast<double>(bar_width)), '#');
  const auto left = static_cast<long>(std::max(0.0, to_seconds(standing.left)) + 0.5);
  char text[128];
  std::snprintf(text, sizeof text, "[%s] %3d %%  %ld:%02ld left  ", bar.c_str(), static_cast<int>(done * 100),
                left / 60, left % 60);
  std::string line = text + standing.what + "  " + std::to_string(standing.turns) + " turns";
  if (standing.failures > 0) line += ", " + std::to_string(standing.failures) + " failed";
  return line;
}

void Progress::show(const Standing& standing, TimePoint now) {
  if (!shown_) return;
  if (on_terminal_) {
    std::cerr << "\r\x1b[K" << progress_line(standing) << std::flush;
    drawn_ = true;
    return;
  }
  if (standing.what == last_what_ && now - last_line_ < plain_lines_every) return;
  last_what_ = standing.what;
  last_line_ = now;
  std::cerr << progress_line(standing) << std::endl;
}

void Progress::note(const std::string& line) {
  if (!shown_) return;
  end();
  std::cerr << line << std::endl;
}

void Progress::end() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace wg::bench
