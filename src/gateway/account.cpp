// Stage 7: the end of a request, told once to the fleet, the metrics and the log.
#include "core/hash.h"
#include "gateway/stages.h"

namespace wg::gateway {
namespace {

std::string_view name_of(fleet::Outcome outcome) {
  switch (outcome) {
    case fleet::Outcome::ok:
      return "ok";
    case fleet::Outcome::client_gone:
      return "client_gone";
    case fleet::Outcome::died_mid_stream:
      return "died_mid_stream";
    case fleet::Outcome::engine_aborted:
      return "engine_aborted";
    case fleet::Outcome::failed:
      return "failed";
    case fleet::Outcome::refused_by_us:
      return "refused";
  }
  return "";
}

// As the engine counted them, or our estimate, which is marked as such wherever it shows.
Tokens prompt_tokens(const Exchange& x) {
  const dialect::Usage& usage = x.reader.facts().usage;
  return usage.measured ? usage.prompt : dialect::estimate_tokens(x.facts.text_bytes);
}

fleet::AnswerEnd end_of(dialect::Stop stop) {
  switch (stop) {
    case dialect::Stop::tool_calls:
      return fleet::AnswerEnd::tool_call;
    case dialect::Stop::stop:
      return fleet::AnswerEnd::turn;
    case dialect::Stop::length:
    case dialect::Stop::abort:
      return fleet::AnswerEnd::cut;
    case dialect::Stop::none:
    case dialect::Stop::other:
      break;
  }
  return fleet::AnswerEnd::unknown;
}

void tell_usage(Exchange& x) {
  const dialect::Usage& usage = x.reader.facts().usage;
  fleet::UsageReported report;
  report.request = x.id;
  report.prompt = prompt_tokens(x);
  report.cached = usage.cached;
  report.output = usage.output;
  report.measured = usage.measured;
  report.cached_measured = usage.cached_measured;
  report.end = end_of(x.reader.facts().stop);
  const std::string& tool = x.reader.facts().tool;
  report.tool = tool.empty() ? 0 : xxh3(tool);
  x.shared.brain.tell(report);
  const bool engine_could_tell = x.rule.api == dialect::Api::chat || x.rule.api == dialect::Api::completions ||
                                 x.rule.api == dialect::Api::messages;
  if (usage.measured && !usage.cached_measured && engine_could_tell && x.status == 200)
    x.shared.brain.cached_tokens_missing(x.replica().engine);
}

// The line in the log: what is known of the request by its end.
void write_down(Exchange& x, fleet::Outcome outcome, bool has_usage) {
  const TimePoint now = x.context.loop.now();
  record::RequestRecord& record = x.record;
  record.request_id = x.request_id;
  record.method = x.head.method;
  record.path = x.head.path();
  record.api = dialect::name_of(x.rule.api);
  record.outcome = name_of(outcome);
  record.status = x.status;
  record.bytes_in = x.connection.body.size();
  record.bytes_out = x.bytes_out;
  record.streamed = x.facts.stream;
  record.total = now - x.arrived;
  record.model = x.facts.model;
  if (x.directory && x.in_pool) record.pool = x.directory->pools[x.pool].name;
  if (x.session.key) record.session = x.session.key.short_hex();
  record.key_source = dialect::name_of(x.session.source);
  if (x.dispatch.replica != no_replica) {
    record.replica = x.replica().id;
    record.route = policy::name_of(x.dispatch.route);
    record.waited = x.dispatched - x.arrived;
  } else if (x.in_pool) {  // its client left the queue, or it was refused there
    if (outcome == fleet::Outcome::client_gone) record.route = policy::name_of(policy::Route::waiting);
    record.waited = now - x.arrived;
  }
  if (x.first_content) record.ttft = *x.first_content - x.arrived;
  if (!has_usage) return;
  const dialect::AnswerFacts& answer = x.reader.facts();
  record.prompt = prompt_tokens(x);
  record.cached = answer.usage.cached;
  record.output = answer.usage.output;
  record.measured = answer.usage.measured;
  record.cached_measured = answer.usage.cached_measured;
  record.stop = dialect::name_of(answer.stop);
}

// What the metrics count of it: of the line what is no name of a client's.
record::FinishedRequest counted(const Exchange& x) {
  const record::RequestRecord& record = x.record;
  record::FinishedRequest finished;
  finished.pool = record.pool;
  finished.api = record.api;
  finished.route = record.route;
  finished.outcome = record.outcome;
  finished.status = record.status;
  finished.prompt = record.prompt;
  finished.cached = record.cached;
  finished.output = record.output;
  finished.measured = record.measured && record.cached_measured;
  if (x.first_content) finished.ttft = record.ttft;
  finished.waited = record.waited;
  finished.total = record.total;
  return finished;
}

}  // namespace

void account(Exchange& x, fleet::Outcome outcome) {
  const bool was_dispatched = x.dispatch.replica != no_replica;
  const bool has_usage = was_dispatched && x.upstream_answered && x.rule.api != dialect::Api::other && x.status == 200;
  const std::string& response_id = x.reader.facts().response_id;
  if (!x.response_told && !response_id.empty())
    x.shared.brain.tell(fleet::ResponseMade{x.id, response_key(response_id)});
  if (has_usage) tell_usage(x);
  write_down(x, outcome, has_usage);
  x.shared.metrics.count(counted(x));
  x.shared.log.request(x.record);
}

}  // namespace wg::gateway
