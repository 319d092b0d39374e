// Texts split over ranks, which are threads here: the same answers, nats and statistics as in one process.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <thread>

#include "c10d/store.h"
#include "c10d/tcp_store.h"
#include "model/predictor.h"
#include "model/sequence_share.h"
#include "random_models.h"
#include "tests/base/expect_error.h"
#include "tests/base/ranks_as_threads.h"

namespace lenbench {
namespace {

std::string fixture(const std::string& name) { return std::string(LENBENCH_TEST_DATA) + "/model/" + name; }

// Two texts of unlike length with judged rows all over them, answers of one and of two tokens, with sources.
std::vector<Sample> texts(std::int64_t tokens, std::int64_t vocab) {
  std::vector<Sample> samples(2);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    Sample& sample = samples[s];
    const std::int64_t length = s == 0 ? tokens : tokens - 5;
    sample.tokens = random_tokens(length, vocab, 11 + s);
    std::int32_t answer = 0;
    for (const std::int64_t position : {std::int64_t{0}, length / 3, length / 2, length - 2, length - 1}) {
      sample.scored.push_back({position, static_cast<std::int32_t>((position * 7) % vocab), answer, false});
      sample.sources.push_back(position / 2);
      if (position != length - 2) ++answer;
    }
    sample.prompt_tokens = length;
  }
  return samples;
}

struct Answer {
  std::vector<SamplePrediction> predictions;
  Probe probe;
};

Answer ask(Predictor& predictor, const std::vector<Sample>& samples, ProbeRows rows) {
  Answer answer;
  answer.probe.rows = rows;
  answer.predictions = predictor.predict(samples, {rows}, rows == ProbeRows::kNone ? nullptr : &answer.probe);
  return answer;
}

// Ranks 1 to world - 1 as threads around a store; `change` may give a rank other options.
class Followers {
 public:
  Followers(const std::string& path, const OpenOptions& options, int world,
            const std::function<void(OpenOptions&)>& change = {}, const std::atomic<bool>* stop = nullptr)
      : failures(static_cast<std::size_t>(world)) {
    for (int rank = 1; rank < world; ++rank) {
      threads_.emplace_back([this, path, options, world, rank, change, stop] {
        try {
          const auto store = connect();
          OpenOptions own = options;
          own.split = {store.get(), rank, world, true};
          if (change) change(own);
          finished += follow_predictor(path, own, stop) ? 1 : 0;
        } catch (const std::exception& error) {
          failures[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    }
  }
  ~Followers() { join(); }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  std::unique_ptr<SharedStore> connect() {
    return connect_store({.host = "127.0.0.1", .port = held_.store()->getPort(), .patience_seconds = 30, .prefix = {}});
  }

  std::vector<std::string> failures;
  std::atomic<int> finished = 0;

 private:
  TcpStore held_{{.host = "127.0.0.1", .holds = true, .patience_seconds = 30, .prefix = {}}};
  std::vector<std::thread> threads_;
};

// Rank 0 with its followers.
struct SplitModel {
  SplitModel(const std::string& path, OpenOptions options, int world) : followers(path, options, world) {
    store = followers.connect();
    options.split = {store.get(), 0, world, true};
    predictor = open_predictor(path, options);
  }
  Followers followers;
  std::unique_ptr<SharedStore> store;
  std::unique_ptr<Predictor> predictor;
};

void expect_near(double a, double b, double tolerance) {
  EXPECT_NEAR(a, b, tolerance * std::max({1.0, std::abs(a), std::abs(b)}));
}

void expect_same(const std::vector<HeadStats>& a, const std::vector<HeadStats>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].rows, b[i].rows);
    EXPECT_EQ(a[i].normalized_rows, b[i].normalized_rows);
    EXPECT_EQ(a[i].source_rows, b[i].source_rows);
    EXPECT_EQ(a[i].scaled_rows, b[i].scaled_rows);
    expect_near(a[i].entropy, b[i].entropy, tolerance);
    expect_near(a[i].normalized_entropy, b[i].normalized_entropy, tolerance);
    expect_near(a[i].support, b[i].support, tolerance);
    expect_near(a[i].sink_mass, b[i].sink_mass, tolerance);
    expect_near(a[i].top_mass, b[i].top_mass, tolerance);
    expect_near(a[i].source_mass, b[i].source_mass, tolerance);
    expect_near(a[i].scale, b[i].scale, tolerance);
  }
}

void expect_same(const Answer& one, const Answer& split, double tolerance) {
  ASSERT_EQ(one.predictions.size(), split.predictions.size());
  for (std::size_t s = 0; s < one.predictions.size(); ++s) {
    EXPECT_EQ(one.predictions[s].argmax, split.predictions[s].argmax);
    EXPECT_EQ(one.predictions[s].first_nonfinite, split.predictions[s].first_nonfinite);
    ASSERT_EQ(one.predictions[s].nll.size(), split.predictions[s].nll.size());
    for (std::size_t i = 0; i < one.predictions[s].nll.size(); ++i) {
      expect_near(one.predictions[s].nll[i], split.predictions[s].nll[i], tolerance);
    }
  }
  EXPECT_EQ(one.probe.head_has_position, split.probe.head_has_position);
  EXPECT_EQ(one.probe.head_alpha, split.probe.head_alpha);
  EXPECT_EQ(one.probe.num_layers, split.probe.num_layers);
  expect_same(one.probe.heads, split.probe.heads, tolerance);
  expect_same(one.probe.heads_right, split.probe.heads_right, tolerance);
  expect_same(one.probe.heads_wrong, split.probe.heads_wrong, tolerance);
  EXPECT_EQ(one.probe.num_depths, split.probe.num_depths);
  ASSERT_EQ(one.probe.states.size(), split.probe.states.size());
  for (std::size_t s = 0; s < one.probe.states.size(); ++s) {
    ASSERT_EQ(one.probe.states[s].size(), split.probe.states[s].size());
    for (std::size_t i = 0; i < one.probe.states[s].size(); ++i) {
      expect_near(one.probe.states[s][i], split.probe.states[s][i], tolerance);
    }
  }
}

OpenOptions one_thread(const std::string& dtype = "float32") {
  OpenOptions options;
  options.dtype = dtype;
  options.threads = 1;
  return options;
}

class FakeExchange : public Exchange {
 public:
  FakeExchange(int rank, int world) : rank_(rank), world_(world) {}
  int rank() const override { return rank_; }
  int world() const override { return world_; }
  void sum(at::Tensor) override {}
  void broadcast(at::Tensor, int) override {}

