// Synthetic cells of known outcomes.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "verdict/cell.h"

namespace lenbench {

inline GateCell cell_of(const std::string& outcomes, std::int64_t length = 64, const std::string& task = "recall") {
  GateCell cell;
  cell.question.task = task;
  cell.question.parameters = {{"density", "8"}};
  cell.question.length = length;
  cell.question.metric = "exact_match";
  cell.subject.name = "model";
  cell.outcomes = outcomes;
  return cell;
}

// `right` right answers, then wrong ones.
inline std::string outcomes_of(std::int64_t right, std::int64_t n) {
  return std::string(static_cast<std::size_t>(right), '1') + std::string(static_cast<std::size_t>(n - right), '0');
}

// Documents of 100 tokens at `nats_per_token`, with a spread between documents.
inline GateCell text_cell(double nats_per_token, std::int64_t documents, std::int64_t length = 256,
                          std::uint64_t seed = 1) {
  GateCell cell = cell_of("", length, "text");
  cell.question.parameters = {{"stride", "auto"}};
  cell.question.metric = "perplexity";
  cell.question.documents_sha256 = "d0c5";
  cell.subject.train_length = 256;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> spread(0, 10);
  for (std::int64_t i = 0; i < documents; ++i) {
    cell.nats.push_back(100 * nats_per_token + spread(random));
    cell.tokens.push_back(100);
  }
  return cell;
}

// A pair of outcome strings: right on the first alone with probability `lost`, on the second alone with `gained`, on
// both with `both`.
struct OutcomePair {
  std::string first, second;
};

inline OutcomePair draw_pair(std::mt19937_64& random, std::int64_t n, double lost, double gained, double both) {
  OutcomePair pair;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::int64_t i = 0; i < n; ++i) {
    const double u = uniform(random);
    pair.first += u < lost || (u >= lost + gained && u < lost + gained + both) ? '1' : '0';
    pair.second += u >= lost && u < lost + gained + both ? '1' : '0';
  }
  return pair;
}

}  // namespace lenbench
