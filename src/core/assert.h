// The ladder of broken assumptions: WG_ASSERT stops a debug or sanitizer build, WG_BUG counts and goes on,
// WG_FATAL ends the process. WG_BUG's count is shown as warmgate_bugs_total: it must stay 0.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace wg {

// Set by app to the log; until then bugs go to stderr. Called from any thread.
using BugSink = void (*)(const char* file, int line, const char* what);
inline std::atomic<BugSink> bug_sink{nullptr};
inline std::atomic<std::uint64_t> bug_count{0};

inline void report_bug(const char* file, int line, const char* what) {
  bug_count.fetch_add(1, std::memory_order_relaxed);
  if (const BugSink sink = bug_sink.load(std::memory_order_relaxed)) return sink(file, line, what);
  std::fprintf(stderr, "warmgate bug at %s:%d: %s\n", file, line, what);
}

}  // namespace wg

#define WG_BUG(what) ::wg::report_bug(__FILE__, __LINE__, what)

#define WG_FATAL(what)                                                                     \
  do {                                                                                     \
    std::fprintf(stderr, "warmgate cannot go on: %s (%s:%d)\n", what, __FILE__, __LINE__); \
    std::abort();                                                                          \
  } while (false)

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
#define WG_ASSERT(condition)                             \
  do {                                                   \
    if (!(condition)) WG_FATAL("assertion " #condition); \
  } while (false)
#else
#define WG_ASSERT(condition) static_cast<void>(0)
#endif
