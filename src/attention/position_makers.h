// One maker per line of positions.def; each gets a spec whose sizes were checked.
#pragma once

#include <memory>

#include "attention/position.h"

namespace lenbench {

#define LENBENCH_POSITION(name, summary) \
  std::unique_ptr<const PositionEncoding> make_position_##name(PositionSpec spec);
#include "attention/positions.def"
#undef LENBENCH_POSITION

}  // namespace lenbench
