#include <algorithm>

#include "pkg/base/strings.h"
#include "pkg/placement/node_selector.h"
#include "pkg/placement/placement.h"

namespace dra::placement {
namespace {

constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

bool tolerated(const api::Pod& pod, const api::Taint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const api::Toleration& toleration) { return tolerates(toleration, taint); });
}

const api::Taint* first_untolerated(const api::Pod& pod, const api::Node& node) {
  for (const api::Taint& taint : node.taints)
    if ((taint.effect == "NoSchedule" || taint.effect == "NoExecute") && !tolerated(pod, taint)) return &taint;
  return nullptr;
}

bool affinity_matches(const api::Pod& pod, const api::Node& node) {
  const api::ObjectMeta& metadata = node.metadata;
  if (!has_labels(pod.node_selector, metadata.labels)) return false;
  return !pod.node_affinity || !pod.node_affinity->required ||
         matches(*pod.node_affinity->required, metadata.name, metadata.labels);
}

}  // namespace

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::kNodeName:
      return "NodeName";
    case Cause::kUnschedulable:
      return "Unschedulable";
    case Cause::kTaint:
      return "Taint";
    case Cause::kNodeAffinity:
      return "NodeAffinity";
    case Cause::kHostPort:
      return "HostPort";
    case Cause::kTooManyPods:
      return "TooManyPods";
    case Cause::kResource:
      return "Resource";
    case Cause::kDeleting:
      return "Deleting";
  }
  return "Unknown";
}

std::string to_text(const Refusal& refusal) {
  switch (refusal.cause) {
    case Cause::kNodeName:
      return "node(s) didn't match the requested node name";
    case Cause::kUnschedulable:
      return "node(s) were unschedulable";
    case Cause::kTaint:
      return "node(s) had untolerated taint " + refusal.detail;
    case Cause::kNodeAffinity:
      return "node(s) didn't match Pod's node affinity/selector";
    case Cause::kHostPort:
      return "node(s) didn't have free port " + refusal.detail + " for the requested pod ports";
    case Cause::kTooManyPods:
      return "Too many pods";
    case Cause::kResource:
      return "Insufficient " + refusal.detail;
    case Cause::kDeleting:
      return "node(s) are being deleted";
  }
  return "";
}

bool tolerates(const api::Toleration& toleration, const api::Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op == "Exists") return true;
  return (toleration.op.empty() || toleration.op == "Equal") && toleration.value == taint.value;
}

Result<PodNeeds> PodNeeds::of(const api::Pod& pod, const std::function<bool(const std::string&)>& ignored) {
  PodNeeds needs(pod);
  Result<Amounts> requests = pod_requests(pod, ignored);
  if (!requests) return fail(requests.error());
  needs.requests_ = std::move(*requests);
  std::erase_if(needs.requests_, [](const auto& entry) { return entry.second <= 0; });
  needs.basics_ = Basics(needs.requests_);
  needs.host_ports_ = host_ports_of(pod);
  return needs;
}

NodeFacts::NodeFacts(const api::Node& node) : node_(&node) {
  for (const auto& [name, text] : node.allocatable) {
    Result<Amounts> one = amounts_of({{name, text}});
    if (one)
      allocatable_.merge(*one);
    else
      unreadable_.push_back(name);
  }
  basics_ = Basics(allocatable_);
}

std::vector<Refusal> lasting_refusals(const PodNeeds& needs, const NodeFacts& facts) {
  const api::Pod& pod = needs.pod();
  const api::Node& node = facts.node();
  std::vector<Refusal> out;
  if (!pod.node_name.empty() && pod.node_name != node.metadata.name) {
    out.push_back({Cause::kNodeName, ""});
  } else if (node.metadata.deleting()) {
    out.push_back({Cause::kDeleting, ""});
  } else if (node.unschedulable && !tolerated(pod, {std::string(kUnschedulableTaint), "", "NoSchedule", ""})) {
    out.push_back({Cause::kUnschedulable, ""});
  } else if (const api::Taint* taint = first_untolerated(pod, node)) {
    out.push_back({Cause::kTaint, "{" + taint->key + ": " + taint->value + "}"});
  } else if (!affinity_matches(pod, node)) {
    out.push_back({Cause::kNodeAffinity, ""});
  }
  return out;
}

std::vector<Refusal> refusals(const PodNeeds& needs, const NodeFacts& facts) {
  std::vector<Refusal> out = lasting_refusals(needs, facts);
  if (!out.empty()) return out;
  for (uint16_t port : needs.host_ports())
    if (facts.load.port_taken(port)) return {{Cause::kHostPort, std::to_string(port)}};
  if (facts.load.pods() >= facts.basics().pods) out.push_back({Cause::kTooManyPods, ""});
  for (const auto& [name, amount] : needs.requests()) {
    const int64_t used = amount_of(facts.load.requested(), name);
    if (saturating_add(used, amount) > amount_of(facts.allocatable(), name)) out.push_back({Cause::kResource, name});
  }
  return out;
}

}  // namespace dra::placement
