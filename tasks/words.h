// Words by number: pronounceable six-letter words of three syllables as bytes, or bigrams of symbols as ids.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/entry.h"

namespace lenbench {

inline constexpr std::int32_t kNumBytes = 256;  // byte tokens are 0 .. 255; specials follow

// A consonant and a vowel three times, e.g. "tamiko": 80^3 words, each number one word. Nobody's word list is needed.
inline constexpr std::int64_t kNumSyllableWords = 512000;
inline constexpr std::int64_t kSyllableWordBytes = 6;
std::string syllable_word(std::int64_t number);
// The number of a word, -1 when `text` does not start with one.
std::int64_t syllable_word_number(std::string_view text);

// 32 hexadecimal digits and four hyphens with the marks of a random UUID. The first eight digits are `prefix`, which
// makes texts of different prefixes distinct; the others are drawn. Requires 0 <= prefix < 2^32.
std::string uuid_text(std::int64_t prefix, Rng& rng);

// Appends the bytes of `text` as tokens.
void append_bytes(std::vector<std::int32_t>& tokens, std::string_view text);
// The bytes among `tokens`; specials become '\0', so that a position in the text is one in the tokens.
std::string text_of(std::span<const std::int32_t> tokens);

// How the words of a task are written: as two of 256 symbols, or as bytes. Answers are words; as bytes they are parted
// by ", ", which is fed and not judged.
class WordScript {
 public:
  // Symbols from id `first` on.
  static WordScript ids(std::int32_t first) { return WordScript(first, false); }
  static WordScript bytes() { return WordScript(0, true); }

  bool is_bytes() const { return bytes_; }
  std::int64_t num_words() const { return bytes_ ? kNumSyllableWords : std::int64_t{kSymbols} * kSymbols; }
  std::int64_t word_tokens() const { return bytes_ ? kSyllableWordBytes : 2; }
  void put(std::vector<std::int32_t>& tokens, std::int64_t word) const;
  // The word at the front of `tokens`, -1 when there is none.
  std::int64_t read(std::span<const std::int32_t> tokens) const;

  std::int64_t answer_tokens(std::int64_t answers) const;
  // Appends the answers with their judged rows (the last token is not fed) and sources, which are the positions in the
  // tokens so far where each word starts.
  void put_answers(Sample& sample, const std::vector<std::int64_t>& words,
                   const std::vector<std::int64_t>& sources) const;
  // The target of the row that stands `offset` rows after the first answer row; -1 when it is not judged.
  std::int32_t answer_at(const std::vector<std::int64_t>& words, std::int64_t offset) const;

 private:
  static constexpr std::int32_t kSymbols = 256;
  WordScript(std::int32_t first, bool bytes) : first_(first), bytes_(bytes) {}
  std::int64_t between_tokens() const { return bytes_ ? 2 : 0; }

  std::int32_t first_;
  bool bytes_;
};

}  // namespace lenbench
