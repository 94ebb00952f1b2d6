#include "pkg/apiserver/rest/patch_body.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/patch/patch.h"
#include "pkg/apiserver/rest/apply.h"
#include "pkg/apiserver/rest/body.h"
#include "pkg/base/strings.h"
#include "pkg/yaml/yaml.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxJsonPatchOperations = 10'000;

Status strict_patch_failure(const std::string& rendered, const std::string& why) {
  FieldErrors errors{invalid_raw(FieldPath("patch"), rendered, why)};
  return invalid_status({"", ""}, "", errors);
}

// The message of Go's decoder if a JSON patch is not a list of operations; empty if it is.
std::string wrong_operations(const Json& document) {
  if (document.is_null()) return "";
  if (!document.is_array()) return json_kind_name(document) + " into Go value of type []handlers.jsonPatchOp";
  for (const Json& operation : document) {
    if (operation.is_null()) continue;
    if (!operation.is_object()) return json_kind_name(operation) + " into Go value of type handlers.jsonPatchOp";
    for (const auto& [key, value] : operation.items())
      if ((key == "op" || key == "path" || key == "from") && !value.is_string() && !value.is_null())
        return json_kind_name(value) + " into Go struct field jsonPatchOp." + key + " of type string";
  }
  return "";
}

void warn_of_unknown_members(const Json& operations, Call& call) {
  if (!call.query.get("fieldValidation").empty() && call.query.get("fieldValidation") != "Warn") return;
  constexpr size_t kMost = 20;
  for (size_t i = 0, warned = 0; i < operations.size(); ++i) {
    if (!operations[i].is_object()) continue;
    for (const auto& [key, value] : operations[i].items()) {
      if (key == "op" || key == "path" || key == "from" || key == "value") continue;
      if (++warned > kMost) return;
      call.warnings.push_back("json patch unknown field " + quote("[" + std::to_string(i) + "]." + key));
    }
  }
}

}  // namespace

