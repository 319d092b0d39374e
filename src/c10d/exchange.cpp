// Collective calls of a Gloo process group.
#include "c10d/exchange.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "base/error.h"
#include "base/text.h"
#include "c10d/tcp_store.h"

namespace lenbench {

namespace {

constexpr auto kMeetingPatience = std::chrono::minutes(10);

class GlooExchange : public Exchange {
 public:
  GlooExchange(const Membership& member, std::chrono::milliseconds patience)
      : rank_(member.rank), world_(member.world), patience_(patience) {
    auto* store = dynamic_cast<TcpStore*>(member.store);
    if (store == nullptr) throw std::logic_error("make_exchange: a store of another kind");
    guarded([&] {
      const auto options = c10d::ProcessGroupGloo::Options::create(kMeetingPatience);
      const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
      options->devices.push_back(member.one_machine ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                 : interface != nullptr && interface[0] != '\0'
                                     ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                     : c10d::ProcessGroupGloo::createDefaultDevice());
      const auto prefixed = c10::make_intrusive<c10d::PrefixStore>(store->prefix() + "gloo", store->store());
      group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, rank_, world_, options);
    });
  }

  int rank() const override { return rank_; }
  int world() const override { return world_; }

  void sum(at::Tensor tensor) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::AllreduceOptions options;
    options.timeout = patience_;
    guarded([&] { group_->allreduce(tensors, options)->wait(); });
  }

  void broadcast(at::Tensor tensor, int from) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = from;
    options.timeout = patience_;
    guarded([&] { group_->broadcast(tensors, options)->wait(); });
  }

 private:
  template <class Call>
  void guarded(Call&& call) {
    try {
      call();
    } catch (const std::exception& error) {
      throw RankLost("rank " + std::to_string(rank_) + " of " + std::to_string(world_) +
                     ": another rank is gone, or cannot be reached: " + first_line(error.what()));
    }
  }

  int rank_, world_;
  std::chrono::milliseconds patience_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(const Membership& member, std::chrono::milliseconds patience) {
  return member.world > 1 ? std::make_unique<GlooExchange>(member, patience) : nullptr;
}

}  // namespace lenbench
