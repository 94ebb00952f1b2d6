// Documents as trees of owned fields: the computations of server-side apply and managedFields.
//
// Source: sigs.k8s.io/structured-merge-diff v6, typed (ToFieldSet, Compare, Merge, RemoveItems) and fieldpath
// (EnsureNamedFieldsAreMembers). Sets leave out what nobody owns (stripMetaManager): apiVersion, kind, and the metadata
// that the server keeps. Pure; documents are in the form of decode_object().
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"
#include "pkg/apiserver/patch/field_set.h"

namespace dra::apiserver {

// What an applied configuration owns: leaves, items of lists, members of maps, empty structs. `repeated` gets the paths
// of list items with the same key or value as an earlier item.
FieldSet applied_fields(const ObjectType* type, const Json& object, std::vector<std::string>* repeated = nullptr);

// The differences between two documents. A whole value that appears or disappears is in the set with all its levels.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
  bool same() const { return added.empty() && modified.empty() && removed.empty(); }
  FieldSet changed() const;  // added and modified
};
Comparison compare_fields(const ObjectType* type, const Json& before, const Json& after);

// Merges an applied configuration: maps merge, keyed lists merge by key (new items are appended), sets by value;
// anything else is replaced.
void merge_applied(const ObjectType* type, Json& target, const Json& config);

// `merged` without fields that the manager owned before (`last`), owns no more (see `owned`), and nobody else owns.
Json prune_abandoned(const ObjectType* type, const Json& merged, const FieldSet& last, const FieldSet& owned);

}  // namespace dra::apiserver
