// Opens a checkpoint and checks its tensors against its configuration.
#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/names.h"
#include "base/numbers.h"
#include "checkpoint/family.h"
#include "checkpoint/index.h"

namespace lenbench {
namespace {

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// "3 tensors are missing: a, b, c": counts all, names the first three.
std::string list_of(const std::vector<std::string>& names) {
  const std::size_t shown = std::min<std::size_t>(names.size(), 3);
  return join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)}, ", ") +
         (names.size() > shown ? ", ..." : "");
}

std::string folder_name(const std::string& path) {
  std::error_code failed;
  std::filesystem::path full = std::filesystem::canonical(path, failed);
  if (failed) full = path;
  return full.filename().string();
}

double largest_difference(const TensorView& left, const TensorView& right) {
  if (left.dtype == right.dtype && !first_nonfinite(left.dtype, left.bytes) &&
      std::equal(left.bytes.begin(), left.bytes.end(), right.bytes.begin(), right.bytes.end())) {
    return 0;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < left.num_elements(); ++i) {
    const double difference =
        std::abs(element_as_double(left.dtype, left.bytes, i) - element_as_double(right.dtype, right.bytes, i));
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace

Checkpoint Checkpoint::open(const std::string& path, bool ignore_index) {
  Checkpoint checkpoint;
  checkpoint.files_ = find_checkpoint_files(path, ignore_index);
  const CheckpointFiles& files = checkpoint.files_;
  checkpoint.config_ = parse_config(read_regular_file(files.config_path), printable(files.config_path));
  const std::string origin_path = (std::filesystem::path(files.folder) / "origin.json").string();
  if (std::filesystem::exists(origin_path)) {
    checkpoint.origin_ = parse_origin(read_regular_file(origin_path), printable(origin_path));
  }
  checkpoint.name_ = checkpoint.origin_.name;
  if (checkpoint.name_.empty()) checkpoint.name_ = folder_name(files.folder);
  checkpoint.load_tensors();
  checkpoint.settle_names();
  checkpoint.settle_ties();
  checkpoint.check_tensors();
  return checkpoint;
}

void Checkpoint::load_tensors() {
  for (const std::string& path : files_.weight_paths) {
    weights_.emplace_back(path);
    for (const auto& [name, view] : weights_.back().tensors()) {
      const auto [other, is_new] = file_of_.emplace(name, path);
      if (!is_new) {
        throw Error(printable(path) + ": tensor '" + printable(name) + "' is also in " +
                    printable(file_name(other->second)));
      }
      tensors_[name] = view;
    }
  }
  if (files_.index_path.empty()) return;
  const std::string where = printable(files_.index_path);
  const std::map<std::string, std::string> weight_map = read_weight_map(files_.index_path);
  for (const auto& [name, shard] : weight_map) {
    const auto found = file_of_.find(name);
    if (found == file_of_.end() || file_name(found->second) != shard) {
      throw Error(where + ": tensor '" + printable(name) + "' should be in " + printable(shard) + ", but is " +
                  (found == file_of_.end() ? "in no shard" : "in " + printable(file_name(found->second))));
    }
  }
  for (const auto& [name, path] : file_of_) {
    if (!weight_map.contains(name)) {
      throw Error(printable(path) + ": tensor '" + printable(name) + "' is not in the index");
    }
  }
}

// Takes away what is no weight, and gives names without the family's prefix (files of the bare model) theirs.
void Checkpoint::settle_names() {
  const Family& family = family_named(config_.family);
  std::erase_if(tensors_, [&](const auto& item) { return is_not_weight(family, item.first); });
  const auto has_prefix = [&](const auto& item) { return item.first.starts_with(family.prefix); };
  if (std::any_of(tensors_.begin(), tensors_.end(), has_prefix)) return;
  const std::vector<TensorSpec> specs = stored_tensor_specs(config_);
  for (const TensorSpec& spec : specs) {
    if (!spec.name.starts_with(family.prefix)) continue;
    const auto bare = tensors_.find(spec.name.substr(family.prefix.size()));
    if (bare == tensors_.end()) continue;
    tensors_[spec.name] = bare->second;
    file_of_[spec.name] = file_of_.at(bare->first);
    tensors_.erase(bare);
  }
}

// Leaves the tensors as stored_tensor_specs() names them: with tied embeddings only the embedding stays.
void Checkpoint::settle_ties() {
  const std::string embedding = stored_tensor(config_, {"model.embed_tokens.weight", {0, 0}}).name;
  const std::string head = stored_tensor(config_, {"lm_head.weight", {0, 0}}).name;
  const bool has_embedding = tensors_.contains(embedding), has_head = tensors_.contains(head);
  const std::string where = printable(files_.folder);
  if (!config_.tie_word_embeddings) {
    if (has_embedding && !has_head) {
      throw Error(where + ": tensor '" + head +
                  "' is missing; set tie_word_embeddings to true in config.json if the "
                  "output shares the embedding's weights");
    }
    return;
  }
  if (!has_head) return;
  tied_twice_ = has_embedding;
  if (has_embedding) {
    const TensorView& inputs = tensors_[embedding];
    const TensorView& outputs = tensors_[head];
    if (inputs.shape != outputs.shape) {
      throw Error(where + ": tie_word_embeddings is true, but '" + head + "' is " + shape_text(outputs.shape) +
                  " and '" + embedding + "' is " + shape_text(inputs.shape));
    }
    const double difference = largest_difference(inputs, outputs);
    if (difference != 0) {
      throw Error(where + ": tie_word_embeddings is true, but '" + head + "' differs from '" + embedding +
                  "' (largest difference " + (std::isfinite(difference) ? format_real(difference) : "not finite") +
                  "); set tie_word_embeddings to false if the output has its own weights");
    }
  } else {
    tensors_[embedding] = tensors_[head];
    file_of_[embedding] = file_of_[head];
  }
  tensors_.erase(head);
  file_of_.erase(head);
}

void Checkpoint::check_tensors() const {
  const std::vector<TensorSpec> specs = stored_tensor_specs(config_);
  const std::string where = printable(files_.weight_paths.size() == 1 ? files_.weight_paths[0] : files_.folder);
  std::vector<std::string> missing, extra, known;
  for (const TensorSpec& spec : specs) {
    known.push_back(spec.name);
    if (!tensors_.contains(spec.name)) missing.push_back(spec.name);
  }
  if (!missing.empty()) {
    throw Error(where + ": " + std::to_string(missing.size()) + " of " + std::to_string(specs.size()) +
                " tensors missing: " + list_of(missing));
  }
  std::sort(known.begin(), known.end());
  for (const auto& [name, view] : tensors_) {
    if (!std::binary_search(known.begin(), known.end(), name)) extra.push_back(printable(name));
  }
  if (!extra.empty()) {
    throw Error(where + ": " + std::to_string(extra.size()) + (extra.size() == 1 ? " tensor that" : " tensors that") +
                " config.json does not account for: " + list_of(extra));
  }
  for (const TensorSpec& spec : specs) {
    const TensorView& view = tensors_.at(spec.name);
    const std::string tensor = printable(file_of_.at(spec.name)) + ": tensor '" + spec.name + "'";
    if (view.shape != spec.shape) {
      throw Error(tensor + " has shape " + shape_text(view.shape) + "; config.json asks for " + shape_text(spec.shape));
    }
    if (!is_floating(view.dtype)) {
      throw Error(tensor + " has dtype " + dtype_name(view.dtype) + "; weights must be F64, F32, F16 or BF16");
    }
  }
}

void Checkpoint::check_finite() const {
  for (const auto& [name, view] : tensors_) {
    const auto index = first_nonfinite(view.dtype, view.bytes);
    if (!index) continue;
    const double value = element_as_double(view.dtype, view.bytes, *index);
    throw Error(printable(file_of_.at(name)) + ": tensor '" + name + "' holds " +
                (std::isnan(value) ? "NaN"
                 : value > 0       ? "inf"
                                   : "-inf") +
                " at element " + std::to_string(*index));
  }
}

std::vector<std::string> Checkpoint::file_hashes() const {
  std::vector<std::string> hashes = {sha256_file(files_.config_path)};
  for (const std::string& path : files_.weight_paths) hashes.push_back(sha256_file(path));
  return hashes;
}

std::string Checkpoint::identity(const std::vector<std::string>& file_hashes) {
  std::string text;
  for (const std::string& hash : file_hashes) text += (text.empty() ? "config " : "weights ") + hash + "\n";
  return sha256_hex(text);
}

}  // namespace lenbench
