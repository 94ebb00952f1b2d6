#include "pkg/manager/manager.h"

#include <algorithm>
#include <map>

#include "client/rest/rest_client.h"
#include "client/transport/paced.h"
#include "controllers/allocation/options.h"
#include "pkg/base/strings.h"
#include "pkg/inventory/device_index.h"
#include "pkg/log/log.h"
#include "pkg/manager/cache_keeper.h"
#include "pkg/manager/controller_set.h"
#include "pkg/manager/permit/component_probe.h"
#include "pkg/manager/permit/own_mode.h"
#include "pkg/manager/permit/permissions.h"
#include "pkg/manager/permit/preflight.h"
#include "pkg/manager/report/audit.h"
#include "pkg/manager/report/device_gauges.h"
#include "pkg/manager/report/exclusivity.h"
#include "pkg/manager/report/fragmentation_gauges.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/report/operator_events.h"
#include "pkg/manager/report/pinned_pods.h"
#include "pkg/manager/report/stuck_claims.h"
#include "pkg/manager/report/unknown_objects.h"
#include "pkg/manager/report/usage_reporter.h"
#include "pkg/manager/request_mix_seed.h"
#include "pkg/manager/run/api_sink.h"
#include "pkg/manager/run/assumptions.h"
#include "pkg/manager/run/memory.h"
#include "pkg/manager/run/resync.h"
#include "pkg/manager/run/runner.h"
#include "pkg/manager/run/silicon_keeper.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/manager/settings.h"
#include "pkg/manager/watch/demand_watches.h"
#include "pkg/manager/watch/discovery.h"
#include "pkg/manager/watch/group_watches.h"
#include "pkg/manager/watch/served_apis.h"
#include "pkg/manager/watch/store_handlers.h"
#include "pkg/manager/watch/watches.h"
#include "pkg/nodes/node_tracker.h"
#include "pkg/nodes/plugin_nodes.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/moves.h"

namespace dra::manager {

using client::Informer;

namespace {

// The controller that is paused while somebody else may be making the same claims.
constexpr std::string_view kClaimMaker = "claimtemplate";
// The controller that evicts pods for others, and its role.
constexpr std::string_view kPreemptor = "preemption";

}  // namespace

struct Manager::Impl {
  Impl(Reactor& reactor_in, client::Transport& transport_in, Random& random_in, metrics::Registry& registry,
       ManagerOptions options_in)
      : reactor(reactor_in),
        random(random_in),
        options(std::move(options_in)),
        instruments(registry, options.lease ? options.lease->name : "dra-controller-manager"),
        transport(reactor, transport_in, options.pace, observer()),
        rest(transport),
        preflight(reactor, rest, options),
        served(reactor, rest,
               {[this](const std::string& server_version) {
                  follow_release(server_version);
                  return inventory.features().device_taints && inventory.features().taint_rules;
                },
                [this](const std::string& version, const std::string& rules) { watch_all(version, rules); }}),
        writer(reactor, rest),
        recorder(reactor, rest, random, {.instance = options.identity}),
        inventory(features_of(options, "")),
        allocator(inventory, allocator_options_of(options, reactor.clock()), random),
        device_gauges(registry, inventory, allocator, options.ignored_taints),
        fragmentation_gauges(registry, inventory, allocator, reactor.clock()),
        nodes(reactor.clock()),
        plugins(inventory, allocator),
        assumptions(inventory, nodes, stores),
        view(stores, memory, reactor.clock(), "resource.k8s.io/v1"),
        operator_events(recorder, options.lease),
        api(writer),
        events(recorder),
        runner(reactor, view, memory, {api, events, instruments, assumptions}),
        audit(reactor, inventory, stores, instruments, events),
        unknown(registry, events, not_reported(options.settings.scheduling, inventory.features().ignored_fields)),
        usage(reactor, rest, registry, inventory, view, options, [this] { return preflight.why_not(kUsageRole); }),
        request_mix_seed(reactor, allocator, stores),
        resync(reactor, stores, view, runner, [this](const api::Pod& pod) { assumptions.recall(pod); }),
        cache_keeper(reactor, allocator, nodes, [this] { return watches ? watches->claims.objects().size() : 0; }),
        controllers(options, {inventory, allocator, nodes}, preflight, runner, instruments),
        silicon(reactor, inventory, plugins, runner, [this](bool on) { controllers.pause_decisions(on); }),
        own_mode(
            reactor, rest, [this] { return pods_without_claims(); }, [this] { pause_disputed(); }) {
    inventory.device_index().set_identity_rules(options.identities);
    inventory.device_index().set_share_rules(options.sharing);
    nodes.number_by(inventory);
    view.set_ignored_fields(inventory.features().ignored_fields);
    instruments.set_leader(false);
    runner.observe_writes(options.on_write);
    runner.observe_reconciles(options.on_reconcile);
    runner.observe_outages([this](const OutageReport& report) { operator_events.record(report); });
    nodes.on_needed([this](nodes::Facts facts) {
      if (demand) demand->need(facts);
    });
    registry.before_collect_in_steps(
        [this, alive = std::weak_ptr<bool>(alive_token)] { return alive.expired() || device_gauges.refresh_some(); });
    registry.before_collect_in_steps([this, alive = std::weak_ptr<bool>(alive_token)] {
      return alive.expired() || fragmentation_gauges.refresh_some();
    });
    registry.before_collect([this, alive = std::weak_ptr<bool>(alive_token)] {
      if (!alive.expired()) refresh_metrics();
    });
  }

