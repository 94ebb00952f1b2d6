// How a value is taken apart for ownership and merging, by its schema. Internal to this package.
//
// Source: sigs.k8s.io/structured-merge-diff, schema and typed; without a schema maps are taken apart, lists are not.
#pragma once

#include <string>
#include <unordered_map>

#include "pkg/apiserver/json.h"
#include "pkg/apiserver/schema.h"

namespace dra::apiserver {

struct FieldShape {
  enum class Kind { kLeaf, kGranular, kKeyedList, kSetList };
  Kind kind = Kind::kLeaf;
  const ObjectType* object = nullptr;  // of a struct
  const ValueType* element = nullptr;  // of a map or list
  const Field* field = nullptr;        // of a list

  bool is_list() const { return kind == Kind::kKeyedList || kind == Kind::kSetList; }
  // True when this is a struct that declares the field: such fields are no members of sets by themselves.
  bool declares(const std::string& name) const { return object != nullptr && object->find(name) != nullptr; }
};

FieldShape root_shape(const ObjectType* type);
// Of a struct's or map's member; the value decides where null stands for nothing.
FieldShape member_shape(const FieldShape& parent, const std::string& name, const Json& value);
FieldShape item_shape(const FieldShape& list, const Json& item);

// The path element of a list's item: `k:{...}` or `v:...`.
std::string item_element(const FieldShape& list, const Json& item);
// The first item of each element.
using ItemIndex = std::unordered_map<std::string, size_t>;
ItemIndex index_items(const FieldShape& list, const Json& items);

}  // namespace dra::apiserver
