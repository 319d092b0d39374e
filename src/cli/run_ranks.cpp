// The processes of one command: those that --jobs starts, or those that a launcher started.
#include "cli/run_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "cli/terminal.h"

namespace lenbench::cli {

namespace {

constexpr double kPatienceSeconds = 300;
constexpr double kFarewellSeconds = 10;
constexpr auto kWatchEvery = std::chrono::milliseconds(50);
// What the dead rank's partners notice themselves is told better by them.
constexpr auto kGrace = std::chrono::seconds(3);

// The words of this process's command line.
std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> words = split(bytes, '\0');
  if (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

RunRanks::RunRanks(int jobs) {
  if (jobs == 0) return;
  const Environment environment = process_environment();
  const std::optional<Ranks> launched = ranks_from(environment);
  if (launched) ranks_ = *launched;
  if (environment(kLocalRankVariable)) {
    ranks_.source = kLocalRankVariable;
    jobs_ = ranks_.world;
    return;
  }
  if (jobs > 1 && launched) {
    throw Error(fmt::format("--jobs {} starts ranks, and {} says that this is already rank {} of {}: use one of them",
                            jobs, launched->source, launched->rank, launched->world));
  }
  if (jobs > 1) {
    ranks_.source = kLocalRankVariable;
    ranks_.world = jobs_ = jobs;
  }
}

int RunRanks::threads(int wanted) const {
  if (jobs_ == 1) return wanted;
  const int all = wanted > 0 ? wanted : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, all / jobs_);
}

std::string RunRanks::device(const std::string& wanted) const {
  return shared() && wanted == "cuda" ? "cuda:" + std::to_string(ranks_.local_rank) : wanted;
}

void RunRanks::start() {
  if (jobs_ == 1 || !leads()) return;
  socket_ = listen_locally();
  ranks_.host = "127.0.0.1";
  ranks_.port = socket_.port;
  std::error_code failure;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", failure).string();
  locals_ = std::make_unique<LocalRanks>(program, own_words(), ranks_.world, ranks_.port);
}

std::unique_ptr<SharedStore> RunRanks::connect(Backend& backend) {
  StoreAddress address;
  address.host = ranks_.host;
  address.port = ranks_.port;
  address.holds = leads() && !ranks_.store_is_held;
  address.listening_socket = socket_.file;
  address.patience_seconds = kPatienceSeconds;
  address.prefix = "lenbench/" + ranks_.run + "/";
  std::unique_ptr<SharedStore> store = backend.connect_store(address);
  socket_.file = -1;
  return store;
}

Membership RunRanks::membership(SharedStore& store) const {
  const bool here = ranks_.source == kLocalRankVariable || ranks_.host == "127.0.0.1" || ranks_.host == "localhost";
  return {&store, ranks_.rank, ranks_.world, here};
}

RankWatch::RankWatch(LocalRanks* locals, const std::atomic<bool>* stop, std::string ending)
    : locals_(locals), stop_(stop), ending_(std::move(ending)) {
  if (locals == nullptr) return;
  thread_ = std::thread([this] {
    while (!over_) {
      for (const EndedRank& ended : locals_->reap()) {
        // An interrupt of this process is passed on.
        const bool interrupted = ended.interrupted && !stop_->load();
        if (ended.how.empty() && !interrupted) continue;
        const std::string cause = fmt::format("rank {} ended early ({}){}", ended.rank,
                                              interrupted ? "it was interrupted" : ended.how, ending_);
        {
          const std::lock_guard lock(mutex_);
          cause_ = cause;
        }
        const auto end = std::chrono::steady_clock::now() + kGrace;
        while (!over_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kWatchEvery);
        if (over_) return;
        print_error(cause);
        locals_->finish(0);
        std::_Exit(static_cast<int>(ExitCode::kNotMeasured));
      }
      std::this_thread::sleep_for(kWatchEvery);
    }
  });
}

std::string RankWatch::cause() const {
  const auto end = std::chrono::steady_clock::now() + kGrace / 2;
  while (locals_ != nullptr && std::chrono::steady_clock::now() < end) {
    {
      const std::lock_guard lock(mutex_);
      if (!cause_.empty()) return cause_;
    }
    std::this_thread::sleep_for(kWatchEvery);
  }
  return "";
}

RankWatch::~RankWatch() {
  over_ = true;
  if (!thread_.joinable()) return;
  thread_.join();
  locals_->finish(kFarewellSeconds);
}

}  // namespace lenbench::cli
