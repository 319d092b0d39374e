// The model of sets against a plain computation, and what a set means: no order, no padding, one query.
#include "model/set_model.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/set_model.h"
#include "model/predictor.h"
#include "model/weights.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

constexpr std::int64_t kClasses = 4, kSteps = 1024;

DecoderConfig small_config() {
  DecoderConfig config;
  config.vocab_size = kClasses + kSteps;
  config.hidden_size = 6;
  config.intermediate_size = 5;
  config.num_layers = 1;
  config.num_heads = config.num_kv_heads = 2;
  config.head_dim = 3;
  config.positions = "nope";
  config.item_classes = kClasses;
  return config;
}

std::unique_ptr<SequenceModel> random_model(const DecoderConfig& config, std::uint64_t seed) {
  std::vector<NamedTensor> parameters = initial_parameters(config, seed, {}, at::kDouble);
  Rng rng(seed, 5);
  for (auto& [name, tensor] : parameters) {
    auto* values = tensor.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<double>(rng.between(-1000, 1000)) / 500;
  }
  return make_model(config, std::move(parameters));
}

struct Item {
  std::int32_t number, label;
};

Sample set_of(const std::vector<Item>& items, std::int32_t query) {
  Sample sample;
  for (const Item& item : items) {
    sample.tokens.push_back(static_cast<std::int32_t>(kClasses) + item.number);
    sample.tokens.push_back(item.label);
  }
  sample.tokens.push_back(static_cast<std::int32_t>(kClasses) + query);
  const auto row = static_cast<std::int64_t>(sample.tokens.size()) - 1;
  const auto best =
      std::max_element(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.number < b.number; });
  sample.scored = {{row, best->label, 0, false}};
  sample.sources = {2 * (best - items.begin()) + 1};
  sample.prompt_tokens = row + 1;
  return sample;
}

std::vector<Item> random_items(std::size_t count, std::uint64_t seed) {
  Rng rng(seed, 9);
  std::vector<Item> items;
  for (const std::int64_t number : rng.distinct(static_cast<std::int64_t>(count), kSteps)) {
    items.push_back({static_cast<std::int32_t>(number), static_cast<std::int32_t>(rng.below(kClasses))});
  }
  return items;
}

// Plain vectors and loops.
using Row = std::vector<double>;
class Plain {
 public:
  explicit Plain(const SequenceModel& model) : model_(model) {}

  Row logits(const std::vector<Item>& items, std::int32_t query) const {
    const Row q_hidden = mlp("query_encoder", {static_cast<double>(query) / kSteps});
    const Row q = linear(kAttention + "q_proj.weight", "", q_hidden);
    std::vector<Row> keys, values;
    for (const Item& item : items) {
      Row features = {static_cast<double>(item.number) / kSteps};
      for (int c = 0; c < kClasses; ++c) features.push_back(item.label == c ? 1 : 0);
      const Row hidden = mlp("item_encoder", features);
      keys.push_back(linear(kAttention + "k_proj.weight", "", hidden));
      values.push_back(linear(kAttention + "v_proj.weight", "", hidden));
    }
    Row found(q.size());
    for (std::size_t head = 0; head < 2; ++head) {
      Row weights;
      double sum = 0;
      for (const Row& key : keys) {
        double score = 0;
        for (std::size_t d = 3 * head; d < 3 * head + 3; ++d) score += q[d] * key[d];
        weights.push_back(std::exp(score / std::sqrt(3.0)));
        sum += weights.back();
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        for (std::size_t d = 3 * head; d < 3 * head + 3; ++d) found[d] += weights[i] / sum * values[i][d];
      }
    }
    return mlp("classifier", linear(kAttention + "o_proj.weight", "", found));
  }

 private:
  inline static const std::string kAttention = "model.layers.0.self_attn.";

