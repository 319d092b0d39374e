// Laws that every task of the catalogue obeys.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/error.h"
#include "cases.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

constexpr std::uint64_t kSamples = 200;

class TaskLaws : public testing::TestWithParam<TaskCase> {
 protected:
  std::unique_ptr<Task> task_ = make(GetParam().spec);
  std::int64_t at_least(std::int64_t length) const { return std::max(length, task_->min_length()); }
};

// Documents are enumerated, not drawn, and no prefix decides the next byte of a text: these laws are not theirs.
class RandomTaskLaws : public TaskLaws {};

TEST_P(TaskLaws, SampleIsAPureFunctionOfItsAddress) {
  const std::int64_t length = at_least(64);
  std::vector<Sample> forward(32);
  for (std::uint64_t i = 0; i < forward.size(); ++i) forward[i] = draw(*task_, length, i);
  const std::unique_ptr<Task> other = make(GetParam().spec);
  for (std::uint64_t i = forward.size(); i-- > 0;) {
    draw(*other, length + 1, i + 5);
    EXPECT_EQ(draw(*other, length, i), forward[i]);
  }
  std::vector<Sample> threaded(forward.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < threaded.size(); i += 8) threaded[i] = draw(*task_, length, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(threaded, forward);
}

TEST_P(TaskLaws, SampleIsWellFormed) {
  const TaskInfo& info = task_->info();
  const bool text = info.metric == TaskMetric::kPerplexity;
  for (const std::int64_t length : {task_->min_length(), at_least(64), at_least(1000), std::int64_t{65536}}) {
    std::size_t longest = 0;
    for (std::uint64_t i = 0; i < (length > 1000 ? 2U : 50U); ++i) {
      const Sample sample = draw(*task_, length, i);
      const auto size = static_cast<std::int64_t>(sample.tokens.size());
      longest = std::max(longest, sample.tokens.size());
      for (const std::int32_t token : sample.tokens) ASSERT_TRUE(0 <= token && token < info.vocab_size);
      const auto bos = std::count(sample.tokens.begin(), sample.tokens.end(), info.specials.bos);
      if (text) {
        EXPECT_LE(bos, info.parameters.at("bos") == "none" ? 0 : 1);
        if (info.parameters.at("bos") == "window") {
          EXPECT_EQ(bos, 1);
        }
      } else {
        EXPECT_EQ(bos, info.specials.bos >= 0 ? 1 : 0) << "B5: one, or none where a sample is a set";
      }
      if (bos == 1) {
        EXPECT_EQ(sample.tokens[0], info.specials.bos);
      }

      ASSERT_FALSE(sample.scored.empty());
      EXPECT_EQ(sample.prompt_tokens, sample.scored[0].position + 1);
      // Answers are generated (each target fed but the last), or read at rows of the prompt (none fed).
      const bool generated = sample.scored[0].fed_back || sample.scored[0].position + 1 == size;
      std::vector<std::int32_t> answers;
      std::vector<std::int64_t> answer_rows;
      std::int64_t before = -1;
      for (const ScoredToken& scored : sample.scored) {
        ASSERT_LT(before, scored.position);
        before = scored.position;
        ASSERT_LT(scored.position, size);
        EXPECT_EQ(scored.fed_back, generated && scored.position + 1 < size);
        if (scored.fed_back) {
          EXPECT_EQ(sample.tokens[static_cast<std::size_t>(scored.position + 1)], scored.target);
        }
        if (scored.answer < 0) continue;
        answers.push_back(scored.target);
        answer_rows.push_back(scored.position);
      }
      if (generated) {
        EXPECT_EQ(before, size - 1) << "nothing is fed behind the last judged row";
      }
      if (sample.sources.empty()) continue;
      std::vector<std::int32_t> held;
      ASSERT_EQ(sample.sources.size(), answers.size());
      for (std::size_t a = 0; a < answers.size(); ++a) {
        ASSERT_LT(sample.sources[a], generated ? sample.prompt_tokens : answer_rows[a] + 1);
        held.push_back(sample.tokens[static_cast<std::size_t>(sample.sources[a])]);
      }
      EXPECT_EQ(held, answers);
    }
    EXPECT_LE(static_cast<std::int64_t>(longest), task_->total_tokens(length)) << length;
    if (GetParam().fixed_size) {
      EXPECT_EQ(static_cast<std::int64_t>(longest), task_->total_tokens(length)) << length;
    }
  }
}

TEST_P(TaskLaws, SolverFindsEveryTarget) {
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    const Sample sample = draw(*task_, at_least(64), i);
    ASSERT_EQ(task_->solve(sample.tokens, positions_of(sample)), targets_of(sample)) << i;
  }
  const Sample sample = draw(*task_, 65536, 1);
  const std::vector<std::int64_t> positions = positions_of(sample);
  if (GetParam().random) {
    EXPECT_EQ(task_->solve(sample.tokens, positions), targets_of(sample));
  }
}

