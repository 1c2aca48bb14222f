#include "replica/ask.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/hash.h"

namespace wg::replica {
namespace {

using Json = nlohmann::ordered_json;
using dialect::Api;

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_at(const Json& object, const char* key, bool otherwise = false) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

std::optional<std::int64_t> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string tool_call(std::string_view name, std::string_view arguments) {
  std::string out(tool_call_begin);
  return out.append(name).append(tool_call_middle).append(arguments).append(tool_call_end);
}

// vLLM leaves out the line with which Claude Code begins its system prompt: it differs in every request.
bool is_billing_line(std::string_view text) { return text.starts_with("x-anthropic-billing-header"); }

void append_content(std::string& text, const Json& content);

void append_block(std::string& text, const Json& block) {
  if (!block.is_object()) return append_content(text, block);
  const std::string type = text_at(block, "type");
  if (type == "thinking" || type == "redacted_thinking" || type == "reasoning") return;
  if (type == "tool_use")
    text += tool_call(text_at(block, "name"), block.contains("input") ? block["input"].dump() : "{}");
  else if (block.contains("text"))
    append_content(text, block["text"]);
  else if (type == "tool_result" && block.contains("content"))
    append_content(text, block["content"]);
  else
    text += block.dump();  // an image, a file: as it stands
}

void append_content(std::string& text, const Json& content) {
  if (content.is_string())
    text += content.get_ref<const std::string&>();
  else if (content.is_array())
    for (const Json& block : content) append_block(text, block);
  else if (content.is_object())
    append_block(text, content);
}

void add_message(Ask& ask, const Json& message) {
  Message out{text_at(message, "role"), {}};
  if (const auto content = message.find("content"); content != message.end()) append_content(out.text, *content);
  if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array())
    for (const Json& call : *calls)
      if (const auto function = call.find("function"); function != call.end())
        out.text += tool_call(text_at(*function, "name"), text_at(*function, "arguments"));
  ask.messages.push_back(std::move(out));
}

void add_tools(Ask& ask, const Json& body) {
  const auto tools = body.find("tools");
  if (tools == body.end() || !tools->is_array() || tools->empty()) return;
  const Json& first = tools->front();
  if (first.is_object()) ask.tool = text_at(first.contains("function") ? first["function"] : first, "name");
  ask.messages.push_back({"tools", tools->dump()});
}

Asked<void> add_messages(Ask& ask, const Json& body) {
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array())
    return refuse(
        bad_body("1 validation error: {'type': 'missing', 'loc': ('body', 'messages'), 'msg': 'Field required'}"));
  for (const Json& message : *messages)
    if (message.is_object()) add_message(ask, message);
  return {};
}

void add_system(Ask& ask, const Json& body) {
  const auto system = body.find("system");
  if (system == body.end()) return;
  Message out{"system", {}};
  if (system->is_string() && !is_billing_line(system->get_ref<const std::string&>()))
    append_content(out.text, *system);
  else if (system->is_array())
    for (const Json& block : *system)
      if (!block.is_object() || !is_billing_line(text_at(block, "text"))) append_block(out.text, block);
  if (!out.text.empty()) ask.messages.push_back(std::move(out));
}

void add_item(Ask& ask, const Json& item) {
  const std::string type = text_at(item, "type");
  if (type == "function_call")
    ask.messages.push_back({"assistant", tool_call(text_at(item, "name"), text_at(item, "arguments"))});
  else if (type == "function_call_output") {
    Message out{"tool", {}};
    if (item.contains("output")) append_content(out.text, item["output"]);
    ask.messages.push_back(std::move(out));
  } else if (type != "reasoning")
    add_message(ask, item);
}

Asked<void> add_input(Ask& ask, const Json& body) {
  const auto input = body.find("input");
  if (input == body.end() || !(input->is_string() || input->is_array()))
    return refuse(
        bad_body("1 validation error: {'type': 'missing', 'loc': ('body', 'input'), 'msg': 'Field required'}"));
  if (input->is_string()) {
    ask.messages.push_back({"user", input->get<std::string>()});
    return {};
  }
  for (const Json& item : *input)
    if (item.is_object()) add_item(ask, item);
  return {};
}

