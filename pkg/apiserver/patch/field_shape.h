// How ownership and merging split a value by its schema. Internal to this package.
//
// Source: sigs.k8s.io/structured-merge-diff, schema and typed. Without a schema, maps are split and lists are not.
#pragma once

#include <string>
#include <unordered_map>

#include "pkg/apiserver/model/json.h"
#include "pkg/apiserver/model/schema.h"

namespace dra::apiserver {

struct FieldShape {
  enum class Kind { kLeaf, kGranular, kKeyedList, kSetList };
  Kind kind = Kind::kLeaf;
  const ObjectType* object = nullptr;  // for a struct
  const ValueType* element = nullptr;  // for a map or list
  const Field* field = nullptr;        // for a list

  bool is_list() const { return kind == Kind::kKeyedList || kind == Kind::kSetList; }
  // True if this is a struct that declares the field: such fields are not members of sets by themselves.
  bool declares(const std::string& name) const { return object != nullptr && object->find(name) != nullptr; }
};

FieldShape root_shape(const ObjectType* type);
// The shape of a struct's or map's member; `value` decides if null means absent.
FieldShape member_shape(const FieldShape& parent, const std::string& name, const Json& value);
FieldShape item_shape(const FieldShape& list, const Json& item);

// The path element of a list's item: `k:{...}` or `v:...`.
std::string item_element(const FieldShape& list, const Json& item);
// The first item for each element.
using ItemIndex = std::unordered_map<std::string, size_t>;
ItemIndex index_items(const FieldShape& list, const Json& items);

}  // namespace dra::apiserver
