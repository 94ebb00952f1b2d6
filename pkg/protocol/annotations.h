// The annotations with our prefix: those by which users ask for something, in one table, and those that the manager
// writes as its marks.
//
//   for (const UserAnnotation& one : user_annotations()) ...
//   const UserAnnotation* found = find_user_annotation("dra-controller-manager/prefer");
//
// Made from the table: the chart's list of what tenants may write (scripts/render-annotations), the section on
// annotations in docs/user/reference.md, and lint's findings on names and places. A new annotation is a row here;
// its reader is elsewhere, and a test compares the names. Constant data, safe from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dra::protocol {

inline constexpr std::string_view kAnnotationPrefix = "dra-controller-manager/";

// Where an annotation is read. A ResourceClaimTemplate sets that of its claims in spec.metadata.annotations, and a
// workload that of its pods in their template.
enum class AnnotationPlace : uint8_t {
  kPod = 1,
  kResourceClaim = 2,
  kPodGroup = 4,
  kDeviceClass = 8,
  kDeviceTaintRule = 16,
  kNamespace = 32,
};

struct UserAnnotation {
  std::string_view name;   // with the prefix
  uint8_t places;          // AnnotationPlace, or-ed
  std::string_view value;  // its grammar and limits, in one sentence for people
  std::string_view since;  // the release that brought it
  std::string_view page;   // under docs/

  bool stands_on(AnnotationPlace place) const { return (places & static_cast<uint8_t>(place)) != 0; }
  // "ResourceClaim", "Pod"
  std::vector<std::string> kinds() const;
};

// In the order of names.
std::span<const UserAnnotation> user_annotations();
const UserAnnotation* find_user_annotation(std::string_view name);  // null: it is none of ours

// The names that the manager alone writes, on pods, claims and volumes.
std::span<const std::string_view> manager_marks();

}  // namespace dra::protocol
