// A checkpoint on disk: config.json, one or several safetensors files, an optional origin.json. No torch needed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/origin.h"
#include "checkpoint/safetensors.h"

namespace lenbench {

struct CheckpointFiles {
  std::string folder;
  std::string config_path;
  std::vector<std::string> weight_paths;  // ascending by name; all exist
  std::string index_path;                 // model.safetensors.index.json, if the weights are sharded
  bool index_ignored = false;             // an index was there, and `ignore_index` asked for the single file
};

// `path` is a folder, or one safetensors file with its config.json beside it. Throws Error when the path or config.json
// is missing, there are no safetensors weights (naming the .bin or .pt files found and how to convert them), a shard of
// the index is missing (all are looked up before any is opened), or a single model.safetensors stands beside an index,
// unless `ignore_index`.
CheckpointFiles find_checkpoint_files(const std::string& path, bool ignore_index = false);

class Checkpoint {
 public:
  // Opens and checks everything that needs no arithmetic: configuration, headers, index against shards, names, shapes
  // and types of the tensors, ties. Throws Error with one line naming file and tensor.
  static Checkpoint open(const std::string& path, bool ignore_index = false);

  const CheckpointFiles& files() const { return files_; }
  const DecoderConfig& config() const { return config_; }
  const Origin& origin() const { return origin_; }  // defaults where there is no origin.json
  // Exactly those of stored_tensor_specs(config()) (family.h), under those names.
  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  // Tied output weights that the files hold once more (equal to the embedding's, else opening fails).
  bool tied_twice() const { return tied_twice_; }
  // "recall-asentmax-nape": origin's name, else the folder's (or the file's, for a file given by itself).
  const std::string& name() const { return name_; }

  // Throws Error naming the first tensor with a NaN or infinity. Reads every byte.
  void check_finite() const;

  // SHA-256 of config.json and of each weight file, in the order of files(). Reads every byte from disk, so files
  // changed in place change them.
  std::vector<std::string> file_hashes() const;
  // Identity of the computation: SHA-256 over those hashes. origin.json does not count.
  static std::string identity(const std::vector<std::string>& file_hashes);
  std::string sha256() const { return identity(file_hashes()); }

 private:
  Checkpoint() = default;
  void load_tensors();
  void settle_names();
  void settle_ties();
  void check_tensors() const;

  CheckpointFiles files_;
  DecoderConfig config_;
  Origin origin_;
  std::string name_;
  bool tied_twice_ = false;
  std::vector<SafetensorsFile> weights_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> file_of_;  // tensor name -> path, for messages
};

}  // namespace lenbench
