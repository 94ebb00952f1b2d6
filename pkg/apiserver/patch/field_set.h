// Sets of field paths, as managedFields record them (sigs.k8s.io/structured-merge-diff's fieldpath.Set).
//
// A path is a list of elements "f:name", "k:{...}" (an item of a keyed list), "v:..." (an item of a set). The set is
// stored as the sorted texts of its paths, elements joined by '\x1f'. Pure values.
#pragma once

#include <set>
#include <string>

#include "pkg/apiserver/model/json.h"

namespace dra::apiserver {

using FieldSet = std::set<std::string>;
constexpr char kPathSeparator = '\x1f';

// FieldsV1 and back; unknown shapes are ignored.
Json to_fields_v1(const FieldSet& set);
FieldSet from_fields_v1(const Json& fields);
// ".status.devices[device=\"d0\",driver=\"a\"].data": a path as conflicts print it.
std::string path_text(const std::string& path);

}  // namespace dra::apiserver