 private:
  int rank_, world_;
};

TEST(SequenceShare, EveryRowHasOneOwnerThatHoldsIt) {
  for (const std::int64_t tokens : {1, 2, 7, 37, 64, 1000, 5000}) {
    for (const int world : {1, 2, 3, 8, 19}) {
      std::vector<int> owners(static_cast<std::size_t>(tokens));
      for (int rank = 0; rank < world; ++rank) {
        FakeExchange exchange(rank, world);
        const SequenceShare share(tokens, &exchange);
        const at::Tensor positions = share.positions(at::TensorOptions());
        ASSERT_EQ(positions.size(1), share.num_rows());
        EXPECT_GE(share.num_rows(), 1);
        EXPECT_TRUE(share.rows_at(positions).equal(at::arange(share.num_rows()).unsqueeze(0)))
            << tokens << " " << world;
        const auto* held = positions.const_data_ptr<std::int64_t>();
        std::int64_t owned = 0;
        for (std::int64_t r = 0; r < share.num_rows(); ++r) owned += share.owns(held[r]) ? 1 : 0;
        for (std::int64_t p = 0; p < tokens; ++p) {
          owners[static_cast<std::size_t>(p)] += share.owns(p) ? 1 : 0;
          owned -= share.owns(p) ? 1 : 0;
        }
        EXPECT_EQ(owned, 0) << "a row is owned and not held";
      }
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), tokens);
    }
  }
}

TEST(SequenceShare, RanksSeeAboutAsManyKeys) {
  constexpr std::int64_t kTokens = 100'000;
  for (const int world : {2, 3, 8}) {
    const double even = 0.5 * kTokens * kTokens / world;
    for (int rank = 0; rank < world; ++rank) {
      FakeExchange exchange(rank, world);
      const SequenceShare share(kTokens, &exchange);
      const auto keys = (share.positions(at::TensorOptions()) + 1).sum().item<std::int64_t>();
      EXPECT_NEAR(static_cast<double>(keys) / even, 1, 0.02);
      EXPECT_NEAR(static_cast<double>(share.num_rows() * world) / kTokens, 1, 0.01);
    }
  }
}

