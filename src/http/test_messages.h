// For tests of http/: feeds a byte string to a parser in given pieces and records everything that came out.
// Two ways of cutting the same bytes must give equal records. Single-threaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/h1.h"

namespace wg::http::testing {

struct Message {
  std::string start;  // method and target, or status and reason
  int minor = 1;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string framing;  // flags and length, as text
  std::string body;
  bool complete = false;
  bool operator==(const Message&) const = default;
};

struct Record {
  std::vector<Message> messages;  // the last one may be incomplete
  int error = 0;                  // status
  std::string what;
  std::size_t consumed = 0;
  bool started = false;
  bool operator==(const Record& other) const {
    return messages == other.messages && error == other.error &&
           (error != 0 || (consumed == other.consumed && started == other.started));
  }
};

inline Message describe(const RequestHead& head) {
  Message m;
  m.start = std::string(head.method) + " " + std::string(head.target);
  m.minor = head.minor;
  for (const auto& [name, value] : head.headers) m.headers.emplace_back(name, value);
  m.framing = head.chunked ? "chunked" : head.content_length ? std::to_string(*head.content_length) : "none";
  if (head.keep_alive) m.framing += " keep";
  if (head.expects_continue) m.framing += " expect";
  if (head.upgrade) m.framing += " upgrade";
  return m;
}

inline Message describe(const ResponseHead& head) {
  Message m;
  m.start = std::to_string(head.status) + " " + std::string(head.reason);
  m.minor = head.minor;
  for (const auto& [name, value] : head.headers) m.headers.emplace_back(name, value);
  m.framing = head.chunked ? "chunked" : head.content_length ? std::to_string(*head.content_length) : "none";
  if (head.keep_alive) m.framing += " keep";
  if (head.until_close) m.framing += " until_close";
  return m;
}

// One connection: what does not fit into this message is offered to the next.
template <class Parser, class Reset>
class Connection {
 public:
  Connection(Parser& parser, Reset reset) : parser_(parser), reset_(reset) {}

  // Offers the piece until nothing more is taken. False after an error.
  bool feed(std::string_view piece) {
    do {
      std::vector<std::string_view> spans;
      auto progress = parser_.feed(piece, spans);
      if (!progress) {
        append(spans, piece);  // what came before the fault
        record_.error = progress.error().status;
        record_.what = progress.error().what;
        return false;
      }
      if (progress->consumed > piece.size()) std::abort();
      record_.consumed += progress->consumed;
      if (progress->head_complete) {
        record_.messages.push_back(describe(parser_.head()));
        open_ = true;
      }
      append(spans, piece);
      if (progress->complete) {
        record_.messages.back().complete = true;
        open_ = false;
        reset_(parser_);
      } else if (progress->consumed == 0) {
        break;
      }
      piece.remove_prefix(progress->consumed);
    } while (!piece.empty());
    return true;
  }

  Record finish() {
    record_.started = parser_.started();
    return record_;
  }
  bool open() const { return open_; }

 private:
  void append(const std::vector<std::string_view>& spans, std::string_view piece) {
    for (const std::string_view span : spans) {
      if (span.data() < piece.data() || span.data() + span.size() > piece.data() + piece.size()) std::abort();
      record_.messages.back().body += span;
    }
  }

  Parser& parser_;
  Reset reset_;
  Record record_;
  bool open_ = false;
};

// cuts: offsets in rising order.
template <class Parser, class Reset>
Record read_cut(Parser& parser, Reset reset, std::string_view bytes, const std::vector<std::size_t>& cuts) {
  Connection<Parser, Reset> connection(parser, reset);
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : bytes.size();
    // A copy on the heap of exactly this size: a sanitizer sees every byte read too far.
    const std::vector<char> piece(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(to));
    if (!connection.feed({piece.data(), piece.size()})) break;
    from = to;
  }
  return connection.finish();
}

inline Record read_requests(std::string_view bytes, const std::vector<std::size_t>& cuts = {}, Limits limits = {}) {
  RequestParser parser(limits);
  return read_cut(parser, [](RequestParser& p) { p.reset(); }, bytes, cuts);
}

inline Record read_responses(std::string_view bytes, const std::vector<std::size_t>& cuts = {}, bool to_head = false,
                             Limits limits = answer_limits) {
  ResponseParser parser(limits);
  parser.reset(to_head);
  return read_cut(parser, [to_head](ResponseParser& p) { p.reset(to_head); }, bytes, cuts);
}

inline std::vector<std::size_t> every_byte(std::string_view bytes) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < bytes.size(); ++i) cuts.push_back(i);
  return cuts;
}

// Calls check(cuts) for the bytes in two pieces at each place, and in pieces of one byte.
template <class Check>
void for_each_cut(std::string_view bytes, Check check) {
  for (std::size_t i = 1; i < bytes.size(); ++i) check(std::vector<std::size_t>{i});
  check(every_byte(bytes));
}

}  // namespace wg::http::testing
