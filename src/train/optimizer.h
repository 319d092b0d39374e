// AdamW over named parameters, with state that can be saved and restored bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "train/recipe.h"

namespace lenbench {

class AdamW {
 public:
  // Parameters by name; each requires a gradient. The tensors are shared with the model and updated in place.
  AdamW(const std::vector<std::pair<std::string, at::Tensor>>& parameters, const RecipeOptimizer& settings);

  // Global L2 norm of the gradients; NaN or infinity when one of them is not finite.
  double gradient_norm() const;
  // One update (decoupled weight decay, Loshchilov and Hutter 2019, algorithm 2) with gradients scaled so that their
  // norm is at most clip_norm; clears the gradients. `norm` is what gradient_norm() returned.
  void step(double learning_rate, double norm);

  // Parameters and both moments by name: "parameter/NAME", "mean/NAME", "square/NAME". Shares storage.
  std::map<std::string, at::Tensor> state() const;
  // Number of updates made; part of the state that the caller keeps beside the tensors.
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates);

 private:
  RecipeOptimizer settings_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, means_, squares_, steps_;
  std::int64_t updates_ = 0;
};

}  // namespace lenbench
