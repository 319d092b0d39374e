// Does an answer depend on the arithmetic? The same samples asked in several ways, compared row by row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/predictor.h"

namespace lenbench {

// How far two ways of asking the same samples are apart. Rows are judged rows, over all samples.
struct Agreement {
  std::int64_t rows = 0;                                // finite in both
  std::int64_t same_argmax = 0;                         // of `rows`
  std::int64_t samples = 0;                             // all of them
  std::int64_t same_outcome = 0;                        // samples that are right in both, or wrong in both
  std::int64_t nonfinite_rows = 0;                      // not finite in one of them, or in both
  double largest_nats = 0;                              // largest difference of a row's nats
  std::int64_t worst_sample = -1, worst_position = -1;  // where; -1: no row was compared
};

// Throws std::logic_error when the three do not match in size.
Agreement compare_predictions(std::span<const Sample> samples, std::span<const SamplePrediction> a,
                              std::span<const SamplePrediction> b);

// One prediction per sample, asked `batch` at a time.
std::vector<SamplePrediction> predict_in_batches(Predictor& predictor, std::span<const Sample> samples,
                                                 std::int64_t batch);

// One prediction per sample, each asked together with `companion`: a longer companion makes the sample the padded row
// of its batch.
std::vector<SamplePrediction> predict_beside(Predictor& predictor, std::span<const Sample> samples,
                                             const Sample& companion);

}  // namespace lenbench
