// TCPStore behind the seam of shared stores.
#pragma once

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <string>

#include "bench/shared_store.h"

namespace lenbench {

class TcpStore : public SharedStore {
 public:
  explicit TcpStore(const StoreAddress& address);
  void set(const std::string& key, const std::string& value) override;
  std::optional<std::string> get(const std::string& key) override;
  std::int64_t add(const std::string& key, std::int64_t delta) override;
  void erase(const std::string& key) override;

  const c10::intrusive_ptr<c10d::TCPStore>& store() const { return store_; }
  const std::string& prefix() const { return prefix_; }

 private:
  template <class Call>
  void guarded(Call&& call);

  std::string where_, prefix_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

}  // namespace lenbench