TEST_P(RandomTaskLaws, SolverReadsOnlyThePrefix) {
  Rng rng(99, 0);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Sample sample = draw(*task_, at_least(64), i);
    for (const ScoredToken& scored : sample.scored) {
      std::vector<std::int32_t> tokens = sample.tokens;
      for (auto t = static_cast<std::size_t>(scored.position) + 1; t < tokens.size(); ++t) {
        tokens[t] = static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(task_->info().vocab_size)));
      }
      const std::vector<std::int64_t> row = {scored.position};
      ASSERT_EQ(task_->solve(tokens, row).at(0), scored.target);
      tokens.resize(static_cast<std::size_t>(scored.position) + 1);
      ASSERT_EQ(task_->solve(tokens, row).at(0), scored.target);
    }
  }
}

TEST_P(TaskLaws, SpecificationAndAddressRoundTrip) {
  EXPECT_EQ(format_spec(*task_), GetParam().spec);
  const DrawKey key = {at_least(64), 1, 3, Split::kValidation};
  const std::string address = format_address(*task_, key);
  const SampleAddress parsed = parse_address(address);
  const std::unique_ptr<Task> again = make_task(parsed.task, documents());
  EXPECT_EQ(again->info().parameters, task_->info().parameters);
  EXPECT_EQ(again->draw(parsed.key), task_->draw(key));
  EXPECT_EQ(format_address(*again, parsed.key), address);
}

