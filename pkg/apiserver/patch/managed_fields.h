// metadata.managedFields: which manager set which field, updated on every write.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/schema.h"
#include "pkg/apiserver/patch/field_tree.h"

namespace dra::apiserver {

// One manager, as managedFields name it.
struct ManagerTag {
  bool track = true;  // false: this write sets the entries itself (apply)
  std::string manager;
  std::string subresource;
  std::string api_version;
  std::string time;  // RFC 3339
};

// One entry of managedFields.
struct ManagedEntry {
  std::string manager;
  std::string operation;  // "Apply" or "Update"
  std::string subresource;
  std::string api_version;
  std::string time;  // empty: an apply that changed nothing but ownership
  FieldSet fields;
};
std::vector<ManagedEntry> read_managers(const Json& meta);
// Entries without fields are dropped; the others are in upstream's order.
void write_managers(Json& meta, std::vector<ManagedEntry> entries);
// Removes the differing fields from those that a manager owned.
void disown(FieldSet& fields, const Comparison& difference);
// What the first write of an object is compared with.
Json empty_object(const ObjectType* type);

// The schema that distinguishes lists and maps for ownership; null if there is none (then all maps are granular and all
// lists atomic).
const ObjectType* managed_type(const Kind& kind, const GroupVersion& gv);

// Records an ordinary write: fields that differ from `old` (null: a create) become this manager's alone; removed fields
// have no manager. Changes object["metadata"]["managedFields"]. Documents are in the hub version.
void track_update(const ObjectType* type, const Json* old, Json& object, const ManagerTag& manager);

}  // namespace dra::apiserver
