// Whole models on a CUDA device against the CPU; skipped where there is none.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/device.h"
#include "model/predictor.h"
#include "model/weights.h"

namespace lenbench {
namespace {

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    try {
      open_device("cuda");
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

const char* const kFixtures[] = {"asentmax-nape", "asentmax-rope",  "entmax15-nape", "softmax-nape",
                                 "softmax-rope",  "sparsemax-nope", "ssmax-nape"};

std::string fixture(const std::string& name) { return std::string(LENBENCH_TEST_DATA) + "/model/reference/" + name; }

Sample sample_of(std::int32_t vocab, std::int32_t tokens) {
  Sample sample;
  for (std::int32_t t = 0; t < tokens; ++t) sample.tokens.push_back(t * 7 % vocab);
  for (std::int32_t t = tokens / 2; t + 1 < tokens; ++t) {
    sample.scored.push_back({t, sample.tokens[static_cast<std::size_t>(t + 1)], 0, true});
  }
  return sample;
}

TEST_F(Cuda, ModelsAnswerAsOnTheCpu) {
  for (const std::string name : kFixtures) {
    SCOPED_TRACE(name);
    OpenOptions options;
    const std::unique_ptr<Predictor> cpu = open_predictor(fixture(name), options);
    options.device = "cuda";
    const std::unique_ptr<Predictor> cuda = open_predictor(fixture(name), options);
    EXPECT_EQ(cuda->info().device, "cuda");
    const auto vocab = static_cast<std::int32_t>(cpu->info().vocab_size);
    const std::vector<Sample> samples = {sample_of(vocab, 300), sample_of(vocab, 57)};
    for (const ProbeRows rows : {ProbeRows::kAnswer, ProbeRows::kAll}) {
      PredictRequest request;
      request.probe = rows;
      Probe here, there;
      const std::vector<SamplePrediction> expected = cpu->predict(samples, request, &here);
      const std::vector<SamplePrediction> found = cuda->predict(samples, request, &there);
      for (std::size_t s = 0; s < samples.size(); ++s) {
        for (std::size_t i = 0; i < expected[s].nll.size(); ++i) {
          ASSERT_NEAR(found[s].nll[i], expected[s].nll[i], 1e-3) << s << " " << i;
        }
      }
      ASSERT_EQ(here.heads.size(), there.heads.size());
      for (std::size_t h = 0; h < here.heads.size(); ++h) {
        EXPECT_EQ(there.heads[h].rows, here.heads[h].rows);
        EXPECT_NEAR(there.heads[h].entropy / here.heads[h].entropy, 1, 1e-3) << h;
        EXPECT_NEAR(there.heads[h].support / here.heads[h].support, 1, 1e-2) << h;
      }
    }
  }
}

TEST_F(Cuda, GradientsAreThoseOfTheCpu) {
  for (const std::string name : kFixtures) {
    SCOPED_TRACE(name);
    const Checkpoint checkpoint = Checkpoint::open(fixture(name));
    const auto gradients = [&](at::Device device) {
      const std::unique_ptr<SequenceModel> model = load_model(checkpoint, checkpoint.config(), at::kFloat, device);
      for (const auto& [parameter_name, parameter] : model->parameters()) parameter.set_requires_grad(true);
      const at::TensorOptions longs = at::TensorOptions(at::kLong).device(device);
      const at::Tensor tokens = (at::arange(2 * 50, longs) * 7).remainder(checkpoint.config().vocab_size).view({2, 50});
      const at::Tensor rows = at::arange(0, 100, 3, longs);
      at::cross_entropy_loss(model->forward(tokens, rows), tokens.flatten().index_select(0, rows)).backward();
      std::vector<NamedTensor> found;
      for (const auto& [parameter_name, parameter] : model->parameters()) {
        if (parameter.grad().defined()) found.emplace_back(parameter_name, parameter.grad().cpu());
      }
      return found;
    };
    const std::vector<NamedTensor> expected = gradients(at::kCPU), found = gradients(open_device("cuda"));
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double scale = std::max(1e-3, expected[i].second.abs().max().item<double>());
      EXPECT_LT((expected[i].second - found[i].second).abs().max().item<double>(), 2e-3 * scale) << expected[i].first;
    }
  }
}

TEST_F(Cuda, DtypesAreWhatTheyAreCalled) {
  const Sample sample = sample_of(60, 200);
  OpenOptions options;
  options.device = "cuda";
  const auto nll = [&](const std::string& dtype) {
    options.dtype = dtype;
    const std::unique_ptr<Predictor> model = open_predictor(fixture("asentmax-rope"), options);
    EXPECT_EQ(model->info().dtype, dtype);
    return model->predict({&sample, 1}, {}, nullptr).at(0).nll;
  };
  const std::vector<double> exact = nll("float64");
  const auto largest = [&](const std::string& dtype) {
    const std::vector<double> other = nll(dtype);
    double difference = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) difference = std::max(difference, std::abs(exact[i] - other[i]));
    return difference;
  };
  EXPECT_LT(largest("float32"), 1e-3);
  EXPECT_LT(largest("tf32"), 0.05);
  EXPECT_LT(largest("bfloat16"), 0.3);
}

}  // namespace
}  // namespace lenbench
