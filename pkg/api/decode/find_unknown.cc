#include "pkg/api/decode/find_unknown.h"

#include <algorithm>

#include "pkg/api/decode/unknown_rules.h"
#include "pkg/api/schema/schema.h"
#include "pkg/api/schema/tables.h"

namespace dra::api::detail {
namespace {

using schema::Field;
using schema::FieldType;
using schema::ObjectType;

constexpr size_t kMaxPath = 200;
constexpr size_t kMaxValue = 64;

// The PodGroups of scheduling.k8s.io (v1alpha2 of 1.36, v1beta1 of 1.37) and of scheduling.x-k8s.io, and
// CompositePodGroups, in one table: only the names matter. Raw: anything below is known not to forbid an allocation
// (where the group comes from, who preempts it), or is judged elsewhere.
constexpr std::string_view kPodGroups = R"(
type PodGroup
1 metadata Raw
2 spec PodGroupSpec
3 status Raw

type PodGroupSpec
1 podGroupTemplateRef Raw
2 workloadRef Raw
3 schedulingPolicy PodGroupSchedulingPolicy
4 schedulingConstraints PodGroupSchedulingConstraints
5 resourceClaims []PodGroupResourceClaim
6 disruptionMode Raw
7 priorityClassName string
8 priority int32
9 preemptionPolicy Raw
10 minMember int32
11 minResources Raw
12 scheduleTimeoutSeconds int32
13 parentCompositePodGroupName string

type PodGroupResourceClaim
1 name string
2 resourceClaimName string
3 resourceClaimTemplateName string

type PodGroupSchedulingPolicy
1 basic BasicSchedulingPolicy
2 gang GangSchedulingPolicy

type BasicSchedulingPolicy

type GangSchedulingPolicy
1 minCount int32
2 minGroupCount int32

type PodGroupSchedulingConstraints
1 topology []TopologyConstraint

type TopologyConstraint
1 key string
)";

const schema::SchemaSet& schemas() {
  static const schema::SchemaSet all = [] {
    std::vector<schema::SchemaTable> tables = schema::tables_in_use();
    tables.push_back({"podgroup/v1", kPodGroups});
    return schema::link_tables(tables);
  }();
  return all;
}

// A server of an older version sends v1beta1, whose flat requests and `basic` devices are read like v1: a field is
// known if either has it.
const Field* field_of(const ObjectType& type, std::string_view name) {
  if (const Field* found = type.find(name)) return found;
  if (type.package != "resource/v1") return nullptr;
  const ObjectType* flat = schemas().find("resource/v1beta1", type.name);
  return flat == nullptr ? nullptr : flat->find(name);
}

// In protobuf an empty list is the same as none, and so it is here.
bool is_unset(const WireValue& value) {
  return value.is_null() || (value.kind() == WireValue::Kind::kArray && value.size() == 0);
}

class Finder {
 public:
  Finder(std::string_view plural, UnknownFields& out) : out_(out), place_(plural) {}

  // Where the walk begins: the members of `v` are those of `place`.
  void begin_at(std::string_view place) {
    place_ += place;
    path_ = place.empty() ? place : place.substr(1);
  }

  void object(const WireValue& v, const ObjectType& type) {
    v.each_member([&](std::string_view name, const WireValue& member) {
      const size_t place = place_.size(), path = path_.size();
      // v1beta1 has the fields of a device in an object of their own.
      if (type.name != "Device" || name != "basic") place_.append(".").append(name.substr(0, kMaxValue));
      path_.append(path_.empty() ? "" : ".").append(name.substr(0, kMaxValue));
      this->member(name, member, type);
      place_.resize(place);
      path_.resize(path);
      return true;
    });
  }

 private:
  void member(std::string_view name, const WireValue& value, const ObjectType& type) {
    const Unit unit = unit_of(place_);
    const Field* field = field_of(type, name);
    const bool passes = unit == Unit::kIgnored && place_ != "resourceclaims.status";
    if (passes || is_unset(value)) return;
    if (field == nullptr) return note(UnknownField::Why::kName, "");
    // An empty map is the same as none.
    if (field->value.type == FieldType::kMap && value.size() == 0) return;
    if (is_not_supported(type.name, name)) return note(UnknownField::Why::kNotSupported, "");
    const bool several = place_ == "podgroups.spec.schedulingConstraints.topology" && value.size() > 1;
    if (several) return note(UnknownField::Why::kNotSupported, "");
    this->value(value, field->value);
  }

  void value(const WireValue& v, const schema::ValueType& type) {
    switch (type.type) {
      case FieldType::kObject:
        if (v.kind() == WireValue::Kind::kObject) object(v, *type.object);
        break;
      case FieldType::kList:
        list(v, *type.element);
        break;
      case FieldType::kMap:
        map(v, *type.element);
        break;
      case FieldType::kString:
        text(v);
        break;
      default:
        break;
    }
  }

  void list(const WireValue& v, const schema::ValueType& element) {
    const size_t path = path_.size();
    const bool devices = place_ == "resourceslices.spec.devices";
    uint32_t index = 0;
    v.each_element([&](const WireValue& one) {
      if (devices) device_ = index;
      path_ += "[" + std::to_string(index++) + "]";
      if (!one.is_null()) value(one, element);
      path_.resize(path);
      return true;
    });
  }

