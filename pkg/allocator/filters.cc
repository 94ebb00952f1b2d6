#include "pkg/allocator/filters.h"

#include <algorithm>

namespace dra::allocator {

using inventory::Pool;

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

SliceAnswer Filters::make_answer(Filter& filter, const Pool& pool, size_t slice) {
  uint32_t count = pool.live()[slice]->size();
  const uint64_t evaluations = selectors_.evaluations();
  SliceAnswer made;
  made.selectable.assign(inventory::words_for(count), 0);
  made.failed.assign(inventory::words_for(count), 0);
  bool check_capacity = core_.features().consumable;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t device = pool.first_of(slice) + i;
    if (!disabled_feature(pool, device).empty()) continue;
    Truth truth = Truth::kTrue;
    for (size_t s = 0; truth == Truth::kTrue && s < filter.class_selectors.size(); ++s)
      truth = selectors_.evaluate(filter.class_selectors[s], pool, device);
    for (size_t s = 0; truth == Truth::kTrue && s < filter.request_selectors.size(); ++s)
      truth = selectors_.evaluate(filter.request_selectors[s], pool, device);
    if (truth == Truth::kError) {
      inventory::set_bit(made.failed.data(), i);
      made.any_failed = true;
    }
    if (truth != Truth::kTrue || (check_capacity && !fit(filter, pool.shape(device)).fits)) continue;
    inventory::set_bit(made.selectable.data(), i);
  }
  work_ += count / 4 + 4 * (selectors_.evaluations() - evaluations);
  return made;
}

const SliceAnswer& Filters::answer(Filter& filter, const Pool& pool, size_t slice) {
  constexpr size_t kMaxAnswers = 4096;
  ++work_;
  if (filter.answers_epoch != core_.strings().reuse_epoch() || filter.answers.size() >= kMaxAnswers) {
    filter.answers.clear();
    filter.answers_epoch = core_.strings().reuse_epoch();
  }
  const inventory::SliceTable& table = *pool.live()[slice];
  inventory::Hash128 key = table.shape_mark;
  key.add(table.driver);
  for (SelectorId id : filter.class_selectors) selectors_.mark(id, table, key);
  for (SelectorId id : filter.request_selectors) selectors_.mark(id, table, key);
  if (auto it = filter.answers.find(key); it != filter.answers.end()) return it->second;
  return filter.answers.emplace(key, make_answer(filter, pool, slice)).first->second;
}

namespace {

// Sets in `to`, from bit `at` on, the bits of `from`. Bits of `from` beyond its devices are zero.
void or_bits(uint64_t* to, size_t at, const inventory::Words& from) {
  size_t shift = at & 63;
  to += at >> 6;
  for (size_t w = 0; w < from.size(); ++w) {
    if (from[w] == 0) continue;
    to[w] |= from[w] << shift;
    if (shift != 0 && (from[w] >> (64 - shift)) != 0) to[w + 1] |= from[w] >> (64 - shift);
  }
}

}  // namespace

const FilterMask& Filters::make_mask(Filter& filter, const Pool& pool) {
  if (filter.masks.size() <= pool.id) filter.masks.resize(std::max<size_t>(pool.id + 1, core_.pool_slots()));
  auto& kept = filter.masks[pool.id];
  if (kept) {
    kept_words_ -= kept->words_.size();
  } else {
    kept = std::make_unique<FilterMask>();
    kept_words_ += sizeof(FilterMask) / 8;
  }
  FilterMask& mask = *kept;
  if (filter.fits.size() > 4096) filter.fits.clear();
  mask.table_version = pool.table_version;
  mask.any_failed = false;
  mask.tainted_ = core_.features().device_taints && core_.any_taints(pool);
  mask.size_ = pool.words();
  mask.words_.assign((mask.tainted_ ? 2 : 1) * mask.size_, 0);
  for (size_t s = 0; s < pool.live().size(); ++s) {
    uint32_t first = pool.first_of(s);
    if (pool.state_of(first) != inventory::PoolState::kComplete) continue;
    const SliceAnswer& part = answer(filter, pool, s);
    or_bits(mask.words_.data(), first, part.selectable);
    if (!part.any_failed) continue;
    if (!mask.any_failed) mask.words_.resize(mask.words_.size() + mask.size_, 0);
    mask.any_failed = true;
    or_bits(mask.words_.data() + (mask.tainted_ ? 2 : 1) * mask.size_, first, part.failed);
  }
  if (mask.tainted_) {
    uint64_t* usable = mask.words_.data() + mask.size_;
    std::copy_n(mask.words_.data(), mask.size_, usable);
    work_ += pool.size() / 4;
    for (uint32_t device = 0; device < pool.size(); ++device)
      if (inventory::test_bit(usable, device) && untolerated(filter, pool, device) != nullptr)
        inventory::clear_bit(usable, device);
  }
  kept_words_ += mask.words_.size();
  return mask;
}

}  // namespace dra::allocator
