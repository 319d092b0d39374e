// Questions travel as integers, answers as sums in which every number has one rank that is not 0.
#include "model/text_ranks.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/hash.h"
#include "base/process_memory.h"

namespace lenbench {
namespace {

// A rank waits for those that have more to do, and for what rank 0 asks next.
constexpr auto kPatience = std::chrono::hours(24);

using Integers = std::vector<std::int64_t>;

void broadcast(Exchange& exchange, Integers& values) {
  exchange.broadcast(at::from_blob(values.data(), {std::ssize(values)}, at::kLong));
}

Integers written(std::span<const Sample> samples, ProbeRows rows) {
  Integers values = {static_cast<std::int64_t>(rows), std::ssize(samples)};
  for (const Sample& sample : samples) {
    for (const std::size_t size : {sample.tokens.size(), sample.scored.size(), sample.sources.size()}) {
      values.push_back(static_cast<std::int64_t>(size));
    }
    values.insert(values.end(), sample.tokens.begin(), sample.tokens.end());
    for (const ScoredToken& scored : sample.scored) {
      values.insert(values.end(), {scored.position, scored.target, scored.answer, scored.fed_back ? 1 : 0});
    }
    values.insert(values.end(), sample.sources.begin(), sample.sources.end());
  }
  return values;
}

std::vector<Sample> read(const Integers& values, ProbeRows& rows) {
  auto next = values.begin();
  rows = static_cast<ProbeRows>(*next++);
  std::vector<Sample> samples(static_cast<std::size_t>(*next++));
  for (Sample& sample : samples) {
    sample.tokens.resize(static_cast<std::size_t>(*next++));
    sample.scored.resize(static_cast<std::size_t>(*next++));
    sample.sources.resize(static_cast<std::size_t>(*next++));
    for (std::int32_t& token : sample.tokens) token = static_cast<std::int32_t>(*next++);
    for (ScoredToken& scored : sample.scored) {
      scored.position = *next++;
      scored.target = static_cast<std::int32_t>(*next++);
      scored.answer = static_cast<std::int32_t>(*next++);
      scored.fed_back = *next++ != 0;
    }
    for (std::int64_t& source : sample.sources) source = *next++;
  }
  return samples;
}

}  // namespace

TextRanks::TextRanks(const Membership& member, const Terms& terms) : exchange_(make_exchange(member, kPatience)) {
  std::string text;
  for (const auto& [name, value] : terms) text += name + "\n" + value + "\n";
  const std::string digest = sha256_hex(text);
  Integers first(digest.begin(), digest.end());
  broadcast(*exchange_, first);
  if (std::equal(first.begin(), first.end(), digest.begin(), digest.end())) return;
  throw Error("rank " + std::to_string(member.rank) +
              " has another model or build than rank 0, or other options: give all ranks the same command line, "
              "checkpoint and program");
}

void TextRanks::ask(std::span<const Sample> samples, ProbeRows rows) const {
  Integers values = written(samples, rows), size = {std::ssize(values)};
  broadcast(*exchange_, size);
  broadcast(*exchange_, values);
}

bool TextRanks::receive(std::vector<Sample>& samples, ProbeRows& rows) const {
  Integers size = {0};
  broadcast(*exchange_, size);
  if (size[0] == 0) return false;
  Integers values(static_cast<std::size_t>(size[0]));
  broadcast(*exchange_, values);
  samples = read(values, rows);
  return true;
}

void TextRanks::end() const {
  Integers none = {0};
  broadcast(*exchange_, none);
}

void TextRanks::join(std::vector<JudgedRows>& judged) const {
  std::vector<double> values;
  for (const JudgedRows& rows : judged) {
    values.insert(values.end(), rows.argmax.begin(), rows.argmax.end());
    values.insert(values.end(), rows.nll.begin(), rows.nll.end());
  }
  sum_over_ranks(*exchange_, std::span(values));
  auto next = values.begin();
  for (JudgedRows& rows : judged) {
    for (std::int32_t& argmax : rows.argmax) argmax = static_cast<std::int32_t>(*next++);
    for (double& nll : rows.nll) nll = *next++;
  }
}

void TextRanks::join(std::span<const Sample> samples, const SequenceShare& share, Probe& probe) const {
  sum_over_ranks(*exchange_, probe.heads);
  if (probe.rows != ProbeRows::kAnswer) return;
  for (std::vector<HeadStats>* heads : {&probe.heads_right, &probe.heads_wrong}) {
    heads->resize(probe.heads.size());
    sum_over_ranks(*exchange_, *heads);
    if (std::none_of(heads->begin(), heads->end(), [](const HeadStats& head) { return head.rows > 0; })) heads->clear();
  }
  for (std::size_t s = 0; s < probe.states.size(); ++s) {
    std::vector<double>& state = probe.states[s];
    if (state.empty()) continue;
    if (!share.owns(samples[s].scored.back().position)) std::fill(state.begin(), state.end(), 0.0);
    sum_over_ranks(*exchange_, std::span(state));
  }
}

void TextRanks::compare_memory() {
  std::vector<double> peaks(static_cast<std::size_t>(world()));
  peaks[static_cast<std::size_t>(rank())] = static_cast<double>(peak_resident_bytes());
  sum_over_ranks(*exchange_, std::span(peaks));
  peaks[static_cast<std::size_t>(rank())] = 0;
  peak_bytes_elsewhere_ = static_cast<std::int64_t>(*std::max_element(peaks.begin(), peaks.end()));
}

}  // namespace lenbench
