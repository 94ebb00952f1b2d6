#include "pkg/inventory/device_values.h"

#include <algorithm>

#include "pkg/inventory/value_code.h"

namespace dra::inventory {

std::optional<std::vector<std::string>> device_values(const DeviceIndex& device_index, std::string_view driver,
                                                      std::string_view pool, std::string_view device,
                                                      std::string_view attribute) {
  const Pool* found = device_index.find_pool(driver, pool);
  const StrId name = device_index.strings().find(device);
  if (found == nullptr || name == kNoStr) return std::nullopt;
  uint32_t number = kNone;
  found->for_each_named(name, [&](uint32_t one) { number = std::min(number, one); });
  if (number == kNone) return std::nullopt;
  const StrId key = device_index.strings().find(attribute);
  const StrId value = key == kNoStr ? kNoStr : found->attribute(number, key);
  std::vector<std::string> codes;
  if (value == kNoStr) return codes;
  const std::string_view code = device_index.strings().text(value);
  if (!device_index.features().list_attributes && !code.empty() && code[0] == 'l') return codes;
  for (const std::string_view element : value_elements(code)) codes.emplace_back(element);
  std::sort(codes.begin(), codes.end());
  codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  return codes;
}

}  // namespace dra::inventory
