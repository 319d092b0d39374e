// The dense row kernel with its 32 lanes simulated on the host: the same source that runs on a GPU.
#include "kernels/cuda/dense_row.h"

#include <gtest/gtest.h>

#include "cases.h"
#include "host_call.h"

namespace lenbench::kernels {
namespace {

void run_dense(TestProblem<float>& test) { run_on_host(test, {.screen = false}); }

TEST(DenseRow, AgreesWithTheReference) { check_cases(run_dense); }

TEST(DenseRow, NonFiniteInputsReachTheirRowsOnly) { check_nonfinite(run_dense); }

TEST(DenseRow, KeysBeyondABiasesReachChangeNothing) {
  for (const double alpha : {1.0, 1.3, 1.5, 2.0}) {
    for (const float slope : {0.25F, 2.0F, 40.0F}) {
      TestProblem<float> test(400, 16, alpha, 17, 2);
      test.slopes = {slope};
      test.visible[5] = 400;
      run_dense(test);
      expect_equals_reference(test);
    }
  }
}

TEST(DenseRow, ManyEqualScoresSumToOne) {
  constexpr std::int64_t kKeys = 200000;
  std::vector<float> q(4, 0.0F), k(4 * kKeys, 1.0F), v(4 * kKeys, 1.0F), scores(kKeys), out(4);
  float entropy = 0, top = 0;
  std::int32_t support = 0;
  for (const double alpha : {1.0, 1.5, 1.7}) {
    DenseRow row{q.data(), k.data(), v.data(), 4, 4, kKeys, 4, alpha, 0, 2, kKeys, scores.data(), {}};
    row.to.out = out.data();
    row.to.entropy = &entropy;
    row.to.top = &top;
    row.to.support = &support;
    dense_row<HostWarp>(row);
    EXPECT_NEAR(out[0], 1.0F, 1e-6F) << alpha;
    EXPECT_NEAR(entropy, std::log(static_cast<double>(kKeys)), 1e-5) << alpha;
    EXPECT_EQ(support, kKeys) << alpha;
  }
}

}  // namespace
}  // namespace lenbench::kernels
