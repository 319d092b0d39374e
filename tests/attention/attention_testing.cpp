// Scalar attention by definition, and tensor helpers.
#include "attention_testing.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lenbench::testing {
namespace {

std::vector<double> softmax_by_definition(const std::vector<double>& scores) {
  const double top = *std::max_element(scores.begin(), scores.end());
  std::vector<double> p;
  for (double s : scores) p.push_back(std::exp(s - top));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

double entropy_by_definition(const std::vector<double>& p) {
  double sum = 0;
  for (double x : p) sum -= x > 0 ? x * std::log(x) : 0.0;
  return sum;
}

}  // namespace

std::vector<double> oracle_weights(const Normalizer& normalizer, double alpha, const std::vector<double>& scores) {
  switch (normalizer.kind) {
    case Normalizer::Kind::kSoftmax: {
      if (!normalizer.adaptive) return softmax_by_definition(scores);
      const double h = entropy_by_definition(softmax_by_definition(scores));
      const double polynomial = -0.037 * std::pow(h, 4) + 0.481 * std::pow(h, 3) - 2.3 * h * h + 4.917 * h - 1.791;
      std::vector<double> sharpened = scores;
      for (double& s : sharpened) s *= h > 0.5 ? std::max(polynomial, 1.0) : 1.0;
      return softmax_by_definition(sharpened);
    }
    case Normalizer::Kind::kTopK: {
      std::vector<std::size_t> order(scores.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
      order.resize(std::min(order.size(), static_cast<std::size_t>(normalizer.topk)));
      std::vector<double> kept;
      for (std::size_t j : order) kept.push_back(scores[j]);
      kept = softmax_by_definition(kept);
      std::vector<double> p(scores.size(), 0.0);
      for (std::size_t i = 0; i < order.size(); ++i) p[order[i]] = kept[i];
      return p;
    }
    case Normalizer::Kind::kEntmax:
      break;
  }
  const double top = (alpha - 1) * *std::max_element(scores.begin(), scores.end());
  const auto weight = [&](double s, double tau) {
    return std::pow(std::max((alpha - 1) * s - top - tau, 0.0), 1 / (alpha - 1));
  };
  double low = -1, high = 0;
  for (int i = 0; i < 200; ++i) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (double s : scores) sum += weight(s, tau);
    (sum >= 1 ? low : high) = tau;
  }
  std::vector<double> p;
  for (double s : scores) p.push_back(weight(s, low));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

OracleResult oracle_attend(const AttendRequest& request) {
  const at::Tensor q = request.q_BHQD.detach().to(at::kDouble).contiguous();
  const at::Tensor k = request.k_BGKD.detach().to(at::kDouble).contiguous();
  const at::Tensor v = request.v_BGKD.detach().to(at::kDouble).contiguous();
  const at::Tensor positions = request.positions_BQ.expand({q.size(0), q.size(2)}).contiguous();
  const at::Tensor excess = request.normalizer.alpha_minus_one_H.defined()
                                ? request.normalizer.alpha_minus_one_H.detach().to(at::kDouble).contiguous()
                                : at::Tensor();
  const auto q_at = q.accessor<double, 4>();
  const auto k_at = k.accessor<double, 4>();
  const auto v_at = v.accessor<double, 4>();
  const auto position_at = positions.accessor<std::int64_t, 2>();
  OracleResult result{at::zeros(q.sizes(), q.options()), std::vector<HeadStats>(static_cast<std::size_t>(q.size(1)))};
  auto out_at = result.out_BHQD.accessor<double, 4>();
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    for (std::int64_t h = 0; h < q.size(1); ++h) {
      const std::int64_t g = h / (q.size(1) / k.size(1));
      const double slope = request.slopes.empty() ? 0.0 : request.slopes[static_cast<std::size_t>(h)];
      const double alpha = excess.defined() ? 1 + element(excess, {h}) : request.normalizer.alpha;
      HeadStats& head = result.stats[static_cast<std::size_t>(h)];
      for (std::int64_t i = 0; i < q.size(2); ++i) {
        const std::int64_t position = position_at[b][i];
        if (position < 0) continue;
        const std::int64_t first = request.window > 0 ? std::max<std::int64_t>(0, position - request.window + 1) : 0;
        std::vector<double> scores;
        for (std::int64_t j = first; j <= position; ++j) {
          double dot = 0;
          for (std::int64_t d = 0; d < q.size(3); ++d) dot += q_at[b][h][i][d] * k_at[b][g][j][d];
          dot *= request.score_scale > 0 ? request.score_scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
          if (request.softcap > 0) dot = request.softcap * std::tanh(dot / request.softcap);
          scores.push_back(dot - slope * static_cast<double>(position - j));
        }
        std::vector<double> p = oracle_weights(request.normalizer, alpha, scores);
        p.insert(p.begin(), static_cast<std::size_t>(first), 0.0);
        for (std::int64_t j = 0; j <= position; ++j) {
          for (std::int64_t d = 0; d < q.size(3); ++d) {
            out_at[b][h][i][d] += p[static_cast<std::size_t>(j)] * v_at[b][g][j][d];
          }
        }
        const double entropy = entropy_by_definition(p);
        head.rows += 1;
        head.entropy += entropy;
        if (scores.size() > 1) {
          head.normalized_rows += 1;
          head.normalized_entropy += entropy / std::log(static_cast<double>(scores.size()));
        }
        head.support += static_cast<double>(std::count_if(p.begin(), p.end(), [](double x) { return x > 0; }));
        head.sink_mass += p[0];
        head.top_mass += *std::max_element(p.begin(), p.end());
        const std::int64_t source =
            request.source_keys_BQ.defined() ? request.source_keys_BQ[b][i].item<std::int64_t>() : -1;
        if (source < 0) continue;
        head.source_rows += 1;
        head.source_mass += p[static_cast<std::size_t>(source)];
      }
    }
  }
  return result;
}

at::Tensor random_normal(const std::vector<std::int64_t>& shape, std::uint64_t seed, at::ScalarType type) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn(shape, generator, at::TensorOptions(at::kDouble)).to(type);
}

