// Tensors exchanged between the ranks of a run, on torch's Gloo process group.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "bench/shared_store.h"

namespace lenbench {

// Every rank makes the same calls in the same order. Tensors are contiguous and on the CPU. Throws Error(kNotMeasured)
// when another rank is gone, or answers nothing for ten minutes.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // The sum over all ranks, in place; the same bits on each.
  virtual void sum(at::Tensor tensor) = 0;
  // What rank 0 has, in place.
  virtual void broadcast(at::Tensor tensor) = 0;
  // What each rank has, in the order of ranks; all of one shape.
  virtual std::vector<at::Tensor> gather(const at::Tensor& tensor) = 0;
};

// Null for a single rank. `member.store` must come from connect_store().
std::unique_ptr<Exchange> make_exchange(const Membership& member);

}  // namespace lenbench