// A text, token ids, or a list with exactly one of either.
Asked<void> add_prompt(Ask& ask, const Json& body) {
  ask.is_raw = true;
  const auto found = body.find("prompt");
  if (found == body.end())
    return refuse(
        bad_body("1 validation error: {'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required'}"));
  const Json* prompt = &*found;
  if (prompt->is_array() && !prompt->empty() && !prompt->front().is_number()) {
    if (prompt->size() > 1) return refuse(bad_request("this simulated engine takes one prompt a request", "prompt"));
    prompt = &prompt->front();
  }
  if (prompt->is_string()) {
    ask.raw_text = prompt->get<std::string>();
    append_text(ask.raw, ask.raw_text);
  } else if (prompt->is_array()) {
    for (const Json& token : *prompt)
      if (token.is_number_integer()) ask.raw.push_back(static_cast<sim::TokenId>(token.get<std::int64_t>()));
    ask.raw_text = prompt->dump();
  }
  if (ask.raw.empty()) return refuse(bad_request("The decoder prompt cannot be empty", "prompt"));
  return {};
}

// Containers inside each other, at most: what walks them does so by recursion. Python's reader gives up there too.
constexpr int deepest = 900;

bool is_too_deep(std::string_view text) {
  int depth = 0, most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '[' || c == '{') most = std::max(most, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return most > deepest;
}

Asked<Json> parse(std::string_view body) {
  Json json = is_too_deep(body) ? Json(Json::value_t::discarded) : Json::parse(body, nullptr, false);
  if (json.is_discarded())
    return refuse(
        bad_body("1 validation error: {'type': 'json_invalid', 'loc': ('body', 0), 'msg': 'JSON decode error'}"));
  if (!json.is_object())
    return refuse(
        bad_body("1 validation error: {'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should "
                 "be a valid dictionary or object to extract fields from'}"));
  return json;
}

Asked<void> read_limits(Ask& ask, const Json& body) {
  for (const char* key : {"max_completion_tokens", "max_tokens", "max_output_tokens"})
    if (const auto limit = number_at(body, key); limit && !ask.max_tokens) ask.max_tokens = limit;
  if (ask.max_tokens && *ask.max_tokens < 1)
    return refuse(
        bad_request("max_tokens must be at least 1, got " + std::to_string(*ask.max_tokens) + ".", "max_tokens"));
  if (number_at(body, "n").value_or(1) != 1) return refuse(bad_request("this simulated engine takes n = 1 only", "n"));
  ask.ignore_eos = flag_at(body, "ignore_eos");
  return {};
}

}  // namespace

Asked<Ask> read_ask(Api api, std::string_view text) {
  const Asked<Json> parsed = parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  const Json& body = *parsed;
  Ask ask;
  ask.api = api;
  ask.model = text_at(body, "model");
  ask.stream = flag_at(body, "stream");
  if (const auto options = body.find("stream_options"); options != body.end() && options->is_object())
    ask.include_usage = flag_at(*options, "include_usage");
  ask.cache_salt = text_at(body, "cache_salt");
  ask.previous_response_id = text_at(body, "previous_response_id");
  ask.store = flag_at(body, "store", true);
  if (const auto limits = read_limits(ask, body); !limits) return tl::unexpected(limits.error());

  Asked<void> prompt;
  if (api == Api::completions) {
    prompt = add_prompt(ask, body);
  } else if (api == Api::responses) {
    ask.instructions = text_at(body, "instructions");
    if (!ask.instructions.empty()) ask.messages.push_back({"system", ask.instructions});
    add_tools(ask, body);
    ask.head_messages = ask.messages.size();
    prompt = add_input(ask, body);
  } else {
    if (api != Api::chat) add_system(ask, body);
    add_tools(ask, body);
    prompt = add_messages(ask, body);
  }
  if (!prompt) return tl::unexpected(prompt.error());
  return ask;
}

Asked<Ask> read_tokenize(std::string_view text) {
  const Asked<Json> parsed = parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  return read_ask(parsed->contains("messages") ? Api::chat : Api::completions, text);
}

Asked<TokenList> read_detokenize(std::string_view text) {
  const Asked<Json> parsed = parse(text);
  if (!parsed) return tl::unexpected(parsed.error());
  const auto found = parsed->find("tokens");
  if (found == parsed->end() || !found->is_array())
    return refuse(
        bad_body("1 validation error: {'type': 'missing', 'loc': ('body', 'tokens'), 'msg': 'Field required'}"));
  TokenList tokens;
  for (const Json& token : *found)
    if (token.is_number_integer()) tokens.push_back(static_cast<sim::TokenId>(token.get<std::int64_t>()));
  return tokens;
}

SessionKey extend(const SessionKey& digest, std::string_view role, std::string_view text) {
  return KeyHasher().add(hex_of(digest)).add(role).add(text).finish();
}

std::string hex_of(const SessionKey& digest) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[i] = digits[digest.high >> (60 - 4 * i) & 15];
    text[16 + i] = digits[digest.low >> (60 - 4 * i) & 15];
  }
  return text;
}

}  // namespace wg::replica
