// Studies: strict reading, names of checkpoints, and every bundled one refers to what exists.
#include "bench/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "tests/base/expect_error.h"
#include "tests/base/temporary_folder.h"

namespace lenbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kGood = R"({"title": "t", "scales": {"small": {"task": "recall", "metric": "exact",
  "lengths": [64, 128], "samples": [10, 5],
  "rows": [{"method": "softmax", "recipe": "r", "seeds": [1, 11]}]}}})";

std::string written(const TemporaryFolder& folder, const std::string& text,
                    const std::string& name = "paper-1-x.json") {
  std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << text;
  return folder / name;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  text.replace(text.find(what), what.size(), by);
  return text;
}

TEST(Study, ReadsAndNamesCheckpointsBySeed) {
  const TemporaryFolder folder;
  const Study study = read_study(written(folder, kGood));
  EXPECT_EQ(study.id, "paper-1-x");
  StudyRow row = study.scales.at("small").rows.front();
  EXPECT_EQ(checkpoint_of(row, 1), "r");
  EXPECT_EQ(checkpoint_of(row, 11), "r-seed11");
  row.transform = "adaptive-temperature";
  EXPECT_EQ(records_of(row, 11), "r-seed11+adaptive-temperature");
  row.checkpoint = "other";
  EXPECT_EQ(checkpoint_of(row, 1), "other");
  EXPECT_EQ(checkpoint_of(row, 11), "other-seed11");
}

TEST(Study, ShortNamesAndSuggestions) {
  const TemporaryFolder folder;
  written(folder, kGood);
  written(folder, kGood, "lm.json");
  const std::vector<Study> studies = read_studies(folder / "");
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_EQ(studies[0].id, "lm");
  EXPECT_EQ(find_study(studies, "x").id, "paper-1-x");
  EXPECT_EQ(find_study(studies, "paper-1-x").id, "paper-1-x");
  EXPECT_THAT(error_of([&] { find_study(studies, "ln"); }), HasSubstr("did you mean 'lm'"));
}

TEST(Study, ContradictionsAreNamed) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& what, const std::string& by) {
    return error_of([&] { read_study(written(folder, replaced(kGood, what, by))); });
  };
  EXPECT_THAT(refusal("[10, 5]", "[10]"), HasSubstr("2 lengths and 1 sample counts"));
  EXPECT_THAT(refusal("[64, 128]", "[128, 64]"), HasSubstr("ascend"));
  EXPECT_THAT(refusal("[10, 5]", "[10, 0]"), HasSubstr("at least 1"));
  EXPECT_THAT(refusal("[1, 11]", "[1, 1]"), HasSubstr("row 'softmax': seeds names one seed twice"));
  EXPECT_THAT(refusal("[1, 11]", "[]"), HasSubstr("seeds is empty"));
  EXPECT_THAT(refusal("\"title\"", "\"titel\""), HasSubstr("did you mean 'title'"));
}

TEST(Study, EveryBundledOneNamesRecipesThatExist) {
  const std::string results = std::string(LENBENCH_TEST_DATA) + "/../results";
  std::vector<std::string> ids;
  for (const Study& study : read_studies(results + "/tables")) {
    ids.push_back(study.id);
    for (const auto& [name, scale] : study.scales) {
      for (const StudyRow& row : scale.rows) {
        EXPECT_TRUE(std::filesystem::exists(results + "/recipes/" + row.recipe + ".json"))
            << study.id << " " << row.recipe;
        if (!row.checkpoint.empty()) {
          EXPECT_TRUE(std::filesystem::exists(results + "/checkpoints/" + row.checkpoint)) << study.id;
        }
      }
    }
  }
  EXPECT_THAT(ids, testing::IsSupersetOf({"lm", "niah", "note-1", "note-2", "paper-1-copy", "paper-1-mqmtar",
                                          "paper-1-reverse", "paper-1-sort", "positions"}));
}

}  // namespace
}  // namespace lenbench
