// Requests that keep much of the store while they take several turns: one at a time for each flow (flow_of()), so that
// together they keep what one of each namespace keeps. The others wait, and have read nothing yet. Internal to this
// package; used on the server's thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pkg/reactor/reactor.h"

namespace dra::apiserver {

class LargeRequests {
 public:
  using Ticket = std::shared_ptr<void>;

  explicit LargeRequests(Reactor& reactor);

  // Calls `begin` when no other request of this flow is on its way, now or in a later task. The request is over when
  // its ticket is dropped. False: 64 of them wait already.
  bool enter(const std::string& flow, std::function<void(Ticket)> begin);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dra::apiserver
