// Context parallelism: the rows of a text divided over ranks, each of which sees the keys and values of all. Exact,
// because a row needs nothing of another but its key and value. Letters: B rows of a batch, T tokens, R rows held,
// H query heads, G key/value heads, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "attention/attend.h"
#include "c10d/exchange.h"

namespace lenbench {

// Positions [begin, end).
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

// The rows of texts of T tokens that one rank holds. Rows are dealt in blocks, to and fro over the ranks, so that all
// see about as many keys, and so that rows that are near one another, as answers are, have several owners.
class SequenceShare {
 public:
  // All rows: nothing is shared.
  explicit SequenceShare(std::int64_t tokens) : SequenceShare(tokens, nullptr) {}
  // Null: all rows. `exchange` must outlive this.
  SequenceShare(std::int64_t tokens, Exchange* exchange);

  bool is_whole() const { return exchange_ == nullptr; }
  std::int64_t num_rows() const { return num_rows_; }
  // Ascending, never empty: a rank for which there are no rows computes row 0, which it does not own, as well.
  const std::vector<RowRange>& ranges() const { return held_; }
  bool owns_any() const { return !owned_by(rank()).empty(); }
  // Of the rows held: int64 [1, R].
  at::Tensor positions(const at::TensorOptions& options) const;
  bool owns(std::int64_t position) const { return owner(position / block_) == rank(); }
  // Where rows stand among those held, for positions of any shape; where one is not held, some row that is.
  at::Tensor rows_at(const at::Tensor& positions) const;
  // One head's keys or values of all ranks, [B, 1, T, D], from those of the rows held, [B, R, D].
  at::Tensor gather(const at::Tensor& held_BRD) const;

 private:
  int rank() const { return exchange_ == nullptr ? 0 : exchange_->rank(); }
  int owner(std::int64_t block) const;
  std::vector<RowRange> owned_by(int rank) const;

  std::int64_t tokens_ = 0, block_ = 1, num_rows_ = 0;
  Exchange* exchange_ = nullptr;
  std::vector<RowRange> held_;
  at::Tensor first_row_;  // of each block among the rows held
};

// attend() for the rows of one rank: `request` has the keys and values of the rows held, [B, G, R, D], and absolute
// positions. Those of other ranks are there for one key/value head at a time. The result takes the place of the
// queries.
at::Tensor attend_shared(AttendRequest request, const SequenceShare& share);

// Sums over ranks.
void sum_over_ranks(Exchange& exchange, std::span<double> values);
void sum_over_ranks(Exchange& exchange, std::vector<HeadStats>& heads);

}  // namespace lenbench
