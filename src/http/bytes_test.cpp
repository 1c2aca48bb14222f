#include "http/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.h"

namespace wg::http {

TEST(Bytes, ControlsAreCountedEightAtATimeAsOneAtATime) {
  for (int c = 0; c < 256; ++c) {
    for (std::size_t at = 0; at < 17; ++at) {
      std::string text(17, 'a');
      text[at] = static_cast<char>(c);
      EXPECT_EQ(count_controls(text), is_control(static_cast<char>(c)) ? 1u : 0u) << c << " at " << at;
    }
  }
  Rng rng(1);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::int64_t i = rng.between(0, 60); i > 0; --i) text += static_cast<char>(rng.between(0, 255));
    EXPECT_EQ(count_controls(text), static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_control)));
  }
}

TEST(Bytes, Decimals) {
  EXPECT_EQ(parse_decimal("0"), 0u);
  EXPECT_EQ(parse_decimal("0005"), 5u);
  EXPECT_EQ(parse_decimal("9999999999999999999"), 9999999999999999999u);
  for (const char* bad : {"", "+1", "-1", " 1", "1 ", "0x1", "1.0", "1e3", "10000000000000000000"})
    EXPECT_EQ(parse_decimal(bad), std::nullopt) << bad;
}

TEST(Bytes, ListMembers) {
  std::vector<std::string> members;
  for_each_member(" a ,,b,\t, c d,", [&](std::string_view member) { members.emplace_back(member); });
  EXPECT_EQ(members, (std::vector<std::string>{"a", "b", "c d"}));
  members.clear();
  for_each_member("", [&](std::string_view member) { members.emplace_back(member); });
  EXPECT_TRUE(members.empty());
}

TEST(Bytes, ErrorTextsHoldNoForeignBytes) {
  EXPECT_EQ(printable("a\r\n\x01\xff"
                      "b"),
            "a????b");
  EXPECT_EQ(printable(std::string(50, 'x')), std::string(40, 'x') + "...");
}

}  // namespace wg::http
