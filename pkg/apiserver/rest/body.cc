#include "pkg/apiserver/rest/body.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/codec/protobuf.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/model/printable.h"
#include "pkg/base/strings.h"
#include "pkg/yaml/yaml.h"

namespace dra::apiserver {

namespace {

// sigs.k8s.io/json stops reporting after this many.
constexpr size_t kMaxStrictFindings = 100;

struct RawBody {
  Json document;
  std::vector<std::string> duplicates;
  std::string json_text;  // for the order of findings; empty if the body was not JSON
};

Status unrecognized(const BodyKind& expected, const std::string& error, std::string_view body) {
  // Long bodies are cut in messages: a short part is enough to recognise them.
  constexpr size_t kShown = 30;
  const std::string shown = body.empty()           ? "<empty>"
                            : body.size() > kShown ? std::string(body.substr(0, kShown)) + " ..."
                                                   : std::string(body);
  return bad_request("the object provided is unrecognized (must be of type " + expected.kind +
                     "): couldn't get version/kind; json parse error: " + error + " (" + shown + ")");
}

StatusOr<RawBody> parse_body(const Call& call, const BodyKind& expected) {
  if (call.request.body_too_large) return fail_status(too_large("Request entity too large: limit is 3145728"));
  const std::string type = media_type(call.request.headers.get("Content-Type"));
  RawBody raw;
  std::string error;
  const std::string& body = call.request.body;
  if (type.empty() || type == "application/json") {
    raw.json_text = body;
    if (!parse_json(body, raw.document, raw.duplicates, error)) return fail_status(unrecognized(expected, error, body));
  } else if (type == "application/yaml") {
    yaml::Options options;
    options.duplicate_keys = &raw.duplicates;
    options.first_document_only = true;
    auto parsed = yaml::parse(body, options);
    if (!parsed)
      return fail_status(unrecognized(expected, "error converting YAML to JSON: " + parsed.error().message(), body));
    raw.document = std::move(*parsed);
  } else if (type == "application/vnd.kubernetes.protobuf") {
    auto decoded = decode_protobuf_body(body, expected);
    if (!decoded) return fail_status(decoded.error());
    raw.document = std::move(*decoded);
  } else {
    return fail_status(unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: application/json, "
        "application/yaml, application/vnd.kubernetes.protobuf"));
  }
  if (raw.document.is_null()) raw.document = Json::object();  // an object without members, for Go
  for (const char* key : {"apiVersion", "kind"}) {
    const auto found = raw.document.is_object() ? raw.document.find(key) : raw.document.end();
    if (found == raw.document.end() || found->is_string() || found->is_null()) continue;
    return fail_status(unrecognized(
        expected,
        "json: cannot unmarshal " + json_kind_name(*found) + " into Go struct field ." + key + " of type string",
        body));
  }
  if (!raw.document.is_object()) {
    const std::string what = raw.document.is_array() ? "array" : raw.document.is_string() ? "string" : "value";
    return fail_status(
        unrecognized(expected, "json: cannot unmarshal " + what + " into Go value of type an object", body));
  }
  return raw;
}

std::string version_of(const std::string& api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string::npos ? api_version : api_version.substr(slash + 1);
}

// Unknown and duplicate fields, in the order in which they occur in the text.
std::vector<std::string> strict_findings(const std::vector<std::string>& unknown,
                                         const std::vector<std::string>& duplicates, std::string_view text) {
  struct Finding {
    size_t at;
    std::string text;
  };
  std::vector<Finding> findings;
  std::map<std::string, size_t> first;
  std::map<std::string, size_t> last;
  if (unknown.size() + duplicates.size() > 1) {
    const auto members = member_paths(text);
    for (size_t i = 0; i < members.size(); ++i) {
      first.emplace(members[i], i);
      last[members[i]] = i;
    }
  }
  for (const auto& path : unknown) findings.push_back({first[path], "unknown field " + quote(path)});
  for (const auto& path : duplicates) {
    const bool yaml_text = path.starts_with("line ");
    findings.push_back({last[path], yaml_text ? path : "duplicate field " + quote(path)});
  }
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::vector<std::string> out;
  std::set<std::string_view> seen;
  for (const auto& f : findings) {
    if (out.size() == kMaxStrictFindings) break;
    if (seen.insert(f.text).second) out.push_back(f.text);
  }
  return out;
}

std::string cannot_be_handled(const std::string& kind, const std::string& version, const std::string& as,
                              const std::string& why) {
  return kind + " in version " + quote(version) + " cannot be handled as a " + as + ": " + why;
}

std::string not_registered(const std::string& kind, const std::string& api_version, const std::string& as) {
  return cannot_be_handled(kind, version_of(api_version), as,
                           "no kind " + quote(kind) + " is registered for version " + quote(api_version) +
                               " in scheme \"pkg/api/legacyscheme/scheme.go:30\"");
}

// Whether upstream's scheme has the kind in that version; lists and options are not in our schema.
bool is_registered(const Call& call, const BodyKind& expected, const std::string& api_version,
                   const std::string& kind) {
  if (api_version != expected.gv.text()) {
    const auto& served = call.kind == nullptr ? std::vector<ServedVersion>() : call.kind->info().served;
    const auto same = [&](const ServedVersion& v) { return v.gv.text() == api_version; };
    if (std::none_of(served.begin(), served.end(), same)) return false;
  }
  return kind.ends_with("List") || kind.ends_with("Options") ||
         (expected.schema != nullptr && builtin_schemas().find(expected.schema->package, kind) != nullptr);
}

FieldValidation validation_of(const Call& call) {
  const std::string& text = call.query.get("fieldValidation");
  if (text == "Strict") return FieldValidation::kStrict;
  if (text == "Ignore") return FieldValidation::kIgnore;
  return FieldValidation::kWarn;
}

}  // namespace

