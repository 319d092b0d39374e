// Several ranks train as one does: the same losses, decisions and files.
#include "train/parallel.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <cmath>
#include <exception>
#include <filesystem>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "c10d/store.h"
#include "c10d/tcp_store.h"
#include "checkpoint/checkpoint.h"
#include "tests/base/expect_error.h"
#include "tests/base/ranks_as_threads.h"
#include "tests/train/tiny_recipe.h"
#include "train/trainer.h"

namespace lenbench {
namespace {

nlohmann::ordered_json recipe_of(std::int64_t steps) {
  nlohmann::ordered_json recipe = tiny_recipe();
  recipe["steps"] = steps;
  recipe["batch"] = 7;  // no multiple of the ranks
  recipe["log_every_steps"] = 1;
  recipe["save_every_steps"] = 5;
  // Rounding grows with the rate: at 0.003 float32 differs by 2e-5 after 100 steps.
  recipe["optimizer"]["learning_rate"] = 0.001;
  recipe["validation"]["samples"] = 130;
  recipe["validation"]["every_steps"] = 20;
  return recipe;
}

std::vector<nlohmann::ordered_json> log_of(const std::string& output) {
  std::vector<nlohmann::ordered_json> lines;
  for (const std::string& line : split(read_file(output + "/train_log.jsonl"), '\n')) {
    if (!line.empty()) lines.push_back(parse_json(line, "log"));
  }
  return lines;
}

std::vector<double> numbers(const std::string& output, const char* name) {
  std::vector<double> values;
  for (const nlohmann::ordered_json& line : log_of(output)) {
    if (line.contains(name)) values.push_back(line[name]);
  }
  return values;
}

// Trains with `world` ranks, each a thread with a connection of its own. What a rank throws is thrown again.
void train(const TrainOptions& options, int world) {
  if (world == 1) {
    train_recipe(options, [](const TrainProgress&) {});
    return;
  }
  // The system chooses the port; a connection waits for one rank at a time.
  const TcpStore held({.host = "127.0.0.1", .holds = true, .patience_seconds = 30, .prefix = {}});
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world));
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        TrainOptions own = options;
        const auto store =
            connect_store({.host = "127.0.0.1", .port = held.store()->getPort(), .patience_seconds = 30, .prefix = {}});
        own.member = {store.get(), rank, world, true};
        train_recipe(own, [](const TrainProgress&) {});
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

struct Training {
  TemporaryFolder folder;
  TrainOptions options;
  explicit Training(std::int64_t steps, const std::string& dtype = "float32") {
    options.recipe_path = write_recipe(folder, recipe_of(steps));
    options.output_dir = folder / "out";
    options.threads = 1;
    options.dtype = dtype;
  }
};

double largest_relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]) / std::abs(a[i]));
  }
  return largest;
}

TEST(Parallel, TheLossCurveIsThatOfOneRank) {
  for (const auto& [dtype, steps, tolerance] : {std::tuple("float64", 200, 1e-9), std::tuple("float32", 100, 1e-5)}) {
    Training one(steps, dtype), two(steps, dtype);
    train(one.options, 1);
    train(two.options, 2);
    const std::vector<double> alone = numbers(one.options.output_dir, "loss");
    ASSERT_EQ(std::ssize(alone), steps);
    EXPECT_LT(alone.back(), 0.9 * alone.front()) << "nothing was learnt";
    const double difference = largest_relative_difference(alone, numbers(two.options.output_dir, "loss"));
    EXPECT_LT(difference, tolerance) << dtype;
    RecordProperty(dtype, std::to_string(difference));
    EXPECT_EQ(numbers(one.options.output_dir, "accuracy").back(), numbers(two.options.output_dir, "accuracy").back());
    EXPECT_EQ(numbers(one.options.output_dir, "validation_accuracy"),
              numbers(two.options.output_dir, "validation_accuracy"));
    EXPECT_LT(largest_relative_difference(numbers(one.options.output_dir, "validation_loss"),
                                          numbers(two.options.output_dir, "validation_loss")),
              tolerance);
  }
}

TEST(Parallel, MoreRanksThanRowsTrainAsWell) {
  Training one(6), nine(6);
  train(one.options, 1);
  train(nine.options, 9);
  EXPECT_LT(
      largest_relative_difference(numbers(one.options.output_dir, "loss"), numbers(nine.options.output_dir, "loss")),
      1e-5);
}

TEST(Parallel, ResumesWithAnotherNumberOfRanks) {
  Training straight(30), changing(30);
  train(straight.options, 1);
  const std::int64_t stops[] = {11, 19, 0};
  const int worlds[] = {2, 3, 1};
  for (int i = 0; i < 3; ++i) {
    changing.options.stop_after_steps = stops[i];
    train(changing.options, worlds[i]);
    EXPECT_EQ(std::filesystem::exists(changing.options.output_dir + "/train_state.safetensors"), i < 2);
  }
  EXPECT_LT(largest_relative_difference(numbers(straight.options.output_dir, "loss"),
                                        numbers(changing.options.output_dir, "loss")),
            1e-5);
  const auto log = log_of(changing.options.output_dir);
  EXPECT_EQ(log.back()["event"], "end");
  EXPECT_EQ(Checkpoint::open(changing.options.output_dir).origin().seed, 3U);
}

TEST(Parallel, RestartsAndStopsAreDecidedTogether) {
  Training run(20);
  nlohmann::ordered_json recipe = recipe_of(20);
  recipe["restart"] = {{"at_step", 5}, {"min_accuracy", 1.0}, {"max_seeds", 3}};
  run.options.recipe_path = write_recipe(run.folder, recipe);
  train(run.options, 2);
  EXPECT_EQ(Checkpoint::open(run.options.output_dir).origin().seed, 5U);

  Training stopped(50);
  std::atomic<bool> stop = true;
  stopped.options.stop = &stop;
  EXPECT_THROW(train(stopped.options, 2), TrainingStopped);
  EXPECT_EQ(numbers(stopped.options.output_dir, "loss").size(), 1U);
  stop = false;
  train(stopped.options, 2);
  EXPECT_EQ(numbers(stopped.options.output_dir, "loss").size(), 50U);
}

}  // namespace
}  // namespace lenbench
