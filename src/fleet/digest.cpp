#include "fleet/digest.h"

#include <bit>

#include "core/hash.h"

namespace wg::fleet {

namespace {
// A decision over 64 replicas has 64 of these: folded into one word each, as one mix costs more than four products.
std::uint64_t in_one(const policy::Candidate& c) {
  return (c.replica + 1) * 0x9E3779B97F4A7C15ull + std::bit_cast<std::uint64_t>(c.in_flight) * 0xC2B2AE3D27D4EB4Full +
         std::bit_cast<std::uint64_t>(c.kv_step) * 0x165667B19E3779F9ull +
         std::bit_cast<std::uint64_t>(c.active_sessions) * 0xD6E8FEB86659FD93ull +
         std::bit_cast<std::uint64_t>(c.cost_s) * 0xFF51AFD7ED558CCDull;
}

struct Mixer {
  std::uint64_t digest;

  Mixer& operator<<(std::uint64_t value) { return digest = mix(digest, value), *this; }
  Mixer& operator<<(double value) { return *this << std::bit_cast<std::uint64_t>(value); }
  Mixer& operator<<(std::string_view text) { return *this << xxh3(text); }
  template <class Enum>
    requires std::is_enum_v<Enum>
  Mixer& operator<<(Enum value) {
    return *this << static_cast<std::uint64_t>(value);
  }

  void operator()(const Dispatch& d) {
    *this << d.request << std::uint64_t{d.replica} << d.route << std::uint64_t{d.same_connection_rule};
  }
  void operator()(const Reject& r) {
    *this << r.request << static_cast<std::uint64_t>(r.status) << std::uint64_t{r.retry_after_s}
          << std::string_view(r.why) << std::uint64_t{r.pass_upstream_answer};
  }
  void operator()(const ProbeEvery& p) {
    *this << std::uint64_t{p.engine} << static_cast<std::uint64_t>(p.interval.count());
  }
  void operator()(const ProbeNow& p) { *this << std::uint64_t{p.engine}; }
  void operator()(const Hold& h) { *this << h.request; }
  void operator()(const SetTimer& t) {
    *this << t.timer << static_cast<std::uint64_t>(t.at.time_since_epoch().count());
  }
  void operator()(const Note& n) {
    *this << n.what << n.request << std::uint64_t{n.engine} << std::uint64_t{n.replica} << n.route
          << std::string_view(n.rule);
    for (const policy::Candidate& c : n.candidates) *this << in_one(c);
  }
};
}  // namespace

std::uint64_t mixed(std::uint64_t digest, const Command& command) {
  Mixer mixer{mix(digest, command.index())};
  std::visit(mixer, command);
  return mixer.digest;
}

}  // namespace wg::fleet
