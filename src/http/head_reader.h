// Reads one message head with llhttp and keeps its bytes: one pass over the input, one copy into the buffer. On top of
// llhttp every byte of the head must belong to the start line, a field or a CRLF; what is left over is refused.
// Views stay valid until reset(). Pinned in memory (llhttp holds its address). Internal to http/.
#pragma once

#include <llhttp.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/header.h"
#include "http/h1.h"
#include "http/refusal.h"

namespace wg::http {

class HeadReader {
 public:
  HeadReader(llhttp_type_t type, const Limits& limits);
  HeadReader(const HeadReader&) = delete;
  HeadReader& operator=(const HeadReader&) = delete;

  // Takes bytes up to the end of the head and says how many. ended() then tells whether it was reached.
  Checked<std::size_t> feed(std::string_view in);
  bool started() const { return !buffer_.empty(); }
  bool ended() const { return ended_; }

  // After the end: the line without its CRLF, and the fields in wire order, values trimmed.
  char* start_line() { return buffer_.data(); }
  std::size_t start_line_size() const { return start_line_size_; }
  Checked<void> split(std::vector<Header>& fields);

  void reset();

 private:
  struct Name {
    std::size_t begin = 0, end = 0;
  };
  static HeadReader& of(llhttp_t* parser) { return *static_cast<HeadReader*>(parser->data); }
  static int on_url(llhttp_t* parser, const char* at, std::size_t size);
  static int on_url_complete(llhttp_t* parser);
  static int on_name(llhttp_t* parser, const char* at, std::size_t size);
  static int on_name_complete(llhttp_t* parser);
  static int on_end(llhttp_t* parser);
  static const llhttp_settings_t& settings();

  tl::unexpected<Refusal> refused(llhttp_errno_t code, std::string_view in);
  Refusal target_too_long() const;
  Refusal head_too_long() const;
  Refusal stray_control() const;
  bool line_ends_before(std::size_t next) const;

  llhttp_t parser_{};
  Limits limits_;
  std::string buffer_;                // the head so far
  std::vector<Name> names_;           // where in buffer_ each field name stands
  const char* feed_begin_ = nullptr;  // the input of the feed() that runs
  std::size_t target_size_ = 0;
  std::size_t start_line_size_ = 0;
  bool in_name_ = false;
  bool ended_ = false;
  Refusal limit_hit_{0, {}};  // set by a callback that stopped llhttp
};

// For the next message: the memory of its fields is kept.
template <class Head>
void forget(Head& head) {
  std::vector<Header> headers = std::move(head.headers);
  headers.clear();
  head = {};
  head.headers = std::move(headers);
}

}  // namespace wg::http
