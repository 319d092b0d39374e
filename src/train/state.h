// What a training run leaves on disk: one state file to go on from, and a log in JSON lines.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace lenbench {

// Where a run stands, besides its tensors.
struct TrainPosition {
  std::int64_t step = 0;      // steps done
  std::uint64_t seed = 0;     // of the current attempt
  std::int64_t attempts = 1;  // seeds tried, this one included
  double seconds = 0;         // spent so far
  std::string recipe_sha256;  // of the resolved recipe
};

// Writes FOLDER/train_state.safetensors in one atomic step. Throws Error(kNotMeasured) when it cannot.
void save_train_state(const std::string& folder, const TrainPosition& position,
                      const std::map<std::string, at::Tensor>& tensors);
// Copies the saved tensors into `tensors` (same names and shapes, else Error) and returns the position.
TrainPosition load_train_state(const std::string& folder, std::map<std::string, at::Tensor>& tensors);
// The position alone; none when there is no state.
std::optional<TrainPosition> peek_train_state(const std::string& folder);
void remove_train_state(const std::string& folder);

// FOLDER/train_log.jsonl. Each line has "step"; lines after `keep_until_step` are dropped on opening, because the steps
// they speak of are going to be made again.
class TrainLog {
 public:
  TrainLog(const std::string& folder, std::int64_t keep_until_step);
  void append(const nlohmann::ordered_json& line);

 private:
  std::string path_;
};

}  // namespace lenbench
