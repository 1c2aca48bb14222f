#include "http/head_reader.h"

#include "http/bytes.h"

namespace wg::http {

namespace {

// An idle connection keeps its buffer, but not one that a huge head has blown up.
constexpr std::size_t kept_capacity = 8 * 1024;

std::string field_label(std::size_t index, std::string_view name) {
  return "header " + std::to_string(index + 1) + " (" + printable(name) + ")";
}

}  // namespace

HeadReader::HeadReader(llhttp_type_t type, const Limits& limits) : limits_(limits) {
  llhttp_init(&parser_, type, &settings());
  parser_.data = this;
}

const llhttp_settings_t& HeadReader::settings() {
  static const llhttp_settings_t table = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_url = on_url;
    s.on_url_complete = on_url_complete;
    s.on_header_field = on_name;
    s.on_header_field_complete = on_name_complete;
    s.on_headers_complete = on_end;
    return s;
  }();
  return table;
}

int HeadReader::on_url(llhttp_t* parser, const char*, std::size_t size) {
  of(parser).target_size_ += size;
  return 0;
}

int HeadReader::on_url_complete(llhttp_t* parser) {
  HeadReader& self = of(parser);
  if (self.target_size_ <= self.limits_.target_bytes) return 0;
  self.limit_hit_ = self.target_too_long();
  return -1;
}

// A name that two reads cut in half comes in two calls.
int HeadReader::on_name(llhttp_t* parser, const char* at, std::size_t size) {
  HeadReader& self = of(parser);
  const std::size_t begin = self.buffer_.size() + static_cast<std::size_t>(at - self.feed_begin_);
  if (!self.in_name_) self.names_.push_back({begin, begin});
  self.in_name_ = true;
  self.names_.back().end = begin + size;
  return 0;
}

int HeadReader::on_name_complete(llhttp_t* parser) {
  HeadReader& self = of(parser);
  self.in_name_ = false;
  if (self.names_.size() <= self.limits_.head_count) return 0;
  self.limit_hit_ = {431, "more than " + std::to_string(self.limits_.head_count) + " headers"};
  return -1;
}

int HeadReader::on_end(llhttp_t* parser) {
  of(parser).ended_ = true;
  return HPE_PAUSED;  // stops llhttp right behind the blank line
}

// Whatever is wrong first, byte by byte, is what is said, however the reads fell. llhttp hands over what it has of a
// name or target at the end of each read, but an error in it comes alone; so their limits are looked at where they end,
// and llhttp never sees a byte beyond the head's.
Checked<std::size_t> HeadReader::feed(std::string_view in) {
  if (in.empty() || ended_) return 0;
  if (buffer_.empty() && (in[0] == '\r' || in[0] == '\n')) return refuse(400, "a blank line where a message begins");
  feed_begin_ = in.data();
  const std::string_view fits = in.substr(0, limits_.head_bytes - buffer_.size());
  const llhttp_errno_t code = llhttp_execute(&parser_, fits.data(), fits.size());
  std::size_t used = fits.size();
  if (code == HPE_PAUSED && ended_)
    used = static_cast<std::size_t>(llhttp_get_error_pos(&parser_) - in.data());
  else if (code != HPE_OK)
    return refused(code, in);
  else if (in.size() > fits.size())
    return tl::unexpected<Refusal>(head_too_long());
  buffer_.append(in.data(), used);
  return used;
}

tl::unexpected<Refusal> HeadReader::refused(llhttp_errno_t code, std::string_view in) {
  if (limit_hit_.status != 0) return tl::unexpected<Refusal>(limit_hit_);
  const std::string_view reason = llhttp_get_error_reason(&parser_);
  if (code == HPE_PAUSED_H2_UPGRADE || reason == "Invalid HTTP version")
    return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  const char* at = llhttp_get_error_pos(&parser_);
  const std::size_t offset = buffer_.size() + (at ? static_cast<std::size_t>(at - in.data()) : 0);
  return refuse(400, "byte " + std::to_string(offset) + " of the head: " + std::string(reason));
}

Refusal HeadReader::target_too_long() const {
  return {414, "the request target is longer than " + std::to_string(limits_.target_bytes) + " bytes"};
}

Refusal HeadReader::head_too_long() const {
  if (target_size_ > limits_.target_bytes) return target_too_long();
  return {431, "the head is longer than " + std::to_string(limits_.head_bytes) + " bytes"};
}

bool HeadReader::line_ends_before(std::size_t next) const {
  return next >= 2 && buffer_[next - 2] == '\r' && buffer_[next - 1] == '\n';
}

// Names come from llhttp, all else is checked: a line is `name ":" value CRLF` and the next name follows at once. Since
// the CRLFs of the lines are all the control bytes there may be, this also finds folded lines, bare CR or LF, and NUL.
Checked<void> HeadReader::split(std::vector<Header>& fields) {
  const std::string_view head = buffer_;
  if (!head.ends_with("\r\n\r\n")) return refuse(400, "the head does not end with a blank line");
  const std::size_t end = head.size() - 2;
  std::size_t begin = names_.empty() ? end : names_[0].begin;
  if (!line_ends_before(begin)) return refuse(400, "the start line does not end with CRLF");
  start_line_size_ = begin - 2;

  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::size_t colon = names_[i].end;
    const std::size_t next = i + 1 < names_.size() ? names_[i + 1].begin : end;
    const std::string_view name = head.substr(begin, colon - begin);
    if (!is_token(name)) return refuse(400, field_label(i, name) + ": not a header name");
    if (!line_ends_before(next) || head[colon] != ':' || next < colon + 3)
      return refuse(400, field_label(i, name) + ": the line does not end with CRLF");
    fields.push_back({name, trim(head.substr(colon + 1, next - colon - 3))});
    begin = next;
  }
  if (count_controls(head) != 2 * (names_.size() + 2)) return tl::unexpected<Refusal>(stray_control());
  return {};
}

Refusal HeadReader::stray_control() const {
  const std::string_view head = buffer_;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::size_t begin = names_[i].end + 1;
    const std::size_t next = i + 1 < names_.size() ? names_[i + 1].begin : head.size() - 2;
    for (const char c : head.substr(begin, next - 2 - begin)) {
      const std::string label = field_label(i, head.substr(names_[i].begin, names_[i].end - names_[i].begin));
      if (c == '\r' || c == '\n') return {400, label + ": continues on the next line, which HTTP/1.1 no longer allows"};
      if (is_control(c))
        return {400, label + ": control byte " + std::to_string(static_cast<unsigned char>(c)) + " in the value"};
    }
  }
  return {400, "a control byte in the start line"};
}

void HeadReader::reset() {
  llhttp_reset(&parser_);
  buffer_.clear();
  if (buffer_.capacity() > kept_capacity) buffer_.shrink_to_fit();
  names_.clear();
  target_size_ = start_line_size_ = 0;
  in_name_ = ended_ = false;
}

}  // namespace wg::http
