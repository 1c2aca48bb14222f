// libFuzzer: answers of an engine. The first byte says whether the request was HEAD and where the rest is cut; whole
// and cut must be read alike, and a head that was taken must survive being written for a client and read again.
#include <cstdint>

#include "http/header_rules.h"
#include "http/test_messages.h"
#include "require.h"

namespace {

using namespace wg::http;
using wg::fuzz::require;

constexpr Limits roomy{.head_bytes = 4096, .head_count = 32};
constexpr Limits tight{.head_bytes = 160, .head_count = 6};

void check_cuts(std::string_view bytes, std::size_t cut, bool to_head, const Limits& limits) {
  const testing::Record whole = testing::read_responses(bytes, {}, to_head, limits);
  if (cut > 0) require(testing::read_responses(bytes, {cut}, to_head, limits) == whole, "cut and whole are read alike");
  require(testing::read_responses(bytes, testing::every_byte(bytes), to_head, limits) == whole,
          "byte by byte and whole are read alike");
}

void check_rewritten(std::string_view bytes) {
  ResponseParser parser(roomy);
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  if (!progress || !progress->head_complete) return;
  ClientHead client;
  client.chunked = true;
  std::string out;
  write_response_head(out, parser.head(), client);
  const testing::Record again = testing::read_responses(out);
  require(again.error == 0 && again.messages.size() == 1, "a head written anew is read back as one answer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes = wg::fuzz::text_of(data + 1, size - 1);
  const bool to_head = (data[0] & 0x80) != 0;
  const std::size_t cut = (data[0] & 0x7f) % bytes.size();
  check_cuts(bytes, cut, to_head, roomy);
  check_cuts(bytes, cut, to_head, tight);
  check_rewritten(bytes);
  return 0;
}
