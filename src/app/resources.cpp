#include "app/resources.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace wg::app {
namespace {

constexpr std::uint64_t spare_descriptors = 8;        // name look-ups, signals, what libraries open
constexpr std::uint32_t few = 64;                     // for operators, and for refused clients; an eighth at most
constexpr std::uint64_t least_for_bodies = 16 << 20;  // so that a small machine still takes some request

std::uint64_t open_descriptors() {
  std::uint64_t count = 0;
  if (DIR* const list = ::opendir("/proc/self/fd")) {
    while (::readdir(list)) ++count;
    ::closedir(list);
  }
  return count;
}

// The first number of a file of /proc or /sys; none where there is no such file or it says "max".
std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// Address space left to us, if it is limited (RLIMIT_AS).
std::optional<std::uint64_t> address_space_left() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t used = number_in("/proc/self/statm").value_or(0) * page;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;  // each stream needs two; the soft limit is often 1,024
  setrlimit(RLIMIT_NOFILE, &limit);
}

Connections connections_that_fit(const config::Config& config) {
  const std::uint32_t wanted = config.limits.connections;
  Connections result{wanted, few, few, {}};
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return result;
  result.refused = static_cast<std::uint32_t>(std::min<std::uint64_t>(few, limit.rlim_cur / 8));
  result.operators = result.refused;
  std::uint64_t engines = 0;
  for (const config::Pool& pool : config.pools) engines += pool.engines.size();
  const std::uint64_t reserved =
      open_descriptors() + spare_descriptors + 2 * engines + result.refused + result.operators;
  const std::uint64_t fit = limit.rlim_cur > reserved + 2 ? (limit.rlim_cur - reserved) / 2 : 1;
  if (fit >= wanted) return result;
  result.clients = static_cast<std::uint32_t>(fit);
  if (fit * 10 < std::uint64_t{wanted} * 9)  // a few less are nothing to bother anybody with
    result.warning = "limits.connections is " + std::to_string(wanted) + ", but " + std::to_string(limit.rlim_cur) +
                     " descriptors (RLIMIT_NOFILE) are enough for " + std::to_string(fit) +
                     " clients: further ones get 503";
  return result;
}

std::uint64_t room_for_bodies(const config::Config& config) {
  if (config.limits.bodies) return *config.limits.bodies;
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0l));
  std::uint64_t room = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 4;
  if (const auto left = address_space_left()) room = std::min(room, *left / 2);
  if (const auto group = number_in("/sys/fs/cgroup/memory.max")) room = std::min(room, *group / 2);
  return std::max(room, least_for_bodies);
}

}  // namespace wg::app
