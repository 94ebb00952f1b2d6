#include "pkg/manager/manager.h"

#include <algorithm>
#include <map>
#include <set>

#include "client/rest/rest_client.h"
#include "client/transport/paced.h"
#include "controllers/all.h"
#include "pkg/base/strings.h"
#include "pkg/log/log.h"
#include "pkg/manager/api_sink.h"
#include "pkg/manager/assumptions.h"
#include "pkg/manager/audit.h"
#include "pkg/manager/cache_keeper.h"
#include "pkg/manager/component_probe.h"
#include "pkg/manager/demand_watches.h"
#include "pkg/manager/device_gauges.h"
#include "pkg/manager/discovery.h"
#include "pkg/manager/exclusivity.h"
#include "pkg/manager/group_watches.h"
#include "pkg/manager/instruments.h"
#include "pkg/manager/memory.h"
#include "pkg/manager/mix_seed.h"
#include "pkg/manager/node_tracker.h"
#include "pkg/manager/own_mode.h"
#include "pkg/manager/permissions.h"
#include "pkg/manager/pinned_pods.h"
#include "pkg/manager/preflight.h"
#include "pkg/manager/runner.h"
#include "pkg/manager/store_view.h"
#include "pkg/manager/stuck_claims.h"
#include "pkg/manager/watches.h"

namespace dra::manager {

using client::Change;
using client::Informer;

namespace {

constexpr Duration kDiscoveryRetry = std::chrono::seconds(5);
// The controller that is paused while somebody else may be making the same claims.
constexpr std::string_view kClaimMaker = "claimtemplate";
// Per decision about devices. A selector that takes longer is evaluated in a slice of its own, 20 ms at most.
constexpr uint64_t kSliceSteps = 20'000;
constexpr Duration kSliceTime = std::chrono::milliseconds(6);
// Objects that are looked at in one task; some 10 microseconds each.
constexpr size_t kLooksAPiece = 500;

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
        writer(rest),
        recorder(reactor, rest, random, recorder_options()),
        inventory(features_on("")),
        allocator(inventory, allocator_options(), random),
        device_gauges(registry, inventory, allocator, options.ignored_taints),
        nodes(reactor.clock()),
        assumptions(inventory, nodes, stores),
        view(stores, memory, reactor.clock(), "resource.k8s.io/v1"),
        api(writer),
        events(recorder),
        runner(reactor, view, memory, {api, events, instruments, assumptions}),
        audit(reactor, inventory, stores, instruments, events),
        mix_seed(reactor, allocator, stores),
        cache_keeper(reactor, allocator, [this] { return watches ? watches->claims.core().size() : 0; }),
        own_mode(
            reactor, rest, [this] { return pods_without_claims(); }, [this] { hold_disputed(); }) {
    nodes.number_by(inventory);
    const reconcile::Settings settings = settings_of(options);
    for (const reconcile::Controller* controller : all_controllers())
      controllers.push_back({controller, controller->make(settings, {inventory, allocator, nodes})});
    instruments.set_leader(false);
    runner.observe_writes(options.on_write);
    runner.observe_reconciles(options.on_reconcile);
    runner.observe_outages([this](const OutageReport& report) { report_outage(report); });
    nodes.on_needed([this](Facts facts) {
      if (demand) demand->need(facts);
    });
    registry.before_collect([this, alive = std::weak_ptr<bool>(alive_token)] {
      if (!alive.expired()) refresh_metrics();
    });
  }

  inventory::Features features_on(std::string_view version) const {
    inventory::Features features = options.features.on(version);
    features.stale_generations = options.stale_generations;
    return features;
  }

