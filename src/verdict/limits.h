// Absolute floors and ceilings of a policy, judged on the measured cells alone.
#pragma once

#include <string>
#include <vector>

#include "verdict/cell.h"
#include "verdict/policy.h"

namespace lenbench {

struct LimitEvidence {
  std::string name;     // "recall@4096 min 0.95"
  std::string cell;     // short name of the (longer) cell
  std::string missing;  // not empty: what is not measured
  std::string failed;   // not empty: the cell failed, and why
  double value = 0;     // measured: accuracy, perplexity or ratio
  double limit = 0;
  double p_beyond = 1;  // of "the limit is kept"
  bool kept = true;     // as measured
  std::int64_t n = 0;
};

std::int64_t num_limits(const Policy& policy);

// One for each limit and cell it names. A limit on a cell that is on neither side is an Error: it would never fail.
std::vector<LimitEvidence> weigh_limits(const std::vector<GateCell>& baseline, const std::vector<GateCell>& now,
                                        const Policy& policy);

}  // namespace lenbench
