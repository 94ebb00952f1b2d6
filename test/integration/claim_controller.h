// ClaimController: a stand-in for kube-controller-manager's resourceclaim-controller (1.36): creates claims from
// templates under random names, publishes them, reserves them for bound pods, prunes consumers that are gone,
// deallocates and deletes.
//
// One key at a time; a refused write is retried after a back-off. Belongs to the reactor's thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/fake_scheduler/call_chain.h"
#include "pkg/fake_scheduler/key_worker.h"
#include "pkg/fake_scheduler/scheduler.h"

namespace dra::integration {

using fake_scheduler::CallChain;
using fake_scheduler::ChainedCall;
using fake_scheduler::Component;
using fake_scheduler::KeyWorker;

class ClaimController : public Component {
 public:
  // Everything must outlive the controller.
  ClaimController(Reactor& reactor, client::Transport& transport, Random& random);
  ~ClaimController() override;
  void start();
  uint64_t writes() const { return writes_; }

 private:
  void listen();
  void on_pod(const client::Change<api::Pod>& change);
  void work(const std::string& key);
  void sync_pod(const std::string& key, const api::Pod& pod);
  void sync_claim(const std::string& key, const api::ResourceClaim& claim);
  bool consumer_gone(const api::ResourceClaim& claim, const std::string& name, const std::string& uid) const;
  void run(const std::string& key, std::vector<ChainedCall> calls, CallChain::Answered answered = nullptr);

  Reactor& reactor_;
  client::Transport& transport_;
  std::shared_ptr<client::ServerTraits> traits_;
  client::Informer<api::Pod> pods_;
  client::Informer<api::ResourceClaim> claims_;
  client::Informer<api::ResourceClaimTemplate> templates_;
  KeyWorker worker_;
  std::map<std::string, std::map<std::string, std::string>> made_;  // pod uid -> entry -> claim: read your own writes
  uint64_t writes_ = 0;
  std::shared_ptr<CallChain> chain_;
};

}  // namespace dra::integration
