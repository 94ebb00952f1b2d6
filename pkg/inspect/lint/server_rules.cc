#include "pkg/inspect/lint/server_rules.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/codec/codec.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/apiserver/model/kind.h"
#include "pkg/apiserver/model/metadata.h"
#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

using apiserver::FieldType;
using apiserver::ObjectType;
using apiserver::ValueType;
using nlohmann::json;

constexpr size_t kMaxRequestBytes = 3145728;  // kube-apiserver's limit for a request

const apiserver::KindRegistry& served_kinds() {
  static const apiserver::KindRegistry* const all = [] {
    auto* registry = new apiserver::KindRegistry;
    apiserver::register_all_kinds(*registry);
    return registry;
  }();
  return *all;
}

std::string json_text_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

apiserver::GroupVersion group_version(const std::string& text) {
  const size_t slash = text.find('/');
  return slash == std::string::npos ? apiserver::GroupVersion{"", text}
                                    : apiserver::GroupVersion{text.substr(0, slash), text.substr(slash + 1)};
}

// Answers only what admin access asks for: a namespace with the label or without.
class NamespacesOnly : public apiserver::ObjectReader {
 public:
  explicit NamespacesOnly(const ServerRules& rules) : rules_(rules) {}
  std::shared_ptr<const json> find(std::string_view, std::string_view plural, std::string_view,
                                   std::string_view name) const override {
    if (plural != "namespaces") return nullptr;
    const bool allowed = !rules_.admin_access || rules_.admin_access(std::string(name));
    json labels = json::object();
    if (allowed) labels["resource.kubernetes.io/admin-access"] = "true";
    return std::make_shared<const json>(json{{"metadata", {{"labels", labels}}}});
  }
  void for_each(std::string_view, std::string_view, std::string_view,
                const std::function<void(const json&)>&) const override {}

 private:
  const ServerRules& rules_;
};

// "[]string" as users read it.
std::string wanted_text(const std::string& go_type) {
  if (go_type == "string" || go_type == "types.UID" || go_type == "[]uint8") return "a text (put it between quotes)";
  if (go_type == "bool") return "true or false";
  if (go_type == "int32" || go_type == "int64") return "a whole number";
  if (go_type == "float64") return "a number";
  if (go_type.starts_with("[]")) return "a list";
  return "an object with fields";
}

std::string found_text(const std::string& kind) {
  if (kind == "string") return "a text";
  if (kind == "bool") return "true or false";
  if (kind == "array") return "a list";
  if (kind == "object") return "an object with fields";
  if (kind == "number") return "a number";
  return kind;  // "number 1.5"
}

