#include "pkg/inspect/verbs/doctor.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/cel/cel.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/unknown.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/fleet_checks.h"
#include "pkg/inspect/verbs/half_taints.h"
#include "pkg/inspect/verbs/manager.h"
#include "pkg/inspect/verbs/not_honoured.h"
#include "pkg/inspect/verbs/old_taints.h"
#include "pkg/inspect/verbs/rollout.h"
#include "pkg/inspect/verbs/share_checks.h"
#include "pkg/inspect/verbs/silicon_checks.h"
#include "pkg/inventory/features.h"
#include "pkg/nodes/unready.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/device_health.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::inspect {
namespace {

constexpr auto kLongWait = std::chrono::minutes(5);

// Collects the findings of checks; a check that finds nothing is fine.
class Findings {
 public:
  // `fine`: what is said if nothing is found; `found_out` false: because it cannot be found out.
  void begin(std::string check, std::string fine, bool found_out = true) {
    end();
    check_ = std::move(check);
    fine_ = std::move(fine);
    found_out_ = found_out;
    count_ = 0;
  }
  void add(Health health, std::string finding, std::string to_do) {
    if (++count_ <= kMaxFindingsOfCheck) all_.push_back({check_, health, std::move(finding), std::move(to_do)});
  }
  std::vector<Diagnosis> take() {
    end();
    return std::move(all_);
  }

 private:
  void end() {
    if (count_ > kMaxFindingsOfCheck)
      all_.push_back({check_, Health::kWarning, "and " + std::to_string(count_ - kMaxFindingsOfCheck) + " more", ""});
    if (!check_.empty() && count_ == 0)
      all_.push_back({check_, found_out_ ? Health::kFine : Health::kUnknown, fine_, ""});
  }

