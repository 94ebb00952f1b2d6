#include "pkg/protocol/annotations.h"

#include <algorithm>
#include <array>

namespace dra::protocol {
namespace {

constexpr uint8_t kPod = static_cast<uint8_t>(AnnotationPlace::kPod);
constexpr uint8_t kClaim = static_cast<uint8_t>(AnnotationPlace::kResourceClaim);
constexpr uint8_t kGroup = static_cast<uint8_t>(AnnotationPlace::kPodGroup);
constexpr uint8_t kClass = static_cast<uint8_t>(AnnotationPlace::kDeviceClass);
constexpr uint8_t kNamespace = static_cast<uint8_t>(AnnotationPlace::kNamespace);
constexpr uint8_t kRule = static_cast<uint8_t>(AnnotationPlace::kDeviceTaintRule);

constexpr std::string_view kTopologyValue =
    "the key of a node label, or `attribute:` and a device attribute with its domain";
constexpr std::string_view kRailsValue =
    "`CLAIM/REQUEST + CLAIM/REQUEST by DOMAIN/ATTRIBUTE`, several separated by commas: at most 8 entries, 8 requests "
    "an entry, 1,024 bytes";

constexpr auto kUserAnnotations = std::to_array<UserAnnotation>({
    {"dra-controller-manager/allow-evictions", kRule,
     "the generation of the rule that may evict more pods than the guard allows", "0.1.0", "user/flags.md"},
    {"dra-controller-manager/defragment", kClass,
     "`off`, `advice` or `on`: whether pods move so that a request of the class fits; the lesser of this and the flag "
     "counts",
     "0.1.0", "user/preemption.md"},
    {"dra-controller-manager/do-not-move", kPod, "`true`: the pod is not moved so that others fit", "0.1.0",
     "user/preemption.md"},
    {"dra-controller-manager/group", kPod, "how many pods of the Job are placed together: a number, at most 1,024",
     "0.1.0", "user/groups.md"},
    {"dra-controller-manager/keep-devices", kClaim,
     "how long the claim keeps its devices without a pod, made from a template for the next pod of its pod's "
     "controller: a number and `s`, `m` or `h`, `1s` to `24h`",
     "0.1.0", "user/keep.md"},
    {"dra-controller-manager/min-groups", kGroup,
     "how many of the groups below this one are placed together: a number of 1 to 256", "0.1.0", "user/groups.md"},
    {"dra-controller-manager/moves-per-hour", kPod | kNamespace,
     "how many pods of the owner, or of the namespace, may be moved in an hour: a number of 0 to 1,000", "0.1.0",
     "user/preemption.md"},
    {"dra-controller-manager/pairs", kPod | kClaim,
     "`REQUEST + REQUEST*NUMBER by DOMAIN/ATTRIBUTE`, on a Pod `CLAIM/REQUEST`, several separated by commas: at most 8 "
     "entries a pod with its claims, 8 requests an entry, a number of 1 to 32, 1,024 bytes",
     "0.1.0", "user/pairs.md"},
    {"dra-controller-manager/parent-group", kPod | kGroup,
     "the name of the PodGroup above this one, or above the Job of the pod: at most 4 levels", "0.1.0",
     "user/groups.md"},
    {"dra-controller-manager/preemption", kClass,
     "`never`: pods that ask for the class neither take the place of others, nor do others take theirs", "0.1.0",
     "user/preemption.md"},
    {"dra-controller-manager/prefer", kClaim,
     "`same:DOMAIN/ATTRIBUTE`, or with a weight of 1 to 100 `same:DOMAIN/ATTRIBUTE=WEIGHT`, several separated by "
     "commas: at most 4 attributes a pod, 512 bytes",
     "0.1.0", "user/strategies.md"},
    {"dra-controller-manager/same-across-members", kPod | kGroup, kRailsValue, "0.1.0", "user/pairs.md"},
    {"dra-controller-manager/same-across-members-preferred", kPod | kGroup, kRailsValue, "0.1.0", "user/pairs.md"},
    {"dra-controller-manager/shared-silicon", kClass,
     "`true`: requests of the class may take a device of which another name is held, and keep nobody from other names",
     "0.1.0", "user/same-hardware.md"},
    {"dra-controller-manager/shares", kClass,
     "`sharers=NUMBER`, `per-namespace=NUMBER` or `=PERCENT%`, `with=any`, `=same-namespace` or "
     "`=namespaces:NAME,NAME`, "
     "`order=pack` or `=spread`, between blanks, each at most once: at most 64 namespaces, 4,096 bytes",
     "0.1.0", "user/sharing.md"},
    {"dra-controller-manager/strategy", kClass, "first-fit, best-fit, pack or spread", "0.1.0", "user/strategies.md"},
    {"dra-controller-manager/topology-preferred", kPod | kGroup, kTopologyValue, "0.1.0", "user/groups.md"},
    {"dra-controller-manager/topology-required", kPod | kGroup, kTopologyValue, "0.1.0", "user/groups.md"},
    {"dra-controller-manager/usage-counter", kClass,
     "the name of the counter, or of the capacity, by which the devices of the class are weighed in usage, instead of "
     "the mean of all: at most 253 bytes",
     "0.1.0", "user/usage.md"},
});

constexpr std::array<std::string_view, 8> kManagerMarks{{
    "dra-controller-manager/avoided-devices",
    "dra-controller-manager/history",
    "dra-controller-manager/identities",
    "dra-controller-manager/leaving",
    "dra-controller-manager/proven",
    "dra-controller-manager/proven-for",
    "dra-controller-manager/rails",
    "dra-controller-manager/volume-binding",
}};

}  // namespace

std::vector<std::string> UserAnnotation::kinds() const {
  static constexpr std::array<std::pair<AnnotationPlace, const char*>, 6> kKinds{{
      {AnnotationPlace::kPod, "Pod"},
      {AnnotationPlace::kResourceClaim, "ResourceClaim"},
      {AnnotationPlace::kPodGroup, "PodGroup"},
      {AnnotationPlace::kDeviceClass, "DeviceClass"},
      {AnnotationPlace::kDeviceTaintRule, "DeviceTaintRule"},
      {AnnotationPlace::kNamespace, "Namespace"},
  }};
  std::vector<std::string> names;
  for (const auto& [place, kind] : kKinds)
    if (stands_on(place)) names.emplace_back(kind);
  return names;
}

std::span<const UserAnnotation> user_annotations() {
  return kUserAnnotations;
}

const UserAnnotation* find_user_annotation(std::string_view name) {
  const auto found = std::find_if(kUserAnnotations.begin(), kUserAnnotations.end(),
                                  [&](const UserAnnotation& one) { return one.name == name; });
  return found == kUserAnnotations.end() ? nullptr : &*found;
}

std::span<const std::string_view> manager_marks() {
  return kManagerMarks;
}

}  // namespace dra::protocol
