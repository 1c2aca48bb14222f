#include "dialect/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dialect/api.h"

namespace wg::dialect {
namespace {

constexpr Scope scope = {"key", "pool"};

Session of(std::vector<Header> headers, const BodyFacts& body = {}, const Scope& in = scope,
           std::string_view operator_header = "x-session-key") {
  return identify(headers, body, in, operator_header);
}

BodyFacts full_body() {
  BodyFacts body;
  body.keys = {"conversation", "cache-key", "session", "user-session", "resp_1"};
  body.fingerprint = {1, 2};
  return body;
}

TEST(Identify, TheFirstRowOfTheTableWins) {
  // Every source at once; each round the winner is taken away.
  std::vector<Header> headers = {
      {"X-Conversation-Id", "h"},
      {"X-OpenWebUI-Chat-Id", "g"},
      {"Agent-Session-Id", "f"},
      {"session_id", "e"},
      {"X-Session-Id", "d"},
      {"thread-id", "c"},
      {"X-Claude-Code-Session-Id", "b"},
      {"X-Smg-Routing-Key", "a2"},
      {"X-Session-Key", "a"},
  };
  const KeySource by_header[] = {
      KeySource::operator_header, KeySource::operator_header, KeySource::claude_code,
      KeySource::codex,           KeySource::opencode,        KeySource::session_id_header,
      KeySource::goose,           KeySource::open_webui,      KeySource::other_header,
  };
  BodyFacts body = full_body();
  for (const KeySource source : by_header) {
    EXPECT_EQ(name_of(of(headers, body).source), name_of(source));
    headers.pop_back();
  }
  EXPECT_EQ(of({}, body).source, KeySource::conversation);
  body.keys.conversation.clear();
  EXPECT_EQ(of({}, body).source, KeySource::prompt_cache_key);
  body.keys.prompt_cache_key.clear();
  EXPECT_EQ(of({}, body).source, KeySource::body_session);
  body.keys.session.clear();
  EXPECT_EQ(of({}, body).source, KeySource::user_id);
  body.keys.user_session.clear();
  EXPECT_EQ(of({}, body).source, KeySource::previous_response);
  body.keys.previous_response_id.clear();
  EXPECT_EQ(of({}, body).source, KeySource::fingerprint);
  body.fingerprint = {};
  const Session none = of({}, body);
  EXPECT_EQ(none.source, KeySource::none);
  EXPECT_FALSE(none.key);
  EXPECT_FALSE(none.lineage);
}

TEST(Identify, EveryHeaderOfTheTableIsKnown) {
  for (const char* name :
       {"x-smg-routing-key",   "x-litellm-session-id", "x-bf-session-id",    "x-claude-code-session-id",
        "thread-id",           "session-id",           "x-session-affinity", "x-session-id",
        "x-opencode-session",  "session_id",           "agent-session-id",   "x-openwebui-chat-id",
        "x-task-id",           "x-roo-task-id",        "x-zoo-session-id",   "x-conversation-id",
        "conversation-id",     "conversation_id",      "x-amp-thread-id",    "x-grok-conv-id",
        "x-dynamo-session-id", "x-cagent-session-id",  "helicone-session-id"})
    EXPECT_TRUE(of({{name, "v"}}).key) << name;
  for (const char* name :
       {"x-request-id", "x-client-request-id", "x-correlation-id", "traceparent", "user", "x-forwarded-for"})
    EXPECT_FALSE(of({{name, "v"}}).key) << name;
}

TEST(Identify, UnusableValuesArePassedOver) {
  const std::string longest(256, 'x'), too_long(257, 'x');
  EXPECT_TRUE(of({{"x-session-id", longest}}).key);
  for (const std::string& bad :
       {std::string(), too_long, std::string("a b"), std::string("a\tb"), std::string("\xC3\xA9")}) {
    EXPECT_EQ(of({{"x-claude-code-session-id", bad}, {"x-session-id", "ok"}}).source, KeySource::opencode) << bad;
    EXPECT_FALSE(of({{"x-session-id", bad}}).key) << bad;
  }
}

TEST(Identify, KeysAreScoped) {
  const std::vector<Header> headers = {{"x-session-id", "v"}};
  const SessionKey key = of(headers).key;
  EXPECT_EQ(key, of({{"X-SESSION-ID", "v"}}).key);
  EXPECT_NE(key, of(headers, {}, {"other", "pool"}).key);
  EXPECT_NE(key, of(headers, {}, {"key", "other"}).key);
  EXPECT_NE(key, of({{"thread-id", "v"}}).key) << "another class of source";
  EXPECT_NE(of({{"x-session-id", "bc"}}, {}, {"a", "p"}).key, of({{"x-session-id", "c"}}, {}, {"ab", "p"}).key);
  BodyFacts body = full_body(), same = full_body();
  body.keys = same.keys = {};
  EXPECT_NE(of({}, body).key, of({}, same, {"other", "pool"}).key);
}

TEST(Identify, OperatorsHeaderMayHaveAnyNameOrNone) {
  const std::vector<Header> headers = {{"X-My-Key", "v"}, {"x-session-key", "w"}};
  EXPECT_EQ(of(headers, {}, scope, "x-my-key").source, KeySource::operator_header);
  EXPECT_NE(of(headers, {}, scope, "x-my-key").key, of(headers).key);
  EXPECT_EQ(of(headers, {}, scope, "").source, KeySource::none);
}

TEST(Identify, ParentsHaveTheKeyOfTheirOwnRequests) {
  const Session claude = of({{"x-claude-code-session-id", "s"}});
  const Session agent = of({{"x-claude-code-session-id", "s"}, {"x-claude-code-agent-id", "a1"}});
  const Session nested = of(
      {{"x-claude-code-session-id", "s"}, {"x-claude-code-agent-id", "a2"}, {"x-claude-code-parent-agent-id", "a1"}});
  EXPECT_FALSE(claude.parent);
  EXPECT_EQ(agent.parent, claude.key);
  EXPECT_NE(agent.key, claude.key);
  EXPECT_EQ(nested.parent, agent.key);
  EXPECT_NE(nested.key, agent.key);

  const Session codex = of({{"thread-id", "t"}, {"session-id", "t"}});
  EXPECT_FALSE(codex.parent);
  EXPECT_EQ(of({{"session-id", "t"}}).key, codex.key);
  const Session child = of({{"thread-id", "u"}, {"session-id", "t"}, {"x-codex-parent-thread-id", "t"}});
  EXPECT_EQ(child.parent, codex.key);
  EXPECT_EQ(of({{"thread-id", "u"}, {"session-id", "t"}}).parent, codex.key);
  const Session grandchild = of({{"thread-id", "v"}, {"session-id", "t"}, {"x-codex-parent-thread-id", "u"}});
  EXPECT_EQ(grandchild.parent, child.key);

  const Session opencode = of({{"x-session-affinity", "o"}, {"x-session-id", "o"}});
  EXPECT_FALSE(opencode.parent);
  EXPECT_EQ(of({{"x-session-id", "p"}, {"x-parent-session-id", "o"}}).parent, opencode.key);
  EXPECT_FALSE(of({{"x-session-id", "o"}, {"x-parent-session-id", "o"}}).parent);
}

TEST(Identify, LineageIsKeyAndHead) {
  BodyFacts one, two;
  one.head = {1, 1};
  two.head = {2, 2};
  const std::vector<Header> headers = {{"x-session-id", "v"}};
  EXPECT_EQ(of(headers, one).key, of(headers, two).key);
  EXPECT_NE(of(headers, one).lineage, of(headers, two).lineage);
  EXPECT_NE(of(headers, one).lineage, of({{"x-session-id", "w"}}, one).lineage);
}

TEST(Credential, BearerThenApiKey) {
  const auto credential = [](std::vector<Header> headers) { return std::string(credential_of(headers)); };
  EXPECT_EQ(credential({{"Authorization", "Bearer abc"}, {"x-api-key", "d"}}), "abc");
  EXPECT_EQ(credential({{"authorization", "bearer  abc "}}), "abc");
  EXPECT_EQ(credential({{"authorization", "Basic abc"}, {"X-Api-Key", "d"}}), "d");
  EXPECT_EQ(credential({{"authorization", "Bearer "}}), "");
  EXPECT_EQ(credential({}), "");
}

TEST(Apis, AreKnownByTheirPaths) {
  EXPECT_EQ(api_of("/v1/chat/completions"), Api::chat);
  EXPECT_EQ(api_of("/v1/completions"), Api::completions);
  EXPECT_EQ(api_of("/v1/messages"), Api::messages);
  EXPECT_EQ(api_of("/v1/messages/count_tokens"), Api::count_tokens);
  EXPECT_EQ(api_of("/v1/responses"), Api::responses);
  EXPECT_EQ(api_of("/v1/responses/resp_1"), Api::other);
  EXPECT_EQ(api_of("/v1/embeddings"), Api::other);
  EXPECT_EQ(name_of(Api::chat), "chat");
  EXPECT_EQ(name_of(Api::other), "other");
}

}  // namespace
}  // namespace wg::dialect
