// Recipes: strict reading, bases, schedules; and the bundled ones.
#include "train/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/base/expect_error.h"
#include "tests/train/tiny_recipe.h"

namespace lenbench {
namespace {

using testing::HasSubstr;

std::string message_of(const nlohmann::ordered_json& json) {
  const TemporaryFolder folder;
  const std::string path = write_recipe(folder, json);
  return error_of([&] { read_recipe(path); });
}

TEST(Recipe, ReadsWhatIsWrittenAndKeepsDefaults) {
  const TemporaryFolder folder;
  const Recipe recipe = read_recipe(write_recipe(folder, tiny_recipe()));
  EXPECT_EQ(recipe.name, "tiny");
  EXPECT_EQ(recipe.seed, 3u);
  ASSERT_EQ(recipe.sources.size(), 2u);
  EXPECT_EQ(recipe.sources[1].from, 0.25);
  EXPECT_EQ(recipe.sources[1].until, 1.0);
  EXPECT_EQ(recipe.optimizer.beta2, 0.99);
  EXPECT_EQ(recipe_json(recipe)["model"]["hidden_size"], 16);
}

TEST(Recipe, AChildChangesItsBaseAsAMergePatch) {
  const TemporaryFolder folder;
  write_recipe(folder, tiny_recipe(), "base.json");
  const auto child = nlohmann::ordered_json::parse(
      R"({"base": "base.json", "name": "child", "model": {"entmax_alpha": 2.0, "attn_scale_type": null}, "optimizer": {"learning_rate": 0.5}})");
  const Recipe recipe = read_recipe(write_recipe(folder, child));
  EXPECT_EQ(recipe.name, "child");
  EXPECT_EQ(recipe.optimizer.learning_rate, 0.5);
  EXPECT_EQ(recipe.optimizer.warmup_steps, 3);
  const auto model = nlohmann::ordered_json::parse(recipe.model);
  EXPECT_EQ(model["entmax_alpha"], 2.0);
  EXPECT_FALSE(model.contains("attn_scale_type"));
  EXPECT_TRUE(model.contains("final_logit_softcapping"));
}

TEST(Recipe, ABaseThatBuildsOnItselfEnds) {
  const TemporaryFolder folder;
  const auto loop = nlohmann::ordered_json::parse(R"({"base": "recipe.json"})");
  const std::string path = write_recipe(folder, loop);
  EXPECT_THAT(error_of([&] { read_recipe(path); }), HasSubstr("base"));
}

TEST(Recipe, NamesTheKeyThatIsWrong) {
  auto json = tiny_recipe();
  json["stepps"] = 5;
  EXPECT_THAT(message_of(json), HasSubstr("stepps"));
  json = tiny_recipe();
  json["steps"] = 0;
  EXPECT_THAT(message_of(json), HasSubstr("steps must be at least 1"));
  json = tiny_recipe();
  json["steps"] = "many";
  EXPECT_THAT(message_of(json), HasSubstr("steps"));
  json = tiny_recipe();
  json["optimizer"]["beta2"] = 1.0;
  EXPECT_THAT(message_of(json), HasSubstr("optimizer.beta2"));
  json = tiny_recipe();
  json["lengths"]["high"] = 8;
  EXPECT_THAT(message_of(json), HasSubstr("lengths.high"));
  json = tiny_recipe();
  json["save_dtype"] = "int8";
  EXPECT_THAT(message_of(json), HasSubstr("save_dtype"));
  json = tiny_recipe();
  json.erase("model");
  EXPECT_THAT(message_of(json), HasSubstr("model is missing"));
}

TEST(Recipe, EveryStepNeedsASource) {
  auto json = tiny_recipe();
  json["sources"][0]["until"] = 0.2;
  EXPECT_THAT(message_of(json), HasSubstr("0.2"));
  json = tiny_recipe();
  json["sources"][0]["from"] = 0.1;
  EXPECT_THAT(message_of(json), HasSubstr("present at every step"));
  json = tiny_recipe();
  json["sources"] = nlohmann::ordered_json::array();
  EXPECT_THAT(message_of(json), HasSubstr("sources is empty"));
}

TEST(Recipe, WarmsUpThenFollowsACosine) {
  Recipe recipe;
  recipe.steps = 110;
  recipe.optimizer.learning_rate = 2.0;
  recipe.optimizer.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(learning_rate_at(recipe, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(recipe, 9), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate_at(recipe, 10), 2.0);
  EXPECT_NEAR(learning_rate_at(recipe, 60), 1.0, 1e-12);
  EXPECT_NEAR(learning_rate_at(recipe, 109), 1 + std::cos(3.14159265358979 * 0.99), 1e-9);
  recipe.optimizer.final_fraction = 0.5;
  EXPECT_NEAR(learning_rate_at(recipe, 60), 1.5, 1e-12);
}

TEST(Recipe, AttemptsTakeTheListedRatesInTurn) {
  const TemporaryFolder folder;
  auto json = tiny_recipe();
  EXPECT_FALSE(recipe_json(read_recipe(write_recipe(folder, json)))["restart"].contains("learning_rates"))
      << "a recipe without a list must keep its hash";
  json["restart"] = {{"max_seeds", 3}, {"learning_rates", {0.5, 0.25}}};
  const Recipe recipe = read_recipe(write_recipe(folder, json));
  EXPECT_EQ(peak_learning_rate(recipe, 1), 0.5);
  EXPECT_EQ(peak_learning_rate(recipe, 2), 0.25);
  EXPECT_EQ(peak_learning_rate(recipe, 3), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(recipe, 2, 2), 0.25) << "at the end of the warm-up";
  json["restart"]["learning_rates"] = {0.5, 0};
  EXPECT_THAT(error_of([&] { read_recipe(write_recipe(folder, json)); }), HasSubstr("restart.learning_rates"));
}

TEST(Recipe, TheTopLengthGrowsLinearly) {
  Recipe recipe;
  recipe.steps = 100;
  recipe.lengths = {16, 64, 16, 0.5};
  EXPECT_EQ(top_length_at(recipe, 0), 16);
  EXPECT_EQ(top_length_at(recipe, 25), 40);
  EXPECT_EQ(top_length_at(recipe, 50), 64);
  EXPECT_EQ(top_length_at(recipe, 99), 64);
}

TEST(Recipe, EveryBundledRecipeReads) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(LENBENCH_TEST_DATA) + "/../results/recipes")) {
    if (entry.path().filename().string().find("-base") != std::string::npos || entry.path().extension() != ".json")
      continue;
    const Recipe recipe = read_recipe(entry.path().string());
    EXPECT_EQ(recipe.name, entry.path().stem().string());
    ++count;
  }
  EXPECT_GE(count, 8);
}

}  // namespace
}  // namespace lenbench
