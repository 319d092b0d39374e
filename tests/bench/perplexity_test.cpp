// Perplexity from document to number: models with known tables through the text task and the meter, in closed form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "bench/doubles.h"
#include "bench/metrics.h"
#include "bench/predictor.h"
#include "tasks/catalog.h"
#include "tasks/rng.h"
#include "tests/bench/fake_task.h"

namespace lenbench {
namespace {

constexpr std::int32_t kBos = 257, kEos = 258;

// P(next | previous) from a table; reads the token at the judged row and nothing else.
class BigramModel : public Predictor {
 public:
  using Law = std::function<double(std::int32_t previous, std::int32_t next)>;
  explicit BigramModel(Law law) : law_(std::move(law)) {}
  const PredictorInfo& info() const override { return info_; }
  std::vector<SamplePrediction> predict(std::span<const Sample> samples, const PredictRequest&, Probe*) override {
    std::vector<SamplePrediction> predictions;
    for (const Sample& sample : samples) {
      SamplePrediction prediction;
      for (const ScoredToken& row : sample.scored) {
        prediction.argmax.push_back(0);
        prediction.nll.push_back(-std::log(law_(sample.tokens.at(static_cast<std::size_t>(row.position)), row.target)));
      }
      predictions.push_back(prediction);
    }
    return predictions;
  }

