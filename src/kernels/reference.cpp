// Softmax, alpha-entmax and attention on materialised rows in double precision.
#include "kernels/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lenbench::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> head_scores(const ReferenceHead& head, std::int64_t row) {
  const std::int64_t visible = head.visible[static_cast<std::size_t>(row)];
  std::vector<double> scores(static_cast<std::size_t>(visible));
  for (std::int64_t j = 0; j < visible; ++j) {
    double dot = 0;
    for (std::int64_t c = 0; c < head.head_size; ++c)
      dot += head.q[static_cast<std::size_t>(row * head.head_size + c)] *
             head.k[static_cast<std::size_t>(j * head.head_size + c)];
    scores[static_cast<std::size_t>(j)] = dot - head.slope * static_cast<double>(visible - 1 - j);
  }
  return scores;
}

// Threshold of the scores relative to (alpha - 1) * max, in [-1, 0].
double shifted_threshold(std::span<const double> scores, double top, double alpha) {
  const double beta = 1 / (alpha - 1);
  double low = -1, high = 0;
  for (int step = 0; step < 200; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    double sum = 0;
    for (const double s : scores) {
      const double x = (alpha - 1) * (s - top) - middle;
      if (x > 0) sum += std::pow(x, beta);
    }
    (sum >= 1 ? low : high) = middle;
  }
  return low;
}

}  // namespace

ReferenceRow reference_row(std::span<const double> scores, double alpha) {
  ReferenceRow row;
  row.p.assign(scores.size(), 0.0);
  double top = -kInfinity;
  for (const double s : scores) top = std::isnan(s) || std::isnan(top) ? NAN : std::max(top, s);
  if (top == -kInfinity) return row;
  if (!std::isfinite(top)) {
    std::fill(row.p.begin(), row.p.end(), NAN);
    row.threshold = row.entropy = row.sink = row.top = NAN;
    row.support = -1;
    return row;
  }
  if (alpha == 1) {
    for (std::size_t j = 0; j < scores.size(); ++j) row.p[j] = std::exp(scores[j] - top);
  } else {
    const double threshold = shifted_threshold(scores, top, alpha);
    row.threshold = threshold + (alpha - 1) * top;
    for (std::size_t j = 0; j < scores.size(); ++j)
      row.p[j] = std::pow(std::max((alpha - 1) * (scores[j] - top) - threshold, 0.0), 1 / (alpha - 1));
  }
  double sum = 0;
  for (const double p : row.p) sum += p;
  if (alpha == 1) row.threshold = top + std::log(sum);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    row.p[j] /= sum;
    row.support += alpha == 1 ? (scores[j] > -kInfinity ? 1 : 0) : (row.p[j] > 0 ? 1 : 0);
    row.entropy -= row.p[j] > 0 ? row.p[j] * std::log(row.p[j]) : 0;
    row.top = std::max(row.top, row.p[j]);
  }
  row.sink = row.p[0];
  return row;
}

ReferenceRow reference_topk_row(std::span<const double> scores, std::int64_t topk) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool finite = std::none_of(scores.begin(), scores.end(), [](double s) { return !(s < kInfinity); });
  if (!finite || std::ssize(scores) <= topk) return reference_row(scores, 1);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(static_cast<std::size_t>(topk));
  std::vector<double> kept(scores.size(), -kInfinity);
  for (const std::size_t j : order) kept[j] = scores[j];
  ReferenceRow row = reference_row(kept, 1);
  row.threshold = scores[order.back()];
  return row;
}

