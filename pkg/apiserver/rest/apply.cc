// Server-side apply (apimachinery/pkg/util/managedfields), on documents in the hub version.
#include "pkg/apiserver/rest/apply.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/patch/field_tree.h"
#include "pkg/apiserver/patch/managed_fields.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/apiserver/rest/write.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxRepeatedShown = 100;
constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

std::string manager_text(const ManagedEntry& e) {
  std::string out = quote(e.manager);
  if (!e.subresource.empty()) out += " with subresource " + quote(e.subresource);
  if (e.operation == "Update") out += " using " + e.api_version;
  return out;
}

Status conflict_status(const std::map<std::string, std::vector<std::string>>& by_manager) {
  Status s;
  s.code = 409;
  s.reason = "Conflict";
  size_t count = 0;
  std::string text;
  for (const auto& [manager, paths] : by_manager) {
    count += paths.size();
    if (!text.empty()) text += "\n";
    text += "conflicts with " + manager + ":";
    for (const auto& path : paths) {
      text += "\n- " + path;
      s.causes.push_back({"FieldManagerConflict", "conflict with " + manager, path});
    }
  }
  if (count == 1) {
    text = "conflict with " + by_manager.begin()->first + ": " + by_manager.begin()->second[0];
    s.message = "Apply failed with 1 conflict: " + text;
  } else {
    s.message = "Apply failed with " + std::to_string(count) + " conflicts: " + text;
  }
  return s;
}

// The start of messages that refuse a configuration for its content.
std::string typed_failure(const Call& call, const Json& config) {
  const BodyKind kind = body_kind(call);
  const Json sent_meta = config.value("metadata", Json::object());
  const std::string gvk = (kind.gv.group.empty() ? "/" + kind.gv.version : kind.gv.text()) + ", Kind=" + kind.kind;
  auto meta_text = [&](const char* member) {
    const Json v = sent_meta.is_object() ? sent_meta.value(member, Json()) : Json();
    return v.is_string() ? v.get<std::string>() : std::string();
  };
  return "failed to create typed patch object (" + meta_text("namespace") + "/" + meta_text("name") + "; " + gvk +
         "): ";
}

// Paths of list items that were sent twice, in structured-merge-diff's format.
std::string repeated_text(const std::vector<std::string>& paths) {
  std::vector<std::string> lines;
  for (const auto& path : paths) {
    if (lines.size() == kMaxRepeatedShown) break;
    const size_t cut = path.rfind('\x1f') + 1;
    lines.push_back(path_text(path.substr(0, cut - 1)) + ": duplicate entries for key " + path_text(path.substr(cut)));
  }
  return lines.size() == 1 ? lines[0] : "errors:\n  " + join(lines, "\n  ");
}

// The configuration decoded as a partial object, without the fields that an apply of this subresource may not set.
StatusOr<Json> read_config(Call& call, const Json& config, const std::vector<std::string>& duplicates) {
  const BodyKind kind = body_kind(call);
  const std::string rendered = typed_failure(call, config);
  if (!duplicates.empty()) return fail_status(bad_request("error decoding YAML: " + duplicates[0]));
  Json out = config;
  auto text_of = [&](const char* member) {
    const Json v = out.value(member, Json());
    return v.is_string() ? v.get<std::string>() : std::string();
  };
  const std::string api_version = text_of("apiVersion");
  if (text_of("kind").empty())
    return fail_status(bad_request("Object 'Kind' is missing in '" + compact_text(config) + "'"));
  if (api_version != kind.gv.text()) {
    return fail_status(
        bad_request("invalid object type: " + std::string(api_version.find('/') == std::string::npos ? "/" : "") +
                    api_version + ", Kind=" + text_of("kind")));
  }
  auto meta = out.find("metadata");
  if (meta != out.end() && meta->is_object() && meta->contains("managedFields") &&
      !(*meta)["managedFields"].is_null()) {
    return fail_status(bad_request("metadata.managedFields must be nil"));
  }
  if (kind.schema != nullptr) {
    const DecodeReport report = decode_partial(*kind.schema, out);
    if (!report.unknown.empty()) {
      return fail_status(plain_error(rendered + "." + report.unknown[0] + ": field not declared in schema"));
    }
    if (!report.error.empty()) return fail_status(plain_error(rendered + report.error));
  }
  out.erase("apiVersion");
  out.erase("kind");
  if (call.path.subresource == "status") {
    Json kept = Json::object();
    if (out.contains("metadata")) kept["metadata"] = out["metadata"];
    if (out.contains("status")) kept["status"] = out["status"];
    out = std::move(kept);
  } else if (call.kind->info().has_status) {
    out.erase("status");
  }
  return out;
}

