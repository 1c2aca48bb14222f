#include "dialect/error_body.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialect/answer.h"

namespace wg::dialect {
namespace {

const std::string hostile[] = {
    "",
    "plain",
    "quote \" and \\ back",
    "line\nend\r\n\ndata: [DONE]",
    std::string("nul\0byte", 8),
    "\x01\x1f\x7f",
    "\xFF\xFE\xC0\xAF",
    "cut \xE4\xB8",
    "surrogate \xED\xA0\x80",
    "</script>\u2028 é中🙂",
    "\"},\"x\":{\"y\":\"",
};

TEST(ErrorBody, OfBothShapes) {
  const auto openai = nlohmann::json::parse(error_body(Shape::openai, 404, "no such model"));
  EXPECT_EQ(openai["error"]["message"], "no such model");
  EXPECT_EQ(openai["error"]["type"], "not_found_error");
  EXPECT_EQ(openai["error"]["code"], 404);
  EXPECT_TRUE(openai["error"]["param"].is_null());
  const std::pair<int, const char*> types[] = {
      {400, "invalid_request_error"},
      {401, "authentication_error"},
      {404, "not_found_error"},
      {413, "request_too_large"},
      {429, "rate_limit_error"},
      {503, "overloaded_error"},
      {529, "overloaded_error"},
      {504, "timeout_error"},
      {500, "api_error"},
      {502, "api_error"},
      {418, "api_error"},
  };
  for (const auto& [status, type] : types) {
    const auto body = nlohmann::json::parse(error_body(Shape::anthropic, status, "m"));
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["type"], type) << status;
    EXPECT_EQ(body["error"]["message"], "m");
  }
}

TEST(ErrorBody, IsValidJsonWhateverTheMessage) {
  for (const std::string& message : hostile)
    for (const Shape shape : {Shape::openai, Shape::anthropic}) {
      const std::string body = error_body(shape, 500, message);
      ASSERT_TRUE(nlohmann::json::accept(body)) << body;
      EXPECT_EQ(body.find('\n'), std::string::npos) << body;
    }
}

TEST(ErrorEvent, IsOneWholeEventWhateverTheMessage) {
  for (const std::string& message : hostile)
    for (const Api api : {Api::chat, Api::completions, Api::messages, Api::responses, Api::other}) {
      const std::string event = error_event(api, 503, message, false);
      ASSERT_TRUE(event.ends_with("\n\n"));
      EXPECT_EQ(event.find("\n\n"), event.size() - 2) << event;
      EXPECT_EQ(event.starts_with("event: error\n"), api == Api::messages || api == Api::responses);
      const Event read = AnswerReader(api).on_event(event);
      EXPECT_EQ(read.kind, EventKind::error) << event;
      EXPECT_EQ(read.status, 503) << event;
      EXPECT_EQ(error_event(api, 503, message, true), "\n\n" + event);
    }
}

TEST(PingEvent, IsASignOfLifeAndNoContent) {
  for (const Api api : {Api::chat, Api::completions, Api::messages, Api::responses}) {
    EXPECT_TRUE(ping_event(api).ends_with("\n\n"));
    EXPECT_EQ(AnswerReader(api).on_event(ping_event(api)).kind, EventKind::comment);
  }
  EXPECT_TRUE(ping_event(Api::messages).starts_with("event: ping\n"));
  EXPECT_TRUE(ping_event(Api::chat).starts_with(":"));
}

TEST(ErrorMessage, OfEveryShape) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"error":{"message":"a \"b\"","type":"BadRequestError","param":null,"code":400}})", "a \"b\""},
      {R"({"type":"error","error":{"type":"internal_error","message":"m"}})", "m"},
      {R"({"error":"Unauthorized"})", "Unauthorized"},
      {R"({"detail":"Not Found"})", "Not Found"},
      {R"({"detail":[{"loc":["body"],"msg":"field required"}]})", "field required"},
      {R"({"object":"error","message":"old","code":400})", "old"},
      {"data: {\"error\":{\"message\":\"e\"}}\n\n", "e"},
      {"event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"e\"}}\n\n", "e"},
      {"event: response.failed\ndata: {\"response\":{\"error\":{\"message\":\"r\"}}}\n\n", "r"},
      {R"({"choices":[]})", ""},
      {"<html>Bad Gateway</html>", ""},
      {"", ""},
      {R"({"error":)", ""},
  };
  for (const auto& [text, message] : rows) EXPECT_EQ(error_message(text), message) << text;
}

TEST(ErrorMessage, ReadsOurOwn) {
  for (const Api api : {Api::chat, Api::messages, Api::responses}) {
    EXPECT_EQ(error_message(error_body(shape_of(api), 500, "say \"hi\"")), "say \"hi\"");
    EXPECT_EQ(error_message(error_event(api, 500, "say \"hi\"", false)), "say \"hi\"");
  }
}

}  // namespace
}  // namespace wg::dialect
