// Walks JSON text token by token and tells where each value lies; nothing is copied, no tree is built. Strict about
// structure (brackets, commas, literals, depth, UTF-8); a fault ends the walk and is kept with its offset.
// Made, used and dropped by one thread; simdjson is behind it and in no other file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace wg::dialect {

struct JsonFault {
  const char* what = nullptr;  // null: none
  std::size_t offset = 0;
};

// Containers inside each other. Python's parser, behind many engines, gives up at about a thousand.
inline constexpr int max_json_depth = 256;

class JsonCursor {
 public:
  // `base` is added to every offset: the length of a byte order mark that was cut off.
  explicit JsonCursor(std::string_view text, std::size_t base = 0);
  ~JsonCursor();
  JsonCursor(const JsonCursor&) = delete;
  JsonCursor& operator=(const JsonCursor&) = delete;

  bool ok() const { return fault_.what == nullptr; }
  const JsonFault& fault() const { return fault_; }

  // First byte of the value to come ('{', '[', '"', a digit, ...); 0 at the end of the text and after a fault.
  char peek() const { return next_ < count_ ? text_[tokens_[next_]] : '\0'; }
  std::size_t offset() const { return base_ + (next_ < count_ ? tokens_[next_] : text_.size()); }  // of that value
  std::size_t end() const { return base_ + end_; }  // just behind the last value taken

  // Each of these takes one value whatever it is; one of another type is passed over.
  // member(key) and element() may take their value or leave it; the key is decoded and valid until the next one.
  template <class Member>
  void object(Member&& member) {
    members([&](std::string_view raw_key) { member(decoded_key(raw_key)); });
  }
  template <class Element>
  void array(Element&& element);
  std::string_view string();  // the bytes between the quotes, still escaped; null data if it is no string
  std::string_view skip();    // the bytes of the whole value
  std::int64_t integer();     // 0 if it is no number; fractions are cut off
  std::int64_t count();       // integer(), but never below zero, and so bounded that a few of them can be added
  bool boolean();             // true only for `true`

  // Nothing may follow. False after a fault.
  bool finish();

 private:
  struct Index;  // the positions of the tokens
  static std::unique_ptr<Index>& spare_index();

  template <class Member>
  void members(Member&& member);
  bool enter();
  void leave();
  bool more(char close);
  std::string_view take_key();
  std::string_view decoded_key(std::string_view raw);
  std::string_view token() const;
  std::string_view scalar();
  void fail(const char* what, std::size_t at);

  std::unique_ptr<Index> index_;
  std::string_view text_;
  std::size_t base_;
  const std::uint32_t* tokens_ = nullptr;
  std::size_t next_ = 0, count_ = 0;
  std::size_t end_ = 0;
  int depth_ = 0;
  JsonFault fault_;
  std::string key_;
};

template <class Member>
void JsonCursor::members(Member&& member) {
  if (peek() != '{') {
    skip();
    return;
  }
  if (!enter()) return;
  if (peek() == '}') return leave();
  do {
    const std::string_view key = take_key();
    if (!ok()) return;
    const std::size_t before = next_;
    member(key);
    if (next_ == before) skip();
  } while (more('}'));
}

template <class Element>
void JsonCursor::array(Element&& element) {
  if (peek() != '[') {
    skip();
    return;
  }
  if (!enter()) return;
  if (peek() == ']') return leave();
  do {
    const std::size_t before = next_;
    element();
    if (next_ == before) skip();
  } while (more(']'));
}

}  // namespace wg::dialect
