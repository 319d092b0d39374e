// The Predictor over a model: judged rows, padding, ties, non-finite values, probes, refusals, memory.
#include "model/predictor.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "model/batch.h"
#include "model/weights.h"
#include "random_models.h"

namespace lenbench {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

std::string fixture(const std::string& model) { return std::string(LENBENCH_TEST_DATA) + "/model/reference/" + model; }

Sample sample_of(std::int64_t length, std::int64_t vocab, std::uint64_t seed, const std::vector<std::int64_t>& rows) {
  Sample sample;
  sample.tokens = random_tokens(length, vocab, seed);
  for (const std::int64_t row : rows) {
    sample.scored.push_back({row, static_cast<std::int32_t>((row * 7) % vocab), 0, false});
  }
  return sample;
}

std::unique_ptr<Predictor> predictor_of(const DecoderConfig& config, std::uint64_t seed) {
  return make_predictor(random_decoder(config, seed, at::kDouble), {}, AttentionPath::kAuto);
}

std::string error_of(Predictor& predictor, const Sample& sample) {
  try {
    predictor.predict(std::span(&sample, 1), {}, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Predictor, ArgmaxAndNllAreThoseOfThePlainDecoder) {
  const DecoderConfig config = random_config(0);
  const Decoder decoder = random_decoder(config, 3, at::kDouble);
  const Sample sample = sample_of(40, config.vocab_size, 1, {0, 5, 17, 39});
  const PlainResult plain = plain_forward(config, plain_weights(decoder), sample.tokens);
  const auto predictions = predictor_of(config, 3)->predict(std::span(&sample, 1), {}, nullptr);
  ASSERT_EQ(predictions.size(), 1u);
  EXPECT_EQ(predictions[0].first_nonfinite, -1);
  for (std::size_t i = 0; i < sample.scored.size(); ++i) {
    const std::vector<double>& logits = plain.logits[static_cast<std::size_t>(sample.scored[i].position)];
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    EXPECT_EQ(predictions[0].argmax[i], best);
    EXPECT_NEAR(predictions[0].nll[i], std::log(sum) - logits[static_cast<std::size_t>(sample.scored[i].target)], 1e-8);
  }
}

TEST(Predictor, PaddingChangesNothing) {
  for (const int index : {0, 1, 2, 3}) {
    const DecoderConfig config = random_config(index);
    const auto predictor = predictor_of(config, 3);
    const std::vector<Sample> samples = {sample_of(3, config.vocab_size, 1, {1, 2}),
                                         sample_of(64, config.vocab_size, 2, {10, 40, 63}),
                                         sample_of(20, config.vocab_size, 3, {})};
    const auto together = predictor->predict(samples, {}, nullptr);
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const auto alone = predictor->predict(std::span(&samples[s], 1), {}, nullptr);
      EXPECT_EQ(together[s].argmax, alone[0].argmax);
      ASSERT_EQ(together[s].nll.size(), samples[s].scored.size());
      for (std::size_t i = 0; i < alone[0].nll.size(); ++i) EXPECT_NEAR(together[s].nll[i], alone[0].nll[i], 1e-9);
    }
  }
}

TEST(Predictor, LowestIdWinsTies) {
  const DecoderConfig config = random_config(0);
  const Decoder decoder = random_decoder(config, 3, at::kFloat);
  at::Tensor(decoder.parameter("model.norm.weight")).fill_(-1);
  const auto predictor = make_predictor(decoder, {}, AttentionPath::kAuto);
  const Sample sample = sample_of(9, config.vocab_size, 1, {4, 8});
  const auto prediction = predictor->predict(std::span(&sample, 1), {}, nullptr)[0];
  EXPECT_EQ(prediction.argmax, (std::vector<std::int32_t>{0, 0}));
  for (const double nll : prediction.nll) EXPECT_NEAR(nll, std::log(static_cast<double>(config.vocab_size)), 1e-12);
}

TEST(Predictor, NonFiniteLogitsAreFoundAndNeverRight) {
  const DecoderConfig config = random_config(0);
  const Decoder decoder = random_decoder(config, 3, at::kFloat);
  Sample sample = sample_of(30, config.vocab_size, 1, {12, 25, 29});
  sample.tokens.assign(30, 1);
  sample.tokens[20] = 0;
  for (ScoredToken& scored : sample.scored) scored.target = 0;
  at::Tensor(decoder.parameter("model.embed_tokens.weight")).select(0, 0).fill_(std::nan(""));
  const auto predictor = make_predictor(decoder, {}, AttentionPath::kAuto);
  const auto prediction = predictor->predict(std::span(&sample, 1), {}, nullptr)[0];
  EXPECT_GE(prediction.first_nonfinite, 12);
  EXPECT_LE(prediction.first_nonfinite, 25);
  EXPECT_EQ(prediction.argmax[1], -1);
  EXPECT_EQ(prediction.argmax[2], -1);
  EXPECT_TRUE(std::isnan(prediction.nll[2]));
}

TEST(Predictor, ProbesAddUpOverCalls) {
  const auto predictor = open_predictor(fixture("asentmax-nape"), {});
  const Sample first = sample_of(40, 40, 1, {10, 39}), second = sample_of(25, 40, 2, {24});
  Probe together, apart;
  const std::vector<Sample> both = {first, second};
  predictor->predict(both, {ProbeRows::kAnswer}, &together);
  predictor->predict(std::span(&first, 1), {ProbeRows::kAnswer}, &apart);
  predictor->predict(std::span(&second, 1), {ProbeRows::kAnswer}, &apart);
  ASSERT_EQ(together.heads.size(), 18u);
  EXPECT_EQ(together.rows, ProbeRows::kAnswer);
  EXPECT_EQ(together.head_has_position, (std::vector<bool>{true, true, true, false, false, false}));
  for (std::size_t i = 0; i < 18; ++i) {
    EXPECT_EQ(together.heads[i].rows, 3);
    EXPECT_NEAR(together.heads[i].entropy, apart.heads[i].entropy, 1e-5);
    EXPECT_NEAR(together.heads[i].support, apart.heads[i].support, 1e-9);
  }
  Probe all;
  predictor->predict(both, {ProbeRows::kAll}, &all);
  EXPECT_EQ(all.heads[17].rows, 65);
}

TEST(Predictor, ScalesAndAlphaAreThoseOfTheParameters) {
  // SSMax multiplies by s_h ln(i + 2) in the heads without positions, and by 1 in the others.
  const auto predictor = open_predictor(fixture("ssmax-nape"), {});
  const Decoder decoder = load_decoder(Checkpoint::open(fixture("ssmax-nape")), at::kFloat);
  const Sample sample = sample_of(40, 40, 1, {10, 39});
  Probe probe;
  predictor->predict(std::span(&sample, 1), {ProbeRows::kAnswer}, &probe);
  const std::vector<bool> positional = decoder.head_has_position();
  const auto num_heads = static_cast<std::size_t>(probe.num_heads);
  for (std::size_t layer = 0; layer < probe.heads.size() / num_heads; ++layer) {
    const at::Tensor factors =
        decoder.parameter("model.layers." + std::to_string(layer) + ".self_attn.attn_scale_beta").reshape({-1});
    std::int64_t scaled = 0;
    for (std::size_t h = 0; h < num_heads; ++h) {
      const HeadStats& head = probe.heads[layer * num_heads + h];
      ASSERT_EQ(head.scaled_rows, 2);
      const double factor = positional[h] ? 1 : factors[scaled++].item<double>();
      const double expected = positional[h] ? 2 : factor * (std::log(12.0) + std::log(41.0));
      EXPECT_NEAR(head.scale, expected, 1e-5 * std::abs(expected)) << layer << " " << h;
      EXPECT_EQ(probe.head_alpha[layer * num_heads + h], 1);
    }
    EXPECT_EQ(scaled, factors.numel());
  }
}

TEST(Predictor, PrefixRowsOfALongPassAreThoseOfAShortOne) {
  const auto predictor = open_predictor(fixture("asentmax-nape"), {});
  const Sample whole = sample_of(40, 40, 1, {39});
  Sample prefix = whole;
  prefix.tokens.resize(16);
  prefix.scored = {whole.scored[0]};
  prefix.scored[0].position = 15;
  Probe all, by_position;
  predictor->predict(std::span(&prefix, 1), {ProbeRows::kAll}, &all);
  predictor->predict(std::span(&whole, 1), {ProbeRows::kPrefix}, &by_position);
  ASSERT_EQ(by_position.by_position.size(), 7u);  // positions 0 to 39
  for (std::size_t h = 0; h < all.heads.size(); ++h) {
    HeadStats first;  // positions 0 to 15
    for (std::size_t bucket = 0; bucket <= 4; ++bucket) first.add(by_position.by_position[bucket][h]);
    EXPECT_EQ(first.rows, 16);
    EXPECT_EQ(by_position.by_position[6][h].rows, 8);
    EXPECT_NEAR(first.entropy, all.heads[h].entropy, 1e-4);
    EXPECT_NEAR(first.support, all.heads[h].support, 1e-9);
    EXPECT_NEAR(first.normalized_entropy, all.heads[h].normalized_entropy, 1e-4);
  }
}

TEST(Predictor, StatesAreTheResidualStreamAtTheLastJudgedRow) {
  const auto predictor = open_predictor(fixture("asentmax-nape"), {});
  const Decoder decoder = load_decoder(Checkpoint::open(fixture("asentmax-nape")), at::kFloat);
  const Sample first = sample_of(40, 40, 1, {10, 39}), second = sample_of(25, 40, 2, {24});
  const std::vector<Sample> both = {first, second};
  Probe probe;
  predictor->predict(both, {ProbeRows::kAnswer}, &probe);
  const std::int64_t width = decoder.config().hidden_size;
  ASSERT_EQ(probe.num_depths, decoder.config().num_layers + 1);
  ASSERT_EQ(probe.states.size(), 2u);
  ASSERT_EQ(std::ssize(probe.states[1]), probe.num_depths * width);
  // Depth 0 is the token's embedding times the root of the width; the norm of the last depth gives the logits.
  const at::Tensor embedding =
      decoder.parameter("model.embed_tokens.weight")[second.tokens[24]] * std::sqrt(static_cast<double>(width));
  for (std::int64_t i = 0; i < width; ++i) {
    EXPECT_NEAR(probe.states[1][static_cast<std::size_t>(i)], embedding[i].item<double>(), 1e-5);
  }
  EvaluationRequest request = evaluation_request(std::span(&second, 1));
  const at::Tensor hidden = decoder.hidden(request)[0][0];
  const at::Tensor weight = decoder.parameter("model.norm.weight");
  double squares = 0;
  const std::size_t last = probe.states[1].size() - static_cast<std::size_t>(width);
  for (std::size_t i = last; i < probe.states[1].size(); ++i) squares += probe.states[1][i] * probe.states[1][i];
  const double root = std::sqrt(squares / static_cast<double>(width) + decoder.config().norm_eps);
  for (std::int64_t i = 0; i < width; ++i) {
    const double expected = probe.states[1][last + static_cast<std::size_t>(i)] / root * (1 + weight[i].item<double>());
    EXPECT_NEAR(hidden[i].item<double>(), expected, 1e-4 * std::max(1.0, std::abs(expected)));
  }
  // Padding, the other sample and the pass that keeps all rows change nothing.
  Probe alone;
  predictor->predict(std::span(&second, 1), {ProbeRows::kAnswer}, &alone);
  for (std::size_t i = 0; i < alone.states[0].size(); ++i) EXPECT_NEAR(alone.states[0][i], probe.states[1][i], 1e-4);
}

TEST(Predictor, DescribesTheModel) {
  const auto predictor = open_predictor(fixture("ssmax-nape"), {});
  const PredictorInfo& info = predictor->info();
  EXPECT_EQ(info.name, "ssmax-nape");
  EXPECT_EQ(info.transform, "ssmax");
  EXPECT_EQ(info.positions, "nape");
  EXPECT_EQ(info.dtype, "float32");
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(info.vocab_size, 40);
  EXPECT_EQ(info.max_positions, 0);
  EXPECT_EQ(info.checkpoint_sha256.size(), 64u);
  EXPECT_NE(info.checkpoint_sha256, open_predictor(fixture("softmax-nape"), {})->info().checkpoint_sha256);
}

TEST(Predictor, RefusesWhatTheModelCannotRead) {
  const DecoderConfig config = random_config(0);
  const auto predictor = predictor_of(config, 3);
  const auto vocab = static_cast<std::int32_t>(config.vocab_size);
  Sample sample = sample_of(9, vocab, 1, {8});
  sample.tokens[4] = vocab;
  EXPECT_THAT(error_of(*predictor, sample), AllOf(HasSubstr("at position 4"), HasSubstr("vocabulary")));
  sample.tokens[4] = -1;
  EXPECT_THAT(error_of(*predictor, sample), HasSubstr("token -1"));
  sample.tokens[4] = 0;
  sample.scored[0].target = vocab;
  EXPECT_THAT(error_of(*predictor, sample), HasSubstr("target"));
  sample.scored[0] = {9, 0, 0, false};
  EXPECT_THAT(error_of(*predictor, sample), HasSubstr("judged position 9"));
  EXPECT_THAT(error_of(*predictor, Sample{}), HasSubstr("no tokens"));
  EXPECT_TRUE(predictor->predict({}, {}, nullptr).empty());
}

TEST(OpenPredictor, AdaptiveTemperatureChangesASoftmaxModelOnly) {
  OpenOptions options;
  options.transform = "adaptive-temperature";
  const Sample sample = sample_of(60, 40, 1, {59});
  const auto changed = open_predictor(fixture("softmax-nape"), options);
  EXPECT_EQ(changed->info().transform, "adaptive-temperature");
  const double nll = changed->predict(std::span(&sample, 1), {}, nullptr)[0].nll[0];
  const double plain =
      open_predictor(fixture("softmax-nape"), {})->predict(std::span(&sample, 1), {}, nullptr)[0].nll[0];
  EXPECT_GT(std::abs(nll - plain), 1e-6);
  EXPECT_THROW(open_predictor(fixture("asentmax-nape"), options), Error);
}

TEST(OpenPredictor, RefusesUnknownOptions) {
  const auto message = [](OpenOptions options) -> std::string {
    try {
      open_predictor(fixture("softmax-nape"), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  OpenOptions options;
  options.transform = "adaptive-temprature";
  EXPECT_THAT(message(options), HasSubstr("did you mean 'adaptive-temperature'"));
  options = {};
  options.dtype = "float16";
  EXPECT_THAT(message(options), HasSubstr("float16"));
  options = {};
  options.device = "cuda";
  EXPECT_THAT(message(options), AnyOf(IsEmpty(), HasSubstr("device cuda: ")));
  options = {};
  options.attention_path = "fast";
  EXPECT_THAT(message(options), HasSubstr("fast"));
}

std::int64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  std::string word;
  std::int64_t kibibytes = 0;
  while (status >> word && word != key) {
  }
  status >> kibibytes;
  return kibibytes * 1024;
}

TEST(Predictor, AnswerRowsAreSplitByOutcomeAndSeeTheirSources) {
  const DecoderConfig config = random_config(0);
  const auto predictor = make_predictor(random_decoder(config, 1, at::kFloat), {}, AttentionPath::kAuto);
  std::vector<Sample> samples = {sample_of(30, config.vocab_size, 1, {9, 20, 21, 29}),
                                 sample_of(25, config.vocab_size, 2, {4, 24})};
  // The model is asked first what it says, so that two of four answers can be made right.
  const auto said = predictor->predict(samples, {}, nullptr);
  const auto set = [&](std::size_t s, std::size_t row, std::int32_t answer, bool right) {
    ScoredToken& token = samples[s].scored[row];
    token.answer = answer;
    token.target =
        right ? said[s].argmax[row] : (said[s].argmax[row] + 1) % static_cast<std::int32_t>(config.vocab_size);
  };
  set(0, 0, -1, true);
  set(0, 1, 0, true);
  set(0, 2, 0, false);  // the other token of its answer is right, the answer is not
  set(0, 3, 1, true);
  set(1, 0, 0, true);
  set(1, 1, 1, false);
  samples[0].sources = {2, 3, 29};
  samples[1].sources = {4, 0};
  Probe probe;
  predictor->predict(samples, {ProbeRows::kAnswer}, &probe);
  ASSERT_EQ(probe.heads_right.size(), probe.heads.size());
  ASSERT_EQ(probe.heads_wrong.size(), probe.heads.size());
  std::vector<Sample> alone = {samples[1]};
  alone[0].scored = {samples[1].scored[0]};
  alone[0].sources = {4};
  Probe single;
  predictor->predict(alone, {ProbeRows::kAnswer}, &single);
  for (std::size_t h = 0; h < probe.heads.size(); ++h) {
    EXPECT_EQ(probe.heads[h].rows, 6);
    EXPECT_EQ(probe.heads[h].source_rows, 5);
    EXPECT_EQ(probe.heads_right[h].rows, 2);
    EXPECT_EQ(probe.heads_wrong[h].rows, 3);
    EXPECT_NEAR(probe.heads_right[h].source_mass + probe.heads_wrong[h].source_mass, probe.heads[h].source_mass, 1e-9);
    EXPECT_GE(probe.heads[h].source_mass, 0);
    EXPECT_EQ(single.heads_right[h].rows, 1);
    EXPECT_EQ(single.heads[h].source_rows, 1);
  }
  EXPECT_TRUE(single.heads_wrong.empty());
}

TEST(Predictor, PredictedMemoryCoversTheMeasuredPeak) {
  DecoderConfig config;
  config.vocab_size = 390;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_layers = 2;
  config.num_heads = config.num_kv_heads = 8;
  config.head_dim = 16;
  config.positions = "nape";
  config.alibi_num_heads = 4;
  config.entmax_alpha = 1.5;
  const auto predictor = make_predictor(random_decoder(config, 3, at::kFloat), {}, AttentionPath::kAuto);
  const Sample sample = sample_of(16384, config.vocab_size, 1, {16380, 16383});
  // The pages of code that a first call touches are no part of what a call takes.
  const Sample small = sample_of(4096, config.vocab_size, 1, {4095});
  Probe warm;
  predictor->predict(std::span(&small, 1), {ProbeRows::kAnswer}, &warm);
  malloc_trim(0);  // what earlier tests freed would hide what this one takes
  std::ofstream reset("/proc/self/clear_refs");
  if (!(reset << "5" << std::flush)) GTEST_SKIP() << "the peak of this process cannot be reset here";
  const std::int64_t before = status_bytes("VmRSS:");
  Probe probe;
  predictor->predict(std::span(&sample, 1), {ProbeRows::kAnswer}, &probe);
  const std::int64_t measured = status_bytes("VmHWM:") - before, predicted = predictor->predicted_bytes(1, 16384, 2);
  EXPECT_GE(predicted, measured) << predicted - measured;
  EXPECT_LE(predicted, 2 * measured);
  EXPECT_GT(predictor->predicted_bytes(1, 65536, 2), 3 * predicted);
}

TEST(Predictor, AllocationFailureIsAReasonAndTheNextCallWorks) {
  DecoderConfig config = random_config(1);
  config.hidden_size = 256;
  const auto predictor = make_predictor(random_decoder(config, 3, at::kFloat), {}, AttentionPath::kReference);
  const Sample small = sample_of(4096, config.vocab_size, 1, {4095});
  const Sample large = sample_of(1 << 18, config.vocab_size, 1, {63});
  predictor->predict(std::span(&small, 1), {}, nullptr);

  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{}, limited{};
  getrlimit(RLIMIT_AS, &before);
  limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + (std::int64_t{100} << 20));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  std::string message;
  ExitCode code = ExitCode::kOk;
  try {
    predictor->predict(std::span(&large, 1), {}, nullptr);
  } catch (const Error& error) {
    message = error.what();
    code = error.code();
  }
  setrlimit(RLIMIT_AS, &before);
  EXPECT_THAT(message, AllOf(HasSubstr("out of memory"), HasSubstr("1 x 262144 tokens")));
  EXPECT_EQ(code, ExitCode::kNotMeasured);
  EXPECT_EQ(predictor->predict(std::span(&small, 1), {}, nullptr)[0].first_nonfinite, -1);
}

}  // namespace
}  // namespace lenbench