  client::RequestObserver observer() {
    client::RequestObserver observer;
    observer.on_answer = [this](const std::string& method, const std::string& code, Duration took) {
      instruments.count_request(method, code, options.host, std::chrono::duration<double>(took).count());
    };
    observer.on_held = [this](const std::string& method, Duration held) {
      instruments.observe_held(method, options.host, std::chrono::duration<double>(held).count());
    };
    return observer;
  }

  // ---- the release

  std::string warned_of;

  // True when this changes any decision.
  bool follow_release(const std::string& server_version) {
    warn_if_newer(server_version);
    constexpr int kForeignConsumersSince = 36;
    view.set_may_have_foreign_consumers(inventory::minor_version(server_version).value_or(kForeignConsumersSince) >=
                                        kForeignConsumersSince);
    const inventory::Features features = features_of(options, server_version);
    if (features == inventory.features()) return false;
    log::info("Features follow the API server",
              {{"version", server_version.empty() ? "unknown" : server_version},
               {"selectors", features.selectors_of_137 ? "1.37" : "1.36"},
               {"DRAListTypeAttributes", features.list_attributes ? "true" : "false"},
               {"DRAFractionalCapacityRange", features.fractional_ranges ? "true" : "false"}});
    inventory.set_features(features);
    allocator.clear_caches();
    return true;
  }

  void warn_if_newer(const std::string& server_version) {
    if (server_version == warned_of) return;
    warned_of = server_version;
    if (inventory::is_newer_than_known(server_version))
      log::warning(
          "The API server is of a newer release than this version knows: it decides by the rules of the newest "
          "that it knows, and allocates nothing that has a field it does not know",
          {{"version", server_version}, {"newest", "1." + std::to_string(inventory::kNewestKnownRelease)}});
  }

  // The control plane may have been upgraded since the last term. An error changes nothing.
  void ask_release_again() {
    release_call = rest.get_raw("/version", [this, mine = term](Result<std::string> answer) {
      if (!answer || stopped || mine != term) return;
      if (follow_release(git_version(*answer))) resync_if_leading();
    });
  }

  // ---- syncing

