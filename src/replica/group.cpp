#include "replica/group.h"

#include <algorithm>

#include "core/assert.h"

namespace wg::replica {
namespace {

constexpr Duration shortest_pulse = std::chrono::milliseconds(1);  // of our clock: what comes sooner is done together

}  // namespace

// ---- flights ----

Flight::~Flight() { group_.gone(*this); }

void Flight::nudge() {
  has_news_ = true;
  if (const auto waiting = std::exchange(waiter_, nullptr)) waiting.resume();
}

Group::Group(net::Loop& loop, const Options& options)
    : loop_(loop),
      settings_(options.preset.engine),
      speed_(options.speed),
      network_(from_seconds(options.preset.network_s)),
      most_requests_(options.max_num_queued_reqs),
      balancer_(options.balancer, options.ranks, options.seed),
      timer_(loop,
             [this] {
               advance();
               wake();
             }),
      started_(loop.now()) {
  for (std::uint32_t i = 0; i < options.ranks; ++i)
    ranks_.push_back({sim::Engine(settings_), {}, std::make_unique<RankStatistics>()});
}

Group::~Group() { WG_ASSERT(flights_.empty()); }

std::unique_ptr<Flight> Group::send(Work work) {
  advance();
  std::unique_ptr<Flight> flight(new Flight(*this, ++last_id_));
  flight->prompt = work.prompt.size().count;
  flights_.emplace(flight->id_, flight.get());
  order_.push_back(flight->id_);
  // All are under way for the same time, so they arrive in this order.
  arrivals_.push_back({model_now() + network_, flight->id_, std::move(work)});
  advance();
  wake();
  return flight;
}

void Group::gone(Flight& flight) {
  advance();  // what happened before happened
  flights_.erase(flight.id_);
  if (flight.in_engine_) {
    ranks_[flight.rank].engine.abort(flight.id_);
    ranks_[flight.rank].statistics->forget(flight.id_);
    balancer_.finished(flight.rank);
    flight.in_engine_ = false;
  }
  if (order_.size() > 2 * flights_.size() + 64)
    std::erase_if(order_, [&](RequestId id) { return !flights_.contains(id); });
  wake();
}

void Group::lose(Flight& flight, Flight::End end) {
  if (flight.end != Flight::End::none) return;
  if (std::exchange(flight.in_engine_, false)) balancer_.finished(flight.rank);
  flight.end = end;
  flight.arrived = true;
  tell(flight);
}

void Group::die(std::uint32_t killed) {
  advance();
  arrivals_.clear();
  for (const RequestId id : order_)
    if (const auto found = flights_.find(id); found != flights_.end()) {
      Flight& flight = *found->second;
      const bool elsewhere = flight.in_engine_ && flight.rank != killed;
      lose(flight, elsewhere ? Flight::End::aborted : Flight::End::engine_dead);
    }
  for (Rank& rank : ranks_) {
    rank.engine = sim::Engine(settings_);
    *rank.statistics = RankStatistics();
  }
  wake();
}

void Group::end_all() { die(ranks()); }

// ---- time ----

TimePoint Group::model_now() const { return TimePoint(from_seconds(to_seconds(loop_.now() - started_) * speed_)); }

TimePoint Group::now() {
  advance();
  wake();
  return model_now();
}

// Everything up to now, in the order of the model's time.
void Group::advance() {
  const TimePoint now = model_now();
  pulse_ = loop_.now();
  for (;;) {
    Rank* next = nullptr;
    for (Rank& rank : ranks_)
      if (rank.engine.stepping() && (!next || rank.step_end < next->step_end)) next = &rank;
    const bool arrives = !arrivals_.empty() && (!next || arrivals_.front().at <= next->step_end);
    if (!arrives && !next) break;
    const TimePoint at = arrives ? arrivals_.front().at : next->step_end;
    if (at > now) break;
    if (at - published_ >= sim::publish_every) publish(at);
    if (!arrives) {
      end_step(*next);
      continue;
    }
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.erase(arrivals_.begin());
    arrive(std::move(arrival));
  }
  set_timer();
}

void Group::set_timer() {
  std::optional<TimePoint> next;
  if (!arrivals_.empty()) next = arrivals_.front().at;
  for (const Rank& rank : ranks_)
    if (rank.engine.stepping() && (!next || rank.step_end < *next)) next = rank.step_end;
  if (!next) return;
  const TimePoint due = started_ + real(next->time_since_epoch()) + Duration(1);  // up: never just before it
  timer_.set(std::max(due, pulse_ + shortest_pulse));
}

void Group::publish(TimePoint at) {
  published_ = at;
  std::vector<sim::RankCounts> counts;
  counts.reserve(ranks_.size());
  for (const Rank& rank : ranks_)
    counts.push_back({static_cast<double>(rank.engine.waiting()), static_cast<double>(rank.engine.running()),
                      rank.engine.kv_usage()});
  balancer_.publish(counts);
}

// ---- what happens ----

std::optional<Refusal> Group::refusal_of(const Work& work) const {
  std::size_t unfinished = 0;
  if (most_requests_ > 0)
    for (const Rank& rank : ranks_) unfinished += rank.engine.running() + rank.engine.waiting();
  if (most_requests_ > 0 && unfinished >= most_requests_) return engine_busy();
  const std::int64_t prompt = work.prompt.size().count, most = settings_.model_len().count;
  if (prompt >= most) return prompt_too_long(prompt, most);
  if (work.rank && (*work.rank < 0 || *work.rank >= static_cast<std::int64_t>(ranks_.size())))
    return no_such_rank(*work.rank, ranks_.size());
  return std::nullopt;
}

void Group::arrive(Arrival arrival) {
  const auto found = flights_.find(arrival.id);
  if (found == flights_.end()) return;  // its client has gone
  Flight& flight = *found->second;
  flight.arrived = true;
  tell(flight);
  if (auto refusal = refusal_of(arrival.work)) {
    if (refusal->status == 503) ++rejections_;
    flight.end = Flight::End::refused;
    flight.refusal = std::move(*refusal);
    return;
  }
  if (arrival.work.rank) {
    flight.rank = static_cast<std::uint32_t>(*arrival.work.rank);
    balancer_.sent(flight.rank);
  } else {
    flight.rank = balancer_.pick();
  }
  Rank& rank = ranks_[flight.rank];
  const auto taken = rank.engine.submit(
      {arrival.id, std::move(arrival.work.prompt), std::move(arrival.work.answer), arrival.work.ends_with, arrival.at});
  if (!taken) {
    balancer_.finished(flight.rank);
    flight.end = Flight::End::refused;
    flight.refusal = bad_request(taken.error().what);
    return;
  }
  flight.in_engine_ = true;
  if (!rank.engine.stepping()) begin_step(rank, arrival.at);
}

void Group::begin_step(Rank& rank, TimePoint at) {
  auto lasts = rank.engine.begin_step(at);
  if (!lasts && !rank.engine.idle()) lasts = rank.engine.begin_step(at);  // the only one was preempted by itself
  if (lasts) rank.step_end = at + *lasts;
}

void Group::end_step(Rank& rank) {
  const TimePoint at = rank.step_end;
  for (const sim::StepOutput& output : rank.engine.end_step()) {
    Flight& flight = *flights_.at(output.id);
    rank.statistics->add(output, flight.prompt, at);
    flight.fresh.push_back(output.token);
    ++flight.generated;
    flight.cached = output.cached.count;
    if (output.finish != sim::FinishReason::none) {
      flight.end = Flight::End::finished;
      flight.in_engine_ = false;
      balancer_.finished(flight.rank);
    }
    if (!flight.whole_only || flight.end != Flight::End::none) tell(flight);
  }
  begin_step(rank, at);
}

// ---- telling the owners ----

void Group::tell(Flight& flight) {
  if (!flight.has_news_) to_wake_.push_back(flight.id_);
  flight.has_news_ = true;
}

// An owner that goes on may send, end or abort flights: those get their turn in the outer call.
void Group::wake() {
  if (waking_) return;
  waking_ = true;
  for (std::size_t i = 0; i < to_wake_.size(); ++i)
    if (const auto found = flights_.find(to_wake_[i]); found != flights_.end())
      if (const auto waiting = std::exchange(found->second->waiter_, nullptr)) waiting.resume();
  to_wake_.clear();
  waking_ = false;
}

bool Group::reset_prefix_cache() {
  bool all = true;
  for (Rank& rank : ranks_) all &= rank.engine.reset_prefix_cache();
  return all;
}

}  // namespace wg::replica
