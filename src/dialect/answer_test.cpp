#include "dialect/answer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

namespace wg::dialect {
namespace {

std::string read_sample(const std::string& name) {
  std::ifstream file(std::string(WG_TEST_DATA) + "/engine-samples/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  std::string body = text.str();
  if (body.starts_with("HTTP/1.1")) {
    const std::size_t crlf = body.find("\r\n\r\n"), lf = body.find("\n\n");
    body.erase(0, crlf < lf ? crlf + 4 : lf + 2);
  }
  return body;
}

// Feeds a stream in pieces and cuts it into events at blank lines, as the relay does.
class Splitter {
 public:
  explicit Splitter(Api api) : reader(api) {}

  void feed(std::string_view bytes) {
    buffer_ += bytes;
    for (std::size_t end; (end = buffer_.find("\n\n")) != std::string::npos; buffer_.erase(0, end + 2))
      events.push_back(reader.on_event(std::string_view(buffer_).substr(0, end + 2)));
  }

  std::string kinds() const {
    static constexpr char letters[] = {'#', 'o', 'c', '.', 'u', 'E', 'A'};  // in the order of EventKind
    std::string out;
    for (const Event& event : events) {
      out += letters[static_cast<int>(event.kind)];
      if (event.ends) out += '$';
    }
    return out;
  }

  AnswerReader reader;
  std::vector<Event> events;

 private:
  std::string buffer_;
};

struct StreamRow {
  const char* file;
  Api api;
  const char* kinds;  // o opening, c content, . closing, u usage, # comment, A abort, E error; $ the stream is complete
  Usage usage;
  Stop stop;
};

constexpr Usage usage(std::int64_t prompt, std::int64_t cached, std::int64_t output) {
  return {{prompt}, {cached}, {output}, true, true};
}

const StreamRow streams[] = {
    {"vllm-chat-stream-usage.sse", Api::chat, "occccccc.u.$", usage(711, 640, 8), Stop::length},
    {"vllm-completions-stream.sse", Api::completions, "c.u.$", usage(2, 0, 2), Stop::length},
    {"vllm-messages-stream.sse", Api::messages, "ooccccco..$", usage(911, 896, 5), Stop::length},
    {"vllm-responses-stream.sse", Api::responses, "ooooccooo.$", usage(32, 0, 3), Stop::length},
    {"vllm-stream-while-engine-killed.sse", Api::chat, nullptr, {}, Stop::abort},
    {"llama-chat-stream-usage.sse", Api::chat, "occccc.u.$", usage(55, 54, 5), Stop::length},
    {"llama-chat-stream-nousage.sse", Api::chat, "occccc..$", usage(55, 54, 5), Stop::length},
    {"llama-completions-stream.sse", Api::completions, "ccc..$", usage(4, 0, 3), Stop::length},
    {"llama-messages-stream.sse", Api::messages, "oocccccco..$", usage(55, 47, 6), Stop::length},
    {"llama-responses-stream.sse", Api::responses, "ooooccccooo.$", usage(33, 32, 4), Stop::stop},
};

class Streams : public testing::TestWithParam<StreamRow> {};

void expect_row(const Splitter& splitter, const StreamRow& row, const std::string& where) {
  const AnswerFacts& facts = splitter.reader.facts();
  if (row.kinds) {
    EXPECT_EQ(splitter.kinds(), row.kinds) << where;
  }
  EXPECT_EQ(facts.usage.prompt, row.usage.prompt) << where;
  EXPECT_EQ(facts.usage.cached, row.usage.cached) << where;
  EXPECT_EQ(facts.usage.output, row.usage.output) << where;
  EXPECT_EQ(facts.usage.measured, row.usage.measured) << where;
  EXPECT_EQ(facts.usage.cached_measured, row.usage.cached_measured) << where;
  EXPECT_EQ(name_of(facts.stop), name_of(row.stop)) << where;
}

TEST_P(Streams, AreReadAsTheEngineMeantThem) {
  Splitter splitter(GetParam().api);
  splitter.feed(read_sample(GetParam().file));
  expect_row(splitter, GetParam(), "in one piece");
}

TEST_P(Streams, AreReadAlikeWhereverTheyAreCut) {
  const std::string body = read_sample(GetParam().file);
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    Splitter splitter(GetParam().api);
    splitter.feed(std::string_view(body).substr(0, cut));
    splitter.feed(std::string_view(body).substr(cut));
    expect_row(splitter, GetParam(), "cut at " + std::to_string(cut));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Streams, testing::ValuesIn(streams), [](const auto& param) {
  std::string name = param.param.file;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Answer, EngineKilledGivesAbortBeforeDone) {
  Splitter splitter(Api::chat);
  splitter.feed(read_sample("vllm-stream-while-engine-killed.sse"));
  ASSERT_GE(splitter.events.size(), 2u);
  EXPECT_EQ(splitter.events[splitter.events.size() - 2].kind, EventKind::abort);
  EXPECT_TRUE(splitter.events.back().ends);
}

TEST(Answer, ResponseIdComesWithTheFirstEvent) {
  AnswerReader reader(Api::responses);
  const std::string body = read_sample("vllm-responses-stream.sse");
  reader.on_event(std::string_view(body).substr(0, body.find("\n\n") + 2));
  EXPECT_EQ(reader.facts().response_id, "resp_a3ecd87e596bb9f6");
}

struct BodyRow {
  const char* file;
  Api api;
  Usage usage;
  Stop stop;
};

TEST(AnswerBodies, OfRealEngines) {
  const BodyRow rows[] = {
      {"llama-chat-nonstream-turn1.txt", Api::chat, usage(33, 0, 8), Stop::stop},
      {"llama-chat-nonstream-turn2.json", Api::chat, usage(55, 40, 8), Stop::stop},
      {"llama-messages-nonstream.json", Api::messages, usage(55, 54, 6), Stop::length},
      {"llama-responses-nonstream.json", Api::responses, usage(33, 32, 6), Stop::stop},
  };
  for (const BodyRow& row : rows) {
    AnswerReader reader(row.api);
    const Event event = reader.on_body(read_sample(row.file));
    EXPECT_EQ(event.kind, EventKind::content) << row.file;
    EXPECT_EQ(reader.facts().usage.prompt, row.usage.prompt) << row.file;
    EXPECT_EQ(reader.facts().usage.cached, row.usage.cached) << row.file;
    EXPECT_EQ(reader.facts().usage.output, row.usage.output) << row.file;
    EXPECT_TRUE(reader.facts().usage.cached_measured) << row.file;
    EXPECT_EQ(name_of(reader.facts().stop), name_of(row.stop)) << row.file;
  }
}

TEST(AnswerBodies, AbortErrorAndNoJson) {
  AnswerReader reader(Api::chat);
  EXPECT_EQ(reader.on_body(R"({"choices":[{"finish_reason":"abort","message":{"content":"x"}}]})").kind,
            EventKind::abort);
  AnswerReader responses(Api::responses);
  EXPECT_EQ(responses.on_body(R"({"id":"r","status":"cancelled","error":null,"output":[]})").kind, EventKind::abort);
  const Event error = AnswerReader(Api::chat).on_body(R"({"error":{"message":"no","code":404}})");
  EXPECT_EQ(error.kind, EventKind::error);
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(AnswerReader(Api::messages).on_body(R"({"type":"error","error":{"type":"overloaded_error"}})").status, 503);
  AnswerReader cut(Api::chat);
  EXPECT_EQ(cut.on_body(R"({"usage":{"prompt_tokens":5},"choices":[)").kind, EventKind::content);
  EXPECT_FALSE(cut.facts().usage.measured);
  EXPECT_EQ(AnswerReader(Api::other).on_body("<html>").kind, EventKind::content);
}

TEST(AnswerBodies, ToolCalls) {
  AnswerReader chat(Api::chat);
  chat.on_body(
      R"({"choices":[{"finish_reason":"tool_calls","message":{"tool_calls":[{"function":{"name":"run"}}]}}]})");
  EXPECT_EQ(chat.facts().stop, Stop::tool_calls);
  EXPECT_EQ(chat.facts().tool, "run");
  AnswerReader messages(Api::messages);
  messages.on_body(R"({"content":[{"type":"tool_use","name":"Bash","input":{"name":"x"}}],"stop_reason":"tool_use"})");
  EXPECT_EQ(messages.facts().stop, Stop::tool_calls);
  EXPECT_EQ(messages.facts().tool, "Bash");
  AnswerReader responses(Api::responses);
  responses.on_body(R"({"status":"completed","output":[{"type":"function_call","name":"shell"}]})");
  EXPECT_EQ(responses.facts().stop, Stop::tool_calls);
  EXPECT_EQ(responses.facts().tool, "shell");
}

struct EventRow {
  Api api;
  const char* event;
  EventKind kind;
  int status = 0;
};

TEST(AnswerEvents, AreOfTheRightKind) {
  const EventRow rows[] = {
      {Api::chat, ": ping\n\n", EventKind::comment},
      {Api::chat, "\n", EventKind::comment},
      {Api::messages, "event: ping\ndata: {\"type\":\"ping\"}\n\n", EventKind::comment},
      {Api::messages, "data: {\"type\":\"ping\"}\n\n", EventKind::comment},
      {Api::chat, "data: [DONE]\n\n", EventKind::closing},
      {Api::chat, "data:[DONE]\r\n\r\n", EventKind::closing},
      {Api::chat, "data: [DONE]\r\r", EventKind::closing},
      {Api::chat, "data: {\"error\":{\"message\":\"x\",\"code\":503}}\n\n", EventKind::error, 503},
      {Api::chat, "data: {\"error\":{\"message\":\"x\",\"type\":\"BadRequestError\"}}\n\n", EventKind::error, 400},
      {Api::chat, "data: {\"error\":\"gone\"}\n\n", EventKind::error, 500},
      {Api::chat, "data: {\"object\":\"error\",\"message\":\"x\",\"code\":400}\n\n", EventKind::error, 400},
      {Api::chat, "event: error\ndata: {\"message\":\"x\"}\n\n", EventKind::error, 500},
      {Api::messages, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
       EventKind::error, 503},
      {Api::messages, "data: {\"error\":{\"message\":\"x\",\"code\":400}}\n\n", EventKind::error, 400},
      {Api::responses, "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n",
       EventKind::error, 500},
      {Api::responses, "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"x\"}\n\n",
       EventKind::error, 429},
      {Api::responses, "event: response.reasoning_text.delta\ndata: {\"delta\":\"x\"}\n\n", EventKind::content},
      {Api::responses, "data: {\"type\":\"response.output_text.delta\",\"delta\":\"x\"}\n\n", EventKind::content},
      {Api::responses, "event: response.completed\ndata: {\"response\":{\"status\":\"cancelled\"}}\n\n",
       EventKind::abort},
      {Api::chat, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n",
       EventKind::opening},
      {Api::chat, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"}}]}\n\n",
       EventKind::content},
      {Api::chat, "data: {\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning_content\":\"hm\"}}]}\n\n",
       EventKind::content},
      {Api::chat, "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}]}\n\n",
       EventKind::content},
      {Api::chat, "data: {\"choices\": [], \"usage\": {\"prompt_tokens\": 1}}\n\n", EventKind::usage},
      {Api::chat, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":1}}\n\n",
       EventKind::content},
      {Api::chat, "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n", EventKind::opening},
      {Api::chat, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n", EventKind::abort},
      {Api::chat, "data: {\"choices\":[{\"delta\":\n", EventKind::content},
      {Api::chat, "data: {\"choices\":[\ndata: {\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", EventKind::closing},
  };
  for (const EventRow& row : rows) {
    const Event event = AnswerReader(row.api).on_event(row.event);
    EXPECT_EQ(static_cast<int>(event.kind), static_cast<int>(row.kind)) << row.event;
    EXPECT_EQ(event.status, row.status) << row.event;
  }
}

// What a model writes must never be taken for what the engine says.
TEST(AnswerEvents, TextThatQuotesTheMarksIsText) {
  for (const char* text : {R"(\"usage\": {\"prompt_tokens\": 9}})", R"(\"finish_reason\":\"abort\")", R"(\"error\":{})",
                           R"(usage)", R"(error)", R"(finish_reason)", R"(\\\"error\\\":\"x\")", R"(\\)",
                           R"(data: [DONE]\n\n)", R"(\"choices\":[],\"usage\":{\"prompt_tokens\":1})"}) {
    AnswerReader chat(Api::chat);
    const std::string event = std::string("data: {\"id\":\"a\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"") +
                              text + "\"},\"finish_reason\":null}]}\n\n";
    EXPECT_EQ(chat.on_event(event).kind, EventKind::content) << text;
    EXPECT_FALSE(chat.facts().usage.measured) << text;
    EXPECT_EQ(chat.facts().stop, Stop::none) << text;
    AnswerReader messages(Api::messages);
    const std::string block =
        std::string("event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"") + text +
        "\"}}\n\n";
    EXPECT_EQ(messages.on_event(block).kind, EventKind::content) << text;
  }
}

TEST(AnswerEvents, ContinuousUsageKeepsTheCachedCountOfTheLastChunk) {
  AnswerReader reader(Api::chat);
  reader.on_event(
      R"(data: {"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":711,"total_tokens":712,"completion_tokens":1}})");
  EXPECT_TRUE(reader.facts().usage.measured);
  EXPECT_FALSE(reader.facts().usage.cached_measured);
  reader.on_event(
      R"(data: {"choices":[],"usage":{"prompt_tokens":711,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":640}}})");
  EXPECT_EQ(reader.facts().usage.cached.count, 640);
  EXPECT_TRUE(reader.facts().usage.cached_measured);
}

TEST(AnswerEvents, WithoutTheFlagVllmCountsThePromptButNotTheCache) {
  AnswerReader chat(Api::chat);
  chat.on_event(
      R"(data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":null}})");
  EXPECT_TRUE(chat.facts().usage.measured);
  EXPECT_FALSE(chat.facts().usage.cached_measured);
  AnswerReader messages(Api::messages);
  messages.on_event("event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":911}}}\n\n");
  messages.on_event("event: message_delta\ndata: {\"usage\":{\"input_tokens\":911,\"output_tokens\":5}}\n\n");
  EXPECT_EQ(messages.facts().usage.prompt.count, 911);
  EXPECT_FALSE(messages.facts().usage.cached_measured);
}

