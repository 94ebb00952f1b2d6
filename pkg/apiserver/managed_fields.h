// metadata.managedFields: who set which field, kept on every write.
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/field_tree.h"
#include "pkg/apiserver/json.h"
#include "pkg/apiserver/kind.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

// One writer, as managedFields name it.
struct ManagerTag {
  bool track = true;  // false: this write keeps the entries itself (apply)
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
// Entries without fields are dropped; the others stand in upstream's order.
void write_managers(Json& meta, std::vector<ManagedEntry> entries);
// Takes what differs out of what somebody owned.
void disown(FieldSet& fields, const Comparison& difference);
// What the first write of an object is compared with.
Json empty_object(const ObjectType* type);

// The schema that tells lists and maps apart for ownership, null when there is none (everything is then granular maps
// and atomic lists).
const ObjectType* managed_type(const Kind& kind, const GroupVersion& gv);

// Notes an ordinary write: fields that differ from `old` (null: a create) become the manager's and nobody else's,
// fields that are gone are nobody's. Changes object["metadata"]["managedFields"]. Documents are in the hub version.
void track_update(const ObjectType* type, const Json* old, Json& object, const ManagerTag& manager);

}  // namespace dra::apiserver
