#include "app/status_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace wg::app {
namespace {

using nlohmann::json;

std::string number(const json& value, const char* form, const char* unknown = "-") {
  return value.is_number() ? fmt::format(fmt::runtime(form), value.get<double>()) : unknown;
}

std::string thousands(const json& tokens) {
  return tokens.is_number() ? fmt::format("{:.0f}k", tokens.get<double>() / 1000) : "-";
}

json warm_row(const json& warm, const json& id) {
  for (const json& row : warm["replicas"])
    if (row["id"] == id) return row;
  return json::object();
}

std::string cached_share(const json& prompt) {
  const double cached = prompt["cached"].get<double>(), all = cached + prompt["computed"].get<double>();
  return all > 0 ? fmt::format("{:.0f}%", 100 * cached / all) : "-";
}

}  // namespace

std::string status_table(const json& replicas, const json& warm) {
  std::string out = fmt::format("{:<28} {:>4} {:>6} {:>6} {:>9} {:>7} {:>8} {:>8} {:>7}\n", "replica", "up", "flight",
                                "seats", "seat KV", "cached", "prefill", "hit turn", "g*");
  for (const json& row : replicas["replicas"]) {
    const json its = warm_row(warm, row["id"]);
    const json learnt = its.value("learnt", json::object());
    out += fmt::format("{:<28} {:>4} {:>6} {:>6} {:>9} {:>7} {:>8} {:>8} {:>7}\n", row["id"].get<std::string>(),
                       row["healthy"].get<bool>() ? "yes" : "no", row["in_flight"].get<int>(),
                       number(its.value("seats", json()), "{:.0f}"),
                       thousands(its.value("seat_tokens", json())) + "/" + thousands(row["kv_tokens"]),
                       cached_share(row["prompt_tokens"]),
                       number(learnt.value("prefill_tokens_per_s", json()), "{:.0f}/s"),
                       number(learnt.value("hit_service_s", json()), "{:.1f} s"),
                       number(its.value("break_even_s", json()), "{:.1f} s"));
  }
  for (const json& pool : warm["pools"]) {
    out += fmt::format("\n{} ({}): {}\n", pool["pool"].get<std::string>(), pool["policy"].get<std::string>(),
                       pool["advice"].get<std::string>());
    if (pool["waiting"].get<int>() > 0)
      out += fmt::format("  {} wait for a seat, the longest for {:.1f} s\n", pool["waiting"].get<int>(),
                         pool["longest_wait_s"].get<double>());
  }
  for (const json& engine : replicas["engines"])
    for (const json& warning : engine["warnings"])
      out += fmt::format("\n{}: {}\n", engine["name"].get<std::string>(), warning.get<std::string>());
  return out;
}

std::string decision_lines(const json& decisions) {
  std::string out;
  for (const json& row : decisions["decisions"]) {
    out += fmt::format("{:.1f} s ago: {} {} after {:.2f} s: {}\n", row["ago_s"].get<double>(),
                       row["route"].get<std::string>(),
                       row["replica"].is_null() ? std::string("nowhere") : row["replica"].get<std::string>(),
                       row["waited_s"].get<double>(), row["rule"].get<std::string>());
    for (const json& c : row["candidates"]) {
      if (!c.contains("cost_s")) {
        out +=
            fmt::format("    {:<28} in flight {:g}\n", c["replica"].get<std::string>(), c["in_flight"].get<double>());
        continue;
      }
      out += fmt::format(
          "    {:<28} {:.2f} s = backlog {:.2f} + prefill {:.2f} + crowd {:.2f} + displaced {:.2f}; {} cached, {} "
          "free{}\n",
          c["replica"].get<std::string>(), c["cost_s"].get<double>(), c["backlog_s"].get<double>(),
          c["prefill_s"].get<double>(), c["crowd_s"].get<double>(), c["displaced_s"].get<double>(),
          thousands(c["cached_tokens"]), thousands(c["room_tokens"]),
          c["may_take"].get<bool>() ? "" : "; cannot take it");
    }
  }
  return out.empty() ? "no decision on that session is remembered\n" : out;
}

}  // namespace wg::app
