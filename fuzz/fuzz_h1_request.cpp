// libFuzzer: requests. The first byte says where the rest is cut; whole and cut must be read alike, and a head that was
// taken must survive being written for an engine and read again.
#include <cstdint>
#include <cstdlib>

#include "http/header_rules.h"
#include "http/test_messages.h"

namespace {

using namespace wg::http;

constexpr Limits limits{.head_bytes = 4096, .head_count = 32, .target_bytes = 512, .body_bytes = 4096};

void check_rewritten(std::string_view bytes) {
  RequestParser parser(limits);
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
  if (again.error != 0 || again.messages.size() != 1 || again.messages[0].body != "abc") std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const testing::Record whole = testing::read_requests(bytes, {}, limits);
  if (const std::size_t cut = data[0] % bytes.size(); cut > 0)
    if (!(testing::read_requests(bytes, {cut}, limits) == whole)) std::abort();
  if (!(testing::read_requests(bytes, testing::every_byte(bytes), limits) == whole)) std::abort();
  check_rewritten(bytes);
  return 0;
}
