#include "replica/generation.h"

#include <algorithm>

#include "core/hash.h"
#include "core/header.h"
#include "replica/prompt.h"

namespace wg::replica {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

Asked<Wishes> wishes_of(const Site& site, Headers headers) {
  Wishes wishes;
  if (!site.options.admin) return wishes;
  if (const auto text = find_header(headers, "x-output-tokens"); text.data()) {
    const auto tokens = whole_number(text);
    if (!tokens || *tokens < 1 || *tokens > 10'000'000)
      return refuse(bad_request("x-output-tokens must be a number from 1"));
    wishes.tokens = static_cast<std::uint32_t>(*tokens);
  }
  if (const auto text = find_header(headers, "x-finish"); text.data()) {
    for (const Ending ending : {Ending::stop, Ending::length, Ending::tool_calls})
      if (text == openai_name(ending)) wishes.ending = ending;
    if (!wishes.ending) return refuse(bad_request("x-finish must be stop, length or tool_calls"));
  }
  return wishes;
}

Asked<void> go_on_from(const Site& site, Ask& ask) {
  if (ask.previous_response_id.empty()) return {};
  const StoredResponse* const stored = site.responses.peek(ask.previous_response_id);
  if (!stored)
    return refuse({.status = 404,
                   .type = "invalid_request_error",
                   .message = "Response with id '" + ask.previous_response_id + "' not found.",
                   .param = "response_id"});
  const auto place = ask.messages.begin() + static_cast<std::ptrdiff_t>(ask.head_messages);
  ask.messages.insert(place, stored->messages.begin(), stored->messages.end());
  return {};
}

std::string fingerprint_of(const Site& site) {
  const std::string ranks = site.group.ranks() > 1 ? "-dp" + std::to_string(site.group.ranks()) : "";
  return "vllm-0.32.0" + ranks + "-" + site.options.name;
}

void make_answer(Site& site, Headers headers, Generation& job) {
  AnswerFacts facts;
  const auto request_id = find_header(headers, "x-request-id");
  const std::string stem = request_id.empty() ? site.new_id() : std::string(request_id);
  const auto api = job.ask.api;
  facts.id = (api == dialect::Api::completions ? "cmpl-"
              : api == dialect::Api::responses ? "resp_"
                                               : "chatcmpl-") +
             (api == dialect::Api::responses ? site.new_id() : stem);
  facts.part_id = site.new_id();
  facts.created = unix_seconds();
  facts.model = job.ask.model.empty() ? site.model : job.ask.model;
  facts.fingerprint = fingerprint_of(site);
  facts.details = site.options.prompt_tokens_details;
  facts.include_usage = job.ask.include_usage;
  facts.tool = job.plan.tool;
  facts.max_tokens = job.ask.max_tokens.value_or(static_cast<std::int64_t>(job.plan.tokens.size()));
  facts.has_tools = !job.ask.tool.empty();
  facts.instructions = job.ask.instructions;
  facts.previous_response_id = job.ask.previous_response_id;
  job.response_id = facts.id;
  job.answer = answer_in(api, std::move(facts));
}

Usage usage_of(const Site& site, const Generation& job) {
  const auto& engine = site.options.preset.engine;
  const std::int64_t full = job.flight->prompt / engine.block_size * engine.block_size;
  const std::int64_t created = engine.prefix_caching ? std::max<std::int64_t>(full - job.flight->cached, 0) : 0;
  return {job.flight->prompt, job.flight->cached, created, static_cast<std::int64_t>(job.flight->generated)};
}

// Takes up to `most` generated tokens and says which bytes they add: to the text, or to a call's arguments.
void take_tokens(Generation& job, std::size_t most, std::string& text, std::string& arguments) {
  TokenList& fresh = job.flight->fresh;
  const std::size_t count = std::min(fresh.size(), most);
  std::string more;
  for (std::size_t i = 0; i < count; ++i) append_bytes(more, fresh[i]);
  fresh.erase(fresh.begin(), fresh.begin() + static_cast<std::ptrdiff_t>(count));
  job.tokens += count;
  const std::size_t from = job.bytes, to = job.bytes += more.size();
  if (!job.plan.is_tool_call()) {
    text = std::move(more);
    return;
  }
  const std::size_t begin = std::clamp(job.plan.arguments_begin, from, to);
  const std::size_t end = std::clamp(job.plan.arguments_end, from, to);
  arguments = more.substr(begin - from, end - begin);
}

// Remembers a finished response, with the answer as the conversation's last message.
void store(Site& site, Generation& job, const End& end) {
  if (job.ask.api != dialect::Api::responses || !job.ask.store) return;
  StoredResponse stored;
  stored.body = job.answer->whole(job.text, job.arguments, end);
  const auto head = job.ask.messages.begin() + static_cast<std::ptrdiff_t>(job.ask.head_messages);
  stored.messages.assign(head, job.ask.messages.end());
  std::string said = job.text;
  if (job.plan.is_tool_call())
    said = std::string(tool_call_begin) + job.plan.tool + std::string(tool_call_middle) + job.arguments +
           std::string(tool_call_end);
  stored.messages.push_back({"assistant", std::move(said)});
  site.responses.put(job.response_id, std::move(stored));
}

End end_of(const Site& site, const Generation& job) {
  return {job.flight->end == Flight::End::finished ? job.plan.ending : Ending::abort, usage_of(site, job)};
}

}  // namespace