TEST_P(RandomTaskLaws, SeedsSplitsLengthsAndIndexesGiveDifferentSamples) {
  const std::int64_t length = at_least(64);
  std::set<std::vector<std::int32_t>> seen;
  std::size_t drawn = 0;
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      for (std::uint64_t index = 0; index < 20; ++index) {
        for (std::int64_t extra = 0; extra < 2; ++extra, ++drawn) {
          seen.insert(draw(*task_, length + extra, index, seed, split).tokens);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

TEST_P(TaskLaws, BoundsAreRefusedWithTheBound) {
  const std::int64_t shortest = task_->min_length();
  EXPECT_NO_THROW(draw(*task_, shortest, 0));
  for (const std::int64_t length : {shortest - 1, std::int64_t{0}, std::int64_t{-5}}) {
    try {
      task_->draw({length, 0, 0, Split::kTest});
      FAIL() << length;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(shortest)), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(task_->draw({std::int64_t{1} << 40, 0, 0, Split::kTest}), Error);
  EXPECT_THROW(task_->draw({at_least(64), ~std::uint64_t{0}, 0, Split::kTest}), Error);
}

std::vector<TaskCase> random_cases() {
  std::vector<TaskCase> cases = task_cases();
  std::erase_if(cases, [](const TaskCase& task_case) { return !task_case.random; });
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, TaskLaws, testing::ValuesIn(task_cases()), CaseName());
INSTANTIATE_TEST_SUITE_P(Catalogue, RandomTaskLaws, testing::ValuesIn(random_cases()), CaseName());

TEST(Catalogue, EveryTaskIsAmongTheCases) {
  std::set<std::string> covered;
  for (const TaskCase& task_case : task_cases()) covered.insert(parse_task_spec(task_case.spec).name);
  const std::vector<std::string> names = task_names();
  EXPECT_EQ(covered, std::set<std::string>(names.begin(), names.end()));
  EXPECT_EQ(task_summaries().size(), names.size());
}

TEST(Catalogue, SolveGivesTheWorkedExamples) {
  for (const std::string& name : task_names()) {
    const std::unique_ptr<Task> task = make(name);
    ASSERT_EQ(task->info().examples.size(), 2U) << name;
    for (const auto* rows : {&task->info().examples, &task->info().truth_table}) {
      for (const WorkedExample& example : *rows) {
        EXPECT_EQ(task->solve(example.tokens, example.positions), example.targets) << name << ": " << example.note;
        EXPECT_FALSE(example.note.empty());
      }
    }
  }
}

// What `show --explain` tells of a task: where it comes from, what is known of the original, the whole rule where that
// is short: on strings of two or three symbols. For pairs, needles and words it would be long.
TEST(Catalogue, EveryTaskExplainsItself) {
  const std::set<std::string> own = {"recall", "recall-dense", "text"};
  const std::set<std::string> with_table = {"copy",
                                            "reverse",
                                            "sort",
                                            "nback",
                                            "local-count",
                                            "max-retrieval",
                                            "flip-flop",
                                            "parity",
                                            "even-pairs",
                                            "cycle-navigation",
                                            "missing-duplicate",
                                            "odds-first",
                                            "duplicate-string",
                                            "stack-manipulation",
                                            "binary-addition",
                                            "binary-multiplication",
                                            "compute-sqrt"};
  for (const std::string& name : task_names()) {
    const std::unique_ptr<Task> task = make(name);
    const TaskInfo& info = task->info();
    EXPECT_FALSE(info.summary.empty()) << name;
    const std::string level = info.comparability.substr(0, info.comparability.find(':'));
    EXPECT_TRUE(level == "exact" || level == "distributional" || level == "inspired") << info.comparability;
    EXPECT_EQ(level == "exact", own.contains(name)) << "exact is what lenbench made itself";
    EXPECT_NE(info.published.empty(), !own.contains(name)) << name;
    EXPECT_EQ(!info.truth_table.empty(), with_table.contains(name)) << name;
    for (const ParameterSpec& spec : task_parameters(name)) {
      EXPECT_FALSE(spec.meaning.empty()) << name << " " << spec.name;
      EXPECT_EQ(make_task({name, {{spec.name, spec.fallback}}, 0}, documents())->info().parameters, info.parameters)
          << "the default that is told is the default that is used";
    }
  }
}

TEST(Catalogue, ChanceIsOneOverTheAnswerAlphabet) {
  EXPECT_DOUBLE_EQ(make("recall")->chance(), 1.0 / 64);
  EXPECT_DOUBLE_EQ(make("recall-dense:values=10")->chance(), 0.1);
  EXPECT_DOUBLE_EQ(make("mqmtar")->chance(), 1.0 / 65536);
  EXPECT_DOUBLE_EQ(make("copy")->chance(), 1.0 / 32);
  EXPECT_DOUBLE_EQ(make("sort:symbols=7")->chance(), 1.0 / 7);
  EXPECT_DOUBLE_EQ(make("nback")->chance(), 1.0 / 15);
  EXPECT_DOUBLE_EQ(make("local-count")->chance(), 1.0 / 48);
  EXPECT_DOUBLE_EQ(make("flip-flop")->chance(), 0.5);
  EXPECT_DOUBLE_EQ(make("parity")->chance(), 0.5);
  EXPECT_DOUBLE_EQ(make("max-retrieval")->chance(), 0.1);
  EXPECT_DOUBLE_EQ(make("niah-ids")->chance(), 1.0 / 262144);
  EXPECT_DOUBLE_EQ(make("text")->chance(), 1.0 / 256);
  EXPECT_DOUBLE_EQ(make("mqar")->chance(), 1.0 / 4096);
  EXPECT_DOUBLE_EQ(make("even-pairs")->chance(), 1.0 / 2);
  EXPECT_DOUBLE_EQ(make("binary-addition")->chance(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(make("solve-equation")->chance(), 1.0 / 5);
  EXPECT_DOUBLE_EQ(make("niah-bytes")->chance(), 1.0 / 9000000);
  EXPECT_DOUBLE_EQ(make("variable-tracking")->chance(), 1.0 / 65536);
  EXPECT_DOUBLE_EQ(make("common-words:tokens=bytes")->chance(), 1.0 / 512000);
}

}  // namespace
}  // namespace lenbench