BodyKind body_kind(const Call& call) {
  const ObjectType* schema = builtin_schemas().find(call.version->schema_package, call.kind->info().kind);
  return {call.gv(), call.kind->info().kind, schema};
}

StatusOr<void> check_write_options(const Call& call, std::string_view options_kind) {
  FieldErrors errors;
  const std::string& manager = call.query.get("fieldManager");
  if (options_kind == "PatchOptions" && call.query.flag("force") && call.query.has("force") &&
      media_type(call.request.headers.get("Content-Type")) != "application/apply-patch+yaml") {
    errors.push_back(forbidden(FieldPath("force"), "may not be specified for non-apply patch"));
  }
  if (options_kind == "PatchOptions" && manager.empty() &&
      media_type(call.request.headers.get("Content-Type")) == "application/apply-patch+yaml") {
    errors.push_back(required(FieldPath("fieldManager"), "is required for apply patch"));
  }
  if (manager.size() > kMaxManagerBytes) errors.push_back(too_long(FieldPath("fieldManager"), kMaxManagerBytes));
  if (const std::string wrong = unprintable_text(manager); !wrong.empty()) {
    errors.push_back(invalid(FieldPath("fieldManager"), manager, wrong));
  }
  const auto dry_run = call.query.all("dryRun");
  if (std::any_of(dry_run.begin(), dry_run.end(), [](const auto& v) { return v != "All"; })) {
    errors.push_back({"FieldValueNotSupported", "dryRun",
                      "Unsupported value: " + compact_text(dry_run) + ": supported values: \"All\""});
  }
  const std::string& validation = call.query.get("fieldValidation");
  if (!validation.empty() && validation != "Strict" && validation != "Warn" && validation != "Ignore") {
    errors.push_back(not_supported(FieldPath("fieldValidation"), validation, {"", "Ignore", "Strict", "Warn"}));
  }
  if (errors.empty()) return {};
  return fail_status(invalid_status({"meta.k8s.io", std::string(options_kind)}, "", errors));
}

