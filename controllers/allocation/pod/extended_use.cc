// Pods that request extended resources of a DeviceClass (pkg/protocol/extended.h): kept gated, or ungated towards
// nodes whose device plugins serve them.
#include <algorithm>
#include <map>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/pod_reconcile.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
// The most host names in a node affinity: more would not fit into an object. Those beyond are left out.
constexpr size_t kMaxHostnames = 1000;

// The host names of nodes that advertise the resources. matchFields cannot list several nodes, so the host name label
// is used; a node without it, or sharing it with a node that does not advertise, is left out.
std::vector<std::string> advertising_hosts(const View& view, const std::vector<std::string>& nodes,
                                           const std::vector<ExtendedResource>& resources) {
  std::map<std::string, bool> all_advertise;  // by host name
  for (const std::string& name : nodes) {
    const api::Node* node = view.node(name);
    if (!node) continue;
    const auto host = node->metadata.labels.find(kHostnameLabel);
    if (host == node->metadata.labels.end()) continue;
    const bool good = advertises(*node, resources);
    const auto [known, is_new] = all_advertise.emplace(host->second, good);
    if (!is_new) known->second = known->second && good;
  }
  std::vector<std::string> hosts;
  for (const auto& [host, good] : all_advertise)
    if (good && hosts.size() < kMaxHostnames) hosts.push_back(host);
  return hosts;
}

}  // namespace

bool PodReconcile::serves_extended() {
  // A bound pod cannot be helped, and before an uninstall kube-scheduler gets its pods back.
  if (extended_.empty() || role_ == Role::kBoundBare || role_ == Role::kExplain || releasing()) return true;
  // A pod with claims is pinned to its node, even if other nodes share the node's label.
  const std::vector<std::string> all = nodes_.all_nodes();
  if (state_.claims.empty() ? !advertising_hosts(view_, all, extended_).empty()
                            : std::any_of(all.begin(), all.end(), [&](const auto& node) { return advertises(node); }))
    return true;
  if (withdraw_all()) return false;
  std::set<Cause> causes{std::string(kNodesCause)};
  std::string what;
  for (const ExtendedResource& resource : extended_) {
    causes.insert(class_cause(resource.device_class));
    what += (what.empty() ? "\"" : ", \"") + resource.name + "\" (DeviceClass \"" + resource.device_class + "\")";
  }
  park(causes);
  const std::string note =
      "waits: it requests " + what +
      ", and no node's device plugin advertises that. kube-scheduler would allocate the devices itself, unproven. Ask "
      "for "
      "the class by a ResourceClaim, or give the pod to bind mode (--scheduling=bind, --scheduler-names), which serves "
      "extended resources of a class";
  waits("ExtendedResource", note, what);
  return false;
}

bool PodReconcile::advertises(std::string_view node) const {
  const api::Node* known = view_.node(node);
  return known && allocation::advertises(*known, extended_);
}

void PodReconcile::keep_advertising(NodeChoice& choice) const {
  if (extended_.empty() || role_ != Role::kGated || releasing() || serves_by_claim() || choice.nodes.empty()) return;
  choice.drop_nodes([&](const std::string_view node) { return !advertises(node); });
  if (choice.nodes.empty())
    choice.why_none = "no node that the claims of this pod allow advertises its extended resources.";
}

void PodReconcile::narrow_to_advertising(api::NodeSelectorTerm& term, const NodeChoice& choice) const {
  if (extended_.empty() || releasing() || serves_by_claim()) return;
  std::vector<std::string> hosts = advertising_hosts(view_, nodes_.all_nodes(), extended_);
  if (!choice.nodes.empty()) {
    // Only hosts that the claims allow too: a list of others would contradict the claims' selectors.
    std::set<std::string_view> allowed;
    for (const std::string_view name : choice.nodes)
      if (const api::Node* node = view_.node(name))
        if (const auto host = node->metadata.labels.find(kHostnameLabel); host != node->metadata.labels.end())
          allowed.insert(host->second);
    std::erase_if(hosts, [&](const std::string& host) { return !allowed.contains(host); });
    if (choice.nodes.size() == 1 || hosts.empty()) {
      if (term.match_fields.empty())
        term.match_fields.push_back({"metadata.name", "In", {std::string(choice.nodes[0])}});
      return;
    }
  }
  term.match_expressions.push_back({kHostnameLabel, "In", std::move(hosts)});
}

}  // namespace dra::allocation
