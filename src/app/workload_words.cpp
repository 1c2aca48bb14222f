#include "app/workload_words.h"

#include <cstdio>
#include <fstream>
#include <iterator>

#include "sim/trace.h"

namespace wg::app {
namespace {

tl::unexpected<Error> wrong(std::string what) { return fail(Fault::client, std::move(what)); }

Result<std::shared_ptr<const sim::Trace>> trace_in(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return wrong("--workload: cannot read " + file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto trace = sim::read_trace(text);
  if (!trace) return wrong("--workload: " + file + ": " + trace.error().what);
  return std::make_shared<const sim::Trace>(std::move(*trace));
}

}  // namespace

std::vector<std::string> list_of(const std::string& text) {
  std::vector<std::string> list(1);
  for (const char c : text)
    if (c == ',')
      list.emplace_back();
    else
      list.back() += c;
  return list;
}

Result<Duration> time_of(const char* option, const std::string& text, bool may_be_zero) {
  auto time = sim::duration_named(text);
  if (!time) return wrong(std::string(option) + ": " + time.error().what);
  if (!may_be_zero && time->count() == 0) return wrong(std::string(option) + " must be longer than nothing");
  return time;
}

Result<sim::Workload> workload_of(const WorkloadWords& words, const sim::AgentLoad& load, Tokens limit,
                                  std::vector<std::string>& notes) {
  sim::Workload work;
  const auto name = sim::workload_named(words.workload);
  if (!name) return wrong("--workload: " + name.error().what);
  if (!(words.scale > 0) || words.scale > 100) return wrong("--scale must be above 0 and at most 100");
  work.kind = name->kind;
  work.load = sim::scaled(load, words.scale);
  work.scale = words.scale;
  work.limit = limit;
  if (!words.think.empty()) {
    const auto think = sim::think_named(words.think);
    if (!think) return wrong("--think: " + think.error().what);
    if (work.kind == sim::WorkloadKind::mix) return wrong("--think: the workload mix has its own pauses");
    work.think = *think;
  }
  if (!words.cap_think.empty()) {
    const auto cap = time_of("--cap-think", words.cap_think, false);
    if (!cap) return tl::unexpected(cap.error());
    work.longest_pause = *cap;
  }
  if (work.kind != sim::WorkloadKind::trace) return work;
  auto trace = trace_in(name->file);
  if (!trace) return tl::unexpected(trace.error());
  work.trace = std::move(*trace);
  if (const double cut = sim::share_cut(work); cut > 0.001) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "%.1f %% of the trace's turns are longer than the engine's context of %lld tokens and are cut to it; "
                  "--scale makes them shorter",
                  100 * cut, static_cast<long long>(work.limit.count));
    notes.emplace_back(text);
  }
  return work;
}

}  // namespace wg::app
