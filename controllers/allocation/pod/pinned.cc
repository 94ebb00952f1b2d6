#include "controllers/allocation/pod/pinned.h"

#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/base/utf8.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// The most nodes of one pin that are listed, and that the next pod avoids.
constexpr size_t kMostNodes = 64;
constexpr size_t kMostOfASelector = 256;  // bytes of a selector
// How soon a pod asks again that is evicted after others.
constexpr Duration kAskAgain = std::chrono::seconds(15);

const api::Condition* unschedulable(const api::Pod& pod) {
  const auto found = std::find_if(pod.conditions.begin(), pod.conditions.end(), [](const api::Condition& c) {
    return c.type == "PodScheduled" && c.status == "False" && c.reason == "Unschedulable";
  });
  return found == pod.conditions.end() ? nullptr : &*found;
}

// What pins the pod to a node, or to nodes with certain labels.
struct Pin {
  std::vector<std::string> nodes;  // where it may be; none: the nodes are gone
  std::string where;               // "node n1", "the nodes with rack in (a)"
  std::string claims;
  bool too_many = false;  // too many nodes: none is listed
};

std::string text_of(const api::NodeSelectorRequirement& requirement) {
  std::string text = requirement.key + " " + requirement.op;
  if (requirement.values.empty()) return text;
  return text + " (" + join(requirement.values, ", ") + ")";
}

// "rack In (a), zone In (x) or rack In (b)".
std::string text_of(const api::NodeSelector& selector) {
  std::string text;
  for (const api::NodeSelectorTerm& term : selector.terms) {
    std::vector<std::string> parts;
    for (const auto* requirements : {&term.match_expressions, &term.match_fields})
      for (const api::NodeSelectorRequirement& requirement : *requirements) parts.push_back(text_of(requirement));
    text += (text.empty() ? "" : " or ") + join(parts, ", ");
  }
  const std::string clean = valid_utf8(text);
  return std::string(utf8_prefix(clean, kMostOfASelector));
}

// The nodes that all selectors and the pod's own required affinity match: lifting the gate added the pin to the latter.
void list_nodes(const api::Pod& pod, const std::vector<const api::NodeSelector*>& selectors,
                nodes::NodeChooser& chooser, Pin& pin) {
  for (const std::string& node : chooser.all_nodes()) {
    const auto fits = [&](const api::NodeSelector* selector) { return chooser.matches(*selector, node); };
    if (!std::all_of(selectors.begin(), selectors.end(), fits)) continue;
    if (pod.node_affinity && pod.node_affinity->required && !fits(&*pod.node_affinity->required)) continue;
    if (pin.too_many = pin.nodes.size() == kMostNodes; pin.too_many) return pin.nodes.clear();
    pin.nodes.push_back(node);
  }
}

// What pins the pod: the nodes of the devices that we proved for it, by name or by every label in the selectors of the
// allocations. Nothing when no allocation of ours does.
std::optional<Pin> pin_of(const View& view, const api::Pod& pod, nodes::NodeChooser& chooser) {
  Pin pin;
  std::vector<const api::NodeSelector*> selectors;
  const std::string* only = nullptr;
  for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid)) {
    if (claim->metadata.ns != pod.metadata.ns || !claim->status.allocation || !is_allocated_by_us(*claim) ||
        !is_proven(*claim))
      continue;
    // Devices without a selector can be reached from every node: they are not why the pod is refused.
    if (!claim->status.allocation->node_selector) continue;
    selectors.push_back(&*claim->status.allocation->node_selector);
    if (const std::string* node = api::only_node(*claim->status.allocation)) only = node;
    pin.claims += (pin.claims.empty() ? "\"" : ", \"") + claim->metadata.name + "\"";
  }
  if (selectors.empty()) return std::nullopt;
  if (only)
    pin.nodes = {*only};
  else
    list_nodes(pod, selectors, chooser, pin);
  pin.where = pin.nodes.size() == 1 ? "node " + pin.nodes.front() : "the nodes with " + text_of(*selectors.front());
  return pin;
}

// Why a pod of this Job is not evicted; empty: it may be. A Job that replaces only failed pods does not itself count
// the eviction of a pending pod (job_controller.go, isPodFailed), but the pod garbage collector makes the pod Failed
// (gc_controller.go, gcUnscheduledTerminatingPods): so a Job that counts disrupted pods must be able to bear all
// evictions that are under way.
std::string why_job_is_left(const api::Pod& pod, const api::OwnerReference& job, nodes::NodeChooser& nodes) {
  if (!job.api_version.starts_with("batch/")) return "it belongs to a Job of " + job.api_version;
  const nodes::NodeChooser::JobPolicy known = nodes.job_policy(pod.metadata.ns, job.name, job.uid);
  if (!known.why_unknown.empty()) return known.why_unknown;
  if (known.pod_replacement_policy.empty()) return "its Job is not known yet";
  if (known.pod_replacement_policy == "Failed") {
    if (!known.failures_left || *known.failures_left > static_cast<int64_t>(Recreations::kAtOnce)) return "";
    return "Job \"" + job.name + "\" would count that as a failure, and can bear " +
           std::to_string(*known.failures_left) + ": let its podFailurePolicy ignore DisruptionTarget";
  }
  return "Job \"" + job.name + "\" would count that as a failure: its podReplacementPolicy is " +
         known.pod_replacement_policy + ", not Failed";
}

