#include "http/header_rules.h"

#include <charconv>
#include <vector>

#include "http/bytes.h"

namespace wg::http {

namespace {

// Fields of one connection, never of the message (RFC 9110 7.6.1), besides those that begin with `proxy-`.
constexpr std::string_view hop_by_hop[] = {
    "connection",
    "keep-alive",
    "te",
    "trailer",  // trailers are dropped
    "transfer-encoding",
    "upgrade",
    "http2-settings",  // belongs to Upgrade: h2c
    "proxy",           // no field at all, but CGI-like programs read it as HTTP_PROXY
};

// Fields by which a client could choose the replica or jump the queue; only the gateway decides that. Absent on
// purpose: x-smg-routing-key and the session ids, which say who asks, and x-request-id, which only names the request.
constexpr std::string_view steering[] = {
    "x-data-parallel-rank",            // vLLM and SGLang: the rank that serves the request
    "x-vllm-priority",                 // vLLM: place in the queue
    "x-smg-target-worker",             // SGLang's gateway in front of an engine: the worker
    "x-smg-priority",                  // the same: class in its queue
    "x-gateway-destination-endpoint",  // Kubernetes inference gateways: address of the engine
    "x-prefiller-host-port",           // llm-d's sidecar in front of an engine: any host that is to prefill
};

// What a head may only say once, and where write_* says it.
constexpr std::string_view framing[] = {"connection", "content-length", "transfer-encoding", "keep-alive"};

template <std::size_t N>
bool is_in(const std::string_view (&table)[N], std::string_view name) {
  for (const std::string_view entry : table)
    if (equals_ignoring_case(entry, name)) return true;
  return false;
}

bool begins_with(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && equals_ignoring_case(name.substr(0, prefix.size()), prefix);
}

bool is_hop_by_hop(std::string_view name) { return is_in(hop_by_hop, name) || begins_with(name, "proxy-"); }

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
  for (const char c : value) out.push_back(is_control(c) ? ' ' : c);
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
    if (is_token(header.name) && !is_in(framing, header.name)) append_own(out, header.name, header.value);
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
  out.append(client.method).append(" ").append(upstream.base_path).append(client.target).append(" HTTP/1.1\r\n");
  append_own(out, "Host", upstream.host);
  const std::vector<std::string_view> named = named_by_connection(client.headers);
  const bool own_credential = !upstream.credential.empty();
  bool has_request_id = false;
  for (const auto& [name, value] : client.headers) {
    if (equals_ignoring_case(name, "host") || equals_ignoring_case(name, "content-length") ||
        equals_ignoring_case(name, "expect") || is_hop_by_hop(name) || is_in(steering, name) || contains(named, name))
      continue;
    if (own_credential && (equals_ignoring_case(name, "authorization") || equals_ignoring_case(name, "x-api-key")))
      continue;
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

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 529:
      return "Overloaded";
    default:
      return "Unknown";
  }
}

}  // namespace wg::http
