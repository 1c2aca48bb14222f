// libFuzzer: answers of an engine. The first byte says whether the request was HEAD and where the rest is cut; whole
// and cut must be read alike, and a head that was taken must survive being written for a client and read again.
#include <cstdint>
#include <cstdlib>

#include "http/header_rules.h"
#include "http/test_messages.h"

namespace {

using namespace wg::http;

constexpr Limits limits{.head_bytes = 4096, .head_count = 32};

void check_rewritten(std::string_view bytes) {
  ResponseParser parser(limits);
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  if (!progress || !progress->head_complete) return;
  ClientHead client;
  client.chunked = true;
  std::string out;
  write_response_head(out, parser.head(), client);
  const testing::Record again = testing::read_responses(out);
  if (again.error != 0 || again.messages.size() != 1) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool to_head = (data[0] & 0x80) != 0;
  const testing::Record whole = testing::read_responses(bytes, {}, to_head, limits);
  if (const std::size_t cut = (data[0] & 0x7f) % bytes.size(); cut > 0)
    if (!(testing::read_responses(bytes, {cut}, to_head, limits) == whole)) std::abort();
  if (!(testing::read_responses(bytes, testing::every_byte(bytes), to_head, limits) == whole)) std::abort();
  check_rewritten(bytes);
  return 0;
}