ReferenceRowGradient reference_row_gradient(std::span<const double> scores, double alpha, std::span<const double> dp) {
  const ReferenceRow row = reference_row(scores, alpha);
  ReferenceRowGradient gradient;
  gradient.ds.assign(scores.size(), 0.0);
  double u_sum = 0, udp_sum = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!(row.p[j] > 0)) continue;
    const double u = std::pow(row.p[j], 2 - alpha);
    u_sum += u;
    udp_sum += u * dp[j];
  }
  if (u_sum == 0) return gradient;
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (row.p[j] > 0) gradient.ds[j] = std::pow(row.p[j], 2 - alpha) * (dp[j] - udp_sum / u_sum);
  if (alpha == 1) {
    double square = 0;
    for (const double p : row.p) square += p > 0 ? p * std::log(p) * std::log(p) : 0;
    for (std::size_t j = 0; j < scores.size(); ++j)
      if (row.p[j] > 0) gradient.dalpha += dp[j] * row.p[j] * (square - std::log(row.p[j]) * std::log(row.p[j])) / 2;
    return gradient;
  }
  // With x = (alpha-1) s - tau: d ln p_j = -ln x_j / (alpha-1)^2 + (s_j - dtau) / ((alpha-1) x_j), dtau from sum dp =
  // 0.
  const double e = alpha - 1, top = *std::max_element(scores.begin(), scores.end());
  double numerator = 0, denominator = 0;
  std::vector<double> own(scores.size(), 0.0), pull(scores.size(), 0.0);
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!(row.p[j] > 0)) continue;
    const double x = std::pow(row.p[j], e);
    own[j] = row.p[j] * (-std::log(x) / (e * e) + (scores[j] - top) / (e * x));
    pull[j] = row.p[j] / (e * x);
    numerator += own[j];
    denominator += pull[j];
  }
  for (std::size_t j = 0; j < scores.size(); ++j)
    gradient.dalpha += dp[j] * (own[j] - pull[j] * numerator / denominator);
  return gradient;
}

ReferenceForward reference_forward(const ReferenceHead& head) {
  ReferenceForward forward;
  forward.out.assign(static_cast<std::size_t>(head.rows * head.head_size), 0.0);
  for (std::int64_t r = 0; r < head.rows; ++r) {
    const std::vector<double> scores = head_scores(head, r);
    forward.rows.push_back(head.topk > 0 ? reference_topk_row(scores, head.topk) : reference_row(scores, head.alpha));
    const std::vector<double>& p = forward.rows.back().p;
    for (std::size_t j = 0; j < p.size(); ++j)
      for (std::int64_t c = 0; c < head.head_size; ++c)
        forward.out[static_cast<std::size_t>(r * head.head_size + c)] +=
            p[j] * head.v[j * static_cast<std::size_t>(head.head_size) + static_cast<std::size_t>(c)];
  }
  return forward;
}

ReferenceBackward reference_backward(const ReferenceHead& head, std::span<const double> dout) {
  const auto size = static_cast<std::size_t>(head.head_size);
  ReferenceBackward backward;
  backward.dq.assign(head.q.size(), 0.0);
  backward.dk.assign(head.k.size(), 0.0);
  backward.dv.assign(head.v.size(), 0.0);
  for (std::int64_t r = 0; r < head.rows; ++r) {
    const std::vector<double> scores = head_scores(head, r);
    const std::size_t q = static_cast<std::size_t>(r) * size;
    const ReferenceRow row = reference_row(scores, head.alpha);
    std::vector<double> dp(scores.size(), 0.0);
    for (std::size_t j = 0; j < scores.size(); ++j)
      for (std::size_t c = 0; c < size; ++c) {
        dp[j] += dout[q + c] * head.v[j * size + c];
        backward.dv[j * size + c] += row.p[j] * dout[q + c];
      }
    const ReferenceRowGradient gradient = reference_row_gradient(scores, head.alpha, dp);
    backward.dalpha += gradient.dalpha;
    for (std::size_t j = 0; j < scores.size(); ++j) {
      backward.dslope -= gradient.ds[j] * static_cast<double>(scores.size() - 1 - j);
      for (std::size_t c = 0; c < size; ++c) {
        backward.dq[q + c] += gradient.ds[j] * head.k[j * size + c];
        backward.dk[j * size + c] += gradient.ds[j] * head.q[q + c];
      }
    }
  }
  return backward;
}

}  // namespace lenbench::kernels
