#include "replica/faults.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace wg::replica {
namespace {

using namespace std::chrono_literals;

FaultOrder order_of(std::string_view json) {
  const auto order = read_fault(json);
  EXPECT_TRUE(order.has_value()) << json << (order ? "" : order.error().what);
  return order.value_or(FaultOrder());
}

std::string hits(Faults& faults, int requests, std::uint32_t rank = 0) {
  std::string text;
  for (int i = 0; i < requests; ++i) text += faults.next(rank, TimePoint(i * 1s)) ? 'x' : '.';
  return text;
}

TEST(Faults, EachKindHasAName) {
  int kinds = 0;
  for (int i = 0; i < 64; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (name_of(kind) == "none") continue;
    EXPECT_EQ(sim::fault_named(name_of(kind)), kind);
    EXPECT_NE(sim::fault_names(true).find(name_of(kind)), std::string::npos);
    ++kinds;
  }
  EXPECT_EQ(kinds, 16);
}

TEST(Faults, OneByDefault) {
  Faults faults;
  faults.arm(order_of(R"({"kind":"status-500"})"), TimePoint());
  EXPECT_EQ(hits(faults, 4), "x...");
}

TEST(Faults, SoMany) {
  Faults faults;
  faults.arm(order_of(R"({"kind":"die-mid","count":2})"), TimePoint());
  EXPECT_EQ(hits(faults, 4), "xx..");
}

TEST(Faults, ForAWhile) {
  Faults faults;
  faults.arm(order_of(R"({"kind":"die-mid","for_s":3})"), TimePoint());
  EXPECT_EQ(hits(faults, 6), "xxx...");
}

TEST(Faults, OnlyOnTheirRank) {
  Faults faults;
  faults.arm(order_of(R"({"kind":"die-mid","rank":1})"), TimePoint());
  EXPECT_EQ(hits(faults, 3, 0), "...");
  EXPECT_EQ(hits(faults, 3, 1), "x..");
}

TEST(Faults, AShareIsChosenBySeed) {
  const auto with_seed = [](std::string_view json) {
    Faults faults;
    faults.arm(order_of(json), TimePoint());
    return hits(faults, 64);
  };
  const std::string seven = with_seed(R"({"kind":"die-mid","share":0.5,"count":1000,"seed":7})");
  EXPECT_EQ(seven, with_seed(R"({"kind":"die-mid","share":0.5,"count":1000,"seed":7})"));
  EXPECT_NE(seven, with_seed(R"({"kind":"die-mid","share":0.5,"count":1000,"seed":8})"));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(seven, 'x')), 32, 12);
}

TEST(Faults, WhereInTheStreamIsSeededToo) {
  Rng one(3), again(3);
  const FaultOrder order = order_of(R"({"kind":"die-mid"})");
  EXPECT_EQ(hit_of(order, one).after_tokens, hit_of(order, again).after_tokens);
  EXPECT_EQ(hit_of(order_of(R"({"kind":"die-mid","after_tokens":5})"), one).after_tokens, 5u);
}

TEST(Faults, AreCountedAndReported) {
  Faults faults;
  faults.arm(order_of(R"({"kind":"die-mid","count":3,"rank":2})"), TimePoint());
  hits(faults, 2, 2);
  const auto report = nlohmann::json::parse(faults.report(TimePoint()));
  EXPECT_EQ(report["counts"]["die-mid"], 2);
  EXPECT_EQ(report["armed"][0]["left"], 1);
  EXPECT_EQ(report["armed"][0]["rank"], 2);
  faults.disarm();
  EXPECT_TRUE(nlohmann::json::parse(faults.report(TimePoint()))["armed"].empty());
}

TEST(Faults, WhatIsWrongIsSaid) {
  for (const auto& [json, word] : {std::pair<std::string, std::string>{"[]", "JSON object"},
                                   {"{}", "kind is missing"},
                                   {R"({"kind":"explode"})", "status-500"},
                                   {R"({"kind":"die-mid","count":0})", "count"},
                                   {R"({"kind":"die-mid","for_s":-1})", "for_s"},
                                   {R"({"kind":"die-mid","share":2})", "share"},
                                   {R"({"kind":"die-mid","ranks":1})", "'ranks'"}}) {
    const auto order = read_fault(json);
    ASSERT_FALSE(order.has_value()) << json;
    EXPECT_NE(order.error().what.find(word), std::string::npos) << order.error().what;
  }
}

TEST(Faults, HeaderForm) {
  const auto order = read_fault_header("stall-mid; for_s=0.5; after_tokens=3");
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->kind, FaultKind::stall_mid);
  EXPECT_EQ(order->lasts, std::optional<Duration>(500ms));
  EXPECT_EQ(order->after_tokens, std::optional<std::uint32_t>(3));
  EXPECT_EQ(read_fault_header("other-model; model=m2")->model, "m2");
  EXPECT_FALSE(read_fault_header("").has_value());
  EXPECT_FALSE(read_fault_header("die-mid; now").has_value());
}

}  // namespace
}  // namespace wg::replica