  void map(const WireValue& v, const schema::ValueType& element) {
    if (element.type != FieldType::kObject) return;
    const size_t path = path_.size();
    v.each_member([&](std::string_view key, const WireValue& one) {
      path_.append("[").append(key.substr(0, kMaxValue)).append("]");
      if (!one.is_null()) value(one, element);
      path_.resize(path);
      return true;
    });
  }

  void text(const WireValue& v) {
    std::string_view text;
    const std::optional<KnownValues> known = values_known_at(place_);
    if (!known || !v.get(text) || text.empty()) return;
    if (std::find(known->begin(), known->end(), text) == known->end())
      note(UnknownField::Why::kValue, "=" + std::string(text.substr(0, kMaxValue)));
  }

  void note(UnknownField::Why why, const std::string& value) {
    const std::string field = place_ + value;
    auto known = std::find_if(out_.fields.begin(), out_.fields.end(),
                              [&](const UnknownField& one) { return one.field == field; });
    if (known == out_.fields.end()) {
      out_.more = out_.more || out_.fields.size() == UnknownFields::kMost;
      // The last one then represents all others: refusing_field() ignores none of them.
      known = out_.more ? out_.fields.end() - 1
                        : out_.fields.insert(out_.fields.end(), {field, path_.substr(0, kMaxPath), why});
    }
    if (unit_of(place_) != Unit::kDevice) return;
    const auto number = static_cast<uint32_t>(known - out_.fields.begin());
    const auto same = [&](const UnknownFields::OfDevice& one) { return one.device == device_ && one.field == number; };
    // The entries of one device come one after the other.
    for (auto at = out_.devices.rbegin(); at != out_.devices.rend() && at->device == device_; ++at)
      if (same(*at)) return;
    out_.devices.push_back({device_, number});
  }

  UnknownFields& out_;
  std::string place_, path_;
  uint32_t device_ = 0;
};

UnknownFields walk(const WireValue& v, std::string_view plural, const ObjectType& type, std::string_view from = "") {
  UnknownFields found;
  Finder finder(plural, found);
  finder.begin_at(from);
  finder.object(v, type);
  return found;
}

UnknownFields of_number(std::string_view plural, std::string_view number) {
  UnknownFields found;
  found.fields.push_back(
      {std::string(plural) + "." + std::string(number), std::string(number), UnknownField::Why::kNumber});
  return found;
}

// Nothing unknown is in the object. Members of it that name its kind are not read: a list's items lack them.
bool all_known(const WireValue& v, const Trouble& t) {
  if (t.strange()) return false;
  if (t.unread() <= 0) return true;
  WireValue ignored;
  const int64_t names = (v.find("kind", ignored) ? 1 : 0) + (v.find("apiVersion", ignored) ? 1 : 0);
  return t.unread() == names;
}

const ObjectType& resource_type(std::string_view name) {
  return *schemas().find("resource/v1", name);
}

// Splits what was found in a claim: its spec's and its allocation's.
void divide(UnknownFields found, ResourceClaim& out) {
  UnknownFields spec, allocation;
  if (found.fields.empty()) return;
  const UnknownField last = found.fields.back();
  for (UnknownField& field : found.fields) {
    const bool allocated = field.field.starts_with("resourceclaims.status.");
    (allocated ? allocation : spec).fields.push_back(std::move(field));
  }
  // Those that were not recorded may be in either.
  for (UnknownFields* part : {&spec, &allocation}) {
    part->more = found.more;
    if (found.more && part->fields.empty()) part->fields.push_back(last);
  }
  if (!spec.fields.empty()) out.spec.unknown = std::move(spec);
  if (!allocation.fields.empty() && out.status.allocation) out.status.allocation->unknown = std::move(allocation);
}

}  // namespace

void note_unknown(const WireValue& v, const Trouble& t, ResourceSlice& out) {
  if (const std::string_view number = v.unknown_number(); !number.empty()) {
    out.unknown = of_number("resourceslices", number);
    return;
  }
  if (all_known(v, t)) return;
  UnknownFields found = walk(v, "resourceslices", resource_type("ResourceSlice"));
  if (!found.fields.empty()) out.unknown = std::move(found);
}

void note_unknown(const WireValue& v, const Trouble& t, ResourceClaim& out) {
  if (const std::string_view number = v.unknown_number(); !number.empty()) {
    out.spec.unknown = of_number("resourceclaims", number);
    return;
  }
  if (all_known(v, t)) return;
  divide(walk(v, "resourceclaims", resource_type("ResourceClaim")), out);
}

void note_unknown(const WireValue& v, const Trouble& t, DeviceClass& out) {
  if (all_known(v, t)) return;
  UnknownFields found = walk(v, "deviceclasses", resource_type("DeviceClass"));
  if (!found.fields.empty()) out.unknown = std::move(found);
}

void note_unknown(const WireValue& v, const Trouble& t, PodGroup& out) {
  if (all_known(v, t)) return;
  UnknownFields found = walk(v, "podgroups", *schemas().find("podgroup/v1", "PodGroup"));
  if (!found.fields.empty()) out.unknown = std::move(found);
}

void note_unknown_of_template(const WireValue& spec, const Trouble& t, int64_t unread, ResourceClaimTemplate& out) {
  if (unread <= 0 && !t.strange()) return;
  UnknownFields found = walk(spec, "resourceclaims", resource_type("ResourceClaimSpec"), ".spec");
  if (!found.fields.empty()) out.spec.unknown = std::move(found);
}

}  // namespace dra::api::detail
