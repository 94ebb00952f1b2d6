// Keeps the status of quotas: hard and used, for readers. What kube-controller-manager's quota controller does.
//
// A change of any counted object marks its namespace; a moment later the quotas of marked namespaces are counted anew,
// so that a burst of changes is one count. Runs on the server's reactor.
#pragma once

#include <memory>

#include "pkg/apiserver/call.h"

namespace dra::apiserver {

class QuotaKeeper {
 public:
  // All of `env` must outlive it.
  explicit QuotaKeeper(const Env& env);
  ~QuotaKeeper();
  QuotaKeeper(const QuotaKeeper&) = delete;
  QuotaKeeper& operator=(const QuotaKeeper&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dra::apiserver
