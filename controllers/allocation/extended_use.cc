// Pods that ask for extended resources of a DeviceClass (extended.h): held, or let go towards device plugins.
#include <algorithm>
#include <map>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod_reconcile.h"

namespace dra::allocation {

using namespace reconcile;

namespace {

constexpr const char* kHostnameLabel = "kubernetes.io/hostname";
// Node affinity of more would not fit into an object; those beyond are left out.
constexpr size_t kMaxHostnames = 1000;

// The host names of nodes that advertise the resources. Names in matchFields stand for one node each and cannot be
// listed, so the label does; a node without it, or that shares it with a node that does not advertise, is left out.
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
  // What is bound is beyond help, and before an uninstall kube-scheduler gets its pods back.
  if (extended_.empty() || role_ == Role::kBoundBare || role_ == Role::kExplain || releasing()) return true;
  if (!advertising_hosts(view_, nodes_.all_nodes(), extended_).empty()) return true;
  if (give_back()) return false;
  std::set<Cause> causes{std::string(kNodesCause)};
  std::string what;
  for (const ExtendedResource& resource : extended_) {
    causes.insert(class_cause(resource.device_class));
    what += (what.empty() ? "\"" : ", \"") + resource.name + "\" (DeviceClass \"" + resource.device_class + "\")";
  }
  park(causes);
  const std::string note =
      "held: asks for " + what +
      ", and no node's device plugin advertises that. kube-scheduler would allocate the devices itself, unproven. Ask "
      "for "
      "the class by a ResourceClaim; extended resources of a class belong to bind mode, which does not serve them yet";
  waits("ExtendedResource", note, what);
  return false;
}

void PodReconcile::narrow_to_advertising(api::NodeSelectorTerm& term) const {
  if (extended_.empty() || releasing()) return;
  term.match_expressions.push_back({kHostnameLabel, "In", advertising_hosts(view_, nodes_.all_nodes(), extended_)});
}

}  // namespace dra::allocation
