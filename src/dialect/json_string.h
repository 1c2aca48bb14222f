// The inside of JSON strings: decoding, the size of what would come out, and quoting. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wg::dialect {

// `raw` is what stands between the quotes. A surrogate without its partner becomes U+FFFD; a broken
// escape loses its backslash.
void append_decoded(std::string& out, std::string_view raw);
std::string decoded(std::string_view raw);
std::size_t decoded_size(std::string_view raw);  // of append_decoded's output, without making it

// Text of any bytes as a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD.
void append_quoted(std::string& out, std::string_view text);

// Bytes of the UTF-8 character that begins there, or 0 if none does.
std::size_t utf8_length(std::string_view text, std::size_t at);

}  // namespace wg::dialect
