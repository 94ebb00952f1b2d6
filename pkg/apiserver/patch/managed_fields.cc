#include "pkg/apiserver/patch/managed_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/kinds/folders.h"

namespace dra::apiserver {

const ObjectType* managed_type(const Kind& kind, const GroupVersion&) {
  const ServedVersion* hub = kind.info().find_version(kind.info().hub);
  return builtin_schemas().find(hub->schema_package, kind.info().kind);
}

namespace {

// managedfields.DecodeManagedFields' requirements for a list.
bool well_formed(const Json& managed) {
  return std::all_of(managed.begin(), managed.end(), [](const Json& e) {
    if (!e.is_object()) return false;
    const std::string operation = e.value("operation", "");
    return (operation == "Apply" || operation == "Update") && !e.value("apiVersion", "").empty() &&
           e.value("fieldsType", "") == "FieldsV1";
  });
}

}  // namespace

std::vector<ManagedEntry> read_managers(const Json& meta) {
  std::vector<ManagedEntry> out;
  auto managed = meta.find("managedFields");
  if (managed == meta.end() || !managed->is_array()) return out;
  for (const auto& e : *managed) {
    if (!e.is_object() || e.value("manager", "").empty()) continue;
    const auto fields = e.find("fieldsV1");
    out.push_back({e.value("manager", ""), e.value("operation", ""), e.value("subresource", ""),
                   e.value("apiVersion", ""), e.value("time", ""),
                   fields == e.end() ? FieldSet() : from_fields_v1(*fields)});
  }
  return out;
}

namespace {

// The order of encodeManagedFields.
bool written_before(const ManagedEntry& a, const ManagedEntry& b) {
  return std::tie(a.operation, a.time, a.manager, a.api_version, a.subresource) <
         std::tie(b.operation, b.time, b.manager, b.api_version, b.subresource);
}

}  // namespace

void write_managers(Json& meta, std::vector<ManagedEntry> entries) {
  std::sort(entries.begin(), entries.end(), written_before);
  Json out = Json::array();
  for (const auto& e : entries) {
    if (e.fields.empty()) continue;
    Json j = {{"manager", e.manager},
              {"operation", e.operation},
              {"apiVersion", e.api_version},
              {"fieldsType", "FieldsV1"},
              {"fieldsV1", to_fields_v1(e.fields)}};
    if (!e.time.empty()) j["time"] = e.time;
    if (!e.subresource.empty()) j["subresource"] = e.subresource;
    out.push_back(std::move(j));
  }
  if (out.empty()) {
    meta.erase("managedFields");
  } else {
    meta["managedFields"] = std::move(out);
  }
}

void disown(FieldSet& fields, const Comparison& difference) {
  if (fields.empty()) return;
  for (const FieldSet* paths : {&difference.added, &difference.modified, &difference.removed}) {
    for (const std::string& path : *paths) fields.erase(path);
  }
}

Json empty_object(const ObjectType* type) {
  return type == nullptr ? Json{{"metadata", Json::object()}} : zero_object(*type);
}

void track_update(const ObjectType* type, const Json* old, Json& object, const ManagerTag& manager) {
  Json& meta = object["metadata"];
  const Json none = Json::object();
  const Json& old_meta = old == nullptr ? none : old->at("metadata");
  const auto found = meta.find("managedFields");
  const Json& sent = found == meta.end() ? none : *found;
  // A list in the request replaces the entries ([{}] or [] clears them). Without one, or if it is malformed, they stay.
  const bool cleared = old != nullptr && sent.is_array() && (sent.empty() || (sent.size() == 1 && sent[0].empty()));
  if (cleared) {
    meta.erase("managedFields");
    return;
  }
  const bool replaced = old != nullptr && sent.is_array() && well_formed(sent);
  auto entries = read_managers(replaced ? meta : old_meta);
  if (old != nullptr && entries.empty()) {
    // Cleared ownership is recorded again from the next apply on.
    meta.erase("managedFields");
    return;
  }
  const Comparison difference = compare_fields(type, old == nullptr ? empty_object(type) : *old, object);
  const FieldSet changed = difference.changed();
  for (auto& e : entries) disown(e.fields, difference);
  if (!changed.empty()) {
    auto mine = std::find_if(entries.begin(), entries.end(), [&](const ManagedEntry& e) {
      return e.manager == manager.manager && e.operation == "Update" && e.subresource == manager.subresource &&
             e.api_version == manager.api_version;
    });
    if (mine == entries.end()) {
      entries.push_back({manager.manager, "Update", manager.subresource, manager.api_version, manager.time, {}});
      mine = entries.end() - 1;
    }
    mine->fields.insert(changed.begin(), changed.end());
    mine->time = manager.time;
  }
  write_managers(meta, std::move(entries));
}

}  // namespace dra::apiserver
