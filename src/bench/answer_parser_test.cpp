#include "bench/answer_parser.h"

#include <gtest/gtest.h>

namespace wg::bench {
namespace {

using dialect::Api;

TimePoint at(int ms) { return TimePoint(std::chrono::milliseconds(ms)); }

std::string stream_of(const std::string& events, const std::string& headers = "") {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n" + headers +
         "Content-Length: " + std::to_string(events.size()) + "\r\n\r\n" + events;
}

const std::string chat_events =
    ": ping\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a \\\"b\\\"\"}}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" c\\u00e9\"},\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,"
    "\"prompt_tokens_details\":{\"cached_tokens\":64}}}\n\n"
    "data: [DONE]\n\n";

const std::string messages_events =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\","
    "\"content\":[],\"usage\":{\"input_tokens\":36,\"output_tokens\":0,\"cache_read_input_tokens\":64}}}\n\n"
    "event: content_block_start\ndata: "
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
    "\"text\":\"\"}}\n\n"
    "event: content_block_delta\ndata: "
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
    "\"text\":\"hello\"}}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
    "\"usage\":{\"output_tokens\":3}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

// All bytes at once, at 1 s.
Answer answer_to(Api api, std::string_view bytes) {
  AnswerParser parser(api);
  parser.begin();
  if (!parser.feed(bytes, at(1'000))) parser.closed(at(2'000));
  return parser.answer();
}

TEST(AnswerParser, measures_a_chat_stream) {
  const Answer answer = answer_to(
      Api::chat, stream_of(chat_events,
                           "x-warmgate-replica: m/e/1\r\nx-warmgate-route: sticky\r\nServer-Timing: wait;dur=12.5, "
                           "engine;dur=3.0\r\n"));
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(answer.usage.prompt, Tokens{100});
  EXPECT_EQ(answer.usage.cached, Tokens{64});
  EXPECT_EQ(answer.usage.output, Tokens{7});
  EXPECT_EQ(answer.text, "a \\\"b\\\" c\\u00e9");
  EXPECT_EQ(answer.place, "m/e/1");
  EXPECT_EQ(answer.route, "sticky");
  EXPECT_EQ(answer.waited, std::chrono::microseconds(12'500));
  EXPECT_EQ(answer.first_content, at(1'000));
}

TEST(AnswerParser, measures_a_messages_stream) {
  const Answer answer = answer_to(Api::messages, stream_of(messages_events));
  EXPECT_EQ(answer.failure, "");
  EXPECT_EQ(answer.usage.prompt, Tokens{100});
  EXPECT_EQ(answer.usage.cached, Tokens{64});
  EXPECT_EQ(answer.usage.output, Tokens{3});
  EXPECT_EQ(answer.text, "hello");
}

TEST(AnswerParser, takes_the_rank_that_a_replica_names_itself) {
  const Answer answer =
      answer_to(Api::chat, stream_of(chat_events, "x-warmgate-replica: m/e/any\r\nx-replica: replica/3\r\n"));
  EXPECT_EQ(answer.place, "replica/3");
}

TEST(AnswerParser, knows_no_place_where_the_head_went_out_before_there_was_one) {
  const Answer answer =
      answer_to(Api::chat, stream_of(chat_events, "x-warmgate-replica: -\r\nx-warmgate-route: waiting\r\n"));
  EXPECT_EQ(answer.place, "");
}

// Cut anywhere, the same is seen; the first content is the first token, not the role or a ping.
TEST(AnswerParser, does_not_mind_where_reads_end) {
  const std::string whole = stream_of(chat_events);
  const std::size_t first_token = whole.find("a \\\"b") + 10;
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    AnswerParser parser(Api::chat);
    parser.begin();
    ASSERT_FALSE(parser.feed(std::string_view(whole).substr(0, cut), at(1)));
    ASSERT_TRUE(parser.feed(std::string_view(whole).substr(cut), at(2)));
    const Answer& answer = parser.answer();
    ASSERT_EQ(answer.failure, "") << cut;
    ASSERT_EQ(answer.text, "a \\\"b\\\" c\\u00e9") << cut;
    if (cut < first_token) {
      ASSERT_EQ(answer.first_content, at(2)) << cut;
    }
    ASSERT_TRUE(parser.connection_lives());
  }
}

TEST(AnswerParser, serves_one_answer_after_the_other) {
  AnswerParser parser(Api::chat);
  for (int n = 0; n < 3; ++n) {
    parser.begin();
    EXPECT_TRUE(parser.feed(stream_of(chat_events), at(n)));
    EXPECT_EQ(parser.answer().text, "a \\\"b\\\" c\\u00e9");
  }
}

TEST(AnswerParser, says_what_went_wrong) {
  const std::string cut = chat_events.substr(0, chat_events.find("data: [DONE]"));
  const std::string error_event = "data: {\"error\":{\"message\":\"no room\",\"code\":503}}\n\ndata: [DONE]\n\n";
  const std::string abort = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n";
  const std::string json = "{\"error\":{\"message\":\"no replica is up\",\"code\":503}}";
  const std::string refused = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: " +
                              std::to_string(json.size()) + "\r\n\r\n" + json;
  const std::string half = stream_of(chat_events).substr(0, 200);
  struct Case {
    std::string bytes, word;
  };
  for (const Case& c :
       {Case{stream_of(cut), "without its last event"}, Case{stream_of(error_event), "no room"},
        Case{stream_of(abort), "aborted"}, Case{refused, "status 503: no replica is up"},
        Case{half, "closed in the middle"}, Case{"", "was closed"},
        Case{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "no stream"}, Case{"nonsense\r\n\r\n", ""}}) {
    const Answer answer = answer_to(Api::chat, c.bytes);
    EXPECT_NE(answer.failure, "");
    EXPECT_NE(answer.failure.find(c.word), std::string::npos) << answer.failure;
  }
}

}  // namespace
}  // namespace wg::bench
