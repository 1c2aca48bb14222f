#include <algorithm>
#include <array>
#include <charconv>

#include "config/config.h"
#include "core/header.h"

namespace wg::config {
namespace {

constexpr std::string_view address_forms = "allowed: HOST:PORT, :PORT or [IPV6]:PORT";
constexpr std::string_view url_forms = "allowed: http://HOST[:PORT][/PREFIX]";
constexpr std::string_view duration_forms = "allowed: a whole number with ms, s, m or h, such as 250ms, 10s, 5m, 2h";
constexpr std::string_view size_forms =
    "allowed: bytes, or a whole number with KiB, MiB or GiB, such as 4096, 32KiB, 1GiB";

auto complain(std::string what, std::string_view forms) {
  return fail(Fault::client, std::move(what) + "; " + std::string(forms));
}

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes the digits off the front. Nothing if there are none or they overflow.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  const auto number = take_number(text);
  if (!number || !text.empty() || *number > 65'535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
  });
}

bool is_ipv6(std::string_view host) {
  return host.find(':') != std::string_view::npos && host.size() <= 64 &&
         std::all_of(host.begin(), host.end(),
                     [](char c) { return is_digit(c) || is_letter(c) || c == ':' || c == '.' || c == '%'; });
}

std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

struct HostPort {
  std::string host;                      // without brackets
  std::optional<std::string_view> port;  // as written; empty: no colon
};

// Splits [v6]:port, host:port, host. Nothing if the host cannot be one; an empty host is left to the caller.
std::optional<HostPort> split(std::string_view text) {
  std::string_view host, rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
    if (!is_ipv6(host)) return std::nullopt;
  } else {
    host = text.substr(0, text.find(':'));
    rest = text.substr(host.size());
    if (!host.empty() && !is_host_name(host)) return std::nullopt;
  }
  if (rest.empty()) return HostPort{lowered(host), std::nullopt};
  if (rest.front() != ':') return std::nullopt;
  return HostPort{lowered(host), rest.substr(1)};
}

std::string bracketed(const std::string& host) { return host.find(':') == std::string::npos ? host : '[' + host + ']'; }

}  // namespace

std::string Address::text() const { return bracketed(host) + ':' + std::to_string(port); }

std::string Url::text() const {
  return "http://" + bracketed(host) + (port == 80 ? "" : ':' + std::to_string(port)) + base_path;
}

Result<Address> parse_address(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return complain("the host is not a name or an address", address_forms);
  if (!parts->port) return complain("the port is missing", address_forms);
  const auto port = port_of(*parts->port);
  if (!port) return complain("the port is not a number from 0 to 65535", address_forms);
  return Address{parts->host.empty() ? "0.0.0.0" : parts->host, *port};
}

// Never repeats the text: it may hold a password.
Result<Url> parse_url(std::string_view text) {
  constexpr std::string_view scheme = "http://";
  if (lowered(text.substr(0, 8)) == "https://")
    return complain(
        "https towards engines is not supported: the gateway stands next to them; put a TLS proxy between "
        "or use a private network",
        url_forms);
  if (lowered(text.substr(0, scheme.size())) != scheme) return complain("it does not begin with http://", url_forms);
  text.remove_prefix(scheme.size());
  const std::string_view authority = text.substr(0, text.find_first_of("/?#"));
  std::string_view path = text.substr(authority.size());
  if (authority.find('@') != std::string_view::npos)
    return complain("user and password do not belong into it; use api_key_env", url_forms);
  if (path.find_first_of("?#") != std::string_view::npos)
    return complain("a query or fragment does not belong into it", url_forms);
  if (!std::all_of(path.begin(), path.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; }))
    return complain("the prefix holds characters that a path cannot have", url_forms);
  const auto parts = split(authority);
  if (!parts || parts->host.empty()) return complain("the host is not a name or an address", url_forms);
  Url url{parts->host, 80, {}};
  if (parts->port) {
    const auto port = port_of(*parts->port);
    if (!port || *port == 0) return complain("the port is not a number from 1 to 65535", url_forms);
    url.port = *port;
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  url.base_path = path;
  return url;
}

Result<Duration> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t microseconds;
  };
  constexpr std::array units{Unit{"ms", 1'000}, Unit{"s", 1'000'000}, Unit{"m", 60'000'000}, Unit{"h", 3'600'000'000}};
  constexpr std::uint64_t longest = 1'000'000'000'000'000'000;  // fits a Duration with room for sums
  const auto number = take_number(text);
  if (!number) return complain("it is not a duration", duration_forms);
  if (text.empty()) {
    if (*number == 0) return Duration{0};
    return complain("the unit is missing", duration_forms);
  }
  for (const Unit& unit : units)
    if (text == unit.name) {
      if (*number > longest / unit.microseconds) return complain("it is too long", duration_forms);
      return Duration{static_cast<std::int64_t>(*number * unit.microseconds)};
    }
  return complain("it is not a duration", duration_forms);
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    int shift;
  };
  constexpr std::array units{Unit{"", 0}, Unit{"KiB", 10}, Unit{"MiB", 20}, Unit{"GiB", 30}};
  const auto number = take_number(text);
  if (!number) return complain("it is not a size", size_forms);
  for (const Unit& unit : units)
    if (text == unit.name) {
      if (*number > (~std::uint64_t{0} >> unit.shift)) return complain("it is too large", size_forms);
      return *number << unit.shift;
    }
  return complain("it is not a size", size_forms);
}

}  // namespace wg::config
