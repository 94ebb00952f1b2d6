// SliceFaces: the identities of a slice's devices, from its attributes.
#include <algorithm>

#include "pkg/identity/form.h"
#include "pkg/inventory/slice_table.h"
#include "pkg/inventory/value_code.h"

namespace dra::inventory {

SliceFaces::SliceFaces(const SliceTable& slice, const std::vector<SiliconKey>& keys, const identity::Rules& rules,
                       Strings& strings)
    : slice_(&slice), strings_(strings) {
  std::vector<SiliconKey> present;
  for (const ColumnMark& mark : slice.marks)
    for (auto at = std::lower_bound(keys.begin(), keys.end(), SiliconKey{mark.key, 0, false});
         at != keys.end() && at->key == mark.key; ++at)
      present.push_back(*at);
  const std::string driver(strings.text(slice.driver));
  const StrId type_key = strings.find(driver + "/type");
  const auto part_types = rules.parts.find(driver);
  const StrId pci = strings.find(identity::kPci);
  first_.assign(1, 0);
  first_.reserve(2 * size_t{slice.size()} + 1);
  types_.reserve(slice.size());
  Sides sides;
  for (uint32_t local = 0; local < slice.size(); ++local) {
    StrId type = type_key == kNoStr ? kNoStr : slice.attribute(local, type_key);
    if (type != kNoStr) {
      const std::string_view code = strings.text(type);
      type = code.starts_with('s') && code.size() > 1 ? strings.intern(code.substr(1)) : kNoStr;
    }
    types_.push_back(type);
    const bool part = type != kNoStr && part_types != rules.parts.end() &&
                      part_types->second.contains(std::string(strings.text(type)));
    sides.own.clear();
    sides.parent.clear();
    const bool has_node = slice.where_of(local).kind == Where::kNode;
    for (const SiliconKey& key : present)
      if (const StrId value = slice.attribute(local, key.key); value != kNoStr)
        read(local, key, value, has_node, sides);
    if (part) {
      const auto own_end = std::stable_partition(sides.own.begin(), sides.own.end(),
                                                 [&](const identity::Value& value) { return value.space != pci; });
      sides.parent.insert(sides.parent.end(), own_end, sides.own.end());
      sides.own.erase(own_end, sides.own.end());
    }
    const auto settle = [&](std::vector<identity::Value>& list, bool parents) {
      std::sort(list.begin(), list.end());
      for (size_t i = 0; i < list.size(); ++i) {
        const bool again = i > 0 && list[i] == list[i - 1];
        if (again || (parents && std::binary_search(sides.own.begin(), sides.own.end(), list[i]))) {
          strings_.release(list[i].text);
        } else {
          values_.push_back(list[i]);
        }
      }
      first_.push_back(static_cast<uint32_t>(values_.size()));
    };
    settle(sides.own, false);
    settle(sides.parent, true);
  }
}

SliceFaces::~SliceFaces() {
  for (const identity::Value& value : values_) strings_.release(value.text);
  for (const StrId type : types_)
    if (type != kNoStr) strings_.release(type);
}

identity::Face SliceFaces::face(uint32_t local) const {
  const identity::Value* all = values_.data();
  const Where& where = slice_->where_of(local);
  return {{all + first_[2 * local], all + first_[2 * local + 1]},
          {all + first_[2 * local + 1], all + first_[2 * local + 2]},
          where.kind == Where::kNode ? where.node : identity::kNoNumber};
}

void SliceFaces::read(uint32_t local, const SiliconKey& key, StrId value, bool has_node, Sides& sides) {
  const std::string space(strings_.text(key.space));
  const std::string code(strings_.text(value));
  bool bad = false;
  for (const std::string_view element : value_elements(code)) {
    const auto text = element.starts_with('s') ? identity::canonical(space, element.substr(1)) : std::nullopt;
    if (!text) {
      bad = true;
    } else if (has_node || space != identity::kPci) {
      (key.parent ? sides.parent : sides.own).push_back({strings_.intern(space + " " + *text), key.space});
    }
  }
  if (bad) malformed_.emplace_back(local, key.key);
}

}  // namespace dra::inventory
