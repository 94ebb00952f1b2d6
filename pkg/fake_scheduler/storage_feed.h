// StorageFeed: watches volumes and related kinds for a node tracker, as the stand-in of kube-scheduler needs them.
// Belongs to the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/api/storage.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::fake_scheduler {

class StorageFeed {
 public:
  // `changed` gets the affected claim ("namespace/name"), or "" if any may be affected. All must outlive it.
  StorageFeed(Reactor& reactor, client::Transport& transport, Random& random, nodes::NodeTracker& tracker,
              std::function<void(const std::string& claim)> changed);
  void start();
  bool synced() const;

 private:
  template <typename T, typename Changed>
  void watch(client::Resource resource, Changed on_change);

  Reactor& reactor_;
  client::Transport& transport_;
  Random& random_;
  std::shared_ptr<client::ServerTraits> traits_ = std::make_shared<client::ServerTraits>();
  struct Member {
    std::function<void()> start;
    std::function<bool()> synced;
  };
  std::vector<Member> members_;
};

}  // namespace dra::fake_scheduler