// The path of the first value below that has the path without indices and is of this kind ("string").
std::optional<std::string> path_of_kind(const json& value, const std::string& plain, const std::string& path,
                                        const std::string& wanted, const std::string& kind) {
  const bool inside = plain == wanted || plain.starts_with(wanted + ".");
  if (inside && apiserver::json_kind_name(value) == kind && !value.is_null()) return path;
  if (!inside && !plain.empty() && !wanted.starts_with(plain + ".")) return std::nullopt;
  if (value.is_object()) {
    for (const auto& [key, element] : value.items()) {
      const std::string dot = path.empty() ? key : path + "." + key, below = plain.empty() ? key : plain + "." + key;
      if (auto found = path_of_kind(element, below, dot, wanted, kind)) return found;
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      if (auto found = path_of_kind(value[i], plain, path + "[" + std::to_string(i) + "]", wanted, kind)) return found;
  }
  return std::nullopt;
}

// The first amount that is none, in the order in which the decoder reads.
std::optional<std::string> path_of_bad_amount(const ValueType& type, const json& value, const std::string& path) {
  if (type.type == FieldType::kQuantity) {
    const bool good =
        value.is_null() || api::Quantity::parse(value.is_string() ? value.get<std::string>() : value.dump());
    return good ? std::nullopt : std::optional(path);
  }
  if (type.type == FieldType::kObject && value.is_object()) {
    for (const auto& [key, element] : value.items())
      if (const apiserver::Field* field = type.object->find(key))
        if (auto found = path_of_bad_amount(field->value, element, path.empty() ? key : path + "." + key)) return found;
  } else if (type.type == FieldType::kList && value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      if (auto found = path_of_bad_amount(*type.element, value[i], path + "[" + std::to_string(i) + "]")) return found;
  } else if (type.type == FieldType::kMap && value.is_object()) {
    for (const auto& [key, element] : value.items())
      if (auto found = path_of_bad_amount(*type.element, element, path + "[" + key + "]")) return found;
  }
  return std::nullopt;
}

// "json: cannot unmarshal string into Go struct field A.spec.b of type int64", with the place in the object.
ServerRefusal mismatch(const std::string& error, const json& object, const ObjectType& type) {
  constexpr std::string_view kBegin = "json: cannot unmarshal ", kInto = " into Go struct field ", kType = " of type ";
  const size_t into = error.find(kInto), of_type = error.find(kType);
  if (error.starts_with(kBegin) && into != std::string::npos && of_type != std::string::npos) {
    const std::string what = error.substr(kBegin.size(), into - kBegin.size());
    std::string field = error.substr(into + kInto.size(), of_type - into - kInto.size());
    field.erase(0, field.find('.') + 1);
    const std::string kind = what.substr(0, what.find(' '));
    const std::string why =
        "it is " + found_text(what) + ", and must be " + wanted_text(error.substr(of_type + kType.size()));
    return {path_of_kind(object, "", "", field, kind).value_or(field), why, false, true};
  }
  ValueType whole;
  whole.type = FieldType::kObject;
  whole.object = &type;
  return {path_of_bad_amount(whole, object, "").value_or(""), error, false, true};
}

// What the server does before it validates: conversion, defaults, metadata, the status of a new object.
void prepare(const apiserver::Kind& kind, const apiserver::GroupVersion& version, const ObjectType* hub_type,
             const apiserver::WriteContext& ctx, json& object) {
  const apiserver::KindInfo& info = kind.info();
  if (!(version == info.hub)) kind.convert(object, version, info.hub);
  kind.set_defaults(object);
  apiserver::init_create_metadata(info, ctx, object["metadata"]);
  if (info.has_status && !(info.keeps_status_on_create && object.contains("status"))) {
    object.erase("status");
    const apiserver::Field* status = hub_type == nullptr ? nullptr : hub_type->find("status");
    if (status == nullptr)
      object["status"] = json::object();
    else if (status->value.object != nullptr && !status->value.pointer)
      object["status"] = apiserver::zero_object(*status->value.object);
  }
  if (info.has_generation) object["metadata"]["generation"] = 1;
  kind.prepare_for_create(ctx, object);
}

void validate(const apiserver::Kind& kind, const apiserver::WriteContext& ctx, const json& object,
              std::vector<ServerRefusal>& refusals) {
  const auto keep = [&](const apiserver::FieldErrors& errors) {
    for (const apiserver::FieldError& error : errors) refusals.push_back({error.field, error.message});
  };
  const apiserver::FieldErrors of_kind = kind.validate_create(ctx, object);
  if (of_kind.empty() || kind.validates_metadata(ctx)) {
    keep(kind.validate_before_metadata(ctx, object));
    keep(apiserver::validate_object_meta(object["metadata"], kind.info(), apiserver::FieldPath("metadata")));
  }
  keep(of_kind);
}

}  // namespace

ServerVerdict refused_by_server(const json& object, const ServerRules& rules) {
  ServerVerdict verdict;
  const std::string name = json_text_at(object, "kind");
  const apiserver::GroupVersion version = group_version(json_text_at(object, "apiVersion"));
  const apiserver::Kind* kind = served_kinds().find_by_kind(version, name);
  const apiserver::ServedVersion* served = kind == nullptr ? nullptr : kind->info().find_version(version);
  const ObjectType* type =
      served == nullptr ? nullptr : apiserver::builtin_schemas().find(served->schema_package, name);
  if (type == nullptr) return verdict;
  verdict.known = true;
  json decoded = object;
  decoded.erase("apiVersion");
  decoded.erase("kind");
  const apiserver::DecodeReport report = apiserver::decode_object(type, decoded);
  for (const std::string& field : report.unknown) verdict.refusals.push_back({field, "there is no such field", true});
  if (!report.error.empty()) {
    verdict.refusals.push_back(mismatch(report.error, object, *type));
    return verdict;
  }
  if (!decoded.contains("metadata") || !decoded["metadata"].is_object()) decoded["metadata"] = json::object();
  if (!json_text_at(decoded["metadata"], "resourceVersion").empty())
    verdict.refusals.push_back({"metadata.resourceVersion", "a new object has none; leave it out"});

  const NamespacesOnly reader(rules);
  const ManualClock clock;
  SeededRandom random(1);
  apiserver::WriteContext ctx;
  ctx.reader = &reader;
  ctx.clock = &clock;
  ctx.random = &random;
  ctx.request_version = version;
  ctx.namespace_ = json_text_at(decoded["metadata"], "namespace");
  if (ctx.namespace_.empty()) ctx.namespace_ = rules.ns;
  ctx.verb = "create";
  const apiserver::ServedVersion* hub = kind->info().find_version(kind->info().hub);
  prepare(*kind, version, hub == nullptr ? nullptr : apiserver::builtin_schemas().find(hub->schema_package, name), ctx,
          decoded);
  validate(*kind, ctx, decoded, verdict.refusals);
  if (object.dump(-1, ' ', false, json::error_handler_t::replace).size() > kMaxRequestBytes)
    verdict.refusals.push_back({"", "it is larger than the 3 MiB that a request may have"});
  return verdict;
}

}  // namespace dra::inspect
