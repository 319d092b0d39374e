// Keys and values that the processes of a run share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lenbench {

// Every call is atomic, and may come from any thread. Throws Error(kNotMeasured) when the process that holds the store
// is gone.
class SharedStore {
 public:
  virtual ~SharedStore() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // None when there is no such key; never waits for one.
  virtual std::optional<std::string> get(const std::string& key) = 0;
  // Adds to a counter, which begins at 0, and returns its new value.
  virtual std::int64_t add(const std::string& key, std::int64_t delta) = 0;
  virtual void erase(const std::string& key) = 0;
};

// Where the store of a run is held.
struct StoreAddress {
  std::string host;
  int port = 0;
  bool holds = false;            // this process holds the store; else it connects
  int listening_socket = -1;     // holds: bound to `port` already, and given away; -1: none
  double patience_seconds = 60;  // for the process that holds it to come up, and for each call
  std::string prefix;            // of every key: runs that share a store need different ones
};

// This process among those that do one piece of work together.
struct Membership {
  SharedStore* store = nullptr;
  int rank = 0, world = 1;
  bool one_machine = false;  // no rank is elsewhere
};

}  // namespace lenbench