  allocator::Options allocator_options() const {
    allocator::Options chosen;
    chosen.ignored_taints = options.ignored_taints;
    chosen.step_budget = std::min(allocator::kDefaultStepBudget, options.step_budget);
    chosen.max_step_budget = options.step_budget;
    chosen.strategy = options.strategy;
    chosen.slice = {kSliceSteps, kSliceTime, &reactor.clock()};
    chosen.strict_selector_errors = options.strict_selector_errors;
    chosen.quantity_operators = options.quantity_operators;
    return chosen;
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

  client::RecorderOptions recorder_options() const {
    client::RecorderOptions chosen;
    chosen.instance = options.identity;
    return chosen;
  }

  // Controllers that run here and have the permissions they need; in the same order at each start.
  std::vector<const reconcile::Reconciler*> permitted() const {
    std::vector<const reconcile::Reconciler*> list;
    for (const Made& made : controllers)
      if (controller_runs(options, made.described->name) && preflight.permits(made.described->name))
        list.push_back(made.reconciler.get());
    return list;
  }

  // ---- discovering

  // Asks for the release first: its rules decide how slices are read. A server that hides its version counts as 1.36.
  void discover() {
    call = rest.get_raw("/version", [this](Result<std::string> answer) {
      if (stopped) return;
      follow_release(answer ? git_version(*answer) : "");
      reactor.post([this, alive = std::weak_ptr<bool>(alive_token)] {
        if (!alive.expired() && !stopped) discover_group();
      });
    });
  }

  // True when this changes any decision.
  bool follow_release(const std::string& server_version) {
    const inventory::Features features = features_on(server_version);
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

  // The control plane may have been upgraded since the last term. An error changes nothing.
  void ask_release_again() {
    release_call = rest.get_raw("/version", [this, mine = term](Result<std::string> answer) {
      if (!answer || stopped || mine != term) return;
      if (follow_release(git_version(*answer))) look_at_everything_again();
    });
  }

  void discover_group() {
    call = rest.get_raw("/apis/resource.k8s.io", [this](Result<std::string> answer) {
      if (stopped) return;
      Result<std::string> version = answer ? choose_dra_version(*answer) : Result<std::string>(fail(answer.error()));
      if (!answer && answer.error().http_status() == 404)
        version = fail(Code::kUnsupported,
                       "the API server does not serve resource.k8s.io: dynamic resource allocation needs Kubernetes "
                       "1.34 or newer, or the API enabled on an older one");
      if (!version) {
        if (trouble != version.error().message()) log::error(version.error(), "Waiting for the API server");
        trouble = version.error().message();
        timer = reactor.after(kDiscoveryRetry, [this] { discover(); });
        return;
      }
      trouble.clear();
      log::info("API server found", {{"resource.k8s.io", *version}});
      probe_components(rest, reactor.clock(), options, calls);
      if (!inventory.features().device_taints || !inventory.features().taint_rules) return watch_all(*version, "");
      find_taint_rules_soon(*version, versions_with_taint_rules(*answer), 0);
    });
  }

  // Posted, because the next call replaces the handle of the call whose answer is running.
  void find_taint_rules_soon(const std::string& version, std::vector<std::string> candidates, size_t at) {
    reactor.post([this, version, candidates = std::move(candidates), at, alive = std::weak_ptr<bool>(alive_token)] {
      if (!alive.expired() && !stopped) find_taint_rules(version, candidates, at);
    });
  }

  // Asks one version after the other whether it serves DeviceTaintRules.
  void find_taint_rules(const std::string& version, std::vector<std::string> candidates, size_t at) {
    if (at == candidates.size()) return watch_all(version, "");
    const std::string path = "/apis/resource.k8s.io/" + candidates[at];
    call = rest.get_raw(path, [this, version, candidates, at](Result<std::string> answer) {
      if (stopped) return;
      if (!answer && answer.error().http_status() != 404) {
        trouble = answer.error().message();
        timer = reactor.after(kDiscoveryRetry, [this] { discover(); });
        return;
      }
      if (!answer || !serves_resource(*answer, "devicetaintrules"))
        return find_taint_rules_soon(version, candidates, at + 1);
      trouble.clear();
      log::info("DeviceTaintRules are served", {{"resource.k8s.io", candidates[at]}});
      watch_all(version, candidates[at]);
    });
  }

  // ---- syncing

  void watch_all(const std::string& version, const std::string& rule_version) {
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
    add_indexes(stores);
    demand = std::make_unique<DemandWatches>(
        reactor, transport, random, w.traits, preflight, nodes,
        DemandWatches::Hooks{[this] { look_at_everything_again(); },
                             [this](std::string_view claim) { runner.volumes_changed(claim); },
                             [this](Facts) { recall_nodes(); }});
    groups = std::make_unique<GroupWatches>(
        reactor, transport, random, w.traits, preflight,
        GroupWatches::Hooks{[this](std::string_view group) { runner.group_changed(group); },
                            [this] { look_at_everything_again(); }});
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
    listen(w);
    w.claims.reflector().on_unreadable([this] { hold_unreadable(); });
    w.slices.reflector().on_unreadable([this] { hold_unreadable(); });
    if (w.taint_rules) w.taint_rules->reflector().on_unreadable([this] { hold_unreadable(); });
    preflight.start([this] { admit(); });
    if (judges_own_mode()) own_mode.start();
    hold_disputed();
  }

  bool judges_own_mode() const {
    return options.claim_templates == ClaimTemplates::kOwn && !options.claim_controller_is_off;
  }

  std::vector<std::string> pods_without_claims() {
    const auto held = stores.pods->list();
    std::vector<const api::Pod*> pods;
    for (const auto& pod : held) pods.push_back(pod.get());
    return manager::pods_without_claims(view, pods, ClaimMakerDispute::kMostPods);
  }

  // Pauses the making of claims from templates while somebody else may be making the same claims.
  void hold_disputed() {
    const ClaimMakerDispute& dispute = own_mode.dispute();
    const bool held = judges_own_mode() && !dispute.may_make();
    runner.set_blocked(kClaimMaker, held);
    if (dispute.disputed() == std::exchange(reported_dispute, dispute.disputed())) return;
    if (held) {
      log::warning("Claims are not made from templates", {{"why", dispute.why_not()}});
      return report_to_operator(true, "ClaimTemplatesDisputed", dispute.why_not());
    }
    log::info("Claims are made from templates: nobody else does");
    report_to_operator(false, "ClaimTemplatesSettled", "claims are made from templates here: nobody else does");
  }

  // Pauses controllers that decide on all claims or slices until every such object is readable or gone. The informers'
  // health checks name the object.
  void hold_unreadable() {
    std::map<reconcile::Kind, std::string> unreadable;
    if (std::string why = unreadable_text(watches->claims); !why.empty()) unreadable[reconcile::Kind::kClaim] = why;
    if (std::string why = unreadable_text(watches->slices); !why.empty()) unreadable[reconcile::Kind::kSlice] = why;
    if (watches->taint_rules)
      if (std::string why = unreadable_text(*watches->taint_rules); !why.empty())
        unreadable[reconcile::Kind::kTaintRule] = why;
    for (const Made& made : controllers) {
      const std::vector<reconcile::Kind>& kinds = made.described->must_read_all_of;
      if (kinds.empty()) continue;
      const auto kind =
          std::find_if(kinds.begin(), kinds.end(), [&](reconcile::Kind k) { return unreadable.contains(k); });
      runner.set_blocked(made.described->name, kind != kinds.end());
      if (kind == kinds.end())
        log::info("Every object can be read, the controller goes on", {{"controller", made.described->name}});
      else
        log::warning("The controller waits while an object cannot be read",
                     {{"controller", made.described->name}, {"why", unreadable[*kind]}});
    }
  }

  // Which objects cannot be read, and why the first cannot; empty: all can.
  template <typename T>
  static std::string unreadable_text(const Informer<T>& informer) {
    const auto& unreadable = informer.reflector().unreadable();
    if (unreadable.empty()) return "";
    const auto& [key, why] = *unreadable.begin();
    const std::string more = unreadable.size() > 1 ? ", and " + std::to_string(unreadable.size() - 1) + " more" : "";
    return informer.resource().kind + " " + (key.empty() ? std::string("without a name") : quote(key)) +
           " cannot be read: " + why + more + "; correct or delete it";
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
    }
    if (!more && in_step) return start_controllers();
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
    look_at_everything_again();
  }

  // A controller added while others already work is notified of every object.
  void start_controllers() {
    bool added = false;
    for (const reconcile::Reconciler* reconciler : permitted()) {
      if (!open.insert(reconciler->name()).second) continue;
      runner.add(*reconciler, instruments.queue_observer(std::string(reconciler->name())));
      instruments.set_running(reconciler->name(), runner.running());
      added = true;
    }
    for (const Made& made : controllers) made.reconciler->others_run(open);
    if (added && runner.running()) look_at_everything();
  }

  template <typename T>
  void serve(reconcile::Kind kind, Informer<T>& informer) {
    api.serve(kind, informer.resource(), informer.type(), informer.core());
  }

  void listen(Watches& w) {
    w.each([this](const char*, auto& informer) {
      informer.core().on_replaced([this] {
        if (!awaits_sync) return;
        reactor.post([this, alive = std::weak_ptr<bool>(alive_token)] {
          if (!alive.expired()) await_sync();
        });
      });
    });
    w.pods.store().on_stream_change([this](const Change<api::Pod>& c) {
      if (c.before && !c.after) memory.gone_uids.put(c.before->metadata.uid, true);
    });
    w.pods.store().on_change([this](const Change<api::Pod>& c) {
      if (c.after)
        nodes.set_pod(*c.after);
      else
        nodes.remove_pod(c.before->metadata.uid);
      if (!c.after) {
        memory.forget(c.before->metadata.uid);
        instruments.pod_gone(c.before->metadata.key());
      }
      pinned.changed(c.before.get(), c.after.get());
      if (c.after) groups->look_at(*c.after);
      runner.pod_changed(c.before.get(), c.after.get());
    });
    w.claims.store().on_stream_change([this](const Change<api::ResourceClaim>& c) {
      if (c.after) {
        inventory.apply_claim(*c.after);
      } else {
        inventory.remove_claim(c.before->metadata.uid);
        assumptions.claim_gone(c.before->metadata.uid);
      }
      if (c.after && (!c.before || c.before->status.allocation != c.after->status.allocation)) audit.check(*c.after);
      runner.streamed_claim_changed(c.before.get(), c.after.get());
    });
    w.claims.core().on_progress([this](uint64_t revision) { assumptions.claims_reached(revision); });
    w.claims.store().on_change([this](const Change<api::ResourceClaim>& c) {
      const std::string key = reconcile::to_text(reconcile::claim_key((c.after ? c.after : c.before)->metadata.key()));
      if (c.after) {
        memory.changed_at.put(key, reactor.clock().mono_now());
      } else {
        memory.changed_at.erase(key);
        memory.forget(c.before->metadata.uid);
      }
      instruments.count_claim(c.before.get(), c.after.get());
      exclusivity.changed(c.before.get(), c.after.get());
      stuck.changed(c.before.get(), c.after.get(), reactor.clock().wall_now());
      runner.claim_changed(c.before.get(), c.after.get());
    });
    w.templates.store().on_change([this](const Change<api::ResourceClaimTemplate>& c) {
      runner.template_changed(c.before.get(), c.after.get());
    });
    w.nodes.store().on_change([this](const Change<api::Node>& c) {
      if (c.after) {
        inventory.apply_node(c.after);
        nodes.set_node(c.after);
      } else {
        inventory.remove_node(c.before->metadata.name);
        nodes.remove_node(c.before->metadata.name);
      }
      runner.node_changed(c.before.get(), c.after.get());
    });
    w.classes.store().on_change([this](const Change<api::DeviceClass>& c) {
      c.after ? inventory.apply_class(*c.after) : inventory.remove_class(c.before->metadata.name);
      runner.class_changed(c.before.get(), c.after.get());
    });
    w.slices.store().on_change([this](const Change<api::ResourceSlice>& c) {
      c.after ? inventory.apply_slice(*c.after) : inventory.remove_slice(c.before->metadata.name);
      runner.slice_changed(c.before.get(), c.after.get());
    });
    if (!w.taint_rules) return;
    w.taint_rules->store().on_change([this](const Change<api::DeviceTaintRule>& c) {
      c.after ? inventory.apply_taint_rule(*c.after) : inventory.remove_taint_rule(c.before->metadata.name);
      runner.taint_rule_changed(c.before.get(), c.after.get());
    });
  }

  // Called after each list, which may have completed the sync.
  void await_sync() {
    if (stopped || !awaits_sync) return;
    if (!watches->synced()) return;
    awaits_sync = false;
    start_controllers();
    if (std::exchange(in_step, true)) return;
    log::info("Stores are in step with the API server", {{"pods", watches->pods.core().size()},
                                                         {"claims", watches->claims.core().size()},
                                                         {"slices", watches->slices.core().size()},
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
      informer.core().drop_answers();
      informer.reflector().refresh(one_less);
    });
    demand->refresh([left] { ++*left; }, one_less);
    groups->refresh([left] { ++*left; }, one_less);
    one_less();
  }

  void run() {
    log::info("Leading", {{"claimTemplates", options.claim_templates == ClaimTemplates::kOwn ? "own" : "observe"}});
    instruments.set_leader(true);
    // Everything is reconciled once, which continues what the last leader left half done.
    warn_of_extended_resources();
    runner.start();
    cache_keeper.start();
    if (weighs_requests()) mix_seed.start();
    look_at_everything();
    for (const std::string_view controller : open) instruments.set_running(controller, true);
    audit.start(options.audit_period);
  }

  // True when best-fit serves some class.
  bool weighs_requests() const {
    if (options.strategy == allocator::Strategy::kBestFit) return true;
    for (const api::DeviceClass* device_class : view.device_classes()) {
      const auto said = device_class->metadata.annotations.find(std::string(allocator::kStrategyAnnotation));
      if (said != device_class->metadata.annotations.end() &&
          allocator::parse_strategy(said->second) == allocator::Strategy::kBestFit)
        return true;
    }
    return false;
  }

  // Pods that request these get no claim of ours: docs/install.md, "What gate mode does not serve".
  void warn_of_extended_resources() const {
    if (options.allocation.mode == allocation::Mode::kObserve) return;
    for (const api::DeviceClass* device_class : view.device_classes())
      if (device_class->extended_resource_name)
        log::warning(
            "Gated pods that ask for this extended resource wait, unless a device plugin advertises it",
            {{"deviceClass", device_class->metadata.name}, {"resource", *device_class->extended_resource_name}});
  }

  // A pod that has devices of one node and is not bound yet counts on that node, whoever decided it.
  void recall_node_of(const api::Pod& pod) {
    if (!pod.node_name.empty()) return;  // most are bound
    for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid)) {
      const std::string* node = claim->status.allocation ? api::only_node(*claim->status.allocation) : nullptr;
      if (node && claim->metadata.ns == pod.metadata.ns) nodes.assume(pod, *node);
    }
  }

