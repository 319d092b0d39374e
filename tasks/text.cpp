// Perplexity of documents, as byte tokens: which bytes a window holds, and which of them are judged.
//
// Ids: bytes 0..255, then pad, bos, eos, mask, sep. A sample is one window of at most `length` = L bytes of one
// document (BOS not counted); the index runs through the windows of the documents in order; seed and split change
// nothing. Only bytes of the text are judged, never an end token. A window's first byte is judged only when BOS stands
// before it. n is the document's bytes, W[a, e) a window, S the stride.
//
//   disjoint     every byte judged once. With BOS in each window: W[0, L), W[L, 2L) ... Without: windows overlap by one
//                byte, their context, so that only the document's first byte (unless bos=document) is never judged. The
//                tail is kept: n bytes judged with BOS, n - 1 with bos=none.
//   sliding      W[0, L) judged whole, then windows end S bytes further each time and judge their last S (the last
//                window: what is left) under a full-size context. The same counts as disjoint.
//   second-half  llama.cpp: disjoint chunks of exactly L, tail dropped, judged bytes floor(L/2) + 1 .. L - 1 of each
//                (255 for L = 512, 256 for 513). BOS is put before a chunk and replaces nothing.
//   last-token   windows of exactly L, S apart (auto: L), of which the last byte is judged.
//
// Perplexity "of documents of length L" is disjoint with fit=head (or tail, middle): each document is cut to L bytes
// first, so it has one window. Perplexity "at position L" is last-token.
#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "tasks/entry.h"

