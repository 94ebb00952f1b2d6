#include "pkg/usage/packing.h"

#include <algorithm>

namespace dra::usage {
namespace {

using inventory::Amount;

class Search {
 public:
  Search(const std::vector<Takes>& devices, std::vector<Amount> left) : devices_(devices), left_(std::move(left)) {}

  Packed run() {
    try_from(0, 0);
    return {best_, steps_ <= Packings::kMaxSteps};
  }
  uint64_t steps() const { return steps_; }

 private:
  bool take(const Takes& device) {
    for (const auto& [counter, amount] : device)
      if (left_[counter] < amount) return false;
    for (const auto& [counter, amount] : device) left_[counter] -= amount;
    return true;
  }
  void try_from(size_t at, uint32_t taken) {
    best_ = std::max(best_, taken);
    if (taken + (devices_.size() - at) <= best_ || ++steps_ > Packings::kMaxSteps) return;
    if (take(devices_[at])) {
      try_from(at + 1, taken + 1);
      for (const auto& [counter, amount] : devices_[at]) left_[counter] += amount;
    }
    // Devices that take the same are interchangeable: if this one is left out, so are they.
    size_t next = at + 1;
    while (next < devices_.size() && devices_[next] == devices_[at]) ++next;
    try_from(next, taken);
  }

  const std::vector<Takes>& devices_;
  std::vector<Amount> left_;
  uint32_t best_ = 0;
  uint64_t steps_ = 0;
};

void append(std::string& key, const void* bytes, size_t size) {
  key.append(static_cast<const char*>(bytes), size);
}

// The sizes come first, so that no two cards have one key.
std::string key_of(const std::vector<Takes>& devices, const std::vector<Amount>& left) {
  std::string key;
  const auto add_size = [&key](size_t size) { append(key, &size, sizeof size); };
  add_size(left.size());
  for (const Amount& amount : left) append(key, &amount, sizeof amount);
  for (const Takes& device : devices) {
    add_size(device.size());
    for (const auto& [counter, amount] : device) {
      append(key, &counter, sizeof counter);
      append(key, &amount, sizeof amount);
    }
  }
  return key;
}

}  // namespace

Packed Packings::most(std::vector<Takes> devices, const std::vector<Amount>& left) {
  if (devices.empty()) return {};
  // Those that take the least first: they are in most of the largest sets.
  std::sort(devices.begin(), devices.end(),
            [](const Takes& a, const Takes& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
  std::string key = key_of(devices, left);
  if (const auto known = kept_.find(key); known != kept_.end()) return known->second;
  Search search(devices, left);
  const Packed found = search.run();
  steps_ += search.steps();
  if (kept_.size() >= kMaxKept || kept_bytes_ + key.size() > kMaxKeptBytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += key.size();
  kept_.emplace(std::move(key), found);
  return found;
}

}  // namespace dra::usage