  void watch_all(const std::string& version, const std::string& rule_version) {
    probe_components(rest, reactor.clock(), options, calls);
    view.set_dra_api_version("resource.k8s.io/" + version);
    events.set_dra_api_version("resource.k8s.io/" + version);
    if (!rule_version.empty()) {
      view.set_taint_rule_api_version("resource.k8s.io/" + rule_version);
      events.set_taint_rule_api_version("resource.k8s.io/" + rule_version);
    }
    watches = std::make_unique<Watches>(reactor, transport, random, version, rule_version);
    Watches& w = *watches;
    stores = {&w.pods.store(),
              &w.claims.store(),
              &w.templates.store(),
              &w.nodes.store(),
              &w.classes.store(),
              &w.slices.store(),
              w.taint_rules ? &w.taint_rules->store() : nullptr};
    stores.budgets = &w.budgets.store();
    stores.prepare_events = &w.prepare_events.store();
    add_indexes(stores);
    demand = std::make_unique<DemandWatches>(
        reactor, transport, random, w.traits, preflight, nodes,
        DemandWatches::Hooks{[this] { resync_if_leading(); },
                             [this](std::string_view claim) { runner.changed(reconcile::VolumesChanged{claim}); },
                             [this](nodes::Facts) {
                               for (const auto& pod : stores.pods->list()) assumptions.recall(*pod);
                             }});
    groups = std::make_unique<GroupWatches>(
        reactor, transport, random, w.traits, preflight,
        GroupWatches::Hooks{[this](std::string_view group) { runner.changed(reconcile::GroupChanged{group}); },
                            [this] { resync_if_leading(); },
                            [this](std::string_view key, const api::PodGroup* after) { unknown.changed(key, after); }});
    stores.groups = groups.get();
    serve(reconcile::Kind::kVolumeClaim, demand->volume_claims());
    serve(reconcile::Kind::kVolume, demand->volumes());
    serve(reconcile::Kind::kPod, w.pods);
    serve(reconcile::Kind::kNode, w.nodes);
    serve(reconcile::Kind::kClaim, w.claims);
    serve(reconcile::Kind::kClaimTemplate, w.templates);
    serve(reconcile::Kind::kSlice, w.slices);
    serve(reconcile::Kind::kClass, w.classes);
    if (w.taint_rules) serve(reconcile::Kind::kTaintRule, *w.taint_rules);
    connect_stores(w, {reactor.clock(), inventory, nodes, memory, assumptions, audit, instruments, exclusivity, stuck,
                       pinned, *groups, runner, unknown, usage, plugins, silicon});
    await_lists(w);
    w.claims.reflector().on_unreadable([this] { pause_unreadable(); });
    w.slices.reflector().on_unreadable([this] { pause_unreadable(); });
    if (w.taint_rules) w.taint_rules->reflector().on_unreadable([this] { pause_unreadable(); });
    preflight.start([this] { admit(); });
    if (judges_own_mode()) own_mode.start();
    pause_disputed();
  }

  bool judges_own_mode() const {
    return options.settings.claim_templates == ClaimTemplates::kOwn && !options.claim_controller_is_off;
  }

  std::vector<std::string> pods_without_claims() {
    const auto held = stores.pods->list();
    std::vector<const api::Pod*> pods;
    for (const auto& pod : held) pods.push_back(pod.get());
    return manager::pods_without_claims(view, pods, ClaimMakerDispute::kMostPods);
  }

  // Pauses the making of claims from templates while somebody else may be making the same claims.
  void pause_disputed() {
    const ClaimMakerDispute& dispute = own_mode.dispute();
    const bool held = judges_own_mode() && !dispute.may_make();
    runner.set_blocked(kClaimMaker, held);
    if (dispute.disputed() == std::exchange(reported_dispute, dispute.disputed())) return;
    if (held) {
      log::warning("Claims are not made from templates", {{"why", dispute.why_not()}});
      return operator_events.record(true, "ClaimTemplatesDisputed", dispute.why_not());
    }
    log::info("Claims are made from templates: nobody else does");
    operator_events.record(false, "ClaimTemplatesSettled", "claims are made from templates here: nobody else does");
  }

  // Pauses controllers that decide on all claims or slices until every such object is readable or gone. The informers'
  // health checks name the object.
  void pause_unreadable() {
    std::map<reconcile::Kind, std::string> unreadable;
    const auto note = [&](reconcile::Kind kind, const auto& informer) {
      if (std::string why = unreadable_text(informer.resource(), informer.reflector()); !why.empty())
        unreadable[kind] = std::move(why);
    };
    note(reconcile::Kind::kClaim, watches->claims);
    note(reconcile::Kind::kSlice, watches->slices);
    if (watches->taint_rules) note(reconcile::Kind::kTaintRule, *watches->taint_rules);
    controllers.pause(unreadable);
  }

  // A controller added while others already work is notified of every object.
  void start_permitted() {
    if (controllers.start_permitted() && runner.running()) resync.start();
  }

  // Starts the watches that permitted controllers need; the other controllers stay off until a later round finds their
  // permissions.
  void admit() {
    instruments.set_missing_permissions(preflight.missing());
    judge_volume_binding();
    bool more = false;
    for (const PermissionRole* role : needed_roles(options)) {
      if (role->controller.empty() || !preflight.permits(role->controller)) continue;
      watches->each([&](const char* plural, auto& informer) {
        if (!may_watch(*role, plural) || !watches->started.insert(plural).second) return;
        informer.start();
        more = true;
      });
      if (may_watch(*role, "events") && watches->started.insert("events").second) watches->prepare_events.start();
    }
    if (!more && in_step) return start_permitted();
    awaits_sync = true;
    await_sync();
  }

