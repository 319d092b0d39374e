// The index of sharded weights (model.safetensors.index.json).
#pragma once

#include <map>
#include <string>

namespace lenbench {

// Tensor name -> shard file name. Throws Error for malformed files and for names that leave the folder.
std::map<std::string, std::string> read_weight_map(const std::string& index_path);

// All bytes of a file of a checkpoint, none of which may be a pipe. Throws Error.
std::string read_regular_file(const std::string& path);

}  // namespace lenbench
