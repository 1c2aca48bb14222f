// libFuzzer: which conversation a request belongs to. Lines `name: value` are headers; the first line that is none
// begins the body; the first byte is the API. The same request has the same key, another tenant or pool another one;
// request ids and addresses name nothing; a parent is never the session itself.
#include <string>
#include <vector>

#include "dialect/session.h"
#include "require.h"

namespace {

using namespace wg::dialect;
using wg::fuzz::require;

std::vector<wg::Header> take_headers(std::string_view& text) {
  std::vector<wg::Header> headers;
  while (headers.size() < 100) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(": ");
    if (end == text.npos || colon == line.npos || colon == 0 || line.front() == '{') break;
    headers.push_back({line.substr(0, colon), line.substr(colon + 2)});
    text.remove_prefix(end + 1);
  }
  return headers;
}

bool same(const Session& a, const Session& b) {
  return a.key == b.key && a.parent == b.parent && a.lineage == b.lineage && a.source == b.source;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view text = wg::fuzz::text_of(data + 1, size - 1);
  std::vector<wg::Header> headers = take_headers(text);
  std::string padded(text);
  padded.append(body_padding, '\0');
  BodyFacts facts;
  if (auto read = inspect(static_cast<Api>(data[0] % 6), std::string_view(padded).substr(0, text.size())))
    facts = std::move(*read);

  const Scope scope{credential_of(headers), "pool"};
  const Session session = identify(headers, facts, scope, "x-session-key");
  require(static_cast<bool>(session.key) == (session.source != KeySource::none), "a key has a source");
  require(static_cast<bool>(session.lineage) == static_cast<bool>(session.key), "a session has a lineage");
  require(!session.parent || session.parent != session.key, "nobody is their own parent");
  require(!name_of(session.source).empty(), "a source has a name");

  for (const char* name : {"x-request-id", "traceparent", "x-forwarded-for", "x-client-request-id"})
    headers.push_back({name, "an-id-of-this-request"});
  require(same(identify(headers, facts, scope, "x-session-key"), session), "ids of a request name no session");
  if (!session.key) return 0;
  const Session other_pool = identify(headers, facts, {scope.credential, "another"}, "x-session-key");
  const Session other_tenant = identify(headers, facts, {"another tenant's key", "pool"}, "x-session-key");
  require(other_pool.key != session.key && other_pool.source == session.source, "another pool, another key");
  require(scope.credential == "another tenant's key" || other_tenant.key != session.key, "another tenant, another key");
  return 0;
}
