#include "pkg/manager/watch/group_watches.h"

#include <algorithm>
#include <utility>

#include "client/rest/discovery.h"
#include "pkg/manager/permit/permissions.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/wholes.h"

namespace dra::manager {

using reconcile::GroupApi;
using reconcile::GroupsKnown;

namespace {

struct Source {
  std::string group, version;  // that is known to have them
  std::string plural = "podgroups", kind = "PodGroup";
};

Source source_of(GroupApi api) {
  if (api == GroupApi::kCore) return {"scheduling.k8s.io", "v1alpha2"};
  if (api == GroupApi::kComposite) return {"scheduling.k8s.io", "v1alpha3", "compositepodgroups", "CompositePodGroup"};
  return {"scheduling.x-k8s.io", "v1alpha1"};
}

std::string_view role_of(GroupApi api) {
  return api == GroupApi::kComposite ? kCompositesRole : kGroupsRole;
}

}  // namespace

GroupWatches::GroupWatches(Reactor& reactor, client::Transport& transport, Random& random,
                           const std::shared_ptr<client::ServerTraits>& traits, const Preflight& preflight, Hooks hooks)
    : reactor_(reactor),
      transport_(transport),
      client_(transport),
      random_(random),
      traits_(traits),
      preflight_(preflight),
      hooks_(std::move(hooks)) {}

GroupWatches::~GroupWatches() {
  stop();
}

void GroupWatches::watch_for(const api::Pod& pod) {
  const std::optional<protocol::GroupRef> group = protocol::group_of(pod);
  if (!group) return;
  if (group->source == protocol::GroupRef::Source::kJob) {
    // The group above a Job may be of either API.
    if (!protocol::parent_key_of(pod).empty()) {
      need(GroupApi::kCore);
      need(GroupApi::kPlugins);
    }
    return;
  }
  need(group->source == protocol::GroupRef::Source::kCore ? GroupApi::kCore : GroupApi::kPlugins);
}

void GroupWatches::need(GroupApi api) {
  Watched& watched = of(api);
  if (stopped_ || std::exchange(watched.needed, true)) return;
  watched.timer = reactor_.after(Duration::zero(), [this, api] { open(api); });
}

void GroupWatches::open(GroupApi api) {
  if (stopped_) return;
  Watched& watched = of(api);
  watched.denied = watched.informer == nullptr && !preflight_.grants(role_of(api));
  const bool absent = watched.informer == nullptr || watched.informer->reflector().absent();
  if (!watched.denied && absent)
    watched.question = client::discover_version_with(client_, source_of(api).group, source_of(api).plural,
                                                     [this, api](const std::string& version) {
                                                       Watched& asked = of(api);
                                                       asked.in_none = version.empty() ? asked.in_none + 1 : 0;
                                                       if (asked.in_none > 1) asked.served = false;
                                                       watch(api, version.empty() ? source_of(api).version : version);
                                                       record_if_new(api);
                                                     });
  record_if_new(api);
  watched.timer = reactor_.after(Preflight::kRecheck, [this, api] { open(api); });
}

void GroupWatches::watch(GroupApi api, const std::string& version) {
  if (stopped_) return;
  Watched& watched = of(api);
  if (watched.informer && watched.version == version) return;
  if (watched.informer) watched.informer->stop();
  watched.version = version;
  client::ReflectorOptions options;
  options.resource = {source_of(api).group, version, source_of(api).plural, source_of(api).kind, true};
  options.may_be_absent = true;  // an API behind a gate, or a CustomResourceDefinition
  watched.informer =
      std::make_unique<client::Informer<api::PodGroup>>(reactor_, transport_, random_, std::move(options), traits_);
  watched.informer->store().on_change([this, api](const client::Change<api::PodGroup>& change) {
    const std::string key = protocol::group_key(api, (change.after ? change.after : change.before)->metadata.key());
    note_parent(api, key, change.before.get(), change.after.get());
    hooks_.seen(key, change.after.get());
    hooks_.changed(key);
  });
  watched.informer->objects().on_replaced([this, api] {
    reactor_.post([this, api, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) record_if_new(api);
    });
  });
  watched.informer->start();
  record_if_new(api);
}

void GroupWatches::note_parent(GroupApi api, const std::string& key, const api::PodGroup* before,
                               const api::PodGroup* after) {
  const std::string was = before == nullptr ? "" : protocol::parent_key_of(*before);
  const std::string is = after == nullptr ? "" : protocol::parent_key_of(*after);
  if (!is.empty()) need(after->parent.empty() ? api : GroupApi::kComposite);
  if (was == is) return;
  if (const auto found = children_.find(was); found != children_.end()) {
    found->second.erase(key);
    if (found->second.empty()) children_.erase(found);
  }
  if (!is.empty()) children_[is].insert(key);
}

std::vector<std::string> GroupWatches::children(std::string_view parent) const {
  const auto found = children_.find(parent);
  if (found == children_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void GroupWatches::record_if_new(GroupApi api) {
  if (stopped_) return;
  Watched& watched = of(api);
  if (watched.informer && watched.informer->synced() && !watched.informer->reflector().absent()) watched.served = true;
  GroupsKnown now = known(api);
  if (now.state == of(api).reported.state && now.why == of(api).reported.why) return;
  of(api).reported = std::move(now);
  hooks_.known();
}

const api::PodGroup* GroupWatches::find(GroupApi api, std::string_view key) const {
  if (of(api).informer == nullptr) return nullptr;
  return of(api).informer->store().get(key).get();  // the store keeps it alive while a reconciler runs
}

GroupsKnown GroupWatches::known(GroupApi api) const {
  const Watched& watched = of(api);
  if (watched.denied)
    return {GroupsKnown::State::kCannot,
            "this manager may not list and watch them: bind the ClusterRole dra-controller-manager:" +
                std::string(role_of(api))};
  if (watched.informer == nullptr) return {GroupsKnown::State::kListing, ""};
  if (!watched.informer->synced()) return {GroupsKnown::State::kListing, watched.informer->reflector().trouble()};
  if (watched.informer->reflector().absent() && watched.served)
    return {GroupsKnown::State::kListing, "the API server no longer serves " + source_of(api).group + "/" +
                                              watched.version + "; it is asked every minute which version has them"};
  if (watched.informer->reflector().absent())
    return {GroupsKnown::State::kCannot, "the API server does not serve them"};
  return {GroupsKnown::State::kKnown, ""};
}

void GroupWatches::refresh(const std::function<void()>& begun, const std::function<void()>& done) {
  for (Watched& watched : watched_) {
    if (!watched.informer || !watched.informer->synced() || watched.informer->reflector().absent()) continue;
    begun();
    watched.informer->objects().drop_answers();
    watched.informer->reflector().refresh(done);
  }
}

void GroupWatches::stop() {
  stopped_ = true;
  for (Watched& watched : watched_) {
    watched.timer.cancel();
    watched.question.cancel();
    if (watched.informer) watched.informer->stop();
  }
}

}  // namespace dra::manager
