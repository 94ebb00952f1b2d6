#include "pkg/allocator/filters.h"

#include <algorithm>

namespace dra::allocator {

namespace {

void add_text(std::string& key, std::string_view text) {
  key += std::to_string(text.size());
  key += ':';
  key += text;
}

std::string filter_key(const Filter& filter) {
  std::string key;
  for (SelectorId id : filter.class_selectors) key += std::to_string(id) + ",";
  key += '|';
  for (SelectorId id : filter.request_selectors) key += std::to_string(id) + ",";
  key += '|';
  for (const api::DeviceToleration& t : filter.tolerations) {
    add_text(key, t.key);
    add_text(key, t.op);
    add_text(key, t.value);
    add_text(key, t.effect);
  }
  key += '|';
  for (const auto& [name, quantity] : filter.capacity) {
    add_text(key, name);
    add_text(key, quantity.to_string());
  }
  return key;
}

}  // namespace

// k8s.io/dynamic-resource-allocation/resourceclaim ToleratesTaint: an empty key with Exists matches every key, an empty
// effect every effect.
bool tolerates(const std::vector<api::DeviceToleration>& tolerations, const api::DeviceTaint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const api::DeviceToleration& t) {
    if (!t.effect.empty() && t.effect != taint.effect) return false;
    if (!t.key.empty() && t.key != taint.key) return false;
    if (t.op == "Exists") return true;
    return (t.op.empty() || t.op == "Equal") && t.value == taint.value;
  });
}

FilterId Filters::intern(Filter filter) {
  auto [it, fresh] = index_.try_emplace(filter_key(filter), static_cast<FilterId>(filters_.size()));
  if (fresh) filters_.push_back(std::make_unique<Filter>(std::move(filter)));
  return it->second;
}

void Filters::clear() {
  filters_.clear();
  index_.clear();
  kept_words_ = 0;
}

const CapacityFit& Filters::fit(Filter& filter, const inventory::CapacityShape& shape) {
  auto it = filter.fits.find(shape.serial);
  if (it != filter.fits.end()) return it->second;
  return filter.fits.emplace(shape.serial, fit_capacity(shape, filter.capacity)).first->second;
}

const api::DeviceTaint* Filters::untolerated(const Filter& filter, const inventory::Pool& pool, uint32_t device) const {
  for (const api::DeviceTaint* taint : core_.taints(pool, device)) {
    if (taint->effect != "NoSchedule" && taint->effect != "NoExecute") continue;
    bool ignored = taint->effect == "NoSchedule" &&
                   std::find(ignored_taints_.begin(), ignored_taints_.end(), taint->key) != ignored_taints_.end();
    if (!ignored && !tolerates(filter.tolerations, *taint)) return taint;
  }
  return nullptr;
}

std::string Filters::disabled_feature(const inventory::Pool& pool, uint32_t device) const {
  uint8_t flags = pool.flags(device);
  if ((flags & inventory::kConsumes) && !core_.features().partitionable) return "DRAPartitionableDevices";
  if ((flags & inventory::kHasConditions) && !core_.features().binding_conditions) return "DRADeviceBindingConditions";
  return {};
}

const FilterMask& Filters::make_mask(Filter& filter, const inventory::Pool& pool) {
  if (filter.masks.size() <= pool.id) filter.masks.resize(pool.id + 1);
  auto& kept = filter.masks[pool.id];
  if (!kept) {
    kept = std::make_unique<FilterMask>();
    kept_words_ += 3 * pool.words();
  }
  FilterMask& mask = *kept;
  if (filter.fits.size() > 4096) filter.fits.clear();
  mask.table_version = pool.table_version;
  mask.any_failed = false;
  mask.selectable.assign(pool.words(), 0);
  mask.failed.assign(pool.words(), 0);
  bool tainted = core_.features().device_taints && core_.any_taints(pool);
  mask.usable.clear();
  bool check_capacity = core_.features().consumable;
  if (pool.state == inventory::PoolState::kComplete || pool.stale_first() < pool.size()) {
    for (uint32_t device = 0; device < pool.size(); ++device) {
      if (pool.state_of(device) != inventory::PoolState::kComplete) continue;
      if (!disabled_feature(pool, device).empty()) continue;
      Truth truth = Truth::kTrue;
      for (size_t i = 0; truth == Truth::kTrue && i < filter.class_selectors.size(); ++i)
        truth = selectors_.evaluate(filter.class_selectors[i], pool, device);
      for (size_t i = 0; truth == Truth::kTrue && i < filter.request_selectors.size(); ++i)
        truth = selectors_.evaluate(filter.request_selectors[i], pool, device);
      if (truth == Truth::kError) {
        inventory::set_bit(mask.failed.data(), device);
        mask.any_failed = true;
      }
      if (truth != Truth::kTrue || (check_capacity && !fit(filter, pool.shape(device)).fits)) continue;
      inventory::set_bit(mask.selectable.data(), device);
    }
  }
  mask.usable = mask.selectable;
  for (uint32_t device = 0; tainted && device < pool.size(); ++device)
    if (inventory::test_bit(mask.usable.data(), device) && untolerated(filter, pool, device) != nullptr)
      inventory::clear_bit(mask.usable.data(), device);
  return mask;
}

}  // namespace dra::allocator
