// For tests: random JSON documents as a careless writer would put them on the wire - white space anywhere, escapes
// where none are needed, any script - from a seeded generator. No part of the library.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/rng.h"

namespace wg::dialect {

class JsonWriter {
 public:
  explicit JsonWriter(std::uint64_t seed, bool may_escape = true) : rng_(seed), may_escape_(may_escape) {}

  Rng& rng() { return rng_; }
  bool chance(double share) { return rng_.uniform() < share; }

  std::string space() {
    static constexpr std::string_view kinds[] = {"", "", "", " ", "\n  ", "\t", "\r\n"};
    return std::string(kinds[pick(std::size(kinds))]);
  }

  // Text in clear, of up to `most` characters.
  std::string text(int most = 12) {
    static constexpr std::string_view characters[] = {
        "a",     "Z", "0", " ", "_", "{", "}", "[", "]", ":", ",", "é", "ß", "中", "文", "🙂", "\xF0\x9D\x84\x9E",
        "\u2028"};
    static constexpr std::string_view escaped[] = {"\"", "\\", "\n", "\t", "\r", "\b", "\f", "/", "\x01", "\x1f"};
    std::string out;
    for (auto left = rng_.between(0, most); left > 0; --left)
      out += may_escape_ && chance(0.2) ? escaped[pick(std::size(escaped))] : characters[pick(std::size(characters))];
    return out;
  }

  // A JSON string of that text; now and then with escapes that are not needed.
  std::string quoted(const std::string& text) {
    const bool ascii = may_escape_ && chance(0.3);
    std::string json = nlohmann::json(text).dump(-1, ' ', ascii);
    if (may_escape_ && chance(0.2) && json.size() > 2 && json[1] >= 'a' && json[1] <= 'z') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04X", static_cast<unsigned>(json[1]));
      json.replace(1, 1, escape);
    }
    return json;
  }

  std::string scalar() {
    static constexpr std::string_view kinds[] = {"true", "false", "null",    "0",        "-1",
                                                 "3.25", "1e5",   "-0.5E-3", "123456789"};
    return chance(0.4) ? quoted(text()) : std::string(kinds[pick(std::size(kinds))]);
  }

  std::string value(int depth) {
    if (depth == 0 || chance(0.4)) return scalar();
    const bool is_object = chance(0.5);
    std::string out = (is_object ? "{" : "[") + space();
    for (auto left = rng_.between(0, 4), first = left; left > 0; --left) {
      if (left != first) out += "," + space();
      if (is_object) out += quoted(text(6) + std::to_string(left)) + space() + ":" + space();
      out += value(depth - 1) + space();
    }
    return out + (is_object ? "}" : "]");
  }

  std::size_t pick(std::size_t size) {
    return static_cast<std::size_t>(rng_.between(0, static_cast<std::int64_t>(size) - 1));
  }

 private:
  Rng rng_;
  bool may_escape_;
};

}  // namespace wg::dialect
