#include "pkg/protocol/avoided.h"

#include <algorithm>
#include <charconv>

#include "pkg/base/strings.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::protocol {

std::vector<AvoidedDevice> avoided_in(std::string_view text, Timestamp now) {
  std::vector<AvoidedDevice> avoided;
  for (const std::string& entry : split(text, ' ')) {
    const size_t first = entry.find('/'), last = entry.rfind('/'), equal = entry.rfind('=');
    if (first == std::string::npos || first == last || equal == std::string::npos || equal < last) continue;
    int64_t seconds = 0;
    const char* end = entry.data() + entry.size();
    if (std::from_chars(entry.data() + equal + 1, end, seconds).ptr != end) continue;
    const Timestamp until = Timestamp::at(seconds);
    if (until > now + kAvoidDevice || until <= now || avoided.size() >= kMaxAvoided) continue;
    avoided.push_back(
        {{entry.substr(0, first), entry.substr(first + 1, last - first - 1), entry.substr(last + 1, equal - last - 1)},
         until});
  }
  return avoided;
}

std::vector<AvoidedDevice> avoided_devices(const api::Pod& pod, Timestamp now) {
  const auto annotation = pod.metadata.annotations.find(kAvoidedDevices);
  return annotation == pod.metadata.annotations.end() ? std::vector<AvoidedDevice>()
                                                      : avoided_in(annotation->second, now);
}

std::vector<AvoidedDevice> own_avoided_devices(const reconcile::View& view, const api::Pod& pod) {
  std::vector<AvoidedDevice> avoided = avoided_devices(pod, view.now());
  const std::string owner = owner_key(pod);
  const auto noted = owner.empty() ? std::nullopt : view.note(owner, kAvoidedByOwner);
  if (noted) add_avoided(avoided_in(noted->text, view.now()), avoided);
  return avoided;
}

std::vector<AvoidedDevice> released_devices(const reconcile::View& view) {
  const auto noted = view.note(kQuarantine, kReleasedByHand);
  return noted ? avoided_in(noted->text, view.now()) : std::vector<AvoidedDevice>();
}

std::vector<AvoidedDevice> quarantined_devices(const reconcile::View& view) {
  const auto noted = view.note(kQuarantine, kAvoidedByOwner);
  if (!noted) return {};
  std::vector<AvoidedDevice> all = avoided_in(noted->text, view.now());
  if (all.empty()) return all;
  const std::vector<AvoidedDevice> released = released_devices(view);
  std::erase_if(all, [&](const AvoidedDevice& one) {
    return std::find(released.begin(), released.end(), one) != released.end();
  });
  return all;
}

std::vector<AvoidedDevice> avoided_devices(const reconcile::View& view, const api::Pod& pod) {
  std::vector<AvoidedDevice> avoided = own_avoided_devices(view, pod);
  add_avoided(quarantined_devices(view), avoided);
  return avoided;
}

void add_avoided(std::vector<AvoidedDevice> more, std::vector<AvoidedDevice>& avoided) {
  for (AvoidedDevice& one : more)
    if (std::none_of(avoided.begin(), avoided.end(), [&](const AvoidedDevice& own) { return own.name == one.name; }))
      avoided.push_back(std::move(one));
}

std::string avoided_text(std::vector<AvoidedDevice> avoided) {
  std::stable_sort(avoided.begin(), avoided.end(), [](const auto& a, const auto& b) { return a.until > b.until; });
  if (avoided.size() > kMaxAvoided) avoided.resize(kMaxAvoided);
  std::string text;
  for (const AvoidedDevice& one : avoided)
    text += (text.empty() ? "" : " ") + one.name.text() + "=" + std::to_string(one.until.seconds());
  return text;
}

DevicesHeldBack::DevicesHeldBack(inventory::Inventory& inventory, const std::vector<AvoidedDevice>& avoided)
    : inventory_(inventory), any_(!avoided.empty()) {
  if (!any_) return;
  api::AllocationResult held;
  for (const AvoidedDevice& one : avoided) {
    api::DeviceRequestAllocationResult& result = held.results.emplace_back();
    result.driver = one.name.driver, result.pool = one.name.pool, result.device = one.name.device;
  }
  inventory_.assume(kHeldBack, held);
}

DevicesHeldBack::~DevicesHeldBack() {
  if (any_) inventory_.forget(kHeldBack);
}

}  // namespace dra::protocol