  // Pods whose volumes would have to be bound here report it before devices are taken for them; other pods do not care.
  void judge_volume_binding() {
    std::string why = preflight.why_not(kBindVolumesRole);
    if (!why.empty()) why = "a PersistentVolumeClaim of this pod waits for its first consumer, and " + why;
    if (why == volumes_unbindable) return;
    volumes_unbindable = why;
    nodes.set_volumes_unbindable(std::move(why));
    resync_if_leading();
  }

  template <typename T>
  void serve(reconcile::Kind kind, Informer<T>& informer) {
    api.serve(kind, informer.resource(), informer.type(), informer.objects());
  }

  void await_lists(Watches& w) {
    w.each([this](const char*, auto& informer) {
      informer.objects().on_replaced([this] {
        if (!awaits_sync) return;
        reactor.post([this, alive = std::weak_ptr<bool>(alive_token)] {
          if (!alive.expired()) await_sync();
        });
      });
    });
  }

  // Called after each list, which may have completed the sync.
  void await_sync() {
    if (stopped || !awaits_sync) return;
    if (!watches->synced()) return;
    awaits_sync = false;
    start_permitted();
    if (std::exchange(in_step, true)) return;
    log::info("Stores are in step with the API server", {{"pods", watches->pods.objects().size()},
                                                         {"claims", watches->claims.objects().size()},
                                                         {"slices", watches->slices.objects().size()},
                                                         {"devices", inventory.device_count()}});
    if (wants_lead) begin_term();
  }

  // ---- leading

  void lead() {
    if (wants_lead) return;
    wants_lead = true;
    if (in_step) begin_term();
  }

  // A read that begins now includes every write that an earlier term (ours or another's) left in flight.
  void begin_term() {
    ++term;
    assumptions.drop_all();
    if (term > 1) ask_release_again();
    // Nothing is watched yet if every controller lacks a permission; what is watched later is read later.
    auto left = std::make_shared<int>(1);
    const auto one_less = [this, left, mine = term] {
      if (--*left == 0 && mine == term && wants_lead && !stopped) run();
    };
    watches->each_started([&](const char*, auto& informer) {
      ++*left;
      informer.objects().drop_answers();
      informer.reflector().refresh(one_less);
    });
    demand->refresh([left] { ++*left; }, one_less);
    groups->refresh([left] { ++*left; }, one_less);
    one_less();
  }

  void run() {
    log::info("Leading",
              {{"claimTemplates", options.settings.claim_templates == ClaimTemplates::kOwn ? "own" : "observe"}});
    instruments.set_leader(true);
    // Everything is reconciled once, which continues what the last leader left half done.
    warn_of_extended_resources(options.settings.scheduling, view);
    runner.start();
    cache_keeper.start();
    if (serves_best_fit(options.strategy, view)) request_mix_seed.start();
    resync.start();
    controllers.show_running(true);
    audit.start(options.audit_period);
    unknown.set_leading(true);
    usage.start();
  }

  void resync_if_leading() {
    if (runner.running()) resync.start();
  }

  void stop_leading(std::string_view what = "Standing by") {
    if (!wants_lead) return;
    wants_lead = false;
    ++term;
    runner.stop();
    writer.end_term();
    audit.stop();
    unknown.set_leading(false);
    usage.stop();
    cache_keeper.stop();
    request_mix_seed.stop();
    instruments.set_leader(false);
    instruments.forget_pending();
    controllers.show_running(false);
    log::info(what);
  }

  void stop() {
    stop_leading("Stopped");
    stopped = true;
    served.stop();
    release_call.cancel();
    calls.clear();
    preflight.stop();
    own_mode.stop();
    if (!watches) return;
    watches->each_started([](const char*, auto& informer) { informer.stop(); });
    watches->prepare_events.stop();
    demand->stop();
    groups->stop();
  }

  // Ready as long as some controller may run; missing permissions are reported all the same.
  HealthCheck permissions_check() const {
    std::vector<std::string> lines;
    for (const Preflight::Missing& missing : preflight.missing()) lines.push_back(missing.text());
    const bool some = preflight.done() && (lines.empty() || controllers.any_permitted());
    const std::string said = preflight.done() ? join(lines, "; ") : "not checked yet";
    return {"permissions", some, said, said};
  }

