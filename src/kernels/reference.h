// Attention in double precision, slow and obvious: what every other kernel is checked against.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lenbench::kernels {

// One row of weights.
struct ReferenceRow {
  std::vector<double> p;     // sums to 1; all 0 when nothing is visible
  double threshold = 0;      // tau with p_j = max((alpha-1) s_j - tau, 0)^(1/(alpha-1)); for softmax ln(sum of e^s)
  double entropy = 0;        // nats
  std::int64_t support = 0;  // keys with p > 0; for softmax the visible keys
  double sink = 0, top = 0;  // p of key 0, largest p
};

// Softmax (alpha = 1) or alpha-entmax (1 < alpha <= 2) of scores; -infinity is a masked key. Entmax by bisection of
// the shifted threshold, 200 steps or until no double lies between the ends. A NaN or +infinity score makes every field
// NaN (support -1).
ReferenceRow reference_row(std::span<const double> scores, double alpha);

// Softmax of the `topk` largest scores, of equal ones those of lower keys. `threshold` is the least of them.
ReferenceRow reference_topk_row(std::span<const double> scores, std::int64_t topk);

struct ReferenceRowGradient {
  std::vector<double> ds;
  double dalpha = 0;
};

// Gradients of sum_j dp_j p_j(scores, alpha), by implicit differentiation of the threshold equation (the textbook form,
// exact in double down to alpha - 1 of about 1e-3; the limit at alpha = 1).
ReferenceRowGradient reference_row_gradient(std::span<const double> scores, double alpha, std::span<const double> dp);

// One head: q [rows, head_size] already scaled, k and v [keys, head_size], visible [rows]; other terms as in
// attention_kernels.h.
struct ReferenceHead {
  std::int64_t rows = 0, keys = 0, head_size = 0;
  std::vector<double> q, k, v;
  std::vector<std::int64_t> visible;
  double slope = 0, alpha = 1;
  std::int64_t topk = 0;
};

struct ReferenceForward {
  std::vector<double> out;         // [rows, head_size]
  std::vector<ReferenceRow> rows;  // p [visible]
};
ReferenceForward reference_forward(const ReferenceHead& head);

struct ReferenceBackward {
  std::vector<double> dq, dk, dv;
  double dslope = 0, dalpha = 0;
};
ReferenceBackward reference_backward(const ReferenceHead& head, std::span<const double> dout);

}  // namespace lenbench::kernels
