// ConfigMap, Secret and ServiceAccount.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxDataBytes = 1024 * 1024;

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

}  // namespace

std::unique_ptr<Kind> make_config_map_kind() {
  KindInfo info = core_kind_info("ConfigMap", "configmaps", "configmap", true);
  info.short_names = {"cm"};
  return std::make_unique<ConfigMapKind>(std::move(info));
}

std::unique_ptr<Kind> make_secret_kind() {
  return std::make_unique<SecretKind>(core_kind_info("Secret", "secrets", "secret", true));
}

std::unique_ptr<Kind> make_service_account_kind() {
  KindInfo info = core_kind_info("ServiceAccount", "serviceaccounts", "serviceaccount", true);
  info.short_names = {"sa"};
  info.delete_returns_object = true;
  info.subresources = {{"token", {"authentication.k8s.io", "v1"}, "TokenRequest", {"create"}}};
  return std::make_unique<Kind>(std::move(info));
}

}  // namespace dra::apiserver
