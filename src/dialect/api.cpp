#include "dialect/api.h"

namespace wg::dialect {
namespace {

struct Row {
  Api api;
  std::string_view name, path;
};

constexpr Row table[] = {
    {Api::chat, "chat", "/v1/chat/completions"},    {Api::completions, "completions", "/v1/completions"},
    {Api::messages, "messages", "/v1/messages"},    {Api::count_tokens, "count_tokens", "/v1/messages/count_tokens"},
    {Api::responses, "responses", "/v1/responses"},
};

}  // namespace

Api api_of(std::string_view path) {
  for (const Row& row : table)
    if (row.path == path) return row.api;
  return Api::other;
}

std::string_view name_of(Api api) {
  for (const Row& row : table)
    if (row.api == api) return row.name;
  return "other";
}

}  // namespace wg::dialect
