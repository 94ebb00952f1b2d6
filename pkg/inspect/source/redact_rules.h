// What redaction does with the text of each field: a table over the types of pkg/api/schema. A field that it does not
// list loses its text, so a field that a later release adds cannot leak. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "pkg/api/schema/schema.h"

namespace dra::inspect {

// What the text of a field is. Texts of one kind are numbered together, so that a name is replaced by the same name
// wherever it stands.
enum class Word : uint8_t {
  kNothing,  // loses its text
  kMessage,  // becomes empty
  kApi,      // one of the API's own words ("In", "NoSchedule"); any other loses its text
  kDigits,   // a number; any other text is lost
  // Replaced by numbered names, in the order of the old ones.
  kObject,  // metadata.name: what the object's kind is
  kNamespace,
  kNode,
  kPod,
  kClaim,
  kTemplate,
  kSlice,
  kTaintRule,
  kQuota,
  kBudget,
  kGroup,
  kPool,
  kOwner,
  kUid,
  kEntry,    // of spec.resourceClaims
  kRequest,  // "request" or "request/subrequest"
  kContainer,
  kImage,
  kVolume,
  kDisk,
  kAddress,
  kScheduler,
  kPriority,
  kGate,
  kManager,
  kCondition,
  kShare,
  kKey,            // of labels, taints, selectors and topology
  kValue,          // of labels and taints
  kMentioned,      // values of a selector: by its key
  kEntryOfStatus,  // "claim:entry/request"
  kDeviceId,       // "driver/pool/device"
  // What drivers, classes and requests for devices say; replaced by --redact=strict only.
  kDriver,
  kClass,
  kResource,
  kDevice,
  kAttribute,  // "domain/name", or "name"
  kCapacity,
  kCounter,
  kText,      // of an attribute
  kVersion,   // of an attribute: a number, which stays
  kSelector,  // CEL
};
inline constexpr Word kFirstPublished = Word::kDriver;

// The texts of a field (of its elements and values, if it is a list or a map) and the keys of a map. `type` is the type
// that has the field.
Word word_of(const api::schema::ObjectType& type, std::string_view field);
Word key_word_of(const api::schema::ObjectType& type, std::string_view field);

// "node" of "node-000001".
std::string_view prefix_of(Word word);
// One of the API's words, whatever the field.
bool is_api_word(std::string_view text);
// A key of labels or taints, or the type of a condition, that Kubernetes or this project defines.
bool is_known_key(std::string_view key);

// The type of a kind's objects by its plural; of all served versions in one: a field of v1beta1 is found, too. Null:
// the kind is never in a redacted snapshot.
const api::schema::ObjectType* redacted_type(std::string_view plural);
const api::schema::Field* redacted_field(const api::schema::ObjectType& type, std::string_view name);
// What metadata.name is in objects of the kind.
Word object_word(std::string_view plural);

}  // namespace dra::inspect
