#include "pkg/inspect/state/shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "pkg/inspect/state/silicon.h"

namespace dra::inspect {
namespace {

std::string attribute_text(const api::Device& device, std::string_view wanted) {
  for (const auto& [name, value] : device.attributes) {
    const std::string_view bare =
        std::string_view(name).substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
    if (bare == wanted)
      if (const auto* text = std::get_if<std::string>(&value)) return *text;
  }
  return "";
}

// Whether it takes all of each counter set that it draws on.
bool takes_all(const CounterAmounts& use, const CounterAmounts& totals) {
  return std::all_of(totals.begin(), totals.end(), [&](const auto& total) {
    const bool drawn_on =
        std::any_of(use.begin(), use.end(), [&](const auto& one) { return one.first.first == total.first.first; });
    const auto used = use.find(total.first);
    return !drawn_on || (used != use.end() && used->second == total.second);
  });
}

// Without a profile: the type, and the amounts of each counter, whichever set that belongs to. A whole card has so many
// counters that they would drown the others.
std::string shape_name(const api::Device& device, const CounterAmounts& use, const CounterAmounts& totals) {
  if (std::string profile = attribute_text(device, "profile"); !profile.empty()) return profile;
  std::string type = attribute_text(device, "type");
  std::map<std::string, inventory::Amount> sums;
  for (const auto& [counter, amount] : use) sums[counter.second] += amount;
  if (sums.size() > 2 && !type.empty()) return type;
  if (sums.size() > 2 && takes_all(use, totals)) return "whole";
  std::string text = type.empty() ? "" : type + " ";
  for (const auto& [name, amount] : sums)
    text += (text.empty() || text.back() == ' ' ? "" : ",") + name + "=" + inventory::short_amount_text(amount);
  return text;
}

struct Partition {
  CounterAmounts use;
};

// The largest number of partitions that fit into what is left; exact within the step limit.
class Packer {
 public:
  Packer(std::vector<const Partition*> parts, const CounterAmounts& left) : parts_(std::move(parts)), left_(left) {}
  uint32_t run(bool& exact) {
    try_from(0, 0);
    if (steps_ > kMaxShapeSteps) exact = false;
    return best_;
  }

 private:
  bool take(const Partition& part) {
    for (const auto& [counter, amount] : part.use)
      if (left_[counter] < amount) return false;
    for (const auto& [counter, amount] : part.use) left_[counter] -= amount;
    return true;
  }
  void try_from(size_t at, uint32_t taken) {
    best_ = std::max(best_, taken);
    if (taken + (parts_.size() - at) <= best_ || ++steps_ > kMaxShapeSteps) return;
    if (take(*parts_[at])) {
      try_from(at + 1, taken + 1);
      for (const auto& [counter, amount] : parts_[at]->use) left_[counter] += amount;
    }
    // Partitions with equal amounts are interchangeable: if this one is left out, so are they.
    size_t next = at + 1;
    while (next < parts_.size() && parts_[next]->use == parts_[at]->use) ++next;
    try_from(next, taken);
  }