at::Tensor position_range(std::int64_t count) { return at::arange(count, at::TensorOptions(at::kLong)).unsqueeze(0); }

at::Tensor ints(const std::vector<std::int64_t>& values) { return at::tensor(values, at::TensorOptions(at::kLong)); }

at::Tensor doubles(const std::vector<double>& values) { return at::tensor(values, at::TensorOptions(at::kDouble)); }

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.detach().to(at::kDouble) - b.detach().to(at::kDouble)).abs().max().item<double>();
}

double element(const at::Tensor& x, const std::vector<std::int64_t>& index) {
  at::Tensor part = x.detach();
  for (std::int64_t i : index) part = part.select(0, i);
  return part.item().toDouble();
}

void expect_stats_near(const std::vector<HeadStats>& got, const std::vector<HeadStats>& want, double tolerance,
                       const std::string& where) {
  ASSERT_EQ(got.size(), want.size()) << where;
  for (std::size_t h = 0; h < got.size(); ++h) {
    EXPECT_EQ(got[h].rows, want[h].rows) << where << " head " << h;
    EXPECT_EQ(got[h].normalized_rows, want[h].normalized_rows) << where << " head " << h;
    const double rows = std::max<double>(1.0, static_cast<double>(want[h].rows));
    EXPECT_NEAR(got[h].entropy / rows, want[h].entropy / rows, tolerance) << where << " head " << h;
    EXPECT_NEAR(got[h].normalized_entropy / rows, want[h].normalized_entropy / rows, tolerance) << where << " " << h;
    // One boundary key in a thousand rows may round to the other side in float.
    EXPECT_NEAR(got[h].support / rows, want[h].support / rows, 1e-3) << where << " head " << h;
    EXPECT_NEAR(got[h].sink_mass / rows, want[h].sink_mass / rows, tolerance) << where << " head " << h;
    EXPECT_NEAR(got[h].top_mass / rows, want[h].top_mass / rows, tolerance) << where << " head " << h;
    EXPECT_EQ(got[h].source_rows, want[h].source_rows) << where << " head " << h;
    EXPECT_NEAR(got[h].source_mass / rows, want[h].source_mass / rows, tolerance) << where << " head " << h;
  }
}

