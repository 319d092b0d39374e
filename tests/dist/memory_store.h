// A shared store within one process.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "base/error.h"
#include "bench/shared_store.h"

namespace lenbench {

class MemoryStore : public SharedStore {
 public:
  std::atomic<bool> gone = false;  // as if its process had died

  void set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    check();
    values_[key] = value;
  }
  std::optional<std::string> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    check();
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::int64_t add(const std::string& key, std::int64_t delta) override {
    const std::lock_guard lock(mutex_);
    check();
    std::string& value = values_[key];
    const std::int64_t sum = (value.empty() ? 0 : std::stoll(value)) + delta;
    value = std::to_string(sum);
    return sum;
  }
  void erase(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    values_.erase(key);
  }

 private:
  void check() const {
    if (gone) throw Error("rank 0 is gone", ExitCode::kNotMeasured);
  }
  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

}  // namespace lenbench
