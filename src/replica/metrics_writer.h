// Writes Prometheus text as vLLM's Python client does: a family's comments, then its samples rank by rank, with labels
// in the order of their names, and the `_created` family behind counters and histograms. Internal to replica/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "replica/histogram.h"

namespace wg::replica {

std::string metrics_number(double value);  // as Python writes a float, near enough for every parser

using OfRank = std::function<double(std::uint32_t rank)>;
using HistogramOf = std::function<const Histogram&(std::uint32_t rank)>;

class MetricsWriter {
 public:
  // `started`: seconds since 1970.
  MetricsWriter(std::uint32_t ranks, std::string_view model, std::int64_t started);

  std::string take() { return std::move(out_); }
  const std::string& started() const { return started_; }
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void family(const std::string& name, std::string_view type, std::string_view help);
  void gauge(const std::string& name, std::string_view help, const OfRank& value);
  void counter(const std::string& name, std::string_view help, const OfRank& value);
  void histogram(const std::string& name, std::string_view help, const HistogramOf& of);

  // A gauge or counter with one more label: each of its values, and what of it.
  struct Labelled {
    std::string_view value;
    OfRank of;
  };
  void labelled(const std::string& name, std::string_view type, std::string_view help, const std::string& label,
                const std::vector<Labelled>& values);

 private:
  void sample(const std::string& name, std::uint32_t rank, const std::string& more, double value);
  std::string labels(std::uint32_t rank, const std::string& more) const;
  void created(const std::string& name, std::string_view help, const std::vector<std::string>& more);

  std::uint32_t ranks_;
  std::string out_, model_, started_;
};

}  // namespace wg::replica