  Row linear(const std::string& weight, const std::string& bias, const Row& x) const {
    const at::Tensor matrix = model_.parameter(weight);
    Row y;
    for (std::int64_t i = 0; i < matrix.size(0); ++i) {
      double sum = bias.empty() ? 0 : model_.parameter(bias)[i].item<double>();
      for (std::size_t j = 0; j < x.size(); ++j) {
        sum += matrix[i][static_cast<std::int64_t>(j)].item<double>() * x[j];
      }
      y.push_back(sum);
    }
    return y;
  }
  Row mlp(const std::string& name, const Row& x) const {
    Row inner = linear(name + ".0.weight", name + ".0.bias", x);
    for (double& value : inner) value *= 0.5 * std::erfc(-value / std::sqrt(2.0));  // exact GELU
    return linear(name + ".1.weight", name + ".1.bias", inner);
  }

  const SequenceModel& model_;
};

SamplePrediction answer(const SequenceModel& model, const Sample& sample, Probe* probe = nullptr) {
  const auto predictor = make_predictor(make_model(model.config(), model.parameters()), {}, AttentionPath::kAuto);
  PredictRequest request;
  if (probe != nullptr) request.probe = ProbeRows::kAnswer;
  return predictor->predict(std::span(&sample, 1), request, probe).at(0);
}

TEST(SetModel, ComputesWhatItSays) {
  const auto model = random_model(small_config(), 1);
  const Plain plain(*model);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<Item> items = random_items(1 + 3 * seed, seed);
    const Sample sample = set_of(items, static_cast<std::int32_t>(77 * seed));
    const Row expected = plain.logits(items, static_cast<std::int32_t>(77 * seed));
    double sum = 0;
    for (const double logit : expected) sum += std::exp(logit - expected[0]);
    const double nats = std::log(sum) + expected[0] - expected[static_cast<std::size_t>(sample.scored[0].target)];
    const SamplePrediction said = answer(*model, sample);
    EXPECT_NEAR(said.nll[0], nats, 1e-9);
    EXPECT_EQ(said.argmax[0], std::max_element(expected.begin(), expected.end()) - expected.begin());
    const at::Tensor tokens = at::tensor(std::vector<std::int64_t>(sample.tokens.begin(), sample.tokens.end()));
    const at::Tensor logits =
        model->forward(tokens.unsqueeze(0), at::tensor(std::vector<std::int64_t>{sample.scored[0].position}));
    for (std::int64_t c = 0; c < kClasses; ++c) {
      EXPECT_NEAR(logits[0][c].item<double>(), expected[static_cast<std::size_t>(c)], 1e-9);
    }
  }
}

// Every transform: order changes nothing, sets beside it in a batch change nothing, every weight has a gradient.
TEST(SetModel, ReadsASetWithEveryTransform) {
  for (const TransformInfo& transform : transform_catalog()) {
    DecoderConfig config = small_config();
    config.attn_scale_type = transform.spec.scale;
    config.attn_scale_proj_bias = transform.spec.scale_proj_bias;
    config.entmax_alpha = transform.spec.normalizer == Normalizer::Kind::kEntmax ? transform.spec.alpha : 1.0;
    config.alpha_learnable = transform.spec.alpha_learnable;
    config.adaptive_temperature = transform.spec.adaptive;
    config.topk_size = transform.spec.topk;
    const auto model = random_model(config, 2);
    std::vector<Item> items = random_items(9, 4);
    const double nats = answer(*model, set_of(items, 5)).nll[0];
    std::reverse(items.begin(), items.end());
    EXPECT_NEAR(answer(*model, set_of(items, 5)).nll[0], nats, 1e-9) << transform.name;
    const std::vector<Sample> batch = {set_of(items, 5), set_of(random_items(20, 1), 900)};
    const auto predictor = make_predictor(make_model(config, model->parameters()), {}, AttentionPath::kAuto);
    EXPECT_NEAR(predictor->predict(batch, {}, nullptr).at(0).nll[0], nats, 1e-9) << transform.name;
    EXPECT_EQ(predictor->info().transform, config.transform_name());
    EXPECT_EQ(predictor->info().input, TaskInput::kItems);

    if (config.adaptive_temperature) continue;  // inference only
    std::vector<NamedTensor> parameters;
    for (const auto& [name, tensor] : model->parameters()) {
      parameters.emplace_back(name, tensor.to(at::kFloat).requires_grad_(true));
    }
    const auto trained = make_model(config, parameters);
    const std::vector<std::int32_t>& ids = batch[0].tokens;
    const at::Tensor tokens = at::tensor(std::vector<std::int64_t>(ids.begin(), ids.end())).unsqueeze(0);
    trained->forward(tokens, at::tensor(std::vector<std::int64_t>{tokens.size(1) - 1})).square().sum().backward();
    for (const auto& [name, tensor] : parameters) EXPECT_TRUE(tensor.grad().defined()) << transform.name << " " << name;
  }
}

