// Locality: devices of a pod that should agree in an attribute, where some that do can be had.
//
//   dra-controller-manager/prefer: same:resource.kubernetes.io/pcieRoot=10, same:resource.kubernetes.io/numaNode
//
// On a ResourceClaim (a template hands it on in spec.metadata.annotations). The devices of all claims of a pod that
// bear the same attribute should have one value of it in common, as matchAttribute would demand it of one claim: a
// device without the attribute agrees with nobody. Of several attributes those are met together that weigh most; a
// weight is 1 to 100, and 1 if it is left out.
//
// Tenants write this: what is not understood is ignored and reported, and a pod has at most kMaxPreferences. Pure.
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
inline constexpr size_t kMaxPreferText = 512;  // a longer one is ignored as a whole
inline constexpr int kMaxPreferWeight = 100;

// A device that is allocated already, and that others should agree with.
struct Anchor {
  std::string driver, pool, device;
  bool operator==(const Anchor&) const = default;
};

struct Preference {
  std::string attribute;
  int weight = 1;
  std::vector<uint32_t> claims;  // of Request::claims: their devices should agree
  std::vector<Anchor> anchors;
  bool operator==(const Preference&) const = default;
};

struct PreferText {
  struct One {
    std::string attribute;
    int weight = 1;
  };
  std::vector<One> preferences;
  std::vector<std::string> ignored;  // clauses for people: what, and why
};
PreferText parse_prefer(std::string_view text);

struct Preferences {
  std::vector<Preference> of;
  // By claim of those given: why a part of its annotation is ignored.
  std::vector<std::pair<const api::ResourceClaim*, std::string>> ignored;
};
// Of the claims of one pod. Those that are allocated are anchors, the others are counted as Request::claims has them.
// Preferences that nothing can violate, such as those of a single device, are left out. Costs a look into the
// annotations of each claim where none bears the annotation.
Preferences preferences_of(std::span<const std::shared_ptr<const api::ResourceClaim>> claims);

// Sets of preferences, as bits, the heaviest first and the empty one last.
std::vector<uint32_t> by_weight(const std::vector<Preference>& preferences);
// Why this place, as a clause: which of the preferences are met, and which are not. `undecided`: for one of those not
// met the search spent its budget.
std::string locality_clause(const std::vector<Preference>& preferences, uint32_t met, bool undecided);

}  // namespace dra::allocator