  void recall_nodes() {
    for (const auto& pod : stores.pods->list()) recall_node_of(*pod);
  }

  // In portions, so that no task of the main thread takes long. The runner gathers until the last one. What comes into
  // the streams meanwhile is an event.
  void look_at_everything() {
    look = {look.number + 1, {}, {}, false};
    for (const api::DeviceTaintRule* rule : view.taint_rules()) runner.taint_rule_changed(nullptr, rule);
    runner.gather(true);
    look_at_some();
  }

  void look_at_some() {
    const auto pods = look.pods_done ? std::vector<client::ObjectPtr<api::Pod>>{}
                                     : stores.pods->list_stream_after(look.pod, kLooksAPiece);
    for (const auto& in_stream : pods) {
      look.pod = in_stream->metadata.key();
      const auto pod = stores.pods->get(look.pod);  // as our own writes have left it
      if (!pod) continue;
      recall_node_of(*pod);
      runner.pod_changed(nullptr, pod.get());
    }
    look.pods_done = pods.size() < kLooksAPiece;
    const auto claims = stores.claims->list_stream_after(look.claim, kLooksAPiece - pods.size());
    for (const auto& in_stream : claims) {
      look.claim = in_stream->metadata.key();
      if (const auto claim = stores.claims->get(look.claim)) runner.claim_changed(nullptr, claim.get());
    }
    if (pods.size() + claims.size() < kLooksAPiece) return runner.gather(false);
    reactor.post([this, number = look.number, alive = std::weak_ptr<bool>(alive_token)] {
      if (!alive.expired() && number == look.number && runner.running()) look_at_some();
    });
  }

