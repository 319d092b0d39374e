// What answers depend on: ranks that answer together must agree on it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "bench/backend.h"

namespace lenbench {

// Name and value, the name as a reader would look for it ("--dtype").
using Terms = std::vector<std::pair<std::string, std::string>>;

inline std::pair<std::string, std::string> program_term() {
  return {"the program", std::string(version()) + " " + commit()};
}

// Build, checkpoint, and all options of a model that change what it answers.
inline Terms answer_terms(const std::string& checkpoint_sha256, const OpenOptions& options) {
  return {program_term(),
          {"the SHA-256 of the checkpoint", checkpoint_sha256},
          {"--dtype", options.dtype},
          {"--attention-path", options.attention_path},
          {"--transform", options.transform},
          {"--alpha", options.alpha},
          {"--rope-scaling", options.rope_scaling}};
}

}  // namespace lenbench
