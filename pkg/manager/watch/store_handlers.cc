#include "pkg/manager/watch/store_handlers.h"

#include <memory>
#include <string>

#include "pkg/manager/report/audit.h"
#include "pkg/manager/report/exclusivity.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/report/pinned_pods.h"
#include "pkg/manager/report/stuck_claims.h"
#include "pkg/manager/report/unknown_objects.h"
#include "pkg/manager/report/usage_reporter.h"
#include "pkg/manager/run/assumptions.h"
#include "pkg/manager/run/memory.h"
#include "pkg/manager/run/runner.h"
#include "pkg/manager/run/silicon_keeper.h"
#include "pkg/manager/watch/group_watches.h"
#include "pkg/manager/watch/watches.h"
#include "pkg/nodes/node_tracker.h"
#include "pkg/nodes/plugin_nodes.h"

namespace dra::manager {

using client::Change;
using Shared = std::shared_ptr<const StoreHandlers>;

namespace {

void derive(const StoreHandlers& to, const Change<api::Pod>& c) {
  if (c.after)
    to.nodes.set_pod(*c.after);
  else
    to.nodes.remove_pod(c.before->metadata.uid);
  if (!c.after) {
    to.memory.forget(c.before->metadata.uid);
    to.instruments.pod_gone(c.before->metadata.key());
  }
  c.after ? to.plugins.set_pod(*c.after) : to.plugins.remove_pod(c.before->metadata.uid);
  to.pinned.changed(c.before.get(), c.after.get());
  if (c.after) to.groups.watch_for(*c.after);
}

void derive_streamed(const StoreHandlers& to, const Change<api::ResourceClaim>& c) {
  if (c.after) {
    to.inventory.apply_claim(*c.after);
  } else {
    to.inventory.remove_claim(c.before->metadata.uid);
    to.assumptions.claim_gone(c.before->metadata.uid);
  }
  if (c.after && (!c.before || c.before->status.allocation != c.after->status.allocation)) to.audit.check(*c.after);
}

void derive(const StoreHandlers& to, const Change<api::ResourceClaim>& c) {
  const std::string name = (c.after ? c.after : c.before)->metadata.key();
  const std::string key = reconcile::to_text(reconcile::claim_key(name));
  if (c.after) {
    to.memory.changed_at.put(key, to.clock.mono_now());
  } else {
    to.memory.changed_at.erase(key);
    to.memory.forget(c.before->metadata.uid);
  }
  to.instruments.count_claim(c.before.get(), c.after.get());
  to.exclusivity.changed(c.before.get(), c.after.get());
  to.stuck.changed(c.before.get(), c.after.get(), to.clock.wall_now());
  to.unknown.changed(name, c.after.get());
  to.usage.changed(c.before.get(), c.after.get());
}

void derive(const StoreHandlers&, const Change<api::ResourceClaimTemplate>&) {}

void derive(const StoreHandlers& to, const Change<api::Node>& c) {
  if (c.after) {
    to.inventory.apply_node(c.after);
    to.nodes.set_node(c.after);
    to.plugins.set_node(*c.after);
  } else {
    to.inventory.remove_node(c.before->metadata.name);
    to.nodes.remove_node(c.before->metadata.name);
    to.plugins.remove_node(c.before->metadata.name);
  }
}

void derive(const StoreHandlers& to, const Change<api::DeviceClass>& c) {
  c.after ? to.inventory.apply_class(*c.after) : to.inventory.remove_class(c.before->metadata.name);
  to.plugins.set_class(c.before.get(), c.after.get());
  to.unknown.changed((c.after ? c.after : c.before)->metadata.name, c.after.get());
}

void derive(const StoreHandlers& to, const Change<api::ResourceSlice>& c) {
  c.after ? to.inventory.apply_slice(*c.after) : to.inventory.remove_slice(c.before->metadata.name);
  to.unknown.changed((c.after ? c.after : c.before)->metadata.name, c.after.get());
}

void derive(const StoreHandlers& to, const Change<api::DeviceTaintRule>& c) {
  c.after ? to.inventory.apply_taint_rule(*c.after) : to.inventory.remove_taint_rule(c.before->metadata.name);
}

void derive(const StoreHandlers&, const Change<api::PrepareEvent>&) {}

template <typename T>
void follow(client::Store<T>& store, const Shared& to) {
  store.on_change([to](const Change<T>& c) {
    derive(*to, c);
    to->silicon.settle();
    to->runner.changed(reconcile::Changed<T>{c.before.get(), c.after.get()});
  });
}

}  // namespace

void connect_stores(Watches& watches, const StoreHandlers& handlers) {
  const Shared to = std::make_shared<const StoreHandlers>(handlers);
  watches.pods.store().on_stream_change([to](const Change<api::Pod>& c) {
    if (c.before && !c.after) to->memory.gone_uids.put(c.before->metadata.uid, true);
  });
  watches.claims.store().on_stream_change([to](const Change<api::ResourceClaim>& c) {
    derive_streamed(*to, c);
    to->runner.changed(reconcile::StreamedClaim{c.before.get(), c.after.get()});
  });
  watches.claims.objects().on_progress([to](uint64_t revision) { to->assumptions.claims_reached(revision); });
  follow(watches.pods.store(), to);
  follow(watches.claims.store(), to);
  follow(watches.templates.store(), to);
  follow(watches.nodes.store(), to);
  follow(watches.classes.store(), to);
  follow(watches.slices.store(), to);
  if (watches.taint_rules) follow(watches.taint_rules->store(), to);
  follow(watches.prepare_events.store(), to);
}

}  // namespace dra::manager