  std::vector<const Partition*> parts_;
  CounterAmounts left_;
  uint32_t best_ = 0;
  uint64_t steps_ = 0;
};

// Partitions in groups that share no counter with each other.
std::vector<std::vector<const Partition*>> connected(const std::vector<Partition>& parts) {
  std::map<CounterName, size_t> group_of;
  std::vector<std::vector<const Partition*>> groups;
  for (const Partition& part : parts) {
    std::set<size_t> touched;
    for (const auto& [counter, amount] : part.use)
      if (const auto known = group_of.find(counter); known != group_of.end()) touched.insert(known->second);
    const size_t into = touched.empty() ? groups.size() : *touched.begin();
    if (touched.empty()) groups.emplace_back();
    for (const size_t other : touched) {
      if (other == into) continue;
      groups[into].insert(groups[into].end(), groups[other].begin(), groups[other].end());
      groups[other].clear();
      for (auto& [counter, group] : group_of)
        if (group == other) group = into;
    }
    groups[into].push_back(&part);
    for (const auto& [counter, amount] : part.use) group_of[counter] = into;
  }
  for (auto& group : groups)
    std::stable_sort(group.begin(), group.end(),
                     [](const Partition* a, const Partition* b) { return a->use < b->use; });
  return groups;
}

struct ShapeParts {
  uint32_t total = 0;
  std::vector<Partition> free;
};

}  // namespace

std::vector<FreeShape> free_shapes(const std::vector<const api::ResourceSlice*>& slices,
                                   const std::vector<inventory::DeviceInfo>& devices) {
  std::map<std::string_view, const inventory::DeviceInfo*> info;
  for (const inventory::DeviceInfo& device : devices) info[device.name.device] = &device;
  const CounterAmounts totals = counter_totals(slices);
  CounterAmounts left = totals;
  std::map<std::string, ShapeParts> shapes;
  for (const api::ResourceSlice* slice : slices)
    for (const api::Device& device : slice->devices) {
      const auto known = info.find(device.name);
      if (device.consumes_counters.empty() || known == info.end()) continue;
      Partition part{counter_use(device)};
      if (!known->second->holders.empty())
        for (const auto& [counter, amount] : part.use) left[counter] -= amount;
      ShapeParts& shape = shapes[shape_name(device, part.use, totals)];
      ++shape.total;
      if (may_be_had(*known->second)) shape.free.push_back(std::move(part));
    }
  std::vector<FreeShape> found;
  for (const auto& [name, shape] : shapes) {
    FreeShape one{name, shape.total, 0, true};
    for (auto& group : connected(shape.free)) one.free += Packer(std::move(group), left).run(one.exact);
    found.push_back(std::move(one));
  }
  return found;
}

std::string shapes_text(const std::vector<FreeShape>& shapes) {
  std::string text;
  for (const FreeShape& shape : shapes)
    if (shape.free > 0)
      text += (text.empty() ? "" : " or ") + std::string(shape.exact ? "" : ">=") + std::to_string(shape.free) + " x " +
              shape.name;
  return text;
}

void add_shapes(std::vector<FreeShape>& sum, const std::vector<FreeShape>& more) {
  for (const FreeShape& shape : more) {
    const auto same =
        std::find_if(sum.begin(), sum.end(), [&](const FreeShape& one) { return one.name == shape.name; });
    if (same == sum.end()) {
      sum.push_back(shape);
      continue;
    }
    same->total += shape.total;
    same->free += shape.free;
    same->exact = same->exact && shape.exact;
  }
  std::sort(sum.begin(), sum.end(), [](const FreeShape& a, const FreeShape& b) { return a.name < b.name; });
}

std::map<std::pair<std::string, std::string>, std::vector<const api::ResourceSlice*>> slices_by_pool(
    const Objects& objects) {
  std::map<std::pair<std::string, std::string>, std::vector<const api::ResourceSlice*>> pools;
  for (const auto& [name, slice] : objects.slices) pools[{slice->driver, slice->pool.name}].push_back(slice.get());
  for (auto& [name, slices] : pools) {
    // Each node may have its own generation: newer slices of other nodes do not replace its slices.
    std::map<std::string, int64_t> newest;  // by node; "": of several nodes
    for (const api::ResourceSlice* slice : slices) {
      int64_t& known = newest.try_emplace(slice->node_name, slice->pool.generation).first->second;
      known = std::max(known, slice->pool.generation);
    }
    const auto of_several = newest.find("");
    std::erase_if(slices, [&](const api::ResourceSlice* slice) {
      const bool replaced = of_several != newest.end() && slice->pool.generation < of_several->second;
      if (slice->node_name.empty())
        return std::any_of(newest.begin(), newest.end(),
                           [&](const auto& one) { return one.second > slice->pool.generation; });
      return replaced || slice->pool.generation < newest.at(slice->node_name);
    });
  }
  return pools;
}

}  // namespace dra::inspect
