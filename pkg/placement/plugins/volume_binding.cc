// VolumeBinding: bound claims reach their volumes from the node; claims that wait for the first consumer find a volume
// there, or can be provisioned there.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "pkg/api/quantity.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/placement/plugins.h"

namespace dra::placement {

const Words kVolumeBindingWords = {"node(s) didn't match PersistentVolume's node affinity",
                                   "node(s) didn't find available persistent volumes to bind",
                                   "node(s) did not have enough free storage",
                                   "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"};
namespace {

enum BindingReason : unsigned { kNodeConflict, kNothingToBind, kNotEnoughSpace, kVolumeMissing };

api::Quantity quantity_or_zero(const std::string& text) {
  return api::Quantity::parse(text).value_or(api::Quantity());
}

bool block_mode(const std::string& mode) {
  return mode == "Block";
}

// The volume is reserved for this claim.
bool claimed_by(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  return volume.claim_ref && volume.claim_ref->ns == claim.metadata.ns &&
         volume.claim_ref->name == claim.metadata.name &&
         (volume.claim_ref->uid.empty() || volume.claim_ref->uid == claim.metadata.uid);
}

bool has_modes(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim) {
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(), [&](const std::string& mode) {
    return std::find(volume.access_modes.begin(), volume.access_modes.end(), mode) != volume.access_modes.end();
  });
}

// The rules about a volume and a claim that do not depend on the node.
bool could_bind(const api::PersistentVolume& volume, const api::PersistentVolumeClaim& claim,
                const api::Quantity& request) {
  if (volume.claim_ref && !claimed_by(volume, claim)) return false;
  if (quantity_or_zero(volume.storage) < request || block_mode(volume.volume_mode) != block_mode(claim.volume_mode) ||
      volume.volume_attributes_class_name != claim.volume_attributes_class_name || volume.metadata.deleting())
    return false;
  if (claimed_by(volume, claim)) return true;
  return volume.phase == "Available" && (!claim.selector || api::matches(*claim.selector, volume.metadata.labels)) &&
         has_modes(volume, claim);
}

bool reaches(const api::PersistentVolume& volume, const NodeRest& node) {
  return !volume.node_affinity || api::matches(*volume.node_affinity, node.name, node.node->metadata.labels);
}

// Items of which each node can use some. Most can be used only from nodes with certain values of one label (the host
// name, a zone) and are tried only for those nodes. Items are numbered in order of preference.
class ByNode {
 public:
  explicit ByNode(const Cluster& cluster) : cluster_(cluster) {}

  // Only nodes with one of these `values` of the label `key` can use the item.
  void add_for(uint32_t item, const std::string& key, const std::vector<std::string>& values) {
    Column& column = columns_[key];
    if (!column.labels) column.labels = &cluster_.column(key);
    for (const std::string& value : values)
      if (const int32_t number = column.labels->find(value); number != LabelColumn::kNone)
        column.items[number].push_back(item);
  }
  void add_for_any(uint32_t item) { anywhere_.push_back(item); }

  // The first item that the node may be able to use and for which fits(item) is true.
  template <class F>
  std::optional<uint32_t> first(NodeIndex node, F&& fits) const {
    uint32_t best = std::numeric_limits<uint32_t>::max();
    const auto look = [&](const std::vector<uint32_t>& items) {
      for (const uint32_t item : items) {
        if (item >= best) return;
        if (fits(item)) best = item;
      }
    };
    look(anywhere_);
    for (const auto& [key, column] : columns_)
      if (const auto items = column.items.find(column.labels->value_of(node)); items != column.items.end())
        look(items->second);
    if (best == std::numeric_limits<uint32_t>::max()) return std::nullopt;
    return best;
  }