  void look_at_everything_again() {
    if (runner.running()) look_at_everything();
  }

  void stop_leading(std::string_view what = "Standing by") {
    if (!wants_lead) return;
    wants_lead = false;
    ++term;
    runner.stop();
    audit.stop();
    cache_keeper.stop();
    mix_seed.stop();
    instruments.set_leader(false);
    instruments.forget_pending();
    for (const std::string_view controller : open) instruments.set_running(controller, false);
    log::info(what);
  }

  void stop() {
    stop_leading("Stopped");
    stopped = true;
    call.cancel();
    release_call.cancel();
    calls.clear();
    timer.cancel();
    preflight.stop();
    own_mode.stop();
    if (!watches) return;
    watches->each_started([](const char*, auto& informer) { informer.stop(); });
    demand->stop();
    groups->stop();
  }

  // Ready as long as some controller may run; missing permissions are reported all the same.
  HealthCheck permissions_check() const {
    std::vector<std::string> lines;
    for (const Preflight::Missing& missing : preflight.missing()) lines.push_back(missing.text());
    const bool some = preflight.done() && (lines.empty() || !permitted().empty());
    const std::string said = preflight.done() ? join(lines, "; ") : "not checked yet";
    return {"permissions", some, said, said};
  }

  // The checks of /readyz.
  std::vector<HealthCheck> checks() {
    std::vector<HealthCheck> list;
    list.push_back({"api-discovery", watches != nullptr, trouble, ""});
    if (!watches) return list;
    list.push_back(permissions_check());
    if (judges_own_mode())
      list.push_back({"claim-templates", own_mode.dispute().may_make(), own_mode.dispute().why_not(), ""});
    watches->each_started([&](const char* name, auto& informer) {
      const std::string unreadable = unreadable_text(informer);
      list.push_back({std::string("informer-") + name, informer.synced() && unreadable.empty(),
                      unreadable.empty() ? informer.reflector().trouble() : unreadable, ""});
    });
    return list;
  }

