// Alignment annotations: groups of devices that share a value of an attribute.
//
//   dra-controller-manager/pairs: gpu*2+nic by resource.kubernetes.io/pcieRoot             on a ResourceClaim
//   dra-controller-manager/pairs: left/gpu+right/nic by resource.kubernetes.io/pcieRoot    on a Pod, over its claims
//   dra-controller-manager/same-across-members: devices/nic by example.com/rail            on a Pod of a group, a
//   PodGroup dra-controller-manager/same-across-members-preferred: devices/nic by example.com/rail  likewise, soft
//
//   value     = entry *( "," entry )
//   entry     = term *7( "+" term ) " by " attribute
//   term      = request [ "*" number ]              on a claim; number 1 to 32
//             | claim "/" request [ "*" number ]    elsewhere; claim is the name in the pod's spec.resourceClaims
//   attribute = domain "/" identifier, as in ResourceSlices
//
// Spaces may stand around "," and "+" and at the ends. A rail annotation has no numbers. An entry of pairs with one
// term has a number of at least 2.
//
// A text is valid or refused as a whole, and the first problem counts: first the length, then entry by entry in the
// order of Refusal::Kind, last the number of entries and an attribute named twice (rails). Names are resolved later,
// against claims: pod_pairs.h, and resolve().
//
// Pure, safe from any thread. Costs at most a few microseconds for any text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::alignment {

inline constexpr std::string_view kPairsAnnotation = "dra-controller-manager/pairs";
inline constexpr std::string_view kRailsAnnotation = "dra-controller-manager/same-across-members";
inline constexpr std::string_view kPreferredRailsAnnotation = "dra-controller-manager/same-across-members-preferred";

inline constexpr size_t kMaxText = 1024;  // bytes of an annotation
inline constexpr size_t kMaxEntries = 8;  // pairs: of a pod and its claims together; rails: of an annotation
inline constexpr size_t kMaxTerms = 8;    // of an entry
inline constexpr uint32_t kMaxNumber = 32;

struct Term {
  std::string claim;  // name in the pod's spec.resourceClaims; empty on a claim
  std::string request;
  uint32_t number = 1;  // devices of the request in a group
  bool operator==(const Term&) const = default;
};

struct Entry {
  std::vector<Term> terms;
  std::string attribute;
  std::string text;  // as it was written, without the spaces at its ends
  bool operator==(const Entry&) const = default;
};

// Why an annotation cannot be followed.
struct Refusal {
  enum class Kind : uint8_t { kLimit, kSyntax, kPlace, kTwice, kUnknown, kAttribute };
  Kind kind = Kind::kSyntax;
  std::string annotation;  // its key
  std::string part;        // of its text, or what is known of it; at most 64 bytes
  std::string message;     // for people: the annotation, the part, what is wrong, what to do
  bool operator==(const Refusal&) const = default;
};
// "limit", "syntax", "place", "twice", "unknown" and "attribute".
std::string_view kind_name(Refusal::Kind kind);

// Where a text was written: a term on a claim names a request, elsewhere a claim and a request.
enum class Place : uint8_t { kClaim, kPod, kPodGroup };

// The entries of one text, or its first problem; never both.
struct Reading {
  std::vector<Entry> entries;
  std::optional<Refusal> refusal;
};
// `annotation` is one of the three keys. `entries_before`: of pairs, those that the pod's earlier texts have.
Reading read_entries(std::string_view annotation, std::string_view text, Place place, size_t entries_before = 0);

// A claim under the name that a pod gives it. Two names can mean one claim.
struct NamedClaim {
  std::string_view name;
  const api::ResourceClaim* claim = nullptr;  // not null
};

// What a term means: claims[claim]'s requests[request].
struct ResolvedTerm {
  uint32_t claim = 0;  // index in the span that was given to resolve()
  uint32_t request = 0;
  uint32_t number = 1;
  bool operator==(const ResolvedTerm&) const = default;
};
struct Resolved {
  std::vector<ResolvedTerm> terms;
  std::optional<Refusal> refusal;  // kUnknown, kTwice, kAttribute
};
// Looks up the names of an entry. On a claim (Place::kClaim) `claims` is that claim alone, and its name is not read.
Resolved resolve(std::string_view annotation, const Entry& entry, Place place, std::span<const NamedClaim> claims);
// The claim and request of one term; nullopt if there is none. For rails of a PodGroup, which bind those who have them.
std::optional<ResolvedTerm> find_term(const Term& term, std::span<const NamedClaim> claims);
// A refusal of names, for callers who look up terms by find_term(): `what` follows the quoted entry.
Refusal refuse_names(Refusal::Kind kind, std::string_view annotation, const Entry& entry, std::string_view part,
                     std::string_view what);
// kAttribute if the entry's attribute has no domain.
std::optional<Refusal> check_attribute(std::string_view annotation, const Entry& entry);

}  // namespace dra::alignment
