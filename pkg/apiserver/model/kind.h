// Kind: what the generic machinery must know about one kind of object, and the hooks in which kinds differ.
//
// The life of a write (rest/write.h): decode by the request version's schema -> convert to the hub version ->
// set_defaults -> prepare_for_* -> admit_* -> validate_* -> store -> convert back to the request version. All hooks see
// the hub version (KindInfo::hub) with normalised fields (schema.h), so field errors have hub paths, as upstream.
//
// The machinery does the following itself for every kind: metadata (uid, timestamps, generateName, names, labels,
// annotations, finalizers, ownerReferences, managedFields and their validation), status reset on create and main
// updates, spec reset on status updates, generation, preconditions, finalizers and deletion, patches, selectors.
//
// Kinds are stateless and immutable: one instance serves all requests, on the server's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/apiserver/model/access.h"
#include "pkg/apiserver/model/field_error.h"
#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"
#include "pkg/apiserver/model/status.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"

namespace dra::apiserver {

struct GroupVersion {
  std::string group;  // "" is core
  std::string version;
  std::string text() const { return group.empty() ? version : group + "/" + version; }
  bool operator==(const GroupVersion&) const = default;
};

// One group version under which a kind is served.
struct ServedVersion {
  GroupVersion gv;
  std::string schema_package;  // "core/v1"; the schema's type is KindInfo::kind
  // Warning header of every request to it; empty if not deprecated: "resource.k8s.io/v1beta1 ResourceClaim is
  // deprecated in v1.35+, unavailable in v1.38+".
  std::string deprecation;
};

struct SubresourceInfo {
  std::string name;  // "status"
  GroupVersion gv;   // of the body if it is another kind's ("policy/v1" Eviction), else empty
  std::string kind;
  std::vector<std::string> verbs;  // sorted
};

enum class NameRule { kDnsSubdomain, kDnsLabel, kPathSegment };

struct KindInfo {
  std::string group;  // in messages and storage; the first served version's group
  std::string kind;
  std::string plural;
  std::string singular;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  std::vector<ServedVersion> served;  // most preferred first
  GroupVersion hub;                   // the version in which objects are stored and hooks work
  std::string storage_version;        // upstream's, if it differs; discovery shows its hash
  std::vector<std::string> verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  std::vector<SubresourceInfo> subresources;
  NameRule name_rule = NameRule::kDnsSubdomain;
  bool has_status = false;  // a status subresource; main writes ignore status, status writes ignore the rest
  bool keeps_status_on_create = false;  // nodes: a kubelet registers itself together with its status
  bool has_generation = false;          // generation starts at 1 and counts changes outside metadata and status
  bool allow_create_on_update = false;
  bool allow_unconditional_update = true;  // false: a PUT without resourceVersion is 422
  bool delete_returns_object = false;      // false: DELETE answers a Status if the object is gone at once
  // Which metadata a write to /status may change besides managedFields.
  bool status_keeps_labels = true;            // true: labels stay as they are
  bool status_keeps_finalizers = true;        // annotations and finalizers stay
  bool status_keeps_owner_references = true;  // true: ownerReferences stay as they are
  GroupResource group_resource() const { return {group, plural}; }
  // As messages about a request to `gv` name it: two groups serve events.
  GroupResource group_resource_of(const GroupVersion& gv) const { return {gv.group, plural}; }
  // The type as messages about Go's internal types name it: "apps.ReplicaSet", "core.Pod".
  std::string internal_type() const { return (group.empty() ? "core" : group.substr(0, group.find('.'))) + "." + kind; }
  const ServedVersion* find_version(const GroupVersion& gv) const;
};

// Where a store keeps objects of this kind: "resource.k8s.io/resourceclaims", and "namespace/name" or "name" there.
std::string table_of(const KindInfo& info);
std::string key_of(const KindInfo& info, const Json& object);

// Read access to the rest of the store, for checks across objects. `namespace_` is empty for cluster kinds. The
// documents are in the kind's hub version; nullptr if absent.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  virtual std::shared_ptr<const Json> find(std::string_view group, std::string_view plural, std::string_view namespace_,
                                           std::string_view name) const = 0;
  virtual void for_each(std::string_view group, std::string_view plural, std::string_view namespace_,
                        const std::function<void(const Json&)>& visit) const = 0;
};

// Circumstances of one write. Lives as long as the request.
struct WriteContext {
  const ObjectReader* reader = nullptr;
  const Clock* clock = nullptr;
  Random* random = nullptr;
  GroupVersion request_version;
  std::string namespace_;
  std::string subresource;  // "" for the object itself
  std::string verb;         // of the request: "create", "update", "patch"
  std::string user;
  std::string user_node;  // the node, if the user is a service account whose token is bound to one
  // May the caller also do this? Null: everything.
  std::function<AccessDecision(const AccessAttributes&)> authorize;
  std::string field_manager;
  bool dry_run = false;
  bool pod_groups = false;                       // ServerOptions::pod_groups
  std::vector<std::string>* warnings = nullptr;  // texts of Warning headers

  void warn(std::string text) const {
    if (warnings != nullptr) warnings->push_back(std::move(text));
  }
};

// One column of a Table (metav1.TableColumnDefinition).
struct TableColumn {
  std::string name;
  std::string type = "string";
  std::string format;
  std::string description;
  int priority = 0;
};