StatusOr<Patch> Patch::parse(Call& call) {
  Patch out;
  Json document;
  const std::string type = media_type(call.request.headers.get("Content-Type"));
  if (type == "application/json-patch+json") {
    out.type_ = Type::kJson;
  } else if (type == "application/merge-patch+json") {
    out.type_ = Type::kMerge;
  } else if (type == "application/strategic-merge-patch+json") {
    out.type_ = Type::kStrategic;
  } else if (type == "application/apply-patch+yaml") {
    out.type_ = Type::kApply;
  } else {
    Status s = unsupported_media_type("415: Unsupported Media Type");
    s.has_details = true;
    return fail_status(s);
  }
  if (call.request.body_too_large) return fail_status(too_large("Request entity too large: limit is 3145728"));
  out.text_ = call.request.body;
  if (out.is_apply()) {
    yaml::Options options;
    options.duplicate_keys = &out.duplicates_;
    options.first_document_only = true;
    auto parsed = yaml::parse(out.text_, options);
    if (!parsed) return fail_status(bad_request("error decoding YAML: " + parsed.error().message()));
    document = std::move(*parsed);
    if (!document.is_object())
      return fail_status(bad_request("error decoding YAML: the configuration is not an object"));
    out.body_ = std::make_shared<const Json>(std::move(document));
    return out;
  }
  std::string error;
  if (!parse_json(out.text_, document, out.duplicates_, error)) {
    return fail_status(bad_request("error decoding patch: " + error));
  }
  if (out.type_ == Type::kJson) {
    if (const std::string wrong = wrong_operations(document); !wrong.empty())
      return fail_status(bad_request("error decoding patch: json: cannot unmarshal " + wrong));
    if (document.size() > kMaxJsonPatchOperations) {
      return fail_status(too_large("Request entity too large: The allowed maximum operations in a JSON patch is " +
                                   std::to_string(kMaxJsonPatchOperations) + ", got " +
                                   std::to_string(document.size())));
    }
  } else if (document.is_null() && out.type_ == Type::kStrategic) {
    document = Json::object();
  } else if (!document.is_object()) {
    if (document.is_null()) return fail_status(bad_request("Invalid JSON Patch"));
    return fail_status(bad_request(
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"));
  }
  if (document.is_null()) document = Json::array();
  out.body_ = std::make_shared<const Json>(std::move(document));
  return out;
}

StatusOr<Json> Patch::run_plain(Json document) const {
  if (type_ == Type::kJson) return apply_json_patch(document, *body_);
  apply_merge_patch(document, *body_);
  return document;
}

StatusOr<Json> Patch::run(const Env& env, Call& call, const Json* current) const {
  if (is_apply()) return run_apply(env, call, *body_, duplicates_, current);
  Json typed = *current;
  typed["apiVersion"] = call.gv().text();
  typed["kind"] = call.kind->info().kind;
  Json patched;
  if (type_ == Type::kJson) {
    auto result = apply_json_patch(typed, *body_);
    if (!result) return result;
    warn_of_unknown_members(*body_, call);
    patched = std::move(*result);
  } else if (type_ == Type::kMerge) {
    patched = std::move(typed);
    apply_merge_patch(patched, *body_);
  } else {
    auto result = apply_strategic_patch(typed, *body_, body_kind(call).schema);
    if (!result) return result;
    patched = std::move(*result);
  }
  if (!patched.is_object()) return fail_status(bad_request("the patched object is not a JSON object"));
  const Json before_decoding = type_ == Type::kStrategic ? Json() : patched;
  const auto rendered = [&] {  // for people, and as long as the object
    return quote(type_ == Type::kStrategic ? go_value_text(*body_) : compact_text(before_decoding));
  };
  BodyKind named = body_kind(call);
  if (auto known = name_type(call, patched, named); !known) {
    const Status& why = known.error();
    return fail_status(why.code == 400 ? why : strict_patch_failure(rendered(), why.message));
  }
  const MismatchWords words = type_ == Type::kStrategic ? MismatchWords::kConverter : MismatchWords::kJson;
  auto decoded = decode_document(call, named, patched, duplicates_, text_, words);
  if (!decoded) {
    // A document produced by a patch is judged as one field of the patch.
    const std::string& message = decoded.error().message;
    const size_t strict = message.find("strict decoding error: ");
    if (decoded.error().code == 400 && strict != std::string::npos) {
      return fail_status(strict_patch_failure(rendered(), message.substr(strict)));
    }
    const size_t as = message.find(": ");
    return fail_status(strict_patch_failure(rendered(), as == std::string::npos ? message : message.substr(as + 2)));
  }
  if (!(named.gv == call.gv())) {
    convert_document(*call.kind, patched, named.gv, call.kind->info().hub);
    convert_document(*call.kind, patched, call.kind->info().hub, call.gv());
  }
  return patched;
}

StatusOr<void> Patch::name_type(const Call& call, const Json& patched, BodyKind& named) const {
  for (const char* member : {"apiVersion", "kind"}) {
    const auto found = patched.find(member);
    if (found == patched.end() || found->is_null() || found->is_string()) continue;
    return fail_status(plain_error("json: cannot unmarshal " + json_kind_name(*found) + " into Go struct field ." +
                                   member + " of type string"));
  }
  // Strategic patches are applied to the typed object, which has neither.
  if (type_ == Type::kStrategic) return {};
  const auto text_of = [&](const char* member) {
    const Json v = patched.value(member, Json());
    return v.is_string() ? v.get<std::string>() : std::string();
  };
  const std::string version = text_of("apiVersion"), kind = text_of("kind");
  if (version.empty())
    return fail_status(bad_request("the name of the object (" + call.path.name +
                                   " based on URL) was undeterminable: name must be provided"));
  for (const ServedVersion& served : call.kind->info().served) {
    if (served.gv.text() != version || (!kind.empty() && kind != call.kind->info().kind)) continue;
    named.gv = served.gv;
    named.schema = builtin_schemas().find(served.schema_package, call.kind->info().kind);
    return {};
  }
  return fail_status(plain_error("no kind " + quote(kind) + " is registered for version " + quote(version) +
                                 " in scheme \"pkg/api/legacyscheme/scheme.go:30\""));
}

StatusOr<Json> Patch::run_typed(Call& call, const BodyKind& type, Json document) const {
  auto patched = run_plain(std::move(document));
  if (!patched) return patched;
  if (!patched->is_object()) return fail_status(bad_request("the patched object is not a JSON object"));
  const std::string rendered = quote(compact_text(*patched));
  auto decoded = decode_document(call, type, *patched, duplicates_, text_);
  if (decoded) return patched;
  const std::string& message = decoded.error().message;
  const size_t as = message.find(": ");
  return fail_status(strict_patch_failure(rendered, as == std::string::npos ? message : message.substr(as + 2)));
}

}  // namespace dra::apiserver
