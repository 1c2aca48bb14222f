// The Prometheus page with the names, labels, help texts and histogram bounds of vLLM 0.32, for every rank. What the
// model has no notion of is there with zeros. Internal to replica/.
#pragma once

#include <string>

namespace wg::replica {

struct Site;
std::string metrics_page(const Site& site);

}  // namespace wg::replica
