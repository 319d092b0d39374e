// What the kernels are timed against.
#include "attention/kernel_bench.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attention_testing.h"

namespace lenbench {
namespace {

using testing::largest_difference;
using testing::make_layer;

at::Tensor reference(AttendRequest request) {
  request.path = AttentionPath::kReference;
  return attend(request);
}

// What benchmarks set beside the kernels is the same softmax, of whole texts and of a few rows, with grouped heads.
TEST(CausalSdpa, IsTheSoftmaxOfTheReferencePath) {
  for (const std::int64_t kv_heads : {1, 2}) {
    AttendRequest request =
        make_layer("softmax", "nope", 17, at::kFloat, {.tokens = 70, .heads = 2, .kv_heads = kv_heads}).request();
    EXPECT_LT(largest_difference(causal_sdpa(request), reference(request)), 2e-6);
    const at::Tensor rows = testing::ints({0, 33, 69});
    request.positions_BQ = rows.unsqueeze(0);
    request.q_BHQD = request.q_BHQD.index_select(2, rows);
    EXPECT_LT(largest_difference(causal_sdpa(request), reference(request)), 2e-6);
  }
}

// A head of top-k is timed as what it is: rows of at most K keys.
TEST(TimeInput, TimesTopKInPlaceOfEntmax) {
  BenchInput input = random_bench_input(40, 8, 1, 1.5);
  input.topk = 3;
  int named = 0;
  for (const KernelTiming& timing : time_input(input, 1, 1, true)) {
    EXPECT_EQ(timing.kernel.find("entmax"), std::string::npos) << timing.kernel;
    if (timing.kernel != "lenbench top-3") continue;
    ++named;
    EXPECT_DOUBLE_EQ(timing.mean_support, (1.0 + 2.0 + 38 * 3.0) / 40);
    EXPECT_LT(std::abs(timing.sum_error), 1e-6);
  }
  EXPECT_EQ(named, 1);
}

}  // namespace
}  // namespace lenbench
