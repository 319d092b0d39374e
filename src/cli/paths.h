// Where the program finds itself, its data and the checkpoints that come with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lenbench::cli {

// The folder that holds the running program.
std::filesystem::path executable_folder();

// The folder of checkpoints/, published/ and corpora/: $LENBENCH_DATA, else <program>/../share/lenbench when it exists,
// else results/ of the source tree. Throws Error when $LENBENCH_DATA is no folder or none exists.
std::filesystem::path data_folder();

// Names of the bundled checkpoints, ascending; empty when there is no data folder. Throws Error when $LENBENCH_DATA is
// no folder.
std::vector<std::string> bundled_checkpoints();

// A path to a checkpoint: `text` itself when it exists, else the bundled checkpoint of that name. Throws Error with
// "did you mean" over the bundled names and `also`.
std::string find_checkpoint(const std::string& text, const std::vector<std::string>& also);

}  // namespace lenbench::cli