  std::vector<Diagnosis> all_;
  std::string check_, fine_;
  bool found_out_ = true;
  size_t count_ = 0;
};

bool older_than(const std::string& since, Timestamp now, Duration limit) {
  Timestamp begin;
  return parse_rfc3339(since, begin) && now - begin > limit;
}

void check_served(const Objects& objects, Findings& findings) {
  const auto& versions = objects.dra_versions;
  findings.begin("served versions", "resource.k8s.io: " + join(versions, ", "));
  const auto serves = [&](const char* version) {
    return std::find(versions.begin(), versions.end(), version) != versions.end();
  };
  if (versions.empty())
    return findings.add(Health::kIll, "the server does not serve resource.k8s.io",
                        "use Kubernetes 1.34 or newer, or enable resource.k8s.io/v1beta2 with --runtime-config");
  if (!serves("v1") && !serves("v1beta2") && !serves("v1beta1"))
    return findings.add(Health::kIll, "resource.k8s.io is served in " + join(versions, ", ") + " only",
                        "nobody allocates devices by these versions: use Kubernetes 1.34 or newer, or enable "
                        "resource.k8s.io/v1beta2 with --runtime-config");
  if (inventory::is_newer_than_known(objects.server_version))
    findings.add(Health::kWarning,
                 "the server is " + objects.server_version + ", newer than the newest known release, 1." +
                     std::to_string(inventory::kNewestKnownRelease) + ", by whose rules devices are allocated",
                 "upgrade the manager; until then nothing is allocated that has a field it does not know");
  if (!serves("v1"))
    findings.add(Health::kWarning, "resource.k8s.io is served in " + join(versions, ", ") + " only, not in v1",
                 "upgrade to Kubernetes 1.34 or newer; the manager speaks the older versions, too");
}

void check_gates(const Objects& objects, Findings& findings) {
  std::vector<std::string> on, off;
  for (const auto& [name, enabled] : objects.feature_gates) (enabled ? on : off).push_back(name);
  findings.begin("feature gates",
                 objects.feature_gates.empty() ? "the API server's /metrics say it, where they may be read"
                                               : "of the API server: on: " + (on.empty() ? "none" : join(on, ", ")) +
                                                     (off.empty() ? "" : "; off: " + join(off, ", ")),
                 !objects.feature_gates.empty());
  if (const auto gate = objects.feature_gates.find("DynamicResourceAllocation");
      gate != objects.feature_gates.end() && !gate->second)
    findings.add(Health::kIll, "the gate DynamicResourceAllocation is off in the API server",
                 "start kube-apiserver, kube-scheduler, kube-controller-manager and kubelets with "
                 "--feature-gates=DynamicResourceAllocation=true");
}

void check_visible(const Objects& objects, Findings& findings) {
  findings.begin("permissions", "everything that answers need may be listed");
  for (const Hidden& hidden : objects.hidden)
    findings.add(Health::kWarning, hidden.what + " cannot be listed", why_with_role(hidden));
  for (const std::string& unreadable : objects.unreadable)
    findings.add(Health::kWarning, "an object cannot be read: " + unreadable, "");
}

void check_classes(const State& state, Findings& findings) {
  const auto& classes = state.objects.classes;
  findings.begin("device classes",
                 counted(classes.size(), "class") + (classes.size() > 1 ? " (all selectors compile)" : ""));
  cel::EnvironmentOptions options;
  const inventory::Features& features = state.inventory.features();
  options.list_attributes = features.list_attributes;
  if (features.selectors_of_137) options.release = cel::Release::k137;
  const cel::Environment environment(options);
  for (const auto& [name, one] : classes)
    for (size_t i = 0; i < one->selectors.size(); ++i) {
      const cel::CompileResult result = cel::compile(one->selectors[i], environment);
      if (!result.ok())
        findings.add(Health::kIll,
                     "selector " + std::to_string(i + 1) + " of class " + name +
                         " does not compile: " + result.error->message.substr(0, result.error->message.find('\n')),
                     "kubectl edit deviceclass " + name);
    }
  for (const auto& [name, one] : classes) {
    const auto& said = one->metadata.annotations;
    const auto warn = [&, &name = name](std::string_view annotation, const std::string& value, const std::string& why) {
      findings.add(Health::kWarning,
                   "annotation " + std::string(annotation) + " of class " + name + " is " + quote(value) + ", " + why,
                   "kubectl edit deviceclass " + name + " (docs/user/preemption.md)");
    };
    if (const auto mark = said.find(protocol::kPreemptionAnnotation); mark != said.end() && mark->second != "never")
      warn(mark->first, mark->second, "and only never has a meaning");
    if (const auto mark = said.find(protocol::kDefragmentAnnotation);
        mark != said.end() && !protocol::read_defragment(mark->second))
      warn(mark->first, mark->second, "which is not off, advice or on, and counts as off");
  }
  for (const auto& [name, one] : state.objects.namespaces)
    if (const auto mark = one->metadata.annotations.find(protocol::kMovesPerHourAnnotation);
        mark != one->metadata.annotations.end() && !protocol::read_moves_per_hour(mark->second))
      findings.add(Health::kWarning,
                   "annotation " + mark->first + " of namespace " + name + " is " + quote(mark->second) +
                       ", which is not a number from 0 to 1000, and counts as 0",
                   "kubectl edit namespace " + name + " (docs/user/preemption.md)");
  for (const UnservedClass& one : unserved_classes(state)) findings.add(Health::kWarning, one.finding, one.to_do);
}

// Devices of one node that cannot be told apart by where they are.
void check_alignment(const Objects& objects, Findings& findings) {
  const std::vector<UselessAlignment> found = useless_alignments(objects);
  std::vector<std::string> unused;
  for (const UselessAlignment& one : found)
    if (one.users.empty()) unused.push_back(one.silent.attribute + " says nothing: " + words_of(one.silent));
  findings.begin("alignment", unused.empty() ? "no pcieRoot or numaNode that says nothing is published"
                                             : join(unused, "; ") + "; no claim aligns devices by it");
  for (const UselessAlignment& one : found) {
    if (one.users.empty()) continue;
    findings.add(Health::kWarning,
                 join(one.users, ", ") +
                     (one.more_users > 0 ? " and " + std::to_string(one.more_users) + " more align" : " aligns") +
                     " devices by " + one.silent.attribute + ", which says nothing: " + words_of(one.silent) +
                     ", as in many virtual machines",
                 "there any devices meet matchAttribute, and none meet a preference; see whether the machine can show "
                 "where its devices are, or keep such pods off these nodes");
  }
}

std::string of_node(const inventory::PoolInfo& pool) {
  return pool.node.empty() ? "" : " on node " + pool.node;
}

// Devices are distinguished by driver, pool and name: what one node holds, its namesakes on other nodes are not free.
void check_shared_names(const State& state, Findings& findings) {
  for (const auto& [pool, slices] : slices_by_pool(state.objects)) {
    std::map<std::string_view, std::string_view> nodes;  // by device
    bool reported = false;
    for (const api::ResourceSlice* slice : slices)
      for (const api::Device& device : slice->devices) {
        const std::string& node = slice->per_device_node_selection ? device.node_name : slice->node_name;
        if (node.empty() || reported) continue;
        const auto [same, fresh] = nodes.try_emplace(device.name, node);
        if (fresh || same->second == node) continue;
        reported = true;
        findings.add(Health::kWarning,
                     "nodes " + std::string(same->second) + " and " + node + " publish device " + device.name +
                         " under one pool name, " + pool.first + "/" + pool.second +
                         ": while a claim holds it on one node, it is not free on the other",
                     "configure driver " + pool.first + " to publish one pool per node, named after the node");
      }
  }
}

void check_pools(const State& state, Findings& findings) {
  if (state.objects.hides("resourceslices")) return findings.begin("pools", "");
  size_t pools = 0;
  for (const inventory::PoolInfo& pool : state.inventory.pools()) pools += pool.seen_slices > 0;
  findings.begin("pools", counted(pools, "pool") + ", all complete");
  std::set<inventory::PoolId> reported;
  for (const inventory::PoolInfo& pool : state.inventory.pools_by_node()) {
    const std::string name = "pool " + pool.driver + "/" + pool.name;
    if (pool.seen_slices == 0) {
      if (pool.held > 0)
        findings.add(Health::kIll, name + " is published no more, but claims hold devices of it",
                     "see whether the driver's pod runs");
      continue;
    }
    if (pool.state != inventory::PoolState::kComplete)
      findings.add(Health::kIll,
                   name + (pool.differs_by_node ? of_node(pool) : "") + " is " +
                       std::string(inventory::pool_state_name(pool.state)) + ": " + pool.reason,
                   "look at the log of the pod of driver " + pool.driver +
                       (pool.node.empty() ? ", which publishes it" : of_node(pool)));
    if (pool.obsolete_slices > 0 && reported.insert(pool.id).second)
      findings.add(Health::kWarning,
                   name + " still has " + counted(pool.obsolete_slices, "slice") + " of an older generation",
                   "the driver should delete them");
  }
  check_shared_names(state, findings);
}

void check_unknown(const State& state, Findings& findings) {
  findings.begin("unknown fields", "every field of slices, classes, claims and PodGroups is known");
  for (const Unknown& one : unknown_of(state)) findings.add(Health::kIll, one.what + ": " + one.why, "");
}

void check_stale_nodes(const Objects& objects, Findings& findings) {
  findings.begin("drivers", "every slice belongs to a node that is there and ready");
  if (objects.hides("nodes")) return;
  std::set<std::pair<std::string, std::string>> reported;
  for (const auto& [name, slice] : objects.slices) {
    if (slice->node_name.empty() || !reported.emplace(slice->driver, slice->node_name).second) continue;
    const auto node = objects.nodes.find(slice->node_name);
    if (node == objects.nodes.end()) {
      findings.add(
          Health::kIll,
          "driver " + slice->driver + " publishes devices of node " + slice->node_name + ", which does not exist",
          "if the node is gone for good and the driver leaves its slice behind: kubectl delete resourceslice " + name +
              " (a driver that runs publishes it again)");
      continue;
    }
    if (!nodes::unready_taint(*node->second).empty())
      findings.add(Health::kWarning,
                   "node " + slice->node_name + " is not ready; devices of driver " + slice->driver +
                       " are still published, and new pods do not get them",
                   "kubectl describe node " + slice->node_name + " says why its kubelet is not heard");
  }
}

// A driver's pods usually come from a DaemonSet. Which one cannot be seen; but it can be seen that none runs on a node
// where its devices are published, while some run elsewhere.
void check_driver_pods(const Objects& objects, Findings& findings) {
  std::set<std::string> with_daemons;
  for (const auto& [key, pod] : objects.pods) {
    const api::OwnerReference* owner = pod->metadata.controller();
    if (owner != nullptr && owner->kind == "DaemonSet" && pod->phase == "Running") with_daemons.insert(pod->node_name);
  }
  findings.begin("driver pods",
                 with_daemons.empty() ? "no pod of a DaemonSet can be seen, and drivers usually run as one"
                                      : "each node with devices runs pods of a DaemonSet",
                 !with_daemons.empty());
  if (with_daemons.empty() || objects.hides("pods")) return;
  std::set<std::pair<std::string, std::string>> reported;
  for (const auto& [name, slice] : objects.slices)
    if (!slice->node_name.empty() && !with_daemons.contains(slice->node_name) &&
        reported.emplace(slice->driver, slice->node_name).second)
      findings.add(Health::kWarning,
                   "driver " + slice->driver + " publishes devices of node " + slice->node_name +
                       ", where no pod of a DaemonSet runs",
                   "see whether the driver's pod should run there: pods with these devices cannot start without it");
}

void check_device_plugins(const State& state, Findings& findings) {
  findings.begin("device plugins", "no node offers the same devices by a device plugin, too");
  for (SiliconFinding& one : plugin_findings(state))
    findings.add(one.ill ? Health::kIll : Health::kWarning, std::move(one.finding), std::move(one.to_do));
}

void check_same_hardware(const State& state, Findings& findings) {
  findings.begin("same hardware", "no two drivers publish the same hardware");
  for (SiliconFinding& one : silicon_findings(state))
    findings.add(one.ill ? Health::kIll : Health::kWarning, std::move(one.finding), std::move(one.to_do));
}

void check_shares(const State& state, Findings& findings) {
  findings.begin("shared devices",
                 "classes say in words that can be read who shares devices, and drivers let them be shared");
  for (ShareFinding& one : share_findings(state))
    findings.add(Health::kWarning, std::move(one.finding), std::move(one.to_do));
}

void check_double(const State& state, Findings& findings) {
  findings.begin("double allocations", "no device, counter or capacity is handed out twice");
  for (const inventory::AuditFinding& one : state.inventory.audit()) {
    std::vector<std::string> claims;
    for (const std::string& uid : one.claims)
      if (const auto claim = state.objects.claim_by_uid.find(uid); claim != state.objects.claim_by_uid.end())
        claims.push_back(claim->second->metadata.key() + " (by " + decided_by(*claim->second) + ")");
    const bool refused = one.kind == inventory::AuditFinding::Kind::kShareConflict;
    findings.add(
        Health::kIll, one.message + (claims.empty() ? "" : "; claims: " + join(claims, ", ")),
        refused
            ? "pods whose claims the driver refused never start: let their owners delete them, and let this manager "
              "alone allocate the driver's devices (docs/user/sharing.md)"
            : "one of these claims must give it up: see which pods work (kubectl dra who NODE), and let the owner of "
              "the others end them");
  }
}

std::string driver_of(const std::string& device) {
  return device.substr(0, device.find('/'));
}

void check_claims(const State& state, Findings& findings) {
  const Objects& objects = state.objects;
  findings.begin("stuck claims", "none");
  for (const auto& [key, claim] : objects.claims) {
    if (auto broken = broken_claim(state, *claim, nullptr); broken && broken->kind == Break::kClaimStuck) {
      findings.add(Health::kIll, words_of(*broken, objects.taken), broken->to_do);
      continue;
    }
    // The same rule as for the event DeviceTrouble.
    if (!claim->status.reserved_for.empty() && !claim->metadata.deleting())
      for (const protocol::DeviceTrouble& trouble :
           protocol::troubles_of(*claim, objects.hides("resourceslices") ? nullptr : &state.inventory)) {
        const bool harmless = protocol::may_pass(trouble.kind) && all_run(objects, *claim);
        findings.add(
            harmless ? Health::kWarning : Health::kIll,
            "device " + trouble.device + " of ResourceClaim " + key + ": " + trouble.why +
                (harmless ? "; its pods run (some drivers withdraw devices in use)" : ""),
            harmless ? "nothing, if driver " + driver_of(trouble.device) + " is known to do so; else look at its log"
                     : "look at the log of driver " + driver_of(trouble.device) +
                           "; kubectl dra explain on the claim says what helps");
      }
    if (objects.hides("pods")) continue;
    for (const auto& consumer : claim->status.reserved_for) {
      if (!protocol::is_pod_reference(consumer)) continue;
      const auto pod = objects.pods.find(claim->metadata.ns + "/" + consumer.name);
      if (pod == objects.pods.end() || pod->second->metadata.uid != consumer.uid)
        findings.add(
            Health::kWarning, "ResourceClaim " + key + " is reserved for pod " + consumer.name + ", which is gone",
            "whoever runs the claim controller should prune it: kube-controller-manager, or this manager's lifecycle");
    }
  }
}

void check_pods(const State& state, Findings& findings) {
  const Objects& objects = state.objects;
  findings.begin("waiting pods", "no pod with claims has waited for 5 minutes");
  for (const auto& [key, pod] : objects.pods) {
    if (pod->terminal()) continue;
    const bool waits = pod->node_name.empty() && older_than(pod->metadata.creation_timestamp, objects.taken, kLongWait);
    if (pod->resource_claims.empty() && !pod->extended_resource_claim_status &&
        !(waits && asked_by_class(objects, *pod)))
      continue;
    const Chain chain = chain_of(state, *pod);
    if (!chain.broken.empty() && (waits || !pod->node_name.empty()))
      findings.add(Health::kIll, "pod " + key + ": " + words_of(chain.broken[0], objects.taken), chain.broken[0].to_do);
    else if (waits)
      findings.add(Health::kWarning,
                   "pod " + key + " has waited for " + age_text(pod->metadata.creation_timestamp, objects.taken),
                   "kubectl dra explain pod/" + pod->metadata.name + " -n " + pod->metadata.ns);
  }
}

// One waiting pod of a Deployment speaks for the others; each is decided on a copy of the state.
void check_rollouts(const State& state, Findings& findings) {
  constexpr size_t kMaxTried = 50;
  findings.begin("rolling updates", "no Deployment waits for devices of its own older pods");
  const Objects& objects = state.objects;
  if (objects.hides_what_decides()) return;  // doubt() says so
  std::set<std::string> tried;
  for (const auto& [key, pod] : objects.pods) {
    if (pod->resource_claims.empty() || !pod->node_name.empty() || pod->terminal()) continue;
    const std::string deployment = deployment_of(*pod);
    if (deployment.empty() || tried.size() >= kMaxTried || !tried.insert(pod->metadata.ns + "/" + deployment).second)
      continue;
    if (const auto blocked = blocked_rollout(objects, state.options, *pod))
      findings.add(Health::kIll, words_of(*blocked), remedy_of(*blocked));
  }
}

void check_taint_rules(const Objects& objects, Findings& findings) {
  findings.begin("taint rules", "no DeviceTaintRule taints a device and leaves its partitions usable");
  for (const HalfTaint& half : half_taints(objects))
    findings.add(Health::kWarning,
                 "DeviceTaintRule " + half.rule + " taints device " + half.device.text() + ", but not " +
                     counted(half.usable.size(), "device") + " cut from it (" + half.usable.front() +
                     (half.usable.size() > 1 ? " to " + half.usable.back() : "") +
                     "), which can still be allocated: Kubernetes taints only the device that a rule names",
                 half.node.empty() ? "create a DeviceTaintRule for each of them"
                                   : "kubectl dra taint " + half.node + "/" + half.device.device + " " + half.taint);
}

// A driver may taint all that it publishes, to keep others from allocating it: that is in order. A rule is somebody's
// decision about broken devices, which lasts until it is deleted.
void check_tainted(const Objects& objects, Findings& findings) {
  const std::vector<TaintedDevices> tainted = tainted_devices(objects);
  std::vector<std::string> by_drivers;
  size_t rules = 0;
  for (const TaintedDevices& one : tainted) {
    rules += one.rules.size();
    if (one.rules.empty() && by_drivers.size() < kMaxFindingsOfCheck) by_drivers.push_back(words_of(one));
  }
  findings.begin("tainted devices", tainted.empty() ? "no device is tainted" : join(by_drivers, "; "));
  for (const TaintedDevices& one : tainted)
    if (!one.rules.empty()) findings.add(Health::kWarning, words_of(one), remedy_of(one));
  for (OldTaint& one : old_taints(objects))
    findings.add(Health::kWarning, std::move(one.finding), std::move(one.to_do));
  if (rules > 0 && !by_drivers.empty()) findings.add(Health::kFine, join(by_drivers, "; "), "");
}

void check_manager(const Objects& objects, Findings& findings) {
  const ManagerSight sight = manager_sight(objects);
  const size_t waiting = sight.waiting.size();
  const std::string pods = waiting == 0 ? ""
                                        : ", and " + counted(waiting, "pod") + " " + (waiting == 1 ? "waits" : "wait") +
                                              " for one, " + sight.waiting[0] + (waiting == 1 ? "" : " first");
  findings.begin("manager", sight.text, sight.health != ManagerHealth::kUnknown);
  switch (sight.health) {
    case ManagerHealth::kServes:
      for (const auto& [key, lease] : objects.managers.leases) {
        const protocol::ManagerNotes notes = protocol::notes_of(lease->metadata.annotations);
        if (!notes.usage.empty())
          findings.add(Health::kWarning, notes.usage,
                       "mend what it names (docs/user/usage.md), or install the manager with usage: off");
        for (const protocol::AvoidedDevice& one : protocol::avoided_in(notes.quarantine, objects.taken))
          findings.add(Health::kWarning,
                       "Nobody is given device " + one.name.text() + " until " + format_rfc3339(one.until) +
                           ": it could not be prepared for pods of two namespaces, or its driver or kubelet calls it "
                           "broken",
                       "look at its driver's log; if it is mended, kubectl annotate lease " + lease->metadata.name +
                           " -n " + lease->metadata.ns +
                           " dra-controller-manager/quarantine- releases all (docs/user/recovery.md)");
        if (!notes.preempts.empty() && notes.preempts != "on")
          findings.add(Health::kWarning, notes.preempts,
                       "mend what it names (docs/user/preemption.md), or install the manager with preemption: off");
      }
      return;
    case ManagerHealth::kUnknown:
      if (!objects.managers.why_hidden.empty()) findings.add(Health::kWarning, sight.text, sight.to_do);
      return;
    case ManagerHealth::kIdle:
    case ManagerHealth::kNobody:
      // Without it, or with an observer, nothing is wrong unless somebody relies on it.
      if (waiting > 0 || objects.managers.leases.size() > 1)
        findings.add(Health::kIll, sight.text + pods, sight.to_do);
      else if (sight.health == ManagerHealth::kNobody && !objects.managers.leases.empty())
        findings.add(Health::kWarning, sight.text, sight.to_do);
  }
}

// Pods of others that ask for pairs or rails: nobody looks at these annotations.
void check_pairs(const Objects& objects, Findings& findings) {
  const std::vector<NotHonoured> pods = pairs_not_honoured(objects);
  findings.begin("pairs and rails", "no pod that others place asks for them");
  if (pods.empty()) return;
  findings.add(Health::kWarning,
               counted(pods.size(), "pod") + " " + (pods.size() == 1 ? "asks" : "ask") +
                   " for pairs or the same rails, and no dra-controller-manager places " +
                   (pods.size() == 1 ? "it" : "them") + ": " + pods[0].pod + (pods.size() > 1 ? " first" : "") +
                   " (annotation " + pods[0].annotation + (pods[0].bearer.empty() ? "" : " of " + pods[0].bearer) +
                   ", scheduler " + pods[0].scheduler + ")",
               "their devices may be on different roots or rails: make them anew with the scheduling gate " +
                   std::string(kManagerGate));
}

// Who made the existing allocations.
void check_allocators(const Objects& objects, Findings& findings) {
  std::map<std::string, size_t> by;
  for (const auto& [key, claim] : objects.claims)
    if (claim->status.allocation) ++by[decided_by(*claim)];
  std::vector<std::string> texts;
  for (const auto& [name, count] : by) texts.push_back(name + " (" + counted(count, "claim") + ")");
  findings.begin("allocators", texts.empty() ? "no claim is allocated" : join(texts, ", "));
  const bool ours = by.contains(std::string(protocol::kFieldManager));
  if (ours && by.size() > (by.contains("unknown") ? 2u : 1u))
    findings.add(Health::kWarning, "several programs allocate: " + join(texts, ", "),
                 "each driver needs one of them alone: docs/install.md, Exclusivity, per driver");
}

// A check that found nothing because it could not look is not fine.
void doubt(std::vector<Diagnosis>& found, const Objects& objects) {
  static const std::map<std::string_view, std::vector<std::string_view>> kReads{
      {"device classes", {"deviceclasses"}},
      {"alignment", {"resourceslices"}},
      {"pools", {"resourceslices"}},
      {"unknown fields", {"deviceclasses", "resourceclaims", "resourceslices"}},
      {"drivers", {"nodes", "resourceslices"}},
      {"driver pods", {"pods", "resourceslices"}},
      {"device plugins", {"deviceclasses", "nodes", "pods", "resourceslices"}},
      {"same hardware", {"resourceclaims", "resourceslices"}},
      {"shared devices", {"deviceclasses", "resourceslices"}},
      {"taint rules", {"devicetaintrules", "resourceslices"}},
      {"tainted devices", {"devicetaintrules", "resourceslices"}},
      {"allocators", {"resourceclaims"}},
      {"double allocations", {"resourceclaims", "resourceslices"}},
      {"stuck claims", {"pods", "resourceclaims"}},
      {"waiting pods", {"pods", "resourceclaims"}},
      {"pairs and rails", {"pods", "resourceclaims", "resourceclaimtemplates"}},
      {"rolling updates", {"deviceclasses", "nodes", "pods", "resourceclaims", "resourceslices"}}};
  for (Diagnosis& one : found) {
    const auto reads = kReads.find(one.check);
    if ((one.health != Health::kFine && one.health != Health::kUnknown) || reads == kReads.end()) continue;
    std::vector<std::string> unseen;
    for (const Hidden& hidden : objects.hidden)
      for (const std::string_view plural : reads->second)
        if (hidden.what == plural || hidden.what.starts_with(std::string(plural) + " outside"))
          unseen.push_back(hidden.what);
    if (unseen.empty()) continue;
    one.health = Health::kWarning;
    one.finding = "not known: " + join(unseen, ", ") + " cannot be listed";
  }
}

}  // namespace

