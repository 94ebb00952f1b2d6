#include "pkg/apiserver/field_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/json_text.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr char kSeparator = '\x1f';

// How a value is taken apart for ownership.
struct Shape {
  enum class Kind { kLeaf, kGranular, kKeyedList, kSetList };
  Kind kind = Kind::kLeaf;
  const ObjectType* object = nullptr;  // of a struct
  const ValueType* element = nullptr;  // of a map or list
  const Field* field = nullptr;        // of a list
};

Shape shape_of_value(const ValueType& v, const Field* field, const Json& value) {
  Shape s;
  s.field = field;
  if (field != nullptr && field->atomic) return s;
  if (v.type == FieldType::kObject && value.is_object() && !v.object->atomic) {
    s.kind = Shape::Kind::kGranular;
    s.object = v.object;
  } else if (v.type == FieldType::kMap && value.is_object()) {
    s.kind = Shape::Kind::kGranular;
    s.element = v.element.get();
  } else if (v.type == FieldType::kList && value.is_array() && field != nullptr &&
             field->list_type != ListType::kAtomic) {
    s.kind = field->list_type == ListType::kMap ? Shape::Kind::kKeyedList : Shape::Kind::kSetList;
    s.element = v.element.get();
  }
  return s;
}

Shape shape_of_member(const Shape& parent, const std::string& name, const Json& value) {
  if (parent.object != nullptr) {
    const Field* f = parent.object->find(name);
    return f == nullptr ? Shape{} : shape_of_value(f->value, f, value);
  }
  if (parent.element != nullptr) return shape_of_value(*parent.element, nullptr, value);
  // Without a schema: maps are taken apart, lists are not.
  Shape s;
  if (value.is_object()) s.kind = Shape::Kind::kGranular;
  return s;
}

Json item_key(const Field& field, const Json& item) {
  Json key = Json::object();
  if (!item.is_object()) return key;
  for (const auto& name : field.map_keys) {
    auto it = item.find(name);
    if (it != item.end()) {
      key[name] = *it;
      continue;
    }
    const Field* f =
        field.value.element && field.value.element->object ? field.value.element->object->find(name) : nullptr;
    if (f != nullptr && !f->default_text.empty()) key[name] = f->default_text;
  }
  return key;
}

std::string joined(const std::string& path, const std::string& element) {
  return path.empty() ? element : path + kSeparator + element;
}

Shape item_shape(const Shape& list, const Json& item) {
  return list.element == nullptr ? Shape{} : shape_of_value(*list.element, nullptr, item);
}

void collect(const Shape& shape, const Json& value, const std::string& path, FieldSet& out) {
  switch (shape.kind) {
    case Shape::Kind::kLeaf:
      if (!path.empty()) out.insert(path);
      return;
    case Shape::Kind::kGranular:
      if (!path.empty() && (value.empty() || shape.element != nullptr)) out.insert(path);
      for (const auto& [name, member] : value.items()) {
        collect(shape_of_member(shape, name, member), member, joined(path, "f:" + name), out);
      }
      return;
    case Shape::Kind::kKeyedList:
      if (value.empty()) out.insert(path);
      for (const auto& item : value) {
        const std::string at = joined(path, "k:" + compact_text(item_key(*shape.field, item)));
        out.insert(at);
        collect(item_shape(shape, item), item, at, out);
      }
      return;
    case Shape::Kind::kSetList:
      out.insert(path);
      for (const auto& item : value) out.insert(joined(path, "v:" + compact_text(item)));
      return;
  }
}

Shape root_shape(const ObjectType* type) {
  Shape s;
  s.kind = Shape::Kind::kGranular;
  s.object = type;
  return s;
}

const std::vector<std::string>& unowned_metadata() {
  static const std::vector<std::string> names = {"name",
                                                 "namespace",
                                                 "uid",
                                                 "resourceVersion",
                                                 "generation",
                                                 "selfLink",
                                                 "creationTimestamp",
                                                 "deletionTimestamp",
                                                 "deletionGracePeriodSeconds",
                                                 "managedFields"};
  return names;
}

// item_key(field, item) == wanted, without making the key where the item has all its fields: this is asked for each
// item of a list, for each of its fields.
bool has_item_key(const Field& field, const Json& item, const Json& wanted) {
  for (const auto& name : field.map_keys) {
    const auto it = item.is_object() ? item.find(name) : item.end();
    if (!item.is_object() || it == item.end()) return item_key(field, item) == wanted;  // perhaps a default
    const auto expected = wanted.is_object() ? wanted.find(name) : wanted.end();
    if (!wanted.is_object() || expected == wanted.end() || *expected != *it) return false;
  }
  return wanted.is_object() && wanted.size() == field.map_keys.size() && item.is_object();
}

