// Training: learns, resumes bit for bit, stops on numbers that are not finite, restarts seeds, refuses foreign folders.
#include "train/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/names.h"
#include "base/numbers.h"
#include "checkpoint/checkpoint.h"
#include "model/weights.h"
#include "tests/base/expect_error.h"
#include "tests/train/tiny_recipe.h"
#include "train/data.h"
#include "train/parallel.h"
#include "train/recipe.h"
#include "train/validation.h"

namespace lenbench {
namespace {

using testing::HasSubstr;

struct TinyRun {
  TemporaryFolder folder;
  std::string recipe;
  std::string output;
  explicit TinyRun(const nlohmann::ordered_json& json = tiny_recipe())
      : recipe(write_recipe(folder, json)), output(folder / "out") {}

  TrainOptions options() const {
    TrainOptions options;
    options.recipe_path = recipe;
    options.output_dir = output;
    options.threads = 1;
    return options;
  }

  int train(std::int64_t stop_after = 0, bool overwrite = false) {
    int reports = 0;
    TrainOptions chosen = options();
    chosen.stop_after_steps = stop_after;
    chosen.overwrite = overwrite;
    train_recipe(chosen, [&](const TrainProgress& progress) {
      ++reports;
      EXPECT_LE(progress.step, progress.num_steps);
    });
    return reports;
  }
  std::vector<nlohmann::ordered_json> log() const {
    std::vector<nlohmann::ordered_json> lines;
    for (const std::string& line : split(read_file(output + "/train_log.jsonl"), '\n')) {
      if (!line.empty()) lines.push_back(parse_json(line, "log"));
    }
    return lines;
  }
};

TEST(Trainer, WritesACheckpointThatOpens) {
  TinyRun run;
  EXPECT_EQ(run.train(), 12);
  const Checkpoint checkpoint = Checkpoint::open(run.output);
  EXPECT_EQ(checkpoint.config().transform_name(), "asentmax");
  EXPECT_EQ(checkpoint.config().vocab_size, 20);
  EXPECT_EQ(checkpoint.origin().train_length, 24);
  EXPECT_EQ(checkpoint.origin().seed, 3u);
  EXPECT_EQ(checkpoint.name(), "tiny");
  EXPECT_FALSE(std::filesystem::exists(run.output + "/train_state.safetensors"));
  EXPECT_EQ(run.log().front()["event"], "start");
  EXPECT_EQ(run.log().back()["event"], "end");
}

nlohmann::ordered_json tiny_set_recipe() {
  return nlohmann::ordered_json::parse(R"({
    "name": "tiny-set", "method": "softmax", "steps": 300, "batch": 64,
    "model": {
      "architectures": ["LenbenchForCausalLM"], "model_type": "gemma2", "hidden_size": 32, "intermediate_size": 32,
      "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 32,
      "final_logit_softcapping": null, "apply_rotary": false, "apply_nape": false, "entmax_alpha": 1.0,
      "lenbench": {"item_classes": 10}
    },
    "optimizer": {"learning_rate": 0.003, "warmup_steps": 10},
    "lengths": {"low": 4, "high": 4, "grow_from": 4},
    "sources": [{"task": "max-retrieval"}],
    "validation": {"length": 4, "samples": 256, "every_steps": 300}
  })");
}

// Chance is 0.1, the most frequent class gives about 0.4 of four items.
TEST(Trainer, AModelOfSetsLearnsMaxRetrieval) {
  TinyRun run(tiny_set_recipe());
  run.train();
  EXPECT_EQ(Checkpoint::open(run.output).config().item_classes, 10);
  EXPECT_GT(run.log().back()["validation_accuracy"].get<double>(), 0.5);
}

TEST(Trainer, ModelAndTaskMustReadTheSame) {
  auto json = tiny_set_recipe();
  json["model"].erase("lenbench");
  json["model"]["hidden_size"] = 2;
  EXPECT_THAT(error_of([&] { TinyRun(json).train(); }), HasSubstr("max-retrieval needs a model of sets"));
  json = tiny_set_recipe();
  json["sources"][0]["task"] = "recall";
  EXPECT_THAT(error_of([&] { TinyRun(json).train(); }), HasSubstr("asks about tokens"));
}

TEST(Trainer, LossFallsOnATaskThatASmallModelLearns) {
  auto json = tiny_recipe();
  json["steps"] = 300;
  json["batch"] = 32;
  json["log_every_steps"] = 10;
  json["sources"] =
      nlohmann::ordered_json::parse(R"([{"task": "recall:keys=6,values=4,filler=4,queries=4,repeat=true"}])");
  TinyRun run(json);
  run.train();
  double first = 0, last = 0;
  for (const auto& line : run.log()) {
    if (!line.contains("loss")) continue;
    if (first == 0) first = line["loss"];
    last = line["loss"];
  }
  // Untrained: about ln 20. Knowing that answers are the four values: ln 4 = 1.386.
  EXPECT_GT(first, 2.5);
  EXPECT_LT(last, 1.45);
}

TEST(Trainer, AKilledRunEndsWithTheSameBytes) {
  TinyRun whole, parts;
  whole.train();
  parts.train(/*stop_after=*/5);  // last saved at step 3
  EXPECT_TRUE(std::filesystem::exists(parts.output + "/train_state.safetensors"));
  EXPECT_EQ(parts.train(/*stop_after=*/8), 5);  // steps 4 to 8
  parts.train();
  EXPECT_EQ(read_file(whole.output + "/model.safetensors"), read_file(parts.output + "/model.safetensors"));
  ASSERT_EQ(whole.log().size(), parts.log().size());
  for (std::size_t i = 0; i < whole.log().size(); ++i) {
    auto a = whole.log()[i], b = parts.log()[i];
    a.erase("seconds");
    b.erase("seconds");
    EXPECT_EQ(a, b);
  }
}

// A stop asked for while the last step is made: nothing is left to stop.
TEST(Trainer, AStopInTheLastStepFinishes) {
  TinyRun whole, stopped;
  whole.train();
  std::atomic<bool> stop = false;
  TrainOptions options = stopped.options();
  options.stop = &stop;
  train_recipe(options, [&](const TrainProgress& now) { stop = now.step == now.num_steps - 1; });
  EXPECT_EQ(read_file(whole.output + "/model.safetensors"), read_file(stopped.output + "/model.safetensors"));
  EXPECT_EQ(Checkpoint::open(whole.output).origin().facts, Checkpoint::open(stopped.output).origin().facts);
  EXPECT_EQ(stopped.log().back()["event"], "end");
}

// The step that was reported is kept, though no save was due.
TEST(Trainer, AnExceptionOfTheProgressCallbackSavesTheStateFirst) {
  TinyRun whole, parts;
  whole.train();
  EXPECT_THROW(train_recipe(parts.options(),
                            [](const TrainProgress& now) {
                              if (now.step == 2) throw Error("stop");
                            }),
               Error);
  EXPECT_EQ(parts.train(), 10);  // steps 3 to 12
  EXPECT_EQ(read_file(whole.output + "/model.safetensors"), read_file(parts.output + "/model.safetensors"));
}

TEST(Trainer, ASeedOnTheCommandLineIsThatOfAnEditedRecipe) {
  auto json = tiny_recipe();
  json["seed"] = 11;
  TinyRun edited(json), chosen;
  edited.train();
  TrainOptions options = chosen.options();
  options.seed = 11;
  train_recipe(options, [](const TrainProgress&) {});
  EXPECT_EQ(read_file(edited.output + "/model.safetensors"), read_file(chosen.output + "/model.safetensors"));
  const Origin origin = Checkpoint::open(chosen.output).origin();
  EXPECT_EQ(origin.name, "tiny-seed11");
  EXPECT_EQ(origin.recipe, "tiny");
  EXPECT_EQ(origin.seed, 11u);
}

// With one judged row a sample both shares are the same number; with more, whole samples are the rarer.
TEST(Trainer, ValidationCountsTokensAndWholeSamples) {
  for (const bool single : {true, false}) {
    auto json = tiny_recipe();
    const std::string task = std::string("recall:keys=6,values=4,filler=4,repeat=true,queries=") + (single ? "1" : "4");
    json["sources"] = {{{"task", task}}};
    json["validation"] = {{"task", task}, {"length", 24}, {"samples", 40}, {"every_steps", 12}};
    TinyRun run(json);
    run.train();
    const nlohmann::ordered_json end = run.log().back();
    const double token = end["validation_accuracy"], exact = end["validation_exact"];
    if (single) {
      EXPECT_EQ(token, exact);
    }
    EXPECT_LE(exact, token);
    EXPECT_DOUBLE_EQ(exact * 40, std::round(exact * 40));
    EXPECT_EQ(Checkpoint::open(run.output).origin().facts.at("validation_exact"), format_real(exact));
  }
}

// Rounding to the stored type can cost a model several per cent of its samples.
TEST(Trainer, TheLastValidationIsOfTheWeightsAsStored) {
  for (const char* stored : {"float32", "float16", "bfloat16"}) {
    auto json = tiny_recipe();
    json["save_dtype"] = stored;
    TinyRun run(json);
    run.train();
    const Checkpoint checkpoint = Checkpoint::open(run.output);
    const auto model = load_model(checkpoint, checkpoint.config(), at::kFloat);
    const TrainTasks tasks(read_recipe(run.recipe), run.folder / "");
    const Validation again = validate(*model, tasks.validation_samples(), Parallel({}));
    const auto log = run.log();
    const nlohmann::ordered_json& last = log[log.size() - 2];
    ASSERT_EQ(last["step"], 12) << stored;
    EXPECT_EQ(last["validation_loss"], again.nats) << stored;
    EXPECT_EQ(log.back()["validation_exact"], again.exact_match) << stored;
    EXPECT_EQ(checkpoint.origin().facts.at("validation_accuracy"), format_real(again.token_accuracy)) << stored;
  }
}

TEST(Trainer, AFinishedFolderIsLeftAlone) {
  TinyRun run;
  run.train();
  const std::string before = read_file(run.output + "/train_log.jsonl");
  EXPECT_EQ(run.train(), 0);
  EXPECT_EQ(read_file(run.output + "/train_log.jsonl"), before);
}

TEST(Trainer, AnotherRecipesFolderIsRefusedUnlessOverwritten) {
  TinyRun run;
  run.train();
  auto other = tiny_recipe();
  other["seed"] = 4;
  write_recipe(run.folder, other);
  EXPECT_THAT(error_of([&] { run.train(); }), HasSubstr("--overwrite"));
  EXPECT_EQ(run.train(0, /*overwrite=*/true), 12);
  EXPECT_EQ(Checkpoint::open(run.output).origin().seed, 4u);
}

TEST(Trainer, AnUnfinishedRunOfAnEditedRecipeIsRefused) {
  TinyRun run;
  run.train(/*stop_after=*/5);
  auto other = tiny_recipe();
  other["steps"] = 20;
  write_recipe(run.folder, other);
  EXPECT_THAT(error_of([&] { run.train(); }), HasSubstr("unfinished run of another recipe"));
}

TEST(Trainer, AStateCutOffIsRefusedWithItsName) {
  TinyRun run;
  run.train(/*stop_after=*/5);
  std::filesystem::resize_file(run.output + "/train_state.safetensors", 1000);
  EXPECT_THAT(error_of([&] { run.train(); }), HasSubstr("train_state.safetensors"));
}

TEST(Trainer, AValueThatIsNotFiniteStopsTheRun) {
  auto json = tiny_recipe();
  json["optimizer"]["learning_rate"] = 1e30;
  json["optimizer"]["warmup_steps"] = 0;
  TinyRun run(json);
  const std::string message = error_of([&] { run.train(); }, ExitCode::kNotMeasured);
  EXPECT_THAT(message, HasSubstr("is not finite at step"));
  EXPECT_THAT(message, HasSubstr("learning_rate"));
}

// The next attempt takes the next rate of the list, and the log says why the last one ended.
TEST(Trainer, AnAttemptThatIsNotFiniteIsMadeAgainAtTheNextLearningRate) {
  auto json = tiny_recipe();
  json["optimizer"]["warmup_steps"] = 0;
  json["restart"] = {{"max_seeds", 2}, {"learning_rates", {1e30, 0.01}}};
  TinyRun run(json);
  run.train();
  const Origin origin = Checkpoint::open(run.output).origin();
  EXPECT_EQ(origin.seed, 4u);
  EXPECT_EQ(origin.facts.at("seeds_tried"), "2");
  EXPECT_EQ(origin.facts.at("learning_rate"), "0.01");
  int restarts = 0;
  for (const auto& line : run.log()) {
    if (line.value("event", "") != "restart") continue;
    ++restarts;
    EXPECT_THAT(line["reason"].get<std::string>(), HasSubstr("not finite"));
  }
  EXPECT_EQ(restarts, 1);
}

TEST(Trainer, ASeedThatStaysOnThePlateauIsReplaced) {
  auto json = tiny_recipe();
  json["restart"] = {{"at_step", 4}, {"min_accuracy", 1.0}, {"max_seeds", 3}};
  TinyRun run(json);
  run.train();
  int restarts = 0;
  for (const auto& line : run.log()) restarts += line.value("event", "") == "restart" ? 1 : 0;
  EXPECT_EQ(restarts, 2);
  EXPECT_EQ(Checkpoint::open(run.output).origin().seed, 5u);
  EXPECT_EQ(Checkpoint::open(run.output).origin().facts.at("seeds_tried"), "3");
}

TEST(Trainer, ARestartedRunResumesToo) {
  auto json = tiny_recipe();
  json["restart"] = {{"at_step", 4}, {"min_accuracy", 1.0}, {"max_seeds", 2}};
  TinyRun whole(json), parts(json);
  whole.train();
  parts.train(/*stop_after=*/7);
  parts.train();
  EXPECT_EQ(read_file(whole.output + "/model.safetensors"), read_file(parts.output + "/model.safetensors"));
}

// The published hyper-parameters at a batch that a CPU does in a second: shapes, tasks and methods fit together.
TEST(Trainer, RecipesOfThePaperTakeSteps) {
  const std::string recipes = std::string(LENBENCH_TEST_DATA) + "/../results/recipes/";
  int tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(recipes)) {
    const std::string name = entry.path().filename().string();
    const bool widest = name.ends_with("-asentmax-nape.json") || name.ends_with("-topk-nape.json");
    if (!name.starts_with("paper-") || !widest) continue;
    nlohmann::ordered_json json = {{"base", recipes + name}, {"steps", 2}, {"batch", 2}};
    json["validation"] = {{"samples", 2}, {"every_steps", 2}};
    json["lengths"] = {{"high", 33}, {"grow_from", 33}};
    json["validation"]["length"] = 33;
    TinyRun run(json);
    EXPECT_EQ(run.train(), 2) << name;
    EXPECT_GT(run.log().back()["seconds"], 0) << name;
    ++tried;
  }
  EXPECT_GE(tried, 10);
}

TEST(Trainer, EveryTransformTrains) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"softmax", R"({"entmax_alpha": 1.0, "attn_scale_type": null, "attn_scale_proj_bias": null})"},
      {"ssmax", R"({"entmax_alpha": 1.0, "attn_scale_type": "nakanishi", "attn_scale_proj_bias": null})"},
      {"sparsemax", R"({"entmax_alpha": 2.0, "attn_scale_type": null, "attn_scale_proj_bias": null})"},
      {"theta",
       R"({"architectures": ["LenbenchForCausalLM"], "attn_scale_type": null, "attn_scale_proj_bias": null, "lenbench": {"theta": true}})"},
      {"alpha", R"({"architectures": ["LenbenchForCausalLM"], "lenbench": {"alpha_learnable": true}})"}};
  for (const auto& [name, change] : changes) {
    auto json = tiny_recipe();
    json["model"].merge_patch(nlohmann::ordered_json::parse(change));
    TinyRun run(json);
    EXPECT_EQ(run.train(), 12) << name;
    EXPECT_NO_THROW(Checkpoint::open(run.output).check_finite()) << name;
  }
}

}  // namespace
}  // namespace lenbench
