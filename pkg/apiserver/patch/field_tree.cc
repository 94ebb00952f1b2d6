#include "pkg/apiserver/patch/field_tree.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "pkg/apiserver/patch/field_shape.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

std::string path_below(const std::string& path, const std::string& element) {
  return path.empty() ? element : path + kPathSeparator + element;
}

// Paths that no set contains.
void strip_unowned(FieldSet& set) {
  static const std::vector<std::string> kUnowned = [] {
    const std::string metadata = "f:metadata";
    std::vector<std::string> paths = {"f:apiVersion", "f:kind", metadata};
    for (const char* name : {"name", "namespace", "uid", "resourceVersion", "generation", "selfLink",
                             "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"}) {
      paths.push_back(path_below(metadata, "f:" + std::string(name)));
    }
    return paths;
  }();
  for (const std::string& path : kUnowned) set.erase(path);
}

class FieldCollector {
 public:
  FieldCollector(FieldSet& out, std::vector<std::string>* repeated) : out_(out), repeated_(repeated) {}

  void value(const FieldShape& shape, const Json& json, const std::string& path) {
    if (shape.kind == FieldShape::Kind::kLeaf) {
      out_.insert(path);
    } else if (shape.kind == FieldShape::Kind::kGranular) {
      for (const auto& [name, member] : json.items()) {
        const std::string at = path_below(path, "f:" + name);
        value(member_shape(shape, name, member), member, at);
        if (member.is_null() || (member.is_object() && member.empty()) || !shape.declares(name)) out_.insert(at);
      }
    } else {
      for (const Json& item : json) {
        const std::string at = path_below(path, item_element(shape, item));
        if (!out_.insert(at).second && repeated_ != nullptr) repeated_->push_back(at);
        value(item_shape(shape, item), item, at);
      }
    }
  }

 private:
  FieldSet& out_;
  std::vector<std::string>* repeated_;
};

bool is_empty(const Json* json) {
  return json == nullptr || json->is_null() || json->empty();
}

// Null pointers are absent values; a null in a document is a value.
class Comparer {
 public:
  explicit Comparer(Comparison& out) : out_(out) {}

  void members(const FieldShape& shape, const Json* before, const Json* after, const std::string& path) {
    const auto visit = [&](const std::string& name, const Json* b, const Json* a) {
      const FieldShape at = member_shape(shape, name, a != nullptr && !a->is_null() ? *a : b != nullptr ? *b : *a);
      const FieldShape was = b == nullptr ? at : member_shape(shape, name, *b);
      pair(at.kind == FieldShape::Kind::kLeaf ? was : at, b, a, path_below(path, "f:" + name));
    };
    if (before != nullptr && before->is_object()) {
      for (const auto& [name, b] : before->items()) visit(name, &b, member_of(after, name));
    }
    if (after == nullptr || !after->is_object()) return;
    for (const auto& [name, a] : after->items()) {
      if (member_of(before, name) == nullptr) visit(name, nullptr, &a);
    }
  }

 private:
  static const Json* member_of(const Json* object, const std::string& name) {
    if (object == nullptr || !object->is_object()) return nullptr;
    const auto found = object->find(name);
    return found == object->end() ? nullptr : &*found;
  }

  void note(const Json* before, const Json* after, const std::string& path) {
    if (before == nullptr) {
      out_.added.insert(path);
    } else if (after == nullptr) {
      out_.removed.insert(path);
    } else if (*before != *after) {
      out_.modified.insert(path);
    }
  }

  void pair(const FieldShape& shape, const Json* before, const Json* after, const std::string& path) {
    if (before != nullptr && after != nullptr && *before == *after) return;
    if (shape.kind == FieldShape::Kind::kLeaf || (is_empty(before) && is_empty(after))) {
      return note(before, after, path);
    }
    if (shape.kind == FieldShape::Kind::kGranular) {
      members(shape, before, after, path);
    } else {
      items(shape, before, after, path);
    }
    if (before == nullptr || after == nullptr) note(before, after, path);
  }

  void items(const FieldShape& shape, const Json* before, const Json* after, const std::string& path) {
    const ItemIndex had = before != nullptr && before->is_array() ? index_items(shape, *before) : ItemIndex();
    const ItemIndex has = after != nullptr && after->is_array() ? index_items(shape, *after) : ItemIndex();
    for (const auto& [element, place] : had) {
      const Json& b = (*before)[place];
      const auto found = has.find(element);
      pair(item_shape(shape, b), &b, found == has.end() ? nullptr : &(*after)[found->second],
           path_below(path, element));
    }
    for (const auto& [element, place] : has) {
      const Json& a = (*after)[place];
      if (!had.contains(element)) pair(item_shape(shape, a), nullptr, &a, path_below(path, element));
    }
  }

  Comparison& out_;
};

