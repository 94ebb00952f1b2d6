// The rails of one group: the rules that its PodGroup's and its members' annotations make, resolved to requests.
//
//   GroupRails rails = read_group_rails(podGroup annotations, members);
//   if (rails.refusal) every member waits and gets the sentence
//   for (const RailRule& rule : rails.rules) rule.of[m]: whose devices of member m must be on the same rails
//
// Order of `members`, which decides the order of soft rules: creationTimestamp, then uid. A pod's own entry for an
// attribute replaces, for that pod, the PodGroup's of the same kind; hard and soft entries are rules of their own.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pkg/alignment/alignment.h"
#include "pkg/alignment/pod_pairs.h"
#include "pkg/api/meta.h"
#include "pkg/api/resource.h"

namespace dra::alignment {

// A member of the group. The claims are distinct, not null, in the pod's order.
struct RailMember {
  const api::StringMap* annotations = nullptr;  // the pod's; not null
  std::vector<const api::ResourceClaim*> claims;
  std::vector<ClaimName> names;
};

struct RailRequest {
  uint32_t claim = 0;  // index in RailMember::claims
  std::string request;
  bool operator==(const RailRequest&) const = default;
};

struct RailRule {
  std::string attribute;
  bool soft = false;
  std::string text;                          // the entry that mentions it first, for people
  std::vector<std::vector<RailRequest>> of;  // by member; empty: the rule does not bind it
};

struct GroupRails {
  // In order of first mention. Rules that bind nobody are not there.
  std::vector<RailRule> rules;
  // The first problem of a hard annotation, of pairs or rails; then there are no rules.
  std::optional<Refusal> refusal;
  std::optional<uint32_t> refused_member;  // whose annotation it is; unset: the PodGroup's
  // Soft annotations that are ignored as a whole: whose (unset: the PodGroup's), and why.
  std::vector<std::pair<std::optional<uint32_t>, Refusal>> ignored;
};

// Whether the annotations ask for any rails, hard or soft. A look-up or two.
bool has_rails(const api::StringMap& annotations);

// `pod_group`: its annotations; null if there is none. `pairs`: also judge the members' annotations for pairs.
GroupRails read_group_rails(const api::StringMap* pod_group, std::span<const RailMember> members, bool pairs = true);

}  // namespace dra::alignment
