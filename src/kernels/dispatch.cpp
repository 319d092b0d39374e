// Chooses the instruction set for this process and runs work on threads.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/variant.h"
#include "kernels/work_queue.h"

namespace lenbench::kernels {
namespace {

std::vector<const Variant*> variants_of_this_cpu() {
  std::vector<const Variant*> known;  // the best first
#ifdef LENBENCH_KERNELS_X86
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vnni");
  if (avx2 && avx512) known.push_back(&avx512::variant());
  if (avx2) known.push_back(&avx2::variant());
#endif
  known.push_back(&baseline::variant());
  return known;
}

const Variant& choose_variant() {
  const std::vector<const Variant*> known = variants_of_this_cpu();
  const char* wanted = std::getenv("LENBENCH_KERNELS");
  if (!wanted || !*wanted) return *known.front();
  std::string names;
  for (const Variant* one : known) {
    if (std::string_view(one->name) == wanted) return *one;
    names += (names.empty() ? "" : ", ") + std::string(one->name);
  }
  throw std::invalid_argument("LENBENCH_KERNELS is '" + std::string(wanted) + "': this CPU runs " + names);
}

}  // namespace

const Variant& active_variant() {
  static const Variant& chosen = choose_variant();
  return chosen;
}

const char* kernel_variant() { return active_variant().name; }

void run_items(int threads, std::int64_t items, const std::function<void(int worker, std::int64_t item)>& work) {
  std::atomic<std::int64_t> next{0};
  const auto loop = [&](int worker) {
    for (std::int64_t item = next.fetch_add(1); item < items; item = next.fetch_add(1)) work(worker, item);
  };
  const std::int64_t workers = std::min<std::int64_t>(threads, items);
  std::vector<std::jthread> others;
  for (int worker = 1; worker < workers; ++worker) others.emplace_back(loop, worker);
  loop(0);
}

std::vector<AlignedMemory> worker_scratch(int threads, std::size_t bytes) {
  std::vector<AlignedMemory> scratch;
  for (int i = 0; i < threads; ++i) scratch.push_back(aligned_memory(bytes));
  return scratch;
}

}  // namespace lenbench::kernels
