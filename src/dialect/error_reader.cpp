#include "dialect/error_reader.h"

#include <cstdint>

#include "dialect/json_cursor.h"
#include "dialect/json_string.h"

namespace wg::dialect {
namespace {

struct NamedStatus {
  std::string_view name;
  int status;
};

// Anthropic's, OpenAI's, vLLM's and llama.cpp's names for kinds of errors.
constexpr NamedStatus names[] = {
    {"invalid_request_error", 400},
    {"BadRequestError", 400},
    {"Bad Request", 400},
    {"exceed_context_size_error", 400},
    {"context_length_exceeded", 400},
    {"invalid_prompt", 400},
    {"authentication_error", 401},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"NotFoundError", 404},
    {"request_too_large", 413},
    {"UnprocessableEntityError", 422},
    {"rate_limit_error", 429},
    {"rate_limit_exceeded", 429},
    {"NotImplementedError", 501},
    {"not_supported_error", 501},
    {"unavailable_error", 503},
    {"ServiceUnavailableError", 503},
    {"overloaded_error", 503},
    {"timeout_error", 504},
};

class Reader {
 public:
  explicit Reader(std::string_view json) : cursor_(json) {}

  EngineError read() {
    cursor_.object([&](std::string_view key) { top_level(key); });
    if (!cursor_.finish()) return {};
    if (!error_.found) error_.status = 500;
    return std::move(error_);
  }

 private:
  void top_level(std::string_view key) {
    if (key == "error") {
      error();
    } else if (key == "response") {  // response.failed
      cursor_.object([&](std::string_view inner) {
        if (inner == "error") error();
      });
    } else if (key == "detail") {
      detail();
    } else if ((key == "type" || key == "object") && cursor_.peek() == '"') {
      error_.found |= cursor_.string() == "error";  // {"object":"error","message":...}, the Responses "error" event
    } else {
      member(key);
    }
  }

  void error() {
    if (cursor_.peek() == 'n') return;
    error_.found = true;
    if (cursor_.peek() == '"') {
      error_.message = decoded(cursor_.string());
    } else {
      cursor_.object([&](std::string_view key) { member(key); });
    }
  }

  void member(std::string_view key) {
    if (key == "message" && cursor_.peek() == '"') error_.message = decoded(cursor_.string());
    if (key == "type" || key == "code") status();
  }

  void status() {
    if (cursor_.peek() == '"') {
      const std::string_view name = cursor_.string();
      for (const NamedStatus& row : names)
        if (row.name == name && !has_number_) error_.status = row.status;
      if (name.size() == 3 && name.find_first_not_of("0123456789") == std::string_view::npos)
        number((name[0] - '0') * 100 + (name[1] - '0') * 10 + (name[2] - '0'));
    } else {
      number(cursor_.integer());
    }
  }

  void number(std::int64_t code) {
    if (code < 400 || code > 599) return;
    error_.status = static_cast<int>(code);
    has_number_ = true;  // it outweighs a name
  }

  // FastAPI: a text, or a list of {"loc", "msg"}.
  void detail() {
    if (cursor_.peek() == '"') {
      error_.message = decoded(cursor_.string());
      return;
    }
    cursor_.array([&] {
      cursor_.object([&](std::string_view key) {
        if (key == "msg" && error_.message.empty()) error_.message = decoded(cursor_.string());
      });
    });
  }

  JsonCursor cursor_;
  EngineError error_;
  bool has_number_ = false;
};

}  // namespace

EngineError read_engine_error(std::string_view json) { return Reader(json).read(); }

}  // namespace wg::dialect
