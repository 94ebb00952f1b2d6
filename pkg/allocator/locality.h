// Locality: devices of a pod that should agree in an attribute, if such devices are available.
//
//   dra-controller-manager/prefer: same:resource.kubernetes.io/pcieRoot=10, same:resource.kubernetes.io/numaNode
//
// On a ResourceClaim (a template sets it in spec.metadata.annotations). The devices of all claims of a pod with the
// same attribute should share one value of it, as matchAttribute would require within one claim: a device without the
// attribute agrees with no other, nor does one whose value says nothing (a numaNode of -1; a pcieRoot that all devices
// of the node share, as in virtual machines). Of several attributes the heaviest set that some node can meet is met; a
// weight is 1 to 100, default 1.
//
// Tenants write this: unknown text is ignored and reported, and a pod has at most kMaxPreferences. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/resource.h"

namespace dra::allocator {

inline constexpr std::string_view kPreferAnnotation = "dra-controller-manager/prefer";
inline constexpr size_t kMaxPreferences = 4;
inline constexpr size_t kMaxPreferText = 512;  // longer annotations are ignored
inline constexpr int kMaxPreferWeight = 100;

// An already allocated device that others should agree with.
struct Anchor {
  std::string driver, pool, device;
  bool operator==(const Anchor&) const = default;
};

struct Preference {
  std::string attribute;
  int weight = 1;
  std::vector<uint32_t> claims;  // indices in Request::claims: their devices should agree
  std::vector<Anchor> anchors;
  bool operator==(const Preference&) const = default;
};

struct PreferText {
  struct One {
    std::string attribute;
    int weight = 1;
  };
  std::vector<One> preferences;
  std::vector<std::string> ignored;  // clauses for people: the text and the reason
};
PreferText parse_prefer(std::string_view text);

struct Preferences {
  std::vector<Preference> of;
  // For each claim concerned: why a part of its annotation is ignored.
  std::vector<std::pair<const api::ResourceClaim*, std::string>> ignored;
};
// The preferences of one pod's claims. Allocated claims are anchors; the others are numbered as in Request::claims.
// Preferences that nothing can violate, such as that of a single device, are omitted. Costs one annotation look-up per
// claim if no claim has the annotation.
Preferences preferences_of(std::span<const std::shared_ptr<const api::ResourceClaim>> claims);

// All sets of preferences, as bits, the heaviest first and the empty one last.
std::vector<uint32_t> by_weight(const std::vector<Preference>& preferences);
// Why this place, as a clause: which preferences are met, and which are not. `undecided`: the search for an unmet one
// ran out of budget.
std::string locality_clause(const std::vector<Preference>& preferences, uint32_t met, bool undecided);

}  // namespace dra::allocator
