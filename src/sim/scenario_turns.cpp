// The turns of a scenario's sessions, from what a step wants to the answer.
#include "config/config.h"
#include "sim/scenario_runner.h"

namespace wg::sim {

namespace {
constexpr std::uint64_t title_head = 0x7469746c65, response_name = 0x7265737;
}  // namespace

bool Runner::model_is_known(const std::string& model) const {
  if (model.empty() || model == preset_.model) return true;
  return std::any_of(scenario_.fleet.aliases.begin(), scenario_.fleet.aliases.end(),
                     [&](const std::string& alias) { return config::glob_matches(alias, model); });
}

void Runner::start_turns(const Step& step) {
  const std::size_t first = jobs_.size();
  for (const std::string& name : step.sessions)
    jobs_.push_back({&step, static_cast<std::size_t>(&talker_named(name) - talkers_.data()), current_, step.times});
  open_in_step_[current_] = static_cast<std::uint32_t>(step.sessions.size());
  for (std::size_t job = first; job < first + step.sessions.size(); ++job) try_job(job);
}

void Runner::try_job(std::size_t job) {
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  if (jobs_[job].step->verb == Verb::title) return ask(job);
  if (talker.busy) return talker.queue.push_back(job);
  talker.busy = true;
  ask(job);
}

void Runner::ask(std::size_t job) {
  const Step& step = *jobs_[job].step;
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  const bool is_title = step.verb == Verb::title;
  if (!model_is_known(step.model.empty() ? talker.spec.model : step.model)) return refuse_model(job);

  Question question;
  fleet::RequestArrived& asked = question.asked;
  asked.session = talker.key();
  asked.lineage = {asked.session.high ^ 0x6c696e65616765, 2 * asked.session.low + (is_title ? 1 : 0)};
  asked.head =
      is_title ? SessionKey{title_head, 1} : SessionKey{0x68656164, static_cast<std::uint64_t>(talker.spec.head)};
  if (asked.head.low == 0) asked.head = {};
  if (talker.spec.key == "claude-code" || talker.spec.key == "codex" || talker.spec.key == "opencode" ||
      talker.spec.key == "goose")
    asked.client = fleet::ClientKind::agent;
  if (!talker.spec.parent.empty()) asked.parent = talker_named(talker.spec.parent).key();
  asked.kind = is_title       ? fleet::RequestClass::background
               : asked.parent ? fleet::RequestClass::sub_agent
                              : fleet::RequestClass::turn;
  const bool is_responses = talker.spec.dialect == "responses";
  asked.steerable_path = !is_responses;
  if (is_responses) {
    question.opens_at_once = talker.spec.streamed;
    question.response = {response_name, ++responses_};
    if (talker.spec.key == "previous") asked.pinned_to_response = talker.last_response;
  }
  if (is_title) {
    Conversation title(preset_.engine.block_size, title_head, 100, talker.number);
    title.say(50);
    question.prompt = title.prompt();
  } else {
    talker.talk.say(talker.turns == 0 ? talker.spec.first : step.add);
    question.prompt = talker.talk.prompt();
  }
  asked.prompt_estimate = question.prompt.size();
  asked.text_bytes = 4 * asked.prompt_estimate.count;
  question.then = step.ends_with_tool ? fleet::AnswerEnd::tool_call : fleet::AnswerEnd::turn;
  question.past = talker.spec.engine;
  question.answer = talker.talk.answer_of(step.out);
  question.streamed = talker.spec.streamed;
  question.fault = step.fault;
  const RequestId request = world_.ask(std::move(question));
  requests_[request] = job;
  if (step.leave_after) wake(*step.leave_after, AlarmKind::leave, request);
}

// The pools have no such model: answered before the fleet hears of it.
void Runner::refuse_model(std::size_t job) {
  Answer answer;
  answer.status = 404;
  answer.outcome = fleet::Outcome::refused_by_us;
  answer.arrived = answer.ended = world_.now();
  check_answer(*jobs_[job].step, talkers_[jobs_[job].talker], answer);
  job_done(job);
}

void Runner::token(RequestId request, std::uint32_t count) {
  const Step& step = *jobs_[requests_.at(request)].step;
  if (step.leave_at_token && count >= *step.leave_at_token) wake({}, AlarmKind::leave, request);
}

void Runner::ended(const Answer& answer) {
  const auto found = requests_.find(answer.request);
  const std::size_t job = found->second;
  requests_.erase(found);
  const Step& step = *jobs_[job].step;
  ScenarioTalker& talker = talkers_[jobs_[job].talker];
  const bool answered = answer.outcome == fleet::Outcome::ok && answer.status == 200;
  if (has_head(answer)) talker.heard_from(world_.name_of(answer.replica), answer.route);
  check_answer(step, talker, answer);
  if (step.verb == Verb::turn) {
    // What was not answered stays said, as a client sends it again.
    ++talker.turns;
    if (answered && answer.finish != FinishReason::none) talker.talk.hear(talker.talk.answer_of(step.out));
    if (answered && talker.spec.dialect == "responses") talker.last_response = {response_name, responses_};
  }
  job_done(job);
}

void Runner::job_done(std::size_t job) {
  const bool again = --jobs_[job].left > 0;
  if (again) {
    if (jobs_[job].step->verb == Verb::turn) talkers_[jobs_[job].talker].busy = false;
    return wake(jobs_[job].step->pause, AlarmKind::again, job);
  }
  if (jobs_[job].step->verb == Verb::turn) {
    ScenarioTalker& talker = talkers_[jobs_[job].talker];
    talker.busy = false;
    if (!talker.queue.empty()) {
      const std::size_t next = talker.queue.front();
      talker.queue.pop_front();
      wake({}, AlarmKind::again, next);
    }
  }
  const std::size_t step = jobs_[job].step_index;
  if (--open_in_step_[step] == 0 && step + 1 == next_) {
    previous_end_ = world_.now();
    wake({}, AlarmKind::advance);
  }
}

}  // namespace wg::sim
