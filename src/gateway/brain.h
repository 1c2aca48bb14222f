// The live driver of the fleet: turns socket facts into Events on one loop and carries out its Commands. Everything
// that decides is behind it. Owner thread: the brain's loop; ask() and tell() may be called on any loop. Invariant: a
// request that was asked about is ended exactly once, by its Ticket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/config.h"
#include "core/ids.h"
#include "fleet/fleet.h"
#include "gateway/announcer.h"
#include "gateway/decision_log.h"
#include "gateway/decision_recorder.h"
#include "gateway/directory.h"
#include "gateway/known_engines.h"
#include "gateway/late_look.h"
#include "gateway/questions.h"
#include "net/loop.h"

namespace wg::gateway {

class Brain {
 public:
  Brain(net::Loop& loop, const config::Config& config, record::Log& log);
  ~Brain();

  net::Loop& loop() { return loop_; }
  const DirectoryHolder& directory() const { return directory_; }

  // Ask ask(brain, home, event, request); co_await ask: the decision on an arrival or a failed attempt, at once or when
  // a seat is free. Comes back on `home`.
  class Ask;
  // Any loop; nothing comes back.
  void tell(fleet::Event event);
  // The client of a request that still waits for its decision has left: the wait is over, with a rejection. Any loop.
  void withdraw(RequestId request);

  // What collect/ reports. On the brain's loop.
  void engine_found(EngineIndex engine, const std::string& model, const probe::EngineSample& sample,
                    std::optional<std::uint32_t> slots);
  void engine_sampled(EngineIndex engine, const probe::EngineSample& sample);
  void engine_good(EngineIndex engine);
  void engine_bad(EngineIndex engine, bool refused, const std::string& why);
  std::function<void(EngineIndex, Duration)> set_probe_interval;  // set by app before the loop runs
  std::function<void(EngineIndex)> look_now;                      // ... likewise; asks an engine before its time
  std::function<void(EngineIndex)> look_anew;                     // ... and not as it was before now
  std::function<void(const std::string& pool)> pool_named;        // ... likewise; a pool's name is known from now on

  // Something that a flag of the engine would mend: logged once, shown in the API. On the brain's loop.
  void warn_once(EngineIndex engine, const std::string& what) { announcer_.warn_once(engine, what); }
  // An answer of an engine whose cached tokens nobody measured: warns once. Any loop.
  void cached_tokens_missing(EngineIndex engine);

  // For the admin API; on the brain's loop.
  const fleet::Fleet& fleet() const { return fleet_; }
  const DecisionLog& decisions() const { return decisions_; }
  const std::vector<EngineInfo>& engines() const { return engines_.all(); }
  std::uint64_t unsteered_total() const { return announcer_.unsteered_total(); }
  TimePoint fleet_now() const;

 private:
  void consider(const QuestionPtr& question);
  void engine_was_looked_at(EngineIndex engine);
  void consider_again(const std::vector<QuestionPtr>& questions);

  void step(const fleet::Event& event);
  void record(const fleet::Event& event, TimePoint now, const fleet::Commands& commands);
  void carry_out(const fleet::Commands& commands);
  void take_note(const fleet::Note& note);
  void set_timer(const fleet::SetTimer& order);
  Duration probe_interval(Duration fleets) const;
  void look_at_suspect(EngineIndex engine);
  void count_engines_up();

  net::Loop& loop_;
  const config::Config& config_;
  fleet::Fleet fleet_;
  std::unique_ptr<DecisionRecorder> recorder_;  // nullptr: nothing is recorded
  KnownEngines engines_;
  DirectoryHolder directory_;
  Announcer announcer_;
  OpenQuestions questions_;
  LateLook late_;
  std::unordered_map<std::uint64_t, std::unique_ptr<net::Timer>> timers_;
  std::vector<std::uint32_t> engines_up_;  // by pool
  DecisionLog decisions_;
};

class Brain::Ask {
 public:
  Ask(Brain& brain, net::Loop& home, const fleet::Event& event, RequestId request)
      : brain_(brain), question_(std::make_shared<Question>(Question{home, request, event, {}, {}})) {}
  ~Ask() { question_->gone = true; }
  Ask(const Ask&) = delete;
  Ask& operator=(const Ask&) = delete;

  bool await_ready();
  void await_suspend(std::coroutine_handle<> self);
  Decision await_resume() { return std::move(*question_->decision); }

 private:
  Brain& brain_;
  QuestionPtr question_;
};

}  // namespace wg::gateway