  // The checks of /readyz.
  std::vector<HealthCheck> checks() {
    std::vector<HealthCheck> list;
    list.push_back({"api-discovery", watches != nullptr, served.trouble(), ""});
    if (!watches) return list;
    list.push_back(permissions_check());
    if (judges_own_mode())
      list.push_back({"claim-templates", own_mode.dispute().may_make(), own_mode.dispute().why_not(), ""});
    watches->each_started([&](const char* name, auto& informer) {
      const std::string unreadable = unreadable_text(informer.resource(), informer.reflector());
      list.push_back({std::string("informer-") + name, informer.synced() && unreadable.empty(),
                      unreadable.empty() ? informer.reflector().trouble() : unreadable, ""});
    });
    return list;
  }

  Drivers drivers() {
    device_gauges.refresh();
    return drivers_as_counted();
  }
  Drivers drivers_as_counted() { return exclusivity.drivers(device_gauges.drivers(), !options.ignored_taints.empty()); }

  std::map<std::string, std::string> lease_annotations(std::string_view version) {
    constexpr Duration kLookAgain = std::chrono::seconds(30);
    const MonoTime now = reactor.clock().mono_now();
    if (runner.running() && (!lease_drivers_at || now - *lease_drivers_at >= kLookAgain)) {
      lease_drivers = drivers();
      lease_drivers_at = now;
    }
    protocol::ManagerNotes notes = lease_notes(options, lease_drivers, version);
    notes.usage = usage.trouble();
    notes.quarantine = protocol::avoided_text(protocol::quarantined_devices(view));
    if (const auto moved = view.note(protocol::kMovesOfTheHour, protocol::kMovesOfTheHour)) notes.moves = moved->text;
    if (controller_runs(options, kPreemptor)) {
      const std::string why = preflight.why_not(kPreemptor);
      notes.preempts = why.empty() ? "on" : "Nobody is evicted for pods of higher priority: " + why;
    }
    const api::StringMap all = protocol::annotations_of(notes);
    return {all.begin(), all.end()};
  }

  void lease_taken(const api::StringMap& annotations) {
    // What this process knows itself, of a term before, is older than what another leader wrote.
    const std::string moves = protocol::notes_of(annotations).moves;
    if (moves.empty() || moves.size() > protocol::kMaxLeaseAnnotation) return;
    memory.notes.put(std::string(protocol::kMovesOfTheHour), std::string(protocol::kMovesOfTheHour),
                     {moves, reactor.clock().mono_now()});
  }

  // Of what we wrote: what was added between a write of ours and this one is not known to whoever wrote it.
  void lease_annotations_changed(const api::StringMap& ours, const api::StringMap& now) {
    const auto listed = [this](const api::StringMap& annotations) {
      return protocol::avoided_in(protocol::notes_of(annotations).quarantine, view.now());
    };
    const std::vector<protocol::AvoidedDevice> left = listed(now);
    std::vector<protocol::AvoidedDevice> released = protocol::released_devices(view);
    std::set<std::string> drivers;
    for (protocol::AvoidedDevice& one : listed(ours)) {
      if (std::any_of(left.begin(), left.end(), [&](const auto& other) { return other.name == one.name; })) continue;
      log::info("Released from quarantine by hand", {{"device", one.name.text()}});
      drivers.insert(one.name.driver);
      released.push_back(std::move(one));
    }
    if (drivers.empty()) return;
    memory.notes.put(std::string(protocol::kQuarantine), std::string(protocol::kReleasedByHand),
                     {protocol::avoided_text(std::move(released)), reactor.clock().mono_now()});
    for (const std::string& driver : drivers) runner.changed(reconcile::DevicesFreed{driver});
  }

  void refresh_metrics() {
    for (const HealthCheck& check : checks()) instruments.set_ready(check.name, check.ok);
    for (const Runner::QueueFigures& queue : runner.figures())
      instruments.set_queue_figures(queue.name, queue.unfinished, queue.longest, queue.parked, queue.paced);
    const PinnedPods::Figures unbound = pinned.count(view);
    instruments.set_pinned(unbound.pods, unbound.since);
    instruments.set_pending(view);
    unknown.show();
    usage.show();
    instruments.set_drivers(drivers_as_counted());
    instruments.set_outages(runner.outages().ongoing(), runner.outages().waiting());
    instruments.set_stuck(stuck.count(reactor.clock().wall_now(), [this](const std::string& claim) {
      const std::vector<const api::Pod*> pods = view.pods_of_claim(claim);
      return std::any_of(pods.begin(), pods.end(), [](const api::Pod* pod) { return !pod->done(); });
    }));
  }

