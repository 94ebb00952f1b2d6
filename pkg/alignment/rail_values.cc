#include "pkg/alignment/rail_values.h"

#include <algorithm>
#include <set>

namespace dra::alignment {

namespace {

// Devices matched with entries by augmenting paths.
class Standing {
 public:
  Standing(const MemberRails& devices, std::span<const std::string> entries)
      : devices_(devices), entries_(entries), owner_(entries.size(), kFree) {}

  bool all() {
    for (size_t device = 0; device < devices_.size(); ++device) {
      visited_.assign(entries_.size(), false);
      if (!place(device)) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kFree = SIZE_MAX;

  bool place(size_t device) {
    for (size_t entry = 0; entry < entries_.size(); ++entry) {
      if (visited_[entry] || !std::binary_search(devices_[device].begin(), devices_[device].end(), entries_[entry]))
        continue;
      visited_[entry] = true;
      if (owner_[entry] != kFree && !place(owner_[entry])) continue;
      owner_[entry] = device;
      return true;
    }
    return false;
  }

  const MemberRails& devices_;
  std::span<const std::string> entries_;
  std::vector<size_t> owner_;
  std::vector<bool> visited_;
};

// Chooses a value for each device of the member with the most; the others must fit the list.
class ListSearch {
 public:
  ListSearch(std::span<const MemberRails> members, const MemberRails& most, uint64_t steps)
      : members_(members), most_(most), steps_(steps) {}

  Agreement run() {
    if (choose(0)) return Agreement::kAgree;
    return steps_ == 0 ? Agreement::kUndecided : Agreement::kDisagree;
  }

 private:
  // An entry that members with equally many devices cannot stand for is useless: they need all entries.
  bool is_common(const std::string& value) const {
    return std::all_of(members_.begin(), members_.end(), [&](const MemberRails& member) {
      return member.size() < most_.size() || std::any_of(member.begin(), member.end(), [&](const DeviceRails& device) {
               return std::binary_search(device.begin(), device.end(), value);
             });
    });
  }

  bool choose(size_t device) {
    if (device == most_.size()) return seen_.insert(sorted()).second && fits_all();
    for (const std::string& value : most_[device]) {
      if (steps_ == 0) return false;
      --steps_;
      if (!is_common(value)) continue;
      entries_.push_back(value);
      if (choose(device + 1)) return true;
      entries_.pop_back();
    }
    return false;
  }

  std::vector<std::string> sorted() const {
    std::vector<std::string> copy = entries_;
    std::sort(copy.begin(), copy.end());
    return copy;
  }

  bool fits_all() {
    return std::all_of(members_.begin(), members_.end(), [&](const MemberRails& member) {
      steps_ -= std::min<uint64_t>(steps_, 1 + member.size() * entries_.size() / 8);
      return stands(member, entries_);
    });
  }

  std::span<const MemberRails> members_;
  const MemberRails& most_;
  uint64_t steps_;
  std::vector<std::string> entries_;
  std::set<std::vector<std::string>> seen_;
};

}  // namespace

bool stands(const MemberRails& devices, std::span<const std::string> entries) {
  return devices.size() <= entries.size() && Standing(devices, entries).all();
}

Agreement agree(std::span<const MemberRails> members, uint64_t steps) {
  const MemberRails* most = nullptr;
  bool lists = false;
  for (const MemberRails& member : members) {
    for (const DeviceRails& device : member) {
      if (device.empty()) return Agreement::kDisagree;
      lists = lists || device.size() > 1;
    }
    if (most == nullptr || member.size() > most->size()) most = &member;
  }
  if (members.size() < 2) return Agreement::kAgree;
  if (lists) return ListSearch(members, *most, steps).run();
  std::vector<std::string> entries;
  for (const DeviceRails& device : *most) entries.push_back(device.front());
  const bool all =
      std::all_of(members.begin(), members.end(), [&](const MemberRails& member) { return stands(member, entries); });
  return all ? Agreement::kAgree : Agreement::kDisagree;
}

}  // namespace dra::alignment