// Once-found by fuzzing: counts below zero, and sums of counts beyond 64 bits.
TEST(AnswerEvents, CountsAreNeverBelowZeroNorTooLargeToAdd) {
  AnswerReader chat(Api::chat);
  chat.on_event(
      R"(data: {"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":-1,"prompt_tokens_details":{"cached_tokens":-9}}})");
  EXPECT_EQ(chat.facts().usage.prompt.count, 0);
  EXPECT_EQ(chat.facts().usage.cached.count, 0);
  EXPECT_EQ(chat.facts().usage.output.count, 0);
  AnswerReader messages(Api::messages);
  messages.on_event(
      "event: message_start\ndata: {\"message\":{\"usage\":{\"input_tokens\":9223372036854775807,"
      "\"cache_read_input_tokens\":9223372036854775807,\"output_tokens\":-3}}}\n\n");
  EXPECT_EQ(messages.facts().usage.prompt.count, 2'000'000'000'000'000);
  EXPECT_EQ(messages.facts().usage.output.count, 0);
}

// Once-found by fuzzing: a field without a colon has a value without an address.
TEST(AnswerEvents, DataWithoutAColonIsEmpty) {
  for (const Api api : {Api::chat, Api::messages, Api::responses}) {
    AnswerReader reader(api);
    EXPECT_NE(reader.on_event("data\n\n").kind, EventKind::error);
    EXPECT_NE(reader.on_event("event: message_delta\ndata\n\n").kind, EventKind::error);
  }
}

TEST(AnswerEvents, ToolNamesAndStops) {
  AnswerReader messages(Api::messages);
  messages.on_event(
      "event: content_block_start\ndata: "
      "{\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Read\"}}\n\n");
  EXPECT_EQ(messages.facts().tool, "Read");
  messages.on_event("event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"tool_use\"}}\n\n");
  EXPECT_EQ(messages.facts().stop, Stop::tool_calls);
  AnswerReader responses(Api::responses);
  responses.on_event(
      "event: response.output_item.added\ndata: {\"item\":{\"type\":\"function_call\",\"name\":\"shell\"}}\n\n");
  responses.on_event("event: response.completed\ndata: {\"response\":{\"status\":\"completed\"}}\n\n");
  EXPECT_EQ(responses.facts().tool, "shell");
  EXPECT_EQ(responses.facts().stop, Stop::tool_calls);
}

}  // namespace
}  // namespace wg::dialect