  Reactor& reactor;
  Random& random;
  ManagerOptions options;
  Instruments instruments;
  client::PacedTransport transport;
  client::RestClient rest;
  Preflight preflight;
  ServedApis served;
  client::Writer writer;
  client::EventRecorder recorder;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  DeviceGauges device_gauges;
  FragmentationGauges fragmentation_gauges;
  StuckClaims stuck;
  PinnedPods pinned;
  Exclusivity exclusivity;
  nodes::NodeTracker nodes;
  nodes::PluginNodes plugins;
  Stores stores;
  Memory memory;
  ClusterAssumptions assumptions;
  StoreView view;
  OperatorEvents operator_events;
  ApiSink api;
  RecorderSink events;
  Runner runner;
  Audit audit;
  UnknownObjects unknown;
  UsageReporter usage;
  RequestMixSeed request_mix_seed;
  Resync resync;
  CacheKeeper cache_keeper;
  ControllerSet controllers;
  SiliconKeeper silicon;
  OwnMode own_mode;
  bool reported_dispute = false;
  Drivers lease_drivers;  // as the Lease says them
  std::optional<MonoTime> lease_drivers_at;
  std::unique_ptr<Watches> watches;
  std::unique_ptr<DemandWatches> demand;
  std::unique_ptr<GroupWatches> groups;
  Handle release_call;
  std::vector<Handle> calls;  // of the component probe
  bool awaits_sync = false;
  bool in_step = false;
  std::string volumes_unbindable;  // why volumes may not be bound here; empty: they may
  bool wants_lead = false;
  bool stopped = false;
  uint64_t term = 0;
  std::shared_ptr<bool> alive_token = std::make_shared<bool>(true);
};

Manager::Manager(Reactor& reactor, client::Transport& transport, Random& random, metrics::Registry& registry,
                 ManagerOptions options)
    : impl_(std::make_unique<Impl>(reactor, transport, random, registry, std::move(options))) {}
Manager::~Manager() = default;

void Manager::start() {
  impl_->served.start();
}
void Manager::lead() {
  impl_->lead();
}
void Manager::stop_leading() {
  impl_->stop_leading();
}
void Manager::stop() {
  impl_->stop();
}
void Manager::finish_leading() {
  impl_->usage.finish();
  impl_->stop_leading();
}
bool Manager::busy() const {
  return impl_->runner.reconciles_under_way() > 0 || impl_->usage.busy();
}
bool Manager::leading() const {
  return impl_->runner.running();
}
void Manager::flush_events(Duration limit, std::function<void()> done) {
  impl_->recorder.flush(limit, std::move(done));
}
std::optional<size_t> Manager::gated_pods() const {
  if (!leading()) return std::nullopt;
  size_t count = 0;
  for (const auto& pod : impl_->stores.pods->list())
    count += std::count(pod->scheduling_gates.begin(), pod->scheduling_gates.end(), allocation::kAllocationGate);
  return count;
}
bool Manager::idle() {
  return impl_->runner.running() && impl_->runner.idle();
}

Drivers Manager::drivers() const {
  return impl_->drivers();
}

void Manager::lease_annotations_changed(const std::map<std::string, std::string>& ours,
                                        const std::map<std::string, std::string>& now) {
  impl_->lease_annotations_changed({ours.begin(), ours.end()}, {now.begin(), now.end()});
}

void Manager::lease_taken(const std::map<std::string, std::string>& annotations) {
  impl_->lease_taken({annotations.begin(), annotations.end()});
}

std::map<std::string, std::string> Manager::lease_annotations(std::string_view version) {
  return impl_->lease_annotations(version);
}

std::vector<HealthCheck> Manager::checks() const {
  return impl_->checks();
}

bool Manager::ready() const {
  const std::vector<HealthCheck> list = checks();
  return std::all_of(list.begin(), list.end(), [](const HealthCheck& check) { return check.ok; });
}

}  // namespace dra::manager
