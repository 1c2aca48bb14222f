// What a turn that has ended teaches: how many tokens a byte is, how fast its replica reads and answers, how large
// heads are, and whether its cache keeps what it was thought to keep. Owner: the fleet.
#pragma once

#include "fleet/reading.h"
#include "fleet/warm_facts.h"

namespace wg::fleet {

// Of a turn that its engine has measured. `came_to_its_end`: else its times say nothing. What it found cached is filled
// in where the answer did not tell, and the engine's counters do.
void learn_from(RequestId id, Reading& reading, TimePoint now, bool came_to_its_end, const WarmRules& rules,
                WarmFacts& facts);

}  // namespace wg::fleet
