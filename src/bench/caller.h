// One client's connection to the target, kept alive from request to request, as agents keep it. Owner: one session's
// slot, on one loop. Invariant: at most one request at a time.
#pragma once

#include <string>

#include "bench/answer_parser.h"
#include "bench/target.h"
#include "net/dial.h"
#include "net/stream.h"
#include "net/task.h"

namespace wg::bench {

class Caller {
 public:
  Caller(net::Loop& loop, const Target& target);

  // Sends a streamed request and reads the answer to its end. The references must outlive the await. `headers`: further
  // ones, each with its line's end.
  net::Task<Answer> ask(const std::string& body, const std::string& session_key, std::string_view headers = {});
  void cancel();  // what is under way ends as cancelled, and so does all that is asked later
  void hang_up() { stream_ = {}; }

 private:
  net::Task<bool> connect();  // false: answer() says why
  net::Task<void> exchange(const std::string& head, const std::string& body);
  void broken(net::IoError error, const char* while_doing);

  net::Loop& loop_;
  const Target& target_;
  AnswerParser parser_;
  net::Stream stream_;
  net::Dial* dialling_ = nullptr;
  std::vector<char> buffer_;
  bool cancelled_ = false;
};

}  // namespace wg::bench
