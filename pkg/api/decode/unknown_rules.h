// The rules about what this build does not know of an object: which places count, and what they make unusable. Internal
// to pkg/api. docs/design/unknown-fields.md has the reasons; a release that supports more only shortens kNotSupported
// and adds to the schema tables.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "pkg/api/decode/read_fields.h"
#include "pkg/api/schema/schema.h"

namespace dra::api::detail {

enum class Unit : uint8_t {
  kIgnored,  // nothing there forbids an allocation
  kDevice,   // the device
  kWhole,    // of a slice the pool; the claim, the claims that name the class, the group
};

// `place`: without indices, and beginning with the kind's plural: "resourceslices.spec.devices.consumesCounters.foo".
// The longest rule that is a prefix of it decides.
Unit unit_of(std::string_view place);

// Fields that the tables have, because servers of 1.36 do, and that this build does not support.
bool is_not_supported(std::string_view type, std::string_view member);

// Those, and fields whose protobuf number is not known: a protobuf object that has such a number is read as JSON
// instead.
bool is_read_as_json(std::string_view type, std::string_view member);

// Types of which protobuf fields beyond the table are noted.
bool is_watched(const schema::ObjectType& type);

// Enumerations. Whoever reads a value calls note_if_strange(); find_unknown.h then names its place.
inline constexpr auto kAllocationModes = std::to_array<std::string_view>({"ExactCount", "All"});
inline constexpr auto kTolerationOperators = std::to_array<std::string_view>({"Equal", "Exists"});
inline constexpr auto kTolerationEffects = std::to_array<std::string_view>({"NoSchedule", "NoExecute", "None"});
inline constexpr auto kSelectorOperators =
    std::to_array<std::string_view>({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
inline constexpr auto kConfigSources = std::to_array<std::string_view>({"FromClass", "FromClaim"});

// Unset is known. Always true.
template <size_t N>
bool note_if_strange(std::string_view value, const std::array<std::string_view, N>& known, Trouble& trouble) {
  if (value.empty()) return true;
  for (const std::string_view one : known)
    if (value == one) return true;
  trouble.note_strange();
  return true;
}

// The values that are known of the enumeration at `place`; nullopt: it is none. An effect of a taint is not among them:
// the API says that consumers must treat unknown ones like None.
using KnownValues = std::span<const std::string_view>;
std::optional<KnownValues> values_known_at(std::string_view place);

}  // namespace dra::api::detail
