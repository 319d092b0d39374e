// Training logs that a command reads.
#pragma once

#include <string>
#include <vector>

#include "report/training_curves.h"

namespace lenbench::cli {

// Each of `texts` is a log, a folder that holds one (a checkpoint, or a training that is under way) or a bundled
// checkpoint. Throws Error naming what has no log.
std::vector<TrainingLog> read_training_logs(const std::vector<std::string>& texts);

}  // namespace lenbench::cli
