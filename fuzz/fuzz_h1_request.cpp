// libFuzzer: requests. The first byte says where the rest is cut; whole and cut must be read alike, and a head that was
// taken must survive being written for an engine and read again.
#include <cstdint>

#include "http/header_rules.h"
#include "http/test_messages.h"
#include "require.h"

namespace {

using namespace wg::http;
using wg::fuzz::require;

constexpr Limits roomy{.head_bytes = 4096, .head_count = 32, .target_bytes = 512, .body_bytes = 4096};
constexpr Limits tight{.head_bytes = 160, .head_count = 6, .target_bytes = 40, .body_bytes = 20};

void check_cuts(std::string_view bytes, std::size_t cut, const Limits& limits) {
  const testing::Record whole = testing::read_requests(bytes, {}, limits);
  if (cut > 0) require(testing::read_requests(bytes, {cut}, limits) == whole, "cut and whole are read alike");
  require(testing::read_requests(bytes, testing::every_byte(bytes), limits) == whole,
          "byte by byte and whole are read alike");
}

void check_rewritten(std::string_view bytes) {
  RequestParser parser(roomy);
  std::vector<std::string_view> body;
  const auto progress = parser.feed(bytes, body);
  if (!progress || !progress->head_complete) return;
  UpstreamHead upstream;
  upstream.host = "engine";
  upstream.credential = "key";
  upstream.rank = 1;
  upstream.has_body = true;
  upstream.body_bytes = 3;
  std::string out;
  write_request_head(out, parser.head(), upstream);
  const testing::Record again = testing::read_requests(out + "abc");
  require(again.error == 0 && again.messages.size() == 1 && again.messages[0].body == "abc",
          "a head written anew is read back as one request");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes = wg::fuzz::text_of(data + 1, size - 1);
  check_cuts(bytes, data[0] % bytes.size(), roomy);
  check_cuts(bytes, data[0] % bytes.size(), tight);
  check_rewritten(bytes);
  return 0;
}
