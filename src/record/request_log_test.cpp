#include "record/request_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "record/request_line.h"

namespace wg::record {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

const std::string utc_time = "20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9][.][0-9][0-9][0-9]Z";

RequestRecord sample() {
  RequestRecord record;
  record.request_id = "req-1";
  record.method = "POST";
  record.path = "/v1/messages";
  record.api = "messages";
  record.route = "sticky";
  record.outcome = "ok";
  record.rule = "home not busy";
  record.key_source = "claude_code";
  record.stop = "tool_calls";
  record.pool = "qwen";
  record.replica = "qwen/box1/0";
  record.session = "0123456789ab";
  record.model = "claude-opus";
  record.status = 200;
  record.attempts = 1;
  record.bytes_in = 49'000;
  record.bytes_out = 1'234;
  record.prompt = {4'100};
  record.cached = {3'968};
  record.output = {17};
  record.measured = record.cached_measured = true;
  record.waited = 1'500us;
  record.ttft = 120ms;
  record.total = 2s;
  record.streamed = true;
  return record;
}

std::string line_of(const RequestRecord& record, LineForm form) {
  std::string line;
  append_request(line, record, form);
  return line;
}

TEST(RequestLine, Text) {
  EXPECT_EQ(
      line_of(sample(), LineForm::text),
      "request id=req-1 method=POST path=/v1/messages api=messages status=200 outcome=ok pool=qwen replica=qwen/box1/0 "
      "route=sticky rule=\"home not busy\" session=0123456789ab key_source=claude_code model=claude-opus attempts=1 "
      "streamed=true bytes_in=49000 bytes_out=1234 prompt=4100 cached=3968 output=17 measured=true stop=tool_calls "
      "waited_ms=1.5 ttft_ms=120.0 total_ms=2000.0");
}

TEST(RequestLine, Json) {
  EXPECT_EQ(
      line_of(sample(), LineForm::json),
      R"("event":"request","id":"req-1","method":"POST","path":"/v1/messages","api":"messages","status":200,"outcome":"ok",)"
      R"("pool":"qwen","replica":"qwen/box1/0","route":"sticky","rule":"home not busy","session":"0123456789ab",)"
      R"("key_source":"claude_code","model":"claude-opus","attempts":1,"streamed":true,"bytes_in":49000,"bytes_out":1234,)"
      R"("prompt":4100,"cached":3968,"output":17,"measured":true,"stop":"tool_calls","waited_ms":1.5,"ttft_ms":120.0,)"
      R"("total_ms":2000.0,"error":null)");
}

TEST(RequestLine, WhatDoesNotApplyIsLeftOutOrNull) {
  RequestRecord record;
  record.request_id = "r";
  record.status = 503;
  record.error = "no replica is up";
  EXPECT_EQ(line_of(record, LineForm::text),
            "request id=r status=503 attempts=0 streamed=false bytes_in=0 bytes_out=0 waited_ms=0.0 total_ms=0.0 "
            "error=\"no replica is up\"");
  const std::string json = line_of(record, LineForm::json);
  EXPECT_THAT(json, HasSubstr(R"("pool":null)"));
  EXPECT_THAT(json, HasSubstr(R"("cached":null)"));
  EXPECT_THAT(json, HasSubstr(R"("ttft_ms":null)"));
}

TEST(RequestLine, HostileFieldsStayOnOneLineAndBounded) {
  RequestRecord record = sample();
  record.path = "/v1/x\n2026-11-30T00:00:00.000Z info forged\r\n\x1b[2J" + std::string(100'000, 'p');
  record.model = "m\" forged=\"1\"\xff\u2028";
  record.error = std::string(1'000'000, '\n');
  for (const LineForm form : {LineForm::text, LineForm::json}) {
    const std::string line = line_of(record, form);
    for (const char c : {'\n', '\r', '\x1b', '\xff'}) EXPECT_EQ(line.find(c), std::string::npos);
    EXPECT_EQ(line.find("\u2028"), std::string::npos);
    EXPECT_EQ(line.find(" forged=\"1\""), std::string::npos) << "a client must not be able to add fields";
    EXPECT_LT(line.size(), 4'096u);
  }
}

// ---- the log itself -----------------------------------------------------------------------------------------------

class LogFile : public testing::Test {
 protected:
  LogFile() : path_(testing::TempDir() + "warmgate-log-test-" + std::to_string(::getpid())) {
    std::remove(path_.c_str());
  }
  ~LogFile() override { std::remove(path_.c_str()); }

  std::vector<std::string> lines() const {
    std::ifstream in(path_);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }

  std::string path_;
};

TEST_F(LogFile, TextLinesWithUtcTime) {
  {
    Log log({"text", path_, "info"});
    log.info("starts\nnow");
    log.debug("unseen");
    log.request(sample());
    log.warning("100 % {} %v done");
    log.error("broken");
    EXPECT_EQ(log.dropped(), 0u);
  }
  const auto written = lines();
  ASSERT_EQ(written.size(), 4u);
  for (const std::string& line : written) EXPECT_THAT(line, MatchesRegex(utc_time + " (info|warning|error) .*"));
  EXPECT_THAT(written[0], HasSubstr("Z info starts\\nnow"));
  EXPECT_THAT(written[1], HasSubstr("Z info request id=req-1 "));
  EXPECT_THAT(written[2], HasSubstr("Z warning 100 % {} %v done"));
}

TEST_F(LogFile, JsonLines) {
  {
    Log log({"json", path_, "debug"});
    log.debug("say \"hi\"");
    log.request(sample());
  }
  const auto written = lines();
  ASSERT_EQ(written.size(), 2u);
  for (const std::string& line : written)
    EXPECT_THAT(line, MatchesRegex(R"([{]"time":")" + utc_time + R"(","level":"[a-z]+","event":"[a-z]+",.*[}])"));
  EXPECT_THAT(written[0], HasSubstr(R"("level":"debug","event":"message","message":"say \"hi\""})"));
  EXPECT_THAT(written[1], HasSubstr(R"("level":"info","event":"request","id":"req-1")"));
}

TEST_F(LogFile, LevelWarningLeavesRequestsOut) {
  {
    Log log({"text", path_, "warning"});
    log.request(sample());
    log.info("unseen");
    log.warning("seen");
  }
  EXPECT_EQ(lines().size(), 1u);
}

TEST_F(LogFile, AppendsAndWritesWhatIsQueuedAtTheEnd) {
  for (int run = 0; run < 2; ++run) {
    Log log({"text", path_, "info"});
    for (int i = 0; i < 1'000; ++i) log.request(sample());
  }
  EXPECT_EQ(lines().size(), 2'000u);
}

TEST(Log, RefusesWhatItCannotUse) {
  EXPECT_THROW(Log({"text", "/nonexistent/dir/x.log", "info"}), std::runtime_error);
  EXPECT_THROW(Log({"xml", "", "info"}), std::runtime_error);
  EXPECT_THROW(Log({"text", "", "loud"}), std::runtime_error);
}

TEST(Log, FullDiskNeitherBlocksNorThrowsAndIsSaidOnce) {
  testing::internal::CaptureStderr();
  std::uint64_t dropped = 0;
  {
    auto log = std::make_unique<Log>(LogOptions{"text", "/dev/full", "info"});
    for (int i = 0; i < 100; ++i) log->request(sample());
    while (dropped < 100) dropped = log->dropped();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(dropped, 100u);
  EXPECT_THAT(said, HasSubstr("warmgate: log file /dev/full: No space left on device; lines are lost"));
  EXPECT_EQ(said.find("lines are lost"), said.rfind("lines are lost"));
}

// A pipe that nobody empties: the queue overflows, the oldest lines go, callers never wait.
TEST_F(LogFile, AStuckReaderCostsLinesNotTime) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  testing::internal::CaptureStderr();
  {
    Log log({"text", path_, "info"});
    const auto begun = std::chrono::steady_clock::now();
    // The writer may hold one queue full, and the next is filled behind it.
    for (int i = 0; i < 60'000; ++i) log.request(sample());
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 15s);
    EXPECT_GT(log.dropped(), 0u);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("lines are lost"));
  ::close(reader);
}

// Room for a while, then none, then room again: torn lines are ended, and the loss is told in the log itself, once.
TEST_F(LogFile, LossesAreToldInTheLogWhenItWorksAgain) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  testing::internal::CaptureStderr();
  std::string read;
  char block[65'536];
  const auto drain = [&] {
    for (ssize_t got; (got = ::read(reader, block, sizeof block)) > 0;)
      read.append(block, static_cast<std::size_t>(got));
  };
  {
    Log log({"text", path_, "info"});
    while (log.dropped() == 0) log.request(sample());
    while (read.find("log lines were lost") == std::string::npos) {
      drain();
      log.info("still here");
    }
    while (read.find("the end") == std::string::npos) {
      log.info("the end");
      drain();
    }
  }
  testing::internal::GetCapturedStderr();
  ::close(reader);
  EXPECT_EQ(read.find("log lines were lost"), read.rfind("log lines were lost"));
  std::size_t begin = 0;
  while (begin < read.size() - 1) {  // no line is glued to the remains of another
    const std::size_t end = read.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = read.substr(begin, end - begin);
    EXPECT_TRUE(line.empty() || line.starts_with("20")) << line;
    EXPECT_EQ(line.find("Z info", 30), std::string::npos) << line;
    begin = end + 1;
  }
}

}  // namespace
}  // namespace wg::record
