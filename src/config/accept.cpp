#include "config/accept.h"

#include <algorithm>
#include <array>

#include "core/header.h"

namespace wg::config {
namespace {

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool only(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [extra](char c) {
    return is_word(c) || extra.find(c) != std::string_view::npos;
  });
}

// Per request or per person rather than per conversation, or not a value to keep at all.
constexpr std::array never_session_headers{
    std::string_view("authorization"), std::string_view("x-api-key"),    std::string_view("cookie"),
    std::string_view("host"),          std::string_view("connection"),   std::string_view("content-length"),
    std::string_view("content-type"),  std::string_view("x-request-id"), std::string_view("transfer-encoding"),
    std::string_view("accept"),        std::string_view("user-agent"),   std::string_view("x-forwarded-for")};

}  // namespace

bool is_visible(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_alias(std::string_view text) { return text.size() <= 256 && is_visible(text); }

bool is_engine_name(std::string_view text) { return only(text, ".-:[]"); }

bool is_variable_name(std::string_view text) { return only(text, "") && !(text.front() >= '0' && text.front() <= '9'); }

bool is_session_header(std::string_view name) {
  return only(name, "!#$%&'*+-.^`|~") &&
         std::none_of(never_session_headers.begin(), never_session_headers.end(),
                      [name](std::string_view never) { return equals_ignoring_case(name, never); });
}

bool is_forwarded_path(std::string_view text) {
  if (text.starts_with("GET ")) text.remove_prefix(4);
  return text.size() <= 1'024 && text.starts_with('/') && is_visible(text) &&
         text.find_first_of("?#\\") == std::string_view::npos && text.find("//") == std::string_view::npos &&
         text.find("/.") == std::string_view::npos;
}

}  // namespace wg::config
