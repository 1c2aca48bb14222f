#include "http/sse.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/rng.h"

namespace wg::http {

namespace {

struct Events {
  std::vector<std::string> whole;
  std::string rest;
  bool between = true;
};

// Feeds the stream cut at these offsets and gathers the events.
Events scan(std::string_view stream, const std::vector<std::size_t>& cuts) {
  SseScanner scanner;
  Events events;
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : stream.size();
    std::string_view piece = stream.substr(from, to - from);
    for (std::size_t end; (end = scanner.next_end(piece)) != SseScanner::npos; piece.remove_prefix(end)) {
      EXPECT_GE(end, 1u);
      EXPECT_LE(end, piece.size());
      if (end == 0 || end > piece.size()) return events;
      events.whole.push_back(events.rest.append(piece.substr(0, end)));
      events.rest.clear();
    }
    events.rest += piece;
    from = to;
  }
  events.between = scanner.between_events();
  return events;
}

// The lines of each event, as a client sees them, without regard to line ends and to blank events.
std::vector<std::string> meaning(const Events& events) {
  std::vector<std::string> out;
  for (std::string event : events.whole) {
    std::string lines;
    for (const char c : event)
      if (c != '\r' && c != '\n')
        lines += c;
      else if (!lines.empty() && lines.back() != '|')
        lines += '|';
    if (!lines.empty()) out.push_back(lines);
  }
  return out;
}

std::vector<std::size_t> every_byte(std::string_view stream) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < stream.size(); ++i) cuts.push_back(i);
  return cuts;
}

std::string with_line_ends(std::string text, std::string_view end) {
  std::string out;
  for (const char c : text) c == '\n' ? out += end : out += c;
  return out;
}

std::string read_file(const std::string& name) {
  std::ifstream in(std::string(WG_TEST_DATA) + "/engine-samples/" + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST(SseScanner, FindsTheEndsOfEvents) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"data: a\n\ndata: b\n\n", {"data: a\n\n", "data: b\n\n"}},
      {"data: a\r\n\r\ndata: b\r\n\r\n", {"data: a\r\n\r\n", "data: b\r\n\r\n"}},
      {"data: a\r\rdata: b\r\r", {"data: a\r\r", "data: b\r\r"}},
      {"data: a\n\r\ndata: b\r\n\n", {"data: a\n\r\n", "data: b\r\n\n"}},
      {"data: a\r\r\ndata: b\n\r", {"data: a\r\r\n", "data: b\n\r"}},
      {"event: x\ndata: a\ndata: b\n\n", {"event: x\ndata: a\ndata: b\n\n"}},
      {": ping\n\ndata: a\n\n", {": ping\n\n", "data: a\n\n"}},
      {":\n\n", {":\n\n"}},
      {"\n\r\n\rdata: a\n\n\n", {"\n", "\r\n", "\r", "data: a\n\n", "\n"}},
      {"data: a\n", {}},
      {"data: a", {}},
      {"", {}},
  };
  for (const auto& [stream, events] : table) EXPECT_EQ(scan(stream, {}).whole, events) << stream;
}

TEST(SseScanner, SameMeaningForEveryLineEndAndEveryCut) {
  const std::string text =
      ": hello\n\nevent: message_start\ndata: {\"a\":1}\n\ndata: x\ndata:\ndata: y\nid: 3\n\n:\n\ndata: [DONE]\n\n";
  const auto expected = meaning(scan(text, {}));
  ASSERT_EQ(expected.size(), 5u);
  for (const std::string_view end : {"\n", "\r\n", "\r"}) {
    const std::string stream = with_line_ends(text, end);
    const auto check = [&](const std::vector<std::size_t>& cuts) {
      const Events events = scan(stream, cuts);
      EXPECT_EQ(meaning(events), expected) << "cut at " << cuts[0];
      EXPECT_EQ(events.whole.size(), expected.size()) << "a phantom event, cut at " << cuts[0];
      EXPECT_TRUE(events.between);
      EXPECT_LE(events.rest.size(), 1u) << "at most the LF of a CRLF in two reads";
      std::string all;
      for (const std::string& event : events.whole) all += event;
      EXPECT_EQ(all + events.rest, stream) << "no byte lost";
    };
    for (std::size_t i = 1; i < stream.size(); ++i)
      for (std::size_t k = i + 1; k < stream.size(); k += 7) check({i, k});
    check(every_byte(stream));
  }
}

