#include "policy/load.h"

#include <gtest/gtest.h>

namespace wg::policy {

TEST(PolicyName, EveryNameLeadsBackToItself) {
  for (const PolicyName name : {PolicyName::off, PolicyName::round_robin, PolicyName::least, PolicyName::hash,
                                PolicyName::sticky, PolicyName::warm}) {
    EXPECT_EQ(policy_named(name_of(name)), name);
    EXPECT_NE(policy_names.find(name_of(name)), std::string_view::npos) << name_of(name);
  }
  for (const std::string_view unknown : {"", "Sticky", "round_robin", "Warm", "stick", "sticky "})
    EXPECT_EQ(policy_named(unknown), std::nullopt) << unknown;
}

TEST(Route, HasTheWordsThatTheApiPromises) {
  EXPECT_EQ(name_of(Route::placed), "placed");
  EXPECT_EQ(name_of(Route::sticky), "sticky");
  EXPECT_EQ(name_of(Route::spilled), "spilled");
  EXPECT_EQ(name_of(Route::moved), "moved");
  EXPECT_EQ(name_of(Route::off), "off");
  EXPECT_EQ(name_of(Route::unsteered), "unsteered");
  EXPECT_EQ(name_of(Route::waiting), "waiting");
}

}  // namespace wg::policy
