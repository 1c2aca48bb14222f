#include "console/status_text.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace wg::console {
namespace {

using nlohmann::json;

// As printf; what is longer than a line of a terminal is cut.
__attribute__((format(printf, 1, 2))) std::string line(const char* form, ...) {
  char text[512];
  std::va_list values;
  va_start(values, form);
  std::vsnprintf(text, sizeof text, form, values);
  va_end(values);
  return text;
}

std::string text_at(const json& row, const char* key) {
  return row[key].is_string() ? row[key].get<std::string>() : "-";
}
double number_at(const json& row, const char* key) { return row[key].get<double>(); }

// With `digits` behind the point; what is not known is "-".
std::string figure(const json& row, const char* key, int digits, const char* unit) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? line("%.*f%s", digits, found->get<double>(), unit) : "-";
}
std::string thousands(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_number() ? line("%.0fk", std::round(found->get<double>() / 1000) + 0.0) : "-";
}

json warm_row(const json& warm, const json& id) {
  for (const json& row : warm["replicas"])
    if (row["id"] == id) return row;
  return json::object();
}

// Where most answers did not tell, what the engine's own counters say: "~74%".
std::string cached_share(const json& row) {
  const json& prompt = row["prompt_tokens"];
  const double cached = number_at(prompt, "cached"), all = cached + number_at(prompt, "computed");
  if (2 * number_at(prompt, "unmeasured") > all && row["prefix_queries"].is_number() && row["prefix_queries"] > 0)
    return line("~%.0f%%", 100 * number_at(row, "prefix_hits") / number_at(row, "prefix_queries"));
  return all > 0 ? line("%.0f%%", 100 * cached / all) : "-";
}

// Until something was seen of it the price of a turn is made with an assumed rate: "~4000/s".
std::string prefill_rate(const json& learnt) {
  const auto samples = learnt.find("samples");
  const bool is_assumed = samples != learnt.end() && samples->get<double>() == 0;
  return (is_assumed ? "~" : "") + figure(learnt, "prefill_tokens_per_s", 0, "/s");
}

// What is out of the ordinary with a replica's cache.
std::string remarks_on(const json& row) {
  const std::string id = "\n" + text_at(row, "id") + ": ";
  std::string out;
  if (!row["keeps_prefixes"].get<bool>()) return id + "keeps no prefixes: no seats are held there, turns go by load\n";
  if (row["kv_tokens_learnt"].get<bool>())
    out += id + "nobody tells the size of its cache; learnt: " + thousands(row, "seat_capacity_tokens") + " tokens\n";
  else if (row["kv_tokens"].is_null())
    out +=
        id + "nobody tells the size of its cache, and too little was seen of it: turns wait to be read, not for room\n";
  const json& hits = row["hits"];
  if (number_at(hits, "missed") > 0)
    out += id + line("%.0f of %.0f turns did not find the context that its cache should have held\n",
                     number_at(hits, "missed"), number_at(hits, "expected"));
  if (number_at(hits, "emptied") > 0)
    out += id + line("its engine began anew, with an empty cache: %.0f times, by its counters\n",
                     number_at(hits, "emptied"));
  const json& net = row["safety_net"];
  if (number_at(net, "share") < 1)
    out += id + line(
                    "seats use %.0f%% of its cache: residents found less than they should, or were preempted "
                    "(%.0f steps down)\n",
                    100 * number_at(net, "share"), number_at(net, "steps_down"));
  return out;
}

std::string table_of(const json& replicas, const json& warm) {
  constexpr const char* form = "%-28s %4s %6s %6s %10s %7s %8s %8s %7s\n";
  std::string out = line(form, "replica", "up", "flight", "seats", "seat KV", "cached", "prefill", "hit turn", "g*");
  for (const json& row : replicas["replicas"]) {
    const json its = warm_row(warm, row["id"]), learnt = its.value("learnt", json::object());
    const std::string kv = thousands(its, "seat_tokens") + "/" + thousands(its, "seat_capacity_tokens");
    out += line(form, text_at(row, "id").c_str(), row["healthy"].get<bool>() ? "yes" : "no",
                figure(row, "in_flight", 0, "").c_str(), figure(its, "seats", 0, "").c_str(), kv.c_str(),
                cached_share(row).c_str(), prefill_rate(learnt).c_str(),
                figure(learnt, "hit_service_s", 1, " s").c_str(), figure(its, "break_even_s", 1, " s").c_str());
  }
  for (const json& pool : warm["pools"]) {
    if (text_at(pool, "pool").empty()) continue;  // its engine has not said what it serves: a row above, not up
    out += "\n" + text_at(pool, "pool") + " (" + text_at(pool, "policy") + "): " + text_at(pool, "advice") + "\n";
    if (number_at(pool, "waiting") > 0)
      out += line("  %.0f wait for a seat, the longest for %.1f s\n", number_at(pool, "waiting"),
                  number_at(pool, "longest_wait_s"));
  }
  double counted = 0;
  for (const json& row : warm["replicas"]) {
    out += remarks_on(row);
    if (number_at(row["cached_tokens_known"], "by_answer") == 0)
      counted += number_at(row["cached_tokens_known"], "by_counters");
  }
  if (counted > 0)
    out += line(
        "\ncached tokens of %.0f turns are known, from the engines' counters: of those that were alone between "
        "two looks\n",
        counted);
  for (const json& engine : replicas["engines"])
    for (const json& warning : engine["warnings"])
      out += "\n" + text_at(engine, "name") + ": " + warning.get<std::string>() + "\n";
  return out;
}