Asked<void> send_off(Site& site, Connection& me, dialect::Api api, Generation& job) {
  const Headers headers = me.parser.head().headers;
  const auto type = find_header(headers, "content-type");
  if (!type.substr(0, type.find(';')).starts_with("application/json"))
    return refuse(bad_body("['Unsupported Media Type: Only 'application/json' is allowed']"));
  auto ask = read_ask(api, me.body);
  me.body = {};  // thousands of them may wait
  if (!ask) return tl::unexpected(ask.error());
  job.ask = std::move(*ask);
  if (!job.ask.model.empty() && job.ask.model != site.model) return refuse(unknown_model(job.ask.model));
  if (site.life == Life::dying) return refuse(engine_dead());
  if (const auto text = find_header(headers, "x-fault"); text.data() && site.options.admin) {
    const auto order = read_fault_header(text);
    if (!order) return refuse(bad_request(order.error().what));
    job.own_fault = *order;
  }
  const auto wishes = wishes_of(site, headers);
  if (!wishes) return tl::unexpected(wishes.error());
  if (const auto gone_on = go_on_from(site, job.ask); !gone_on) return gone_on;
  job.digest = digest_of(job.ask);
  const TokenList tokens = tokens_of(job.ask);
  Work work;
  work.prompt = sim::TokenChain(site.options.preset.engine.block_size, xxh3(job.ask.cache_salt));
  work.prompt.append(tokens);
  job.plan = plan_answer(job.ask, *wishes, site.options.preset.load.output, job.digest, site.options.seed);
  work.answer = job.plan.tokens;
  work.ends_with = job.plan.engine_ending();
  if (api != dialect::Api::responses) work.rank = whole_number(find_header(headers, "x-data-parallel-rank"));
  make_answer(site, headers, job);
  // A conversation that may be gone on from keeps its messages; the others' are not needed any more.
  if (api != dialect::Api::responses || !job.ask.store) job.ask.messages.clear();
  job.flight = site.group.send(std::move(work));
  return {};
}

Reply reply_of(const Site& site, const Generation& job, std::string_view type) {
  Reply reply{200, std::string(type), {}, {}};
  reply.headers = {{"x-replica", site.options.name + "/" + std::to_string(job.flight->rank)},
                   {"x-prompt-hash", hex_of(job.digest)}};
  return reply;
}

bool produce(Site& site, Generation& job, std::size_t most_tokens, std::string& events) {
  const Flight& flight = *job.flight;
  std::string text, arguments;
  take_tokens(job, most_tokens, text, arguments);
  const bool over = flight.end != Flight::End::none && flight.fresh.empty();
  if (over && flight.end == Flight::End::engine_dead) {
    events += events_of(engine_dead(), job.ask.api);
    return true;
  }
  const End end = end_of(site, job);
  if (job.tokens > 0 && !std::exchange(job.has_begun, true)) job.answer->first(events, end.usage);
  job.text += text;
  job.arguments += arguments;
  if (!text.empty()) {
    job.answer->text(events, text, over ? &end : nullptr);
  } else if (!arguments.empty()) {
    if (!std::exchange(job.has_tool, true)) job.answer->tool(events);
    job.answer->arguments(events, arguments, over ? &end : nullptr);
  } else if (over) {
    job.answer->end(events, end);
  }
  if (over) store(site, job, end);
  return over;
}

std::string whole_body(Site& site, Generation& job) {
  take_tokens(job, job.plan.tokens.size(), job.text, job.arguments);
  const End end = end_of(site, job);
  store(site, job, end);
  return job.answer->whole(job.text, job.arguments, end);
}

}  // namespace wg::replica
