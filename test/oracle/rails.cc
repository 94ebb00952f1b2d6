#include "test/oracle/rails.h"

#include <algorithm>
#include <functional>
#include <variant>

namespace dra::oracle {
namespace {

struct RailText {
  RailValues operator()(std::monostate) const { return {}; }
  RailValues operator()(int64_t v) const { return {"int " + std::to_string(v)}; }
  RailValues operator()(bool v) const { return {v ? "bool true" : "bool false"}; }
  RailValues operator()(const std::string& v) const { return {"string " + v}; }
  RailValues operator()(const api::VersionText& v) const { return {"version " + v.text}; }
  template <class T>
  RailValues operator()(const std::vector<T>& list) const {
    RailValues out;
    for (const T& item : list) out.merge((*this)(item));
    return out;
  }
};

// Each device in turn takes any entry that is left. With one value a device there is nothing to choose.
bool stand(const RailDevices& devices, std::multiset<std::string> entries, size_t at = 0) {
  if (at == devices.size()) return true;
  for (const std::string& value : devices[at]) {
    const auto entry = entries.find(value);
    if (entry == entries.end()) continue;
    std::multiset<std::string> left = entries;
    left.erase(left.find(value));
    if (stand(devices, std::move(left), at + 1)) return true;
  }
  return false;
}

bool any_list(const RailDevices& longest, size_t at, std::multiset<std::string>& entries,
              const std::function<bool(const std::multiset<std::string>&)>& fits) {
  if (at == longest.size()) return fits(entries);
  for (const std::string& value : longest[at]) {
    const auto added = entries.insert(value);
    if (any_list(longest, at + 1, entries, fits)) return true;
    entries.erase(added);
  }
  return false;
}

}  // namespace

bool same_rails(const std::vector<RailDevices>& members) {
  const RailDevices* longest = nullptr;
  for (const RailDevices& member : members) {
    for (const RailValues& device : member)
      if (device.empty()) return false;
    if (longest == nullptr || member.size() > longest->size()) longest = &member;
  }
  if (members.size() < 2) return true;
  std::multiset<std::string> entries;
  return any_list(*longest, 0, entries, [&](const std::multiset<std::string>& list) {
    return std::all_of(members.begin(), members.end(), [&](const RailDevices& member) { return stand(member, list); });
  });
}

RailValues rail_values(const World& world, const std::string& driver, const std::string& pool,
                       const std::string& device, const std::string& attribute) {
  int64_t generation = -1;
  for (const api::ResourceSlice& slice : world.slices)
    if (slice.driver == driver && slice.pool.name == pool) generation = std::max(generation, slice.pool.generation);
  for (const api::ResourceSlice& slice : world.slices) {
    if (slice.driver != driver || slice.pool.name != pool || slice.pool.generation != generation) continue;
    for (const api::Device& one : slice.devices) {
      if (one.name != device) continue;
      SceneDevice scene;
      scene.name = {driver, pool, device};
      scene.slice = &slice;
      scene.device = &one;
      const api::DeviceAttribute* found = find_attribute(scene, attribute);
      if (found == nullptr || (oracle::is_list(*found) && !world.on("DRAListTypeAttributes"))) return {};
      return std::visit(RailText{}, *found);
    }
  }
  return {};
}

}  // namespace dra::oracle
