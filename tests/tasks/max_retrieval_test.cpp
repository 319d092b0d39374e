// Max Retrieval's items: their law, and the answer found a second time.
#include "tasks/max_retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "p_value.h"

namespace lenbench {
namespace {

using namespace testing_tasks;

TEST(MaxRetrieval, AnswersWithTheClassOfTheLargest) {
  for (const std::int64_t length : {1, 16, 4096}) {
    for (std::uint64_t i = 0; i < (length < 100 ? 10000U : 200U); ++i) {
      const MaxRetrievalSample sample = draw_max_retrieval({length, i, 0, Split::kTest});
      ASSERT_EQ(sample.priorities.size(), static_cast<std::size_t>(length));
      ASSERT_EQ(sample.classes.size(), static_cast<std::size_t>(length));
      std::vector<std::pair<float, std::int32_t>> items;
      for (std::size_t k = 0; k < sample.priorities.size(); ++k) {
        ASSERT_TRUE(0 <= sample.priorities[k] && sample.priorities[k] < 1);
        items.emplace_back(sample.priorities[k], sample.classes[k]);
      }
      std::sort(items.rbegin(), items.rend());
      ASSERT_EQ(items[0].second, sample.target);
      ASSERT_EQ(sample.priorities[static_cast<std::size_t>(sample.source)], items[0].first);
      if (length > 1) {
        ASSERT_GT(items[0].first, items[1].first);
      }
    }
  }
}

TEST(MaxRetrieval, ItemsAreUniform) {
  std::vector<std::int64_t> priorities(64), classes(10), targets(10), sources(16), queries(64);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const MaxRetrievalSample sample = draw_max_retrieval({16, i, 0, Split::kTest});
    for (const float priority : sample.priorities) ++priorities.at(static_cast<std::size_t>(64 * priority));
    for (const std::int32_t c : sample.classes) ++classes.at(static_cast<std::size_t>(c));
    ++targets.at(static_cast<std::size_t>(sample.target));
    ++sources.at(static_cast<std::size_t>(sample.source));
    ++queries.at(static_cast<std::size_t>(64 * sample.query));
  }
  EXPECT_GT(p_value(priorities), kLevel);
  EXPECT_GT(p_value(classes), kLevel);
  EXPECT_GT(p_value(targets), kLevel);
  EXPECT_GT(p_value(sources), kLevel);
  EXPECT_GT(p_value(queries), kLevel);
}

TEST(MaxRetrieval, SampleIsAPureFunctionOfItsAddress) {
  const MaxRetrievalSample first = draw_max_retrieval({64, 3, 1, Split::kTrain});
  draw_max_retrieval({128, 9, 1, Split::kTrain});
  EXPECT_EQ(draw_max_retrieval({64, 3, 1, Split::kTrain}), first);
  EXPECT_NE(draw_max_retrieval({64, 3, 1, Split::kTest}), first);
  EXPECT_NE(draw_max_retrieval({64, 3, 2, Split::kTrain}), first);
  EXPECT_NE(draw_max_retrieval({64, 4, 1, Split::kTrain}), first);
}

TEST(MaxRetrieval, LargestLengthIsNamed) {
  EXPECT_NO_THROW(draw_max_retrieval({std::int64_t{1} << 20, 0, 0, Split::kTest}));
  try {
    draw_max_retrieval({(std::int64_t{1} << 20) + 1, 0, 0, Split::kTest});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("1048576"), std::string::npos);
  }
  EXPECT_THROW(draw_max_retrieval({0, 0, 0, Split::kTest}), Error);
}

}  // namespace
}  // namespace lenbench
