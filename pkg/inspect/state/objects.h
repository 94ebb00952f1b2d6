// Objects: what kubectl-dra knows about a cluster, read once, from lists of an API server or from a snapshot.
//
//   Objects objects;
//   auto added = add_page(objects, "pods", page_json);   // pages of lists, as a server sends them
//
// Both sources pass pages of lists to add_page(), so there is only one way in. Objects never change after they were
// read. Not thread-safe while being filled; afterwards const access is safe from many threads.
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
#include "pkg/api/eviction.h"
#include "pkg/api/quota.h"
#include "pkg/api/resource.h"
#include "pkg/api/scheduling.h"
#include "pkg/api/storage.h"
#include "pkg/base/error.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/reconcile/view.h"

namespace dra::inspect {

template <class T>
using ByKey = std::map<std::string, std::shared_ptr<const T>, std::less<>>;  // "namespace/name", or "name"

// Something that could not be read and that answers may therefore lack.
struct Hidden {
  std::string what;  // "pods of other namespaces"
  std::string why;   // the server's message
  bool operator==(const Hidden&) const = default;
};

// The pod template of a controller, as the pod that it creates from it (successor.h).
struct OwnerTemplate {
  std::string uid;  // of the owner
  api::Pod pod;
  int64_t from_ordinal = 0;  // of a StatefulSet: pods below its partition come from an older template
};

// Why, where the server answered that it is forbidden.
inline constexpr std::string_view kMayNotList = "you may not list them";

// Leases of the manager's leader election (pkg/protocol/manager_lease.h). They decide nothing: answers say who leads.
struct Managers {
  bool asked = false;      // whether they were read, or looked for
  std::string ns;          // where; empty: everywhere
  std::string why_hidden;  // empty: they could be read
  ByKey<api::Lease> leases;
};

// ResourceQuotas: they may keep claims from being made (quota.h).
struct Quotas {
  bool asked = false;          // whether they were read, or looked for
  std::vector<Hidden> hidden;  // which could not be read
  ByKey<api::ResourceQuota> all;

  // Whether those of this namespace were looked for and could not be read.
  bool hides_in(std::string_view ns) const;
};

// What decides who may be evicted, and for whom (evictions.h). Read for the verbs that answer about evictions.
struct EvictionObjects {
  bool asked = false;          // whether they were read, or looked for
  std::vector<Hidden> hidden;  // which could not be read
  ByKey<api::PodDisruptionBudget> budgets;
  ByKey<api::PriorityClass> priority_classes;
  ByKey<api::JobEvictionFacts> jobs;
  ByKey<api::PodEvictionFacts> pods;  // beside Objects::pods
  std::map<reconcile::GroupApi, ByKey<api::PodGroupEvictionFacts>> groups;

  // Whether some objects of the kind (by plural) could not be read: in this namespace, or, without one, anywhere.
  bool hides(std::string_view plural, std::string_view ns = "") const;
};

struct Objects {
  Timestamp taken;                        // when it was read: the "now" of every answer
  std::string origin;                     // "https://10.0.0.1:6443", "snapshot.gz"
  std::string server_version;             // "v1.36.2"; empty: not known
  std::vector<std::string> dra_versions;  // served versions of resource.k8s.io
  bool taint_rules_served = false;
  std::string taint_rule_version = "v1beta2";  // of resource.k8s.io, in which they are served; v1 from 1.37 on
  // The API server's feature gates that concern devices, and whether they are on; empty: unknown. Not in
  // snapshots.
  std::map<std::string, bool> feature_gates;
  bool redacted = false;
  std::vector<Hidden> hidden;
  // The storage kinds were requested, and those that could not be read: relevant only for pods with volumes.
  bool storage_read = false;
  std::vector<Hidden> hidden_storage;
  std::vector<std::string> unreadable;  // objects that could not be decoded, and why; at most kMaxUnreadable

  ByKey<api::Pod> pods;
  ByKey<api::ResourceClaim> claims;
  ByKey<api::ResourceClaimTemplate> templates;
  ByKey<api::Node> nodes;
  ByKey<api::Namespace> namespaces;
  ByKey<api::DeviceClass> classes;
  ByKey<api::ResourceSlice> slices;
  ByKey<api::DeviceTaintRule> taint_rules;
  // For each API whose PodGroups were read; they are requested only if a pod names one.
  std::map<reconcile::GroupApi, ByKey<api::PodGroup>> pod_groups;
  ByKey<api::PersistentVolumeClaim> volume_claims;
  ByKey<api::PersistentVolume> volumes;
  ByKey<api::StorageClass> storage_classes;
  ByKey<api::CsiNode> csi_nodes;
  ByKey<api::CsiDriver> csi_drivers;
  ByKey<api::CsiStorageCapacity> storage_capacities;
  ByKey<api::VolumeAttachment> attachments;
  // By kind, namespace and name of the owner. Read only for pods that a question makes anew, and never in snapshots.
  ByKey<OwnerTemplate> owner_templates;
  Managers managers;
  Quotas quotas;
  EvictionObjects evictions;

  std::unordered_map<std::string, std::shared_ptr<const api::ResourceClaim>, StringHash, std::equal_to<>> claim_by_uid;

  // Whether some objects of the kind (by plural) could not be read.
  bool hides(std::string_view plural) const;
  // Whether those of this namespace could not be read.
  bool hides_in(std::string_view plural, std::string_view ns) const;
  // Whether held devices may seem free, or full nodes empty: a kind that decisions read is not visible, all or part.
  bool hides_what_decides() const;
};

inline constexpr size_t kMaxUnreadable = 100;
// The limit of objects, from either source; more are refused.
inline constexpr size_t kMaxObjects = 4'000'000;

// Why devices are unknown: the server serves no readable version of resource.k8s.io. Empty: it serves one.
std::string why_no_devices(const Objects& objects);

// A kind to read. The order is that of snapshots.
struct KindToRead {
  // Answers are possible without the kinds of storage, without quotas, and without what decides about evictions.
  enum class For : uint8_t { kDevices, kStorage, kQuotas, kEvictions };
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;
  For needed_for = For::kDevices;
};
const std::vector<KindToRead>& kinds_to_read();

// PodGroups: read where a pod names one, and answers do without them.
struct GroupsToRead {
  reconcile::GroupApi api;
  std::string_view group, version;  // if the server does not say in which version it has them
  std::string_view name;            // for add_page(): both APIs call them podgroups
  std::string_view mention;         // in the text of a page of pods, of those that name one
};
const std::vector<GroupsToRead>& groups_to_read();

// What a page says about the rest of its list.
struct PageEnd {
  std::string continue_token;  // empty: the last page
  size_t items = 0;
};
// Adds the items of one page of a list of `plural`. An item that cannot be decoded is listed in `unreadable`, and the
// others are added. Errors: the text is not a list, or the kind is not one that is read.
Result<PageEnd> add_page(Objects& objects, std::string_view plural, std::string_view text);

// Gets pages of lists as they are read.
using OnPage = std::function<Result<void>(std::string_view plural, std::string_view page)>;

// The pods that the claim is reserved for: names of those that can be seen, "(pod hidden)" for others.
std::vector<std::string> consumers_of(const Objects& objects, const api::ResourceClaim& claim);

// "3d4h", "25m", as kubectl prints ages; "<unknown>" if `since` is not a time.
std::string age_text(const std::string& since, Timestamp now);

}  // namespace dra::inspect
