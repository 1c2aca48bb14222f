#include "dialect/body.h"

#include <algorithm>
#include <utility>

#include "core/hash.h"
#include "dialect/background.h"
#include "dialect/body_keys.h"
#include "dialect/json_cursor.h"
#include "dialect/json_string.h"
#include "dialect/prompt_text.h"

namespace wg::dialect {
namespace {

// RFC 8259 lets a parser pass over it, and those of the engines do.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

constexpr bool is_turn(Api api) { return api == Api::chat || api == Api::messages || api == Api::responses; }

class Inspection {
 public:
  Inspection(Api api, std::string_view body)
      : api_(api),
        body_(body),
        cursor_(without_mark(body), body.size() - without_mark(body).size()),
        prompt_(cursor_) {}

  Result<BodyFacts> run();

 private:
  static std::string_view without_mark(std::string_view body) {
    return body.starts_with(byte_order_mark) ? body.substr(byte_order_mark.size()) : body;
  }

  void member(std::string_view key);
  bool prompt_member(std::string_view key);
  void model();
  void stream_options();
  void output_format(std::string_view key);
  void max_tokens(std::string_view key);
  void finish_facts();
  Result<void> check() const;
  Result<void> check_duplicates();
  Span take();

  const Api api_;
  const std::string_view body_;
  JsonCursor cursor_;
  PromptText prompt_;
  BodyKeyReader keys_;
  BodyFacts facts_;
  bool model_is_string_ = true;
  bool wants_json_schema_ = false;
  std::vector<std::pair<std::uint64_t, std::size_t>> key_hashes_;  // with their values' offsets
};

tl::unexpected<Error> refuse(std::string what) { return fail(Fault::client, std::move(what), 400); }

Result<BodyFacts> Inspection::run() {
  if (cursor_.ok() && cursor_.peek() != '{')
    return refuse("The body is JSON but no object: a '{' is needed at byte " + std::to_string(cursor_.offset()) + ".");
  facts_.first_member = cursor_.offset() + 1;
  key_hashes_.reserve(32);
  facts_.is_empty_object = true;
  cursor_.object([&](std::string_view key) { member(key); });
  cursor_.finish();
  return check().and_then([&] { return check_duplicates(); }).map([&] {
    finish_facts();
    return std::move(facts_);
  });
}

void Inspection::member(std::string_view key) {
  facts_.is_empty_object = false;
  key_hashes_.emplace_back(xxh3(key), cursor_.offset());
  if (key == "model") return model();
  if (key == "stream") {
    facts_.stream = cursor_.boolean();
  } else if (api_ == Api::other) {
    return;
  } else if (key == "stream_options") {
    stream_options();
  } else if (key.starts_with("max_")) {
    max_tokens(key);
  } else if (key == "output_config" || key == "response_format" || key == "text") {
    output_format(key);
  } else if (!prompt_member(key)) {
    keys_.member(key, cursor_);
  }
}

// Which member of which API becomes prompt.
bool Inspection::prompt_member(std::string_view key) {
  const bool anthropic = shape_of(api_) == Shape::anthropic;
  if (key == "tools" || (key == "functions" && api_ == Api::chat)) {
    prompt_.tools();
  } else if (key == "messages" && (anthropic || api_ == Api::chat)) {
    prompt_.items();
  } else if (key == "system" && anthropic) {
    prompt_.system();
  } else if (key == "instructions" && api_ == Api::responses) {
    prompt_.system();
  } else if (key == "input" && api_ == Api::responses) {
    prompt_.items();
  } else if (key == "prompt" && api_ == Api::completions) {
    prompt_.prompt();
  } else {
    return false;
  }
  return true;
}

Span Inspection::take() {
  const std::size_t begin = cursor_.offset();
  const std::string_view bytes = cursor_.skip();
  return {begin, bytes.size()};
}

void Inspection::model() {
  model_is_string_ = cursor_.peek() == '"';
  facts_.model_value = take();
  if (model_is_string_ && facts_.model_value.length >= 2)
    facts_.model = decoded(body_.substr(facts_.model_value.offset + 1, facts_.model_value.length - 2));
}

void Inspection::stream_options() {
  const std::size_t begin = cursor_.offset();
  const char first = cursor_.peek();
  facts_.options = first == '{' ? OptionsKind::empty : first == 'n' ? OptionsKind::null : OptionsKind::other;
  if (first != '{') {
    facts_.stream_options = take();
    return;
  }
  cursor_.object([&](std::string_view key) {
    facts_.options = OptionsKind::object;
    if (key != "include_usage") return;
    facts_.include_usage_value = take();
    facts_.include_usage = body_.substr(facts_.include_usage_value.offset, facts_.include_usage_value.length) == "true";
  });
  facts_.stream_options = {begin, cursor_.end() - begin};
}

void Inspection::max_tokens(std::string_view key) {
  const bool newer = key == "max_completion_tokens";  // chat: replaces max_tokens, which may stand beside it
  if (!newer && key != "max_tokens" && key != "max_output_tokens") return;
  const std::int64_t value = std::max<std::int64_t>(cursor_.integer(), 0);
  if (newer || facts_.max_tokens == 0) facts_.max_tokens = value;
}

// chat: response_format.type; messages: output_config.format.type; responses: text.format.type.
void Inspection::output_format(std::string_view key) {
  const auto type = [&](std::string_view inner) {
    if (inner == "type") wants_json_schema_ |= cursor_.string() == "json_schema";
  };
  if (key == "response_format") return cursor_.object(type);
  cursor_.object([&](std::string_view inner) {
    if (inner == "format") cursor_.object(type);
  });
}

Result<void> Inspection::check() const {
  if (!cursor_.ok())
    return refuse("The body is not valid JSON: " + std::string(cursor_.fault().what) + ", at byte " +
                  std::to_string(cursor_.fault().offset) + ".");
  if (!model_is_string_)
    return refuse("\"model\" must be a string, at byte " + std::to_string(facts_.model_value.offset) + ".");
  return {};
}

// An engine would take the last of two, or the first: then the gateway and the engine would read different requests.
Result<void> Inspection::check_duplicates() {
  std::sort(key_hashes_.begin(), key_hashes_.end());
  const auto same = std::adjacent_find(key_hashes_.begin(), key_hashes_.end(),
                                       [](const auto& a, const auto& b) { return a.first == b.first; });
  if (same == key_hashes_.end()) return {};
  const std::size_t second = std::next(same)->second;
  std::string name;
  JsonCursor again(without_mark(body_), body_.size() - without_mark(body_).size());
  again.object([&](std::string_view key) {
    if (again.offset() == second) name = key.substr(0, 64);
  });
  return refuse("The top-level key \"" + name + "\" stands twice in the body, the second time before byte " +
                std::to_string(second) + ".");
}

void Inspection::finish_facts() {
  facts_.keys = keys_.finish();
  facts_.fingerprint = prompt_.fingerprint(facts_.model);
  facts_.head = prompt_.head();
  facts_.text_bytes = prompt_.text_bytes();
  facts_.has_tools = prompt_.has_tools();
  facts_.billing_lines = std::move(prompt_.billing_lines());
  const std::string opening = prompt_.opening();
  facts_.is_background =
      is_turn(api_) && is_background_call(facts_, {prompt_.has_answer(), wants_json_schema_, opening});
}

}  // namespace

Result<BodyFacts> inspect(Api api, std::string_view body) { return Inspection(api, body).run(); }

}  // namespace wg::dialect
