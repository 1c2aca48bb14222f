// libFuzzer: the SSE scanner. No offset is zero or too far, and the number of events and where the stream stands do not
// depend on where reads fall (the first byte says where).
#include <cstdint>
#include <cstdlib>

#include "http/sse.h"

namespace {

std::size_t count_events(wg::http::SseScanner& scanner, std::string_view bytes) {
  std::size_t events = 0;
  for (std::size_t end; (end = scanner.next_end(bytes)) != wg::http::SseScanner::npos; bytes.remove_prefix(end)) {
    if (end == 0 || end > bytes.size()) std::abort();
    ++events;
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t cut = data[0] % bytes.size();
  wg::http::SseScanner whole, pieces, single;
  const std::size_t expected = count_events(whole, bytes);
  std::size_t found = count_events(pieces, bytes.substr(0, cut));
  found += count_events(pieces, bytes.substr(cut));
  std::size_t found_singly = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) found_singly += count_events(single, bytes.substr(i, 1));
  if (found != expected || found_singly != expected) std::abort();
  if (pieces.between_events() != whole.between_events() || single.between_events() != whole.between_events())
    std::abort();
  return 0;
}
