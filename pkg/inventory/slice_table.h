// SliceTable: one ResourceSlice in columns, about 100 bytes per device.
//
// Attribute keys are normalised to "domain/name" (a bare name belongs to the driver's domain; if both spellings are
// published, the qualified one wins, as in selectors and constraints). Attribute values are texts in one encoding
// (value_code.h). A slice that cannot be used has a `problem` and makes its pool invalid. One with something that this
// build does not know (pkg/api/unknown_fields.h) has devices that are refused, or refuses its whole pool.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/resource.h"
#include "pkg/identity/face.h"
#include "pkg/identity/rules.h"
#include "pkg/inventory/amount.h"
#include "pkg/inventory/compatibility.h"
#include "pkg/inventory/features.h"
#include "pkg/inventory/hash128.h"
#include "pkg/inventory/node_takes.h"
#include "pkg/inventory/strings.h"

namespace dra::inventory {

// The API allows 128; larger slices (from a server without that limit) are rejected beyond this.
inline constexpr size_t kMaxSliceDevices = 4096;

struct CapacityPolicy {
  std::optional<api::Quantity> default_value;
  std::vector<api::Quantity> valid_values;
  struct Range {
    api::Quantity min;
    std::optional<api::Quantity> max;
    std::optional<api::Quantity> step;
  };
  std::optional<Range> range;
};

struct CapacityEntry {
  std::string name;  // as published
  api::Quantity value;
  Amount amount = 0;
  std::optional<CapacityPolicy> policy;
};

// All capacities of a device; devices of one driver with equal capacities share it. `serial` is never reused.
struct CapacityShape {
  static constexpr size_t kNoEntry = SIZE_MAX;
  std::vector<CapacityEntry> entries;  // by name
  std::string driver;
  // The entry that is published as `name`. `either`: or else the one that means the same with, or without, the driver's
  // domain. kNoEntry: none.
  size_t find(std::string_view name, bool either) const;
  uint64_t serial = 0;
};

struct AttributeEntry {
  StrId key;
  StrId value;
  bool operator==(const AttributeEntry&) const = default;
};

// A hash of one attribute over all devices of a slice: slices of many nodes have the same values in the same places,
// and a result for one slice holds for every slice that agrees in all columns a selector reads.
struct ColumnMark {
  StrId key;
  Hash128 values;
};

struct SliceCounterUse {
  StrId set;
  StrId counter;
  uint32_t amount;  // index into amounts
  bool operator==(const SliceCounterUse&) const = default;
};

enum DeviceFlag : uint8_t {
  kMultiple = 1,  // allowMultipleAllocations
  kBindsToNode = 2,
  kHasConditions = 4,  // binding conditions
  kHasList = 8,        // a list attribute
  kSpoiled = 16,       // an attribute value for which no selector can be evaluated
  kConsumes = 32,      // consumesCounters is not empty
  kRefused = 64,       // has a field that this build does not know
};

// Where a slice or a device can be used.
struct Where {
  enum Kind : uint8_t { kNowhere, kNode, kSelector, kAll, kPerDevice };
  Kind kind = kNowhere;
  StrId node = kNoStr;
  std::shared_ptr<const api::NodeSelector> selector;
  bool operator==(const Where& other) const {
    const bool same_selector = selector && other.selector ? *selector == *other.selector : selector == other.selector;
    return kind == other.kind && node == other.node && same_selector;
  }
};

struct BindingConditions {
  std::vector<std::string> conditions;
  std::vector<std::string> failure_conditions;
  bool operator==(const BindingConditions&) const = default;
};

struct CounterSetTable {
  StrId name;
  std::vector<std::pair<StrId, Amount>> counters;
  bool operator==(const CounterSetTable&) const = default;
};

// Shapes in use, so that equal shapes are shared.
class ShapeCache {
 public:
  // Writes a faulty capacity ("capacity \"x\": ...") to `problem`.
  std::shared_ptr<const CapacityShape> shape(std::string_view driver, const api::Device& device, std::string* problem);

 private:
  std::map<std::string, std::weak_ptr<const CapacityShape>, std::less<>> shapes_;
  uint64_t next_serial_ = 1;
  size_t sweep_at_ = 1024;
};

class SliceTable;

// The attributes of pkg/identity's rules as numbers.
struct SiliconKey {
  StrId key = kNoStr;
  StrId space = kNoStr;
  bool parent = false;
  auto operator<=>(const SiliconKey&) const = default;
};

// The identities of the devices of one slice (pkg/identity), read from its table when they are first needed.
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
  // They become those of a slice with the same devices, as far as they are read here.
  void adopted_by(const SliceTable& slice) { slice_ = &slice; }
  // Attributes with a malformed value: the device, and the key.
  const std::vector<std::pair<uint32_t, StrId>>& malformed() const { return malformed_; }

 private:
  struct Sides {
    std::vector<identity::Value> own, parent;
  };
  void read(uint32_t local, const SiliconKey& key, StrId value, bool has_node, Sides& sides);

