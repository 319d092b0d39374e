// Lists of context lengths as users write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lenbench {

// Lengths in tokens, ascending: "64..65536" doubles from the first and always includes the last ("64..100" is 64, 100);
// "64,96,128" lists; the two mix: "64..256,96". "around:" before a length or range adds one less and one more of each:
// "around:64..128" is 63, 64, 65, 127, 128, 129, where lengths that meet count once. Throws Error on 0, negatives,
// fractions, an empty part, a first end above the last, and on a length named twice.
std::vector<std::int64_t> parse_lengths(std::string_view text);

}  // namespace lenbench
