#include "pkg/allocator/plan/columns.h"

#include <algorithm>
#include <string>

#include "pkg/api/location_attributes.h"
#include "pkg/inventory/value_code.h"

namespace dra::allocator {

using inventory::Pool;
using inventory::StrId;

namespace {
constexpr size_t kMaxMaskWords = 1 << 18;
constexpr size_t kMaxKeptValues = 8u << 20;

// Devices whose value says nothing have none afterwards. `unknown`: the number of a numaNode of -1.
void forget(Column& column, std::string_view attribute, uint32_t unknown) {
  if (api::is_numa_node(attribute)) {
    std::replace(column.value.begin(), column.value.end(), unknown, kNoValue);
    return;
  }
  uint32_t shared = kNoValue;
  size_t devices = 0;
  for (const uint32_t value : column.value) {
    if (value == kNoValue) continue;
    if (devices++ > 0 && value != shared) return;
    shared = value;
  }
  if (devices > 1) std::fill(column.value.begin(), column.value.end(), kNoValue);
}
}  // namespace

const Column& Columns::get(const inventory::NodeView& view, StrId key, Values which) {
  auto& kept = kept_[Key{view.stamp, key, which}];
  if (!kept) {
    kept = make(view, key, which);
    kept_values_ += kept->value.size() + kept->with.size() * (kept->value.size() / 64 + 4);
    device_index_.strings().retain(key);
  }
  return *kept;
}

void Columns::clear() {
  for (const auto& [key, column] : kept_) device_index_.strings().release(key.key);
  kept_.clear();
  kept_values_ = 0;
}

void Columns::trim() {
  if (kept_values_ > kMaxKeptValues) clear();
}

std::unique_ptr<Column> Columns::make(const inventory::NodeView& view, StrId key, Values which) const {
  auto column = std::make_unique<Column>();
  std::unordered_map<std::string_view, uint32_t> numbers;
  std::unordered_map<StrId, uint32_t> scalars;
  std::string_view name = device_index_.strings().text(key);
  bool lists = device_index_.features().list_attributes;
  auto number = [&](std::string_view code) {
    return numbers.try_emplace(code, static_cast<uint32_t>(numbers.size())).first->second;
  };
  for (const inventory::Segment& segment : view.segments) {
    const Pool& pool = *device_index_.pool(segment.pool);
    // A constraint should name a qualified attribute; a bare name belongs to the driver's domain.
    StrId pool_key = key;
    if (name.find('/') == std::string_view::npos)
      pool_key = device_index_.strings().find(pool.driver_text + "/" + std::string(name));
    for (uint32_t device = 0; device < pool.words() * 64; ++device) {
      StrId value =
          device < pool.size() && pool_key != inventory::kNoStr ? pool.attribute(device, pool_key) : inventory::kNoStr;
      if (value == inventory::kNoStr) {
        column->value.push_back(kNoValue);
        continue;
      }
      if (auto it = scalars.find(value); it != scalars.end()) {
        column->value.push_back(it->second);
        continue;
      }
      std::string_view code = device_index_.strings().text(value);
      std::vector<uint32_t> elements;
      bool is_list = !code.empty() && code[0] == 'l';
      if (!is_list || lists)
        for (std::string_view element : inventory::value_elements(code)) elements.push_back(number(element));
      std::sort(elements.begin(), elements.end());
      elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
      uint32_t entry = kNoValue;
      if (elements.size() == 1) {
        entry = elements[0];
      } else if (elements.size() > 1) {
        entry = kListFlag | static_cast<uint32_t>(column->lists.size());
        column->lists.push_back(std::move(elements));
      }
      scalars.emplace(value, entry);
      column->value.push_back(entry);
    }
  }
  if (which == Values::kTelling && (api::is_numa_node(name) || api::is_pcie_root(name))) {
    const auto unknown = numbers.find(inventory::encode_value(api::kUnknownNumaNode));
    forget(*column, name, unknown == numbers.end() ? kNoValue : unknown->second);
  }
  column->values = static_cast<uint32_t>(numbers.size());
  column->codes.resize(numbers.size());
  for (const auto& [code, at] : numbers) column->codes[at] = code;
  size_t words = column->value.size() / 64;
  if (words * column->values > kMaxMaskWords) return column;
  column->with.assign(column->values, inventory::Words(words, 0));
  for (uint32_t device = 0; device < column->value.size(); ++device) {
    if (column->missing(device)) continue;
    for (const uint32_t* v = column->begin(device); v != column->end(device); ++v)
      inventory::set_bit(column->with[*v].data(), device);
  }
  return column;
}

}  // namespace dra::allocator
