// Sets of field paths, as managedFields record them (sigs.k8s.io/structured-merge-diff's fieldpath.Set).
//
// A path is a list of elements "f:name", "k:{...}" (an item of a keyed list), "v:..." (an item of a set). The set is
// kept as the sorted texts of its paths, elements joined by '\x1f'. Pure values.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "pkg/apiserver/json.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

using FieldSet = std::set<std::string>;

// The leaves of a document: scalars, atomic lists, maps and structs, empty containers; of keyed list items also the
// item itself. apiVersion, kind and the metadata that nobody owns are left out. `repeated` gets the paths of list items
// that stand for the same key or value as an earlier one.
FieldSet fields_of(const ObjectType* type, const Json& object, std::vector<std::string>* repeated = nullptr);
// FieldsV1 and back; unknown shapes are ignored.
Json to_fields_v1(const FieldSet& set);
FieldSet from_fields_v1(const Json& fields);
// ".status.devices[device=\"d0\",driver=\"a\"].data", as conflicts name a path.
std::string path_text(const std::string& path);

// Finds values of one document, which must not change meanwhile; lists are indexed once.
class PathFinder {
 public:
  PathFinder(const ObjectType* type, const Json& object);
  ~PathFinder();
  // The value at a path; null when there is none.
  const Json* find(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Removes what stands at the paths, which must be sorted; items of keyed lists go whole.
void remove_paths(const ObjectType* type, Json& object, const std::vector<std::string>& paths);

// Merges an applied configuration: maps merge, keyed lists by key (new items are appended), sets by value, the rest
// replaces.
void merge_applied(const ObjectType* type, Json& target, const Json& config);

}  // namespace dra::apiserver
