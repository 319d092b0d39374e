// Training logs as figures: attempts, steps, what older logs do not say, and lines that are no log.
#include "report/training_curves.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "report/vega.h"
#include "tests/base/expect_error.h"

namespace lenbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kLog =
    R"({"event":"start","step":0,"seed":1,"attempt":1,"recipe":"r"}
{"step":1,"loss":5.5,"accuracy":0.1,"tokens":64}
{"step":10,"validation_accuracy":0.25,"validation_loss":2.5,"validation_length":64}
{"event":"restart","step":10,"seed":1,"reason":"plateau"}
{"event":"start","step":0,"seed":9,"attempt":2,"recipe":"r"}
{"step":1,"loss":4.5}
{"step":20,"loss":0.5}
{"step":20,"validation_accuracy":1.0,"validation_exact":0.75,"validation_loss":0.125,"validation_length":64}
{"event":"end","step":20,"seed":9}
{"step":30,"lo)";

TEST(TrainingCurves, ALogIsReadAttemptByAttempt) {
  const TrainingLog log = parse_training_log(kLog, "log");
  EXPECT_EQ(log.name, "r");
  ASSERT_EQ(log.attempts.size(), 2U);
  EXPECT_EQ(log.attempts[0].seed, 1U);
  EXPECT_EQ(log.attempts[1].seed, 9U);
  ASSERT_EQ(log.attempts[1].training.size(), 2U) << "a last line that is not whole is left out";
  EXPECT_EQ(log.attempts[1].training[1].step, 20);
  EXPECT_EQ(log.attempts[1].training[1].loss, 0.5);
  EXPECT_FALSE(log.attempts[0].validation[0].exact.has_value());
  EXPECT_EQ(log.attempts[1].validation[0].exact, 0.75);
}

TEST(TrainingCurves, EachAttemptIsALineOfEveryPanelThatKnowsIt) {
  TrainingLog log = parse_training_log(kLog, "log");
  log.transform = "asentmax";
  const Figure figure = training_figure({log});
  std::vector<std::string> titles;
  for (const LinePanel& panel : figure.lines) titles.push_back(panel.title);
  EXPECT_THAT(titles, ElementsAre("Loss in training", "Loss in validation", "Whole samples right in validation",
                                  "Judged tokens right in validation"));
  const LinePanel& loss = figure.lines[0];
  ASSERT_EQ(loss.lines.size(), 2U);
  EXPECT_EQ(loss.lines[1].name, "r (attempt 2, seed 9)");
  EXPECT_EQ(loss.lines[1].transform, "asentmax");
  EXPECT_EQ(loss.lines[1].points[1].x, 20);
  EXPECT_EQ(loss.lines[1].points[1].value, 0.5);
  EXPECT_FALSE(loss.axis.is_length || loss.axis.log);
  ASSERT_EQ(figure.lines[2].lines.size(), 1U) << "the first attempt does not say it";
  EXPECT_EQ(figure.lines[2].lines[0].points[0].value, 75);
  const auto json = parse_json(vega_lite(std::vector{figure}), "vega");
  EXPECT_EQ(json["concat"][0]["data"]["values"][1]["place"], "step 1");
  EXPECT_EQ(json.dump().find("\"samples\""), std::string::npos) << "losses are of no number of samples";
}

TEST(TrainingCurves, WhatIsNoLogIsRefusedWithItsLine) {
  const auto error = [](const char* text) { return error_of([&] { parse_training_log(text, "log"); }); };
  EXPECT_THAT(error(""), HasSubstr("log: is no training log"));
  EXPECT_THAT(error("{\"step\":1,\"loss\":2}\n"), HasSubstr("log: line 1: a training log opens with"));
  const std::string start = "{\"event\":\"start\",\"seed\":1,\"recipe\":\"r\"}\n";
  EXPECT_THAT(error((start + "7\n").c_str()), HasSubstr("line 2: must be an object"));
  EXPECT_THAT(error((start + "{\"loss\":2}\n").c_str()), HasSubstr("line 2: 'step' must be an integer"));
  EXPECT_THAT(error((start + "{\"step\":1,\"loss\":\"x\"}\n").c_str()), HasSubstr("'loss' must be a number"));
  EXPECT_THAT(error((start + "{\"step\":1}\n").c_str()), HasSubstr("'validation_loss' is missing"));
  EXPECT_THAT(error("{\"event\":\"start\",\"recipe\":\"r\"}\n"), HasSubstr("'seed' must be an integer"));
}

}  // namespace
}  // namespace lenbench
