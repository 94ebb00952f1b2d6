#include "pkg/inspect/lint/fields.h"

#include <algorithm>
#include <array>

#include "pkg/api/schema/schema.h"

namespace dra::inspect {

namespace {

using api::schema::Field;
using api::schema::FieldType;
using api::schema::ObjectType;

constexpr std::array<std::string_view, 2> kOfWholeObjects = {"apiVersion", "kind"};

const api::schema::SchemaSet& all_tables() {
  static const api::schema::SchemaSet all = api::schema::link_tables(api::schema::tables_in_use());
  return all;
}

// In the order of the tables, with the fields of inlined structs in their place.
void collect_names(const ObjectType& type, std::vector<std::string>& names) {
  for (const Field& field : type.fields) {
    if (field.inlined)
      collect_names(*field.value.object, names);
    else
      names.push_back(field.name);
  }
}

}  // namespace

std::optional<FieldTree> FieldTree::of(std::string_view kind) {
  if (kind != "ResourceClaim" && kind != "ResourceClaimTemplate" && kind != "DeviceClass") return std::nullopt;
  FieldTree tree;
  tree.type_ = all_tables().find("resource/v1", kind);
  tree.whole_ = true;
  return tree;
}

FieldTree FieldTree::of_value(const api::schema::ValueType& value) {
  const api::schema::ValueType* inner = &value;
  bool open = false;
  for (; inner->element; inner = inner->element.get()) open = inner->type == FieldType::kMap;
  FieldTree tree;
  tree.open_ = inner->type == FieldType::kRaw || (open && inner->type != FieldType::kObject);
  if (inner->type == FieldType::kObject) {
    tree.open_ = inner->object->name == "ObjectMeta";
    tree.type_ = inner->object;
  }
  return tree;
}

std::optional<FieldTree> FieldTree::child(std::string_view field) const {
  if (whole_ && std::find(kOfWholeObjects.begin(), kOfWholeObjects.end(), field) != kOfWholeObjects.end())
    return FieldTree();
  const Field* found = type_ == nullptr ? nullptr : type_->find(field);
  if (found == nullptr) return std::nullopt;
  FieldTree tree = of_value(found->value);
  if (whole_ && field == "status") tree.open_ = true;
  return tree;
}

std::vector<std::string> FieldTree::children() const {
  std::vector<std::string> names;
  if (open_) return names;
  if (whole_) names.assign(kOfWholeObjects.begin(), kOfWholeObjects.end());
  if (type_ != nullptr) collect_names(*type_, names);
  return names;
}

void FieldTree::collect_places(std::string_view field, const std::string& prefix,
                               std::vector<std::string>& places) const {
  for (const std::string& name : children()) {
    if (name == field) places.push_back(prefix);
    child(name)->collect_places(field, prefix.empty() ? name : prefix + "." + name, places);
  }
}

std::vector<std::string> FieldTree::places_of(std::string_view field) const {
  std::vector<std::string> places;
  collect_places(field, "", places);
  std::stable_sort(places.begin(), places.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return places;
}

}  // namespace dra::inspect
