#include "pkg/allocator/plan/filters.h"
#include "pkg/api/selectors.h"

#include <algorithm>

namespace dra::allocator {

using inventory::Pool;

namespace {

constexpr uint64_t kNewFilterSteps = 4;
constexpr size_t kFreesOfFilter = 16;
constexpr size_t kFreesOfAnswer = 3;
constexpr size_t kFreesOfFit = 4;
constexpr size_t kMaxFits = 4096;
constexpr size_t kAllocationBytes = 16;  // the overhead of one allocation

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
  if (filter.shares_silicon) key += "|s";
  if (filter.counts_takes) key += "|n";
  if (filter.ask) key += "|a" + filter.ask->key;
  return key;
}

}  // namespace

FilterId Filters::intern(Filter filter) {
  auto [it, fresh] = index_.try_emplace(filter_key(filter), static_cast<FilterId>(filters_.size()));
  if (!fresh) return it->second;
  meter_.charge(kNewFilterSteps);
  text_bytes_ += 2 * it->first.size();
  filters_.push_back(std::make_unique<Filter>(std::move(filter)));
  return it->second;
}

FilterMask& MaskTable::make(inventory::PoolId pool, size_t& bytes) {
  const size_t piece = pool / kPiece;
  if (piece >= pieces_.size()) {
    bytes += (piece + 1 - pieces_.size()) * sizeof pieces_[0];
    pieces_.resize(piece + 1);
  }
  if (!pieces_[piece]) {
    pieces_[piece] = std::make_unique<Piece>();
    bytes += sizeof(Piece);
  }
  std::unique_ptr<FilterMask>& mask = (*pieces_[piece])[pool % kPiece];
  if (!mask) {
    mask = std::make_unique<FilterMask>();
    bytes += sizeof(FilterMask) + kAllocationBytes;
  }
  return *mask;
}

void Filters::drop_answers(Filter& filter) {
  deferred_frees_.add(filter.answers, kFreesOfAnswer);
}

void Filters::drop_made(Filter& filter) {
  filter.masks.drop(deferred_frees_);
  drop_answers(filter);
  deferred_frees_.add(filter.fits, kFreesOfFit);
}

void Filters::clear() {
  for (const auto& filter : filters_) drop_made(*filter);
  deferred_frees_.add(filters_, kFreesOfFilter);
  deferred_frees_.add(index_, 2);
  bytes_ = text_bytes_ = 0;
}

const CapacityFit& Filters::fit(Filter& filter, const inventory::CapacityShape& shape) {
  auto it = filter.fits.find(shape.serial);
  if (it != filter.fits.end()) return it->second;
  account(filter,
          sizeof(CapacityFit) + 64 + shape.entries.size() * (sizeof(inventory::Amount) + sizeof(api::Quantity)));
  return filter.fits
      .emplace(shape.serial, fit_capacity(shape, filter.capacity, device_index_.features().fractional_ranges,
                                          device_index_.features().either_capacity_name))
      .first->second;
}

const api::DeviceTaint* Filters::untolerated(const Filter& filter, const inventory::Pool& pool, uint32_t device) const {
  for (const api::DeviceTaint* taint : device_index_.taints(pool, device))
    if (api::keeps_new_pods_away(*taint, filter.tolerations, ignored_taints_)) return taint;
  return nullptr;
}

std::string Filters::disabled_feature(const inventory::Pool& pool, uint32_t device) const {
  uint8_t flags = pool.flags(device);
  if ((flags & inventory::kConsumes) && !device_index_.features().partitionable) return "DRAPartitionableDevices";
  if ((flags & inventory::kHasConditions) && !device_index_.features().binding_conditions)
    return "DRADeviceBindingConditions";
  return {};
}

// Evaluates the selectors of one device from `next` on; false if the slice ended first.
bool Filters::judge(Filter& filter, const Pool& pool, uint32_t device, uint32_t& next, Truth& truth) {
  const size_t of_class = filter.class_selectors.size();
  const size_t all = of_class + filter.request_selectors.size();
  truth = Truth::kTrue;
  for (; next < all && truth == Truth::kTrue; ++next) {
    const SelectorId id = next < of_class ? filter.class_selectors[next] : filter.request_selectors[next - of_class];
    if (!meter_.affords(selectors_.most_steps(id))) return false;
    truth = selectors_.evaluate(id, pool, device);
  }
  next = 0;
  return true;
}

bool Filters::go_on(Filter& filter, const Pool& pool, size_t slice, SliceAnswer& made) {
  const uint32_t count = pool.live()[slice]->size();
  const bool check_capacity = device_index_.features().consumable;
  for (; made.next_device < count; ++made.next_device) {
    if (made.next_device % 4 == 3) meter_.charge(1);
    if (meter_.stopped()) return false;
    const uint32_t device = pool.first_of(slice) + made.next_device;
    if (!disabled_feature(pool, device).empty()) continue;
    Truth truth;
    if (!judge(filter, pool, device, made.next_selector, truth)) return false;
    if (truth == Truth::kError) {
      inventory::set_bit(made.failed.data(), made.next_device);
      made.any_failed = true;
    }
    // Of a device with an unknown field it is not known that a request for all devices does not mean it.
    if (pool.refuses_some && truth != Truth::kFalse && (pool.flags(device) & inventory::kRefused) != 0)
      inventory::set_bit(made.selectable.data(), made.next_device);
    if (truth != Truth::kTrue || (check_capacity && !fit(filter, pool.shape(device)).fits)) continue;
    inventory::set_bit(made.selectable.data(), made.next_device);
  }
  return true;
}

