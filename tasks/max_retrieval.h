// Max Retrieval: which class has the item with the highest priority? Items are real-valued, there is one query and no
// order, so no token sequence fits and the catalogue does not list it: a model of its own reads these samples.
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

// `priorities` are multiples of 2^-24 in [0, 1), so exact in float32; the largest occurs once.
struct MaxRetrievalSample {
  std::vector<float> priorities;      // uniform
  std::vector<std::int32_t> classes;  // uniform on 0..kMaxRetrievalClasses-1, parallel to `priorities`
  float query = 0;                    // uniform on [0, 1); carries nothing
  std::int32_t target = 0;            // class of the item with the largest priority
  std::int64_t source = 0;            // that item
  bool operator==(const MaxRetrievalSample&) const = default;
};

// The sample at `key`, whose length counts items. Pure. Throws Error when there are fewer than 1 or more than 2^20
// items, beyond which a largest priority that occurs once becomes rare among 2^24 values.
MaxRetrievalSample draw_max_retrieval(const DrawKey& key);

}  // namespace lenbench
