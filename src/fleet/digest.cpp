#include "fleet/digest.h"

#include <bit>

#include "core/hash.h"

namespace wg::fleet {

namespace {
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
  void operator()(const Note& n) {
    *this << n.what << n.request << std::uint64_t{n.engine} << std::uint64_t{n.replica} << n.route
          << std::string_view(n.rule);
    for (const policy::Candidate& c : n.candidates)
      *this << std::uint64_t{c.replica} << c.in_flight << c.kv_step << c.active_sessions;
  }
};
}  // namespace

std::uint64_t mixed(std::uint64_t digest, const Command& command) {
  Mixer mixer{mix(digest, command.index())};
  std::visit(mixer, command);
  return mixer.digest;
}

}  // namespace wg::fleet