  const SliceTable* slice_;
  Strings& strings_;
  std::vector<uint32_t> first_;  // 2 * devices + 1: own values of a device, then its parent's
  std::vector<identity::Value> values_;
  std::vector<StrId> types_;
  std::vector<std::pair<uint32_t, StrId>> malformed_;
};

class SliceTable {
 public:
  SliceTable(const api::ResourceSlice& slice, Strings& strings, ShapeCache& shapes, const Features& features = {});
  ~SliceTable();
  SliceTable(const SliceTable&) = delete;
  SliceTable& operator=(const SliceTable&) = delete;

  // Equal devices, counters and locations; both tables must use the same Strings and ShapeCache.
  bool same_as(const SliceTable& other) const;

  uint32_t size() const { return static_cast<uint32_t>(names.size()); }
  const AttributeEntry* attrs_begin(uint32_t i) const { return attrs.data() + attr_first[i]; }
  const AttributeEntry* attrs_end(uint32_t i) const { return attrs.data() + attr_first[i + 1]; }
  // kNoStr if the device has no such attribute.
  StrId attribute(uint32_t i, StrId key) const {
    for (const AttributeEntry* a = attrs_begin(i); a != attrs_end(i); ++a)
      if (a->key == key) return a->value;
    return kNoStr;
  }
  const Where& where_of(uint32_t i) const { return where.kind == Where::kPerDevice ? device_where[i] : where; }
  const BindingConditions* conditions_of(uint32_t i) const {
    auto it = conditions.find(i);
    return it == conditions.end() ? nullptr : &it->second;
  }

  std::string name;
  StrId driver = kNoStr;
  StrId pool = kNoStr;
  int64_t generation = 0;
  int64_t announced = 0;
  Where where;
  bool has_counter_sets = false;
  std::string problem;
  // Why the slice is not seen, which leaves its pool incomplete: it has compatibility groups, and their gate is off.
  std::string hidden;
  // Of what is not known: why the whole pool is refused; empty if it is not. And why each device is that has kRefused.
  std::string pool_refused;
  std::map<uint32_t, uint32_t> refused;  // by device; into `refusals`
  std::vector<std::string> refusals;
  // Of the devices that are refused only because of what they take of their node, where that can be counted.
  std::map<uint32_t, NodeTakes> takes;

  // one entry per device
  std::vector<StrId> names;
  std::vector<uint8_t> flags;
  std::vector<uint32_t> attr_first;  // size + 1
  std::vector<uint16_t> shape_of;
  std::vector<uint32_t> use_first;  // size + 1
  std::vector<uint16_t> taints_of;  // 0: none
  std::vector<Where> device_where;  // only with per-device selection

  std::vector<AttributeEntry> attrs;
  std::vector<ColumnMark> marks;  // one per attribute key, by key
  Hash128 shape_mark;             // number of devices; flags and shape of each
  std::vector<std::shared_ptr<const CapacityShape>> shapes;
  std::vector<SliceCounterUse> uses;
  std::vector<Amount> amounts;
  std::vector<StrId> bare_sets;                           // counter sets that a device names without a counter
  std::vector<std::vector<api::DeviceTaint>> taint_sets;  // [0] is empty
  std::map<uint32_t, BindingConditions> conditions;
  std::vector<CounterSetTable> counter_sets;
  // Compatibility groups by device and counter set; only where there are some.
  std::map<std::pair<uint32_t, StrId>, Groups> groups;
  std::vector<std::string> skip_operations;  // spec.skipNodeOperations
  // Some attribute names silicon (silicon.h); and the devices' identities, made when they are first needed.
  bool names_silicon = false;
  mutable std::unique_ptr<SliceFaces> faces;

 private:
  // Devices of a slice mostly repeat the previous one: `last` is the previous device, or null.
  void add_device(const api::Device& device, const api::Device* last, ShapeCache& shape_cache);
  void add_shape(const api::Device& device, const api::Device* last, ShapeCache& shape_cache);
  void add_attributes(const api::Device& device, const api::Device* last);
  void make_marks();
  void add_uses(const api::Device& device);
  void add_groups(const api::DeviceCounterConsumption& consumption);
  void follow_gates(const api::ResourceSlice& slice, const Features& features);
  Amount counter_amount(const api::Device& device, const std::string& set, const std::string& counter,
                        const std::string& text);
  void add_counter_sets(const std::vector<api::CounterSet>& sets);
  Where make_where(const std::string& node, const std::optional<api::NodeSelector>& selector, bool all);
  void note(std::string text);
  void refuse(const api::ResourceSlice& slice, const Features& features);
  void find_takes(const api::ResourceSlice& slice, const api::IgnoredFields& ignored, const Features& features);
  void widen(const api::UnknownFields& unknown, const api::IgnoredFields& ignored);

  Strings& strings_;
  // Only while building.
  std::map<Amount, uint32_t> amount_index_;
  std::unordered_map<std::string_view, Amount> good_amounts_;  // by text
  std::vector<StrId> last_keys_, last_values_;                 // of the previous device, by its attributes
};

}  // namespace dra::inventory