TEST(SplitSequence, GivesWhatOneProcessGives) {
  for (const char* name :
       {"reference/asentmax-nape", "reference/softmax-rope", "reference/sparsemax-nope", "reference/ssmax-nape",
        "huggingface/llama-gqa-tied-sharded", "huggingface/gpt2-learned-positions", "huggingface/gemma2",
        "huggingface/qwen2-window", "huggingface/llama-dynamic", "huggingface/gpt-neox"}) {
    const auto alone = open_predictor(fixture(name), one_thread("float64"));
    const std::vector<Sample> samples = texts(37, alone->info().vocab_size);
    for (const int world : {2, 3}) {
      const SplitModel split(fixture(name), one_thread("float64"), world);
      for (const ProbeRows rows : {ProbeRows::kNone, ProbeRows::kAnswer, ProbeRows::kAll}) {
        SCOPED_TRACE(std::string(name) + " over " + std::to_string(world));
        expect_same(ask(*alone, samples, rows), ask(*split.predictor, samples, rows), 1e-9);
      }
    }
  }
}

TEST(SplitSequence, MoreRanksThanBlocksGiveWhatOneProcessGives) {
  const std::string path = fixture("reference/asentmax-nape");
  const auto alone = open_predictor(path, one_thread("float64"));
  // Blocks of single rows; and three ranks that have none.
  for (const auto& [tokens, world] : {std::pair(37, 23), std::pair(12, 15)}) {
    const std::vector<Sample> samples = texts(tokens, alone->info().vocab_size);
    const SplitModel split(path, one_thread("float64"), world);
    for (const ProbeRows rows : {ProbeRows::kAnswer, ProbeRows::kAll}) {
      SCOPED_TRACE(world);
      expect_same(ask(*alone, samples, rows), ask(*split.predictor, samples, rows), 1e-9);
    }
  }
}

TEST(SplitSequence, TransformsAtInferenceGiveWhatOneProcessGives) {
  for (const char* transform : {"adaptive-temperature", "ssmax:s=0.43", "entmax:alpha=1.5"}) {
    OpenOptions options = one_thread("float64");
    options.transform = transform;
    const std::string path = fixture("reference/softmax-nape");
    const auto alone = open_predictor(path, options);
    const std::vector<Sample> samples = texts(37, alone->info().vocab_size);
    const SplitModel split(path, options, 2);
    SCOPED_TRACE(transform);
    expect_same(ask(*alone, samples, ProbeRows::kAnswer), ask(*split.predictor, samples, ProbeRows::kAnswer), 1e-9);
  }
}

// Long enough for several blocks of full tiles to a rank, and on the fast path for keys to be screened.
TEST(SplitSequence, BothPathsInFloat32AreWithinRounding) {
  for (const auto& [path, tokens] : {std::pair("streaming", 1700), std::pair("reference", 400)}) {
    for (const char* name : {"reference/asentmax-nape", "reference/softmax-nape"}) {
      OpenOptions options = one_thread();
      options.attention_path = path;
      const auto alone = open_predictor(fixture(name), options);
      const std::vector<Sample> samples = texts(tokens, alone->info().vocab_size);
      const SplitModel split(fixture(name), options, 2);
      SCOPED_TRACE(std::string(name) + " on " + path);
      expect_same(ask(*alone, samples, ProbeRows::kAnswer), ask(*split.predictor, samples, ProbeRows::kAnswer), 1e-5);
    }
  }
}

TEST(SplitSequence, BFloat16TravelsAsWell) {
  const std::string path = fixture("huggingface/llama-linear-rope-bf16");
  const auto alone = open_predictor(path, one_thread("bfloat16"));
  const std::vector<Sample> samples = texts(37, alone->info().vocab_size);
  const SplitModel split(path, one_thread("bfloat16"), 2);
  const Answer one = ask(*alone, samples, ProbeRows::kNone), two = ask(*split.predictor, samples, ProbeRows::kNone);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    for (std::size_t i = 0; i < one.predictions[s].nll.size(); ++i) {
      expect_near(one.predictions[s].nll[i], two.predictions[s].nll[i], 0.02);
    }
  }
}