TEST(SseScanner, CrlfInTwoReadsEndsOneEvent) {
  SseScanner scanner;
  EXPECT_EQ(scanner.next_end("data: a\r\n\r"), 10u);
  EXPECT_TRUE(scanner.between_events());
  EXPECT_EQ(scanner.next_end("\n"), SseScanner::npos) << "belongs to the event before";
  EXPECT_TRUE(scanner.between_events());
  EXPECT_EQ(scanner.next_end("data: b\n\n"), 9u);
  EXPECT_EQ(scanner.next_end("data: c\r"), SseScanner::npos);
  EXPECT_FALSE(scanner.between_events());
  EXPECT_EQ(scanner.next_end("\n"), SseScanner::npos) << "the first line's end, no blank line";
  EXPECT_EQ(scanner.next_end("\n"), 1u);
}

TEST(SseScanner, BetweenEventsTellsACutStream) {
  for (const std::string_view cut : {"d", "data: a", "data: a\n", "data: a\r\n", "data: a\r", "data: b\n\ndata: a\n"}) {
    const Events events = scan(cut, {});
    EXPECT_FALSE(events.between) << cut;
  }
  for (const std::string_view end : {"", "data: a\n\n", "data: a\r\r", "\n"}) EXPECT_TRUE(scan(end, {}).between) << end;
}

TEST(SseScanner, StrayBlankLinesAreTinyEvents) {
  const Events events = scan(std::string(100, '\n') + "data: a\n\n", {});
  EXPECT_EQ(events.whole.size(), 101u);
  EXPECT_EQ(events.whole.back(), "data: a\n\n");
}

TEST(SseScanner, LongLinesAcrossItsWindow) {
  for (const std::size_t size : {500u, 511u, 512u, 513u, 1023u, 1024u, 1025u, 70'000u}) {
    for (const std::string_view end : {"\n", "\r\n", "\r"}) {
      const std::string event = std::string(size, 'x') + std::string(end) + std::string(end);
      EXPECT_EQ(scan(event + event, {}).whole, (std::vector<std::string>{event, event})) << size;
    }
  }
}

TEST(SseScanner, RealStreams) {
  const std::vector<std::string> files = {"vllm-chat-stream-usage.sse", "vllm-messages-stream.sse",
                                          "vllm-responses-stream.sse", "llama-messages-stream.sse",
                                          "llama-responses-stream.sse"};
  for (const std::string& file : files) {
    const std::string stream = read_file(file);
    ASSERT_FALSE(stream.empty()) << file;
    const Events whole = scan(stream, {});
    EXPECT_GT(whole.whole.size(), 3u) << file;
    const Events cut = scan(stream, every_byte(stream));
    EXPECT_EQ(meaning(cut), meaning(whole)) << file;
    EXPECT_EQ(cut.whole.size(), whole.whole.size()) << file;
  }
}

TEST(SseScanner, RandomStreamsLoseNothing) {
  Rng rng(7);
  for (int round = 0; round < 3000; ++round) {
    std::string stream;
    for (std::int64_t i = rng.between(0, 40); i > 0; --i) stream += "ab:\r\n\r\n"[rng.between(0, 6)];
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += static_cast<std::size_t>(rng.between(1, 9))) < stream.size();) cuts.push_back(at);
    const Events cut = scan(stream, cuts), whole = scan(stream, {});
    EXPECT_EQ(meaning(cut), meaning(whole)) << ::testing::PrintToString(stream);
    EXPECT_EQ(cut.between, whole.between);
    EXPECT_EQ(cut.whole.size(), whole.whole.size()) << ::testing::PrintToString(stream);
  }
}

}  // namespace wg::http
