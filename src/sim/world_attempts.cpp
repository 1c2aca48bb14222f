// What becomes of a request: the outcomes of the live gateway's stages (gateway/exchange.cpp, forward.cpp, relay.cpp),
// one for one, without the bytes.
#include "sim/world_state.h"

namespace wg::sim {

void World::State::begin_attempt(const fleet::Dispatch& dispatch) {
  const RequestId request = dispatch.request;
  Open* const found = find(request);
  if (!found) return;  // its client left while the fleet was being asked
  Open& open = *found;
  const Row& row = rows[dispatch.replica];
  ModelEngine& engine = engines[row.engine];
  open.answer.replica = dispatch.replica;
  open.answer.route = dispatch.route;
  if (*last_rule != 0) open.answer.rule = last_rule;  // else: the same once more
  if (++open.answer.attempts == 1) open.answer.dispatched = now;
  open.engine = row.engine;
  open.tokens = 0;
  open.refusal = 0;
  open.arrived = open.submitted = open.reused = open.stalled = false;
  open.unsaid.reset();
  if (auto& idle = kept[row.engine]; !dispatch.same_connection_rule && !idle.empty()) {
    open.reused = now - idle.back() < spec.keeps_connections_for;
    if (open.reused)
      idle.pop_back();
    else
      idle.clear();  // the latest was the youngest
  }
  if (!open.reused && !engine.listens(now)) return fail_attempt(request, open, fleet::Failure::refused);
  open.under_way = true;
  if (engine.is_dead(now)) return fail_attempt(request, open, fleet::Failure::engine_dead);
  engine.on_the_way.push_back(request);
  const std::uint32_t attempt_number = open.answer.attempts;
  push(now + spec.first_byte_timeout, What::timeout, row.engine, 0, attempt_number, request);
  const Duration network = engine.setup().network;
  if (network > Duration{}) return push(now + network, What::arrive, row.engine, 0, attempt_number, request);
  arrive(request, open);
}

// Another client of that engine, on a connection of its own.
void World::State::begin_past(RequestId request, Open& open) {
  open.engine = *open.question.past;
  ModelEngine& engine = engines[open.engine];
  if (!engine.listens(now)) return end(request, open, fleet::Outcome::failed);
  open.answer.attempts = 1;
  open.answer.dispatched = now;
  open.under_way = true;
  engine.on_the_way.push_back(request);
  push(now + engine.setup().network, What::arrive, open.engine, 0, 1, request);
}

void World::State::arrive(RequestId request, Open& open) {
  ModelEngine& engine = engines[open.engine];
  const std::optional<std::uint32_t> rank = open.question.past ? std::nullopt : rows[open.answer.replica].rank;
  std::erase(engine.on_the_way, request);
  open.rank = rank ? *rank : engine.pick_rank(now);
  if (rank) engine.rank_named(*rank);
  engine.ranks()[open.rank].here.push_back(request);
  open.arrived = true;
  open.fault = open.question.fault ? open.question.fault : engine.meets(open.rank, now);
  switch (open.fault ? open.fault->kind : FaultKind::none) {
    case FaultKind::reset_before_head:
      return fail_attempt(request, open,
                          open.reused ? fleet::Failure::stale_connection : fleet::Failure::reset_before_head);
    case FaultKind::html_error:
      open.refusal = 502;
      return fail_attempt(request, open, fleet::Failure::busy);
    case FaultKind::error_first:
      if (open.question.streamed) {
        open.refusal = 200;
        return fail_attempt(request, open, fleet::Failure::busy);
      }
      [[fallthrough]];  // of an answer that is no stream it is the status
    case FaultKind::status_500:
      open.answer.status = 500;
      return end(request, open, fleet::Outcome::ok);
    case FaultKind::reset_after_head:
      if (!open.question.opens_at_once) return fail_attempt(request, open, fleet::Failure::reset_before_head);
      open.answer.status = 200;
      return end(request, open, fleet::Outcome::died_mid_stream);
    case FaultKind::stall_head:
    case FaultKind::stall_first:
      stall(request, open);
      [[fallthrough]];  // the engine works all the same
    default:
      return work(request, open);
  }
}

void World::State::work(RequestId request, Open& open) {
  const Question& question = open.question;
  const auto taken = engines[open.engine].ranks()[open.rank].engine.submit(
      {request, question.prompt, question.answer, question.ends_with, now});
  if (!taken) {
    open.answer.status = taken.error().status;
    return end(request, open, fleet::Outcome::ok);
  }
  open.submitted = true;
  wake_rank(open.engine, open.rank);
}

void World::State::stall(RequestId request, Open& open) {
  open.stalled = true;
  if (open.fault->lasts)
    push(now + *open.fault->lasts, What::unstall, open.engine, open.rank, open.answer.attempts, request);
}

void World::State::unstall(RequestId request, Open& open) {
  open.stalled = false;
  if (const auto unsaid = std::exchange(open.unsaid, std::nullopt)) say(request, open, *unsaid);
}

void World::State::on_output(RequestId request, const StepOutput& output) {
  Open* const open = find(request);
  if (!open || !open->submitted) return;
  if (output.finish != FinishReason::none) open->submitted = false;  // the engine has let go of it
  if (open->stalled)
    open->unsaid = output;
  else
    say(request, *open, output);
}

// The client hears the tokens up to this one.
void World::State::say(RequestId request, Open& open, const StepOutput& output) {
  const bool last = output.finish != FinishReason::none, first = open.tokens == 0;
  const FaultKind fault = open.fault ? open.fault->kind : FaultKind::none;
  open.tokens = output.index + 1;
  open.answer.status = 200;
  open.answer.output = {open.tokens};
  if (first) {
    open.answer.cached = output.cached;
    open.answer.first_content = now;
    if (open.told) tell(fleet::FirstByte{request});
    if (open.told && open.question.streamed) {
      tell(fleet::FirstContent{request});
      if (open.question.response) tell(fleet::ResponseMade{request, open.question.response});
    }
  }
  const bool mid = last || open.tokens >= (open.fault ? open.fault->after_tokens : 0);
  if (fault == FaultKind::die_mid && mid) return break_connection(request);
  if (last) {
    open.answer.finish = output.finish;
    open.answer.measured = true;
    return end(request, open, fleet::Outcome::ok);
  }
  if (fault == FaultKind::stall_mid && mid && open.tokens == std::max(open.fault->after_tokens, 1u))
    stall(request, open);
  clients.token(request, open.tokens);
}

// The attempt under way is over: its connection is closed, which makes the engine stop.
void World::State::let_go(RequestId request, Open& open) {
  if (!open.under_way) return;
  ModelEngine& engine = engines[open.engine];
  if (open.submitted) engine.ranks()[open.rank].engine.abort(request);
  if (open.arrived)
    engine.request_gone(open.rank, request);
  else
    std::erase(engine.on_the_way, request);
  open.under_way = open.arrived = open.submitted = false;
}

void World::State::fail_attempt(RequestId request, Open& open, fleet::Failure failure) {
  let_go(request, open);
  open.answer.first_content.reset();
  open.answer.status = 0;
  open.answer.output = {};
  if (!open.told) return end(request, open, fleet::Outcome::failed);
  tell(fleet::AttemptFailed{request, failure});
}

void World::State::rejected(const fleet::Reject& reject) {
  Open* const open = find(reject.request);
  if (!open) return;
  if (reject.pass_upstream_answer && open->refusal != 0) {
    open->answer.status = open->refusal;
    return end(reject.request, *open, fleet::Outcome::ok);
  }
  open->answer.status = reject.status;
  if (open->answer.attempts == 0) open->answer.rule = last_rule;
  end(reject.request, *open, open->answer.attempts == 0 ? fleet::Outcome::refused_by_us : fleet::Outcome::failed);
}

void World::State::end(RequestId request, Open& open, fleet::Outcome outcome) {
  if (outcome == fleet::Outcome::ok && open.under_way && open.told) kept[open.engine].push_back(now);
  let_go(request, open);
  Answer& answer = open.answer;
  answer.outcome = outcome;
  answer.ended = now;
  answer.engine = open.engine;
  answer.rank = open.rank;
  answer.prompt = open.question.prompt.size();
  if (open.told && answer.measured && !open.question.streamed && open.question.response)
    tell(fleet::ResponseMade{request, open.question.response});
  if (open.told && answer.status == 200 && answer.attempts > 0) {
    fleet::UsageReported usage;
    usage.request = request;
    usage.measured = answer.measured;
    usage.cached_measured = answer.measured && engines[open.engine].setup().tells.cached;
    usage.prompt = answer.measured ? answer.prompt : open.question.asked.prompt_estimate;
    usage.cached = usage.cached_measured ? answer.cached : Tokens{};
    usage.output = answer.measured ? answer.output : Tokens{};
    usage.end = open.question.then;
    usage.pause = open.question.pause;
    tell(usage);
  }
  if (open.told) tell(fleet::Finished{request, outcome});
  const Answer told = answer;
  asked.erase(request);
  clients.ended(told);
}

// Whether a part of a stream has reached the client. What was held back whole can be tried elsewhere.
static bool client_has_seen(const Question& question, bool arrived, std::uint32_t tokens) {
  return question.streamed && arrived && (tokens > 0 || question.opens_at_once);
}

void World::State::break_connection(RequestId request) {
  Open* const open = find(request);
  if (!open || !open->under_way) return;
  if (client_has_seen(open->question, open->arrived, open->tokens)) {
    open->answer.status = 200;
    return end(request, *open, fleet::Outcome::died_mid_stream);
  }
  const FaultKind fault = open->fault ? open->fault->kind : FaultKind::none;
  const bool head = open->question.streamed && open->arrived && fault != FaultKind::stall_head;  // it comes at once
  const bool body = fault == FaultKind::die_mid;  // of an answer that is no stream: half of it came
  fail_attempt(request, *open,
               open->reused && !head && !body ? fleet::Failure::stale_connection : fleet::Failure::reset_before_head);
}

void World::State::abort_unasked(RequestId request) {
  Open* const open = find(request);
  if (!open || !open->under_way) return;
  if (!client_has_seen(open->question, open->arrived, open->tokens))
    return fail_attempt(request, *open, fleet::Failure::engine_dead);
  open->answer.status = 200;
  end(request, *open, fleet::Outcome::engine_aborted);
}

void World::State::leave(RequestId request) {
  Open* const open = find(request);
  if (!open) return;
  if (!open->question.streamed) open->answer.status = 0;  // nothing had been passed on
  end(request, *open, fleet::Outcome::client_gone);
}

}  // namespace wg::sim
