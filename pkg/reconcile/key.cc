#include "pkg/reconcile/key.h"

#include <array>
#include <utility>

namespace dra::reconcile {

namespace {

struct KindNames {
  Kind kind;
  std::string_view api;
  std::string_view prefix;
};
constexpr std::array<KindNames, 10> kKindNames{{{Kind::kPod, "Pod", "pod"},
                                                {Kind::kNode, "Node", "node"},
                                                {Kind::kNamespace, "Namespace", "namespace"},
                                                {Kind::kClaim, "ResourceClaim", "claim"},
                                                {Kind::kClaimTemplate, "ResourceClaimTemplate", "template"},
                                                {Kind::kSlice, "ResourceSlice", "slice"},
                                                {Kind::kClass, "DeviceClass", "class"},
                                                {Kind::kVolumeClaim, "PersistentVolumeClaim", "volumeclaim"},
                                                {Kind::kVolume, "PersistentVolume", "volume"},
                                                {Kind::kTaintRule, "DeviceTaintRule", "taintrule"}}};

}  // namespace

std::string_view kind_name(Kind kind) {
  for (const KindNames& names : kKindNames)
    if (names.kind == kind) return names.api;
  return "";
}

std::string_view namespace_of(const Key& key) {
  const size_t slash = key.object.find('/');
  return slash == std::string::npos ? std::string_view() : std::string_view(key.object).substr(0, slash);
}

std::string to_text(const Key& key) {
  for (const KindNames& names : kKindNames)
    if (names.kind == key.kind) return std::string(names.prefix) + ":" + key.object;
  return key.object;
}

std::optional<Key> parse_key(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  for (const KindNames& names : kKindNames)
    if (names.prefix == text.substr(0, colon)) return Key{names.kind, std::string(text.substr(colon + 1))};
  return std::nullopt;
}

}  // namespace dra::reconcile
