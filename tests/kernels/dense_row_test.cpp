// The dense row kernel with its 32 lanes simulated on the host: the same source that runs on a GPU.
#include "kernels/dense_row.h"

#include <gtest/gtest.h>

#include "dense_cases.h"

namespace lenbench::kernels {
namespace {

void run_on_host(TestProblem<float>& test) {
  const Problem<float> problem = test.problem();
  const View<float> out = test.rows_view(test.out);
  std::vector<float> scores(static_cast<std::size_t>(problem.keys));
  for (std::int64_t b = 0; b < problem.batches; ++b) {
    for (std::int64_t h = 0; h < problem.heads; ++h) {
      for (std::int64_t r = 0; r < problem.rows; ++r) {
        const std::int64_t kv_head = h / (problem.heads / problem.kv_heads);
        const std::size_t at = test.row_index(b, h, r);
        DenseRow row;
        row.q = problem.q.at(b, h) + r * problem.q.token_stride;
        row.k = problem.k.at(b, kv_head);
        row.v = problem.v.at(b, kv_head);
        row.k_stride = problem.k.token_stride;
        row.v_stride = problem.v.token_stride;
        row.visible = problem.visible[b * problem.visible_batch_stride + r];
        row.head_size = problem.head_size;
        row.alpha = static_cast<double>(problem.alphas[h]);
        row.slope = static_cast<double>(problem.slopes[h]);
        row.scores = scores.data();
        row.out = out.at(b, h) + r * out.token_stride;
        row.entropy = &test.entropy[at];
        row.sink = &test.sink[at];
        row.top = &test.top[at];
        row.top_score = &test.top_score[at];
        row.support = &test.support[at];
        dense_row<HostWarp>(row);
      }
    }
  }
}

TEST(DenseRow, AgreesWithTheReference) { check_dense_cases(run_on_host); }

TEST(DenseRow, NonFiniteInputsReachTheirRowsOnly) { check_dense_nonfinite(run_on_host); }

TEST(DenseRow, ManyEqualScoresSumToOne) {
  constexpr std::int64_t kKeys = 200000;
  std::vector<float> q(4, 0.0F), k(4 * kKeys, 1.0F), v(4 * kKeys, 1.0F), scores(kKeys), out(4);
  float entropy = 0, top = 0;
  std::int32_t support = 0;
  for (const double alpha : {1.0, 1.5, 1.7}) {
    DenseRow row{q.data(), k.data(),      v.data(),   4,        4,       kKeys, 4,       alpha,
                 0.0,      scores.data(), out.data(), &entropy, nullptr, &top,  nullptr, &support};
    dense_row<HostWarp>(row);
    EXPECT_NEAR(out[0], 1.0F, 1e-6F) << alpha;
    EXPECT_NEAR(entropy, std::log(static_cast<double>(kKeys)), 1e-5) << alpha;
    EXPECT_EQ(support, kKeys) << alpha;
  }
}

}  // namespace
}  // namespace lenbench::kernels
