// Documents as trees of owned fields: what server-side apply and managedFields compute.
//
// Source: sigs.k8s.io/structured-merge-diff v6, typed (ToFieldSet, Compare, Merge, RemoveItems) and fieldpath
// (EnsureNamedFieldsAreMembers). Sets leave out what nobody owns (stripMetaManager): apiVersion, kind, and the metadata
// that the server keeps. Pure; documents are in the form of decode_object().
#pragma once

#include <string>
#include <vector>

#include "pkg/apiserver/field_set.h"
#include "pkg/apiserver/json.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

// What an applied configuration owns: leaves, items of lists, members of maps, empty structs. `repeated` gets the paths
// of list items that stand for the same key or value as an earlier one.
FieldSet applied_fields(const ObjectType* type, const Json& object, std::vector<std::string>* repeated = nullptr);

// What differs between two documents. A whole value that appears or goes is in the set with each level of it.
struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
  bool same() const { return added.empty() && modified.empty() && removed.empty(); }
  FieldSet changed() const;  // added and modified
};
Comparison compare_fields(const ObjectType* type, const Json& before, const Json& after);

// Merges an applied configuration: maps merge, keyed lists by key (new items are appended), sets by value, the rest
// replaces.
void merge_applied(const ObjectType* type, Json& target, const Json& config);

// `merged` without what the manager owned before (`last`), now does not (its part of `owned`), and nobody else owns.
Json prune_abandoned(const ObjectType* type, const Json& merged, const FieldSet& last, const FieldSet& owned);

}  // namespace dra::apiserver
