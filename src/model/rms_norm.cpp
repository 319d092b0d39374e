// RMSNorm with one pass forward and one backward on the CPU; plain ATen elsewhere and in bfloat16.
#include "model/rms_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <array>
#include <cmath>

namespace lenbench {
namespace {

// Rows per work item: fixed, so that the sums over rows do not depend on the number of threads.
constexpr std::int64_t kBlockRows = 256;
constexpr std::int64_t kLanes = 16;

// Partial sums by lane let the compiler vectorise without reordering anything.
template <class T, class Term>
T lane_sum(std::int64_t width, Term term) {
  std::array<T, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (; i < width; ++i) lanes[i % kLanes] += term(i);
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

template <class T>
void forward_rows(const T* x, const T* weight, T* y, T* inverse_rms, std::int64_t rows, std::int64_t width, double eps,
                  double offset) {
  at::parallel_for(0, rows, kBlockRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const T* in = x + r * width;
      T* out = y + r * width;
      const T sum = lane_sum<T>(width, [&](std::int64_t i) { return in[i] * in[i]; });
      const T scale = T(1) / std::sqrt(sum / static_cast<T>(width) + static_cast<T>(eps));
      inverse_rms[r] = scale;
      for (std::int64_t i = 0; i < width; ++i) out[i] = in[i] * scale * (static_cast<T>(offset) + weight[i]);
    }
  });
}

// dx = s (g' - x s^2 mean(g' x)) with g' = g (offset + w), s = 1/rms; dw = sum over rows of g x s.
template <class T>
void backward_rows(const T* x, const T* weight, const T* inverse_rms, const T* grad_y, T* grad_x, T* grad_weight_blocks,
                   std::int64_t rows, std::int64_t width, double offset) {
  const std::int64_t num_blocks = (rows + kBlockRows - 1) / kBlockRows;
  at::parallel_for(0, num_blocks, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    for (std::int64_t block = first_block; block < last_block; ++block) {
      T* grad_weight = grad_weight_blocks + block * width;
      const std::int64_t end = std::min(rows, (block + 1) * kBlockRows);
      for (std::int64_t r = block * kBlockRows; r < end; ++r) {
        const T* in = x + r * width;
        const T* grad = grad_y + r * width;
        T* out = grad_x + r * width;
        const T scale = inverse_rms[r];
        const T dot =
            lane_sum<T>(width, [&](std::int64_t i) { return grad[i] * (static_cast<T>(offset) + weight[i]) * in[i]; });
        const T shared = scale * scale * dot / static_cast<T>(width);
        for (std::int64_t i = 0; i < width; ++i) {
          out[i] = scale * (grad[i] * (static_cast<T>(offset) + weight[i]) - in[i] * shared);
          grad_weight[i] += grad[i] * in[i] * scale;
        }
      }
    }
  });
}

struct Normalised {
  at::Tensor y, inverse_rms;
};

Normalised run_forward(const at::Tensor& x, const at::Tensor& weight_E, double eps, double offset) {
  const std::int64_t width = x.size(-1), rows = width == 0 ? 0 : x.numel() / width;
  Normalised result{at::empty_like(x), at::empty({rows}, x.options())};
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm", [&] {
    forward_rows(x.const_data_ptr<scalar_t>(), weight_E.const_data_ptr<scalar_t>(),
                 result.y.mutable_data_ptr<scalar_t>(), result.inverse_rms.mutable_data_ptr<scalar_t>(), rows, width,
                 eps, offset);
  });
  return result;
}

struct RmsNormFunction : torch::autograd::Function<RmsNormFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight_E,
                            double eps, double offset) {
    const Normalised result = run_forward(x, weight_E, eps, offset);
    context->saved_data["offset"] = offset;
    context->save_for_backward({x, weight_E, result.inverse_rms});
    return result.y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight_E = saved[1], &inverse_rms = saved[2];
    const at::Tensor grad_y = grads[0].contiguous();
    const std::int64_t width = x.size(-1), rows = inverse_rms.size(0);
    at::Tensor grad_x = at::empty_like(x);
    at::Tensor grad_weight = at::zeros({(rows + kBlockRows - 1) / kBlockRows, width}, x.options());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "rms_norm_backward", [&] {
      backward_rows(x.const_data_ptr<scalar_t>(), weight_E.const_data_ptr<scalar_t>(),
                    inverse_rms.const_data_ptr<scalar_t>(), grad_y.const_data_ptr<scalar_t>(),
                    grad_x.mutable_data_ptr<scalar_t>(), grad_weight.mutable_data_ptr<scalar_t>(), rows, width,
                    context->saved_data["offset"].toDouble());
    });
    return {grad_x, grad_weight.sum(0), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight_E, double eps, double offset) {
  if (!x.is_cpu() || x.scalar_type() == at::kBFloat16) {
    // Squares and their mean need more than bfloat16's 8 bits.
    const at::Tensor wide = x.scalar_type() == at::kBFloat16 ? x.to(at::kFloat) : x;
    const at::Tensor normal = wide * (wide.square().mean(-1, true) + eps).rsqrt();
    return (normal * (weight_E.to(wide.scalar_type()) + offset)).to(x.scalar_type());
  }
  if (at::GradMode::is_enabled() && (x.requires_grad() || weight_E.requires_grad())) {
    return RmsNormFunction::apply(x.contiguous(), weight_E.contiguous(), eps, offset);
  }
  return run_forward(x.contiguous(), weight_E.contiguous(), eps, offset).y;
}

}  // namespace lenbench
