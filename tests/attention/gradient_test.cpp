// Gradients of every transform with every position encoding against central differences in double, on both paths.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "attention/attend.h"
#include "attention/entmax_rows.h"
#include "attention_testing.h"

namespace lenbench {
namespace {

using testing::Layer;
using testing::make_layer;

std::vector<std::string> transforms() {
  std::vector<std::string> names;
  for (const TransformInfo& info : transform_catalog()) names.push_back(info.name);
  return names;
}
std::vector<std::string> positions() {
  std::vector<std::string> names;
  for (const PositionInfo& info : position_catalog()) names.push_back(info.name);
  return names;
}

at::Tensor loss_of(const Layer& layer, AttentionPath path) {
  AttendRequest request = layer.request();
  request.path = path;
  const at::Tensor out = attend(request);
  return (out * testing::random_normal(out.sizes().vec(), 99)).sum();
}

// The derivative along random directions through every element of every input and parameter.
void expect_gradients(Layer& layer, AttentionPath path, const std::string& where) {
  for (auto& [name, leaf] : layer.leaves()) leaf->requires_grad_(true);
  loss_of(layer, path).backward();
  std::uint64_t seed = 500;
  for (auto& [name, leaf] : layer.leaves()) {
    ASSERT_TRUE(leaf->grad().defined()) << where << " " << name;
    const at::Tensor original = leaf->detach().clone();
    const at::Tensor gradient = leaf->grad();
    for (int direction = 0; direction < 2; ++direction) {
      const at::Tensor step = testing::random_normal(leaf->sizes().vec(), ++seed);
      const double analytic = (gradient * step).sum().item<double>();
      constexpr double kStep = 1e-5;
      at::NoGradGuard no_grad;
      const auto moved = [&](double size) {
        *leaf = original + step * size;
        leaf->requires_grad_(true);
        at::AutoGradMode record(path == AttentionPath::kStreaming);  // the double kernels are the training kernels
        return loss_of(layer, path).item<double>();
      };
      const double numeric = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(analytic, numeric, 2e-7 * std::max(1.0, std::abs(numeric))) << where << " " << name;
      *leaf = original;
    }
  }
}

class EveryGradient : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EveryGradient, MatchesCentralDifferences) {
  const auto& [transform, position] = GetParam();
  for (AttentionPath path : {AttentionPath::kReference, AttentionPath::kStreaming}) {
    Layer layer = make_layer(transform, position, 21);
    layer.q_BHTD.requires_grad_(true);
    if (path == AttentionPath::kStreaming && !uncovered_by_streaming(layer.request()).empty()) continue;
    expect_gradients(layer, path, path == AttentionPath::kReference ? "reference" : "streaming");
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryGradient,
                         ::testing::Combine(::testing::ValuesIn(transforms()), ::testing::ValuesIn(positions())),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Gradient, PathsAgreeInFloat) {
  for (const char* name : {"softmax", "asentmax-learned-alpha", "entmax-theta", "ssmax"}) {
    Layer reference = make_layer(name, "nape", 22, at::kFloat, {.tokens = 90});
    Layer streaming = make_layer(name, "nape", 22, at::kFloat, {.tokens = 90});
    for (auto& [leaf_name, leaf] : reference.leaves()) leaf->requires_grad_(true);
    for (auto& [leaf_name, leaf] : streaming.leaves()) leaf->requires_grad_(true);
    loss_of(reference, AttentionPath::kReference).backward();
    loss_of(streaming, AttentionPath::kStreaming).backward();
    const auto want = reference.leaves();
    const auto got = streaming.leaves();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double scale = want[i].second->grad().abs().max().item().toDouble();
      EXPECT_LT(testing::largest_difference(want[i].second->grad(), got[i].second->grad()), 1e-4 * scale + 1e-6)
          << name << " " << want[i].first;
    }
  }
}

TEST(Gradient, RowsThatSeeNothingGiveNone) {
  for (const char* name : {"softmax", "entmax-learned-alpha", "adaptive-temperature", "topk"}) {
    Layer layer = make_layer(name, "nape", 23, at::kDouble, {.tokens = 5});
    for (auto& [leaf_name, leaf] : layer.leaves()) leaf->requires_grad_(true);
    AttendRequest request = layer.request();
    request.positions_BQ = testing::ints({-1, 1, -1, 3, 4}).unsqueeze(0);
    attend(request).sum().backward();
    for (auto& [leaf_name, leaf] : layer.leaves()) {
      EXPECT_TRUE(leaf->grad().isfinite().all().item<bool>()) << name << " " << leaf_name;
    }
    EXPECT_EQ(layer.q_BHTD.grad().select(2, 0).abs().max().item<double>(), 0.0) << name;
    EXPECT_EQ(layer.q_BHTD.grad().select(2, 2).abs().max().item<double>(), 0.0) << name;
  }
}

// The textbook form of the alpha gradient is 270 % off at 1.0001 in float.
TEST(Gradient, AlphaGradientHoldsNearSoftmax) {
  for (double excess : {1e-4, 1e-2, 0.3, 0.5, 0.9}) {
    const at::Tensor scores = testing::random_normal({1, 1, 3, 20}, 24) * 2.0;
    const at::Tensor out_weights = testing::random_normal({1, 1, 3, 20}, 25);
    const auto loss = [&](double e) {
      const at::Tensor alpha = at::full({1}, e, at::TensorOptions(at::kDouble));
      return (entmax_rows(scores, alpha) * out_weights).sum().item<double>();
    };
    at::Tensor alpha = at::full({1}, excess, at::TensorOptions(at::kDouble));
    alpha.requires_grad_(true);
    (entmax_rows(scores, alpha) * out_weights).sum().backward();
    const double step = std::min(1e-3 * excess, 2e-5);  // keys that cross the threshold bend the curve
    const double numeric =
        (-loss(excess + 2 * step) + 8 * loss(excess + step) - 8 * loss(excess - step) + loss(excess - 2 * step)) /
        (12 * step);
    EXPECT_NEAR(alpha.grad().item<double>(), numeric, 1e-6 * std::max(1.0, std::abs(numeric))) << excess;
  }
}

// As alpha tends to 1 the gradient tends to sum_j g_j p_j (sum p ln^2 p - ln^2 p_j) / 2.
TEST(Gradient, AlphaGradientTendsToTheSoftmaxLimit) {
  const std::vector<double> z = {0.3, -1.2, 2.0, 0.1};
  const std::vector<double> g = {1.0, -0.5, 0.25, 2.0};
  Normalizer softmax;
  const std::vector<double> p = testing::oracle_weights(softmax, 1.0, z);
  double mean_square = 0, want = 0;
  for (double x : p) mean_square += x * std::log(x) * std::log(x);
  for (std::size_t j = 0; j < p.size(); ++j) want += g[j] * p[j] * (mean_square - std::log(p[j]) * std::log(p[j])) / 2;
  at::Tensor alpha = at::full({1}, 1e-7, at::TensorOptions(at::kDouble));
  alpha.requires_grad_(true);
  (entmax_rows(testing::doubles(z).reshape({1, 1, 1, 4}), alpha) * testing::doubles(g)).sum().backward();
  EXPECT_NEAR(alpha.grad().item<double>(), want, 1e-6);
}

}  // namespace
}  // namespace lenbench
