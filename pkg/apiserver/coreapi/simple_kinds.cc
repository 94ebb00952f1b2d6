// ConfigMap, Secret, ServiceAccount, Lease, PriorityClass.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/coreapi/kinds.h"
#include "pkg/apiserver/json_text.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxDataBytes = 1024 * 1024;
constexpr int64_t kHighestUserPriority = 1'000'000'000;

// The number of bytes that a base64 text encodes, without decoding it.
size_t decoded_size(const std::string& base64) {
  size_t n = base64.size() / 4 * 3;
  if (base64.ends_with("==")) return n - 2;
  return base64.ends_with("=") ? n - 1 : n;
}

void check_immutable_data(FieldErrors& out, const Json& object, const Json& old,
                          std::initializer_list<const char*> keys) {
  if (!bool_of(old, "immutable")) return;
  constexpr std::string_view kWhy = "field is immutable when `immutable` is set";
  if (!bool_of(object, "immutable")) out.push_back(forbidden(FieldPath("immutable"), kWhy));
  for (const char* key : keys) {
    if (!semantic_equal(member(object, key), member(old, key))) out.push_back(forbidden(FieldPath(key), kWhy));
  }
}

class ConfigMapKind : public Kind {
 public:
  using Kind::Kind;

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_immutable_data(out, object, old, {"data", "binaryData"});
    add_errors(out, check(object));
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Data", "string", "",
             "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'. "
             "Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not "
             "overlap with the keys in the BinaryData field, this is enforced during validation process.",
             0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), map_of(object, "data").size() + map_of(object, "binaryData").size(),
                        age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    size_t total = 0;
    const Json& binary = map_of(object, "binaryData");
    for (const auto& [key, value] : map_of(object, "data").items()) {
      const FieldPath path = FieldPath("data").key(key);
      add_problems(out, path, key, config_map_key_problems(key));
      if (binary.contains(key)) out.push_back(invalid(path, key, "duplicate of key present in binaryData"));
      total += as_text(value).size();
    }
    for (const auto& [key, value] : binary.items()) {
      add_problems(out, FieldPath("binaryData").key(key), key, config_map_key_problems(key));
      total += decoded_size(as_text(value));
    }
    if (total > kMaxDataBytes) out.push_back(too_long(FieldPath("[]"), kMaxDataBytes));
    return out;
  }
};

class SecretKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (text_of(object, "type").empty()) object["type"] = "Opaque";
    // stringData is write-only: it is merged into data.
    if (is_set(object, "stringData")) {
      const Json texts = map_of(object, "stringData");
      for (const auto& [key, value] : texts.items()) {
        object_member(object, "data")[key] = base64_encode(as_text(value));
      }
    }
    object.erase("stringData");
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    if (text_of(object, "type") != text_of(old, "type")) {
      out.push_back(invalid(FieldPath("type"), text_of(object, "type"), "field is immutable"));
    }
    check_immutable_data(out, object, old, {"data"});
    add_errors(out, check(object));
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Type", "string", "",
             "Used to facilitate programmatic handling of secret data. More info: "
             "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
             0},
            {"Data", "string", "",
             "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The "
             "serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly "
             "non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4",
             0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), text_of(object, "type"), map_of(object, "data").size(),
                        age_cell(member(meta, "creationTimestamp"), now)});
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"type"}; }
  std::string field_value(const Json& object, std::string_view, const GroupVersion&) const override {
    return text_of(object, "type");
  }
  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label not supported: " + std::string(label);
  }

 private:
  static void need(FieldErrors& out, const Json& data, const char* key) {
    if (!data.contains(key)) out.push_back(required(FieldPath("data").key(key), ""));
  }

  static void check_json_data(FieldErrors& out, const Json& data, const char* key) {
    std::string text;
    if (!data.contains(key) || !base64_decode(as_text(data.at(key)), text)) return;
    Json document;
    std::vector<std::string> duplicates;
    std::string error;
    if (parse_json(text, document, duplicates, error)) return;
    out.push_back(invalid(FieldPath("data").key(key), "<secret contents redacted>", error));
  }

  static FieldErrors check(const Json& object) {
    FieldErrors out;
    size_t total = 0;
    const Json& data = map_of(object, "data");
    for (const auto& [key, value] : data.items()) {
      add_problems(out, FieldPath("data").key(key), key, config_map_key_problems(key));
      total += decoded_size(as_text(value));
    }
    if (total > kMaxDataBytes) out.push_back(too_long(FieldPath("data"), kMaxDataBytes));
    const std::string& type = text_of(object, "type");
    if (type == "kubernetes.io/tls") {
      need(out, data, "tls.crt");
      need(out, data, "tls.key");
    } else if (type == "kubernetes.io/dockerconfigjson") {
      need(out, data, ".dockerconfigjson");
      check_json_data(out, data, ".dockerconfigjson");
    } else if (type == "kubernetes.io/ssh-auth") {
      need(out, data, "ssh-privatekey");
    } else if (type == "kubernetes.io/basic-auth" && !data.contains("username") && !data.contains("password")) {
      need(out, data, "username");
      need(out, data, "password");
    }
    return out;
  }
};

