// SliceFaces: the identities of the devices of one slice (pkg/identity), read from its table when they are first needed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "pkg/identity/face.h"
#include "pkg/identity/rules.h"
#include "pkg/inventory/strings.h"

namespace dra::inventory {

class SliceTable;

// The attributes of pkg/identity's rules as numbers.
struct SiliconKey {
  StrId key = kNoStr;
  StrId space = kNoStr;
  bool parent = false;
  auto operator<=>(const SiliconKey&) const = default;
};

class SliceFaces {
 public:
  // `strings` must outlive this. `keys` are sorted.
  SliceFaces(const SliceTable& slice, const std::vector<SiliconKey>& keys, const identity::Rules& rules,
             Strings& strings);
  ~SliceFaces();
  SliceFaces(const SliceFaces&) = delete;
  SliceFaces& operator=(const SliceFaces&) = delete;

  // Of device `local`; the spans are valid as long as this is.
  identity::Face face(uint32_t local) const;
  bool any(uint32_t local) const { return first_[2 * local] != first_[2 * local + 2]; }
  // The attribute DRIVER/type as text; kNoStr: none, or no string.
  StrId type(uint32_t local) const { return types_[local]; }
  // Attributes with a malformed value: the device, and the key.
  const std::vector<std::pair<uint32_t, StrId>>& malformed() const { return malformed_; }

 private:
  struct Sides {
    std::vector<identity::Value> own, parent;
  };
  void read(uint32_t local, const SiliconKey& key, StrId value, bool has_node, Sides& sides);

  const SliceTable& slice_;
  Strings& strings_;
  std::vector<uint32_t> first_;  // 2 * devices + 1: own values of a device, then its parent's
  std::vector<identity::Value> values_;
  std::vector<StrId> types_;
  std::vector<std::pair<uint32_t, StrId>> malformed_;
};

}  // namespace dra::inventory