// Why the pod is not evicted; empty: it may be.
std::string why_kept(const View& view, const api::Pod& pod, const Pin& pin, const Options& options,
                     nodes::NodeChooser& nodes) {
  if (!options.recreate_pinned_pods) return "--recreate-pinned-pods is off";
  const std::optional<std::string> label = nodes.namespace_label(pod.metadata.ns, std::string(kRecreateLabel));
  if (!label) return "its namespace is not known yet";
  if (*label != "true")
    return "namespace " + pod.metadata.ns + " has no label " + std::string(kRecreateLabel) + "=true";
  const api::OwnerReference* owner = pod.metadata.controller();
  if (!owner) return "no controller would make it again";
  if (owner->kind == "Job")
    if (std::string left = why_job_is_left(pod, *owner, nodes); !left.empty()) return left;
  if (pin.too_many) return "its devices can be used on more than " + std::to_string(kMostNodes) + " nodes";
  // kube-scheduler removes the nomination when it can preempt nobody for the pod either.
  if (!pod.nominated_node_name.empty()) return "it is nominated for node " + pod.nominated_node_name;
  // A claim that outlives the pod pins the next one to the same node.
  for (const api::ResourceClaim* claim : view.claims_reserved_for(pod.metadata.uid))
    if (!is_for_pod(pod, *claim)) return "claim \"" + claim->metadata.name + "\" stays where it is without this pod";
  return "";
}

// Numbers change with every attempt of kube-scheduler and are not news.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace

bool is_unschedulable(const api::Pod& pod) {
  return pod.node_name.empty() && pod.scheduling_gates.empty() && !pod.resource_claims.empty() && !pod.terminal() &&
         !pod.metadata.deleting() && unschedulable(pod);
}

ReconcileResult reconcile_pinned(const View& view, const api::Pod& pod, const Options& options,
                                 nodes::NodeChooser& nodes, Recreations& recreations) {
  ReconcileResult outcome;
  const std::optional<Pin> pin = pin_of(view, pod, nodes);
  if (!pin) return outcome;
  const api::Condition& condition = *unschedulable(pod);
  const std::string kept = why_kept(view, pod, *pin, options, nodes);
  Timestamp since;
  const bool dated = parse_rfc3339(condition.last_transition_time, since);
  const Duration left = dated ? since + kPinnedLongEnough - view.now() : kPinnedLongEnough;
  const std::string holds = "claims " + pin->claims + " hold devices on " + pin->where + " for this pod";
  const bool due = kept.empty() && left <= Duration::zero();
  const std::string later = due ? recreations.why_later(view, pod) : "";
  if (due && later.empty()) {
    recreations.begin(pod, view.now());
    Write write = write_eviction(pod, "recreate-pinned");
    write.success_event = Event{ref_of(pod),
                                true,
                                "PinnedPodEvicted",
                                "Evict",
                                "kube-scheduler did not place this pod for 10 minutes while " + holds +
                                    ": its controller makes another, which goes elsewhere",
                                ""};
    outcome.add(std::move(write));
    outcome.add(AvoidNodes{owner_key(pod), pin->nodes, kNodeIsAvoided,
                           "kube-scheduler did not place a pod of the same controller there"});
    return outcome;
  }
  std::string what = "it is evicted after 10 minutes of this", news = what;
  if (!kept.empty()) {
    what = "delete it to free them; it is not evicted: " + kept;
    news = what;
  } else if (!later.empty()) {
    what = "it is evicted later: " + later;
    news = "later";  // whichever pods come first
  }
  emit_once(view, outcome,
            {ref_of(pod), true, "PinnedUnschedulable", "Schedule",
             "kube-scheduler: " + condition.message + "; " + holds + "; " + what,
             without_digits(condition.message) + pin->where + news});
  // The nomination, the label or the condition may change without an event that requeues the pod; and so may the pods
  // that come before this one.
  if (options.recreate_pinned_pods)
    outcome.requeue_in(!later.empty() ? kAskAgain
                       : kept.empty() ? std::max<Duration>(left, std::chrono::seconds(1))
                                      : std::chrono::minutes(1));
  return outcome;
}

}  // namespace dra::allocation
