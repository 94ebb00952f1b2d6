// Resync: enqueues every pod, claim and taint rule, as after a first list. A new leader continues with it what the last
// one left half done.
//
// Works in portions, so that no task of the reactor's thread takes long; the runner gathers keys until the last
// portion. A change that a watch brings meanwhile is an event as always. Belongs to the reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pkg/manager/run/runner.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class Resync {
 public:
  static constexpr size_t kPortion = 500;  // objects per task; some 10 microseconds each

  // Everything must outlive this. `before` is called for each pod right before the pod is enqueued.
  Resync(Reactor& reactor, const Stores& stores, const StoreView& view, Runner& runner,
         std::function<void(const api::Pod&)> before)
      : reactor_(reactor), stores_(stores), view_(view), runner_(runner), before_(std::move(before)) {}

  // The runner must be running. Begins anew if one is under way.
  void start();

 private:
  void one_portion();

  Reactor& reactor_;
  const Stores& stores_;
  const StoreView& view_;
  Runner& runner_;
  std::function<void(const api::Pod&)> before_;
  uint64_t number_ = 0;
  std::string last_pod_, last_claim_;  // keys
  bool pods_done_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
