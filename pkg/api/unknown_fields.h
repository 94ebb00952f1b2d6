// What an object has that this build does not know or does not support: fields, members of unions, values of
// enumerations.
//
// A field may forbid an allocation, so ignoring it is not safe: decode<T>() records it, and the inventory, the
// allocator and the groups refuse the smallest unit that is safe (docs/design/unknown-fields.md). Recorded are places
// in slices, claims, classes and PodGroups outside of metadata and status; of a claim's status the allocation counts,
// too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/rare.h"

namespace dra::api {

struct UnknownField {
  enum class Why : uint8_t { kName, kNumber, kValue, kNotSupported };
  // The place without indices and keys, as --ignore-unknown-fields names it: "resourceslices.spec.devices.foo"; of a
  // value with the value behind it: "resourceclaims.spec.devices.requests.exactly.allocationMode=Some".
  std::string field;
  // The first such place: "spec.devices[3].foo"; kNumber: "field 14 of Device".
  std::string path;
  Why why = Why::kName;
  bool operator==(const UnknownField&) const = default;
};

struct UnknownFields {
  // Different fields that are recorded of one object; `more`: there are others.
  static constexpr size_t kMost = 16;
  std::vector<UnknownField> fields;
  bool more = false;
  // Of slices: which of `fields` is on which device. A field without an entry concerns the whole pool.
  struct OfDevice {
    uint32_t device = 0;  // its place in spec.devices
    uint32_t field = 0;
    bool operator==(const OfDevice&) const = default;
  };
  std::vector<OfDevice> devices;
  bool operator==(const UnknownFields&) const = default;
};

// What an administrator lists by --ignore-unknown-fields.
using IgnoredFields = std::vector<std::string>;
bool is_ignored(const UnknownField& field, const IgnoredFields& ignored);

// The first field that is not ignored; null: there is none. With more fields than are recorded none is known to be
// ignored.
const UnknownField* refusing_field(const Rare<UnknownFields>& unknown, const IgnoredFields& ignored);
const UnknownField* refusing_field(Rare<UnknownFields>&&, const IgnoredFields&) = delete;  // the answer points into it

// 'field spec.devices[3].foo is not known to this version: upgrade the manager or, if that is safe, ignore it by
// --ignore-unknown-fields=resourceslices.spec.devices.foo'
std::string why_refused(const UnknownField& field);

// Reads "resourceslices.spec.foo,deviceclasses.spec.bar". The error is a sentence about the first wrong entry; empty:
// none.
std::string read_ignored_fields(std::string_view text, IgnoredFields& out);

}  // namespace dra::api
