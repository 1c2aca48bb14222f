#include "config/scalar.h"

#include <array>
#include <charconv>

#include "config/nearest.h"
#include "config/reading.h"

namespace wg::config {
namespace {

auto refuse(std::string what, const Key& key) {
  return fail(Fault::client, std::move(what) + "; allowed: " + allowed(key));
}

bool in_range(std::uint64_t number, const Key& key) { return number >= key.low && number <= key.high; }

Result<Value> read_count(const Key& key, const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && end == text.data() + text.size();
  if (error == std::errc::invalid_argument || !whole) return refuse(quoted(text) + " is not a whole number", key);
  if (error != std::errc{} || !in_range(number, key)) return refuse(text + " is out of range", key);
  Value value;
  value.number = number;
  return value;
}

Result<Value> read_flag(const Key& key, const std::string& text) {
  for (const std::string_view yes : {"true", "True", "yes", "on"})
    if (text == yes) return Value{.flag = true};
  for (const std::string_view no : {"false", "False", "no", "off"})
    if (text == no) return Value{.flag = false};
  return refuse(quoted(text) + " is neither true nor false", key);
}

Result<Value> read_choice(const Key& key, const std::string& text) {
  std::vector<std::string_view> choices;
  for (std::string_view rest = key.words; !rest.empty();) {
    const std::string_view choice = rest.substr(0, rest.find(", "));
    choices.push_back(choice);
    rest.remove_prefix(std::min(rest.size(), choice.size() + 2));
  }
  for (const std::string_view choice : choices)
    if (choice == text) return Value{.text = text};
  const std::string_view near = nearest(text, choices);
  return refuse(quoted(text) + " is unknown" + (near.empty() ? "" : "; did you mean \"" + std::string(near) + "\"?"),
                key);
}

Result<Value> read_duration(const Key& key, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration && text.find_first_not_of("0123456789") == std::string::npos && !text.empty())
    return refuse(quoted(text) + " has no unit", key);
  if (!duration) return refuse(quoted(text) + " is not a duration", key);
  if (*duration < Millis(key.low) || *duration > Millis(key.high)) return refuse(text + " is out of range", key);
  return Value{.duration = *duration};
}

Result<Value> read_bytes(const Key& key, const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes) return refuse(quoted(text) + " is not a size", key);
  if (!in_range(*bytes, key)) return refuse(text + " is out of range", key);
  return Value{.number = *bytes};
}

}  // namespace

Result<Value> read_scalar(const Key& key, const std::string& text) {
  if (key.or_auto && text == "auto") return Value{.is_auto = true};
  switch (key.kind) {
    case Kind::address:
      return parse_address(text).map([](Address address) { return Value{.address = std::move(address)}; });
    case Kind::url:
      return parse_url(text).map([](Url url) { return Value{.url = std::move(url)}; });
    case Kind::text:
      // Not repeated: someone may have written the API key itself into api_key_env.
      if (!in_range(text.size(), key) || (key.acceptable && !key.acceptable(text)))
        return refuse("the text does not fit", key);
      return Value{.text = text};
    case Kind::flag:
      return read_flag(key, text);
    case Kind::count:
      return read_count(key, text);
    case Kind::duration:
      return read_duration(key, text);
    case Kind::bytes:
      return read_bytes(key, text);
    case Kind::choice:
      return read_choice(key, text);
    case Kind::section:
    case Kind::items:
    case Kind::texts:
      break;
  }
  return fail(Fault::self, "this key takes no single value");
}

}  // namespace wg::config
