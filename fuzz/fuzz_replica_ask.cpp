// libFuzzer: bodies and orders as the engine model reads them. The first byte says as what. No exception, no deep
// recursion; a refusal is a well-formed answer in its dialect; an ask has a prompt.
#include <nlohmann/json.hpp>
#include <string>

#include "replica/ask.h"
#include "replica/faults.h"
#include "require.h"

namespace {

using namespace wg::replica;
using wg::fuzz::require;

void check_refusal(const Refusal& refusal, wg::dialect::Api api) {
  require(refusal.status >= 400 && refusal.status <= 599 && !refusal.message.empty(), "a refusal says why");
  require(nlohmann::json::accept(body_of(refusal, api)), "a refusal's body is JSON");
  require(events_of(refusal, api).ends_with("\n\n"), "a refusal's events are whole");
}

void check_ask(const Asked<Ask>& ask, wg::dialect::Api api) {
  if (!ask) return check_refusal(ask.error(), api);
  require(!ask->max_tokens || *ask->max_tokens >= 1, "a limit of tokens is at least one");
  require(ask->head_messages <= ask->messages.size(), "the head is part of the prompt");
  require(!ask->is_raw || !ask->raw.empty(), "a raw prompt is not empty");
  TokenList tokens = ask->raw;
  wg::SessionKey digest;
  for (const Message& message : ask->messages) {
    append_message(tokens, message.role, message.text);
    digest = extend(digest, message.role, message.text);
  }
  std::string text;
  for (const wg::sim::TokenId token : tokens) append_bytes(text, token);
  require(hex_of(digest).size() == 32, "a digest has 32 digits");
}

void check_order(const wg::Result<FaultOrder>& order) {
  if (!order) return require(!order.error().what.empty(), "a refused order says why");
  require(order->share >= 0 && order->share <= 1, "a share is a share");
  require(!order->lasts || *order->lasts >= wg::Duration::zero(), "no time below zero");
  Faults faults;
  faults.arm(*order, wg::TimePoint{});
  faults.next(0, wg::TimePoint{});
  require(nlohmann::json::accept(faults.report(wg::TimePoint{})), "a report is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view body = wg::fuzz::text_of(data + 1, size - 1);
  const unsigned what = data[0] % 10;
  if (what < 6) {
    const auto api = static_cast<wg::dialect::Api>(what);
    check_ask(read_ask(api, body), api);
  } else if (what == 6) {
    check_ask(read_tokenize(body), wg::dialect::Api::chat);
  } else if (what == 7) {
    if (const auto tokens = read_detokenize(body); !tokens) check_refusal(tokens.error(), wg::dialect::Api::chat);
  } else {
    check_order(what == 8 ? read_fault(body) : read_fault_header(body));
  }
  return 0;
}
