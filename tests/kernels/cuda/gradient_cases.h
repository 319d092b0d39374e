// Gradients that the CUDA kernels must find, on a device and simulated.
#pragma once

#include <gtest/gtest.h>

#include "../heads.h"

namespace lenbench::kernels {

struct FoundGradients {
  std::vector<float> dq, dk, dv, dslopes, dalphas;
};

// `run` returns the gradients of a problem for upstream gradients of the outputs.
template <class Run>
void check_gradients(const Run& run) {
  for (const double alpha : {1.0, 1.02, 1.3, 1.5, 1.9, 2.0}) {
    SCOPED_TRACE(alpha);
    for (const std::int64_t size : {1, 3, 16, 33, 160}) {
      TestProblem<float> test(45, size, alpha, 2, 2, 4, 2, 2);
      test.slopes = {0.1F, 0, 0.5F, 0.02F};
      test.visible[7] = 0;
      test.visible[8] = 45;
      const std::vector<double> normal = normals(test.q.size(), 555);
      const std::vector<float> dout(normal.begin(), normal.end());
      const FoundGradients found = run(test, dout);
      // Sums over the query heads of a KV head, over batches for slopes and alphas.
      std::vector<double> dk(test.k.size()), dv(test.v.size()), dslopes(4), dalphas(4), dq(test.q.size());
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t h = 0; h < 4; ++h) {
          const ReferenceHead head = test.reference(b, h);
          std::vector<double> head_dout;
          for (std::int64_t r = 0; r < test.rows; ++r)
            for (std::int64_t c = 0; c < size; ++c)
              head_dout.push_back(
                  static_cast<double>(dout[static_cast<std::size_t>(((b * test.rows + r) * 4 + h) * size + c)]));
          const ReferenceBackward backward = reference_backward(head, head_dout);
          for (std::int64_t t = 0; t < test.rows; ++t) {
            for (std::int64_t c = 0; c < size; ++c) {
              const auto from = static_cast<std::size_t>(t * size + c);
              dq[static_cast<std::size_t>(((b * test.rows + t) * 4 + h) * size + c)] = backward.dq[from];
              const auto to = static_cast<std::size_t>(((b * test.keys + t) * 2 + h / 2) * size + c);
              dk[to] += backward.dk[from];
              dv[to] += backward.dv[from];
            }
          }
          dslopes[static_cast<std::size_t>(h)] += backward.dslope;
          dalphas[static_cast<std::size_t>(h)] += backward.dalpha;
        }
      }
      const auto close = [&](const std::vector<double>& expected, const std::vector<float>& got, const char* name,
                             double tolerance = 5e-5) {
        const double scale = std::max(1.0, largest_magnitude(expected));
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(static_cast<double>(got[i]), expected[i], tolerance * scale)
              << name << " " << i << " size " << size;
      };
      close(dq, found.dq, "dq");
      close(dk, found.dk, "dk");
      close(dv, found.dv, "dv");
      // One number out of a thousand terms, each up to 44 keys away.
      close(dslopes, found.dslopes, "dslope", 2e-4);
      close(dalphas, found.dalphas, "dalpha");
    }
  }
}

}  // namespace lenbench::kernels