 private:
  Law law_;
  PredictorInfo info_;
};

std::string letters(std::size_t count) {
  Rng rng(3, 1);
  std::string text;
  while (text.size() < count) text.push_back(static_cast<char>('a' + rng.below(4)));
  return text;
}

CellResult measured(const std::string& spec, const std::vector<Document>& documents, std::int64_t length,
                    Predictor& model) {
  const std::unique_ptr<Task> task = make_task(parse_task_spec(spec), {documents});
  CellMeter meter(*task);
  for (std::uint64_t i = 0; i < task->available(length); ++i) {
    const std::vector<Sample> samples = {task->draw({length, i, 0, Split::kTest})};
    meter.add(samples, model.predict(samples, {}, nullptr));
  }
  return meter.result();
}

const std::vector<std::string>& conventions() {
  static const std::vector<std::string> all = {"text",
                                               "text:bos=document",
                                               "text:bos=none",
                                               "text:convention=sliding",
                                               "text:bos=none,convention=sliding,stride=100",
                                               "text:convention=second-half",
                                               "text:bos=none,convention=second-half",
                                               "text:convention=last-token,stride=64",
                                               "text:fit=head",
                                               "text:convention=sliding,fit=middle",
                                               "text:convention=second-half,fit=tail"};
  return all;
}

// D5: sums and counts over the same tokens, so V under every convention and length, and log2 V bits a byte.
TEST(Perplexity, UniformModelOverVIdsIsV) {
  const std::vector<Document> documents = {{"a", letters(10000)}, {"b", letters(4500)}, {"c", letters(700)}};
  for (const double vocab : {2.0, 261.0, 264.0}) {
    BigramModel model([&](std::int32_t, std::int32_t) { return 1 / vocab; });
    for (const std::string& spec : conventions()) {
      for (const std::int64_t length : {257, 512, 4096}) {
        const CellResult result = measured(spec, documents, length, model);
        ASSERT_TRUE(result.measurement.perplexity) << spec;
        EXPECT_NEAR(*result.measurement.perplexity, vocab, 1e-9 * vocab) << spec << " " << length;
        EXPECT_NEAR(*result.measurement.bits_per_byte, std::log2(vocab), 1e-9) << spec;
        EXPECT_NEAR(*result.measurement.nll_nats, static_cast<double>(result.measurement.nll_tokens) * std::log(vocab),
                    1e-9 * *result.measurement.nll_nats);
      }
    }
  }
  // The double of that name has the task's 261 ids.
  const std::unique_ptr<Task> task = make_task(parse_task_spec("text"), {documents});
  const std::unique_ptr<Predictor> uniform = make_double("uniform");
  const DrawKey key = {512, 0, 0, Split::kTest};
  uniform->announce(*task, {&key, 1});
  const std::vector<Sample> samples = {task->draw(key)};
  CellMeter meter(*task);
  meter.add(samples, uniform->predict(samples, {}, nullptr));
  EXPECT_NEAR(*meter.result().measurement.perplexity, 261, 1e-9);
}

// A text "abab..." of n bytes under P(b|a) = 0.9, P(a|b) = 0.7, P(a|BOS) = 0.25: by hand for each convention.
TEST(Perplexity, BigramModelHasItsClosedForm) {
  std::string text;
  while (text.size() < 1200) text += "ab";
  const std::vector<Document> documents = {{"ab", text}};
  BigramModel model([](std::int32_t previous, std::int32_t next) {
    const std::map<std::pair<std::int32_t, std::int32_t>, double> law = {
        {{'a', 'b'}, 0.9}, {{'b', 'a'}, 0.7}, {{kBos, 'a'}, 0.25}};
    return law.at({previous, next});
  });
  const double ab = -std::log(0.9), ba = -std::log(0.7), start = -std::log(0.25);
  struct Case {
    std::string spec;
    std::int64_t length, tokens;
    double nats;
  };
  const std::vector<Case> cases = {
      {"text", 120, 1200, 10 * start + 600 * ab + 590 * ba},
      {"text:bos=document", 120, 1200, start + 600 * ab + 599 * ba},
      {"text:bos=none", 120, 1199, 600 * ab + 599 * ba},
      {"text:convention=sliding,stride=30", 120, 1200, start + 600 * ab + 599 * ba},
      // Windows of 120 judge their bytes 61 .. 119: 30 b after a, 29 a after b.
      {"text:convention=second-half", 120, 590, 10 * (30 * ab + 29 * ba)},
      // Windows of 121 start with a and b in turn: nine whole ones; bytes 61 .. 120 are 30 of each kind.
      {"text:convention=second-half,bos=none", 121, 540, 9 * (30 * ab + 30 * ba)},
      {"text:convention=last-token", 120, 10, 10 * ab},
      {"text:fit=head", 120, 120, start + 60 * ab + 59 * ba},
      {"text:bos=none,fit=middle", 120, 119, 60 * ab + 59 * ba},
  };
  for (const Case& c : cases) {
    const Measurement m = measured(c.spec, documents, c.length, model).measurement;
    EXPECT_EQ(m.nll_tokens, c.tokens) << c.spec;
    EXPECT_NEAR(*m.nll_nats, c.nats, 1e-9 * c.nats) << c.spec;
    EXPECT_NEAR(*m.perplexity, std::exp(c.nats / static_cast<double>(c.tokens)), 1e-9) << c.spec;
    EXPECT_NEAR(*m.bits_per_byte, c.nats / static_cast<double>(c.tokens) / std::log(2.0), 1e-9) << c.spec;
  }
}

// The same on a text without a pattern: the sum over its own bigram counts.
TEST(Perplexity, BigramModelGivesTheSumOverBigrams) {
  const std::string text = letters(5000);
  const auto law = [](std::int32_t previous, std::int32_t next) { return (1.0 + (previous * 7 + next) % 11) / 100.0; };
  BigramModel model(law);
  double nats = 0;
  for (std::size_t i = 1; i < text.size(); ++i) nats -= std::log(law(text[i - 1], text[i]));
  for (const std::string spec :
       {"text:bos=none", "text:bos=none,convention=sliding", "text:bos=none,convention=sliding,stride=1"}) {
    for (const std::int64_t length : {2, 3, 100, 4999, 5000, 6000}) {
      const Measurement m = measured(spec, {{"x", text}}, length, model).measurement;
      EXPECT_EQ(m.nll_tokens, 4999);
      EXPECT_NEAR(*m.nll_nats, nats, 1e-9 * nats) << spec << " " << length;
    }
  }
}

// D1: BOS, not the end token, stands before the text: with P(x|EOS) = 1e-12 the difference would be 27 nats.
TEST(Perplexity, TheFirstTokenIsConditionedOnBos) {
  BigramModel model([](std::int32_t previous, std::int32_t) {
    return previous == kEos ? 1e-12 : previous == kBos ? 0.125 : 0.5;
  });
  const Measurement m = measured("text:bos=document", {{"x", letters(1000)}}, 100, model).measurement;
  EXPECT_NEAR(*m.nll_nats, 3 * std::log(2.0) + 999 * std::log(2.0), 1e-9);
}

// D7: the tail is kept, bucket counts add up to the total, and so do their nats; nothing is scored that is not there.
TEST(Perplexity, BucketsAddUpToTheWhole) {
  BigramModel model([](std::int32_t previous, std::int32_t next) { return (1.0 + (previous + next) % 5) / 10; });
  const std::vector<Document> documents = {{"x", letters(10001)}};
  for (const auto& [spec, tokens] : std::map<std::string, std::int64_t>{{"text", 10001}, {"text:bos=none", 10000}}) {
    const Measurement m = measured(spec, documents, 4096, model).measurement;
    EXPECT_EQ(m.nll_tokens, tokens);
    std::int64_t count = 0;
    double nats = 0;
    for (const auto& bucket : m.nll_by_position) count += bucket.tokens, nats += bucket.nats;
    EXPECT_EQ(count, tokens);
    EXPECT_NEAR(nats / static_cast<double>(count), *m.nll_nats / static_cast<double>(tokens), 1e-12);
  }
  BigramModel any([](std::int32_t, std::int32_t) { return 0.5; });
  EXPECT_THROW(measured("text:bos=none", {{"x", "a"}}, 8, any), Error);
  EXPECT_EQ(measured("text", {{"x", "a"}}, 8, any).measurement.nll_tokens, 1);
}

// second-half at 512 and 513 scores 255 and 256 bytes of each window, as llama.cpp does.
TEST(Perplexity, SecondHalfCounts) {
  BigramModel model([](std::int32_t, std::int32_t) { return 0.5; });
  for (const auto& [length, each] : std::map<std::int64_t, std::int64_t>{{512, 255}, {513, 256}}) {
    const CellResult result = measured("text:convention=second-half", {{"x", letters(5200)}}, length, model);
    EXPECT_EQ(result.sample_tokens, std::vector<std::int64_t>(10, each));
  }
}

// Sums by document let any of these be derived from one run: nats per sample are kept beside their counts.
TEST(Perplexity, SampleSumsAddUpToTheWhole) {
  BigramModel model([](std::int32_t previous, std::int32_t next) { return (1.0 + (previous + next) % 5) / 10; });
  const CellResult result = measured("text", {{"x", letters(3000)}, {"y", letters(500)}}, 700, model);
  ASSERT_EQ(result.sample_nats.size(), 6U);
  double nats = 0;
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < result.sample_nats.size(); ++i)
    nats += result.sample_nats[i], tokens += result.sample_tokens[i];
  EXPECT_EQ(tokens, 3500);
  EXPECT_NEAR(nats, *result.measurement.nll_nats, 1e-9);
}

// Samples in a tokenizer's tokens: 3 + 2 tokens judged, of 10 + 7 bytes of text.
TEST(Perplexity, BitsPerByteComeFromTheBytesThatSamplesSayTheyJudge) {
  const auto task = fake_task({.name = "book-ids", .metric = TaskMetric::kPerplexity, .vocab_size = 1000});
  Sample first, second;
  first.tokens = {1, 900, 901, 902};
  first.scored = {{0, 900, -1, true}, {1, 901, -1, true}, {2, 902, -1, true}};
  first.facts["judged_bytes"] = 10;
  second.tokens = {1, 5};
  second.scored = {{0, 5, -1, true}, {1, 6, -1, false}};
  second.facts["judged_bytes"] = 7;
  CellMeter meter(*task);
  const std::vector<Sample> samples = {first, second};
  const std::vector<SamplePrediction> said = {{{0, 0, 0}, {1.0, 2.0, 3.0}, -1}, {{0, 0}, {0.5, 0.25}, -1}};
  meter.add(samples, said);
  EXPECT_NEAR(*meter.result().measurement.bits_per_byte, 6.75 / 17 / std::log(2.0), 1e-12);

  CellMeter unsaid(*task);
  std::vector<Sample> bare = samples;
  for (Sample& sample : bare) sample.facts.clear();
  unsaid.add(bare, said);
  EXPECT_FALSE(unsaid.result().measurement.bits_per_byte.has_value()) << "small ids are no bytes";

  CellMeter wrong(*task);
  bare[0].facts["judged_bytes"] = 1e300;
  EXPECT_THROW(wrong.add(bare, said), Error);
}

}  // namespace
}  // namespace lenbench
