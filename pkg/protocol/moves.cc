#include "pkg/protocol/moves.h"

#include <algorithm>

namespace dra::protocol {
namespace {

template <class F>
void each_class(const api::ResourceClaimSpec& spec, F&& f) {
  for (const api::DeviceRequest& request : spec.requests) {
    if (request.exactly) f(request.exactly->device_class_name);
    for (const auto& one : request.first_available) f(one.device_class_name);
  }
}

}  // namespace

std::optional<uint32_t> read_moves_per_hour(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > 4 || !digits || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  uint32_t number = 0;
  for (const char digit : text) number = number * 10 + static_cast<uint32_t>(digit - '0');
  if (number > kMostMovesPerHour) return std::nullopt;
  return number;
}

std::optional<Defragment> read_defragment(std::string_view text) {
  if (text == "off") return Defragment::kOff;
  if (text == "advice") return Defragment::kAdvice;
  if (text == "on") return Defragment::kOn;
  return std::nullopt;
}

Defragment defragment_for(const api::ResourceClaimSpec& spec, Defragment flag,
                          const std::function<const api::DeviceClass*(const std::string&)>& class_of) {
  Defragment least = flag;
  each_class(spec, [&](const std::string& name) {
    const api::DeviceClass* known = class_of(name);
    if (known == nullptr) return;
    const auto said = known->metadata.annotations.find(kDefragmentAnnotation);
    if (said != known->metadata.annotations.end())
      least = std::min(least, read_defragment(said->second).value_or(Defragment::kOff));
  });
  return least;
}

bool is_kept_class(const api::DeviceClass& one) {
  const auto mark = one.metadata.annotations.find(kPreemptionAnnotation);
  return mark != one.metadata.annotations.end() && mark->second == "never";
}

bool names_kept_class(const api::ResourceClaimSpec& spec,
                      const std::function<const api::DeviceClass*(const std::string&)>& class_of) {
  bool kept = false;
  each_class(spec, [&](const std::string& name) {
    const api::DeviceClass* known = class_of(name);
    if (known == nullptr) return;
    kept = kept || is_kept_class(*known);
  });
  return kept;
}

}  // namespace dra::protocol
