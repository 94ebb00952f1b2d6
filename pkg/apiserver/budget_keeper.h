// Updates the status of PodDisruptionBudgets, like kube-controller-manager's disruption controller; evictions go by it.
//
// A change of a pod, a budget or a controller marks its namespace. A moment later the budgets of marked namespaces are
// counted again, so that a burst of changes costs one count. Runs on the server's reactor.
#pragma once

#include <memory>

#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/store/store.h"
#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

class BudgetKeeper {
 public:
  // All of them must outlive it.
  BudgetKeeper(Reactor& reactor, Store& store, const ObjectReader& reader, const KindRegistry& kinds);
  ~BudgetKeeper();
  BudgetKeeper(const BudgetKeeper&) = delete;
  BudgetKeeper& operator=(const BudgetKeeper&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra::apiserver
