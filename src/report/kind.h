// Names of row kinds, for formats that machines read.
#pragma once

#include "report/grid.h"

namespace lenbench {

inline const char* kind_name(RowKind kind) {
  switch (kind) {
    case RowKind::kMeasured:
      return "measured";
    case RowKind::kChance:
      return "chance";
    case RowKind::kFloor:
      return "floor";
    case RowKind::kPublished:
      return "published";
  }
  return "";
}

}  // namespace lenbench
