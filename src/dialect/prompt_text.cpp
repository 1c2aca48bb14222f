#include "dialect/prompt_text.h"

#include <algorithm>

#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

constexpr std::size_t hashed_prompt_bytes = 1024;
constexpr std::size_t opening_bytes = 1024;
constexpr std::int64_t bytes_per_token_id = 4;  // as estimate_tokens turns them back

// What the members of items and content blocks are to a prompt. Those not named are ids, types, cache marks, signatures
// and encrypted text: no prompt, or none that can be sized.
enum class Part { none, text, side_text, json, media };

struct PartRow {
  std::string_view key;
  Part part;
};

constexpr PartRow parts[] = {
    {"content", Part::text},         {"text", Part::text},
    {"arguments", Part::side_text},  {"output", Part::side_text},
    {"tool_calls", Part::side_text}, {"function", Part::side_text},
    {"name", Part::side_text},       {"thinking", Part::side_text},
    {"summary", Part::side_text},    {"reasoning_content", Part::side_text},
    {"reasoning", Part::side_text},  {"function_call", Part::side_text},
    {"refusal", Part::side_text},    {"input", Part::json},
    {"source", Part::media},         {"image_url", Part::media},
    {"file", Part::media},           {"input_audio", Part::media},
    {"video_url", Part::media},      {"file_data", Part::media},
};

Part part_of(std::string_view key) {
  for (const PartRow& row : parts)
    if (row.key == key) return row.part;
  return Part::none;
}

bool is_system(std::string_view role) { return role == "system" || role == "developer"; }

// The rest of a conversation begins with the first item that a model made: an assistant's message, or in Responses
// whatever is no message (function_call, reasoning, ...).
bool is_made_by_model(std::string_view role, std::string_view type) {
  if (role.empty()) return !type.empty() && type != "message";
  return role == "assistant" || role == "model" || role == "tool" || role == "function";
}

// Enough to tell two images apart without reading megabytes.
void append_sample(std::string& sink, std::string_view bytes) {
  static constexpr std::size_t edge = 128;
  sink.append(bytes.substr(0, edge));
  if (bytes.size() > edge) sink.append(bytes.substr(bytes.size() - edge));
  sink += std::to_string(bytes.size());
}

}  // namespace

void PromptText::system() {
  if (cursor_.peek() == '"') {
    const std::size_t inside = cursor_.offset() + 1;
    if (system_string()) billing_lines_.push_back({inside, cursor_.end() - 1 - inside});
    return;
  }
  std::vector<Element> blocks;
  cursor_.array([&] {
    const std::size_t begin = cursor_.offset();
    const bool is_billing = system_block();
    blocks.push_back({{begin, cursor_.end() - begin}, is_billing});
  });
  spans_without(blocks, billing_lines_);
  std::sort(billing_lines_.begin(), billing_lines_.end(),
            [](const Span& a, const Span& b) { return a.offset < b.offset; });
}

// True if nothing but the billing line is in it. Where more text follows the line, only the line is to go.
bool PromptText::system_string() {
  const std::size_t inside = cursor_.offset() + 1;
  const std::string_view raw = cursor_.string();
  const std::size_t billing = raw_billing_line_length(raw);
  text(raw.substr(billing), &system_text_);
  if (billing && billing < raw.size()) billing_lines_.push_back({inside, billing});
  return billing && billing == raw.size();
}

bool PromptText::system_block() {
  if (cursor_.peek() != '{') return value(&system_text_), false;
  bool is_billing = false;
  const std::size_t lines_before = billing_lines_.size();
  cursor_.object([&](std::string_view key) {
    if (key == "text" && cursor_.peek() == '"') {
      billing_lines_.resize(lines_before);  // of two texts the last one counts
      is_billing = system_string();
    } else {
      member(key, &system_text_);
    }
  });
  return is_billing;
}

void PromptText::items() {
  if (cursor_.peek() == '[') {
    cursor_.array([&] { item(); });
  } else {
    item();
  }
}

