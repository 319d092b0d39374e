// What memory this process has taken.
#pragma once

#include <cstdint>

namespace lenbench {

// The resident-set high-water mark of this process in bytes; 0 where the system does not tell.
std::int64_t peak_resident_bytes();

}  // namespace lenbench