// ---- one session ----

std::string line_of_candidate(const json& c) {
  const std::string id = text_at(c, "replica");
  if (!c.contains("cost_s")) return line("      %-28s in flight %g\n", id.c_str(), number_at(c, "in_flight"));
  std::string out = line("      %-28s %.2f s = backlog %.2f + prefill %.2f + crowd %.2f + displaced %.2f; %s cached",
                         id.c_str(), number_at(c, "cost_s"), number_at(c, "backlog_s"), number_at(c, "prefill_s"),
                         number_at(c, "crowd_s"), number_at(c, "displaced_s"), thousands(c, "cached_tokens").c_str());
  if (c["is_resident"].get<bool>())
    out += ", has its seat there";
  else
    out += ", needs at least " + thousands(c, "need_tokens") + " of " + thousands(c, "room_tokens") + " free";
  if (!c["may_take"].get<bool>()) out += "; cannot take it: " + text_at(c, "why_not");
  return out + "\n";
}

// What the engine counted, beside what was expected of the replica that was chosen.
std::string measured_line(const json& row) {
  const json& measured = row["measured"];
  std::string out;
  if (measured["prompt_tokens"].is_number())
    out += line("; prompt %s, of it cached %s; answer %.0f tokens", thousands(measured, "prompt_tokens").c_str(),
                thousands(measured, "cached_tokens").c_str(), number_at(measured, "output_tokens"));
  if (measured["first_content_s"].is_number())
    out += line("; first token after %.2f s", number_at(measured, "first_content_s"));
  return out.empty() ? out : "    measured:" + out.substr(1) + "\n";
}

std::string lines_of_decision(const json& row) {
  const std::string where =
      row["replica"].is_null() ? "refused" : text_at(row, "route") + " " + text_at(row, "replica");
  std::string out = line("%.1f s ago: %s after %.2f s: %s\n", number_at(row, "ago_s"), where.c_str(),
                         number_at(row, "waited_s"), text_at(row, "rule").c_str());
  if (row["waited_because"].is_string()) out += "    it waited because " + text_at(row, "waited_because") + "\n";
  out += measured_line(row);
  if (!row["candidates"].empty()) out += "    estimated:\n";
  for (const json& candidate : row["candidates"]) out += line_of_candidate(candidate);
  return out;
}

std::string seat_words(const json& its) {
  if (number_at(its, "in_flight") > 0) return its["has_seat"].get<bool>() ? "has a seat" : "has no seat";
  if (its["has_seat"].get<bool>()) return line("its seat is held for %.1f s more", number_at(its, "seat_held_s"));
  return "no seat is held for it";
}

std::string lines_of_lineage(const json& its) {
  std::string out =
      line("  %s %s at %s: %.0f turns, %.0f in flight; context %s (counted), %s of it cached there (estimated)\n",
           text_at(its, "class").c_str(), text_at(its, "lineage").c_str(), text_at(its, "home").c_str(),
           number_at(its, "turns"), number_at(its, "in_flight"), thousands(its, "context_tokens").c_str(),
           thousands(its, "expected_cached_tokens").c_str());
  if (its["away_s"].is_number() && text_at(its, "waits_for") != "nothing")
    out += line("    waits for %s: away for %.1f s, expected after %.1f s (estimated); a seat is worth a pause of %s; ",
                text_at(its, "waits_for").c_str(), number_at(its, "away_s"), number_at(its, "expected_pause_s"),
                figure(its, "break_even_s", 1, " s").c_str()) +
           seat_words(its) + "\n";
  else
    out += "    " + seat_words(its) + "\n";
  return out;
}

std::string lines_of_session(const json& sessions) {
  std::string out;
  for (const json& row : sessions["sessions"]) {
    out += line("%s %s: home %s, %.0f turns, %.0f in flight, %.0f requests of its sub-agents in flight\n",
                text_at(row, "class").c_str(), text_at(row, "session").c_str(), text_at(row, "home").c_str(),
                number_at(row, "turns"), number_at(row, "in_flight"), number_at(row, "sub_agents_in_flight"));
    for (const json& lineage : row["lineages"]) out += lines_of_lineage(lineage);
  }
  return out.empty() ? "that session is not known (any more)\n" : out;
}

std::string lines_of_decisions(const json& decisions) {
  std::string out;
  for (const json& row : decisions["decisions"]) out += lines_of_decision(row);
  return out.empty() ? "no decision on that session is remembered\n" : out;
}

tl::unexpected<Error> no_such_api(const std::string& why) {
  return fail(Fault::upstream, "what it says is not what a gateway's admin address says: " + why);
}

}  // namespace

Result<std::string> status_text(std::string_view replicas, std::string_view warm) {
  try {
    return table_of(json::parse(replicas), json::parse(warm));
  } catch (const json::exception& problem) {
    return no_such_api(problem.what());
  }
}

Result<std::string> session_text(std::string_view sessions, std::string_view decisions) {
  try {
    return lines_of_session(json::parse(sessions)) + "\n" + lines_of_decisions(json::parse(decisions));
  } catch (const json::exception& problem) {
    return no_such_api(problem.what());
  }
}

}  // namespace wg::console
