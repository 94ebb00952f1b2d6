// Columns: the values of one attribute over the devices visible to a node, for constraints.
//
// Values are numbered per column; a list counts as several values of one device. Valid until the node's view changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/inventory/device_index.h"

namespace dra::allocator {

inline constexpr uint32_t kNoValue = 0xffffffffu;   // the device has no such attribute
inline constexpr uint32_t kListFlag = 0x80000000u;  // low bits: index into Column::lists

struct Column {
  std::vector<uint32_t> value;               // by local device
  std::vector<std::vector<uint32_t>> lists;  // sorted value numbers
  std::vector<inventory::Words> with;        // by value: the devices that have it; empty if there are too many
  uint32_t values = 0;
  std::vector<std::string> codes;  // by value (pkg/inventory/value_code.h)

  // The values of a device; `scratch` may be used to store them.
  const uint32_t* begin(uint32_t device) const {
    uint32_t v = value[device];
    return v & kListFlag ? lists[v & ~kListFlag].data() : &value[device];
  }
  const uint32_t* end(uint32_t device) const {
    uint32_t v = value[device];
    return v & kListFlag ? lists[v & ~kListFlag].data() + lists[v & ~kListFlag].size() : &value[device] + 1;
  }
  bool missing(uint32_t device) const { return value[device] == kNoValue; }
};

// Whether a value that says nothing about where a device is counts as one.
enum class Values : uint8_t {
  kAll,      // as upstream's matchAttribute counts them
  kTelling,  // not a numaNode of -1 (unknown), nor a pcieRoot that all devices of the node share (a virtual machine)
};

class Columns {
 public:
  explicit Columns(inventory::DeviceIndex& device_index) : device_index_(device_index) {}
  ~Columns() { clear(); }
  const Column& get(const inventory::NodeView& view, inventory::StrId key, Values which = Values::kAll);
  void clear();
  void trim();  // between decisions

 private:
  struct Key {
    uint64_t stamp;
    inventory::StrId key;
    Values which;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      return k.stamp * 0x9e3779b97f4a7c15ull ^ (uint64_t{k.key} << 1 | static_cast<uint64_t>(k.which));
    }
  };
  std::unique_ptr<Column> make(const inventory::NodeView& view, inventory::StrId key, Values which) const;

  inventory::DeviceIndex& device_index_;
  std::unordered_map<Key, std::unique_ptr<Column>, KeyHash> kept_;
  size_t kept_values_ = 0;
};

}  // namespace dra::allocator
