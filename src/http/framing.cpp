#include "http/framing.h"

#include "http/bytes.h"

namespace wg::http {

namespace {

// A Connection field names two or three; header rules compare each header with each of them.
constexpr int connection_options = 32;

struct Seen {
  Framing framing;
  std::string_view transfer_encoding;
  int transfer_encodings = 0, options = 0;
  bool close = false, keep_alive = false, upgrade_option = false, upgrade_field = false;
};

void read_connection(std::string_view value, Seen& seen) {
  for_each_member(value, [&](std::string_view option) {
    ++seen.options;
    if (equals_ignoring_case(option, "close")) seen.close = true;
    if (equals_ignoring_case(option, "keep-alive")) seen.keep_alive = true;
    if (equals_ignoring_case(option, "upgrade")) seen.upgrade_option = true;
  });
}

// Switching on the length leaves at most one comparison for each header.
Checked<void> read_field(const Header& header, Seen& seen) {
  const auto is = [&](std::string_view name) { return equals_ignoring_case(header.name, name); };
  switch (header.name.size()) {
    case 4:
      if (is("host")) ++seen.framing.hosts, seen.framing.host = header.value;
      break;
    case 6:
      if (is("expect") && equals_ignoring_case(header.value, "100-continue")) seen.framing.expects_continue = true;
      break;
    case 7:
      if (is("upgrade")) seen.upgrade_field = true;
      break;
    case 10:
      if (is("connection")) read_connection(header.value, seen);
      break;
    case 14:
      if (!is("content-length")) break;
      if (seen.framing.content_length) return refuse(400, "Content-Length is there twice");
      seen.framing.content_length = parse_decimal(header.value);
      if (!seen.framing.content_length)
        return refuse(400, "Content-Length is not a plain number: " + printable(header.value));
      break;
    case 17:
      if (is("transfer-encoding")) ++seen.transfer_encodings, seen.transfer_encoding = header.value;
      break;
  }
  return {};
}

Checked<bool> is_chunked(const Seen& seen, int minor) {
  if (seen.transfer_encodings == 0) return false;
  const std::string_view value = seen.transfer_encoding;
  if (minor == 0) return refuse(400, "Transfer-Encoding in an HTTP/1.0 message");
  if (seen.transfer_encodings > 1) return refuse(400, "Transfer-Encoding is there twice");
  if (seen.framing.content_length) return refuse(400, "both Content-Length and Transfer-Encoding");
  if (equals_ignoring_case(value, "chunked")) return true;
  int codings = 0, chunked = 0;
  bool chunked_last = false;
  for_each_member(value, [&](std::string_view coding) {
    chunked_last = equals_ignoring_case(coding, "chunked");
    chunked += chunked_last;
    ++codings;
  });
  // With chunked once and last the end would be known, only the coding before it is not spoken here.
  const int status = chunked_last && chunked == 1 && codings > 1 ? 501 : 400;
  return refuse(status, "Transfer-Encoding must be exactly `chunked`, not `" + printable(value) + "`");
}

}  // namespace

Checked<Framing> read_framing(Headers headers, int minor) {
  Seen seen;
  for (const Header& header : headers)
    if (auto ok = read_field(header, seen); !ok) return tl::unexpected<Refusal>(std::move(ok.error()));
  if (seen.options > connection_options)
    return refuse(400, "Connection names more than " + std::to_string(connection_options) + " options");

  auto chunked = is_chunked(seen, minor);
  if (!chunked) return tl::unexpected<Refusal>(std::move(chunked.error()));
  Framing framing = seen.framing;
  framing.chunked = *chunked;
  framing.keep_alive = !seen.close && (minor > 0 || seen.keep_alive);
  framing.upgrade = minor > 0 && seen.upgrade_field && seen.upgrade_option;
  framing.expects_continue = framing.expects_continue && minor > 0;
  return framing;
}

}  // namespace wg::http
