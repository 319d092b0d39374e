// Syllables and bytes.
#include "tasks/words.h"

namespace lenbench {
namespace {

constexpr std::string_view kConsonants = "bdfghklmnprstvwz";
constexpr std::string_view kVowels = "aeiou";
constexpr auto kSyllables = static_cast<std::int64_t>(kConsonants.size() * kVowels.size());
static_assert(kSyllables * kSyllables * kSyllables == kNumSyllableWords);

}  // namespace

std::string syllable_word(std::int64_t number) {
  std::string word;
  for (std::int64_t unit = kSyllables * kSyllables; unit >= 1; unit /= kSyllables) {
    const auto syllable = static_cast<std::size_t>(number / unit % kSyllables);
    word.push_back(kConsonants[syllable / kVowels.size()]);
    word.push_back(kVowels[syllable % kVowels.size()]);
  }
  return word;
}

std::int64_t syllable_word_number(std::string_view text) {
  if (static_cast<std::int64_t>(text.size()) < kSyllableWordBytes) return -1;
  std::int64_t number = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kSyllableWordBytes); i += 2) {
    const std::size_t consonant = kConsonants.find(text[i]), vowel = kVowels.find(text[i + 1]);
    if (consonant == std::string_view::npos || vowel == std::string_view::npos) return -1;
    number = number * kSyllables + static_cast<std::int64_t>(consonant * kVowels.size() + vowel);
  }
  return number;
}

std::string uuid_text(std::int64_t prefix, Rng& rng) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text.push_back(digits[static_cast<std::size_t>((prefix >> shift) & 15)]);
  for (const std::string_view group : {"-xxxx", "-4xxx", "-vxxx", "-xxxxxxxxxxxx"}) {
    for (const char c : group) {
      text.push_back(c == 'x'   ? digits[static_cast<std::size_t>(rng.below(16))]
                     : c == 'v' ? digits[static_cast<std::size_t>(8 + rng.below(4))]
                                : c);
    }
  }
  return text;
}

void append_bytes(std::vector<std::int32_t>& tokens, std::string_view text) {
  for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
}

std::string text_of(std::span<const std::int32_t> tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    text.push_back(0 <= token && token < kNumBytes ? static_cast<char>(static_cast<unsigned char>(token)) : '\0');
  }
  return text;
}

void WordScript::put(std::vector<std::int32_t>& tokens, std::int64_t word) const {
  if (bytes_) return append_bytes(tokens, syllable_word(word));
  tokens.push_back(first_ + static_cast<std::int32_t>(word / kSymbols));
  tokens.push_back(first_ + static_cast<std::int32_t>(word % kSymbols));
}

std::int64_t WordScript::read(std::span<const std::int32_t> tokens) const {
  const auto size = static_cast<std::size_t>(word_tokens());
  if (tokens.size() < size) return -1;
  if (bytes_) return syllable_word_number(text_of(tokens.first(size)));
  const std::int64_t high = tokens[0] - first_, low = tokens[1] - first_;
  const bool both = 0 <= high && high < kSymbols && 0 <= low && low < kSymbols;
  return both ? high * kSymbols + low : -1;
}

std::int64_t WordScript::answer_tokens(std::int64_t answers) const {
  return answers * word_tokens() + (answers - 1) * between_tokens();
}

void WordScript::put_answers(Sample& sample, const std::vector<std::int64_t>& words,
                             const std::vector<std::int64_t>& sources) const {
  for (std::size_t a = 0; a < words.size(); ++a) {
    if (a > 0 && bytes_) append_bytes(sample.tokens, ", ");
    std::vector<std::int32_t> spelled;
    put(spelled, words[a]);
    for (std::size_t j = 0; j < spelled.size(); ++j) {
      const bool fed = a + 1 < words.size() || j + 1 < spelled.size();
      sample.scored.push_back(
          {static_cast<std::int64_t>(sample.tokens.size()) - 1, spelled[j], static_cast<std::int32_t>(a), fed});
      sample.sources.push_back(sources[a] + static_cast<std::int64_t>(j));
      if (fed) sample.tokens.push_back(spelled[j]);
    }
  }
}

std::int32_t WordScript::answer_at(const std::vector<std::int64_t>& words, std::int64_t offset) const {
  const std::int64_t stride = word_tokens() + between_tokens();
  if (offset < 0 || offset % stride >= word_tokens()) return -1;
  if (offset / stride >= static_cast<std::int64_t>(words.size())) return -1;
  std::vector<std::int32_t> spelled;
  put(spelled, words[static_cast<std::size_t>(offset / stride)]);
  return spelled[static_cast<std::size_t>(offset % stride)];
}

}  // namespace lenbench
