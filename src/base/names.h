// Names that users type: suggestions for misspelt ones, and lists of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lenbench {

// " (did you mean 'x'?)" for the nearest of `known`, or "" when none is near: at most one edit for every three
// characters of the longer of the two. Case is ignored. The first of equally near names wins.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

std::string join(const std::vector<std::string>& parts, std::string_view separator);

// The parts between separators, empty ones included: split("a,,b", ',') is {"a", "", "b"}; split("", ',') is {""}.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace lenbench
