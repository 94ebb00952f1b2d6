// Updates the status of quotas (hard and used) for readers, like kube-controller-manager's quota controller.
//
// A change of any counted object marks its namespace. A moment later the quotas of marked namespaces are counted again,
// so that a burst of changes costs one count. Runs on the server's reactor.
#pragma once

#include <memory>

#include "pkg/apiserver/rest/call.h"

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
