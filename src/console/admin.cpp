#include "console/admin.h"

#include <array>
#include <optional>
#include <vector>

#include "console/api.h"
#include "core/bytes.h"
#include "http/h1.h"
#include "http/header_rules.h"
#include "net/task.h"

namespace wg::console {
namespace {

constexpr http::Limits limits{.head_bytes = 16 * 1024, .body_bytes = 64 * 1024};
constexpr Duration idle_timeout = std::chrono::seconds(60), write_timeout = std::chrono::seconds(10);
constexpr std::size_t block = 8 * 1024;

struct Question {
  bool complete = false;
  std::optional<Error> error;
  std::string body;
};

net::Task<Question> read_question(net::Stream& stream, http::RequestParser& parser, Bytes& input) {
  Question question;
  std::vector<std::string_view> spans;
  for (;;) {
    while (!input.empty()) {
      spans.clear();
      const auto progress = parser.feed(input.view(), spans);
      if (!progress) {
        question.error = progress.error();
        co_return question;
      }
      for (const auto span : spans) question.body.append(span);
      input.drop_front(progress->consumed);
      const bool bodiless = progress->head_complete && !parser.head().has_body();
      if (progress->complete || bodiless) {
        question.complete = true;
        co_return question;
      }
    }
    const auto size = co_await stream.read_some(input.room(block), idle_timeout);
    if (!size || *size == 0) co_return question;
    input.grown(*size);
  }
}

}  // namespace

struct Admin::State {
  State(gateway::Shared& its_shared, net::Listener its_listener)
      : shared(its_shared), listener(std::move(its_listener)) {}
  gateway::Shared& shared;
  net::Listener listener;
  std::uint32_t open = 0;
};

namespace {

net::Task<void> converse(gateway::Shared& shared, net::Stream& stream) {
  http::RequestParser parser(limits);
  Bytes input;
  for (bool keep = true; keep;) {
    const Question question = co_await read_question(stream, parser, input);
    if (!question.complete && !question.error) co_return;
    ApiAnswer reply;
    if (question.error) {
      reply = {question.error->status ? question.error->status : 400, "text/plain", question.error->what + "\n"};
      keep = false;
    } else {
      reply = answer(shared, parser.head().method, parser.head().target, question.body);
      keep = parser.head().keep_alive;
    }
    std::string out;
    const bool head_only = !question.error && parser.head().method == "HEAD";
    http::write_answer(out, reply.status, reply.type, reply.body, keep, {}, head_only);
    const std::array<std::string_view, 1> pieces{out};
    const auto sent = co_await stream.write(pieces, write_timeout);
    if (!sent) co_return;
    parser.reset();
  }
}

// Operators are few: what is more is a mistake, and must not take the descriptors that clients need.
net::Task<void> serve(gateway::Shared& shared, std::uint32_t& open, net::Stream accepted) {
  net::Stream stream = std::move(accepted);
  if (open >= shared.max_operators) co_return;
  struct Counted {
    explicit Counted(std::uint32_t& its_count) : count(its_count) { ++count; }
    ~Counted() { --count; }
    std::uint32_t& count;
  } const counted(open);
  co_await converse(shared, stream);
}

}  // namespace

Admin::Admin(gateway::Shared& shared, net::Listener listener)
    : state_(std::make_shared<State>(shared, std::move(listener))) {}
Admin::~Admin() = default;

void Admin::start() {
  State& state = *state_;
  state.listener.start([&state](net::Stream stream) { net::spawn(serve(state.shared, state.open, std::move(stream))); },
                       [&state](std::string_view what) { state.shared.log.warning(what); });
}
void Admin::stop() { state_->listener.stop(); }
std::uint16_t Admin::port() const { return state_->listener.port(); }

}  // namespace wg::console
