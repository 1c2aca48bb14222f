#include "dialect/error_body.h"

#include "dialect/error_reader.h"
#include "dialect/json_string.h"
#include "dialect/sse_event.h"

namespace wg::dialect {
namespace {

struct TypeRow {
  int status;
  std::string_view openai, anthropic;
};

constexpr TypeRow types[] = {
    {400, "invalid_request_error", "invalid_request_error"},
    {401, "authentication_error", "authentication_error"},
    {403, "permission_error", "permission_error"},
    {404, "not_found_error", "not_found_error"},
    {408, "timeout_error", "timeout_error"},
    {413, "invalid_request_error", "request_too_large"},
    {429, "rate_limit_error", "rate_limit_error"},
    {503, "overloaded_error", "overloaded_error"},
    {504, "timeout_error", "timeout_error"},
    {529, "overloaded_error", "overloaded_error"},
};

std::string_view type_of(Shape shape, int status) {
  for (const TypeRow& row : types)
    if (row.status == status) return shape == Shape::anthropic ? row.anthropic : row.openai;
  if (shape == Shape::anthropic) return "api_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

void append_openai_error(std::string& out, int status, std::string_view message) {
  out += "{\"message\":";
  append_quoted(out, message);
  out.append(",\"type\":\"").append(type_of(Shape::openai, status));
  out.append("\",\"param\":null,\"code\":").append(std::to_string(status)).append("}");
}

// The flat members are what the Responses API defines; its SDKs throw on "error".
std::string responses_error(int status, std::string_view message) {
  std::string out = "{\"type\":\"error\",\"code\":\"";
  out.append(type_of(Shape::openai, status)).append("\",\"message\":");
  append_quoted(out, message);
  out += ",\"param\":null,\"error\":";
  append_openai_error(out, status, message);
  return out += '}';
}

}  // namespace

std::string error_body(Shape shape, int status, std::string_view message) {
  std::string out;
  if (shape == Shape::openai) {
    out = "{\"error\":";
    append_openai_error(out, status, message);
    return out += '}';
  }
  out.append("{\"type\":\"error\",\"error\":{\"type\":\"").append(type_of(shape, status)).append("\",\"message\":");
  append_quoted(out, message);
  return out += "}}";
}

std::string error_event(Api api, int status, std::string_view message, bool mid_event) {
  std::string out = mid_event ? "\n\n" : "";
  if (shape_of(api) == Shape::anthropic) {
    out.append("event: error\ndata: ").append(error_body(Shape::anthropic, status, message));
  } else if (api == Api::responses) {
    out.append("event: error\ndata: ").append(responses_error(status, message));
  } else {
    out.append("data: ").append(error_body(Shape::openai, status, message));
  }
  return out += "\n\n";
}

std::string_view ping_event(Api api) {
  return api == Api::messages ? "event: ping\ndata: {\"type\": \"ping\"}\n\n" : ": ping\n\n";
}

std::string error_message(std::string_view body_or_event) {
  const std::size_t start = body_or_event.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  if (body_or_event[start] == '{') return read_engine_error(body_or_event.substr(start)).message;
  std::string joined;
  return read_engine_error(read_sse_event(body_or_event.substr(start), joined).data).message;
}

}  // namespace wg::dialect