namespace lenbench {
namespace {

constexpr std::int32_t kBytes = 256;

enum class Convention { kDisjoint, kSliding, kSecondHalf, kLastToken };
enum class BosPolicy { kNone, kDocument, kWindow };
enum class Fit { kAll, kHead, kTail, kMiddle };

// Bytes [begin, end) of a document are in the window, [first_judged, end) are judged.
struct Window {
  std::int64_t begin, first_judged, end;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class TextTask : public Task {
 public:
  TextTask(const TaskEntry& entry, const TaskParameters& resolved, const TaskResources& resources)
      : documents_(checked_documents(entry, resources)), info_(describe(entry, resolved)) {
    const std::string& convention = word_of(resolved, "convention");
    if (convention == "sliding") convention_ = Convention::kSliding;
    if (convention == "second-half") convention_ = Convention::kSecondHalf;
    if (convention == "last-token") convention_ = Convention::kLastToken;
    const std::string& bos = word_of(resolved, "bos");
    if (bos == "none") bos_ = BosPolicy::kNone;
    if (bos == "document") bos_ = BosPolicy::kDocument;
    const std::string& fit = word_of(resolved, "fit");
    if (fit == "head") fit_ = Fit::kHead;
    if (fit == "tail") fit_ = Fit::kTail;
    if (fit == "middle") fit_ = Fit::kMiddle;
    if (word_of(resolved, "stride") != "auto") {
      if (convention_ != Convention::kSliding && convention_ != Convention::kLastToken) {
        throw Error("text: stride=" + word_of(resolved, "stride") + " has no meaning with convention=" + convention +
                    "; use convention=sliding or last-token, or leave it out");
      }
      stride_ = integer_of(resolved, "stride");
    }
    info_.metric = TaskMetric::kPerplexity;
    info_.specials = specials_from(kBytes);
    info_.vocab_size = kBytes + kNumSpecials;
    info_.examples = worked_examples();
  }

  const TaskInfo& info() const override { return info_; }
  std::int64_t min_length() const override {
    std::int64_t shortest = convention_ == Convention::kSecondHalf ? 3 : 2;
    if (convention_ == Convention::kSliding && stride_ > 0) shortest = std::max(shortest, stride_ + 1);
    return shortest;
  }
  std::int64_t total_tokens(std::int64_t length) const override {
    return length - 1 + (bos_ == BosPolicy::kNone ? 0 : 1);
  }
  std::uint64_t available(std::int64_t length) const override {
    std::int64_t windows = 0;
    for (const Document& document : documents_) windows += num_windows(fitted_bytes(document, length), length);
    if (windows == 0) {
      throw Error("text: no document is long enough for length " + std::to_string(length) + " with convention=" +
                  word_of(info_.parameters, "convention") + "; use shorter lengths or longer documents");
    }
    return static_cast<std::uint64_t>(windows);
  }
  double chance() const override { return 1.0 / kBytes; }

  Sample draw(const DrawKey& key) const override {
    check_draw(*this, key);
    const std::uint64_t count = available(key.length);
    if (key.index >= count) {
      throw Error("text: sample " + std::to_string(key.index) + " at length " + std::to_string(key.length) +
                  " does not exist; the documents hold " + std::to_string(count) + " windows");
    }
    auto index = static_cast<std::int64_t>(key.index);
    std::size_t which = 0;
    while (index >= num_windows(fitted_bytes(documents_[which], key.length), key.length)) {
      index -= num_windows(fitted_bytes(documents_[which], key.length), key.length);
      ++which;
    }
    return sample_of(which, fitted(documents_[which], key.length),
                     window(fitted_bytes(documents_[which], key.length), key.length, index));
  }

  std::string note(std::int64_t length) const override {
    std::vector<std::string> dropped, whole;
    for (const Document& document : documents_) {
      if (bytes_of(document) >= length) continue;
      (num_windows(bytes_of(document), length) == 0 ? dropped : whole).push_back(printable(document.name));
    }
    std::string text;
    const auto add = [&](const std::vector<std::string>& names, const std::string& what) {
      if (names.empty()) return;
      if (!text.empty()) text += "; ";
      text += std::to_string(names.size()) + " of " + std::to_string(documents_.size()) + " documents shorter than " +
              std::to_string(length) + " bytes " + what + ": " + names.front();
      if (names.size() > 1) text += names.size() > 2 ? ", " + names[1] + " ..." : ", " + names[1];
    };
    add(dropped, "left out");
    add(whole, "measured in one short window each");
    return text;
  }

  // A judged byte is the next one in `tokens`; for the last row, whose target is not fed, it is what follows the first
  // place in the documents that holds the whole window. -1: not found.
  std::vector<std::int32_t> solve(std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> positions) const override {
    std::vector<std::int32_t> targets;
    for (const std::int64_t position : positions) {
      const auto next = static_cast<std::size_t>(position) + 1;
      targets.push_back(next < tokens.size() ? tokens[next] : byte_after(tokens));
    }
    return targets;
  }

 private:
  // The bytes of a document that are measured: all, or at most `length` of them, as fit= says. The middle is left out
  // by joining the first ceil(length / 2) with the last floor(length / 2).
  struct Fitted {
    std::string_view head, tail;
    std::int64_t tail_offset;  // of `tail` in the document
  };
  Fitted fitted(const Document& document, std::int64_t length) const {
    const std::string_view bytes = document.bytes;
    const auto keep = static_cast<std::size_t>(fitted_bytes(document, length));
    const std::size_t head = fit_ == Fit::kTail ? 0 : fit_ == Fit::kMiddle ? (keep + 1) / 2 : keep;
    const std::size_t tail_offset = bytes.size() - (keep - head);
    return {bytes.substr(0, head), bytes.substr(tail_offset), static_cast<std::int64_t>(tail_offset)};
  }
  std::int64_t fitted_bytes(const Document& document, std::int64_t length) const {
    return fit_ == Fit::kAll ? bytes_of(document) : std::min(bytes_of(document), length);
  }
  static std::int64_t bytes_of(const Document& document) { return static_cast<std::int64_t>(document.bytes.size()); }

  bool has_bos(std::int64_t begin) const {
    return bos_ == BosPolicy::kWindow || (bos_ == BosPolicy::kDocument && begin == 0);
  }
  std::int64_t stride(std::int64_t length) const {
    switch (convention_) {
      case Convention::kDisjoint:
        return bos_ == BosPolicy::kWindow ? length : length - 1;
      case Convention::kSliding:
        return stride_ > 0 ? stride_ : length / 2;
      case Convention::kSecondHalf:
        break;
      case Convention::kLastToken:
        return stride_ > 0 ? stride_ : length;
    }
    return length;
  }

  bool whole_windows() const { return convention_ == Convention::kSecondHalf || convention_ == Convention::kLastToken; }
  std::int64_t num_windows(std::int64_t bytes, std::int64_t length) const {
    if (whole_windows()) return bytes < length ? 0 : 1 + (bytes - length) / stride(length);
    if (bytes == 1 && bos_ == BosPolicy::kNone) return 0;
    return 1 + ceil_div(std::max<std::int64_t>(0, bytes - length), stride(length));
  }

  Window window(std::int64_t bytes, std::int64_t length, std::int64_t index) const {
    const std::int64_t step = stride(length);
    if (whole_windows()) {
      const std::int64_t begin = index * step;
      const bool second_half = convention_ == Convention::kSecondHalf;
      return {begin, second_half ? begin + length / 2 + 1 : begin + length - 1, begin + length};
    }
    if (index == 0) return {0, has_bos(0) ? 0 : 1, std::min(length, bytes)};
    const std::int64_t first = length + (index - 1) * step;
    const std::int64_t end = std::min(first + step, bytes);
    return {convention_ == Convention::kSliding ? end - length : first - (length - step), first, end};
  }

  Sample sample_of(std::size_t which, const Fitted& bytes, const Window& window) const {
    const auto byte_at = [&](std::int64_t at) {
      const auto i = static_cast<std::size_t>(at);
      const char byte = i < bytes.head.size() ? bytes.head[i] : bytes.tail[i - bytes.head.size()];
      return static_cast<std::int32_t>(static_cast<unsigned char>(byte));
    };
    const bool bos = has_bos(window.begin);
    Sample sample;
    if (bos) sample.tokens.push_back(info_.specials.bos);
    for (std::int64_t at = window.begin; at + 1 < window.end; ++at) sample.tokens.push_back(byte_at(at));
    for (std::int64_t at = window.first_judged; at < window.end; ++at) {
      const std::int64_t row = at - window.begin - (bos ? 0 : 1);
      sample.scored.push_back({row, byte_at(at), -1, at + 1 < window.end});
    }
    sample.prompt_tokens = sample.scored.front().position + 1;
    sample.facts["document"] = static_cast<double>(which);
    sample.facts["offset"] = static_cast<double>(window.begin + (fit_ == Fit::kTail ? bytes.tail_offset : 0));
    sample.facts["pads"] = 0;
    sample.facts["text_tokens"] = static_cast<double>(window.end - window.begin);
    return sample;
  }

  std::int32_t byte_after(std::span<const std::int32_t> tokens) const {
    std::string held;
    for (const std::int32_t token : tokens) {
      if (token < kBytes) held.push_back(static_cast<char>(static_cast<unsigned char>(token)));
    }
    for (const Document& document : documents_) {
      if (fit_ == Fit::kMiddle) {
        const Fitted whole = fitted(document, static_cast<std::int64_t>(held.size()) + 1);
        const std::string bytes = std::string(whole.head) + std::string(whole.tail);
        if (bytes.size() == held.size() + 1 && bytes.starts_with(held)) return static_cast<unsigned char>(bytes.back());
        continue;
      }
      const std::size_t at = document.bytes.find(held);
      if (at == std::string::npos || at + held.size() >= document.bytes.size()) continue;
      return static_cast<unsigned char>(document.bytes[at + held.size()]);
    }
    return -1;
  }

  // "Hi!" after BOS, and "é" (two bytes, two tokens).
  static std::vector<WorkedExample> worked_examples() {
    return {{"each byte is judged by the row before it", {257, 72, 105, 33}, {72, 105, 33}, {0, 1, 2}},
            {"a letter of two bytes is two tokens", {257, 195, 169}, {195, 169}, {0, 1}}};
  }

  std::vector<Document> documents_;
  Convention convention_ = Convention::kDisjoint;
  BosPolicy bos_ = BosPolicy::kWindow;
  Fit fit_ = Fit::kAll;
  std::int64_t stride_ = 0;  // 0: auto
  TaskInfo info_;
};

}  // namespace

const TaskEntry& text_entry() {
  static const TaskEntry entry = [] {
    TaskEntry made;
    made.name = "text";
    made.comparability = "exact: every byte of the documents given; conventions of llama.cpp, lm-eval and Hugging Face";
    made.summary = "perplexity of documents in windows of a given length; tokens are bytes";
    made.parameters = {
        {"convention", "disjoint", "which bytes a window judges", {"disjoint", "sliding", "second-half", "last-token"}},
        {"stride",
         "auto",
         "bytes between windows (sliding: half the length; last-token: the length)",
         {"auto"},
         1,
         kMaxLength},
        {"bos", "window", "where BOS stands", {"none", "document", "window"}},
        {"fit",
         "all",
         "what is measured of a document longer than the length: its first or last bytes, or both without the middle",
         {"all", "head", "tail", "middle"},
         1,
         0,
         true}};
    made.needs_documents = true;
    made.make = [](const TaskEntry& self, const TaskParameters& resolved,
                   const TaskResources& resources) -> std::unique_ptr<Task> {
      return std::make_unique<TextTask>(self, resolved, resources);
    };
    return made;
  }();
  return entry;
}

}  // namespace lenbench