class LeaseKind : public Kind {
 public:
  using Kind::Kind;

  // Fields of a gate (CoordinatedLeaderElection) that is off.
  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    spec.erase("strategy");
    spec.erase("preferredHolder");
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json&) const override {
    return check(object);
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Holder", "string", "",
             "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is "
             "used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.",
             0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), text_of(member(object, "spec"), "holderIdentity"),
                        age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    const int64_t duration = int_of(spec, "leaseDurationSeconds");
    if (is_set(spec, "leaseDurationSeconds") && duration <= 0) {
      out.push_back(invalid_value(FieldPath("spec.leaseDurationSeconds"), duration, "must be greater than 0"));
    }
    const int64_t transitions = int_of(spec, "leaseTransitions");
    if (transitions < 0) {
      out.push_back(
          invalid_value(FieldPath("spec.leaseTransitions"), transitions, "must be greater than or equal to 0"));
    }
    return out;
  }
};

class PriorityClassKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (text_of(object, "preemptionPolicy").empty()) object["preemptionPolicy"] = "PreemptLowerPriority";
  }

  // Admission plug-in Priority: at most one default.
  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    return check_default(ctx, object);
  }
  StatusOr<void> admit_update(const WriteContext& ctx, Json& object, const Json&) const override {
    return check_default(ctx, object);
  }

  // Set once and never counted, as upstream.
  bool bumps_generation(const Json&, const Json&) const override { return false; }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const std::string& name = text_of(member(object, "metadata"), "name");
    if (name.starts_with("system-")) {
      out.push_back(forbidden(FieldPath("metadata.name"),
                              "priority class names with 'system-' prefix are reserved for system use only. error: " +
                                  name + " is not a known system priority class"));
    } else if (int_of(object, "value") > kHighestUserPriority) {
      out.push_back(forbidden(FieldPath("value"), "maximum allowed value of a user defined priority is " +
                                                      std::to_string(kHighestUserPriority)));
    }
    const std::string& policy = text_of(object, "preemptionPolicy");
    if (policy != "PreemptLowerPriority" && policy != "Never") {
      out.push_back(not_supported(FieldPath("preemptionPolicy"), policy, {"PreemptLowerPriority", "Never"}));
    }
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    if (int_of(object, "value") != int_of(old, "value")) {
      out.push_back(forbidden(FieldPath("value"), "may not be changed in an update."));
    }
    if (text_of(object, "preemptionPolicy") != text_of(old, "preemptionPolicy")) {
      out.push_back(invalid(FieldPath("preemptionPolicy"), text_of(object, "preemptionPolicy"), "field is immutable"));
    }
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {
        name_column(),
        {"Value", "integer", "",
         "value represents the integer value of this priority class. This is the actual priority that pods receive "
         "when they have the name of this class in their pod spec.",
         0},
        {"Global-Default", "boolean", "",
         "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods "
         "that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if "
         "more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of "
         "such global default PriorityClasses will be used as the default priority.",
         0},
        age_column(),
        {"PreemptionPolicy", "string", "",
         "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, "
         "PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.",
         0}};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), int_of(object, "value"), bool_of(object, "globalDefault"),
                        age_cell(member(meta, "creationTimestamp"), now), text_of(object, "preemptionPolicy")});
  }

 private:
  StatusOr<void> check_default(const WriteContext& ctx, const Json& object) const {
    if (!bool_of(object, "globalDefault") || ctx.reader == nullptr) return {};
    const std::string& name = text_of(member(object, "metadata"), "name");
    std::string other;
    ctx.reader->for_each("scheduling.k8s.io", "priorityclasses", "", [&](const Json& c) {
      const std::string& found = text_of(member(c, "metadata"), "name");
      if (bool_of(c, "globalDefault") && found != name && other.empty()) other = found;
    });
    if (other.empty()) return {};
    return fail_status(
        forbidden_status(info().group_resource(), name,
                         "PriorityClass " + other + " is already marked as default. Only one default can exist"));
  }
};

}  // namespace

std::unique_ptr<Kind> make_config_map_kind() {
  return std::make_unique<ConfigMapKind>(catalog_info("", "configmaps"));
}
std::unique_ptr<Kind> make_secret_kind() {
  return std::make_unique<SecretKind>(catalog_info("", "secrets"));
}
std::unique_ptr<Kind> make_service_account_kind() {
  return std::make_unique<Kind>(catalog_info("", "serviceaccounts"));
}
std::unique_ptr<Kind> make_lease_kind() {
  return std::make_unique<LeaseKind>(catalog_info("coordination.k8s.io", "leases"));
}
std::unique_ptr<Kind> make_priority_class_kind() {
  return std::make_unique<PriorityClassKind>(catalog_info("scheduling.k8s.io", "priorityclasses"));
}

}  // namespace dra::apiserver
