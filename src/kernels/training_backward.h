// Backward of training.h: gradients of scores from the saved weights alone.
#pragma once

#include "kernels/training.h"

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {

// u = p^(2 - alpha) on the support, 0 elsewhere: the derivative of a weight by its own score at a fixed threshold.
// A NaN weight gives NaN.
template <typename T, Shape kShape>
inline Vec<T> weight_slope(Vec<T> p, T alpha) {
  if constexpr (kShape == Shape::kSoftmax) return p;
  if constexpr (kShape == Shape::kSquare) return root(p);
  Vec<T> u;
  const Vec<T> none = p - p;
  if constexpr (kShape == Shape::kLinear)
    u = splat<T>(1);
  else
    u = exp<T>(log<T>(larger(p, splat<T>(Simd<T>::kTiny))) * (2 - alpha));
  return select(p > Vec<T>{}, u, none);
}

// (e^a - 1 - a) / a^2 for a >= 0.
template <typename T>
inline Vec<T> exp_remainder(Vec<T> a) {
  constexpr int kTerms = sizeof(T) == 4 ? 9 : 17;
  Vec<T> series = splat<T>(1);
#pragma GCC unroll 18
  for (int k = kTerms; k >= 1; --k) series = series * a * (T(1) / (k + 2)) + T(1);
  const Vec<T> large = larger(a, splat<T>(1));
  const Vec<T> direct = (exp<T>(large) - T(1) - large) / (large * large);
  return select(a < splat<T>(1), series * T(0.5), direct);
}

// d(loss)/d(alpha) of each lane's row, summed, from the cancellation-free form. With a = -e ln p, L = ln p and
// phi' = (e^a - 1 - a) / e^2 = L^2 (e^a - 1 - a) / a^2, which stays finite at e = alpha - 1 = 0:
//   dp_j/dalpha = p_j [Phi' (1 + a_j) - phi'_j (1 + e H)] / (1 + e H + e^2 Phi').
// The upstream gradient may be shifted by any constant, as the derivatives sum to 0; `shift` takes its mean out.
template <typename T>
inline double alpha_gradient(const TrainTile<T>& tile, const T* weights, const T* upstream, const Vec<T> (&shift)[2],
                             T e) {
  LaneSum<T> entropy, phi_sum, a0, a1, a2;
  for_keys<T>(
      tile.most,
      [&](std::int64_t j, int g) {
        const std::int64_t at = j * kTileRows<T> + g * kLanes<T>;
        const Vec<T> p = load<T>(weights + at);
        const Vec<T> d = p * (load<T>(upstream + at) - shift[g]);
        const Vec<T> ln = log<T>(larger(p, splat<T>(Simd<T>::kTiny)));
        const Vec<T> a = larger(ln * -e, Vec<T>{});
        const Vec<T> phi = ln * ln * exp_remainder<T>(a);
        entropy.part[g] -= p * ln;
        phi_sum.part[g] += p * phi;
        a0.part[g] += d;
        a1.part[g] += a * d;
        a2.part[g] += phi * d;
      },
      entropy, phi_sum, a0, a1, a2);
  double total = 0;
  for (int i = 0; i < tile.used; ++i) {
    if (tile.visible[i] == 0) continue;
    const double spread = 1 + static_cast<double>(e) * entropy.total[i];
    total += (phi_sum.total[i] * (a0.total[i] + a1.total[i]) - spread * a2.total[i]) /
             (spread + static_cast<double>(e) * static_cast<double>(e) * phi_sum.total[i]);
  }
  return total;
}

// Turns gradients of weights into gradients of scores in place; `mean` receives delta = sum u dp / sum u.
template <typename T, Shape kShape>
inline void score_gradients(const TrainHead<T>& head, const TrainTile<T>& tile, const T* weights, T* gradients,
                            Vec<T> (&mean)[2]) {
  const T alpha = static_cast<T>(head.alpha);
  LaneSum<T> u_sum, udp_sum;
  for_keys<T>(
      tile.most,
      [&](std::int64_t j, int g) {
        const std::int64_t at = j * kTileRows<T> + g * kLanes<T>;
        const Vec<T> u = weight_slope<T, kShape>(load<T>(weights + at), alpha);
        u_sum.part[g] += u;
        udp_sum.part[g] += u * load<T>(gradients + at);
      },
      u_sum, udp_sum);
  for (int g = 0; g < 2; ++g) {
    const Vec<T> sum = u_sum.vector(g);
    mean[g] = select(sum == Vec<T>{}, Vec<T>{}, udp_sum.vector(g) / sum);
  }
  for_keys<T>(tile.most, [&](std::int64_t j, int g) {
    const std::int64_t at = j * kTileRows<T> + g * kLanes<T>;
    const Vec<T> u = weight_slope<T, kShape>(load<T>(weights + at), alpha);
    const Vec<T> ds = u * (load<T>(gradients + at) - mean[g]);
    store<T>(gradients + at, select(tile.seen[g] > splat<T>(static_cast<T>(j)), ds, Vec<T>{}));
  });
}

template <typename T>
inline void score_gradients(const TrainHead<T>& head, const TrainTile<T>& tile, const TrainGradient<T>& gradient,
                            const T* weights, T* gradients) {
  Vec<T> mean[2];
  const Normalizer<T> norm = make_normalizer<T>(head.alpha);
  if (gradient.dalpha) {
    // Any shift is right; the weighted mean keeps the sums small.
    LaneSum<T> sum;
    for_keys<T>(
        tile.most,
        [&](std::int64_t j, int g) {
          const std::int64_t at = j * kTileRows<T> + g * kLanes<T>;
          sum.part[g] += load<T>(weights + at) * load<T>(gradients + at);
        },
        sum);
    const Vec<T> shift[2] = {sum.vector(0), sum.vector(1)};
    *gradient.dalpha += alpha_gradient<T>(tile, weights, gradients, shift, static_cast<T>(head.alpha - 1));
  }
  switch (norm.shape) {
    case Shape::kSoftmax:
      return score_gradients<T, Shape::kSoftmax>(head, tile, weights, gradients, mean);
    case Shape::kSquare:
      return score_gradients<T, Shape::kSquare>(head, tile, weights, gradients, mean);
    case Shape::kLinear:
      return score_gradients<T, Shape::kLinear>(head, tile, weights, gradients, mean);
    case Shape::kPower:
      return score_gradients<T, Shape::kPower>(head, tile, weights, gradients, mean);
  }
}

template <typename T>
inline double slope_gradient(const TrainTile<T>& tile, const T* gradients) {
  LaneSum<T> sum;
  for_keys<T>(
      tile.most,
      [&](std::int64_t j, int g) {
        sum.part[g] += load<T>(gradients + j * kTileRows<T> + g * kLanes<T>) * (tile.seen[g] - static_cast<T>(j + 1));
      },
      sum);
  double total = 0;
  for (int i = 0; i < tile.used; ++i) total -= sum.total[i];
  return total;
}

template <typename T>
inline void backward_head(const TrainHead<T>& head, const TrainGradient<T>& gradient, void* memory) {
  const TrainScratch<T> scratch(memory, head.keys, head.head_size);
  const std::int64_t padded = padded_channels<T>(head.head_size);
  const T* weights = head.saved;
  for (std::int64_t first = 0; first < head.rows; first += kTileRows<T>) {
    const TrainTile<T> tile = train_tile<T>(head, first);
    const T* dout = gradient.dout + first * gradient.dout_stride;
    to_lanes<T>(dout, gradient.dout_stride, tile.used, head.head_size, scratch.dout_lanes);
    to_padded_rows<T>(dout, gradient.dout_stride, tile.used, head.head_size, scratch.dout_rows);
    for (int i = 0; i < tile.used; ++i) {
      if (tile.visible[i] > 0) continue;
      for (std::int64_t c = 0; c < head.head_size; ++c)
        scratch.dout_lanes[c * kTileRows<T> + i] = scratch.dout_rows[i * padded + c] = 0;
    }
    multiply<T>(tile.most, kTileRows<T>, head.head_size, {head.v, head.v_stride, 1}, scratch.dout_lanes, kTileRows<T>,
                scratch.gradients, kTileRows<T>, false);
    if (gradient.dv)
      multiply<T>(tile.most, padded, tile.used, {weights, kTileRows<T>, 1}, scratch.dout_rows, padded, gradient.dv,
                  padded, true);
    score_gradients<T>(head, tile, gradient, weights, scratch.gradients);
    if (gradient.dq) {
      multiply<T>(head.head_size, kTileRows<T>, tile.most, {head.k, 1, head.k_stride}, scratch.gradients, kTileRows<T>,
                  scratch.result_lanes, kTileRows<T>, false);
      from_lanes<T>(scratch.result_lanes, tile.used, head.head_size, gradient.dq + first * gradient.dq_stride,
                    gradient.dq_stride);
    }
    if (gradient.dk) {
      to_padded_rows<T>(head.q + first * head.q_stride, head.q_stride, tile.used, head.head_size, scratch.q_rows);
      multiply<T>(tile.most, padded, tile.used, {scratch.gradients, kTileRows<T>, 1}, scratch.q_rows, padded,
                  gradient.dk, padded, true);
    }
    if (gradient.dslope) *gradient.dslope += slope_gradient<T>(tile, scratch.gradients);
    weights += tile.most * kTileRows<T>;
  }
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