// Descriptions that several kinds share, as upstream prints them.
std::string_view name_column_description();
std::string_view age_column_description();
TableColumn name_column();
TableColumn age_column();
// "5s", "2m30s", "3h12m", "5d4h": duration.HumanDuration.
std::string human_duration(int64_t seconds);
// The Age cell: "<unknown>" when the timestamp is absent.
std::string age_cell(const Json& timestamp_or_null, WallTime now);

// The outcome of graceful deletion (pods). Without it every delete is immediate.
struct DeleteDecision {
  bool graceful = false;      // keep the object with a deletionTimestamp
  int64_t grace_seconds = 0;  // the decided grace period
  bool mark_first = false;    // immediate, but a MODIFIED event with deletionTimestamp precedes DELETED
};

class Kind {
 public:
  // The metadata that table rows show of an object.
  virtual Json table_metadata(const Json& metadata) const;
  explicit Kind(KindInfo info) : info_(std::move(info)) {}
  virtual ~Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;

  const KindInfo& info() const { return info_; }

  // Conversion of a whole object (apiVersion and kind are set by the caller). Never fails: both are valid shapes.
  virtual void convert(Json& object, const GroupVersion& from, const GroupVersion& to) const;

  // Defaults of the versioned API, on a decoded object in the hub version. Must be idempotent.
  virtual void set_defaults(Json& object) const;

  // Called before admission and validation, after status reset and generation. `object` has its final name.
  virtual void prepare_for_create(const WriteContext& ctx, Json& object) const;
  // A write to the object itself; status already has its old value. Generation is counted after this.
  virtual void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const;
  // A write to /status; everything except status (and the metadata KindInfo allows) already has its old value.
  virtual void prepare_for_status_update(const WriteContext& ctx, Json& object, const Json& old) const;

  // Admission: refusals other than 422, and admission's mutations.
  virtual StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const;
  virtual StatusOr<void> admit_update(const WriteContext& ctx, Json& object, const Json& old) const;
  virtual StatusOr<void> admit_delete(const WriteContext& ctx, const Json& object) const;

  // False if upstream checks metadata only after the kind's own rules found nothing wrong.
  virtual bool validates_metadata(const WriteContext&) const { return true; }
  // Errors that upstream reports on a created object before any about its metadata.
  virtual FieldErrors validate_before_metadata(const WriteContext&, const Json&) const { return {}; }
  // Validation, without metadata (the machinery validates that first). Errors in upstream's order.
  virtual FieldErrors validate_create(const WriteContext& ctx, const Json& object) const;
  virtual FieldErrors validate_update(const WriteContext& ctx, const Json& object, const Json& old) const;
  virtual FieldErrors validate_status_update(const WriteContext& ctx, const Json& object, const Json& old) const;

  // True (default) when generation counts this change: anything outside metadata and status differs.
  virtual bool bumps_generation(const Json& object, const Json& old) const;

  // Tables. `columns` is called once; `cells` returns one value per column for an object in the hub version.
  virtual std::vector<TableColumn> columns() const;
  virtual Json cells(const Json& object, WallTime now) const;
  // TableRow.conditions; null if there are none.
  virtual Json row_conditions(const Json& object) const;

  // Field labels besides metadata.name and metadata.namespace that this version accepts in selectors, and an object's
  // value for one of them ("" when unset).
  virtual std::vector<std::string> field_labels(const GroupVersion& gv) const;
  virtual std::string field_value(const Json& object, std::string_view label, const GroupVersion& gv) const;
  // The 400 for an unknown label; kinds without their own labels answer `"x" is not a known field selector: only ...`.
  virtual std::string unknown_field_label(std::string_view label, const GroupVersion& gv) const;

  // Called on an object that a deletion marks or removes (namespaces become Terminating).
  virtual void prepare_for_delete(const WriteContext& ctx, Json& object) const;
  // Deletion of one existing object. `grace_period` as given in the options.
  virtual DeleteDecision decide_delete(const Json& object, std::optional<int64_t> grace_period) const;
  // The policy if the request names none: "Background", "Orphan" or "Foreground"; may warn.
  virtual std::string default_propagation(const WriteContext& ctx) const;

 private:
  KindInfo info_;
};

// All kinds by group and plural. Immutable once the server runs.
class KindRegistry {
 public:
  void add(std::unique_ptr<Kind> kind);  // a bug (check) if group and plural are taken
  // This version is known but not served, like --runtime-config=GROUP/VERSION=false.
  void withdraw(const std::string& group_version) { withdrawn_.insert(group_version); }
  const std::set<std::string>& withdrawn() const { return withdrawn_; }
  bool serves(const GroupVersion& gv) const { return !withdrawn_.contains(gv.text()); }
  // The kind served at group/version/plural; nullptr if there is none.
  const Kind* find(const GroupVersion& gv, std::string_view plural) const;
  const Kind* find_by_kind(const GroupVersion& gv, std::string_view kind) const;
  const std::vector<std::unique_ptr<Kind>>& kinds() const { return kinds_; }
  bool has_group(std::string_view group) const;
  bool has_version(const GroupVersion& gv) const;

 private:
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::set<std::string> withdrawn_;
};

}  // namespace dra::apiserver
