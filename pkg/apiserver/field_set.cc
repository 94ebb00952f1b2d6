#include "pkg/apiserver/field_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

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

void collect(const Shape& shape, const Json& value, const std::string& path, FieldSet& out,
             std::vector<std::string>* repeated) {
  switch (shape.kind) {
    case Shape::Kind::kLeaf:
      if (!path.empty()) out.insert(path);
      return;
    case Shape::Kind::kGranular:
      if (!path.empty() && (value.empty() || shape.element != nullptr)) out.insert(path);
      for (const auto& [name, member] : value.items()) {
        collect(shape_of_member(shape, name, member), member, joined(path, "f:" + name), out, repeated);
      }
      return;
    case Shape::Kind::kKeyedList:
      if (value.empty()) out.insert(path);
      for (const auto& item : value) {
        const std::string at = joined(path, "k:" + compact_text(item_key(*shape.field, item)));
        if (!out.insert(at).second && repeated != nullptr) repeated->push_back(at);
        collect(item_shape(shape, item), item, at, out, repeated);
      }
      return;
    case Shape::Kind::kSetList:
      out.insert(path);
      for (const auto& item : value) {
        const std::string at = joined(path, "v:" + compact_text(item));
        if (!out.insert(at).second && repeated != nullptr) repeated->push_back(at);
      }
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

}  // namespace

FieldSet fields_of(const ObjectType* type, const Json& object, std::vector<std::string>* repeated) {
  Json owned = object;
  owned.erase("apiVersion");
  owned.erase("kind");
  auto meta = owned.find("metadata");
  if (meta != owned.end() && meta->is_object()) {
    for (const auto& name : unowned_metadata()) meta->erase(name);
    if (meta->empty()) owned.erase("metadata");
  }
  FieldSet out;
  collect(root_shape(type), owned, "", out, repeated);
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

namespace {

using ItemIndex = std::unordered_map<std::string, size_t>;

// What an item is told by: the text of its keys, or of its value.
std::string item_text(const Shape& list, const Json& item) {
  return compact_text(list.kind == Shape::Kind::kKeyedList ? item_key(*list.field, item) : item);
}

// The first item of each text.
ItemIndex index_of(const Shape& list, const Json& items) {
  ItemIndex out;
  for (size_t i = 0; i < items.size(); ++i) out.emplace(item_text(list, items[i]), i);
  return out;
}

}  // namespace

struct PathFinder::Impl {
  const ObjectType* type;
  const Json& object;
  std::unordered_map<const Json*, ItemIndex> lists;

  const Json* step(Shape& shape, const Json& value, const std::string& element) {
    const std::string text = element.substr(2);
    if (element.starts_with("f:")) {
      const auto member = value.is_object() ? value.find(text) : value.end();
      if (!value.is_object() || member == value.end()) return nullptr;
      shape = shape_of_member(shape, text, *member);
      return &*member;
    }
    const auto wanted_kind = element.starts_with("k:") ? Shape::Kind::kKeyedList : Shape::Kind::kSetList;
    if (!value.is_array() || shape.kind != wanted_kind) return nullptr;
    auto known = lists.find(&value);
    if (known == lists.end()) known = lists.emplace(&value, index_of(shape, value)).first;
    const auto found = known->second.find(compact_text(Json::parse(text, nullptr, false)));
    if (found == known->second.end()) return nullptr;
    const Json& item = value[found->second];
    shape = item_shape(shape, item);
    return &item;
  }
};

PathFinder::PathFinder(const ObjectType* type, const Json& object) : impl_(new Impl{type, object, {}}) {}
PathFinder::~PathFinder() = default;

const Json* PathFinder::find(const std::string& path) {
  Shape shape = root_shape(impl_->type);
  const Json* at = &impl_->object;
  for (const auto& element : split(path, kSeparator)) {
    at = impl_->step(shape, *at, element);
    if (at == nullptr) return nullptr;
  }
  return at;
}

namespace {

void prune_discarded(Json& value) {
  if (value.is_array()) {
    auto& items = value.get_ref<Json::array_t&>();
    std::erase_if(items, [](const Json& item) { return item.is_discarded(); });
  }
  if (!value.is_structured()) return;
  for (auto& below : value) prune_discarded(below);
}

}  // namespace

void remove_paths(const ObjectType* type, Json& object, const std::vector<std::string>& paths) {
  // Lowest first, so that what a path leads through is still there; list items keep their places until the end.
  PathFinder finder(type, object);
  bool pruning = false;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    const size_t cut = path->rfind(kSeparator);
    const std::string last = cut == std::string::npos ? *path : path->substr(cut + 1);
    if (last.starts_with("f:")) {
      const Json* parent = cut == std::string::npos ? &object : finder.find(path->substr(0, cut));
      if (parent != nullptr && parent->is_object()) const_cast<Json*>(parent)->erase(last.substr(2));
    } else if (const Json* item = finder.find(*path); item != nullptr) {
      *const_cast<Json*>(item) = Json(Json::value_t::discarded);
      pruning = true;
    }
  }
  if (pruning) prune_discarded(object);
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
    ItemIndex have = index_of(shape, target);
    for (const auto& item : config) {
      const auto [place, fresh] = have.emplace(item_text(shape, item), target.size());
      if (fresh) {
        target.push_back(item);
      } else if (shape.kind == Shape::Kind::kKeyedList) {
        merge_value(item_shape(shape, item), target[place->second], item);
      }
    }
  }
}

}  // namespace

void merge_applied(const ObjectType* type, Json& target, const Json& config) {
  merge_value(root_shape(type), target, config);
}

}  // namespace dra::apiserver
