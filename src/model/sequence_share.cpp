// Who holds which rows, and what travels between ranks.
#include "model/sequence_share.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/take.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>

namespace lenbench {
namespace {

// Blocks that a rank gets of a long text. More mean a smoother share and more copies.
constexpr std::int64_t kBlocksEach = 16;
// Smaller blocks cost the attention kernels tiles that are not full.
constexpr std::int64_t kFewestRows = 64;

constexpr std::array kCounts = {&HeadStats::rows, &HeadStats::normalized_rows, &HeadStats::source_rows,
                                &HeadStats::scaled_rows};
constexpr std::array kSums = {&HeadStats::entropy,   &HeadStats::normalized_entropy, &HeadStats::support,
                              &HeadStats::sink_mass, &HeadStats::top_mass,           &HeadStats::source_mass,
                              &HeadStats::scale};
static_assert(sizeof(HeadStats) == 8 * (kCounts.size() + kSums.size()), "every field travels");

std::int64_t block_rows(std::int64_t tokens, int world) {
  if (world == 1) return std::max<std::int64_t>(1, tokens);
  const auto blocks_of = [&](std::int64_t each) { return (tokens + each * world - 1) / (each * world); };
  // Two blocks each, one from either end, are the fewest that share evenly.
  return std::max<std::int64_t>(1, std::min(blocks_of(2), std::max(blocks_of(kBlocksEach), kFewestRows)));
}

}  // namespace

SequenceShare::SequenceShare(std::int64_t tokens, Exchange* exchange)
    : tokens_(tokens), block_(block_rows(tokens, exchange == nullptr ? 1 : exchange->world())), exchange_(exchange) {
  held_ = owned_by(rank());
  if (held_.empty()) held_.push_back({0, 1});
  first_row_ = at::zeros({(tokens + block_ - 1) / block_}, at::TensorOptions().dtype(at::kLong));
  for (const RowRange& range : held_) {
    first_row_.mutable_data_ptr<std::int64_t>()[range.begin / block_] = num_rows_;
    num_rows_ += range.size();
  }
}

int SequenceShare::owner(std::int64_t block) const {
  const int world = exchange_ == nullptr ? 1 : exchange_->world();
  const auto place = static_cast<int>(block % world);
  return block / world % 2 == 0 ? place : world - 1 - place;
}

std::vector<RowRange> SequenceShare::owned_by(int rank) const {
  std::vector<RowRange> ranges;
  for (std::int64_t begin = 0; begin < tokens_; begin += block_) {
    if (owner(begin / block_) == rank) ranges.push_back({begin, std::min(tokens_, begin + block_)});
  }
  return ranges;
}

at::Tensor SequenceShare::positions(const at::TensorOptions& options) const {
  std::vector<at::Tensor> parts;
  for (const RowRange& range : held_) parts.push_back(at::arange(range.begin, range.end, options.dtype(at::kLong)));
  return at::cat(parts).unsqueeze(0);
}

at::Tensor SequenceShare::rows_at(const at::Tensor& positions) const {
  if (is_whole()) return positions;
  const at::Tensor block = at::floor_divide(positions, block_);
  return (at::take(first_row_, block) + positions - block * block_).clamp_max(num_rows_ - 1);
}

at::Tensor SequenceShare::gather(const at::Tensor& held_BRD) const {
  const std::int64_t batch = held_BRD.size(0), size = held_BRD.size(2);
  const at::Tensor all_TBD = at::empty({tokens_, batch, size}, held_BRD.options());
  for (int from = 0; from < exchange_->world(); ++from) {
    const std::vector<RowRange> ranges = owned_by(from);
    if (ranges.empty()) continue;
    std::int64_t rows = 0;
    for (const RowRange& range : ranges) rows += range.size();
    const at::Tensor part_RBD =
        from == rank() ? held_BRD.transpose(0, 1).contiguous() : at::empty({rows, batch, size}, held_BRD.options());
    // As bytes, whatever the type.
    exchange_->broadcast(part_RBD.view(at::kByte), from);
    std::int64_t row = 0;
    for (const RowRange& range : ranges) {
      all_TBD.slice(0, range.begin, range.end).copy_(part_RBD.slice(0, row, row + range.size()));
      row += range.size();
    }
  }
  return all_TBD.transpose(0, 1).unsqueeze(1);
}

at::Tensor attend_shared(AttendRequest request, const SequenceShare& share) {
  const std::int64_t groups = request.k_BGKD.size(1), heads_each = request.q_BHQD.size(1) / groups;
  std::vector<RowStatistics> rows(static_cast<std::size_t>(request.rows != nullptr ? groups : 0));
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t first = g * heads_each, last = first + heads_each;
    AttendRequest some = request;
    some.q_BHQD = request.q_BHQD.slice(1, first, last);
    some.k_BGKD = share.gather(request.k_BGKD.select(1, g));
    some.v_BGKD = share.gather(request.v_BGKD.select(1, g));
    if (!request.slopes.empty()) some.slopes.assign(&request.slopes[first], &request.slopes[first] + heads_each);
    const at::Tensor& alpha_H = request.normalizer.alpha_minus_one_H;
    if (alpha_H.defined()) some.normalizer.alpha_minus_one_H = alpha_H.slice(0, first, last);
    std::vector<HeadStats> stats(static_cast<std::size_t>(request.stats != nullptr ? heads_each : 0));
    some.stats = request.stats != nullptr ? &stats : nullptr;
    some.rows = request.rows != nullptr ? &rows[static_cast<std::size_t>(g)] : nullptr;
    request.q_BHQD.slice(1, first, last).copy_(attend(some));
    for (std::size_t h = 0; h < stats.size(); ++h) (*request.stats)[static_cast<std::size_t>(first) + h].add(stats[h]);
  }
  if (request.rows == nullptr) return request.q_BHQD;
  for (const auto field : kRowStatistics) {
    std::vector<at::Tensor> parts;
    for (const RowStatistics& part : rows) {
      if ((part.*field).defined()) parts.push_back(part.*field);
    }
    request.rows->*field = parts.empty() ? at::Tensor() : at::cat(parts, 1);
  }
  return request.q_BHQD;
}

void sum_over_ranks(Exchange& exchange, std::span<double> values) {
  if (values.empty()) return;
  exchange.sum(at::from_blob(values.data(), {std::ssize(values)}, at::kDouble));
}

void sum_over_ranks(Exchange& exchange, std::vector<HeadStats>& heads) {
  std::vector<double> sums;
  for (const HeadStats& head : heads) {
    for (const auto count : kCounts) sums.push_back(static_cast<double>(head.*count));
    for (const auto sum : kSums) sums.push_back(head.*sum);
  }
  sum_over_ranks(exchange, std::span(sums));
  auto next = sums.begin();
  for (HeadStats& head : heads) {
    for (const auto count : kCounts) head.*count = static_cast<std::int64_t>(*next++);
    for (const auto sum : kSums) head.*sum = *next++;
  }
}

}  // namespace lenbench
