// The circumstances of a measurement, as far as the program can tell them.
#pragma once

#include <string>

#include "record/record.h"

namespace lenbench::cli {

// "2026-12-31T23:59:59Z".
std::string utc_now();

// Versions, commit, CPU and threads (0: all of the machine); the Runner fills in the rest.
Setting make_setting(const std::string& torch_version, int threads);

}  // namespace lenbench::cli
