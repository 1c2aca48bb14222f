#include "dialect/json_cursor.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "dialect/json_string.h"

namespace wg::dialect {

// simdjson's first stage: checks UTF-8 and control characters and finds every token with vector instructions. It is
// taken without the second one, which would build a tree or, as On-Demand, leave brackets, depth and commas unchecked.
struct JsonCursor::Index {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stages;
  std::size_t capacity = 0;

  simdjson::error_code read(std::string_view text) {
    if (text.size() > capacity || !stages) {
      const std::size_t room = text.size() < least_capacity ? least_capacity : text.size();
      const auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(room, 1, stages);
      if (error) return error;
      capacity = room;
    }
    return stages->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                          simdjson::stage1_mode::regular);
  }

  static constexpr std::size_t least_capacity = 4096;
  // The index of a body takes four times its size; that of a very large one is given back at once.
  static constexpr std::size_t most_kept = 1 << 20;
};

namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Where stage one stopped, which it does not say: the first byte that is no UTF-8, a control character inside a string,
// or the quote of a string without end.
JsonFault find_fault(std::string_view text) {
  std::size_t quote = std::string_view::npos;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return {"bytes that are not UTF-8", i};
    const char c = text[i];
    const bool in_string = quote != std::string_view::npos;
    if (c == '"') quote = in_string ? std::string_view::npos : i;
    if (in_string && static_cast<unsigned char>(c) < 0x20) return {"a control character inside a string", i};
    i += in_string && c == '\\' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x20 &&
                 static_cast<unsigned char>(text[i + 1]) < 0x80
             ? 2
             : length;
  }
  if (quote != std::string_view::npos) return {"a string without end", quote};
  return {"nothing but white space", 0};
}

bool digits(std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at > start;
}

bool is_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t first = at;
  if (!digits(text, at) || (text[first] == '0' && at > first + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits(text, at)) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits(text, at)) return false;
  }
  return at == text.size();
}

}  // namespace

// One index a thread is kept for the next cursor; a cursor inside another's life makes its own.
std::unique_ptr<JsonCursor::Index>& JsonCursor::spare_index() {
  thread_local std::unique_ptr<Index> spare;
  return spare;
}

JsonCursor::JsonCursor(std::string_view text, std::size_t base)
    : index_(std::move(spare_index())), text_(text), base_(base) {
  if (!index_) index_ = std::make_unique<Index>();
  const simdjson::error_code error = index_->read(text);
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    fail("more text than can be held", text.size());
  } else if (error) {
    const JsonFault found = find_fault(text);
    fail(found.what, found.offset);
  } else {
    tokens_ = index_->stages->structural_indexes.get();
    count_ = index_->stages->n_structural_indexes;
  }
}

JsonCursor::~JsonCursor() {
  if (index_->capacity <= Index::most_kept) spare_index() = std::move(index_);
}

void JsonCursor::fail(const char* what, std::size_t at) {
  if (!ok()) return;
  fault_ = {what, base_ + at};
  next_ = count_ = 0;
}

// The token's bytes without the white space behind it. A string's token ends with its closing quote: whatever follows
// that is a token of its own.
std::string_view JsonCursor::token() const {
  const std::size_t begin = tokens_[next_];
  std::size_t end = next_ + 1 < count_ ? tokens_[next_ + 1] : text_.size();
  while (end > begin + 1 && is_space(text_[end - 1])) --end;
  return text_.substr(begin, end - begin);
}

std::string_view JsonCursor::scalar() {
  const char first = peek();
  const std::size_t begin = offset() - base_;
  if (first == '\0') return fail("the end where a value should be", begin), std::string_view();
  const std::string_view bytes = token();
  const bool good = first == '"'   ? bytes.size() >= 2 && bytes.back() == '"'
                    : first == 't' ? bytes == "true"
                    : first == 'f' ? bytes == "false"
                    : first == 'n' ? bytes == "null"
                                   : is_number(bytes);
  if (!good) return fail("no value where one should be", begin), std::string_view();
  ++next_;
  end_ = begin + bytes.size();
  return bytes;
}

std::string_view JsonCursor::skip() {
  const std::size_t begin = offset() - base_;
  switch (peek()) {
    case '{':
      members([&](std::string_view) { skip(); });
      break;
    case '[':
      array([&] { skip(); });
      break;
    default:
      return scalar();
  }
  return ok() ? text_.substr(begin, end_ - begin) : std::string_view();
}

std::string_view JsonCursor::string() {
  if (peek() != '"') return skip(), std::string_view();
  const std::string_view bytes = scalar();
  return ok() ? bytes.substr(1, bytes.size() - 2) : std::string_view();
}

std::int64_t JsonCursor::integer() {
  const std::string_view bytes = skip();
  std::int64_t value = 0;
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
  return value;
}

std::int64_t JsonCursor::count() {
  constexpr std::int64_t most = 1'000'000'000'000'000;
  return std::clamp<std::int64_t>(integer(), 0, most);
}

bool JsonCursor::boolean() { return skip() == "true"; }

bool JsonCursor::enter() {
  if (depth_ >= max_json_depth) return fail("nesting too deep", offset() - base_), false;
  ++depth_;
  ++next_;
  return true;
}

void JsonCursor::leave() {
  --depth_;
  end_ = offset() - base_ + 1;
  ++next_;
}

bool JsonCursor::more(char close) {
  if (!ok()) return false;
  if (peek() == ',') return ++next_, true;
  if (peek() == close) return leave(), false;
  return fail(close == '}' ? "neither ',' nor '}' behind a member" : "neither ',' nor ']' behind an element",
              offset() - base_),
         false;
}

std::string_view JsonCursor::take_key() {
  if (peek() != '"') return fail("no key where one should be", offset() - base_), std::string_view();
  const std::string_view key = string();
  if (peek() != ':') return fail("no ':' behind a key", offset() - base_), std::string_view();
  ++next_;
  return key;
}

std::string_view JsonCursor::decoded_key(std::string_view raw) {
  if (raw.find('\\') == std::string_view::npos) return raw;
  key_.clear();
  append_decoded(key_, raw);
  return key_;
}

bool JsonCursor::finish() {
  if (ok() && next_ < count_) fail("more behind the end of the value", offset() - base_);
  return ok();
}

}  // namespace wg::dialect
