#include "config/second_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace wg::config {
namespace {

// Hears where documents begin and forgets the rest.
class Begins : public YAML::EventHandler {
 public:
  int count = 0;
  YAML::Mark last;

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++count;
    last = mark;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

}  // namespace

std::optional<Position> second_document(const std::string& yaml) {
  std::istringstream in(yaml);
  YAML::Parser parser(in);
  Begins begins;
  while (begins.count < 2 && parser.HandleNextDocument(begins)) {
  }
  if (begins.count < 2) return std::nullopt;
  return Position{begins.last.line + 1, begins.last.column + 1};
}

}  // namespace wg::config
