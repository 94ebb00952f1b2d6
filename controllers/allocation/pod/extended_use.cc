#include "controllers/allocation/pod/extended_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/report.h"
#include "controllers/allocation/pod/withdraw.h"
#include "pkg/protocol/extended_claim.h"

namespace dra::allocation {

using namespace protocol;
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

bool is_advertising(const PodContext& context, std::string_view node) {
  const api::Node* known = context.view.node(node);
  return known && advertises(*known, context.extended);
}

}  // namespace

bool serve_by_plugins(const PodContext& context, ReconcileResult& out) {
  // A bound pod cannot be helped, and before an uninstall kube-scheduler gets its pods back.
  if (context.extended.empty() || context.role == Role::kBoundBare || context.role == Role::kExplain ||
      is_releasing(context))
    return true;
  // A pod with claims is pinned to its node, even if other nodes share the node's label.
  const std::vector<std::string> all = context.tools.nodes.all_nodes();
  if (context.state.claims.empty()
          ? !advertising_hosts(context.view, all, context.extended).empty()
          : std::any_of(all.begin(), all.end(), [&](const auto& node) { return is_advertising(context, node); }))
    return true;
  if (withdraw_or_leave(context, out)) return false;
  std::set<Cause> causes{std::string(kNodesCause)};
  std::string what;
  for (const ExtendedResource& resource : context.extended) {
    causes.insert(class_cause(resource.device_class));
    what += (what.empty() ? "\"" : ", \"") + resource.name + "\" (DeviceClass \"" + resource.device_class + "\")";
  }
  park_pod(context, causes, {}, out);
  const std::string note =
      "waits: it requests " + what +
      ", and no node's device plugin advertises that. kube-scheduler would allocate the devices itself, unproven. Ask "
      "for "
      "the class by a ResourceClaim, or give the pod to bind mode (--scheduling=bind, --scheduler-names), which serves "
      "extended resources of a class";
  say_waiting(context, {"ExtendedResource", note, what}, Fit::kUndecided, out);
  return false;
}

void keep_advertising(const PodContext& context, nodes::NodeChoice& choice) {
  if (context.extended.empty() || context.role != Role::kGated || is_releasing(context) ||
      is_served_by_claim(context) || choice.nodes.empty())
    return;
  choice.drop_nodes([&](const std::string_view node) { return !is_advertising(context, node); });
  if (choice.nodes.empty())
    choice.why_none = "no node that the claims of this pod allow advertises its extended resources.";
}

void narrow_to_advertising(const PodContext& context, const nodes::NodeChoice& choice, api::NodeSelectorTerm& term) {
  if (context.extended.empty() || is_releasing(context) || is_served_by_claim(context)) return;
  std::vector<std::string> hosts = advertising_hosts(context.view, context.tools.nodes.all_nodes(), context.extended);
  if (!choice.nodes.empty()) {
    // Only hosts that the claims allow too: a list of others would contradict the claims' selectors.
    std::set<std::string_view> allowed;
    for (const std::string_view name : choice.nodes)
      if (const api::Node* node = context.view.node(name))
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

nodes::NodeChoice choose_beside_plugins(const PodContext& context, std::vector<std::string> among) {
  std::erase_if(among, [&](const std::string& name) {
    const api::Node* node = context.view.node(name);
    return !node || to_claim_on(*node, context.extended) != *context.claimed;
  });
  if (among.empty())
    return {{}, "no node leaves the extended resources of this pod to the devices of its claim", false};
  return context.tools.nodes.choose(without_resources(context.pod, *context.claimed), among);
}

}  // namespace dra::allocation
