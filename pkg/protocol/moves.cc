#include "pkg/protocol/moves.h"

#include <algorithm>

namespace dra::protocol {

std::optional<uint32_t> read_moves_per_hour(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > 4 || !digits || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  uint32_t number = 0;
  for (const char digit : text) number = number * 10 + static_cast<uint32_t>(digit - '0');
  if (number > kMostMovesPerHour) return std::nullopt;
  return number;
}

bool names_kept_class(const api::ResourceClaimSpec& spec,
                      const std::function<const api::DeviceClass*(const std::string&)>& class_of) {
  const auto is_kept = [&](const std::string& name) {
    const api::DeviceClass* known = class_of(name);
    if (known == nullptr) return false;
    const auto mark = known->metadata.annotations.find(kPreemptionAnnotation);
    return mark != known->metadata.annotations.end() && mark->second == "never";
  };
  return std::any_of(spec.requests.begin(), spec.requests.end(), [&](const api::DeviceRequest& request) {
    return (request.exactly && is_kept(request.exactly->device_class_name)) ||
           std::any_of(request.first_available.begin(), request.first_available.end(),
                       [&](const auto& one) { return is_kept(one.device_class_name); });
  });
}

}  // namespace dra::protocol
