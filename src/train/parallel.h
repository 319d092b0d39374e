// Data-parallel training: each rank takes some rows of every batch, and sums make the batch whole again.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/backend.h"
#include "c10d/exchange.h"

namespace lenbench {

// Over the judged rows of a batch; real, so that one exchange sums them.
struct StepSums {
  double nats = 0, right = 0, judged = 0;
  double stops = 0;  // ranks that were asked to stop
};

// With one rank every call leaves what it is given, but for reduce, which is for several.
class Parallel {
 public:
  explicit Parallel(const Membership& member) : member_(member), exchange_(make_exchange(member)) {}
  int rank() const { return member_.rank; }
  int world() const { return member_.world; }
  bool leads() const { return member_.rank == 0; }

  // Sums `sums` over the ranks, and makes of the gradients of each rank's summed loss those of the mean over all judged
  // rows, the same bits on every rank. A parameter without gradient on all ranks stays without.
  void reduce(const std::vector<std::pair<std::string, at::Tensor>>& parameters, StepSums& sums) const;
  // In place, over the ranks.
  void sum(std::vector<double>& values) const;
  // What rank 0 has. Contiguous tensors.
  void broadcast(const std::map<std::string, at::Tensor>& tensors) const;
  void broadcast(std::vector<double>& values) const;

 private:
  Membership member_;
  std::unique_ptr<Exchange> exchange_;
};

}  // namespace lenbench
