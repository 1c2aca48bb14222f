// The one table of configuration keys. Reading, ranges, `check`'s messages and docs/configuration.md all come from it:
// a key that is not here does not exist. Constant; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace wg::config {

enum class Kind : std::uint8_t { section, items, address, url, text, texts, flag, count, duration, bytes, choice };

// Where a value goes: the configuration, and within lists the element under way.
struct Place {
  Config& config;
  Pool* pool = nullptr;
  Engine* engine = nullptr;
};

// A value that has passed its key's checks; only the member of the key's kind is set.
struct Value {
  std::string text{};
  std::vector<std::string> texts{};
  std::uint64_t number = 0;  // count, bytes
  bool is_auto = false;
  bool flag = false;
  Duration duration{};
  Address address{};
  Url url{};
};

struct Key {
  std::string_view path;  // pools[].routing.policy; [] stands for the elements of a list
  Kind kind = Kind::text;
  std::string_view fallback = {};  // the default as one would write it; words in brackets where it is worked out
  bool required = false;
  bool or_auto = false;
  // Range of a count, of bytes, of a duration in milliseconds, of a text's length, of the number of list elements.
  std::uint64_t low = 0, high = 0;
  std::string_view words = {};  // choice: the choices, "a, b"; text, texts: what is allowed, in words
  std::string_view meaning = {};
  void (*store)(Place&, const Value&) = nullptr;   // items: opens a new element
  bool (*acceptable)(std::string_view) = nullptr;  // text, texts: on top of the range; its refusal is told by `words`
};

std::span<const Key> keys();
const Key& key_at(std::string_view path);  // WG_FATAL if there is none

// The keys directly below a section or list element ("" for the top, "pools[]", "pools[].routing").
std::vector<const Key*> keys_below(std::string_view path);
std::string_view leaf_of(const Key& key);

// "a duration from 1ms to 24h, such as 250ms, 10s, 5m, 2h": what a key takes.
std::string allowed(const Key& key);

// docs/configuration.md.
std::string reference();
std::string_view example();

}  // namespace wg::config
