// Compares what a kernel wrote into a TestProblem with the double-precision reference.
#pragma once

#include <gtest/gtest.h>

#include "heads.h"

namespace lenbench::kernels {

inline std::vector<double> scores_of(const ReferenceHead& head, std::int64_t row) {
  std::vector<double> made;
  const std::int64_t visible = head.visible[static_cast<std::size_t>(row)];
  for (std::int64_t j = 0; j < visible; ++j) {
    double dot = -head.slope * static_cast<double>(visible - 1 - j);
    for (std::int64_t c = 0; c < head.head_size; ++c)
      dot += head.q[static_cast<std::size_t>(row * head.head_size + c)] *
             head.k[static_cast<std::size_t>(j * head.head_size + c)];
    made.push_back(dot);
  }
  return made;
}

// Tolerances: output 1e-5 max|v|, entropy 1e-5; support exact up to keys whose score is within
// rounding of the threshold (`ambiguous` of them).
inline void expect_equals_reference(const TestProblem<float>& test, double tolerance = 1e-5) {
  for (std::int64_t b = 0; b < test.batches; ++b) {
    for (std::int64_t h = 0; h < test.heads; ++h) {
      const ReferenceHead head = test.reference(b, h);
      const ReferenceForward expected = reference_forward(head);
      const double scale = std::max(1.0, largest_magnitude(head.v));
      for (std::int64_t r = 0; r < test.rows; ++r) {
        const std::size_t at = test.row_index(b, h, r);
        const ReferenceRow& row = expected.rows[static_cast<std::size_t>(r)];
        for (std::int64_t c = 0; c < test.head_size; ++c)
          ASSERT_NEAR(test.out_row(b, h, r)[c], expected.out[static_cast<std::size_t>(r * test.head_size + c)],
                      tolerance * scale)
              << "head " << h << " row " << r << " channel " << c;
        ASSERT_NEAR(test.entropy[at], row.entropy, tolerance * std::max(1.0, row.entropy)) << "row " << r;
        ASSERT_NEAR(test.sink[at], row.sink, tolerance) << "row " << r;
        ASSERT_NEAR(test.top[at], row.top, tolerance) << "row " << r;
        const std::vector<double> scored = scores_of(head, r);
        const double top_score = scored.empty() ? 0 : *std::max_element(scored.begin(), scored.end());
        ASSERT_NEAR(test.top_score[at], top_score, 1e-5 * std::max(1.0, std::abs(top_score))) << "row " << r;
        std::int64_t ambiguous = 0;
        if (head.alpha > 1)
          for (const double s : scored) ambiguous += std::abs((head.alpha - 1) * s - row.threshold) < 2e-6;
        ASSERT_NEAR(static_cast<double>(test.support[at]), static_cast<double>(row.support),
                    static_cast<double>(ambiguous))
            << "row " << r;
      }
    }
  }
}

}  // namespace lenbench::kernels
