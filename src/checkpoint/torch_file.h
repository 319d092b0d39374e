// Files of torch, told apart by their content without torch.
#pragma once

#include <string>

namespace lenbench {

enum class TorchFile {
  kNone,      // no zip file of torch
  kScript,    // TorchScript: torch.jit.save
  kExported,  // an exported program or AOTInductor package: .pt2
  kPickle,    // torch.save: a state dict, a whole module or a Lightning checkpoint
  kCutOff,    // begins like a zip file and has no directory at its end
};

// What the file at `path` is, from the names in its zip directory; kNone for what is no regular file. Reads at most its
// last 4 MiB.
TorchFile torch_file_kind(const std::string& path);

// For the kinds that no command can read: one line that says so and what to do. Throws Error for kExported and kCutOff;
// does nothing for others (pickles are refused where safetensors are expected, with the way to convert them).
void refuse_unreadable(TorchFile kind, const std::string& path);

}  // namespace lenbench
