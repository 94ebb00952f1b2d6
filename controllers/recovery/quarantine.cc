#include "controllers/recovery/quarantine.h"

#include <algorithm>

namespace dra::recovery {

using inventory::DeviceName;

// A namespace has at most one device of a driver in quarantine: by events of two namespaces that belong to one tenant,
// he takes one device from others, and no more until it is back.
bool Quarantine::counts(std::string_view ns, std::string_view driver) const {
  return std::none_of(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.name.driver == driver &&
           std::find(kept.namespaces.begin(), kept.namespaces.end(), ns) != kept.namespaces.end();
  });
}

std::vector<DeviceName> Quarantine::failed(const std::vector<DeviceName>& devices, std::string_view ns, bool reported,
                                           Timestamp now) {
  // A clock that was set back keeps nothing longer than it was meant.
  const auto over = [now](const auto& one) { return one.until <= now || one.until > now + protocol::kAvoidDevice; };
  std::erase_if(kept_, over);
  std::erase_if(suspects_, over);
  std::vector<DeviceName> fresh;
  for (const DeviceName& name : devices) {
    if (std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.name == name; })) continue;
    std::vector<std::string> namespaces;
    if (counts(ns, name.driver)) namespaces.emplace_back(ns);
    for (const Suspect& suspect : suspects_)
      if (suspect.name == name && suspect.ns != ns && counts(suspect.ns, name.driver)) namespaces.push_back(suspect.ns);
    if (namespaces.size() > (reported ? 0 : 1) && kept_.size() < kMostQuarantined) {
      std::erase_if(suspects_, [&](const Suspect& suspect) { return suspect.name == name; });
      kept_.push_back({name, std::move(namespaces), now + protocol::kAvoidDevice});
      fresh.push_back(name);
      continue;
    }
    std::erase_if(suspects_, [&](const Suspect& suspect) { return suspect.name == name && suspect.ns == ns; });
    suspects_.push_back({name, std::string(ns), now + protocol::kAvoidDevice});
    if (suspects_.size() > kMostSuspects) suspects_.pop_front();
  }
  return fresh;
}

void Quarantine::release(const std::vector<protocol::AvoidedDevice>& devices) {
  for (const protocol::AvoidedDevice& one : devices)
    std::erase_if(kept_, [&](const Kept& kept) { return kept.name == one.name && kept.until == one.until; });
}

std::string Quarantine::text(Timestamp now) const {
  std::vector<protocol::AvoidedDevice> avoided;
  for (const Kept& kept : kept_)
    if (kept.until > now) avoided.push_back({kept.name, kept.until});
  return protocol::avoided_text(std::move(avoided));
}

}  // namespace dra::recovery
