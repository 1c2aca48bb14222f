// Every captured request of every client: which conversation it belongs to, by its ids and by the fingerprint alone.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "dialect/session.h"
#include "dialect/test_requests.h"

namespace wg::dialect {
namespace {

// request   key   parent   fingerprint   class. Equal letters are equal keys, others differ; '-' is none; '?' is
// either. "same:" in a note: what facts on clients, 1.2 found for that client.
struct ClientTable {
  const char* client;
  KeySource source;
  const char* rows;
};

void PrintTo(const ClientTable& table, std::ostream* out) { *out << table.client; }

const ClientTable tables[] = {
    // Two sessions that open with the same words in the same directory have one fingerprint (s5_fork and agent).
    {"claude-code-2.1.332", KeySource::claude_code, R"(
        cc332:s1t1/1            a - A turn
        cc332:s1t2/2            a - A turn
        cc332:s1t3/3            a - A turn
        cc332:s2t1/4            b - B turn
        cc332:s3_longer/5       c - C turn
        cc332:s3_t2/6           c - C turn
        cc332:s5_fork/8         d - D turn
        cc332:s6_custommodel/9  e - E turn
        cc332b:agent/1          f - D turn
        cc332b:agent/2          f - D turn
        cc332b:agent/3          g f G turn
        cc332b:agent/4          f - D turn
        cc332b:bash/5           h - H turn
        cc332b:bash/6           h - H turn
        cc332b:noattr/9         i - ? turn
        ccint2:None/1           j - I background
        ccint2:None/2           j - J turn
        ccint2:None/3           j - K background
        ccint2:None/4           j - J turn
        ccint2:None/5           k - ? background
        ccint2:None/6           k - ? turn
        ccmodel:332_nobeta/17   l - ? turn)"},
    // Its system text changes on resume: the header is needed.
    {"claude-code-2.1.197", KeySource::claude_code, R"(
        cc197:s1t1/2            a - A turn
        cc197:s1t2/4            a - B turn
        cc197:s2t1/6            b - C turn
        ccmodel:197_agent/14    c - D turn
        ccmodel:197_agent/15    d c E turn
        ccmodel:197_agent/16    c - D turn)"},
    {"codex-0.171.0", KeySource::codex, R"(
        codex:s1t1/1    a - A turn
        codex:s1t2/2    a - A turn
        codex:s2t1/3    b - B turn
        codex:tool/4    c - C turn
        codex:tool/5    c - C turn
        codex2:agent/1  d - D turn
        codex2:agent/2  d - D turn
        codex2:agent/3  e d E turn)"},
    {"opencode-1.18.33", KeySource::opencode, R"(
        opencode:s1t1/1     a - A background
        opencode:s1t1/2     a - B turn
        opencode:s1t2/3     a - B turn
        opencode:s2t1/4     b - C background
        opencode:s2t1/5     b - D turn
        opencode:agent/10   c - E turn
        opencode:agent/11   d c F turn
        opencode:agent/12   c - E turn
        opencode2:anth/1    e - G background
        opencode2:anth/2    e - H turn
        opencode2:anth2/3   e - H turn
        opencode2:openai/5  f - I turn
        opencode2:ckey/7    g - J turn)"},
    {"cline-3.0.65", KeySource::fingerprint, R"(
        cline:s1t1/1  a - A turn
        cline:s2t1/2  b - B turn)"},
    {"continue-cli-1.5.47", KeySource::fingerprint, R"(
        cn:s1t1/1  a - A turn
        cn:s1t2/2  a - A turn
        cn:s2t1/3  b - B turn)"},
    {"pi-0.73.1", KeySource::fingerprint, R"(
        pi:s1t1/1  a - A turn
        pi:s1t2/2  a - A turn
        pi:s2t1/3  b - B turn
        pi:anth/4  c - C turn)"},
    // A made-up assistant turn ends the hashed part: all sessions of a directory and day share one fingerprint.
    {"qwen-code-0.15.10", KeySource::fingerprint, R"(
        qwen:s1t1/1  a - A turn
        qwen:s1t1/2  b - B turn
        qwen:s1t2/3  a - A turn
        qwen:s2t1/5  a - A turn)"},
    // A date reminder moves out of the first message when a new process goes on with the session.
    {"qwen-code-0.24.4", KeySource::fingerprint, R"(
        qwen24:s1t1/1  a - A turn
        qwen24:s1t1/2  b - B turn
        qwen24:s1t2/3  c - C turn
        qwen24:s1t2/4  d - D turn)"},
    {"sdk-openai-7.59.0+anthropic-1.14.0", KeySource::fingerprint, R"(
        sdks:plain/1  a - A turn
        sdks:plain/2  a - A turn
        sdks:plain/3  a - A turn
        sdks:plain/4  a - A turn
        sdks:plain/5  a - A turn
        sdks:plain/6  a - A turn)"},
    {"openai-agents-js-0.20.0", KeySource::fingerprint, R"(
        agents:responses=true/1    a - A turn
        agents:responses=true/2    a - A turn
        agents:responses=true/3    a - A turn
        agents:sep/4               b - B turn
        agents:responses=false/8   c - C turn
        agents:responses=false/9   c - C turn
        agents:responses=false/10  c - C turn)"},
};

// Remembers which key each letter stands for: a letter has one key, and a key one letter.
class Letters {
 public:
  void expect(const std::string& letter, const SessionKey& key, const std::string& where) {
    if (letter == "?") return;
    if (letter == "-") {
      EXPECT_FALSE(key) << where;
      return;
    }
    EXPECT_TRUE(key) << where;
    const auto known = keys_.emplace(letter, key).first;
    EXPECT_EQ(known->second.short_hex(), key.short_hex()) << where << " should be " << letter;
    for (const auto& [other, value] : keys_) EXPECT_TRUE(other == letter || value != key) << where << " is " << other;
  }

