// The identity fields that rows and columns of a Grid are told apart by.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "record/record.h"

namespace lenbench {

struct IdentityField {
  const char* name;
  bool is_repeat;  // Records that differ in it alone are repeats, unless it is asked for
  std::string (*text)(const Record&);
};

// In the order in which a row's name shows them. The first is "model".
std::span<const IdentityField> identity_fields();
// Throws Error on an unknown name ("did you mean").
std::size_t field_index(const std::string& name);
// The number that columns of this field are ordered by; 0 where they keep their order of appearance.
std::int64_t field_order(std::size_t field, const Record& record);

}  // namespace lenbench
