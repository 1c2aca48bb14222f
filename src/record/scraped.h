// The metrics that are read from their owners at scrape time, and the text of a whole page. Nothing is kept between two
// scrapes, so a replica that is gone leaves no series behind. Any thread.
#pragma once

#include <string>
#include <vector>

#include "record/metrics.h"

namespace prometheus {
struct MetricFamily;
}

namespace wg::record {

std::string exposition(std::vector<prometheus::MetricFamily> counted, const std::vector<ReplicaGauges>& replicas,
                       const std::vector<PoolGauges>& pools, const ProcessGauges& process);

}  // namespace wg::record
