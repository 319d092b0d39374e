// alpha-entmax of materialised rows of scores with its analytic gradient (paper.md 1.1; docs/kernels.md).
// Letters: B rows of a batch, H heads, Q queries, K keys.
#pragma once

#include <ATen/core/Tensor.h>

namespace lenbench {

// Weights [B, H, Q, K] in the scores' type; a masked key has score -inf and gets exactly 0, a row of -inf alone gives
// 0, a row with a NaN gives NaN. alpha_minus_one_H is [H] in (0, 1]. The threshold is solved in double, whatever the
// scores' type. Differentiable in the scores and in alpha_minus_one_H.
at::Tensor entmax_rows(const at::Tensor& scores_BHQK, const at::Tensor& alpha_minus_one_H);

}  // namespace lenbench
