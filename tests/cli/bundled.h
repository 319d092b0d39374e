// Runs that use the models of the sources' results/, wherever the program was built.
#pragma once

#include "cli/program.h"

namespace lenbench::cli_test {

inline Surroundings bundled() {
  Surroundings where;
  where.environment["LENBENCH_DATA"] = LENBENCH_RESULTS;
  return where;
}

}  // namespace lenbench::cli_test
