#include "replica/broken_answers.h"

#include <array>

namespace wg::replica {
namespace {

constexpr Duration write_timeout = std::chrono::seconds(600);
constexpr Duration gone_for = std::chrono::seconds(10);
constexpr std::size_t never_sent = 512;

}  // namespace

bool breaks_in_mid_stream(const Generation& job) {
  return is(job, FaultKind::stall_mid) || is(job, FaultKind::die_mid) || is(job, FaultKind::die_group) ||
         is(job, FaultKind::truncated_chunk);
}

bool breaks_whole_body(const Generation& job) {
  return is(job, FaultKind::stall_mid) || is(job, FaultKind::stall_first) || is(job, FaultKind::die_mid) ||
         is(job, FaultKind::reset_after_head) || is(job, FaultKind::truncated_chunk) ||
         is(job, FaultKind::wrong_length);
}

net::Task<bool> write_piece(Connection& me, const std::string& bytes) {
  const std::array<std::string_view, 1> pieces{bytes};
  const auto sent = co_await me.stream.write(pieces, write_timeout);
  co_return sent.has_value() && !me.gone;
}

std::string chunk_of(std::string_view bytes, std::size_t claimed) {
  char buffer[24];
  std::string out(http::chunk_begin(claimed, buffer));
  return out.append(bytes).append(http::chunk_end);
}

net::Task<void> stall(Site& site, Connection& me, Flight& flight, std::optional<Duration> lasts) {
  bool over = false;
  net::Timer timer(site.loop, [&over, &flight] {
    over = true;
    flight.nudge();
  });
  if (lasts) timer.set(site.group.real(*lasts));
  while (!over && !me.gone) co_await flight.news();
}

net::Task<bool> break_before_head(Site& site, Connection& me, Generation& job) {
  if (job.hit && is_of_process(job.hit->kind) && job.hit->kind != FaultKind::die_group) site.carry_out(*job.own_fault);
  if (is(job, FaultKind::reset_before_head)) {
    me.stream.reset();
    co_return false;
  }
  if (is(job, FaultKind::stall_head)) co_await stall(site, me, *job.flight, job.hit->lasts);
  if (is(job, FaultKind::slow_first_byte)) {
    const std::optional<Duration> delay = job.hit->delay;
    co_await stall(site, me, *job.flight, delay);
  }
  co_return !me.gone;
}

std::optional<Reply> instead_of_answer(const Generation& job) {
  if (is(job, FaultKind::html_error))
    return Reply{502,
                 "text/html",
                 "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad "
                 "Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n",
                 {}};
  if (is(job, FaultKind::status_500) || (is(job, FaultKind::error_first) && !job.ask.stream))
    return Reply{500, "application/json", body_of(internal_error(), job.ask.api), {}};
  return std::nullopt;
}

void die_as_group(Site& site, const Generation& job) {
  site.faults.count(FaultKind::die_group);
  site.die_group(job.flight->rank, job.hit->lasts.value_or(gone_for));
}

net::Task<bool> break_stream(Site& site, Connection& me, Generation& job, const std::string& events) {
  if (is(job, FaultKind::stall_mid)) {
    co_await stall(site, me, *job.flight, job.hit->lasts);
    co_return !me.gone;
  }
  if (is(job, FaultKind::die_group)) {
    die_as_group(site, job);
    co_return true;
  }
  if (is(job, FaultKind::truncated_chunk)) {
    const std::string cut = chunk_of(events, events.size() + never_sent);
    me.stream.write_now(std::string_view(cut).substr(0, cut.size() - http::chunk_end.size()));
    co_return false;
  }
  me.stream.reset();
  co_return false;
}

net::Task<bool> write_broken(Site& site, Connection& me, Generation& job, const Reply& reply) {
  const std::string_view body = reply.body;
  std::size_t shown = body.size() / 2;
  if (is(job, FaultKind::reset_after_head) || is(job, FaultKind::stall_first)) shown = 0;
  if (is(job, FaultKind::wrong_length)) shown = body.size();
  std::string out;
  if (is(job, FaultKind::truncated_chunk)) {
    out = head_of(reply, std::nullopt, true) + chunk_of(body.substr(0, shown), body.size());
    out.resize(out.size() - http::chunk_end.size());
  } else {
    const std::size_t claimed = body.size() + (is(job, FaultKind::wrong_length) ? never_sent : 0);
    out = head_of(reply, claimed, true) + std::string(body.substr(0, shown));
  }
  const bool open = co_await write_piece(me, out);
  if (!open) co_return false;
  if (is(job, FaultKind::die_mid) || is(job, FaultKind::reset_after_head)) me.stream.reset();
  if (!is(job, FaultKind::stall_mid) && !is(job, FaultKind::stall_first)) co_return false;
  co_await stall(site, me, *job.flight, job.hit->lasts);
  if (me.gone) co_return false;
  const std::string rest(body.substr(shown));
  const bool all = co_await write_piece(me, rest);
  co_return all;
}

}  // namespace wg::replica
