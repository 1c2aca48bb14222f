// What a key takes, in words: said the same way by `check` and by the documentation.
#include "config/keys.h"

namespace wg::config {
namespace {

std::string short_duration(std::uint64_t ms) {
  if (ms == 0) return "0s";
  if (ms % 3'600'000 == 0) return std::to_string(ms / 3'600'000) + "h";
  if (ms % 60'000 == 0) return std::to_string(ms / 60'000) + "m";
  return ms % 1'000 == 0 ? std::to_string(ms / 1'000) + "s" : std::to_string(ms) + "ms";
}

std::string short_size(std::uint64_t bytes) {
  if (bytes >= 1ull << 30 && bytes % (1ull << 30) == 0) return std::to_string(bytes >> 30) + "GiB";
  if (bytes >= 1ull << 20 && bytes % (1ull << 20) == 0) return std::to_string(bytes >> 20) + "MiB";
  return bytes >= 1ull << 10 ? std::to_string(bytes >> 10) + "KiB" : std::to_string(bytes);
}

std::string names_below(const Key& key) {
  std::string list;
  for (const Key* below : keys_below(std::string(key.path) + (key.kind == Kind::items ? "[]" : "")))
    list += (list.empty() ? "" : ", ") + std::string(leaf_of(*below));
  return list;
}

std::string text_length(const Key& key) {
  return ", " + std::to_string(key.low) + " to " + std::to_string(key.high) + " characters";
}

}  // namespace

std::string allowed(const Key& key) {
  const std::string automatic = key.or_auto ? "auto, or " : "";
  switch (key.kind) {
    case Kind::section:
      return "a map with " + names_below(key);
    case Kind::items:
      return "a list of 1 to " + std::to_string(key.high) + " maps with " + names_below(key);
    case Kind::address:
      return "HOST:PORT, :PORT or [IPV6]:PORT";
    case Kind::url:
      return "http://HOST[:PORT][/PREFIX]";
    case Kind::text:
      return std::string(key.words) + text_length(key);
    case Kind::texts:
      return "a list of up to " + std::to_string(key.high) + " " + std::string(key.words);
    case Kind::flag:
      return "true or false";
    case Kind::count:
      return automatic + "a whole number from " + std::to_string(key.low) + " to " + std::to_string(key.high);
    case Kind::duration:
      return "a duration such as 250ms, 10s, 5m, 2h, from " + short_duration(key.low) + " to " +
             short_duration(key.high);
    case Kind::bytes:
      return "a size such as 4096, 32KiB, 32MiB, 1GiB, from " + short_size(key.low) + " to " + short_size(key.high);
    case Kind::choice:
      return std::string(key.words);
  }
  return {};
}

}  // namespace wg::config
