// The ranks that divide the rows of every text among them: rank 0 is asked, and the others answer with it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bench/answer_terms.h"
#include "bench/predictor.h"
#include "c10d/exchange.h"
#include "model/judge.h"
#include "model/sequence_share.h"

namespace lenbench {

// Every rank makes the same calls in the same order, but for ask() and end(), which rank 0 makes, and receive(). All
// throw RankLost.
class TextRanks {
 public:
  // Throws Error on a rank whose terms (answer_terms.h) are not those of rank 0.
  TextRanks(const Membership& member, const Terms& terms);

  bool leads() const { return exchange_->rank() == 0; }
  int rank() const { return exchange_->rank(); }
  int world() const { return exchange_->world(); }
  Exchange& exchange() const { return *exchange_; }

  // What is to be answered, without the facts of the samples.
  void ask(std::span<const Sample> samples, ProbeRows rows) const;
  // False after end().
  bool receive(std::vector<Sample>& samples, ProbeRows& rows) const;
  void end() const;

  // Each rank has values where it owns a row and 0 elsewhere; all get all.
  void join(std::vector<JudgedRows>& judged) const;
  // The statistics of one call, from each rank those of its rows. `samples` are those of the call.
  void join(std::span<const Sample> samples, const SequenceShare& share, Probe& probe) const;

  // Exchanges high-water marks; afterwards the largest of the others'.
  void compare_memory();
  std::int64_t peak_bytes_elsewhere() const { return peak_bytes_elsewhere_; }

 private:
  std::unique_ptr<Exchange> exchange_;
  std::int64_t peak_bytes_elsewhere_ = 0;
};

}  // namespace lenbench
