// What a GridBuilder keeps of each Record, and the two steps from there to a cell: aggregation, and which are best.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/grid.h"
#include "report/reading.h"

namespace lenbench {

// A training seed and a data seed: what may be averaged over. The checkpoint is a number given by the builder.
struct Repeat {
  std::uint32_t checkpoint = 0;
  std::uint64_t data_seed = 0;
  auto operator<=>(const Repeat&) const = default;
};

struct Kept {
  // NaN: none.
  struct Values {
    double value, low, high;
  };
  std::uint32_t row = 0, column = 0, model = 0, why = 0;  // numbers given by the builder
  Repeat repeat;
  std::int64_t length = 0, samples_requested = 0, samples = 0;
  std::uint64_t digest = 0;            // of the whole Record, to tell copies from contradictions
  std::array<Values, 2> values;        // of the builder's metrics
  double chance = 0;                   // NaN: none
  double x = 0;                        // GridRequest::x; NaN: none
  std::string outcomes;                // packed, a bit a sample, where they pair
  std::vector<float> nats;             // nats a token by sample, where they pair
  std::vector<std::uint16_t> answers;  // right answers by sample, where samples hold several
  std::uint8_t probe = 0;              // kind of probed rows; 0: not probed
};

// Repeats of one row and column, ascending by repeat; pointers into the builder's store.
using Repeats = std::vector<const Kept*>;

// Whether the value of `metric` number `which` is there.
bool has_value(const Kept& kept, std::size_t which);

// Sets value and interval of `cell` from the repeats that have a value. Requires at least one.
void aggregate_repeats(const Repeats& parts, std::size_t which, Aggregate aggregate, GridCell& cell);

// Packs "01x" to bits ('1' is 1), for `paired_counts`.
std::string outcome_bits(const std::string& outcomes);
// Samples right for the first alone and for the second alone.
struct PairedCounts {
  std::int64_t only_first = 0, only_second = 0;
};
PairedCounts paired_counts(const std::string& first, const std::string& second);

}  // namespace lenbench
