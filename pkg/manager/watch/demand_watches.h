// DemandWatches: watches of objects that few pods need (labels of namespaces, volumes, workload controllers, Jobs),
// opened when the first pod needs them and kept from then on. They feed the node tracker.
//
// Each group has a role of its own. Without the role the pods that need the group wait, and their reason names what is
// missing; the role is checked again every minute. Belongs to the reactor's thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/informer/informer.h"
#include "pkg/manager/permit/preflight.h"
#include "pkg/nodes/node_tracker.h"

namespace dra::manager {

class DemandWatches {
 public:
  struct Hooks {
    std::function<void()> pods_may_go_on;                         // requeue all pods
    std::function<void(std::string_view claim)> volumes_changed;  // reconcile::VolumesChanged
    std::function<void(nodes::Facts)> known;                      // the facts became known for the first time
  };
  // All must outlive it.
  DemandWatches(Reactor& reactor, client::Transport& transport, Random& random,
                std::shared_ptr<client::ServerTraits> traits, const Preflight& preflight, nodes::NodeTracker& nodes,
                Hooks hooks);
  ~DemandWatches();

  // May be called while a reconciler runs: its effects follow in a later task.
  void need(nodes::Facts facts);
  // Lists again everything that is watched; calls `begun` before and `done` after each watch.
  void refresh(const std::function<void()>& begun, const std::function<void()>& done);
  void stop();

  client::Informer<api::PersistentVolumeClaim>& volume_claims() { return *volume_claims_; }
  client::Informer<api::PersistentVolume>& volumes() { return *volumes_; }

 private:
  enum class State { kClosed, kNeeded, kMissing, kOpen, kKnown };
  struct Group {
    std::string_view role;
    std::string what;  // for messages: what needs it
    State state = State::kClosed;
    Handle timer;
  };
  struct Member {
    nodes::Facts facts;
    std::string plural;
    std::function<void()> start, stop;
    std::function<bool()> synced;
    std::function<std::string()> trouble;
    std::function<void(std::function<void()>)> refresh;
  };

  template <typename T>
  std::shared_ptr<client::Informer<T>> make(client::Resource resource);
  template <typename T, typename Changed>
  void add(nodes::Facts facts, const std::shared_ptr<client::Informer<T>>& informer, Changed changed);
  void add_namespaces();
  void add_volumes();
  void add_workloads();
  Group& group(nodes::Facts facts) { return groups_[static_cast<size_t>(facts)]; }
  void open(nodes::Facts facts);
  void listed(nodes::Facts facts);

  Reactor& reactor_;
  client::Transport& transport_;
  Random& random_;
  std::shared_ptr<client::ServerTraits> traits_;
  const Preflight& preflight_;
  nodes::NodeTracker& nodes_;
  Hooks hooks_;
  std::array<Group, nodes::kFactsKinds> groups_;
  std::vector<Member> members_;
  std::shared_ptr<client::Informer<api::PersistentVolumeClaim>> volume_claims_;
  std::shared_ptr<client::Informer<api::PersistentVolume>> volumes_;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
