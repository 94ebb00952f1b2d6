#include "pkg/apiserver/model/metadata.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/names.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxGeneratedPrefix = 58;
constexpr size_t kMaxAnnotationBytes = 256 * 1024;

std::vector<std::string> path_segment_errors(std::string_view name, bool prefix) {
  if (!prefix && (name == "." || name == "..")) return {"may not be '" + std::string(name) + "'"};
  std::vector<std::string> out;
  for (char c : {'/', '%'}) {
    if (name.find(c) != std::string_view::npos) out.push_back(std::string("may not contain '") + c + "'");
  }
  return out;
}

// k8s.io/apimachinery/pkg/api/validation.ValidateFinalizers, then core's own check of unqualified names.
void validate_finalizers(const Json& finalizers, const FieldPath& path, FieldErrors& errors) {
  bool orphan = false;
  bool foreground = false;
  for (const auto& f : finalizers) {
    const std::string name = f.get<std::string>();
    for (const auto& message : api::qualified_name_problems(name)) errors.push_back(invalid(path, name, message));
    orphan = orphan || name == "orphan";
    foreground = foreground || name == "foregroundDeletion";
  }
  if (orphan && foreground) {
    errors.push_back(invalid_raw(path, "[]string" + compact_text(finalizers),
                                 "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  for (size_t i = 0; i < finalizers.size(); ++i) {
    const std::string name = finalizers[i].get<std::string>();
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (name.find('/') != std::string::npos || standard) continue;
    errors.push_back(
        invalid(path.index(i), name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

// An owner reference as messages print it: fields in declaration order.
std::string owner_text(const Json& o) {
  std::string out = "{\"apiVersion\":" + compact_text(o.value("apiVersion", Json(""))) +
                    ",\"kind\":" + compact_text(o.value("kind", Json(""))) +
                    ",\"name\":" + compact_text(o.value("name", Json(""))) +
                    ",\"uid\":" + compact_text(o.value("uid", Json("")));
  for (const char* flag : {"controller", "blockOwnerDeletion"}) {
    if (o.contains(flag)) out += ",\"" + std::string(flag) + "\":" + o[flag].dump();
  }
  return out + "}";
}

void validate_owner_references(const Json& owners, const FieldPath& path, FieldErrors& errors) {
  std::string first_controller;
  std::vector<std::string> texts;
  for (const auto& o : owners) texts.push_back(owner_text(o));
  for (const auto& o : owners) {
    const std::string version = o.value("apiVersion", "");
    const std::string kind = o.value("kind", "");
    const std::string name = o.value("name", "");
    const std::string uid = o.value("uid", "");
    // With more than one slash, schema.FromAPIVersionAndKind leaves the version empty.
    if (version.empty() || std::count(version.begin(), version.end(), '/') > 1)
      errors.push_back(invalid(path.child("apiVersion"), version, "version must not be empty"));
    if (kind.empty()) errors.push_back(invalid(path.child("kind"), kind, "must not be empty"));
    if (name.empty()) errors.push_back(invalid(path.child("name"), name, "must not be empty"));
    if (uid.empty()) errors.push_back(invalid(path.child("uid"), uid, "must not be empty"));
    if (version == "v1" && kind == "Event") {
      errors.push_back(invalid_raw(path, owner_text(o), "/v1, Kind=Event is disallowed from being an owner"));
    }
    if (o.value("controller", Json()) != true) continue;
    if (first_controller.empty()) {
      first_controller = kind + "/" + name;
      continue;
    }
    errors.push_back(
        invalid_raw(path, "[" + join(texts, ",") + "]",
                    "Only one reference can have Controller set to true. Found \"true\" in references for " +
                        first_controller + " and " + kind + "/" + name));
  }
}

}  // namespace

std::vector<std::string> name_errors(NameRule rule, std::string_view name, bool prefix) {
  std::string masked(name);
  // A generateName may end in '-': the suffix follows it.
  if (prefix && masked.size() > 1 && masked.back() == '-') masked[masked.size() - 1] = 'a';
  switch (rule) {
    case NameRule::kDnsSubdomain:
      return api::dns_subdomain_problems(masked);
    case NameRule::kDnsLabel:
      return api::dns_label_problems(masked);
    case NameRule::kPathSegment:
      return path_segment_errors(name, prefix);
  }
  return {};
}

FieldErrors validate_labels(const Json& labels, const FieldPath& path) {
  FieldErrors errors;
  if (!labels.is_object()) return errors;
  for (const auto& [key, value] : labels.items()) {
    for (const auto& m : api::qualified_name_problems(key)) errors.push_back(invalid(path, key, m));
    const std::string text = value.get<std::string>();
    for (const auto& m : api::label_value_problems(text)) errors.push_back(invalid(path, text, m));
  }
  return errors;
}

FieldErrors validate_annotations(const Json& annotations, const FieldPath& path) {
  FieldErrors errors;
  if (!annotations.is_object()) return errors;
  size_t bytes = 0;
  for (const auto& [key, value] : annotations.items()) {
    for (const auto& m : api::qualified_name_problems(to_lower(key))) errors.push_back(invalid(path, key, m));
    bytes += key.size() + value.get_ref<const std::string&>().size();
  }
  if (bytes > kMaxAnnotationBytes) errors.push_back(too_long(path, kMaxAnnotationBytes));
  return errors;
}

FieldErrors validate_object_meta(const Json& meta, const KindInfo& info, const FieldPath& path) {
  FieldErrors errors;
  const std::string prefix = meta.value("generateName", "");
  if (!prefix.empty()) {
    for (const auto& m : name_errors(info.name_rule, prefix, true)) {
      errors.push_back(invalid(path.child("generateName"), prefix, m));
    }
  }
  const std::string name = meta.value("name", "");
  if (name.empty()) {
    errors.push_back(required(path.child("name"), "name or generateName is required"));
  } else {
    for (const auto& m : name_errors(info.name_rule, name, false)) {
      errors.push_back(invalid(path.child("name"), name, m));
    }
  }
  const std::string ns = meta.value("namespace", "");
  if (info.namespaced) {
    if (ns.empty()) {
      errors.push_back(required(path.child("namespace"), ""));
    } else {
      for (const auto& m : api::dns_label_problems(ns)) errors.push_back(invalid(path.child("namespace"), ns, m));
    }
  } else if (!ns.empty()) {
    errors.push_back(forbidden(path.child("namespace"), "not allowed on this type"));
  }
  auto append = [&](FieldErrors more) { errors.insert(errors.end(), more.begin(), more.end()); };
  append(validate_labels(meta.value("labels", Json()), path.child("labels")));
  append(validate_annotations(meta.value("annotations", Json()), path.child("annotations")));
  validate_owner_references(meta.value("ownerReferences", Json::array()), path.child("ownerReferences"), errors);
  validate_finalizers(meta.value("finalizers", Json::array()), path.child("finalizers"), errors);
  return errors;
}

FieldErrors validate_object_meta_update(const Json& meta, const Json& old, const FieldPath& path) {
  FieldErrors errors;
  auto immutable = [&](const char* field) {
    const Json now = meta.value(field, Json());
    if (now != old.value(field, Json())) errors.push_back(invalid_value(path.child(field), now, "field is immutable"));
  };
  if (old.contains("deletionTimestamp")) {
    std::vector<std::string> added;
    const Json before = old.value("finalizers", Json::array());
    for (const auto& f : meta.value("finalizers", Json::array())) {
      if (std::find(before.begin(), before.end(), f) == before.end()) added.push_back(quote(f.get<std::string>()));
    }
    if (!added.empty()) {
      errors.push_back(forbidden(path.child("finalizers"),
                                 "no new finalizers can be added if the object is being deleted, found new finalizers "
                                 "[]string{" +
                                     join(added, ", ") + "}"));
    }
  }
  immutable("name");
  immutable("namespace");
  immutable("uid");
  immutable("creationTimestamp");
  immutable("deletionTimestamp");
  immutable("deletionGracePeriodSeconds");
  auto append = [&](FieldErrors more) { errors.insert(errors.end(), more.begin(), more.end()); };
  append(validate_labels(meta.value("labels", Json()), path.child("labels")));
  append(validate_annotations(meta.value("annotations", Json()), path.child("annotations")));
  validate_owner_references(meta.value("ownerReferences", Json::array()), path.child("ownerReferences"), errors);
  return errors;
}

std::string generate_name(std::string_view prefix, Random& random) {
  return std::string(prefix.substr(0, kMaxGeneratedPrefix)) + random.name_suffix(5);
}

void init_create_metadata(const KindInfo& info, const WriteContext& ctx, Json& meta) {
  for (const char* field : {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
                            "selfLink", "resourceVersion"}) {
    meta.erase(field);
  }
  if (info.namespaced) {
    meta["namespace"] = ctx.namespace_;
  }
  if (meta.value("name", "").empty()) {
    const std::string prefix = meta.value("generateName", "");
    if (!prefix.empty()) meta["name"] = generate_name(prefix, *ctx.random);
  }
  meta["uid"] = ctx.random->uuid();
  meta["creationTimestamp"] = format_rfc3339(ctx.clock->wall_now());
}

void init_update_metadata(const Json& old, Json& meta) {
  auto carry = [&](const char* field) {
    auto it = old.find(field);
    if (it != old.end() && !meta.contains(field)) meta[field] = *it;
  };
  meta.erase("selfLink");
  for (const char* field : {"name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"})
    carry(field);
  // A client's creationTimestamp and generation are ignored.
  for (const char* field : {"creationTimestamp", "generation"}) {
    meta.erase(field);
    carry(field);
  }
}

}  // namespace dra::apiserver
