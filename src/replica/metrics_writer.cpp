#include "replica/metrics_writer.h"

#include <cstdio>

#include "replica/answers.h"

namespace wg::replica {

std::string metrics_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  std::string out(text);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

MetricsWriter::MetricsWriter(std::uint32_t ranks, std::string_view model, std::int64_t started)
    : ranks_(ranks), model_(quoted(model)), started_(metrics_number(static_cast<double>(started))) {}

void MetricsWriter::family(const std::string& name, std::string_view type, std::string_view help) {
  out_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name);
  out_.append(" ").append(type).append("\n");
}

void MetricsWriter::gauge(const std::string& name, std::string_view help, const OfRank& value) {
  family(name, "gauge", help);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) sample(name, rank, "", value(rank));
}

void MetricsWriter::counter(const std::string& name, std::string_view help, const OfRank& value) {
  family(name + "_total", "counter", help);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) sample(name + "_total", rank, "", value(rank));
  created(name, help, {""});
}

void MetricsWriter::labelled(const std::string& name, std::string_view type, std::string_view help,
                             const std::string& label, const std::vector<Labelled>& values) {
  const bool counts = type == "counter";
  const std::string full = counts ? name + "_total" : name;
  family(full, type, help);
  std::vector<std::string> labels;
  for (const auto& [value, of] : values) {
    labels.push_back(label + "=" + quoted(value));
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) sample(full, rank, labels.back(), of(rank));
  }
  if (counts) created(name, help, labels);
}

void MetricsWriter::histogram(const std::string& name, std::string_view help, const HistogramOf& of) {
  family(name, "histogram", help);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const Histogram& histogram = of(rank);
    const std::string engine = "engine=\"" + std::to_string(rank) + "\",", model = "model_name=" + model_ + "} ";
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
      so_far += histogram.in(i);
      const std::string bound = i < histogram.bounds().size() ? metrics_number(histogram.bounds()[i]) : "+Inf";
      line(name + "_bucket{" + engine + "le=\"" + bound + "\"," + model + metrics_number(static_cast<double>(so_far)));
    }
    line(name + "_count{" + engine + model + metrics_number(static_cast<double>(histogram.count())));
    line(name + "_sum{" + engine + model + metrics_number(histogram.sum()));
  }
  created(name, help, {""});
}

void MetricsWriter::sample(const std::string& name, std::uint32_t rank, const std::string& more, double value) {
  line(name + labels(rank, more) + metrics_number(value));
}

std::string MetricsWriter::labels(std::uint32_t rank, const std::string& more) const {
  const bool before = !more.empty() && more < "model_name";
  return "{engine=\"" + std::to_string(rank) + "\"," + (before ? more + "," : "") + "model_name=" + model_ +
         (more.empty() || before ? "" : "," + more) + "} ";
}

void MetricsWriter::created(const std::string& name, std::string_view help, const std::vector<std::string>& more) {
  family(name + "_created", "gauge", help);
  for (const std::string& labels_of_it : more)
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) line(name + "_created" + labels(rank, labels_of_it) + started_);
}

}  // namespace wg::replica