 private:
  struct Column {
    const LabelColumn* labels = nullptr;
    std::unordered_map<int32_t, std::vector<uint32_t>> items;
  };
  const Cluster& cluster_;
  std::map<std::string, Column> columns_;
  std::vector<uint32_t> anywhere_;
};

// A claim that waits for its first consumer, with the volumes and capacities that could serve it.
struct DelayedClaim {
  DelayedClaim(const Cluster& cluster, const api::PersistentVolumeClaim& c)
      : claim(&c),
        class_name(class_of(c)),
        request(quantity_or_zero(c.storage)),
        by_node(cluster),
        capacity_by_node(cluster) {
    for (const auto& [name, volume] : cluster.storage.volumes.with(class_name)) {
      if (!could_bind(*volume, c, request)) continue;
      if (claimed_by(*volume, c) && !reserved) reserved = volume;
      volumes.push_back(volume);
    }
    std::stable_sort(volumes.begin(), volumes.end(), [](const auto* a, const auto* b) {
      return quantity_or_zero(a->storage) < quantity_or_zero(b->storage);
    });
    for (uint32_t i = 0; i < volumes.size(); ++i) add_volume(i);
    storage_class = cluster.storage.classes.find(class_name);
    const auto* driver = storage_class ? cluster.storage.csi_drivers.find(storage_class->provisioner) : nullptr;
    checks_capacity = driver && driver->storage_capacity && !c.storage.empty();
    if (checks_capacity) add_capacities(cluster);
  }

  const api::PersistentVolumeClaim* claim;
  std::string class_name;
  api::Quantity request;
  const api::PersistentVolume* reserved = nullptr;    // a volume that names this claim: no other is tried
  std::vector<const api::PersistentVolume*> volumes;  // smallest first
  ByNode by_node;                                     // of volumes
  const api::StorageClass* storage_class = nullptr;
  bool checks_capacity = false;
  std::vector<const api::CsiStorageCapacity*> capacities;  // large enough
  ByNode capacity_by_node;

