// What the types of a Record cannot say: whether its numbers agree with one another.
#pragma once

#include <string>

#include "record/record.h"

namespace lenbench {

// One sentence on the first contradiction, opening with the field; empty when there is none.
std::string contradiction(const Record& record);

}  // namespace lenbench
