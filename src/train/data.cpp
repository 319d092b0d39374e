// Training batches on a thread of their own.
#include "train/data.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "tasks/catalog.h"

namespace lenbench {

namespace {

TaskResources read_documents(const std::vector<std::string>& files, const std::string& folder) {
  TaskResources resources;
  for (const std::string& file : files) {
    const std::filesystem::path path = std::filesystem::path(folder) / file;
    resources.documents.push_back({file, read_file(path.lexically_normal().string())});
  }
  return resources;
}

}  // namespace

TrainTasks::TrainTasks(const Recipe& recipe, const std::string& recipe_folder) : recipe_(recipe) {
  const TaskResources resources = read_documents(recipe.documents, recipe_folder);
  const TaskResources held_out =
      recipe.validation.documents.empty() ? resources : read_documents(recipe.validation.documents, recipe_folder);
  std::string hashes;
  for (const TaskResources* texts : {&resources, &held_out}) {
    for (const Document& document : texts->documents) hashes += sha256_hex(document.bytes);
  }
  documents_sha256_ = sha256_hex(hashes);
  for (const RecipeSource& source : recipe.sources) {
    sources_.push_back(make_task(parse_task_spec(source.task), resources));
    if (sources_.back()->info().vocab_size != sources_.front()->info().vocab_size) {
      throw Error("recipe " + recipe.name + ": source '" + source.task + "' has a vocabulary of " +
                  std::to_string(sources_.back()->info().vocab_size) + ", the first source one of " +
                  std::to_string(sources_.front()->info().vocab_size) + ": one model needs one vocabulary");
    }
  }
  const std::string& task = validation_task();
  validation_ = make_task(parse_task_spec(task), held_out);
  if (validation_->info().vocab_size != vocab_size()) {
    throw Error("recipe " + recipe.name + ": validation task '" + task + "' has another vocabulary than the sources");
  }
}

std::int64_t TrainTasks::vocab_size() const { return sources_.front()->info().vocab_size; }

const SpecialTokens& TrainTasks::specials() const { return sources_.front()->info().specials; }

std::int64_t TrainTasks::batch_length(Rng& rng, std::int64_t step) const {
  const std::int64_t top = top_length_at(recipe_, step);
  return rng.between(std::min(recipe_.lengths.low, top), top);
}

TrainBatch TrainTasks::batch(std::uint64_t seed, std::int64_t step, int rank, int world) const {
  Rng rng(seed, static_cast<std::uint64_t>(step));
  const double progress = static_cast<double>(step) / static_cast<double>(recipe_.steps);
  // Weights in integer thousandths, so that the choice is the same on every machine.
  std::vector<std::pair<std::size_t, std::uint64_t>> active;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < recipe_.sources.size(); ++i) {
    const RecipeSource& source = recipe_.sources[i];
    if (progress < source.from || progress >= source.until) continue;
    total += static_cast<std::uint64_t>(source.weight * 1000 + 0.5);
    active.emplace_back(i, total);
  }
  const std::uint64_t pick = rng.below(total);
  const Task& task =
      *sources_[std::find_if(active.begin(), active.end(), [&](const auto& a) { return pick < a.second; })->first];
  DrawKey key;
  key.length = std::max(batch_length(rng, step), task.min_length());
  key.seed = seed;
  key.split = Split::kTrain;
  const std::uint64_t available = task.available(key.length);
  const std::int64_t first = recipe_.batch * rank / world, last = recipe_.batch * (rank + 1) / world;
  std::vector<Sample> samples;
  for (std::int64_t row = 0; row < recipe_.batch; ++row) {
    // Documents are finite: windows are drawn with replacement. Generators give a new sample every time.
    key.index = available > 0 ? rng.below(available) : static_cast<std::uint64_t>(step * recipe_.batch + row);
    if (first <= row && row < last) samples.push_back(task.draw(key));
  }
  TrainBatch batch = pack(samples);
  batch.step = step;
  return batch;
}

std::vector<Sample> TrainTasks::validation_samples() const {
  DrawKey key;
  key.length = std::max(recipe_.validation.length, validation_->min_length());
  key.split = Split::kValidation;
  const std::uint64_t available = validation_->available(key.length);
  const auto wanted = static_cast<std::uint64_t>(recipe_.validation.samples);
  const std::uint64_t count = available > 0 ? std::min(available, wanted) : wanted;
  std::vector<Sample> samples;
  for (key.index = 0; key.index < count; ++key.index) samples.push_back(validation_->draw(key));
  return samples;
}

TrainBatch pack(const std::vector<Sample>& samples) {
  TrainBatch batch;
  batch.rows = static_cast<std::int64_t>(samples.size());
  for (const Sample& sample : samples)
    batch.tokens = std::max(batch.tokens, static_cast<std::int64_t>(sample.tokens.size()));
  batch.ids.assign(static_cast<std::size_t>(batch.rows * batch.tokens), 0);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const std::size_t first = row * static_cast<std::size_t>(batch.tokens);
    std::copy(samples[row].tokens.begin(), samples[row].tokens.end(),
              batch.ids.begin() + static_cast<std::ptrdiff_t>(first));
    for (const ScoredToken& scored : samples[row].scored) {
      batch.scored_flat.push_back(static_cast<std::int64_t>(first) + scored.position);
      batch.targets.push_back(scored.target);
    }
  }
  return batch;
}

struct BatchQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<TrainBatch> ready;
  std::exception_ptr failure;
  bool stopping = false;
  std::thread worker;
};

BatchQueue::BatchQueue(const TrainTasks& tasks, std::uint64_t seed, std::int64_t first_step, std::int64_t last_step,
                       int ahead, int rank, int world)
    : state_(std::make_unique<State>()) {
  State* state = state_.get();
  state->worker = std::thread([state, &tasks, seed, first_step, last_step, rank, world, ahead] {
    try {
      for (std::int64_t step = first_step; step < last_step; ++step) {
        TrainBatch batch = tasks.batch(seed, step, rank, world);
        std::unique_lock lock(state->mutex);
        state->changed.wait(lock, [&] { return state->stopping || static_cast<int>(state->ready.size()) < ahead; });
        if (state->stopping) return;
        state->ready.push_back(std::move(batch));
        state->changed.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(state->mutex);
      state->failure = std::current_exception();
      state->changed.notify_all();
    }
  });
}

BatchQueue::~BatchQueue() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
  }
  state_->worker.join();
}

TrainBatch BatchQueue::next() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->ready.empty() || state_->failure; });
  if (state_->ready.empty()) std::rethrow_exception(state_->failure);
  TrainBatch batch = std::move(state_->ready.front());
  state_->ready.pop_front();
  state_->changed.notify_all();
  return batch;
}

}  // namespace lenbench
