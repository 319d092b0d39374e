// Max Retrieval: which class has the item with the highest priority? Items are real-valued, there is one query and no
// order, so a model of sets reads these samples, not one of tokens (TaskInput::kItems).
//
// Ids: classes 0..9; from 10 on numbers, id 10 + k standing for k / 2^23. Fed: for each item its priority and its
// class, then the query, at whose row the class of the largest priority is judged. The length counts items, two tokens
// each. There is no BOS and no other special id.
//
// Level of comparability: inspired by Max Retrieval of ASEntmax (arXiv 2506.16640, table 8) and of Velickovic et al.
// (arXiv 2410.01104); its generator is not released, so the law below follows descriptions of it. There, items are
// embedded without positions, one cross-attention head reads them, training has 16 items and tests 16, 32, ..., 4096.
#pragma once

#include <cstdint>
#include <vector>

#include "tasks/task.h"

namespace lenbench {

inline constexpr std::int32_t kMaxRetrievalClasses = 10;
inline constexpr std::int32_t kMaxRetrievalSteps = std::int32_t{1} << 23;

// `priorities` are multiples of 1 / kMaxRetrievalSteps in [0, 1), so exact in float32; the largest occurs once.
struct MaxRetrievalSample {
  std::vector<float> priorities;      // uniform
  std::vector<std::int32_t> classes;  // uniform on 0..kMaxRetrievalClasses-1, parallel to `priorities`
  float query = 0;                    // uniform on [0, 1); carries nothing
  std::int32_t target = 0;            // class of the item with the largest priority
  std::int64_t source = 0;            // that item
  bool operator==(const MaxRetrievalSample&) const = default;
};

// The items behind the task's sample at `key`. Pure. Throws Error when there are fewer than 1 or more than 2^20 items,
// beyond which a largest priority that occurs once becomes rare among so many values.
MaxRetrievalSample draw_max_retrieval(const DrawKey& key);

}  // namespace lenbench
