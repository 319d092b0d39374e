// What surrounds needles: running text of an exact size, where its sentences end, and RULER's depths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lenbench {

// RULER's needle depths: 40 equal steps from 0 to 100 per cent, rounded to whole ones (halves up).
inline constexpr std::int64_t kDepths = 40;
constexpr std::int64_t depth_percent(std::int64_t step) { return (200 * step + kDepths - 1) / (2 * (kDepths - 1)); }

// What RULER's needle tasks use, for TaskInfo::published.
inline constexpr std::string_view kNeedlePublished =
    "500 samples a length, 4096 to 131,072 tokens, seed 42; prompt and 128 generated tokens fit the length; values are "
    "numbers of 7 digits or UUIDs, keys word pairs or UUIDs; 40 depths; 1 key, 1 value and 1 query, of which multikey, "
    "multivalue and multiquery have 4; scored by substring";

// Five sentences on one line, for haystacks that say nothing.
inline constexpr std::string_view kNoiseLine =
    "The sea lies calm. The sun is warm. Clouds drift by. Nothing stirs. So the day goes.\n";

// `bytes` bytes of `source` from `start` on, around its end as often as needed. A start inside a letter moves back to
// its first byte; a letter that the end cuts becomes spaces, so that valid UTF-8 stays valid. Requires a source that is
// not empty and starts with a whole letter.
std::string running_text(std::string_view source, std::int64_t start, std::int64_t bytes);

// The last place at or before `point` where a sentence or a line has just ended; when none is within 400 bytes, `point`
// itself, moved off the inside of a letter. Requires 0 <= point <= size.
std::int64_t sentence_end(std::string_view text, std::int64_t point);

}  // namespace lenbench
