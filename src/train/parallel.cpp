// Gradients travel as one flat tensor.
#include "train/parallel.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

namespace lenbench {

void Parallel::sum(std::vector<double>& values) const {
  if (exchange_ == nullptr) return;
  exchange_->sum(at::from_blob(values.data(), {std::ssize(values)}, at::kDouble));
}

void Parallel::broadcast(std::vector<double>& values) const {
  if (exchange_ == nullptr) return;
  exchange_->broadcast(at::from_blob(values.data(), {std::ssize(values)}, at::kDouble));
}

void Parallel::broadcast(const std::map<std::string, at::Tensor>& tensors) const {
  if (exchange_ == nullptr) return;
  for (const auto& [name, tensor] : tensors) exchange_->broadcast(tensor);
}

void Parallel::reduce(const std::vector<std::pair<std::string, at::Tensor>>& parameters, StepSums& sums) const {
  const c10::NoGradGuard no_grad;
  std::vector<double> values = {sums.nats, sums.right, sums.judged, sums.stops};
  for (const auto& [name, parameter] : parameters) values.push_back(parameter.grad().defined() ? 1 : 0);
  sum(values);
  sums = {values[0], values[1], values[2], values[3]};

  std::vector<at::Tensor> flat;
  for (const auto& [name, parameter] : parameters) {
    const at::Tensor& gradient = parameter.grad();
    flat.push_back(gradient.defined() ? gradient.reshape({-1}) : at::zeros({parameter.numel()}, parameter.options()));
  }
  at::Tensor all = at::cat(flat);
  exchange_->sum(all);
  all.div_(sums.judged);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i].second;
    if (values[4 + i] > 0) {
      parameter.mutable_grad() = all.slice(0, first, first + parameter.numel()).view(parameter.sizes()).clone();
    }
    first += parameter.numel();
  }
}

}  // namespace lenbench