// All managers but the applying one lose what this apply changes; without force that is a conflict.
StatusOr<void> take_over(const Comparison& difference, bool force, std::vector<ManagedEntry>& others) {
  const FieldSet changed = difference.changed();
  std::map<std::string, std::vector<std::string>> conflicts;
  for (const ManagedEntry& other : others) {
    for (const std::string& path : changed) {
      if (other.fields.contains(path)) conflicts[manager_text(other)].push_back(path_text(path));
    }
  }
  if (!force && !conflicts.empty()) return fail_status(conflict_status(conflicts));
  for (ManagedEntry& other : others) disown(other.fields, difference);
  return {};
}

// Who owned what before this apply. An object without recorded managers belongs to "before-first-apply".
std::vector<ManagedEntry> managers_before(const ObjectType* type, const Json* current, const ManagerTag& tag) {
  if (current == nullptr) return {};
  auto entries = read_managers(current->at("metadata"));
  if (!entries.empty()) return entries;
  const FieldSet all = compare_fields(type, empty_object(type), *current).changed();
  return {{"before-first-apply", "Update", tag.subresource, tag.api_version, tag.time, all}};
}

// The server updates the annotation of client-side apply, so that users can go back to it.
void keep_last_applied(Json& metadata, const Json& config) {
  Json& annotations = metadata["annotations"];
  if (annotations.is_object() && annotations.contains(kLastApplied))
    annotations[kLastApplied] = compact_text(config) + "\n";
  if (annotations.is_null()) metadata.erase("annotations");
}

}  // namespace

StatusOr<Json> run_apply(const Env& env, Call& call, const Json& config, const std::vector<std::string>& duplicates,
                         const Json* current) {
  auto read = read_config(call, config, duplicates);
  if (!read) return read;
  const ObjectType* type = body_kind(call).schema;
  const bool force = call.query.flag("force");
  const ManagerTag tag = manager_tag(env, call);

  std::vector<std::string> repeated;
  FieldSet applied = applied_fields(type, *read, &repeated);
  if (!repeated.empty()) return fail_status(plain_error(typed_failure(call, config) + repeated_text(repeated)));
  if (call.path.subresource == "status") {
    std::erase_if(applied, [](const std::string& path) { return !path.starts_with("f:status"); });
  }
  std::vector<ManagedEntry> others = managers_before(type, current, tag);
  ManagedEntry mine{tag.manager, "Apply", tag.subresource, tag.api_version, "", {}};
  std::erase_if(others, [&](ManagedEntry& e) {
    if (e.manager != mine.manager || e.operation != mine.operation || e.subresource != mine.subresource) return false;
    mine.fields.insert(e.fields.begin(), e.fields.end());
    mine.time = std::max(mine.time, e.time);
    return true;
  });
  const FieldSet last = std::exchange(mine.fields, std::move(applied));
  FieldSet owned = mine.fields;
  for (const ManagedEntry& e : others) owned.insert(e.fields.begin(), e.fields.end());

  const Json& sent_meta = read->value("metadata", Json::object());
  const std::string sent_version = sent_meta.is_object() ? sent_meta.value("resourceVersion", "") : "";
  if (current != nullptr && !sent_version.empty() &&
      sent_version.find_first_not_of("0123456789") == std::string::npos &&
      sent_version != current->at("metadata").value("resourceVersion", "")) {
    return fail_status(modified(call.kind->info().group_resource_of(call.gv()), call.path.name));
  }
  const Json live = current == nullptr ? empty_object(type) : *current;
  Json object = live;
  merge_applied(type, object, *read);
  object = prune_abandoned(type, object, last, owned);
  const Comparison difference = compare_fields(type, live, object);
  if (auto taken = take_over(difference, force, others); !taken) return fail_status(taken.error());

  if (!difference.same()) mine.time = tag.time;
  if (difference.same() && current != nullptr) object = *current;
  others.push_back(std::move(mine));
  if (tag.manager == "kubectl" && tag.subresource.empty()) keep_last_applied(object["metadata"], config);
  write_managers(object["metadata"], std::move(others));
  auto decoded = decode_document(call, body_kind(call), object, {}, "");
  if (!decoded) return fail_status(decoded.error());
  return object;
}

}  // namespace dra::apiserver
