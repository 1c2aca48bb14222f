#include "sim/learnt_engine.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace wg::sim {
namespace {

constexpr std::size_t enough_points = 8;
constexpr double enough_spread_tokens = 500;
constexpr std::int64_t enough_output = 16;
constexpr double hidden_share = 0.8;  // of a step's base, as fitted for the presets

std::string figure(const char* name, double value, const char* unit, const std::string& source) {
  char text[256];
  std::snprintf(text, sizeof text, "%s: %.4g %s (%s)", name, value, unit, source.c_str());
  return text;
}

std::string of_turns(std::size_t count, const char* which) {
  return "learnt from " + std::to_string(count) + " turns that " + which;
}

double computed(const RecordedTurn& turn) { return static_cast<double>((turn.prompt - turn.cached).count); }

class Learner {
 public:
  Learner(const RecordedLoad& load, const Preset& otherwise) : load_(load), otherwise_(otherwise.name + "'s") {
    out_.preset = otherwise;
  }

  LearntEngine learn() {
    capacity();
    decode();
    prefill();
    head();
    return std::move(out_);
  }

 private:
  void say(const char* name, double value, const char* unit, const std::string& source) {
    out_.words.push_back(figure(name, value, unit, source));
  }

  void capacity() {
    EngineSettings& settings = out_.preset.engine;
    std::string from = otherwise_, seqs_from = otherwise_;
    for (const RecordedEngine& engine : load_.engines) {
      if (engine.kv_capacity) settings.kv_tokens = *engine.kv_capacity, from = "told by the engines";
      if (engine.max_concurrent) settings.max_num_seqs = *engine.max_concurrent, seqs_from = "as configured or told";
    }
    settings.max_model_len = {0};
    say("KV cache of a replica", static_cast<double>(settings.kv_tokens.count), "tokens", from);
    say("sequences at a time", settings.max_num_seqs, "", seqs_from);
  }

  template <class Use>
  void each(bool RecordedTurn::* alone, const Use& use) const {
    for (const RecordedSession& session : load_.sessions)
      for (const RecordedTurn& turn : session.turns)
        if (turn.*alone && turn.measured && turn.first_content && turn.dispatched && turn.outcome == fleet::Outcome::ok)
          use(turn);
  }

  // The quick quarter: others may have come while a turn decoded.
  void decode() {
    StepCost& cost = out_.preset.engine.cost;
    std::vector<double> token_s;
    double context = 0;
    each(&RecordedTurn::was_alone, [&](const RecordedTurn& turn) {
      if (turn.output.count < enough_output) return;
      token_s.push_back(to_seconds(turn.ended - *turn.first_content) / static_cast<double>(turn.output.count - 1));
      context += static_cast<double>(turn.prompt.count);
    });
    if (token_s.size() < enough_points) return say("time of a step", cost.base_s * 1000, "ms", otherwise_);
    context /= static_cast<double>(token_s.size());
    const double kv_s = context * cost.kv_bytes_per_token / cost.kv_bytes_per_s;
    const std::size_t count = token_s.size();
    cost.base_s = std::max(0.0005, quantile(token_s, 0.25) - kv_s);
    cost.prefill_hidden_s = hidden_share * cost.base_s;
    say("time of a step", cost.base_s * 1000, "ms", of_turns(count, "began alone on their replica"));
  }

  void prefill() {
    StepCost& cost = out_.preset.engine.cost;
    const bool cached_told =
        std::any_of(load_.sessions.begin(), load_.sessions.end(), [](const RecordedSession& session) {
          return std::any_of(session.turns.begin(), session.turns.end(),
                             [](const RecordedTurn& t) { return t.cached_measured; });
        });
    // Engines read prompts in order of arrival. In overload hardly one is read alone, but then each is read from the
    // moment when the one before it was done; that leaves the way there out.
    std::vector<std::pair<double, double>> alone, behind;
    if (cached_told) {
      each(&RecordedTurn::prefilled_alone, [&](const RecordedTurn& turn) {
        alone.emplace_back(computed(turn), to_seconds(*turn.first_content - *turn.dispatched));
      });
      each(&RecordedTurn::measured, [&](const RecordedTurn& turn) {
        if (turn.read_behind) behind.emplace_back(computed(turn), to_seconds(*turn.first_content - *turn.read_behind));
      });
    }
    const auto line_alone = least_squares(alone);
    const auto line = line_alone ? line_alone : least_squares(behind);
    if (!line) {
      say("prefill", cost.prefill_tokens_per_s, "tokens/s", otherwise_);
      return say("network", out_.preset.network_s, "s", otherwise_);
    }
    const std::string from = line_alone ? of_turns(alone.size(), "were read alone on their replica")
                                        : of_turns(behind.size(), "were read right behind another");
    // A step of a full batch costs its base too, of which the hidden part is free.
    const double per_step = (cost.base_s - cost.prefill_hidden_s) / out_.preset.engine.max_num_batched_tokens;
    cost.prefill_tokens_per_s = 1 / std::max(line->slope - per_step, line->slope / 2);
    say("prefill", cost.prefill_tokens_per_s, "tokens/s", from + ", least squares");
    if (!line_alone) return say("network", out_.preset.network_s, "s", otherwise_);
    out_.preset.network_s = std::max(0.0, line->intercept - (cost.base_s - cost.prefill_hidden_s) / 2);
    say("network", out_.preset.network_s, "s", from + ", least squares");
  }

  // What first turns found in the cache they share with other sessions.
  void head() {
    std::vector<double> found;
    for (const RecordedSession& session : load_.sessions) {
      const RecordedTurn& first = session.turns.front();
      if (first.cached_measured && first.cached.count > 0) found.push_back(static_cast<double>(first.cached.count));
    }
    const std::size_t count = found.size();
    if (count >= 2) out_.shared_head = {static_cast<std::int64_t>(quantile(found, 0.5))};
    say("head that sessions share", static_cast<double>(out_.shared_head.count), "tokens",
        count >= 2 ? "cached tokens of " + std::to_string(count) + " first turns" : "none was seen");
  }

  const RecordedLoad& load_;
  const std::string otherwise_;
  LearntEngine out_;
};

}  // namespace

std::optional<StraightLine> least_squares(const std::vector<std::pair<double, double>>& points) {
  if (points.size() < enough_points) return std::nullopt;
  const auto n = static_cast<double>(points.size());
  double x_mean = 0, y_mean = 0;
  for (const auto& [x, y] : points) x_mean += x / n, y_mean += y / n;
  double xx = 0, xy = 0;
  const auto [low, high] = std::minmax_element(points.begin(), points.end());
  for (const auto& [x, y] : points) xx += (x - x_mean) * (x - x_mean), xy += (x - x_mean) * (y - y_mean);
  if (high->first - low->first < enough_spread_tokens || xy <= 0) return std::nullopt;
  StraightLine line;
  line.slope = xy / xx;
  line.intercept = y_mean - line.slope * x_mean;
  return line;
}

LearntEngine learnt_engine(const RecordedLoad& load, const Preset& otherwise) {
  return Learner(load, otherwise).learn();
}

}  // namespace wg::sim
