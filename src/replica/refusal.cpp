#include "replica/refusal.h"

#include "dialect/json_string.h"

namespace wg::replica {
namespace {

// `space`: vLLM writes error events with Python's json.dumps, which puts one after colons and commas.
std::string openai(const Refusal& refusal, std::string_view space) {
  const std::string colon = "\":" + std::string(space), comma = "," + std::string(space);
  std::string out = "{\"error" + colon + "{\"message" + colon;
  dialect::append_quoted(out, refusal.message);
  out += comma + "\"type" + colon;
  dialect::append_quoted(out, refusal.type);
  out += comma + "\"param" + colon;
  if (refusal.param.empty())
    out += "null";
  else
    dialect::append_quoted(out, refusal.param);
  return out + comma + "\"code" + colon + std::to_string(refusal.status) + "}}";
}

std::string anthropic(const Refusal& refusal, std::string_view type) {
  std::string out = "{\"type\":\"error\",\"error\":{\"type\":";
  dialect::append_quoted(out, type);
  out += ",\"message\":";
  dialect::append_quoted(out, refusal.message);
  return out + "}}";
}

}  // namespace

Refusal bad_request(std::string message, std::string param) {
  return {.message = std::move(message), .param = std::move(param)};
}

Refusal bad_body(std::string message) {
  return {.type = "Bad Request", .message = std::move(message), .always_openai = true};
}

Refusal unknown_model(std::string_view model) {
  return {.status = 404,
          .type = "NotFoundError",
          .message = "The model `" + std::string(model) + "` does not exist.",
          .param = "model"};
}

Refusal engine_dead() {
  return {.status = 500,
          .type = "InternalServerError",
          .message = "EngineCore encountered an issue. See stack trace (above) for the root cause."};
}

Refusal internal_error() { return {.status = 500, .type = "InternalServerError", .message = "Internal server error"}; }

Refusal engine_busy() {
  return {.status = 503,
          .type = "Service Unavailable",
          .message =
              "The engine is currently busy and cannot accept new requests. Please try again later or "
              "on a different instance."};
}

Refusal prompt_too_long(std::int64_t prompt, std::int64_t most) {
  return bad_request("This model's maximum context length is " + std::to_string(most) +
                         " tokens. However, your prompt contains " + std::to_string(prompt) +
                         " input tokens, which exceeds this limit even without any output tokens. Please reduce the "
                         "length of the input prompt.",
                     "input_tokens");
}

Refusal no_such_rank(std::int64_t rank, std::size_t ranks) {
  Refusal refusal = bad_request("data_parallel_rank " + std::to_string(rank) + " is out of range [0, " +
                                std::to_string(ranks) + ").");
  refusal.before_streaming = false;
  return refusal;
}

std::string body_of(const Refusal& refusal, dialect::Api api) {
  if (dialect::shape_of(api) == dialect::Shape::anthropic && !refusal.always_openai)
    return anthropic(refusal, refusal.type);
  return openai(refusal, "");
}

std::string events_of(const Refusal& refusal, dialect::Api api) {
  if (api == dialect::Api::messages) return "event: error\ndata: " + anthropic(refusal, "internal_error") + "\n\n";
  const std::string event = "data: " + openai(refusal, " ") + "\n\n";
  return api == dialect::Api::responses ? event : event + "data: [DONE]\n\n";
}

}  // namespace wg::replica
