#include "pkg/api/schema/schema.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "pkg/api/schema/tables.h"
#include "pkg/base/check.h"
#include "pkg/base/strings.h"

namespace dra::api::schema {

namespace {

constexpr int kMaxTypeNesting = 8;  // "map[string][]*T" needs three

std::optional<FieldType> scalar_type(std::string_view name) {
  static const std::map<std::string, FieldType, std::less<>> kScalars = {
      {"string", FieldType::kString},     {"int32", FieldType::kInt32},
      {"int64", FieldType::kInt64},       {"bool", FieldType::kBool},
      {"double", FieldType::kDouble},     {"bytes", FieldType::kBytes},
      {"Time", FieldType::kTime},         {"MicroTime", FieldType::kMicroTime},
      {"Quantity", FieldType::kQuantity}, {"IntOrString", FieldType::kIntOrString},
      {"Raw", FieldType::kRaw},           {"Fields", FieldType::kFields},
  };
  auto it = kScalars.find(name);
  if (it == kScalars.end()) return std::nullopt;
  return it->second;
}

struct ParsedType {
  ValueType value;
  std::string object_name;  // of the innermost element, when it is a named type
};

Result<ParsedType> parse_type(std::string_view text, int depth) {
  ParsedType out;
  if (depth > kMaxTypeNesting) return fail(Code::kInvalidArgument, "type nests too deeply: " + std::string(text));
  if (text.starts_with("*")) {
    auto inner = parse_type(text.substr(1), depth + 1);
    if (!inner) return inner;
    inner->value.pointer = true;
    return inner;
  }
  const bool list = text.starts_with("[]");
  const bool map = text.starts_with("map[string]");
  if (list || map) {
    auto inner = parse_type(text.substr(list ? 2 : 11), depth + 1);
    if (!inner) return inner;
    out.value.type = list ? FieldType::kList : FieldType::kMap;
    out.object_name = inner->object_name;
    out.value.element = std::make_shared<ValueType>(inner->value);
    return out;
  }
  if (auto scalar = scalar_type(text)) {
    out.value.type = *scalar;
    return out;
  }
  if (text.empty()) return fail(Code::kInvalidArgument, "a type is missing");
  out.value.type = FieldType::kObject;
  out.object_name = text;
  return out;
}

bool apply_flag(std::string_view flag, Field& f) {
  if (flag == "!") {
    f.always = true;
  } else if (flag == "omitzero") {
    f.omitzero = true;
  } else if (flag == "inline") {
    f.inlined = true;
  } else if (flag == "atomic") {
    f.atomic = true;
    f.list_type = ListType::kAtomic;
  } else if (flag == "set") {
    f.list_type = ListType::kSet;
  } else if (flag.starts_with("map=")) {
    f.list_type = ListType::kMap;
    f.map_keys = split(flag.substr(4), ',');
  } else if (flag == "merge") {
    f.merge = true;
  } else if (flag == "retainKeys") {
    f.retain_keys = true;
  } else if (flag.starts_with("merge=")) {
    f.merge = true;
    for (const auto& part : split(flag.substr(6), ',')) {
      if (part == "retainKeys") {
        f.retain_keys = true;
      } else {
        f.merge_key = part;
      }
    }
  } else if (flag.starts_with("default=")) {
    f.default_text = flag.substr(8);
  } else {
    return false;
  }
  return true;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (auto& w : split(line, ' ')) {
    if (!w.empty()) out.push_back(std::move(w));
  }
  return out;
}

ValueType* innermost(ValueType& v) {
  ValueType* at = &v;
  while (at->element) at = const_cast<ValueType*>(at->element.get());
  return at;
}

// Collects the JSON-visible fields of a type; an inlined struct is replaced by its own fields.
void flatten(const ObjectType& type, std::map<std::string, const Field*, std::less<>>& out, int depth) {
  DRA_CHECK(depth < kMaxTypeNesting);
  for (const auto& f : type.fields) {
    if (f.inlined) {
      flatten(*f.value.object, out, depth + 1);
    } else {
      out.emplace(f.name, &f);
    }
  }
}

}  // namespace

const Field* ObjectType::find(std::string_view json_name) const {
  auto it = visible.find(json_name);
  return it == visible.end() ? nullptr : it->second;
}

Result<void> SchemaSet::add(std::string_view package, std::string_view table) {
  ObjectType* current = nullptr;
  size_t line_number = 0;
  for (const auto& raw : split(table, '\n')) {
    ++line_number;
    auto words = words_of(raw);
    if (words.empty() || words[0].starts_with("#")) continue;
    auto wrong = [&](std::string_view what) {
      return fail(Code::kInvalidArgument, "schema table " + std::string(package) + " line " +
                                              std::to_string(line_number) + ": " + std::string(what) + ": " + raw);
    };
    if (words[0] == "type") {
      if (words.size() < 2) return wrong("a type needs a name");
      auto& slot = types_[std::string(package) + "." + words[1]];
      if (slot) return wrong("the type is defined twice");
      slot = std::make_unique<ObjectType>();
      current = slot.get();
      current->package = package;
      current->name = words[1];
      current->atomic = words.size() > 2 && words[2] == "atomic";
      current->fields.reserve(64);
      continue;
    }
    if (words[0] == "extend") {
      const auto known = words.size() < 2 ? types_.end() : types_.find(std::string(package) + "." + words[1]);
      if (known == types_.end()) return wrong("there is no such type to extend");
      current = known->second.get();
      continue;
    }
    if (current == nullptr) return wrong("a field before the first type");
    if (words.size() < 3) return wrong("a field needs number, name and type");
    Field f;
    auto [end, ec] = std::from_chars(words[0].data(), words[0].data() + words[0].size(), f.number);
    if (ec != std::errc() || *end != '\0') return wrong("the field number is not a number");
    f.name = words[1];
    auto type = parse_type(words[2], 0);
    if (!type) return wrong(type.error().message());
    f.value = type->value;
    for (size_t i = 3; i < words.size(); ++i) {
      if (!apply_flag(words[i], f)) return wrong("unknown flag " + words[i]);
    }
    if (current->by_name.contains(f.name)) return wrong("the field is defined twice");
    if (current->fields.size() == current->fields.capacity()) return wrong("more than 64 fields in one type");
    current->by_name[f.name] = current->fields.size();
    current->fields.push_back(std::move(f));
    if (!type->object_name.empty()) {
      pending_.push_back({innermost(current->fields.back().value), {std::string(package), type->object_name}});
    }
  }
  return {};
}

Result<void> SchemaSet::link() {
  for (auto& [value, name] : pending_) {
    const auto& [package, type] = name;
    const ObjectType* found = nullptr;
    if (type.find('.') != std::string::npos) {
      auto it = types_.find(type);
      if (it != types_.end()) found = it->second.get();
    } else {
      found = find(package, type);
      if (found == nullptr) found = find("meta/v1", type);
    }
    if (found == nullptr) {
      return fail(Code::kInvalidArgument, "schema table " + package + ": no type is named " + type);
    }
    value->object = found;
  }
  pending_.clear();
  for (auto& [name, type] : types_) {
    flatten(*type, type->visible, 0);
    type->by_number.clear();
    for (const Field& field : type->fields) type->by_number.push_back(&field);
    std::sort(type->by_number.begin(), type->by_number.end(),
              [](const Field* a, const Field* b) { return a->number < b->number; });
  }
  return {};
}

const ObjectType* SchemaSet::find(std::string_view package, std::string_view name) const {
  auto it = types_.find(std::string(package) + "." + std::string(name));
  return it == types_.end() ? nullptr : it->second.get();
}

SchemaSet link_tables(const std::vector<SchemaTable>& tables) {
  SchemaSet set;
  for (const SchemaTable& table : tables) {
    auto added = set.add(table.package, table.text);
    if (!added) check_failed(__FILE__, __LINE__, added.error().message().c_str());
  }
  auto linked = set.link();
  if (!linked) check_failed(__FILE__, __LINE__, linked.error().message().c_str());
  return set;
}

const ObjectType* find_message_type(const SchemaSet& schemas, std::string_view api_version, std::string_view kind) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) {
    const ObjectType* core = schemas.find("core/" + std::string(api_version), kind);
    return core != nullptr ? core : schemas.find("meta/v1", kind);
  }
  if (api_version.substr(0, slash) == "meta.k8s.io") return schemas.find("meta/v1", kind);
  // A table's package is the group's first label: "rbac/v1" of "rbac.authorization.k8s.io/v1".
  const std::string_view label = api_version.substr(0, std::min(slash, api_version.find('.')));
  return schemas.find(std::string(label) + std::string(api_version.substr(slash)), kind);
}

const std::vector<SchemaTable>& tables_in_use() {
  static const std::vector<SchemaTable> all = {
      {"meta/v1", tables::meta_v1()},
      {"core/v1", tables::core_v1_volumes()},
      {"core/v1", tables::core_v1_containers()},
      {"core/v1", tables::core_v1_pods()},
      {"core/v1", tables::core_v1_podstatus()},
      {"core/v1", tables::core_v1_cluster()},
      {"resource/v1", tables::resource_shared()},
      {"resource/v1", tables::resource_v1()},
      {"resource/v1beta1", tables::resource_shared()},
      {"resource/v1beta1", tables::resource_v1beta1()},
      {"resource/v1beta2", tables::resource_shared()},
      {"resource/v1beta2", tables::resource_v1()},
      {"resource/v1", tables::resource_137_shared(), 37},
      {"resource/v1", tables::resource_137_v1(), 37},
      {"resource/v1beta1", tables::resource_137_shared(), 37},
      {"resource/v1beta1", tables::resource_137_v1beta1(), 37},
      {"resource/v1beta2", tables::resource_137_shared(), 37},
      {"resource/v1beta2", tables::resource_137_v1(), 37},
  };
  return all;
}

}  // namespace dra::api::schema