const SliceAnswer* Filters::answer(Filter& filter, const Pool& pool, size_t slice) {
  constexpr size_t kMaxAnswers = 4096;
  meter_.charge(1);
  if (filter.answers_epoch != device_index_.strings().reuse_epoch()) {
    drop_answers(filter);
    filter.answers_epoch = device_index_.strings().reuse_epoch();
  }
  const inventory::SliceTable& table = *pool.live()[slice];
  inventory::Hash128 key = table.shape_mark;
  key.add(table.driver);
  for (SelectorId id : filter.class_selectors) selectors_.mark(id, table, key);
  for (SelectorId id : filter.request_selectors) selectors_.mark(id, table, key);
  auto it = filter.answers.find(key);
  if (it == filter.answers.end()) {
    if (filter.answers.size() >= kMaxAnswers) drop_answers(filter);
    it = filter.answers.try_emplace(key).first;
    const size_t words = inventory::words_for(table.size());
    it->second.selectable.assign(words, 0);
    it->second.failed.assign(words, 0);
    account(filter, 2 * words * sizeof(uint64_t) + sizeof(SliceAnswer) + 48);
  }
  return go_on(filter, pool, slice, it->second) ? &it->second : nullptr;
}

namespace {

// Copies the set bits of `from` into `to`, starting at bit `at`. Bits of `from` beyond its devices are zero.
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

// Sets up the mask for the current pool, unless it exists or is in progress.
void Filters::begin_mask(Filter& filter, const Pool& pool, FilterMask& mask) {
  if (mask.table_version == pool.table_version && mask.size_ > 0) return;
  if (filter.fits.size() > kMaxFits) deferred_frees_.add(filter.fits, kFreesOfFit);
  mask.table_version = pool.table_version;
  mask.ready_ = mask.any_failed = false;
  mask.next_slice_ = 0;
  mask.narrowed_ = pool.refuses_any() || (device_index_.features().device_taints && device_index_.any_taints(pool));
  mask.size_ = pool.words();
  const size_t before = mask.words_.size();
  mask.words_.assign((mask.narrowed_ ? 2 : 1) * mask.size_, 0);
  if (mask.words_.size() > before)
    account(filter, (mask.words_.size() - before) * sizeof(uint64_t) + (before == 0 ? kAllocationBytes : 0));
}

void Filters::drop_unusable(const Filter& filter, const Pool& pool, FilterMask& mask) {
  const bool taints = device_index_.features().device_taints;
  uint64_t* usable = mask.words_.data() + mask.size_;
  std::copy_n(mask.words_.data(), mask.size_, usable);
  meter_.charge(pool.size() / 4);
  for (uint32_t device = 0; device < pool.size(); ++device)
    if (inventory::test_bit(usable, device) &&
        ((filter.counts_takes ? pool.refuses_even_counted(device) : pool.refuses(device)) ||
         (taints && untolerated(filter, pool, device) != nullptr)))
      inventory::clear_bit(usable, device);
}

const FilterMask* Filters::make_mask(Filter& filter, const Pool& pool) {
  if (bytes_ > 2 * max_bytes()) return nullptr;
  size_t made = 0;
  FilterMask& mask = filter.masks.make(pool.id, made);
  account(filter, made);
  begin_mask(filter, pool, mask);
  for (size_t& s = mask.next_slice_; s < pool.live().size(); ++s) {
    const uint32_t first = pool.first_of(s);
    if (!device_index_.may_be_usable(pool, s)) continue;
    if (meter_.stopped()) return nullptr;
    const SliceAnswer* part = answer(filter, pool, s);
    if (part == nullptr) return nullptr;
    or_bits(mask.words_.data(), first, part->selectable);
    if (!part->any_failed) continue;
    if (!mask.any_failed) {
      mask.words_.resize(mask.words_.size() + mask.size_, 0);
      account(filter, mask.size_ * sizeof(uint64_t));
    }
    mask.any_failed = true;
    or_bits(mask.words_.data() + (mask.narrowed_ ? 2 : 1) * mask.size_, first, part->failed);
  }
  if (mask.narrowed_) drop_unusable(filter, pool, mask);
  mask.ready_ = true;
  return &mask;
}

void Filters::trim() {
  if (bytes_ <= max_bytes()) return;
  std::vector<Filter*> by_use;
  for (const auto& filter : filters_)
    if (filter->bytes > 0) by_use.push_back(filter.get());
  std::sort(by_use.begin(), by_use.end(), [](const Filter* a, const Filter* b) { return a->last_used < b->last_used; });
  for (Filter* filter : by_use) {
    if (bytes_ <= max_bytes() / 4 * 3) return;
    bytes_ -= filter->bytes;
    filter->bytes = 0;
    drop_made(*filter);
  }
}

}  // namespace dra::allocator
