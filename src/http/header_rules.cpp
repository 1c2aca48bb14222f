#include "http/header_rules.h"

#include <array>
#include <charconv>
#include <vector>

#include "http/bytes.h"

namespace wg::http {

namespace {

// Names in lower case. Every header is looked up in several tables, and its length alone rules most of them out.
template <std::size_t N>
struct NameTable {
  std::array<std::string_view, N> names;
  std::uint64_t sizes = 0;

  template <class... Names>
  constexpr explicit NameTable(Names... all) : names{all...} {
    for (const std::string_view name : names) sizes |= std::uint64_t{1} << name.size();
  }
  bool has(std::string_view name) const {
    if (name.size() > 63 || (sizes >> name.size() & 1) == 0) return false;
    for (const std::string_view entry : names)
      if (equals_ignoring_case(entry, name)) return true;
    return false;
  }
};
template <class... Names>
NameTable(Names...) -> NameTable<sizeof...(Names)>;

// Fields of one connection, never of the message (RFC 9110 7.6.1), besides those that begin with `proxy-`.
constexpr NameTable hop_by_hop{
    "connection",
    "keep-alive",
    "te",
    "trailer",  // trailers are dropped
    "transfer-encoding",
    "upgrade",
    "http2-settings",  // belongs to Upgrade: h2c
    "proxy",           // no field at all, but CGI-like programs read it as HTTP_PROXY
    "content_length",  // nor are these two, but the same programs read _ as -
    "transfer_encoding",
};

// Fields by which a client could choose the replica or jump the queue; only the gateway decides that. Absent on
// purpose: x-smg-routing-key and the session ids, which say who asks, and x-request-id, which only names the request.
constexpr NameTable steering{
    "x-data-parallel-rank",            // vLLM and SGLang: the rank that serves the request
    "x-vllm-priority",                 // vLLM: place in the queue
    "x-smg-target-worker",             // SGLang's gateway in front of an engine: the worker
    "x-smg-priority",                  // the same: class in its queue
    "x-gateway-destination-endpoint",  // Kubernetes inference gateways: address of the engine
    "x-prefiller-host-port",           // llm-d's sidecar in front of an engine: any host that is to prefill
};

constexpr NameTable rewritten{"host", "content-length", "expect"};  // of requests
constexpr NameTable credentials{"authorization", "x-api-key"};

// What a head may only say once, and where write_* says it.
constexpr NameTable framing{"connection", "content-length", "transfer-encoding", "keep-alive"};

bool begins_with(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && equals_ignoring_case(name.substr(0, prefix.size()), prefix);
}

bool is_hop_by_hop(std::string_view name) { return hop_by_hop.has(name) || begins_with(name, "proxy-"); }

// Further names that Connection lists. Mostly none, so mostly nothing is allocated.
std::vector<std::string_view> named_by_connection(Headers headers) {
  std::vector<std::string_view> names;
  for (const Header& header : headers) {
    if (!equals_ignoring_case(header.name, "connection")) continue;
    for_each_member(header.value, [&](std::string_view name) {
      if (!equals_ignoring_case(name, "close") && !is_hop_by_hop(name)) names.push_back(name);
    });
  }
  return names;
}

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  for (const std::string_view entry : names)
    if (equals_ignoring_case(entry, name)) return true;
  return false;
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// A value that no parser has checked: no CR or LF may end the line early.
void append_sanitised(std::string& out, std::string_view value) {
  if (count_controls(value) == 0) return void(out.append(value));
  for (const char c : value) out.push_back(is_control(c) ? ' ' : c);
}

// A target may hold no space either; `*` is about the server, not about a path on it.
void append_target(std::string& out, std::string_view base_path, std::string_view target) {
  if (target.starts_with('/'))
    for (const char c : base_path)
      if (c > ' ' && c < 0x7f) out.push_back(c);
  out.append(target);
}

void append_own(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  append_sanitised(out, value);
  out.append("\r\n");
}

void append_number(std::string& out, std::string_view name, std::uint64_t value) {
  char digits[20];
  const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  append_field(out, name, {digits, static_cast<std::size_t>(end - digits)});
}

void append_added(std::string& out, Headers added) {
  for (const Header& header : added)
    if (is_token(header.name) && !framing.has(header.name)) append_own(out, header.name, header.value);
}

void append_status_line(std::string& out, int status, std::string_view reason) {
  char digits[12];
  const char* end = std::to_chars(digits, digits + sizeof digits, status).ptr;
  out.append("HTTP/1.1 ").append(digits, static_cast<std::size_t>(end - digits)).append(" ");
  append_sanitised(out, reason.empty() ? reason_phrase(status) : reason);
  out.append("\r\n");
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

// Length or chunks for the client, and whether the connection outlives the answer.
void append_framing(std::string& out, int status, const ClientHead& client) {
  bool keep_alive = client.keep_alive;
  if (status >= 200 && status != 204) {
    if (client.chunked && client.minor > 0 && status != 304)
      out.append("Transfer-Encoding: chunked\r\n");
    else if (client.content_length)
      append_number(out, "Content-Length", *client.content_length);
    else if (!has_no_body(status))
      keep_alive = false;  // the end of the connection is the end of the body
  }
  if (!keep_alive)
    out.append("Connection: close\r\n");
  else if (client.minor == 0)
    out.append("Connection: keep-alive\r\n");
}

}  // namespace

void write_request_head(std::string& out, const RequestHead& client, const UpstreamHead& upstream) {
  out.append(client.method).append(" ");
  append_target(out, upstream.base_path, client.target);
  out.append(" HTTP/1.1\r\n");
  append_own(out, "Host", upstream.host);
  const std::vector<std::string_view> named = named_by_connection(client.headers);
  const bool own_credential = !upstream.credential.empty();
  bool has_request_id = false;
  for (const auto& [name, value] : client.headers) {
    if (rewritten.has(name) || is_hop_by_hop(name) || steering.has(name) || contains(named, name) ||
        begins_with(name, "x-warmgate-"))  // for us
      continue;
    if (own_credential && credentials.has(name)) continue;
    has_request_id = has_request_id || equals_ignoring_case(name, "x-request-id");
    append_field(out, name, value);
  }
  if (own_credential) {
    out.append("Authorization: Bearer ");
    append_sanitised(out, upstream.credential);
    out.append("\r\n");
  }
  if (upstream.rank) append_number(out, "X-data-parallel-rank", *upstream.rank);
  if (!has_request_id && !upstream.request_id.empty()) append_own(out, "X-Request-Id", upstream.request_id);
  if (upstream.has_body) append_number(out, "Content-Length", upstream.body_bytes);
  out.append("\r\n");
}

void write_response_head(std::string& out, const ResponseHead& engine, const ClientHead& client) {
  append_status_line(out, engine.status, engine.reason);
  const std::vector<std::string_view> named = named_by_connection(engine.headers);
  for (const auto& [name, value] : engine.headers) {
    if (equals_ignoring_case(name, "content-length") || is_hop_by_hop(name) || begins_with(name, "x-warmgate-") ||
        contains(named, name) || find_header(client.added, name).data() != nullptr)
      continue;
    append_field(out, name, value);
  }
  append_added(out, client.added);
  append_framing(out, engine.status, client);
  out.append("\r\n");
}

void write_answer(std::string& out, int status, std::string_view content_type, std::string_view body, bool keep_alive,
                  Headers added, bool head_only) {
  append_status_line(out, status, {});
  const bool with_body = !has_no_body(status);
  if (with_body && !content_type.empty()) append_own(out, "Content-Type", content_type);
  append_added(out, added);
  if (with_body) append_number(out, "Content-Length", body.size());
  // Said also when it is the default, for clients of HTTP/1.0.
  out.append(keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
  if (with_body && !head_only) out.append(body);
}

}  // namespace wg::http