 private:
  std::map<std::string, SessionKey> keys_;
};

class Captures : public testing::TestWithParam<ClientTable> {};

TEST_P(Captures, BelongToTheConversationsOfTheTable) {
  std::map<std::string, CapturedRequest> requests;
  for (CapturedRequest& request : load_captures(GetParam().client)) requests[request.name] = std::move(request);
  Letters keys, prints;
  std::istringstream rows(GetParam().rows);
  std::string name, key, parent, print, kind;
  int count = 0;
  while (rows >> name >> key >> parent >> print >> kind) {
    ++count;
    ASSERT_TRUE(requests.contains(name)) << name;
    const CapturedRequest& request = requests[name];
    const BodyFacts facts = facts_of(request.api, request.body);
    const Session session = identify(request.header_views(), facts, {"key", "pool"}, "x-session-key");
    EXPECT_EQ(session.source, GetParam().source) << name;
    keys.expect(key, session.key, name);
    keys.expect(parent, session.parent, name + " parent");
    prints.expect(print, facts.fingerprint, name + " fingerprint");
    EXPECT_EQ(facts.is_background, kind == "background") << name;
    EXPECT_TRUE(session.lineage) << name;
  }
  EXPECT_GT(count, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Captures, testing::ValuesIn(tables), [](const auto& param) {
  std::string name = param.param.client;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(CapturedSources, BodiesThatNameTheirConversation) {
  const auto source_of = [](const char* client, const std::string& name) {
    for (const CapturedRequest& request : load_captures(client))
      if (request.name == name)
        return identify(request.header_views(), facts_of(request.api, request.body), {"key", "pool"}, "").source;
    ADD_FAILURE() << name;
    return KeySource::none;
  };
  EXPECT_EQ(source_of("openai-agents-js-0.20.0", "agents:conv/7"), KeySource::conversation);
  EXPECT_EQ(source_of("openai-agents-js-0.20.0", "agents:prevresp/6"), KeySource::previous_response);
  EXPECT_EQ(source_of("pi-0.73.1", "pi:resp/5"), KeySource::session_id_header);
}

// Without its headers each of these is still known by what its body says.
TEST(CapturedSources, BodyIdsServeWhereAProxyDropsTheHeaders) {
  const auto without_headers = [](const char* client) {
    std::map<std::string, Session> sessions;
    for (const CapturedRequest& request : load_captures(client))
      sessions[request.name] = identify({}, facts_of(request.api, request.body), {"key", "pool"}, "");
    return sessions;
  };
  auto claude = without_headers("claude-code-2.1.332");
  EXPECT_EQ(claude["cc332:s1t1/1"].source, KeySource::user_id);
  EXPECT_EQ(claude["cc332:s1t1/1"].key, claude["cc332:s1t3/3"].key);
  EXPECT_NE(claude["cc332:s1t1/1"].key, claude["cc332:s2t1/4"].key);
  auto codex = without_headers("codex-0.171.0");
  EXPECT_EQ(codex["codex:s1t1/1"].source, KeySource::prompt_cache_key);
  EXPECT_EQ(codex["codex:s1t1/1"].key, codex["codex:s1t2/2"].key);
  auto opencode = without_headers("opencode-1.18.33");
  EXPECT_EQ(opencode["opencode2:ckey/7"].source, KeySource::prompt_cache_key);
}

// One session carries several prefixes: its title call is a lineage of its own, its turns share one.
TEST(CapturedLineages, TitleCallAndTurnsDiffer) {
  std::map<std::string, Session> sessions;
  for (const CapturedRequest& request : load_captures("claude-code-2.1.332"))
    sessions[request.name] = identify(request.header_views(), facts_of(request.api, request.body), {"k", "p"}, "");
  EXPECT_EQ(sessions["ccint2:None/1"].key, sessions["ccint2:None/2"].key);
  EXPECT_NE(sessions["ccint2:None/1"].lineage, sessions["ccint2:None/2"].lineage);
  EXPECT_EQ(sessions["ccint2:None/2"].lineage, sessions["ccint2:None/4"].lineage);
  EXPECT_EQ(sessions["cc332:s1t1/1"].lineage, sessions["cc332:s1t3/3"].lineage);
}

// The text of a prompt is nearly all of a captured body: the estimate must come near it.
TEST(CapturedSizes, TextIsMostOfTheBody) {
  for (const char* client : {"claude-code-2.1.332", "codex-0.171.0", "opencode-1.18.33", "qwen-code-0.24.4"})
    for (const CapturedRequest& request : load_captures(client)) {
      const auto bytes = static_cast<std::int64_t>(request.body.size());
      const BodyFacts facts = facts_of(request.api, request.body);
      EXPECT_LT(facts.text_bytes, bytes) << request.name;
      EXPECT_GT(facts.text_bytes, bytes * 7 / 10 - 2000) << request.name;
    }
}

}  // namespace
}  // namespace wg::dialect