void merge_value(const FieldShape& shape, Json& target, const Json& config) {
  if (shape.kind == FieldShape::Kind::kLeaf || target.is_null()) {
    target = config;
  } else if (shape.kind == FieldShape::Kind::kGranular) {
    if (!target.is_object()) target = Json::object();
    for (const auto& [name, value] : config.items()) merge_value(member_shape(shape, name, value), target[name], value);
  } else {
    if (!target.is_array()) target = Json::array();
    ItemIndex have = index_items(shape, target);
    for (const auto& item : config) {
      const auto [place, fresh] = have.emplace(item_element(shape, item), target.size());
      if (fresh) {
        target.push_back(item);
      } else if (shape.kind == FieldShape::Kind::kKeyedList) {
        merge_value(item_shape(shape, item), target[place->second], item);
      }
    }
  }
}

bool has_below(const FieldSet& set, const std::string& path) {
  const std::string prefix = path + kPathSeparator;
  const auto next = set.lower_bound(prefix);
  return next != set.end() && next->starts_with(prefix);
}

// A container that loses everything becomes null.
Json without_items(const FieldShape& shape, const Json& value, const FieldSet& remove, const std::string& path) {
  Json out;
  const auto keep = [&](const FieldShape& at, const Json& below, const std::string& place) -> std::optional<Json> {
    if (remove.contains(place)) return std::nullopt;
    if (at.kind == FieldShape::Kind::kLeaf || !has_below(remove, place)) return below;
    return without_items(at, below, remove, place);
  };
  if (shape.kind == FieldShape::Kind::kGranular) {
    for (const auto& [name, member] : value.items()) {
      auto kept = keep(member_shape(shape, name, member), member, path_below(path, "f:" + name));
      if (kept) out[name] = std::move(*kept);
    }
  } else {
    for (const Json& item : value) {
      auto kept = keep(item_shape(shape, item), item, path_below(path, item_element(shape, item)));
      if (kept) out.push_back(std::move(*kept));
    }
  }
  return out;
}

// The type that a path element leads to, when no value is at hand.
struct TypePlace {
  const ObjectType* object = nullptr;
  const ValueType* value = nullptr;

  static TypePlace of(const ValueType* value) { return {value == nullptr ? nullptr : value->object, value}; }
  TypePlace step(const std::string& element) const {
    if (!element.starts_with("f:")) return of(value == nullptr ? nullptr : value->element.get());
    if (object == nullptr) return of(value == nullptr ? nullptr : value->element.get());
    const Field* field = object->find(element.substr(2));
    return field == nullptr ? TypePlace{} : of(&field->value);
  }
};

// EnsureNamedFieldsAreMembers: each declared struct field on a path becomes a member.
FieldSet with_named_fields(const ObjectType* type, const FieldSet& set) {
  FieldSet out = set;
  for (const std::string& path : set) {
    TypePlace place{type, nullptr};
    std::string prefix;
    for (const std::string& element : split(path, kPathSeparator)) {
      prefix = path_below(prefix, element);
      if (element.starts_with("f:") && place.object != nullptr && place.object->find(element.substr(2)) != nullptr)
        out.insert(prefix);
      place = place.step(element);
    }
  }
  return out;
}

FieldSet difference(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

FieldSet intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

// Includes fields that nobody owns, so that pruning never treats them as abandoned.
FieldSet all_fields(const ObjectType* type, const Json& object) {
  FieldSet out;
  FieldCollector(out, nullptr).value(root_shape(type), object, "");
  return with_named_fields(type, out);
}

Json remove_items(const ObjectType* type, const Json& object, const FieldSet& remove) {
  Json out = without_items(root_shape(type), object, remove, "");
  return out.is_object() ? out : Json::object();
}

}  // namespace

FieldSet applied_fields(const ObjectType* type, const Json& object, std::vector<std::string>* repeated) {
  FieldSet out;
  FieldCollector(out, repeated).value(root_shape(type), object, "");
  strip_unowned(out);
  return out;
}

FieldSet Comparison::changed() const {
  FieldSet out = added;
  out.insert(modified.begin(), modified.end());
  return out;
}

Comparison compare_fields(const ObjectType* type, const Json& before, const Json& after) {
  Comparison out;
  Comparer(out).members(root_shape(type), &before, &after, "");
  for (FieldSet* set : {&out.added, &out.modified, &out.removed}) strip_unowned(*set);
  return out;
}

void merge_applied(const ObjectType* type, Json& target, const Json& config) {
  merge_value(root_shape(type), target, config);
}

Json prune_abandoned(const ObjectType* type, const Json& merged, const FieldSet& last, const FieldSet& owned) {
  if (last.empty()) return merged;
  FieldSet last_named = with_named_fields(type, last);
  last_named.erase("f:metadata");  // it contains fields that the server sets
  const FieldSet merged_named = all_fields(type, merged);
  // Fields of other managers below a removed field stay, and so do the fields that lead to them.
  FieldSet kept = all_fields(type, remove_items(type, merged, last_named));
  const FieldSet owned_named = with_named_fields(type, owned);
  kept.insert(owned_named.begin(), owned_named.end());
  const Json pruned = remove_items(type, merged, difference(merged_named, kept));
  // Items that the manager never owned are not removed with the fields that it gave up.
  const FieldSet pruned_named = all_fields(type, pruned);
  return remove_items(type, merged, intersection(difference(merged_named, pruned_named), last_named));
}

}  // namespace dra::apiserver
