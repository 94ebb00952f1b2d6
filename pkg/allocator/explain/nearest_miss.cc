#include "pkg/allocator/explain/nearest_miss.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/allocator/explain/selector_text.h"
#include "pkg/base/closest.h"
#include "pkg/base/strings.h"

namespace dra::allocator {

namespace {

constexpr size_t kMostDevices = 4096;  // whose attributes are examined
constexpr size_t kMostText = 8192;     // of a selector
constexpr size_t kShownMisses = 3;

// The drivers in `device.driver == "x"`.
std::vector<std::string> drivers_named(std::string_view text) {
  constexpr std::string_view kDriver = "device.driver";
  std::vector<std::string> names;
  for (size_t at = text.find(kDriver); at != std::string_view::npos; at = text.find(kDriver, at + 1)) {
    std::string_view rest = skip_blanks(text.substr(at + kDriver.size()));
    if (!rest.starts_with("==")) continue;
    rest.remove_prefix(2);
    if (auto name = take_quoted(rest)) names.push_back(std::move(*name));
  }
  return names;
}

std::optional<std::string> most_like(const std::string& wanted, const std::set<std::string>& known) {
  return closest(wanted, std::vector<std::string>(known.begin(), known.end()));
}

// The attributes of all devices, as "domain/name".
std::set<std::string> attributes_of_devices(const inventory::DeviceIndex& device_index) {
  std::set<std::string> names;
  size_t examined = 0;
  std::set<inventory::StrId> keys;
  for (inventory::PoolId id = 0; id < device_index.pool_slots() && examined < kMostDevices; ++id) {
    const inventory::Pool* pool = device_index.pool(id);
    if (pool == nullptr) continue;
    for (const inventory::SliceTable* slice : pool->live()) {
      examined += slice->size();
      for (const inventory::ColumnMark& mark : slice->marks) keys.insert(mark.key);
    }
  }
  for (const inventory::StrId key : keys) names.emplace(device_index.strings().text(key));
  return names;
}

std::string some_of(const std::set<std::string>& names) {
  std::string text;
  size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShownMisses) break;
    text += (text.empty() ? "" : ", ") + name;
  }
  return names.size() > kShownMisses ? text + " and " + std::to_string(names.size() - kShownMisses) + " more" : text;
}

}  // namespace

std::string nearest_miss(const inventory::DeviceIndex& device_index, const std::vector<std::string>& selectors) {
  std::set<std::string> drivers;
  for (inventory::PoolId id = 0; id < device_index.pool_slots(); ++id)
    if (const inventory::Pool* pool = device_index.pool(id); pool != nullptr && pool->has_slices())
      drivers.insert(pool->driver_text);
  for (const std::string& selector : selectors)
    for (const std::string& name : drivers_named(std::string_view(selector).substr(0, kMostText))) {
      if (drivers.contains(name)) continue;
      const std::string miss = "no device has driver " + name;
      if (const auto like = most_like(name, drivers)) return miss + ": did you mean " + *like + "?";
      return miss + (drivers.empty() ? "" : " (drivers here: " + some_of(drivers) + ")");
    }
  const std::set<std::string> known = attributes_of_devices(device_index);
  for (const std::string& selector : selectors)
    for (const NamedValue& named : values_named(std::string_view(selector).substr(0, kMostText), "attributes")) {
      const std::string& name = named.name;
      if (known.contains(name)) continue;
      const auto short_name = [&](const std::string& full) {
        const size_t slash = name.find('/');
        return quote(full.starts_with(name.substr(0, slash + 1)) ? full.substr(slash + 1) : full);
      };
      const std::string miss = "no device has attribute " + short_name(name);
      if (const auto like = most_like(name, known)) return miss + ": did you mean " + short_name(*like) + "?";
      return miss;
    }
  return "";
}

}  // namespace dra::allocator
