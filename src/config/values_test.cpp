#include <gtest/gtest.h>

#include "config/config.h"
#include "config/globs.h"
#include "config/nearest.h"

namespace wg::config {
namespace {

using namespace std::chrono_literals;

TEST(ParseAddress, Forms) {
  EXPECT_EQ(parse_address("127.0.0.1:8080")->text(), "127.0.0.1:8080");
  EXPECT_EQ(parse_address(":8080")->text(), "0.0.0.0:8080");
  EXPECT_EQ(parse_address("[::1]:0")->text(), "[::1]:0");
  EXPECT_EQ(parse_address("[::1]:0")->host, "::1");
  EXPECT_EQ(parse_address("Box-1.lan:65535")->text(), "box-1.lan:65535");
  for (const char* text : {"", "8080", "127.0.0.1", "127.0.0.1:", "h:65536", "h:-1", "h:80x", "::1:80", "[::1]",
                           "[::1:80", "[x]:80", "a b:80", "http://h:80", "h:99999999999999999999", "[]:80"})
    EXPECT_FALSE(parse_address(text)) << text;
}

TEST(ParseUrl, Forms) {
  EXPECT_EQ(parse_url("http://127.0.0.1:8000")->text(), "http://127.0.0.1:8000");
  EXPECT_EQ(parse_url("HTTP://Box1/")->text(), "http://box1");
  EXPECT_EQ(parse_url("http://box1:80")->port, 80);
  EXPECT_EQ(parse_url("http://box1:8000/llm/a//")->base_path, "/llm/a");
  EXPECT_EQ(parse_url("http://[fe80::1]:8000/x")->host, "fe80::1");
  EXPECT_EQ(parse_url("http://[fe80::1]:8000/x")->text(), "http://[fe80::1]:8000/x");
  for (const char* text :
       {"", "box1:8000", "http://", "http:///x", "http://:80", "http://h:0", "http://h:70000", "http://h:", "ftp://h",
        "http://h/a?b", "http://h/#b", "http://h/a b", "http://h/a\nb", "http://u:p@h/", "https://h", "HTTPS://h"})
    EXPECT_FALSE(parse_url(text)) << text;
}

TEST(ParseUrl, RefusalsSayWhyAndKeepSecrets) {
  EXPECT_NE(parse_url("https://h").error().what.find("https"), std::string::npos);
  const std::string why = parse_url("http://joe:hunter2@h").error().what;
  EXPECT_EQ(why.find("hunter2"), std::string::npos);
  EXPECT_NE(why.find("api_key_env"), std::string::npos);
}

TEST(ParseDuration, Forms) {
  EXPECT_EQ(parse_duration("250ms"), Duration(250ms));
  EXPECT_EQ(parse_duration("10s"), Duration(10s));
  EXPECT_EQ(parse_duration("5m"), Duration(5min));
  EXPECT_EQ(parse_duration("2h"), Duration(2h));
  EXPECT_EQ(parse_duration("0"), Duration(0));
  EXPECT_EQ(parse_duration("0s"), Duration(0));
  for (const char* text :
       {"", "10", "s", "10 s", "-1s", "+1s", "1.5s", "1S", "1d", "99999999999999999999s", "9999999999999999h", "10sx"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(ParseBytes, Forms) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("32KiB"), 32768u);
  EXPECT_EQ(parse_bytes("32MiB"), 33554432u);
  EXPECT_EQ(parse_bytes("1GiB"), 1073741824u);
  for (const char* text :
       {"", "KiB", "32KB", "32 MiB", "32mib", "-1", "1.5GiB", "99999999999GiB", "18446744073709551616"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(Globs, Match) {
  EXPECT_TRUE(glob_matches("claude-*", "claude-opus-4"));
  EXPECT_TRUE(glob_matches("claude-*", "claude-"));
  EXPECT_FALSE(glob_matches("claude-*", "claude"));
  EXPECT_FALSE(glob_matches("claude-*", "Claude-x"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_FALSE(glob_matches("?", ""));
  EXPECT_TRUE(glob_matches("gpt-?o*", "gpt-4o-mini"));
  EXPECT_TRUE(glob_matches("*a*b*c", "xxaxxbxbxc"));
  EXPECT_FALSE(glob_matches("*a*b*c", "xxaxxcxb"));
  EXPECT_TRUE(glob_matches("a[b]", "a[b]"));
}

TEST(Globs, NoBlowUp) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(20'000, 'a')));
}

TEST(Globs, Overlap) {
  EXPECT_TRUE(globs_overlap("claude-*", "claude-opus-*"));
  EXPECT_TRUE(globs_overlap("*", "anything"));
  EXPECT_TRUE(globs_overlap("a*", "*b"));
  EXPECT_TRUE(globs_overlap("a?c", "*b*"));
  EXPECT_TRUE(globs_overlap("*", ""));
  EXPECT_FALSE(globs_overlap("claude-*", "gpt-*"));
  EXPECT_FALSE(globs_overlap("a?", "a"));
  EXPECT_FALSE(globs_overlap("a*b", "a*c"));
  EXPECT_FALSE(globs_overlap("abc", "abd"));
}

TEST(Nearest, Distances) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("polcy", "policy"), 1u);
  EXPECT_EQ(edit_distance("ploicy", "policy"), 1u);
  EXPECT_EQ(edit_distance("Policy", "policy"), 0u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(Nearest, OnlySlips) {
  constexpr std::string_view known[] = {"policy", "spill", "url"};
  EXPECT_EQ(nearest("polcy", known), "policy");
  EXPECT_EQ(nearest("spil", known), "spill");
  EXPECT_EQ(nearest("uri", known), "url");
  EXPECT_EQ(nearest("threshold", known), "");
  EXPECT_EQ(nearest("x", known), "");
  EXPECT_EQ(nearest(std::string(100'000, 'p'), known), "");
}

}  // namespace
}  // namespace wg::config
