#include "pkg/apiserver/model/kind.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/check.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

std::string table_of(const KindInfo& info) {
  return info.group + "/" + info.plural;
}

std::string key_of(const KindInfo& info, const Json& object) {
  const Json& meta = object.at("metadata");
  std::string name = meta.value("name", "");
  return info.namespaced ? meta.value("namespace", "") + "/" + name : name;
}

const ServedVersion* KindInfo::find_version(const GroupVersion& gv) const {
  for (const auto& v : served) {
    if (v.gv == gv) return &v;
  }
  return nullptr;
}

void Kind::convert(Json&, const GroupVersion&, const GroupVersion&) const {}
void Kind::set_defaults(Json&) const {}
void Kind::prepare_for_create(const WriteContext&, Json&) const {}
void Kind::prepare_for_update(const WriteContext&, Json&, const Json&) const {}
void Kind::prepare_for_status_update(const WriteContext&, Json&, const Json&) const {}
void Kind::prepare_for_delete(const WriteContext&, Json&) const {}
StatusOr<void> Kind::admit_create(const WriteContext&, Json&) const {
  return {};
}
StatusOr<void> Kind::admit_update(const WriteContext&, Json&, const Json&) const {
  return {};
}
StatusOr<void> Kind::admit_delete(const WriteContext&, const Json&) const {
  return {};
}
FieldErrors Kind::validate_create(const WriteContext&, const Json&) const {
  return {};
}
FieldErrors Kind::validate_update(const WriteContext&, const Json&, const Json&) const {
  return {};
}
FieldErrors Kind::validate_status_update(const WriteContext&, const Json&, const Json&) const {
  return {};
}

bool Kind::bumps_generation(const Json& object, const Json& old) const {
  auto differs_from = [](const Json& a, const Json& b) {
    for (const auto& [key, value] : a.items()) {
      if (key == "metadata" || key == "status" || key == "apiVersion" || key == "kind") continue;
      auto it = b.find(key);
      if (it == b.end() || *it != value) return true;
    }
    return false;
  };
  return differs_from(object, old) || differs_from(old, object);
}

std::vector<TableColumn> Kind::columns() const {
  return {name_column(), age_column()};
}

Json Kind::cells(const Json& object, WallTime now) const {
  const Json& meta = object.at("metadata");
  Json created = meta.value("creationTimestamp", Json());
  return Json::array({meta.value("name", ""), age_cell(created, now)});
}

Json Kind::row_conditions(const Json&) const {
  return nullptr;
}

std::vector<std::string> Kind::field_labels(const GroupVersion&) const {
  return {};
}
std::string Kind::field_value(const Json&, std::string_view, const GroupVersion&) const {
  return "";
}

std::string Kind::unknown_field_label(std::string_view label, const GroupVersion&) const {
  return quote(label) + " is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
}

DeleteDecision Kind::decide_delete(const Json&, std::optional<int64_t>) const {
  return {};
}
std::string Kind::default_propagation(const WriteContext&) const {
  return "Background";
}

void KindRegistry::add(std::unique_ptr<Kind> kind) {
  for (const auto& k : kinds_) {
    DRA_CHECK(k->info().group != kind->info().group || k->info().plural != kind->info().plural);
  }
  kinds_.push_back(std::move(kind));
}

const Kind* KindRegistry::find(const GroupVersion& gv, std::string_view plural) const {
  if (!serves(gv)) return nullptr;
  for (const auto& k : kinds_) {
    if (k->info().plural == plural && k->info().find_version(gv) != nullptr) return k.get();
  }
  return nullptr;
}

const Kind* KindRegistry::find_by_kind(const GroupVersion& gv, std::string_view kind) const {
  if (!serves(gv)) return nullptr;
  for (const auto& k : kinds_) {
    if (k->info().kind == kind && k->info().find_version(gv) != nullptr) return k.get();
  }
  return nullptr;
}

bool KindRegistry::has_group(std::string_view group) const {
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& k) {
    const auto& served = k->info().served;
    return std::any_of(served.begin(), served.end(),
                       [&](const auto& v) { return v.gv.group == group && serves(v.gv); });
  });
}

bool KindRegistry::has_version(const GroupVersion& gv) const {
  return serves(gv) && std::any_of(kinds_.begin(), kinds_.end(),
                                   [&](const auto& k) { return k->info().find_version(gv) != nullptr; });
}

Json Kind::table_metadata(const Json& metadata) const {
  return metadata;
}

}  // namespace dra::apiserver
