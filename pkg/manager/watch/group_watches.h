// GroupWatches: PodGroups of scheduling.k8s.io and scheduling.x-k8s.io, watched once the first pod names one, and
// CompositePodGroups, once the first group names one.
//
// An API that is not served, or that this manager may not read, has no PodGroups here, and known() says why; both are
// checked again every minute. Belongs to the reactor's thread.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/informer/informer.h"
#include "client/rest/rest_client.h"
#include "pkg/api/scheduling.h"
#include "pkg/manager/permit/preflight.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/reconcile/view.h"

namespace dra::manager {

class GroupWatches : public GroupSource {
 public:
  struct Hooks {
    std::function<void(std::string_view group)> changed;  // reconcile::GroupChanged
    std::function<void()> known;                          // the answer of known() changed: requeue all pods
    // Each PodGroup as it is now; null: it is gone.
    std::function<void(std::string_view group, const api::PodGroup* after)> seen;
  };
  // All must outlive it.
  GroupWatches(Reactor& reactor, client::Transport& transport, Random& random,
               const std::shared_ptr<client::ServerTraits>& traits, const Preflight& preflight, Hooks hooks);
  ~GroupWatches() override;

  // May be called while a reconciler runs: its effects follow in a later task.
  void need(reconcile::GroupApi api);
  // Calls need() for the API of the PodGroup that the pod names, if any.
  void watch_for(const api::Pod& pod);
  // Lists again everything that is watched; calls `begun` before and `done` after each watch.
  void refresh(const std::function<void()>& begun, const std::function<void()>& done);
  void stop();

  const api::PodGroup* find(reconcile::GroupApi api, std::string_view key) const override;
  reconcile::GroupsKnown known(reconcile::GroupApi api) const override;
  std::vector<std::string> children(std::string_view parent) const override;

 private:
  struct Watched {
    std::unique_ptr<client::Informer<api::PodGroup>> informer;  // null: the version is not known yet
    std::string version;                                        // of `informer`
    bool needed = false, denied = false;
    // Some version had them, and discovery has not said since, twice in a row, that none has (one answer may be an
    // error): a version that ends, as v1alpha2 does in 1.37, is no reason to place pods of groups one by one.
    bool served = false;
    uint32_t in_none = 0;                                                          // answers of discovery in a row
    Handle question;                                                               // which version has PodGroups
    reconcile::GroupsKnown reported{reconcile::GroupsKnown::State::kListing, ""};  // last reported
    Handle timer;
  };
  Watched& of(reconcile::GroupApi api) { return watched_[static_cast<size_t>(api)]; }
  const Watched& of(reconcile::GroupApi api) const { return watched_[static_cast<size_t>(api)]; }
  void open(reconcile::GroupApi api);
  // The first version of the server that has PodGroups is watched; if none has, the one that is known to have had them.
  void watch(reconcile::GroupApi api, const std::string& version);
  void record_if_new(reconcile::GroupApi api);
  void note_parent(reconcile::GroupApi api, const std::string& key, const api::PodGroup* before,
                   const api::PodGroup* after);

  Reactor& reactor_;
  client::Transport& transport_;
  client::RestClient client_;
  Random& random_;
  const std::shared_ptr<client::ServerTraits> traits_;
  const Preflight& preflight_;
  Hooks hooks_;
  std::array<Watched, reconcile::kGroupApis> watched_;
  std::map<std::string, std::set<std::string>, std::less<>> children_;  // keys of groups, by parent_key_of()
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dra::manager
