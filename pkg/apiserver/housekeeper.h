// What kube-controller-manager does for every kind of object, done by the server itself if enabled: cascading deletion
// by owner references (background, foreground, orphan), emptying deleted namespaces, the default service account of new
// namespaces, and the expiry of events after an hour. It writes as a client would, one object at a time
// (ServerOptions::in_turn).
#pragma once

#include <memory>

#include "pkg/apiserver/rest/call.h"

namespace dra::apiserver {

class Housekeeper {
 public:
  // All of `env` must outlive it.
  explicit Housekeeper(const Env& env);
  ~Housekeeper();
  Housekeeper(const Housekeeper&) = delete;
  Housekeeper& operator=(const Housekeeper&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dra::apiserver
