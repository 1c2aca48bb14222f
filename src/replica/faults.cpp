#include "replica/faults.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wg::replica {
namespace {

tl::unexpected<Error> wrong(std::string what) { return fail(Fault::client, std::move(what), 400); }

using Json = nlohmann::json;

// Each member: nothing if it is fine, else what is wrong with it.
std::string take(FaultOrder& order, const std::string& key, const Json& value) {
  const bool whole = value.is_number_unsigned();
  const bool number = value.is_number() && value.get<double>() >= 0 && value.get<double>() <= 1e6;
  if (key == "kind") {
    const auto kind = value.is_string() ? sim::fault_named(value.get<std::string>()) : std::nullopt;
    if (!kind) return "kind must be one of " + sim::fault_names(true);
    order.kind = *kind;
  } else if (key == "rank") {
    if (!whole) return "rank must be a whole number from 0";
    order.rank = value.get<std::uint32_t>();
  } else if (key == "count") {
    if (!whole || value.get<std::uint64_t>() == 0) return "count must be a whole number from 1";
    order.count = value.get<std::uint64_t>();
  } else if (key == "for_s") {
    if (!number) return "for_s must be seconds from 0";
    order.lasts = from_seconds(value.get<double>());
  } else if (key == "share") {
    if (!number || value.get<double>() > 1) return "share must be between 0 and 1";
    order.share = value.get<double>();
  } else if (key == "seed") {
    if (!whole) return "seed must be a whole number from 0";
    order.seed = value.get<std::uint64_t>();
  } else if (key == "delay_s") {
    if (!number) return "delay_s must be seconds from 0";
    order.delay = from_seconds(value.get<double>());
  } else if (key == "after_tokens") {
    if (!whole) return "after_tokens must be a whole number from 0";
    order.after_tokens = value.get<std::uint32_t>();
  } else if (key == "model") {
    if (!value.is_string()) return "model must be a string";
    order.model = value.get<std::string>();
  } else {
    return "there is no member '" + key +
           "'; known are kind, rank, count, for_s, share, seed, delay_s, after_tokens, model";
  }
  return {};
}

}  // namespace

Result<FaultOrder> read_fault(std::string_view body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return wrong("a fault is a JSON object such as {\"kind\":\"status-500\"}");
  if (!json.contains("kind")) return wrong("kind is missing; it is one of " + sim::fault_names(true));
  FaultOrder order;
  for (const auto& [key, value] : json.items())
    if (std::string what = take(order, key, value); !what.empty()) return wrong(std::move(what));
  return order;
}

Result<FaultOrder> read_fault_header(std::string_view value) {
  const auto trimmed = [](std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  };
  FaultOrder order;
  bool first = true;
  while (first || !value.empty()) {
    const std::size_t end = std::min(value.find(';'), value.size());
    const std::string_view part = trimmed(value.substr(0, end));
    value.remove_prefix(std::min(end + 1, value.size()));
    const std::size_t equals = part.find('=');
    std::string key = first ? "kind" : std::string(part.substr(0, equals));
    Json json;
    if (first)
      json = std::string(part);
    else if (equals != std::string_view::npos) {
      json = Json::parse(part.substr(equals + 1), nullptr, false);
      if (json.is_discarded()) json = std::string(part.substr(equals + 1));
    }
    if (std::string what = take(order, key, json); !what.empty()) return wrong("x-fault: " + what);
    first = false;
  }
  return order;
}

FaultHit hit_of(const FaultOrder& order, Rng& rng) {
  const auto drawn = static_cast<std::uint32_t>(rng.between(1, 8));
  return {order.kind, order.lasts, order.delay, order.after_tokens.value_or(drawn)};
}

void Faults::arm(FaultOrder order, TimePoint now) {
  Armed armed{order, Rng(order.seed), order.count, {}};
  const bool stalls =
      order.kind == FaultKind::stall_head || order.kind == FaultKind::stall_first || order.kind == FaultKind::stall_mid;
  if (order.lasts && !stalls) armed.until = now + *order.lasts;
  if (!armed.left && !armed.until) armed.left = 1;
  armed_.push_back(std::move(armed));
}

std::optional<FaultHit> Faults::next(std::uint32_t rank, TimePoint now) {
  std::erase_if(armed_, [&](const Armed& armed) { return (armed.until && now >= *armed.until) || armed.left == 0u; });
  for (Armed& armed : armed_) {
    if (armed.order.rank && *armed.order.rank != rank) continue;
    if (armed.rng.uniform() >= armed.order.share) continue;
    if (armed.left) --*armed.left;
    count(armed.order.kind);
    return hit_of(armed.order, armed.rng);
  }
  return std::nullopt;
}

std::string Faults::report(TimePoint now) const {
  Json report{{"armed", Json::array()}, {"counts", Json::object()}};
  for (const Armed& armed : armed_) {
    if (armed.left == 0u || (armed.until && now >= *armed.until)) continue;
    Json row{{"kind", name_of(armed.order.kind)}, {"share", armed.order.share}, {"seed", armed.order.seed}};
    if (armed.order.rank) row["rank"] = *armed.order.rank;
    if (armed.left) row["left"] = *armed.left;
    if (armed.until) row["left_s"] = to_seconds(*armed.until - now);
    report["armed"].push_back(std::move(row));
  }
  for (const auto& [kind, count] : counts_) report["counts"][std::string(name_of(kind))] = count;
  return report.dump();
}

}  // namespace wg::replica