std::vector<Diagnosis> diagnose(const State& state) {
  Findings findings;
  check_served(state.objects, findings);
  check_gates(state.objects, findings);
  check_visible(state.objects, findings);
  check_classes(state, findings);
  check_alignment(state.objects, findings);
  check_pools(state, findings);
  check_unknown(state, findings);
  check_stale_nodes(state.objects, findings);
  check_driver_pods(state.objects, findings);
  check_device_plugins(state, findings);
  check_same_hardware(state, findings);
  check_shares(state, findings);
  check_manager(state.objects, findings);
  check_taint_rules(state.objects, findings);
  check_tainted(state.objects, findings);
  check_pairs(state.objects, findings);
  check_allocators(state.objects, findings);
  check_double(state, findings);
  check_claims(state, findings);
  check_pods(state, findings);
  check_rollouts(state, findings);
  std::vector<Diagnosis> found = findings.take();
  doubt(found, state.objects);
  return found;
}

Answer doctor_answer(const std::vector<Diagnosis>& found, const Objects& objects) {
  Answer answer{"DRADoctor"};
  Table table{
      "", "checks", {{"CHECK", "check"}, {"HEALTH", "health"}, {"FINDING", "finding"}, {"TO DO", "toDo", true}}, {}};
  bool ill = false;
  for (const Diagnosis& one : found) {
    static const std::map<Health, Cell> kWords{{Health::kFine, {"fine", Tone::kGood}},
                                               {Health::kUnknown, {"unknown", Tone::kDim}},
                                               {Health::kWarning, {"warning", Tone::kWarn}},
                                               {Health::kIll, {"ill", Tone::kBad}}};
    ill = ill || one.health == Health::kIll;
    table.rows.push_back({"", {one.check, kWords.at(one.health), one.finding, one.to_do}});
    if (!one.to_do.empty()) answer.after.push_back(one.check + ": " + one.to_do);
  }
  std::vector<std::string> each_once;
  for (std::string& line : answer.after)
    if (std::find(each_once.begin(), each_once.end(), line) == each_once.end()) each_once.push_back(std::move(line));
  answer.after = std::move(each_once);
  answer.tables.push_back(std::move(table));
  const bool all_seen = objects.hidden.empty() && objects.managers.why_hidden.empty();
  answer.status = ill ? Status::kNo : all_seen ? Status::kYes : Status::kUnknown;
  return answer;
}

}  // namespace dra::inspect
