// AdamW on ATen's fused kernel.
#include "train/optimizer.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>

namespace lenbench {

AdamW::AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, const RecipeOptimizer& settings)
    : settings_(settings) {
  for (const auto& [name, parameter] : parameters) {
    names_.push_back(name);
    parameters_.push_back(parameter);
    means_.push_back(at::zeros_like(parameter.detach()));
    squares_.push_back(at::zeros_like(parameter.detach()));
    steps_.push_back(at::zeros({}, parameter.detach().options().dtype(at::kFloat)));
  }
}

double AdamW::gradient_norm() const {
  double sum = 0;
  for (const at::Tensor& parameter : parameters_) {
    if (!parameter.grad().defined()) continue;
    const double norm = parameter.grad().norm().item<double>();
    sum += norm * norm;
  }
  return std::sqrt(sum);
}

void AdamW::step(double learning_rate, double norm) {
  const c10::NoGradGuard no_grad;
  const double scale = norm > settings_.clip_norm ? settings_.clip_norm / norm : 1.0;
  std::vector<at::Tensor> parameters, gradients, means, squares, steps;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const at::Tensor gradient = parameters_[i].grad();
    if (!gradient.defined()) continue;
    if (scale != 1.0) gradient.mul_(scale);
    steps_[i].fill_(static_cast<double>(updates_ + 1));
    parameters.push_back(parameters_[i].detach());
    gradients.push_back(gradient);
    means.push_back(means_[i]);
    squares.push_back(squares_[i]);
    steps.push_back(steps_[i]);
  }
  at::_fused_adamw_(parameters, gradients, means, squares, /*max_exp_avg_sqs=*/{}, steps, learning_rate,
                    settings_.beta1, settings_.beta2, settings_.weight_decay, settings_.epsilon, /*amsgrad=*/false,
                    /*maximize=*/false);
  ++updates_;
  for (const at::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> state;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    state["parameter/" + names_[i]] = parameters_[i].detach();
    state["mean/" + names_[i]] = means_[i];
    state["square/" + names_[i]] = squares_[i];
  }
  return state;
}

void AdamW::set_updates(std::int64_t updates) { updates_ = updates; }

}  // namespace lenbench
