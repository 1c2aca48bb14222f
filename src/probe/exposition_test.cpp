#include "probe/exposition.h"

#include <gtest/gtest.h>

#include <vector>

namespace wg::probe {
namespace {

struct Read {
  std::vector<std::pair<std::string, std::string>> labels;
  bool well_formed = false;
  std::optional<double> value;
};

Read read(std::string_view text) {
  SampleTail tail(text);
  Read result;
  while (const auto label = tail.next_label()) result.labels.emplace_back(label->name, label->value);
  result.well_formed = tail.well_formed();
  if (result.well_formed) result.value = tail.value();
  return result;
}

TEST(SampleTail, ReadsLabelsAndValue) {
  const Read sample = read(R"({engine="0",model_name="a b"} 12.5)");
  ASSERT_EQ(sample.labels.size(), 2u);
  EXPECT_EQ(sample.labels[0], (std::pair<std::string, std::string>("engine", "0")));
  EXPECT_EQ(sample.labels[1].second, "a b");
  EXPECT_EQ(sample.value, 12.5);
}

TEST(SampleTail, ToleratesWhatTheFormatAllows) {
  for (const char* text : {" 7", "{} 7", "{ } 7", "{a=\"b\",} 7", "{ a = \"b\" , c=\"d\" } 7", "\t7 1796031002000",
                           "{a=\"}\"} 7", "{a=\",b=\"} +7", "{a=\"\\\"}\"} 7.0 # {id=\"x\"} 1"}) {
    const Read sample = read(text);
    EXPECT_TRUE(sample.well_formed) << text;
    EXPECT_EQ(sample.value, 7.0) << text;
  }
}

TEST(SampleTail, NumbersThatAreNoneReadAsZero) {
  for (const char* text : {"NaN", "nan", "+Inf", "-Inf", "Inf", "inf", "1e999", "-1e999", "1e-999"})
    EXPECT_EQ(read(std::string("{} ") + text).value, 0.0) << text;
}

TEST(SampleTail, RefusesOtherText) {
  for (const char* text : {"", " ", "{} ", "{} x", "{} 12x", "{} 0x10", "{} 1,5", "{} --1", "{} ++1"})
    EXPECT_FALSE(read(text).value) << text;
}

TEST(SampleTail, BrokenLabelsGiveNoValue) {
  for (const char* text : {"{", "{a", "{a=", "{a=b} 1", "{a=\"b} 1", "{a=\"b\\\"} 1", "{a=\"b\\", "{a=\"b\"",
                           "{a=\"b\"c=\"d\"} 1", "{=\"b\"} 1", "{,} 1", "{a\"b\"} 1", "{a=\"b\",,} 1"}) {
    const Read sample = read(text);
    EXPECT_FALSE(sample.well_formed) << text;
    EXPECT_FALSE(sample.value) << text;
  }
}

TEST(Exposition, Unescapes) {
  EXPECT_EQ(unescaped(R"(a\\b\"c\nd\)"), "a\\b\"c\nd\\");
  EXPECT_EQ(unescaped("plain"), "plain");
}

TEST(Exposition, WholeNumbers) {
  EXPECT_EQ(whole_number("0", 10), 0u);
  EXPECT_EQ(whole_number("10", 10), 10u);
  for (const char* text : {"", "11", "-1", "+1", " 1", "1 ", "1.0", "None", "99999999999999999999999"})
    EXPECT_FALSE(whole_number(text, 10)) << text;
}

TEST(Exposition, Lines) {
  std::string_view text = "a\r\n\nb";
  EXPECT_EQ(take_line(text), "a");
  EXPECT_EQ(take_line(text), "");
  EXPECT_EQ(take_line(text), "b");
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(metric_name("name{a=\"b\"} 1"), "name");
  EXPECT_EQ(metric_name("name 1"), "name");
  EXPECT_EQ(metric_name("name"), "name");
}

}  // namespace
}  // namespace wg::probe
