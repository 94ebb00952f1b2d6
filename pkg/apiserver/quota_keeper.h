// Updates the status of quotas (hard and used) for readers, like kube-controller-manager's quota controller.
//
// A change of any counted object marks its namespace. A moment later the quotas of marked namespaces are counted again,
// so that a burst of changes costs one count. Runs on the server's reactor.
#pragma once

#include <memory>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

class QuotaKeeper {
 public:
  // All of them must outlive it.
  QuotaKeeper(Reactor& reactor, Store& store, const ObjectReader& reader, const KindRegistry& kinds);
  ~QuotaKeeper();
  QuotaKeeper(const QuotaKeeper&) = delete;
  QuotaKeeper& operator=(const QuotaKeeper&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra::apiserver
