// One run that several processes do: rank 0 hands out items, works on some itself, joins what comes out and hands over
// Records; the others work.
#pragma once

#include <functional>
#include <string>

#include "bench/items.h"
#include "bench/plan.h"
#include "bench/predictor.h"
#include "bench/runner.h"
#include "bench/shared_store.h"
#include "dist/local_ranks.h"
#include "dist/ranks.h"

namespace lenbench {

// This process in the run. What is pointed to must outlive the call.
struct RunMember {
  SharedStore* store = nullptr;
  Ranks ranks;
  LocalRanks* locals = nullptr;                  // rank 0 of a --jobs run: the ranks that it started
  std::function<void(const std::string&)> note;  // rank 0: one line about a rank that died
};

// As Runner::run(), for rank 0: Records are those of a single process (bench/join.h), each handed to `sink` as soon as
// its Cell is whole, longest Cells first. `sink` and `progress` are called from another thread, one call at a time. An
// item of a rank that died is measured again. A stop leaves no Record of Cells that are not whole.
RunSummary lead_shared_run(Predictor& predictor, const RunOptions& options, const RunPlan& plan, const ItemPlan& items,
                           const RunMember& member, const Runner::Sink& sink, const Runner::Progress& progress);

// For the other ranks: works until rank 0 has all. Returns false when a stop came first. Throws Error when this rank
// plans other work than rank 0, or rank 0 is gone.
bool join_shared_run(Predictor& predictor, const RunOptions& options, const RunPlan& plan, const ItemPlan& items,
                     const RunMember& member);

}  // namespace lenbench
