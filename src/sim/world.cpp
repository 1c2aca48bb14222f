// The heap, the inbox of the fleet, and the steps of the engines.
#include "sim/world.h"

#include "core/hash.h"
#include "sim/world_state.h"

namespace wg::sim {

WorldSpec world_of(const Preset& preset, std::uint32_t engines, std::uint32_t ranks, policy::PolicyName policy) {
  WorldSpec spec;
  spec.fleet.pools.push_back({preset.model, policy, std::nullopt, false});
  for (std::uint32_t i = 0; i < engines; ++i) {
    const std::string name = "e" + std::to_string(i);
    spec.fleet.engines.push_back({name, 0});
    spec.engines.push_back({name, preset.model, preset.engine, ranks, preset.balancer, from_seconds(preset.network_s),
                            preset.engine.max_num_seqs});
  }
  return spec;
}

World::State::State(const WorldSpec& from, Clients& who)
    : spec(from), clients(who), fleet(from.fleet), probers(from.engines.size()), kept(from.engines.size()) {
  for (std::size_t i = 0; i < from.engines.size(); ++i) engines.emplace_back(from.engines[i], mix(from.seed, i));
}

void World::State::push(TimePoint at, What what, EngineIndex engine, std::uint32_t rank, std::uint32_t life,
                        std::uint64_t id) {
  if (what == What::probe) ++probes_due;
  heap.push({at, ++pushed, what, engine, rank, life, id});
}

World::State::Open* World::State::find(RequestId request) {
  const auto found = asked.find(request);
  return found == asked.end() ? nullptr : &found->second;
}

// The attempt that was meant, if it is still under way.
World::State::Open* World::State::attempt(const Due& due) {
  Open* const one = find(due.id);
  return one && one->under_way && one->answer.attempts == due.life ? one : nullptr;
}

void World::State::handle(const Due& due) {
  switch (due.what) {
    case What::ask:
      if (Open* one = find(due.id)) {
        if (one->question.past) return begin_past(due.id, *one);
        one->told = true;
        tell(one->question.asked);
      }
      break;
    case What::step_begin:
      if (due.life == engines[due.engine].life()) begin_step(due.engine, due.rank);
      break;
    case What::step_end:
      if (due.life == engines[due.engine].life()) end_step(due.engine, due.rank);
      break;
    case What::probe:
      --probes_due;
      if (due.life == probers[due.engine].life) look(due.engine);
      break;
    case What::arrive:
      if (Open* one = attempt(due)) arrive(due.id, *one);
      break;
    case What::unstall:
      if (Open* one = attempt(due)) unstall(due.id, *one);
      break;
    case What::timeout:
      if (Open* one = attempt(due); one && one->tokens == 0) fail_attempt(due.id, *one, fleet::Failure::timed_out);
      break;
    case What::down:
      if (due.life == engines[due.engine].life()) go_down(due.engine, Duration(due.id), false);
      break;
    case What::timer:
      tell(fleet::TimerFired{due.id});
      break;
    case What::wake:
      clients.woken(due.id);
      break;
  }
}

void World::State::tell(const fleet::Event& event) {
  inbox.push_back(event);
  if (stepping) return;
  stepping = true;
  while (!inbox.empty()) {
    const fleet::Event next = std::move(inbox.front());
    inbox.pop_front();
    const fleet::Commands commands = fleet.step(next, now);
    for (std::size_t i = 0; i < commands.size(); ++i) {
      // The note on a decision stands behind it and says which rule it was.
      const auto* const its_note = i + 1 < commands.size() ? std::get_if<fleet::Note>(&commands[i + 1]) : nullptr;
      last_rule = its_note && its_note->what == fleet::Note::What::decision ? its_note->rule : "";
      carry_out(commands[i]);
    }
  }
  stepping = false;
}

void World::State::carry_out(const fleet::Command& command) {
  if (const auto* dispatch = std::get_if<fleet::Dispatch>(&command)) begin_attempt(*dispatch);
  if (const auto* reject = std::get_if<fleet::Reject>(&command)) rejected(*reject);
  if (const auto* timer = std::get_if<fleet::SetTimer>(&command)) push(timer->at, What::timer, 0, 0, 0, timer->timer);
  if (const auto* probe = std::get_if<fleet::ProbeEvery>(&command)) set_interval(probe->engine, probe->interval);
  if (const auto* probe = std::get_if<fleet::ProbeNow>(&command)) look_now(probe->engine);
}

// A step begins only once everything of this instant has arrived.
void World::State::wake_rank(EngineIndex engine, std::uint32_t rank) {
  ModelEngine::Rank& its = engines[engine].ranks()[rank];
  if (its.due || its.engine.stepping()) return;
  its.due = true;
  push(now, What::step_begin, engine, rank, engines[engine].life(), 0);
}

void World::State::begin_step(EngineIndex engine, std::uint32_t rank) {
  ModelEngine::Rank& its = engines[engine].ranks()[rank];
  its.due = false;
  if (const auto lasts = its.engine.begin_step(now))
    push(now + *lasts, What::step_end, engine, rank, engines[engine].life(), 0);
}

void World::State::end_step(EngineIndex engine, std::uint32_t rank) {
  const std::uint32_t life = engines[engine].life();
  Engine& its = engines[engine].ranks()[rank].engine;
  // A client that leaves at a token calls the engine, which then forgets its outputs.
  const auto made = its.end_step();
  outputs.assign(made.begin(), made.end());
  for (const StepOutput& output : outputs) on_output(output.id, output);
  if (engines[engine].life() == life) wake_rank(engine, rank);
}

// ---- the outside ----

World::World(const WorldSpec& spec, Clients& clients) : state_(std::make_unique<State>(spec, clients)) {}
World::~World() = default;

void World::open() {
  for (EngineIndex engine = 0; engine < state_->engines.size(); ++engine) state_->look(engine);
}

RequestId World::ask(Question question) {
  const RequestId request = ++state_->last_request;
  State::Open& open = state_->asked[request];
  open.question = std::move(question);
  open.question.asked.request = request;
  open.answer.request = request;
  open.answer.arrived = state_->now;
  state_->push(state_->now, State::What::ask, 0, 0, 0, request);
  return request;
}

void World::leave(RequestId request) { state_->leave(request); }
void World::wake(TimePoint at, std::uint64_t tag) { state_->push(at, State::What::wake, 0, 0, 0, tag); }
void World::inject(const FaultOrder& order) { state_->inject(order); }
void World::tell(const fleet::Event& event) { state_->tell(event); }

void World::warm_up(EngineIndex engine, std::vector<BlockCache> caches) {
  std::vector<ModelEngine::Rank>& ranks = state_->engines[engine].ranks();
  for (std::size_t rank = 0; rank < ranks.size() && rank < caches.size(); ++rank)
    ranks[rank].engine.put_cache(std::move(caches[rank]));
}

std::vector<BlockCache> World::take_caches(EngineIndex engine) {
  std::vector<BlockCache> caches;
  for (ModelEngine::Rank& rank : state_->engines[engine].ranks()) {
    for (const RequestId request : rank.here) rank.engine.abort(request);
    caches.push_back(rank.engine.take_cache());
  }
  return caches;
}

bool World::run_one() {
  if (state_->heap.size() == state_->probes_due) return false;
  const State::Due due = state_->heap.top();
  state_->heap.pop();
  state_->now = std::max(state_->now, due.at);
  state_->handle(due);
  return true;
}

void World::run_until(TimePoint until) {
  while (!state_->heap.empty() && state_->heap.top().at <= until) {
    const State::Due due = state_->heap.top();
    state_->heap.pop();
    state_->now = std::max(state_->now, due.at);
    state_->handle(due);
  }
  state_->now = std::max(state_->now, until);
}

TimePoint World::now() const { return state_->now; }
const fleet::Fleet& World::fleet() const { return state_->fleet; }
const Engine& World::engine(EngineIndex engine, std::uint32_t rank) const {
  return state_->engines[engine].ranks()[rank].engine;
}
std::size_t World::open_requests() const { return state_->asked.size(); }

std::uint32_t World::ranks_in_use() const {
  std::uint32_t busy = 0;
  for (const ModelEngine& engine : state_->engines)
    for (const ModelEngine::Rank& rank : engine.ranks()) busy += rank.here.empty() ? 0 : 1;
  return busy;
}

std::string World::name_of(ReplicaIndex replica) const {
  if (replica >= state_->rows.size()) return "-";
  const State::Row& row = state_->rows[replica];
  return state_->spec.engines[row.engine].name + "/" + (row.rank ? std::to_string(*row.rank) : "any");
}

EngineIndex World::engine_of(ReplicaIndex replica) const { return state_->rows[replica].engine; }

}  // namespace wg::sim
