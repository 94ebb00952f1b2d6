#include "pkg/allocator/plan/derived_columns.h"

#include <algorithm>

#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::Pool;
using inventory::StrId;
using inventory::Words;

namespace {
constexpr size_t kMaxValueMasks = 1 << 18;  // words of Column::with
}  // namespace

uint32_t DerivedColumns::number(std::string_view code) {
  const auto [known, fresh] = numbers_.try_emplace(std::string(code), values_);
  values_ += fresh;
  return known->second;
}

// What a value is in a column: its number, or a list of numbers.
uint32_t DerivedColumns::entry(Column& column, std::string_view code) {
  std::vector<uint32_t> elements;
  for (const std::string_view element : inventory::value_elements(code)) elements.push_back(number(element));
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  if (elements.empty()) return kNoValue;
  if (elements.size() == 1) return elements[0];
  column.lists.push_back(std::move(elements));
  return kListFlag | static_cast<uint32_t>(column.lists.size() - 1);
}

void DerivedColumns::read_own(const inventory::NodeView& view, const std::string& attribute,
                              const inventory::DeviceIndex& device_index) {
  if (!columns_.empty()) return;
  columns_.resize(1 + expressions_.size());
  Column& own = columns_[0];
  const bool lists = device_index.features().list_attributes;
  std::unordered_map<StrId, uint32_t> seen;
  const StrId key = device_index.strings().find(attribute);
  for (const inventory::Segment& segment : view.segments) {
    const Pool& pool = *device_index.pool(segment.pool);
    for (uint32_t device = 0; device < pool.words() * 64; ++device) {
      const StrId value =
          device < pool.size() && key != inventory::kNoStr ? pool.attribute(device, key) : inventory::kNoStr;
      if (value == inventory::kNoStr) {
        own.value.push_back(kNoValue);
        continue;
      }
      const auto [at, fresh] = seen.try_emplace(value, kNoValue);
      const std::string_view code = device_index.strings().text(value);
      const bool list = !code.empty() && code[0] == 'l';
      if (fresh && (lists || !list)) at->second = entry(own, code);
      own.value.push_back(at->second);
    }
  }
  const size_t words = own.value.size() / 64;
  for (size_t c = 1; c < columns_.size(); ++c) columns_[c].value.assign(own.value.size(), kNoValue);
  known_.assign(expressions_.size(), Words(words, 0));
  failed_ = alone_ = known_;
}

void DerivedColumns::set(uint32_t column, uint32_t device, const DerivedValue& value, bool lists) {
  changed_ = true;
  inventory::set_bit(known_[column - 1].data(), device);
  if (value.failed) {
    any_failed_ = true;
    inventory::set_bit(failed_[column - 1].data(), device);
    return;
  }
  uint32_t& at = columns_[column].value[device];
  if (!lists && !value.code.empty() && value.code[0] == 'l') {
    any_alone_ = true;
    inventory::set_bit(alone_[column - 1].data(), device);
    at = values_++;
    return;
  }
  at = entry(columns_[column], value.code);
}

bool DerivedColumns::evaluate(uint32_t column, const Words& wanted, const inventory::NodeView& view,
                              inventory::DeviceIndex& device_index, Selectors& selectors, Meter& meter) {
  const bool lists = device_index.features().list_attributes;
  bool any = false;
  size_t first_word = 0;
  for (const inventory::Segment& segment : view.segments) {
    const Pool& pool = *device_index.pool(segment.pool);
    for (size_t w = 0; w < pool.words(); ++w) {
      uint64_t missing = wanted[first_word + w] & ~known_[column - 1][first_word + w];
      for (; missing != 0; missing &= missing - 1) {
        if (any && meter.stopped()) return false;
        any = true;
        const auto device = static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(missing)));
        set(column, static_cast<uint32_t>(first_word * 64) + device,
            selectors.derive(expressions_[column - 1], pool, device), lists);
      }
    }
    first_word += pool.words();
  }
  return true;
}

void DerivedColumns::finish() {
  if (!changed_) return;
  changed_ = false;
  const size_t words = columns_[0].value.size() / 64;
  const bool masks = words * values_ * columns_.size() <= kMaxValueMasks;
  for (Column& column : columns_) {
    column.values = values_;
    column.with.clear();
    if (!masks) continue;
    column.with.assign(values_, Words(words, 0));
    for (uint32_t device = 0; device < column.value.size(); ++device) {
      if (column.missing(device)) continue;
      for (const uint32_t* v = column.begin(device); v != column.end(device); ++v)
        inventory::set_bit(column.with[*v].data(), device);
    }
  }
}

DerivedColumns& DerivedColumnsCache::get(const inventory::NodeView& view, const std::string& attribute,
                                         const std::vector<SelectorId>& expressions) {
  std::string key(reinterpret_cast<const char*>(&view.stamp), sizeof view.stamp);
  for (const SelectorId id : expressions) key.append(reinterpret_cast<const char*>(&id), sizeof id);
  key += attribute;
  std::unique_ptr<DerivedColumns>& kept = kept_[key];
  if (!kept) kept = std::make_unique<DerivedColumns>(expressions);
  kept->read_own(view, attribute, device_index_);
  return *kept;
}

void DerivedColumnsCache::trim() {
  size_t size = 0;
  for (const auto& [key, columns] : kept_) size += columns->size();
  if (size > kMaxDerivedValues) clear();
}

}  // namespace dra::allocator
