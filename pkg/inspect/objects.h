// Objects: what kubectl-dra knows of a cluster, read once, from lists of an API server or from a snapshot.
//
//   Objects objects;
//   auto added = add_page(objects, "pods", page_json);   // pages of lists, as a server sends them
//
// Both sources feed pages of lists into add_page(), so there is one way in. Objects are never changed after they were
// read. Not thread-safe while it is filled; afterwards const access is safe from many threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/api/storage.h"
#include "pkg/base/clock.h"
#include "pkg/base/error.h"
#include "pkg/base/strings.h"

namespace dra::inspect {

template <class T>
using ByKey = std::map<std::string, std::shared_ptr<const T>, std::less<>>;  // "namespace/name", or "name"

// Something that could not be read, so that answers may lack it.
struct Hidden {
  std::string what;  // "pods of other namespaces"
  std::string why;   // the server's words
  bool operator==(const Hidden&) const = default;
};

struct Objects {
  WallTime taken{};                       // when it was read: the "now" of every answer
  std::string origin;                     // "https://10.0.0.1:6443", "snapshot.gz"
  std::string server_version;             // "v1.36.2"; empty: not known
  std::vector<std::string> dra_versions;  // of resource.k8s.io that are served
  bool taint_rules_served = false;
  // Feature gates of the API server that concern devices, and whether they are on; empty: could not be found out. Not
  // in snapshots.
  std::map<std::string, bool> feature_gates;
  bool redacted = false;
  std::vector<Hidden> hidden;
  // The kinds of storage were asked for, and those that could not be read: of interest for pods with volumes alone.
  bool storage_read = false;
  std::vector<Hidden> hidden_storage;
  std::vector<std::string> unreadable;  // objects that no decoder understood, and why; at most kMaxUnreadable

  ByKey<api::Pod> pods;
  ByKey<api::ResourceClaim> claims;
  ByKey<api::ResourceClaimTemplate> templates;
  ByKey<api::Node> nodes;
  ByKey<api::Namespace> namespaces;
  ByKey<api::DeviceClass> classes;
  ByKey<api::ResourceSlice> slices;
  ByKey<api::DeviceTaintRule> taint_rules;
  ByKey<api::PersistentVolumeClaim> volume_claims;
  ByKey<api::PersistentVolume> volumes;
  ByKey<api::StorageClass> storage_classes;
  ByKey<api::CsiNode> csi_nodes;
  ByKey<api::CsiDriver> csi_drivers;
  ByKey<api::CsiStorageCapacity> storage_capacities;
  ByKey<api::VolumeAttachment> attachments;

  std::unordered_map<std::string, std::shared_ptr<const api::ResourceClaim>, StringHash, std::equal_to<>> claim_by_uid;

  // Whether objects of the kind (by plural) could not all be read.
  bool hides(std::string_view plural) const;
};

inline constexpr size_t kMaxUnreadable = 100;
// More objects than this are refused, from whichever source.
inline constexpr size_t kMaxObjects = 4'000'000;

// Why nothing can be said of devices: the server has no version of resource.k8s.io that is read. Empty: it has.
std::string why_no_devices(const Objects& objects);

// A kind that is read. The order is that of snapshots.
struct KindToRead {
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;
  bool of_storage = false;  // answers do without it
};
const std::vector<KindToRead>& kinds_to_read();

// What a page says about the rest of its list.
struct PageEnd {
  std::string continue_token;  // empty: the last page
  size_t items = 0;
};
// Adds the items of one page of a list of `plural`. An item that cannot be decoded is noted in `unreadable`, and the
// others are added. Errors: the text is no list, or the kind is not one that is read.
Result<PageEnd> add_page(Objects& objects, std::string_view plural, std::string_view text);

// The pods that the claim is reserved for, as far as they can be seen: names, and "(pod hidden)" where not.
std::vector<std::string> consumers_of(const Objects& objects, const api::ResourceClaim& claim);

// "3d4h", "25m", as kubectl prints ages; "<unknown>" when `since` is no time.
std::string age_text(const std::string& since, WallTime now);

}  // namespace dra::inspect
