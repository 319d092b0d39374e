// The ranks of a run that needs every one of them look at one another before they begin.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "bench/answer_terms.h"
#include "bench/shared_store.h"

namespace lenbench {

struct MeetingOptions {
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const std::string& text)> note;  // rank 0: who is waited for; may be null
  std::chrono::milliseconds note_after = std::chrono::seconds(3);
  std::chrono::milliseconds patience = std::chrono::minutes(10);
};

// Returns true on every rank once all `member.world` are there with the same terms, false after a stop. Throws Error
// where terms or the number of ranks differ, the same line on each, and Error(kNotMeasured) where a rank does not come.
bool meet(const Membership& member, const Terms& terms, const MeetingOptions& options);

// Rank 0 of a run that needs no meeting: ranks that come to one are told so.
void refuse_meeting(SharedStore& store);
// Whether rank 0 holds a meeting, for ranks that did not come to one.
bool holds_meeting(SharedStore& store);

}  // namespace lenbench