Json* step_into(Shape& shape, Json& value, const std::string& element) {
  const std::string text = element.substr(2);
  if (element.starts_with("f:")) {
    auto it = value.is_object() ? value.find(text) : value.end();
    if (!value.is_object() || it == value.end()) return nullptr;
    shape = shape_of_member(shape, text, *it);
    return &*it;
  }
  if (!value.is_array()) return nullptr;
  const Json wanted = Json::parse(text, nullptr, false);
  for (auto& item : value) {
    const bool same =
        element.starts_with("k:") ? shape.field != nullptr && has_item_key(*shape.field, item, wanted) : item == wanted;
    if (!same) continue;
    shape = item_shape(shape, item);
    return &item;
  }
  return nullptr;
}

}  // namespace

FieldSet fields_of(const ObjectType* type, const Json& object) {
  Json owned = object;
  owned.erase("apiVersion");
  owned.erase("kind");
  auto meta = owned.find("metadata");
  if (meta != owned.end() && meta->is_object()) {
    for (const auto& name : unowned_metadata()) meta->erase(name);
    if (meta->empty()) owned.erase("metadata");
  }
  FieldSet out;
  collect(root_shape(type), owned, "", out);
  return out;
}

Json to_fields_v1(const FieldSet& set) {
  Json out = Json::object();
  for (const auto& path : set) {
    Json* at = &out;
    for (const auto& element : split(path, kSeparator)) {
      Json& next = (*at)[element];
      if (next.is_null()) next = Json::object();
      at = &next;
    }
    // A path that has members of its own needs the mark "."; leaves do not.
    const std::string prefix = path + kSeparator;
    auto member = set.lower_bound(prefix);
    if (member != set.end() && member->starts_with(prefix)) (*at)["."] = Json::object();
  }
  return out;
}

namespace {

void read_fields(const Json& fields, const std::string& path, int depth, FieldSet& out) {
  if (!fields.is_object() || depth > 100) return;
  if (fields.empty() && !path.empty()) out.insert(path);
  for (const auto& [element, below] : fields.items()) {
    if (element == ".") {
      if (!path.empty()) out.insert(path);
    } else if (element.starts_with("f:") || element.starts_with("k:") || element.starts_with("v:")) {
      read_fields(below, joined(path, element), depth + 1, out);
    }
  }
}

}  // namespace

FieldSet from_fields_v1(const Json& fields) {
  FieldSet out;
  read_fields(fields, "", 0, out);
  return out;
}

std::string path_text(const std::string& path) {
  std::string out;
  for (const auto& element : split(path, kSeparator)) {
    const std::string text = element.substr(2);
    if (element.starts_with("f:")) {
      out += "." + text;
    } else if (element.starts_with("k:")) {
      std::vector<std::string> parts;
      const Json keys = Json::parse(text, nullptr, false);
      for (const auto& [name, value] : keys.items()) parts.push_back(name + "=" + compact_text(value));
      out += "[" + join(parts, ",") + "]";
    } else {
      out += "[=" + text + "]";
    }
  }
  return out;
}

const Json* find_path(const ObjectType* type, const Json& object, const std::string& path) {
  Shape shape = root_shape(type);
  Json* at = const_cast<Json*>(&object);  // only read
  for (const auto& element : split(path, kSeparator)) {
    at = step_into(shape, *at, element);
    if (at == nullptr) return nullptr;
  }
  return at;
}

void remove_path(const ObjectType* type, Json& object, const std::string& path) {
  auto elements = split(path, kSeparator);
  const std::string last = elements.back();
  elements.pop_back();
  Shape shape = root_shape(type);
  Json* at = &object;
  for (const auto& element : elements) {
    at = step_into(shape, *at, element);
    if (at == nullptr) return;
  }
  if (last.starts_with("f:")) {
    if (at->is_object()) at->erase(last.substr(2));
    return;
  }
  Shape below = shape;
  Json* item = step_into(below, *at, last);
  if (item != nullptr) at->erase(static_cast<size_t>(item - &(*at)[0]));
}

namespace {

void merge_value(const Shape& shape, Json& target, const Json& config) {
  if (shape.kind == Shape::Kind::kLeaf || target.is_null()) {
    target = config;
  } else if (shape.kind == Shape::Kind::kGranular) {
    if (!target.is_object()) target = Json::object();
    for (const auto& [name, value] : config.items())
      merge_value(shape_of_member(shape, name, value), target[name], value);
  } else {
    if (!target.is_array()) target = Json::array();
    for (const auto& item : config) {
      Json* existing = nullptr;
      for (auto& old : target) {
        const bool same = shape.kind == Shape::Kind::kKeyedList
                              ? item_key(*shape.field, old) == item_key(*shape.field, item)
                              : old == item;
        if (same) existing = &old;
      }
      if (existing == nullptr) {
        target.push_back(item);
      } else if (shape.kind == Shape::Kind::kKeyedList) {
        merge_value(item_shape(shape, item), *existing, item);
      }
    }
  }
}

}  // namespace

void merge_applied(const ObjectType* type, Json& target, const Json& config) {
  merge_value(root_shape(type), target, config);
}

}  // namespace dra::apiserver
