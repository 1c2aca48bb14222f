#include "gateway/decision_recorder.h"

#include <fstream>
#include <stdexcept>

#include "fleet/recording.h"

namespace wg::gateway {
namespace {

std::string begun_anew(const std::string& path) {
  const std::ofstream file(path, std::ios::trunc);
  if (!file) throw std::runtime_error("record.decisions: " + path + " cannot be written");
  return path;
}

}  // namespace

DecisionRecorder::DecisionRecorder(const std::string& path, const fleet::Spec& spec)
    : queue_(begun_anew(path), "[\"lost\"]\n"), digest_(fleet::Fleet(spec).digest()) {
  queue_.add(fleet::recording_head(spec));
}

DecisionRecorder::~DecisionRecorder() { queue_.add(fleet::recording_end(events_, digest_)); }

// An event and what was decided on it are kept or lost together.
void DecisionRecorder::stepped(const fleet::Event& event, TimePoint now, const fleet::Commands& commands,
                               std::uint64_t digest) {
  lines_.clear();
  fleet::append_event(lines_, ++events_, now, event);
  if (!commands.empty()) fleet::append_decisions(lines_, events_, digest, commands);
  digest_ = digest;
  queue_.add(lines_);
}

}  // namespace wg::gateway
