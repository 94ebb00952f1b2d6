#include "pkg/apiserver/patch/field_shape.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/json_text.h"

namespace dra::apiserver {

namespace {

FieldShape shape_of_value(const ValueType& v, const Field* field, const Json& value) {
  FieldShape s;
  s.field = field;
  if (field != nullptr && field->atomic) return s;
  if (v.type == FieldType::kObject && value.is_object() && !v.object->atomic) {
    s.kind = FieldShape::Kind::kGranular;
    s.object = v.object;
  } else if (v.type == FieldType::kMap && value.is_object()) {
    s.kind = FieldShape::Kind::kGranular;
    s.element = v.element.get();
  } else if (v.type == FieldType::kList && value.is_array() && field != nullptr &&
             field->list_type != ListType::kAtomic) {
    s.kind = field->list_type == ListType::kMap ? FieldShape::Kind::kKeyedList : FieldShape::Kind::kSetList;
    s.element = v.element.get();
  }
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

}  // namespace

FieldShape root_shape(const ObjectType* type) {
  FieldShape s;
  s.kind = FieldShape::Kind::kGranular;
  s.object = type;
  return s;
}

FieldShape member_shape(const FieldShape& parent, const std::string& name, const Json& value) {
  if (parent.object != nullptr) {
    const Field* f = parent.object->find(name);
    return f == nullptr ? FieldShape{} : shape_of_value(f->value, f, value);
  }
  if (parent.element != nullptr) return shape_of_value(*parent.element, nullptr, value);
  FieldShape s;
  if (value.is_object()) s.kind = FieldShape::Kind::kGranular;
  return s;
}

FieldShape item_shape(const FieldShape& list, const Json& item) {
  return list.element == nullptr ? FieldShape{} : shape_of_value(*list.element, nullptr, item);
}

std::string item_element(const FieldShape& list, const Json& item) {
  if (list.kind == FieldShape::Kind::kKeyedList) return "k:" + compact_text(item_key(*list.field, item));
  return "v:" + compact_text(item);
}

ItemIndex index_items(const FieldShape& list, const Json& items) {
  ItemIndex out;
  for (size_t i = 0; i < items.size(); ++i) out.emplace(item_element(list, items[i]), i);
  return out;
}

}  // namespace dra::apiserver