namespace {

std::string internal_type(const Call& call, const BodyKind& expected) {
  if (call.kind != nullptr && call.kind->info().kind == expected.kind) return call.kind->info().internal_type();
  KindInfo info;
  info.group = expected.gv.group;
  info.kind = expected.kind;
  return info.internal_type();
}

}  // namespace

StatusOr<Json> decode_plain_body(Call& call, const BodyKind& expected) {
  return decode_body(call, expected);
}

StatusOr<Json> decode_body(Call& call, const BodyKind& expected) {
  auto raw = parse_body(call, expected);
  if (!raw) return fail_status(raw.error());
  Json& document = raw->document;
  std::string api_version = expected.gv.text();
  std::string kind = expected.kind;
  if (document.contains("apiVersion") && document["apiVersion"].is_string() &&
      !document["apiVersion"].get_ref<const std::string&>().empty()) {
    api_version = document["apiVersion"];
  }
  if (document.contains("kind") && document["kind"].is_string() &&
      !document["kind"].get_ref<const std::string&>().empty()) {
    kind = document["kind"];
  }
  BodyKind actual = expected;
  if (kind != expected.kind && !is_registered(call, expected, api_version, kind))
    return fail_status(bad_request(not_registered(kind, api_version, expected.kind)));
  if (kind != expected.kind) {
    return fail_status(bad_request(cannot_be_handled(kind, version_of(api_version), expected.kind,
                                                     "converting (" + version_of(api_version) + "." + kind + ") to (" +
                                                         internal_type(call, expected) + "): unknown conversion")));
  }
  const bool other_version = api_version != expected.gv.text();
  if (other_version) {
    const ServedVersion* served = nullptr;
    if (call.kind != nullptr && expected.kind == call.kind->info().kind) {
      for (const auto& v : call.kind->info().served) {
        if (v.gv.text() == api_version) served = &v;
      }
    }
    if (served == nullptr) {
      return fail_status(bad_request(not_registered(kind, api_version, expected.kind)));
    }
    actual.gv = served->gv;
    actual.schema = builtin_schemas().find(served->schema_package, kind);
  }
  if (auto decoded = decode_document(call, actual, document, raw->duplicates, raw->json_text); !decoded) {
    return fail_status(decoded.error());
  }
  if (other_version) {
    return fail_status(bad_request("the API version in the data (" + api_version +
                                   ") does not match the expected API version (" + expected.gv.text() + ")"));
  }
  // Only these kinds have RawExtension fields. With duplicate keys, the text does not show which value counted.
  if (expected.gv.group == "resource.k8s.io" && expected.schema != nullptr && raw->duplicates.empty()) {
    call.raw_texts = raw_texts_of(*expected.schema, raw->json_text);
  }
  return std::move(document);
}

StatusOr<void> decode_document(Call& call, const BodyKind& expected, Json& document,
                               const std::vector<std::string>& duplicates, std::string_view text, MismatchWords words) {
  const DecodeReport report = decode_object(expected.schema, document, words);
  document.erase("apiVersion");
  document.erase("kind");
  if (!report.error.empty()) {
    return fail_status(bad_request(cannot_be_handled(expected.kind, expected.gv.version, expected.kind, report.error)));
  }
  if (!document.contains("metadata") && expected.schema == nullptr) document["metadata"] = Json::object();
  const FieldValidation validation = validation_of(call);
  if (validation == FieldValidation::kIgnore) return {};
  const auto findings = strict_findings(report.unknown, duplicates, text);
  if (findings.empty()) return {};
  if (validation == FieldValidation::kStrict) {
    return fail_status(bad_request(cannot_be_handled(expected.kind, expected.gv.version, expected.kind,
                                                     "strict decoding error: " + join(findings, ", "))));
  }
  for (const auto& f : findings) call.warnings.push_back(f);
  return {};
}

}  // namespace dra::apiserver
