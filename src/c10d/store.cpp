// TCPStore with its failures as Errors.
#include "c10d/store.h"

#include <c10/util/Logging.h>

#include <chrono>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "c10d/tcp_store.h"

namespace lenbench {

TcpStore::TcpStore(const StoreAddress& address)
    : where_(address.host + ":" + std::to_string(address.port)), prefix_(address.prefix) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(address.port);
  options.isServer = address.holds;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * address.patience_seconds));
  if (address.listening_socket >= 0) options.masterListenFd = address.listening_socket;
  try {
    store_ = c10::make_intrusive<c10d::TCPStore>(address.host, options);
  } catch (const std::exception& error) {
    throw Error((address.holds ? "the store of the run cannot be opened at " : "rank 0 cannot be reached at ") +
                    where_ + ": " + first_line(error.what()) + "; see MASTER_ADDR and MASTER_PORT",
                ExitCode::kNotMeasured);
  }
}

template <class Call>
void TcpStore::guarded(Call&& call) {
  try {
    call();
  } catch (const std::exception& error) {
    throw Error("rank 0 is gone, or the network to it at " + where_ + ": " + first_line(error.what()),
                ExitCode::kNotMeasured);
  }
}

void TcpStore::set(const std::string& key, const std::string& value) {
  guarded([&] { store_->set(prefix_ + key, std::vector<std::uint8_t>(value.begin(), value.end())); });
}

std::optional<std::string> TcpStore::get(const std::string& key) {
  std::optional<std::string> value;
  guarded([&] {
    if (!store_->check({prefix_ + key})) return;
    const std::vector<std::uint8_t> bytes = store_->get(prefix_ + key);
    value.emplace(bytes.begin(), bytes.end());
  });
  return value;
}

std::int64_t TcpStore::add(const std::string& key, std::int64_t delta) {
  std::int64_t value = 0;
  guarded([&] { value = store_->add(prefix_ + key, delta); });
  return value;
}

void TcpStore::erase(const std::string& key) {
  guarded([&] { store_->deleteKey(prefix_ + key); });
}

std::unique_ptr<SharedStore> connect_store(const StoreAddress& address) {
  // Failures arrive as exceptions, and become one line each; torch's own log would say them in thirty.
  static std::once_flag quiet;
  std::call_once(quiet, [] { FLAGS_caffe2_log_level = c10::GLOG_FATAL; });
  return std::make_unique<TcpStore>(address);
}

}  // namespace lenbench