 private:
  void add_volume(uint32_t i) {
    const auto& affinity = volumes[i]->node_affinity;
    if (affinity && affinity->terms.size() == 1)
      for (const api::NodeSelectorRequirement& r : affinity->terms[0].match_expressions)
        if (r.op == "In") return by_node.add_for(i, r.key, r.values);
    by_node.add_for_any(i);
  }
  void add_capacities(const Cluster& cluster) {
    for (const auto& [name, capacity] : cluster.storage.capacities.with(class_name)) {
      const std::string& limit =
          capacity->maximum_volume_size.empty() ? capacity->capacity : capacity->maximum_volume_size;
      if (limit.empty() || !capacity->node_topology || quantity_or_zero(limit).value() < request.value()) continue;
      const auto i = static_cast<uint32_t>(capacities.size());
      capacities.push_back(capacity);
      const api::StringMap& labels = capacity->node_topology->match_labels;
      if (labels.empty())
        capacity_by_node.add_for_any(i);
      else
        capacity_by_node.add_for(i, labels.begin()->first, {labels.begin()->second});
    }
  }
};

bool topology_allows(const api::StorageClass& storage_class, const api::StringMap& labels) {
  if (storage_class.allowed_topologies.empty()) return true;
  return std::any_of(storage_class.allowed_topologies.begin(), storage_class.allowed_topologies.end(),
                     [&](const auto& term) {
                       return !term.empty() && std::all_of(term.begin(), term.end(), [&](const auto& expression) {
                         const auto label = labels.find(expression.first);
                         return label != labels.end() && std::find(expression.second.begin(), expression.second.end(),
                                                                   label->second) != expression.second.end();
                       });
                     });
}

// Nothing when the claim can be provisioned for the node.
std::optional<BindingReason> provision_refusal(const Cluster& cluster, const DelayedClaim& delayed, NodeIndex node) {
  const api::StorageClass* storage_class = delayed.storage_class;
  const api::StringMap& labels = cluster.rest(node).node->metadata.labels;
  if (!storage_class || storage_class->provisioner.empty() ||
      storage_class->provisioner == "kubernetes.io/no-provisioner" || !topology_allows(*storage_class, labels))
    return kNothingToBind;
  if (!delayed.checks_capacity) return std::nullopt;
  const auto reachable = [&](uint32_t i) { return api::matches(*delayed.capacities[i]->node_topology, labels); };
  if (delayed.capacity_by_node.first(node, reachable)) return std::nullopt;
  return kNotEnoughSpace;
}

// The volume that the claim would get on the node.
const api::PersistentVolume* find_volume(const DelayedClaim& delayed, const Cluster& cluster, NodeIndex node,
                                         const std::set<const api::PersistentVolume*>& taken) {
  const NodeRest& rest = cluster.rest(node);
  if (delayed.reserved && !taken.contains(delayed.reserved))
    return reaches(*delayed.reserved, rest) ? delayed.reserved : nullptr;
  const auto fits = [&](uint32_t i) {
    return !taken.contains(delayed.volumes[i]) && reaches(*delayed.volumes[i], rest);
  };
  const std::optional<uint32_t> found = delayed.by_node.first(node, fits);
  return found ? delayed.volumes[*found] : nullptr;
}

// The claims in use, in the order of the pod's volumes; stops the attempt at the first that is unusable.
std::vector<const api::PersistentVolumeClaim*> usable_claims(Attempt& attempt) {
  std::vector<const api::PersistentVolumeClaim*> out;
  const api::ObjectMeta& pod = attempt.pod().metadata;
  const auto refuse_pod = [&](std::string reason) {
    attempt.refuse_pod(Plugin::kVolumeBinding, std::move(reason));
    return std::vector<const api::PersistentVolumeClaim*>{};
  };
  for (const api::PodVolume& volume : attempt.pod().volumes) {
    const std::string key = claim_key(pod.ns, pod.name, volume);
    if (key.empty()) continue;
    const std::string name = key.substr(pod.ns.size() + 1);
    const api::PersistentVolumeClaim* claim = attempt.cluster.storage.claims.find(key);
    if (!claim && volume.claim_name.empty())
      return refuse_pod("waiting for ephemeral volume controller to create the persistentvolumeclaim " + quote(name));
    if (!claim) return refuse_pod("persistentvolumeclaim " + quote(name) + " not found");
    if (claim->phase == "Lost")
      return refuse_pod("persistentvolumeclaim " + quote(name) + " bound to non-existent persistentvolume " +
                        quote(claim->volume_name));
    if (claim->metadata.deleting()) return refuse_pod("persistentvolumeclaim " + quote(name) + " is being deleted");
    const api::OwnerReference* owner = claim->metadata.controller();
    if (volume.claim_name.empty() && (!owner || owner->uid != pod.uid))
      return refuse_pod("PVC " + key + " was not created for pod " + pod.key() + " (pod is not owner)");
    out.push_back(claim);
  }
  return out;
}

}  // namespace

struct VolumeBinding::State {
  struct Bound {
    const api::PersistentVolume* volume;  // nullptr: it does not exist
    std::unique_ptr<NodeMatcher> matcher;
  };
  std::vector<Bound> bound;
  std::vector<DelayedClaim> delayed;  // in the order of the pod's volumes
  std::vector<const DelayedClaim*> by_size;

  // The bits of all reasons that apply to the node.
  uint64_t judge(const Cluster& cluster, NodeIndex node, VolumePlan* plan) const;
  uint64_t judge_delayed(const Cluster& cluster, NodeIndex node, VolumePlan* plan) const;
};

VolumeBinding::~VolumeBinding() = default;

