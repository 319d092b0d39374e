// Saving and restoring a training run.
#include "train/state.h"

#include <ATen/Functions.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/numbers.h"
#include "bench/backend.h"
#include "checkpoint/safetensors.h"

namespace lenbench {
namespace {

std::string state_path(const std::string& folder) { return folder + "/train_state.safetensors"; }

Dtype stored_dtype(const at::Tensor& tensor) { return tensor.scalar_type() == at::kDouble ? Dtype::kF64 : Dtype::kF32; }

std::string metadata_value(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) {
    throw Error(file.path() + ": no '" + key + "' in its metadata: not a training state; remove it to start over");
  }
  return found->second;
}

TrainPosition position_of(const SafetensorsFile& file) {
  TrainPosition position;
  position.step = parse_int(metadata_value(file, "step"), file.path() + ": step");
  position.seed = static_cast<std::uint64_t>(parse_int(metadata_value(file, "seed"), file.path() + ": seed"));
  position.attempts = parse_int(metadata_value(file, "attempts"), file.path() + ": attempts");
  position.seconds = parse_real(metadata_value(file, "seconds"), file.path() + ": seconds");
  position.recipe_sha256 = metadata_value(file, "recipe_sha256");
  return position;
}

}  // namespace

void save_train_state(const std::string& folder, const TrainPosition& position,
                      const std::map<std::string, at::Tensor>& tensors) {
  std::map<std::string, TensorSource> sources;
  // Copies on the CPU live until all is written.
  std::map<std::string, at::Tensor> here;
  for (const auto& [name, tensor] : tensors) here[name] = tensor.cpu().contiguous();
  for (const auto& [name, tensor] : here) {
    const auto bytes = static_cast<std::size_t>(tensor.nbytes());
    sources[name] = {stored_dtype(tensor),
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(static_cast<const void*>(tensor.const_data_ptr())), bytes}};
  }
  write_safetensors(state_path(folder), sources,
                    {{"step", std::to_string(position.step)},
                     {"seed", std::to_string(position.seed)},
                     {"attempts", std::to_string(position.attempts)},
                     {"seconds", format_real(position.seconds)},
                     {"recipe_sha256", position.recipe_sha256}});
}

TrainPosition load_train_state(const std::string& folder, std::map<std::string, at::Tensor>& tensors) {
  const SafetensorsFile file(state_path(folder));
  for (auto& [name, tensor] : tensors) {
    const auto found = file.tensors().find(name);
    const std::string wanted = shape_text(tensor.sizes().vec());
    if (found == file.tensors().end() || found->second.dtype != stored_dtype(tensor) ||
        shape_text(found->second.shape) != wanted) {
      throw Error(file.path() + ": no " + dtype_name(stored_dtype(tensor)) + " tensor '" + name + "' of shape " +
                  wanted + ": the state belongs to another recipe; remove it to start over");
    }
    const at::Tensor here = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
    std::memcpy(here.mutable_data_ptr(), found->second.bytes.data(), found->second.bytes.size());
    tensor.copy_(here);
  }
  return position_of(file);
}

std::optional<TrainPosition> peek_train_state(const std::string& folder) {
  if (!std::filesystem::exists(state_path(folder))) return std::nullopt;
  return position_of(SafetensorsFile(state_path(folder)));
}

void remove_train_state(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove(state_path(folder), ignored);
}

TrainLog::TrainLog(const std::string& folder, std::int64_t keep_until_step) : path_(folder + "/" + kTrainingLogName) {
  if (!std::filesystem::exists(path_)) return;
  const std::string text = read_file(path_);
  std::string kept;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // a line cut off by a kill
    const std::string line = text.substr(begin, end - begin);
    const nlohmann::ordered_json json = parse_json(line, path_);
    if (json.value("step", std::int64_t{0}) <= keep_until_step) kept += line + "\n";
    begin = end + 1;
  }
  write_file_atomically(path_, kept);
}

void TrainLog::append(const nlohmann::ordered_json& line) {
  std::ofstream file(path_, std::ios::app | std::ios::binary);
  file << dump_json(line) << '\n';
  file.flush();
  if (!file)
    throw Error(path_ + ": cannot be written: free some space or choose another folder", ExitCode::kNotMeasured);
}

}  // namespace lenbench
