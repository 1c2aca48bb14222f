// libFuzzer: SSE. No offset is zero or too far; the number of events and where the stream stands do not depend on where
// reads fall (the first byte says where); and whatever an event holds, its reader promises sane facts (the second byte
// says whose dialect it is).
#include <string>

#include "dialect/answer.h"
#include "dialect/body.h"
#include "dialect/error_body.h"
#include "http/sse.h"
#include "require.h"

namespace {

using namespace wg::dialect;
using wg::fuzz::require;
using wg::http::SseScanner;

template <class Visit>
std::size_t scan(SseScanner& scanner, std::string_view bytes, Visit visit) {
  std::size_t events = 0;
  for (std::size_t end; (end = scanner.next_end(bytes)) != SseScanner::npos; bytes.remove_prefix(end)) {
    require(end > 0 && end <= bytes.size(), "an event ends within its bytes");
    visit(bytes.substr(0, end));
    ++events;
  }
  return events;
}

void check_facts(const Event& event, const AnswerFacts& facts) {
  if (event.kind == EventKind::error) require(event.status >= 400 && event.status <= 599, "an error's status");
  require(facts.usage.prompt.count >= 0 && facts.usage.cached.count >= 0 && facts.usage.output.count >= 0,
          "no usage below zero");
  require(name_of(facts.stop) != "", "a stop reason has a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes = wg::fuzz::text_of(data + 2, size - 2);
  const auto api = static_cast<Api>(data[1] % 6);
  const std::size_t cut = data[0] % bytes.size();
  const auto nothing = [](std::string_view) {};

  SseScanner whole, pieces, single;
  AnswerReader reader(api);
  const std::size_t expected = scan(whole, bytes, [&](std::string_view event) {
    const std::string own(event);  // of exactly this size, so that reading too far is seen
    check_facts(reader.on_event(own), reader.facts());
    error_message(own);
  });
  std::size_t found = scan(pieces, bytes.substr(0, cut), nothing);
  found += scan(pieces, bytes.substr(cut), nothing);
  std::size_t found_singly = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) found_singly += scan(single, bytes.substr(i, 1), nothing);
  require(found == expected && found_singly == expected, "cut or not, the same number of events");
  require(pieces.between_events() == whole.between_events() && single.between_events() == whole.between_events(),
          "cut or not, the stream stands at the same place");

  std::string body(bytes);
  body.append(body_padding, '\0');
  AnswerReader of_body(api);
  const Event event = of_body.on_body(std::string_view(body).substr(0, bytes.size()));
  check_facts(event, of_body.facts());
  return 0;
}
