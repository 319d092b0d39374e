// Threads that share a list of items: each takes the next one when it is free.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace lenbench::kernels {

// Calls work(worker, item) once for every item in [0, items), worker in [0, threads). `work` must not throw. The
// calling thread is worker 0; no more threads than items are started.
void run_items(int threads, std::int64_t items, const std::function<void(int worker, std::int64_t item)>& work);

// 64-byte aligned, uninitialised memory; pages that are never touched cost nothing.
struct AlignedDelete {
  void operator()(void* memory) const { ::operator delete(memory, std::align_val_t(64)); }
};
using AlignedMemory = std::unique_ptr<void, AlignedDelete>;
inline AlignedMemory aligned_memory(std::size_t bytes) {
  return AlignedMemory(::operator new(bytes == 0 ? 64 : bytes, std::align_val_t(64)));
}

// One block of scratch per worker.
std::vector<AlignedMemory> worker_scratch(int threads, std::size_t bytes);

}  // namespace lenbench::kernels
