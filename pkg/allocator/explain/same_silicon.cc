#include "pkg/allocator/explain/same_silicon.h"

#include <algorithm>
#include <set>

namespace dra::allocator {

using inventory::NodeId;
using inventory::Pool;
using inventory::test_bit;
using inventory::Where;

namespace {

class Collector {
 public:
  Collector(const Plan& plan, inventory::DeviceIndex& device_index, Filters& filters)
      : plan_(plan), device_index_(device_index), filters_(filters) {}

  void visit(NodeId node) {
    for (const inventory::Segment& segment : device_index_.view(node).segments) {
      if (!segment.complete()) continue;
      const Pool& pool = *device_index_.pool(segment.pool);
      for (const PlanRequest& request : plan_.requests)
        for (const PlanAlternative& alternative : request.alternatives)
          if (!alternative.admin) visit(node, segment, pool, alternative);
    }
  }

  SiliconReasons take() {
    SiliconReasons out;
    out.same.assign(same_.begin(), same_.end());
    out.plugin.assign(plugin_.begin(), plugin_.end());
    return out;
  }

 private:
  void visit(NodeId node, const inventory::Segment& segment, const Pool& pool, const PlanAlternative& alternative) {
    const FilterMask* mask = filters_.mask(alternative.filter, pool);
    if (mask == nullptr) return;
    for (uint32_t device = 0; device < pool.size(); ++device) {
      if (!test_bit(mask->usable(), device)) continue;
      if (!segment.mask.empty() && !test_bit(segment.mask.data(), device)) continue;
      if (pool.is_plugins(device)) {
        add_plugin(node, pool, device);
      } else if (pool.is_excluded(device) && !alternative.shares_silicon && !test_bit(pool.in_use(), device)) {
        add_same(alternative, pool, device);
      }
    }
  }

  void add_plugin(NodeId node, const Pool& pool, uint32_t device) {
    const inventory::Silicon& silicon = device_index_.silicon();
    const std::string& here = device_index_.node_name(node);
    if (std::string driver = silicon.plugin_driver(pool, device, here); !driver.empty())
      return void(plugin_.insert({here, std::move(driver)}));
    for (const auto& [other, drivers] : silicon.plugin_nodes())
      if (std::string driver = silicon.plugin_driver(pool, device, other); !driver.empty())
        plugin_.insert({other, std::move(driver)});
  }

  void add_same(const PlanAlternative& alternative, const Pool& pool, uint32_t device) {
    if (pool.shareable(device) && !has_room(alternative, pool, device)) return;
    const auto why = device_index_.silicon().why_excluded(pool, device);
    if (!why) return;
    const inventory::DeviceName name{pool.driver_text, pool.name_text,
                                     std::string(device_index_.strings().text(pool.device_name(device)))};
    same_.insert({name.text(), why->holder.text(), why->value});
  }

  bool has_room(const PlanAlternative& alternative, const Pool& pool, uint32_t device) {
    const std::vector<inventory::Amount>* held = pool.shared(device);
    if (held == nullptr) return true;
    const inventory::CapacityShape& shape = pool.shape(device);
    const CapacityFit& fit = filters_.fit(filters_.get(alternative.filter), shape);
    for (size_t i = 0; i < held->size(); ++i)
      if ((*held)[i] + fit.amounts[i] > shape.entries[i].amount) return false;
    return true;
  }

  const Plan& plan_;
  inventory::DeviceIndex& device_index_;
  Filters& filters_;
  std::set<SiliconReasons::Same> same_;
  std::set<SiliconReasons::Plugin> plugin_;
};

bool selects(const std::vector<SelectorId>& selectors, Selectors& evaluator, const Pool& pool, uint32_t device) {
  return std::all_of(selectors.begin(), selectors.end(), [&](SelectorId id) {
    return evaluator.compile_error(id).empty() && evaluator.evaluate(id, pool, device) == Truth::kTrue;
  });
}

}  // namespace

SiliconReasons silicon_reasons(const Plan& plan, std::span<const NodeId> nodes, inventory::DeviceIndex& device_index,
                               Filters& filters) {
  Collector collector(plan, device_index, filters);
  for (const NodeId node : nodes)
    if (device_index.knows(node)) collector.visit(node);
  return collector.take();
}

bool is_plugins(identity::PluginUse use, const PluginResource& resource) {
  return use == identity::PluginUse::kPlugin ? resource.offered || resource.used
                                             : use == identity::PluginUse::kDra && resource.used;
}

std::set<std::string> drivers_of_resource(const inventory::DeviceIndex& device_index, Selectors& selectors, NodeId node,
                                          const std::string& resource) {
  std::set<std::string> out;
  for (const auto& [driver, names] : device_index.silicon().rules().plugin_resources)
    if (names.contains(resource)) out.insert(driver);
  for (const auto& [name, entry] : device_index.classes()) {
    if (entry.object->extended_resource_name != resource) continue;
    std::vector<SelectorId> own;
    for (const std::string& expression : entry.object->selectors) own.push_back(selectors.intern(expression));
    device_index.silicon().each_device_of(node, [&](const Pool& pool, uint32_t device) {
      if (!out.contains(pool.driver_text) && selects(own, selectors, pool, device)) out.insert(pool.driver_text);
    });
  }
  return out;
}

std::map<std::string, std::string> plugin_drivers(const inventory::DeviceIndex& device_index, Selectors& selectors,
                                                  NodeId node, std::span<const PluginResource> resources) {
  const identity::Rules& rules = device_index.silicon().rules();
  std::map<std::string, std::string> out;
  for (const PluginResource& resource : resources)
    for (const std::string& driver : drivers_of_resource(device_index, selectors, node, resource.name)) {
      if (!is_plugins(rules.plugin_use(driver), resource)) continue;
      std::string& first = out.try_emplace(driver, resource.name).first->second;
      first = std::min(first, resource.name);
    }
  return out;
}

}  // namespace dra::allocator
