// GarbageCollector: a stand-in for kube-controller-manager's garbage collector, for claims only: deletes a claim when
// the pod that controls it is gone.
//
// Belongs to the reactor's thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "client/informer/informer.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/fake_scheduler/call_chain.h"
#include "pkg/fake_scheduler/scheduler.h"

namespace dra::integration {

using fake_scheduler::CallChain;
using fake_scheduler::ChainedCall;
using fake_scheduler::Component;

class GarbageCollector : public Component {
 public:
  // Both must outlive the collector, which starts at once.
  GarbageCollector(Reactor& reactor, client::Transport& transport, Random& random);
  ~GarbageCollector() override;

 private:
  // Deletes the claim if the pod that controls it does not exist. Watches lag: a pod that the pods' watch does not know
  // is looked up by a live GET.
  void check(const api::ResourceClaim& claim);

  Reactor& reactor_;
  client::Transport& transport_;
  client::Informer<api::Pod> pods_;
  client::Informer<api::ResourceClaim> claims_;
  std::map<std::string, std::shared_ptr<CallChain>> chains_;  // by uid of the claim
};

}  // namespace dra::integration