VolumeBinding::VolumeBinding(Attempt& attempt) {
  const std::vector<const api::PersistentVolumeClaim*> claims = usable_claims(attempt);
  if (attempt.stopped() || claims.empty()) return;
  const StorageFacts& storage = attempt.cluster.storage;
  const bool many = attempt.decision.candidates.size() > 64;
  state_ = std::make_unique<State>();
  bool immediate = false;
  for (const api::PersistentVolumeClaim* claim : claims) {
    if (is_bound(*claim)) {
      static const api::StringMap kNoSelector;
      const api::PersistentVolume* volume = storage.volumes.find(claim->volume_name);
      auto matcher =
          volume ? std::make_unique<NodeMatcher>(attempt.cluster, kNoSelector, volume->node_affinity, many) : nullptr;
      state_->bound.push_back({volume, std::move(matcher)});
      continue;
    }
    const api::StorageClass* storage_class = storage.classes.find(class_of(*claim));
    if (storage_class && storage_class->volume_binding_mode.empty()) {
      attempt.decision.error = "VolumeBindingMode not set for StorageClass " + quote(storage_class->metadata.name);
      return;
    }
    const bool waits = storage_class && storage_class->volume_binding_mode == "WaitForFirstConsumer";
    if (!waits || !claim->volume_name.empty())
      immediate = true;
    else
      state_->delayed.emplace_back(attempt.cluster, *claim);
  }
  if (immediate) attempt.refuse_pod(Plugin::kVolumeBinding, "pod has unbound immediate PersistentVolumeClaims");
  for (const DelayedClaim& delayed : state_->delayed) state_->by_size.push_back(&delayed);
  std::stable_sort(state_->by_size.begin(), state_->by_size.end(),
                   [](const auto* a, const auto* b) { return a->request < b->request; });
}

uint64_t VolumeBinding::State::judge(const Cluster& cluster, NodeIndex node, VolumePlan* plan) const {
  uint64_t reasons = 0;
  for (const Bound& one : bound) {
    if (one.volume && one.matcher->matches(node)) continue;
    reasons |= uint64_t{1} << (one.volume ? kNodeConflict : kVolumeMissing);
    break;
  }
  return reasons | judge_delayed(cluster, node, plan);
}

uint64_t VolumeBinding::State::judge_delayed(const Cluster& cluster, NodeIndex node, VolumePlan* plan) const {
  std::vector<const DelayedClaim*> provision;
  for (const DelayedClaim& one : delayed) {
    const auto selected = one.claim->metadata.annotations.find(api::kSelectedNodeAnnotation);
    if (selected == one.claim->metadata.annotations.end()) continue;
    if (selected->second != cluster.rest(node).name) return uint64_t{1} << kNothingToBind;
    provision.push_back(&one);
  }
  std::set<const api::PersistentVolume*> taken;
  for (const DelayedClaim* one : by_size) {
    if (one->claim->metadata.annotations.contains(api::kSelectedNodeAnnotation)) continue;
    const api::PersistentVolume* volume = find_volume(*one, cluster, node, taken);
    if (!volume) {
      provision.push_back(one);
      continue;
    }
    taken.insert(volume);
    if (plan) plan->bind[one->claim->metadata.name] = volume->metadata.name;
  }
  for (const DelayedClaim* one : provision) {
    if (const std::optional<BindingReason> reason = provision_refusal(cluster, *one, node))
      return uint64_t{1} << *reason;
    if (plan) plan->provision.push_back(one->claim->metadata.name);
  }
  return 0;
}

void VolumeBinding::filter(Attempt& attempt) {
  if (!state_) return;
  attempt.filter([&](NodeIndex node) {
    VolumePlan plan;
    const bool keep = attempt.options.keep_plans;
    const uint64_t reasons = state_->judge(attempt.cluster, node, keep ? &plan : nullptr);
    if (reasons != 0) return NodeRefusal{Plugin::kVolumeBinding, true, reasons};
    if (keep) {
      std::sort(plan.provision.begin(), plan.provision.end());
      attempt.decision.plans[node] = std::move(plan);
    }
    return NodeRefusal{};
  });
}

}  // namespace dra::placement
