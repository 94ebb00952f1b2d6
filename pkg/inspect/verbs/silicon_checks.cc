#include "pkg/inspect/verbs/silicon_checks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inventory/device_index.h"

namespace dra::inspect {
namespace {

constexpr const char* kPage = "docs/user/leaving-the-device-plugin.md";

size_t held_devices(const State& state, const std::string& node, const std::string& driver) {
  size_t held = 0;
  const inventory::DeviceIndex& devices = state.inventory.device_index();
  devices.silicon().each_device_of(devices.find_node(node), [&](const inventory::Pool& pool, uint32_t device) {
    held += pool.driver_text == driver && inventory::test_bit(pool.in_use(), device);
  });
  return held;
}

// The two are the same devices, by a class or by --device-plugin-resources.
SiliconFinding overlap(const State& state, const nodes::PluginNodes::Overlap& one) {
  const std::string serves = "node " + one.node + ": " + one.serves();
  const std::string flag = "; " + one.flag();
  if (const size_t held = held_devices(state, one.node, one.driver); held > 0)
    return {true,
            serves + ", and claims hold " + counted(held, "device") + " of driver " + one.driver +
                " there: one device may be in use both ways" + flag,
            std::string("let the pods of one of the two end on that node: ") + kPage};
  if (one.plugins)
    return {false, serves + ": no claim gets devices of driver " + one.driver + " there" + flag,
            std::string("to give the node's devices to claims: ") + kPage};
  return {false,
          serves + ": claims get devices of driver " + one.driver +
              " there, and kube-scheduler may still send pods to the device plugin" + flag,
          "switch the device plugin off on that node"};
}

// "nvidia.com/gpu" from a device plugin beside slices of driver gpu.nvidia.com, where nothing says whether they are the
// same devices.
void add_alike_names(const State& state, std::vector<SiliconFinding>& out) {
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const auto& one : state.plugin_overlaps) known.emplace(one.node, one.driver, one.resource);
  std::map<std::string, std::set<std::string>> drivers;
  for (const auto& [name, slice] : state.objects.slices)
    if (!slice->node_name.empty() && !slice->devices.empty() &&
        state.options.identities.plugin_use(slice->driver) != identity::PluginUse::kApart)
      drivers[slice->node_name].insert(slice->driver);
  for (const auto& [name, of_node] : drivers) {
    const auto node = state.objects.nodes.find(name);
    if (node == state.objects.nodes.end()) continue;
    for (const auto& [resource, amount] : node->second->allocatable) {
      const size_t slash = resource.find('/');
      if (slash == std::string::npos || amount == "0") continue;
      const std::string domain = resource.substr(0, slash);
      for (const std::string& driver : of_node)
        if ((driver == domain || driver.ends_with("." + domain)) && !known.contains({name, driver, resource}))
          out.push_back({true,
                         "node " + name + " offers " + resource + " by a device plugin and slices of driver " + driver +
                             ": one device may be given out twice",
                         "switch one of the two off on that node, or say that they are the same devices (" +
                             std::string(kPage) + "): then one of the two serves a node"});
    }
  }
}

}  // namespace

std::vector<SiliconFinding> silicon_findings(const State& state) {
  std::vector<SiliconFinding> out;
  const inventory::DeviceIndex& devices = state.inventory.device_index();
  const inventory::Silicon& silicon = devices.silicon();
  struct Shared {
    size_t pairs = 0;
    std::string value;  // of the first pair
  };
  for (const inventory::NodeId node : state.inventory.nodes()) {
    if (!silicon.any_rivals(node)) continue;
    std::map<std::pair<std::string, std::string>, Shared> by_drivers;
    for (const inventory::RivalPair& pair : silicon.rivals(node)) {
      const inventory::Pool& a = *devices.pool(pair.pool);
      const inventory::Pool& b = *devices.pool(pair.other_pool);
      if (a.driver_text == b.driver_text) continue;
      Shared& shared = by_drivers[std::minmax(a.driver_text, b.driver_text)];
      if (shared.pairs++ == 0) shared.value = silicon.shared_text(a, pair.device, b, pair.other);
    }
    for (const auto& [drivers, shared] : by_drivers)
      out.push_back({false,
                     "node " + devices.node_name(node) + ": drivers " + drivers.first + " and " + drivers.second +
                         " publish the same hardware (" + shared.value +
                         (shared.pairs > 1 ? "; " + counted(shared.pairs, "pair") + " of devices" : "") + ")",
                     "let this manager alone allocate both drivers' devices: it gives one of the names out at a time, "
                     "and kube-scheduler does not"});
  }
  const inventory::Silicon::Findings odd = silicon.findings();
  for (const auto& [device, attribute] : odd.malformed)
    out.push_back({false,
                   "device " + device.text() + ": attribute " + attribute +
                       " should name its hardware, and is not in the form of its kind: it is ignored",
                   "tell the driver's authors: docs/user/same-hardware.md"});
  for (const inventory::DeviceName& device : odd.changed)
    out.push_back({false, "device " + device.text() + " is held, and is other hardware now than when it was allocated",
                   "let the pods that use it end, if they do not work"});
  for (const inventory::DeviceName& device : odd.unknown)
    out.push_back({false,
                   "device " + device.text() +
                       " is held, its driver has withdrawn it, and its allocation does not say what hardware it is",
                   "see that no pod gets the same hardware under another name until it is released"});
  return out;
}

std::vector<SiliconFinding> plugin_findings(const State& state) {
  std::vector<SiliconFinding> out;
  for (const nodes::PluginNodes::Overlap& one : state.plugin_overlaps) out.push_back(overlap(state, one));
  add_alike_names(state, out);
  return out;
}

}  // namespace dra::inspect