// Without keys every item weighs the same: entropy ln n over the items, not the tokens, and 1/n on the largest.
TEST(SetModel, StatisticsCountItems) {
  const DecoderConfig config = small_config();
  std::vector<NamedTensor> parameters = random_model(config, 3)->parameters();
  for (auto& [name, tensor] : parameters) {
    if (name.ends_with("k_proj.weight")) tensor.zero_();
  }
  const auto model = make_model(config, parameters);
  Probe probe;
  const Sample sample = set_of(random_items(12, 6), 100);
  const bool right = answer(*model, sample, &probe).argmax[0] == sample.scored[0].target;
  ASSERT_EQ(probe.heads.size(), 2U);
  const std::vector<HeadStats>& outcome = right ? probe.heads_right : probe.heads_wrong;
  ASSERT_EQ(outcome.size(), 2U);
  for (const HeadStats& head : {probe.heads[0], probe.heads[1], outcome[0], outcome[1]}) {
    EXPECT_EQ(head.rows, 1);
    EXPECT_NEAR(head.entropy, std::log(12.0), 1e-9);
    EXPECT_NEAR(head.normalized_entropy, 1, 1e-9);
    EXPECT_EQ(head.support, 12);
    EXPECT_EQ(head.source_rows, 1);
    EXPECT_NEAR(head.source_mass, 1.0 / 12, 1e-9);
  }
  EXPECT_EQ(probe.head_has_position, (std::vector<bool>{false, false}));
}

TEST(SetModel, SurvivesACheckpoint) {
  const TemporaryFolder folder;
  DecoderConfig config = small_config();
  config.attn_scale_type = "adapt-softplus-tanh";
  config.attn_scale_proj_bias = true;
  config.entmax_alpha = 1.5;
  const auto model = make_model(config, initial_parameters(config, 8));
  save_checkpoint(folder / "model", *model, {});
  const Checkpoint checkpoint = Checkpoint::open(folder / "model");
  EXPECT_EQ(checkpoint.config(), config);
  const std::vector<NamedTensor> loaded = load_model(checkpoint, checkpoint.config(), at::kFloat)->parameters();
  ASSERT_EQ(loaded.size(), model->parameters().size());
  for (std::size_t i = 0; i < loaded.size(); ++i) {
    EXPECT_TRUE(loaded[i].second.equal(model->parameters()[i].second)) << loaded[i].first;
  }
  EXPECT_THROW(load_decoder(checkpoint), Error);
  EXPECT_EQ(open_predictor(folder / "model", {})->info().input, TaskInput::kItems);
}

TEST(SetModel, RefusesWhatIsNoSet) {
  const auto model = random_model(small_config(), 1);
  const Sample good = set_of(random_items(3, 1), 5);
  const auto refused = [&](const Sample& sample, const std::string& what) {
    try {
      answer(*model, sample);
      FAIL() << what;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(what));
    }
  };
  Sample sample = good;
  sample.tokens[2] = 1;
  refused(sample, "token 1 at position 2 is no number");
  sample = good;
  sample.tokens[3] = 9;
  refused(sample, "token 9 at position 3 is no class");
  sample = good;
  sample.scored[0].position = 5;
  refused(sample, "cannot be the query");
  sample = good;
  sample.scored[0].target = 4;
  refused(sample, "target 4");
  DecoderConfig config = small_config();
  config.num_layers = 2;
  EXPECT_THROW(check_config(config, "here"), Error);
  config = small_config();
  config.positions = "nape";
  EXPECT_THROW(check_config(config, "here"), Error);
  config = small_config();
  config.item_classes = 1;
  EXPECT_THROW(check_config(config, "here"), Error);
}

}  // namespace
}  // namespace lenbench
