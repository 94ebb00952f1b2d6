#include "pkg/apiserver/patch/patch.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/json_text.h"
#include "pkg/apiserver/patch/apply.h"
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

}  // namespace

void apply_merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Json::object();
  for (const auto& [key, value] : patch.items()) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      apply_merge_patch(target[key], value);
    }
  }
}

namespace {

// The message of Go's decoder if a JSON patch is not a list of operations; empty if it is.
std::string wrong_operations(const Json& document) {
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
  for (size_t i = 0, told = 0; i < operations.size(); ++i) {
    if (!operations[i].is_object()) continue;
    for (const auto& [key, value] : operations[i].items()) {
      if (key == "op" || key == "path" || key == "from" || key == "value") continue;
      if (++told > kMost) return;
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
    auto parsed = yaml::parse(out.text_, options);
    if (!parsed) return fail_status(bad_request("error decoding YAML: " + parsed.error().message()));
    document = std::move(*parsed);
    if (!document.is_object()) return fail_status(bad_request("error decoding YAML: the configuration is no object"));
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
  } else if (!document.is_object()) {
    return fail_status(bad_request(
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"));
  }
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
  if (!patched.is_object()) return fail_status(bad_request("the patched object is no JSON object"));
  const bool same_type = patched.value("apiVersion", Json()) == call.gv().text() &&
                         patched.value("kind", Json()) == call.kind->info().kind;
  if (!same_type) {
    auto text_of = [&](const char* member) {
      const Json v = patched.value(member, Json());
      return v.is_string() ? v.get<std::string>() : std::string();
    };
    if (text_of("kind").empty()) {
      return fail_status(bad_request("Object 'Kind' is missing in '" + compact_text(patched) + "'"));
    }
    return fail_status(bad_request("no kind " + quote(text_of("kind")) + " is registered for version " +
                                   quote(text_of("apiVersion")) + " in scheme \"pkg/api/legacyscheme/scheme.go:30\""));
  }
  const Json before_decoding = type_ == Type::kStrategic ? Json() : patched;
  const auto rendered = [&] {  // for people, and as long as the object
    return quote(type_ == Type::kStrategic ? go_value_text(*body_) : compact_text(before_decoding));
  };
  Call* target = &call;
  const MismatchWords words = type_ == Type::kStrategic ? MismatchWords::kConverter : MismatchWords::kJson;
  auto decoded = decode_document(*target, body_kind(call), patched, duplicates_, text_, words);
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
  return patched;
}

}  // namespace dra::apiserver