  // Events for the cluster's operator are recorded on the Lease of the leader election, if there is one.
  void report_to_operator(bool warning, reconcile::EventReason reason, const std::string& note) {
    if (!options.lease) return;
    client::EventRequest event;
    event.regarding = {"coordination.k8s.io/v1", "Lease", options.lease->ns, options.lease->name, "", ""};
    event.warning = warning;
    event.reason = reason.str();
    event.note = note;
    recorder.record(event);
  }

  void report_outage(const OutageReport& report) {
    const reconcile::Ref& first = report.failure.object;
    const std::string what = report.failure.what + ", first for " + first.store_key();
    if (report.over)
      return report_to_operator(false, "RequestsSucceed",
                                what + ": works again after " + std::to_string(report.refused) + " failures");
    report_to_operator(true, "RequestsFail", what + ": " + to_string(report.failure.error));
  }

  Drivers drivers() {
    device_gauges.refresh();
    return exclusivity.drivers(device_gauges.drivers(), !options.ignored_taints.empty());
  }

  void refresh_metrics() {
    for (const HealthCheck& check : checks()) instruments.set_ready(check.name, check.ok);
    for (const Runner::QueueFigures& queue : runner.figures())
      instruments.set_queue_figures(queue.name, queue.unfinished, queue.longest, queue.parked, queue.paced);
    device_gauges.refresh();
    const PinnedPods::Figures unbound = pinned.count(view);
    instruments.set_pinned(unbound.pods, unbound.since);
    instruments.set_pending(view);
    instruments.set_drivers(drivers());
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
  client::Writer writer;
  client::EventRecorder recorder;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  DeviceGauges device_gauges;
  StuckClaims stuck;
  PinnedPods pinned;
  Exclusivity exclusivity;
  NodeTracker nodes;
  Stores stores;
  Memory memory;
  ClusterAssumptions assumptions;
  StoreView view;
  ApiSink api;
  RecorderSink events;
  Runner runner;
  Audit audit;
  MixSeed mix_seed;
  CacheKeeper cache_keeper;
  struct Made {
    const reconcile::Controller* described;
    std::unique_ptr<reconcile::Reconciler> reconciler;
  };
  std::vector<Made> controllers;
  OwnMode own_mode;
  bool reported_dispute = false;
  std::unique_ptr<Watches> watches;
  std::unique_ptr<DemandWatches> demand;
  std::unique_ptr<GroupWatches> groups;
  Handle call;
  Handle release_call;
  std::vector<Handle> calls;  // of the component probe
  Handle timer;
  std::string trouble = "the API server was not reached yet";
  bool awaits_sync = false;
  bool in_step = false;
  std::set<std::string_view> open;  // controllers that run
  std::string volumes_unbindable;   // why volumes may not be bound here; empty: they may
  bool wants_lead = false;
  bool stopped = false;
  uint64_t term = 0;
  struct Look {  // look_at_everything() under way
    uint64_t number = 0;
    std::string pod, claim;  // the keys of the last ones
    bool pods_done = false;
  };
  Look look;
  std::shared_ptr<bool> alive_token = std::make_shared<bool>(true);
};

Manager::Manager(Reactor& reactor, client::Transport& transport, Random& random, metrics::Registry& registry,
                 ManagerOptions options)
    : impl_(std::make_unique<Impl>(reactor, transport, random, registry, std::move(options))) {}
Manager::~Manager() = default;

void Manager::start() {
  impl_->discover();
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
bool Manager::busy() const {
  return impl_->runner.reconciles_under_way() > 0;
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

std::vector<HealthCheck> Manager::checks() const {
  return impl_->checks();
}

bool Manager::ready() const {
  const std::vector<HealthCheck> list = checks();
  return std::all_of(list.begin(), list.end(), [](const HealthCheck& check) { return check.ok; });
}

}  // namespace dra::manager