at::Tensor spread_sources(const AttendRequest& request) {
  const at::Tensor sources =
      at::empty({request.q_BHQD.size(0), request.q_BHQD.size(2)}, at::TensorOptions().dtype(at::kLong));
  for (std::int64_t b = 0; b < sources.size(0); ++b) {
    for (std::int64_t i = 0; i < sources.size(1); ++i) {
      const std::int64_t position = request.positions_BQ[b % request.positions_BQ.size(0)][i].item<std::int64_t>();
      sources[b][i].fill_(i % 3 == 0 ? -1 : i % 3 == 1 ? position : position / (b + 2));
    }
  }
  return sources;
}

AttendRequest Layer::request() const {
  const at::Tensor positions = position_range(q_BHTD.size(2));
  AttendRequest result;
  result.q_BHQD = position->rotate(q_BHTD, positions);
  result.k_BGKD = position->rotate(k_BGKD, positions);
  result.v_BGKD = v_BGKD;
  const at::Tensor scale_BHT = transform->query_scale(weights, hidden_BTE, positions);
  if (scale_BHT.defined()) result.q_BHQD = result.q_BHQD * scale_BHT.unsqueeze(-1);
  result.positions_BQ = positions;
  result.slopes = position->slopes();
  result.normalizer = transform->normalizer(weights);
  return result;
}

std::vector<std::pair<std::string, at::Tensor*>> Layer::leaves() {
  std::vector<std::pair<std::string, at::Tensor*>> result = {{"q", &q_BHTD}, {"k", &k_BGKD}, {"v", &v_BGKD}};
  for (auto& [name, tensor] : weights) result.emplace_back(name, &tensor);
  if (transform->spec().scale == "adapt-softplus-tanh" && !transform->scaled_heads().empty()) {
    result.emplace_back("hidden", &hidden_BTE);
  }
  return result;
}

Layer make_layer(const std::string& transform, const std::string& position, std::uint64_t seed, at::ScalarType type,
                 const LayerSizes& sizes) {
  PositionSpec spec;
  spec.name = position;
  spec.num_heads = sizes.heads;
  spec.head_dim = sizes.head_size;
  Layer layer;
  layer.position = make_position(spec);
  TransformSpec transform_spec_ = transform_spec(transform);
  if (transform_spec_.normalizer == Normalizer::Kind::kTopK) transform_spec_.topk = 3;
  layer.transform =
      std::make_unique<AttentionTransform>(transform_spec_, sizes.heads, sizes.hidden, layer.position->scaled_heads());
  at::Generator generator = at::detail::createCPUGenerator(seed);
  std::uint64_t stream = seed * 1000;
  for (const TransformParameter& parameter : layer.transform->parameters()) {
    at::Tensor value = at::empty(parameter.shape, at::TensorOptions(at::kDouble));
    fill_initial(value, parameter, generator);
    layer.weights[parameter.name] = (value + random_normal(parameter.shape, ++stream) * 0.3).to(type);
  }
  layer.hidden_BTE = random_normal({sizes.batch, sizes.tokens, sizes.hidden}, ++stream, type);
  layer.q_BHTD = random_normal({sizes.batch, sizes.heads, sizes.tokens, sizes.head_size}, ++stream, type);
  layer.k_BGKD = random_normal({sizes.batch, sizes.kv_heads, sizes.tokens, sizes.head_size}, ++stream, type);
  layer.v_BGKD = random_normal({sizes.batch, sizes.kv_heads, sizes.tokens, sizes.head_size}, ++stream, type);
  return layer;
}

bool has_kernel(const AttendRequest& request) { return uncovered_by_streaming(request).empty(); }

std::vector<AttentionPath> paths_of(const AttendRequest& request) {
  if (!has_kernel(request)) return {AttentionPath::kReference};
  return {AttentionPath::kReference, AttentionPath::kStreaming};
}

at::Tensor run(AttendRequest request, AttentionPath path) {
  request.path = path;
  return attend(request);
}

AttendRequest weights_request(const std::string& transform, const std::string& position, at::ScalarType type) {
  Layer layer =
      make_layer(transform, position, 11, type, {.batch = 2, .tokens = 12, .heads = 4, .kv_heads = 2, .head_size = 12});
  layer.v_BGKD = at::eye(12, layer.q_BHTD.options()).expand({2, 2, 12, 12});
  return layer.request();
}

}  // namespace lenbench::testing
