// The kernels for one instruction set: CMake compiles this file several times with different flags and names.
#include "kernels/variant.h"

#include "kernels/stream_duplicates.h"
#include "kernels/stream_entmax.h"
#include "kernels/stream_softmax.h"
#include "kernels/training_backward.h"

#define LENBENCH_TEXT(NAME) #NAME
#define LENBENCH_NAME(NAME) LENBENCH_TEXT(NAME)

namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT {
namespace {

std::size_t stream_scratch(std::int64_t keys, std::int64_t head_size, std::int64_t distinct) {
  return StreamScratch(nullptr, keys, head_size, distinct).bytes;
}

void stream_rows(const StreamHead& head, std::int64_t row_begin, std::int64_t row_end, void* memory,
                 StreamingCounters& counters) {
  const StreamScratch scratch(memory, head.keys, head.head_size, head.key_ids ? head.distinct : 0);
  if (head.topk > 0) return topk_rows(head, row_begin, row_end, scratch, counters);
  const Normalizer<float> norm = make_normalizer<float>(head.alpha);
  Multiplicities multiplicities;
  multiplicities.counts = scratch.counts;
  if (head.key_ids) start_multiplicities(head, head.visible[row_begin], multiplicities);
  if (!head.key_ids && norm.shape == Shape::kSoftmax) {
    for (std::int64_t first = row_begin; first < row_end; first += kTileGroup * kRows) {
      const std::int64_t end = first + kTileGroup * kRows < row_end ? first + kTileGroup * kRows : row_end;
      softmax_tiles(head, first, end, scratch, counters);
    }
    return;
  }
  if (!head.key_ids) {
    entmax_rows(head, row_begin, row_end, norm, scratch, counters);
    return;
  }
  for (std::int64_t first = row_begin; first < row_end; first += kRows) {
    const QueryTile tile = pack_queries(head, first, row_end, scratch.queries);
    duplicates_tile(head, tile, norm, scratch, multiplicities, counters);
  }
}

template <typename T>
std::size_t train_scratch(std::int64_t keys, std::int64_t head_size) {
  return TrainScratch<T>(nullptr, keys, head_size).bytes;
}

template <typename T>
void forward(const TrainHead<T>& head, void* scratch) {
  forward_head<T>(head, scratch);
}

template <typename T>
void backward(const TrainHead<T>& head, const TrainGradient<T>& gradient, void* scratch) {
  backward_head<T>(head, gradient, scratch);
}

}  // namespace

const Variant& variant() {
  static constexpr Variant kVariant = {LENBENCH_NAME(LENBENCH_KERNEL_VARIANT),
                                       kTileRows<float>,
                                       kTileRows<double>,
                                       kLanes<float>,
                                       kLanes<double>,
                                       kHasScreen,
                                       stream_scratch,
                                       stream_rows,
                                       train_scratch<float>,
                                       train_scratch<double>,
                                       forward<float>,
                                       forward<double>,
                                       backward<float>,
                                       backward<double>};
  return kVariant;
}

}  // namespace lenbench::kernels::LENBENCH_KERNEL_VARIANT
