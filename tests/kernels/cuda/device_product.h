// One product of the device's tensor cores, for tests.
#pragma once

#include <vector>

namespace lenbench::kernels {

// a [16 x 16], b [16 x 8], c [16 x 8], row by row; a and b are rounded to bfloat16. Returns a b + c as the device adds.
std::vector<float> device_product(const std::vector<float>& a, const std::vector<float>& b,
                                  const std::vector<float>& c);

}  // namespace lenbench::kernels
