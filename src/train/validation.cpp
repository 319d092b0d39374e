// Judged rows, and shares of them that are right.
#include "train/validation.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cstring>

namespace lenbench {

namespace {

constexpr std::int64_t kValidationBatch = 64;

at::Tensor tensor_of(const std::vector<std::int64_t>& values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::memcpy(tensor.mutable_data_ptr(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

}  // namespace

Judged judge(const SequenceModel& model, const TrainBatch& batch) {
  const at::Device device = model.parameters().front().second.device();
  const at::Tensor tokens_BT = tensor_of(batch.ids).view({batch.rows, batch.tokens}).to(device);
  return {model.forward(tokens_BT, tensor_of(batch.scored_flat).to(device)), tensor_of(batch.targets).to(device)};
}

at::Tensor right_rows(const Judged& judged) { return judged.logits_NV.argmax(-1).eq(judged.targets_N); }

Validation validate(const SequenceModel& model, const std::vector<Sample>& samples, const Parallel& parallel) {
  const c10::NoGradGuard no_grad;
  double right = 0, exact = 0, nats = 0, count = 0;
  for (std::size_t first = 0; first < samples.size(); first += kValidationBatch) {
    if (first / kValidationBatch % static_cast<std::size_t>(parallel.world()) !=
        static_cast<std::size_t>(parallel.rank()))
      continue;
    const std::size_t last = std::min(samples.size(), first + kValidationBatch);
    const Judged judged = judge(model, pack({samples.begin() + static_cast<std::ptrdiff_t>(first),
                                             samples.begin() + static_cast<std::ptrdiff_t>(last)}));
    const auto tokens = static_cast<double>(judged.targets_N.numel());
    const at::Tensor rows = right_rows(judged).cpu().contiguous();
    const bool* row = rows.const_data_ptr<bool>();
    for (std::size_t i = first; i < last; ++i) {
      const std::ptrdiff_t judged_rows = std::ssize(samples[i].scored);
      exact += std::all_of(row, row + judged_rows, [](bool is_right) { return is_right; }) ? 1 : 0;
      right += static_cast<double>(std::count(row, row + judged_rows, true));
      row += judged_rows;
    }
    nats += at::cross_entropy_loss(judged.logits_NV, judged.targets_N).item<double>() * tokens;
    count += tokens;
  }
  std::vector<double> sums = {right, exact, nats, count};
  parallel.sum(sums);
  return {sums[0] / sums[3], sums[1] / static_cast<double>(samples.size()), sums[2] / sums[3]};
}

}  // namespace lenbench
