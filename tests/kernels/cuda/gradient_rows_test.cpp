// The backward kernels with their 32 lanes simulated on the host: the same source that runs on a GPU.
#include "kernels/cuda/gradient_rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "gradient_cases.h"
#include "host_call.h"
#include "kernels/cuda/gradient_items.h"

namespace lenbench::kernels {
namespace {

FoundGradients gradients_on_host(TestProblem<float>& test, const std::vector<float>& dout) {
  std::vector<double> states;
  run_on_host(test, {}, &states);
  FoundGradients found;
  found.dq.assign(test.q.size(), -7);
  found.dk.assign(test.k.size(), -7);
  found.dv.assign(test.v.size(), -7);
  found.dslopes.assign(test.slopes.size(), -7);
  found.dalphas = found.dslopes;
  const auto rows = static_cast<std::size_t>(test.batches * test.heads * test.rows);
  std::vector<double> deltas(rows), slope_shares(rows), alpha_shares(rows);
  GradientCall call;
  call.problem = test.problem();
  call.dout = test.rows_view(dout);
  call.states = states.data();
  call.to = {test.rows_view(found.dq), test.keys_view(found.dk), test.keys_view(found.dv), found.dslopes.data(),
             found.dalphas.data()};
  call.deltas = deltas.data();
  call.slope_shares = slope_shares.data();
  call.alpha_shares = alpha_shares.data();
  for (std::int64_t item = 0; item < static_cast<std::int64_t>(rows); ++item) query_gradient_item<HostWarp>(call, item);
  for (std::int64_t item = 0; item < test.batches * test.kv_heads * test.keys; ++item)
    key_gradient_item<HostWarp>(call, item);
  for (std::int64_t h = 0; h < test.heads; ++h) share_item<HostWarp>(call, h);
  return found;
}

TEST(GradientRows, AgreeWithTheReference) { check_gradients(gradients_on_host); }

// Against the CPU's own backward, on rows long enough for the screen to leave most keys out.
TEST(GradientRows, AgreeWithTheTrainingKernels) {
  for (const double alpha : {1.0, 1.5, 1.7}) {
    TestProblem<float> test(300, 32, alpha, 31, 3, 2, 1);
    test.slopes = {0, 0.25F};
    const std::vector<double> normal = normals(test.q.size(), 7);
    const std::vector<float> dout(normal.begin(), normal.end());
    const FoundGradients found = gradients_on_host(test, dout);
    const Problem<float> problem = test.problem();
    std::vector<float> out(test.q.size()), saved(static_cast<std::size_t>(training_saved_size(problem)));
    FoundGradients expected = found;
    attend_forward(problem, test.rows_view(out), saved.data());
    attend_backward(problem, View<const float>(test.rows_view(dout)), saved.data(),
                    {test.rows_view(expected.dq), test.keys_view(expected.dk), test.keys_view(expected.dv),
                     expected.dslopes.data(), expected.dalphas.data()});
    const auto close = [&](const std::vector<float>& a, const std::vector<float>& b, const char* name) {
      float scale = 1;
      for (const float value : a) scale = std::max(scale, std::abs(value));
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], 2e-4F * scale) << name << " " << i << " " << alpha;
    };
    close(expected.dq, found.dq, "dq");
    close(expected.dk, found.dk, "dk");
    close(expected.dv, found.dv, "dv");
    close(expected.dslopes, found.dslopes, "dslopes");
    close(expected.dalphas, found.dalphas, "dalphas");
  }
}

TEST(GradientRows, AlphaGradientHoldsNearOne) {
  // The reference's textbook form has lost half its digits at 1.001, so its limit at 1 is the yardstick.
  TestProblem<float> at_one(40, 8, 1.0, 3, 1.5), near(40, 8, 1.0, 3, 1.5);
  near.alphas = {1.00001F};
  const std::vector<double> normal = normals(at_one.q.size(), 5);
  const std::vector<float> dout(normal.begin(), normal.end());
  const float limit = gradients_on_host(at_one, dout).dalphas[0];
  EXPECT_NEAR(gradients_on_host(near, dout).dalphas[0] / limit, 1, 2e-4);
}

TEST(GradientRows, NonFiniteRowsGiveNaNToWhatTheySee) {
  TestProblem<float> test(40, 8, 1.5, 9);
  test.v[25 * 8 + 3] = std::numeric_limits<float>::quiet_NaN();
  const FoundGradients found = gradients_on_host(test, std::vector<float>(test.q.size(), 1.0F));
  for (std::int64_t r = 0; r < 40; ++r) EXPECT_EQ(std::isnan(found.dq[static_cast<std::size_t>(r * 8)]), r >= 25) << r;
  EXPECT_TRUE(std::isnan(found.dk[0]));
}

}  // namespace
}  // namespace lenbench::kernels
