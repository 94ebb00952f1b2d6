// Names of things: kinds, references to objects, and the keys that queues hold.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace dra::reconcile {

// The kinds that reconcilers read or write.
enum class Kind {
  kPod,
  kNode,
  kNamespace,
  kClaim,
  kClaimTemplate,
  kSlice,
  kClass,
  kVolumeClaim,
  kVolume,
  kTaintRule,
};

// The kind as the API has it: "Pod", "ResourceClaim".
std::string_view kind_name(Kind kind);

// An object by name, or, if uid is set, one instance of it.
struct Ref {
  Kind kind = Kind::kPod;
  std::string ns;  // empty for cluster-scoped kinds
  std::string name;
  std::string uid;
  // "namespace/name", or "name": the key of stores.
  std::string store_key() const { return ns.empty() ? name : ns + "/" + name; }
  bool operator==(const Ref&) const = default;
};

// What a queue holds: a kind and the store key of an object. It stays a value from the event to the reconcile; logs and
// tests write it "pod:default/a".
struct Key {
  Kind kind = Kind::kPod;
  std::string object;
  bool operator==(const Key&) const = default;
  auto operator<=>(const Key&) const = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const { return of(key.kind, key.object); }
  static size_t of(Kind kind, std::string_view object) {
    return std::hash<std::string_view>{}(object) ^ (static_cast<size_t>(kind) << 1);
  }
};
// "default" for default/a; empty for objects without a namespace.
std::string_view namespace_of(const Key& key);

std::string to_text(const Key& key);
// Nothing if the text is not a key.
std::optional<Key> parse_key(std::string_view text);

inline Key pod_key(std::string object) {
  return {Kind::kPod, std::move(object)};
}
inline Key claim_key(std::string object) {
  return {Kind::kClaim, std::move(object)};
}

}  // namespace dra::reconcile
