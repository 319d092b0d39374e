// Tensors exchanged between the ranks of a run, on torch's Gloo process group.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>

#include "base/error.h"
#include "bench/shared_store.h"

namespace lenbench {

// Another rank is gone, or answers nothing.
class RankLost : public Error {
 public:
  explicit RankLost(std::string message) : Error(std::move(message), ExitCode::kNotMeasured) {}
};

// Every rank makes the same calls in the same order. Tensors are contiguous and on the CPU. Throws RankLost.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int rank() const = 0;
  virtual int world() const = 0;
  // The sum over all ranks, in place; the same bits on each.
  virtual void sum(at::Tensor tensor) = 0;
  // What rank `from` has, in place.
  virtual void broadcast(at::Tensor tensor, int from = 0) = 0;
};

// Null for a single rank. `member.store` must come from connect_store(). `patience` is how long a call waits for ranks
// that live; that one died shows at once.
std::unique_ptr<Exchange> make_exchange(const Membership& member,
                                        std::chrono::milliseconds patience = std::chrono::minutes(10));

}  // namespace lenbench