void PromptText::item() {
  std::string* const sink = hashed_part_ended_ ? nullptr : &item_text_;
  std::string_view role, type;
  item_text_.clear();
  if (cursor_.peek() == '{') {
    cursor_.object([&](std::string_view key) {
      if (key == "role") {
        role = cursor_.string();
      } else if (key == "type") {
        type = cursor_.string();
      } else {
        member(key, sink);
      }
    });
  } else {
    role = "user";  // Responses: a string as the whole input
    value(sink);
  }
  if (hashed_part_ended_) return;
  if (is_made_by_model(role, type)) {
    hashed_part_ended_ = true;
    return;
  }
  std::string_view hashed = item_text_;
  if (is_system(role)) hashed.remove_prefix(billing_line_length(hashed));
  items_.add(role).add(hashed);
  has_item_text_ |= !hashed.empty();
  is_leading_ &= is_system(role);
  if (is_leading_ && !hashed.empty()) {
    leading_system_.add(hashed);
    has_leading_system_ = true;
  }
  if (opening_.size() < opening_bytes) opening_.append(hashed.substr(0, opening_bytes / 2)) += '\n';
}

void PromptText::value(std::string* sink) {
  switch (cursor_.peek()) {
    case '"':
      text(cursor_.string(), sink);
      break;
    case '[':
      cursor_.array([&] { value(sink); });
      break;
    case '{':
      cursor_.object([&](std::string_view key) { member(key, sink); });
      break;
    default:
      cursor_.skip();
  }
}

void PromptText::member(std::string_view key, std::string* sink) {
  switch (part_of(key)) {
    case Part::none:
      cursor_.skip();
      break;
    case Part::text:
      value(sink);
      break;
    case Part::side_text:
      value(nullptr);
      break;
    case Part::media:
      media(sink);
      break;
    case Part::json:
      if (cursor_.peek() == '"') {
        value(nullptr);
      } else {
        text_bytes_ += static_cast<std::int64_t>(cursor_.skip().size());
      }
  }
}

// Images, sound, files: no text, except an Anthropic document whose source is text.
void PromptText::media(std::string* sink) {
  std::string_view type, data;
  const auto sampled = [&] {
    const std::string_view bytes = cursor_.skip();
    if (sink) append_sample(*sink, bytes);
    return bytes;
  };
  if (cursor_.peek() != '{') {
    sampled();
    return;
  }
  cursor_.object([&](std::string_view key) {
    if (key == "type") {
      type = cursor_.string();
    } else if (key == "content") {
      value(sink);
    } else if (key == "data") {
      data = sampled();
    } else {
      sampled();
    }
  });
  if (type == "text" && data.size() >= 2) text(data.substr(1, data.size() - 2), nullptr);
}

void PromptText::text(std::string_view raw, std::string* sink) {
  if (sink) {
    const std::size_t before = sink->size();
    append_decoded(*sink, raw);
    text_bytes_ += static_cast<std::int64_t>(sink->size() - before);
  } else {
    text_bytes_ += static_cast<std::int64_t>(decoded_size(raw));
  }
}

void PromptText::prompt() {
  const bool wanted = prompt_start_.size() < hashed_prompt_bytes;
  switch (cursor_.peek()) {
    case '"': {
      const std::string_view raw = cursor_.string();
      text(raw, nullptr);
      // The longest escape of one byte takes six: so many raw bytes are enough, whatever is cut at their end.
      if (wanted) append_decoded(prompt_start_, raw.substr(0, 6 * hashed_prompt_bytes + 12));
      if (prompt_start_.size() > hashed_prompt_bytes) prompt_start_.resize(hashed_prompt_bytes);
      break;
    }
    case '[':
      cursor_.array([&] { prompt(); });
      break;
    case '{':
      cursor_.skip();
      break;
    default: {
      const std::string_view id = cursor_.skip();
      if (id == "null") break;
      text_bytes_ += bytes_per_token_id;
      if (wanted) prompt_start_.append(id) += ' ';
    }
  }
}

void PromptText::tools() {
  const bool is_list = cursor_.peek() == '[';
  const std::string_view json = cursor_.skip();
  if (!is_list || json.find('{') == std::string_view::npos) return;
  has_tools_ = true;
  text_bytes_ += static_cast<std::int64_t>(json.size());
  tools_.add(json);
}

SessionKey PromptText::fingerprint(std::string_view model) const {
  if (system_text_.empty() && !has_item_text_ && prompt_start_.empty()) return {};
  return ContentDigest().add(model).add(system_text_).add(items_.value()).add(prompt_start_).value();
}

SessionKey PromptText::head() const {
  if (system_text_.empty() && !has_leading_system_ && !has_tools_) return {};
  return ContentDigest().add(system_text_).add(leading_system_.value()).add(tools_.value()).value();
}

std::string PromptText::opening() const { return system_text_.substr(0, opening_bytes / 2) + '\n' + opening_; }

}  // namespace wg::dialect