TEST(SplitSequence, CallsFollowOneAnotherAndProbesAddUp) {
  const std::string path = fixture("reference/asentmax-nape");
  const auto alone = open_predictor(path, one_thread("float64"));
  const std::vector<Sample> samples = texts(30, alone->info().vocab_size), others = texts(19, alone->info().vocab_size);
  Answer one, two;
  {
    const SplitModel split(path, one_thread("float64"), 3);
    for (const auto& [predictor, answer] : {std::pair(alone.get(), &one), std::pair(split.predictor.get(), &two)}) {
      predictor->predict(samples, {ProbeRows::kAnswer}, &answer->probe);
      // What rank 0 refuses the others never hear of.
      std::vector<Sample> wrong = samples;
      wrong[0].tokens[3] = static_cast<std::int32_t>(alone->info().vocab_size);
      EXPECT_NE(error_of([&] { predictor->predict(wrong, {}, nullptr); }).find("outside the model's vocabulary"),
                std::string::npos);
      answer->predictions = predictor->predict(others, {ProbeRows::kAnswer}, &answer->probe);
    }
    EXPECT_GT(split.predictor->peak_bytes_elsewhere(), 0);
    EXPECT_EQ(split.followers.finished, 0);
  }
  EXPECT_EQ(alone->peak_bytes_elsewhere(), 0);
  expect_same(one, two, 1e-9);
  EXPECT_EQ(two.probe.states.size(), 4U);
}

TEST(SplitSequence, ARankIsForecastItsShareOfTheMemory) {
  const std::string path = fixture("reference/asentmax-nape");
  const auto alone = open_predictor(path, one_thread());
  const SplitModel two(path, one_thread(), 2), four(path, one_thread(), 4);
  const auto bytes = [](const Predictor& predictor) {
    return static_cast<double>(predictor.predicted_bytes(1, 4'000'000, 8));
  };
  EXPECT_NEAR(bytes(*two.predictor) / bytes(*alone), 0.5, 0.1);
  EXPECT_NEAR(bytes(*four.predictor) / bytes(*alone), 0.3, 0.1);
}

TEST(SplitSequence, TheLastCallOfRankZeroEndsTheOthers) {
  const std::string path = fixture("reference/softmax-rope");
  SplitModel split(path, one_thread(), 3);
  split.predictor.reset();
  split.followers.join();
  EXPECT_EQ(split.followers.finished, 2);
  EXPECT_EQ(split.followers.failures, std::vector<std::string>(3));
}

TEST(SplitSequence, ARankThatStopsEndsTheRun) {
  const std::string path = fixture("reference/softmax-rope");
  const std::atomic<bool> stop = true;
  Followers followers(path, one_thread(), 2, {}, &stop);
  const auto store = followers.connect();
  OpenOptions options = one_thread();
  options.split = {store.get(), 0, 2, true};
  const auto predictor = open_predictor(path, options);
  const std::vector<Sample> samples = texts(37, predictor->info().vocab_size);
  try {
    predictor->predict(samples, {}, nullptr);
    FAIL() << "nobody noticed";
  } catch (const PredictorLost& lost) {
    EXPECT_TRUE(lost.elsewhere());
    EXPECT_EQ(lost.code(), ExitCode::kNotMeasured);
    EXPECT_NE(std::string(lost.what()).find("rank 0 of 2: another rank is gone"), std::string::npos) << lost.what();
  }
}

TEST(SplitSequence, ARankOfAnotherModelIsRefused) {
  const std::string path = fixture("reference/softmax-rope");
  Followers followers(path, one_thread(), 2, [](OpenOptions& options) { options.attention_path = "reference"; });
  const auto store = followers.connect();
  OpenOptions options = one_thread();
  options.split = {store.get(), 0, 2, true};
  // Its failure reaches rank 0 when it is met, or when it is first asked.
  EXPECT_NE(error_of(
                [&] {
                  const auto predictor = open_predictor(path, options);
                  predictor->predict(texts(37, predictor->info().vocab_size), {}, nullptr);
                },
                ExitCode::kNotMeasured)
                .find("another rank is gone"),
            std::string::npos);
  followers.join();
  EXPECT_NE(followers.failures[1].find("rank 1 has another model or build than rank 0"), std::string::npos);
}

TEST(SplitSequence, ModelsOfSetsAreRefused) {
  OpenOptions options;
  options.split.world = 2;
  const std::string path = std::string(LENBENCH_TEST_DATA) + "/../results/checkpoints/max-retrieval-softmax";
  EXPECT_NE(error_of([&] { open_predictor(path, options); }).find("model of sets"), std::string::npos);
}

}  // namespace
}  // namespace lenbench
