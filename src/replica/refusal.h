// Why a request gets no answer, in vLLM's words and vLLM's shapes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "dialect/api.h"

namespace wg::replica {

struct Refusal {
  int status = 400;
  std::string type = "BadRequestError";  // vLLM's own name of the error, in both dialects
  std::string message;
  std::string param = "";        // empty: null
  bool always_openai = false;    // found before vLLM knows whose dialect it is: never in Anthropic's envelope
  bool before_streaming = true;  // false: vLLM notices only after a streamed answer's head is out
};

template <class T>
using Asked = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> refuse(Refusal refusal) { return tl::unexpected<Refusal>(std::move(refusal)); }

Refusal bad_request(std::string message, std::string param = "");
Refusal bad_body(std::string message);  // JSON that does not parse or fit
Refusal unknown_model(std::string_view model);
Refusal engine_dead();
Refusal internal_error();
Refusal engine_busy();
Refusal prompt_too_long(std::int64_t prompt, std::int64_t most);
Refusal no_such_rank(std::int64_t rank, std::size_t ranks);

std::string body_of(const Refusal& refusal, dialect::Api api);
std::string events_of(const Refusal& refusal, dialect::Api api);  // whole events, with what ends the stream

}  // namespace wg::replica
