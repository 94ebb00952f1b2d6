#include "pkg/apiserver/codec/codec.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/codec/go_time.h"
#include "pkg/apiserver/kinds/folders.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxUnknownBytes = size_t{4} * 1024 * 1024;  // paths of unknown fields in one report

// Documents are at most kMaxJsonDepth deep, and the recursion over schemas follows the document.

std::string go_type_name(const ValueType& v) {
  switch (v.type) {
    case FieldType::kString:
      return "string";
    case FieldType::kInt32:
      return "int32";
    case FieldType::kInt64:
      return "int64";
    case FieldType::kBool:
      return "bool";
    case FieldType::kDouble:
      return "float64";
    case FieldType::kBytes:
      return "[]uint8";
    case FieldType::kTime:
    case FieldType::kMicroTime:
      return "string";
    case FieldType::kQuantity:
      return "resource.Quantity";
    case FieldType::kIntOrString:
      return "intstr.IntOrString";
    case FieldType::kRaw:
      return "runtime.RawExtension";
    case FieldType::kFields:
      return "v1.FieldsV1";
    case FieldType::kObject: {
      const std::string& package = v.object->package;
      return package.substr(package.find('/') + 1) + "." + v.object->name;
    }
    case FieldType::kList:
      return "[]" + go_type_name(*v.element);
    case FieldType::kMap:
      return "map[string]" + go_type_name(*v.element);
  }
  return "";
}

// The one kind that the API nests whole, including apiVersion and kind: StatefulSet's volumeClaimTemplates.
bool has_type_meta(const ObjectType& type) {
  return type.name == "PersistentVolumeClaim" && type.package == "core/v1";
}

// apimachinery/pkg/runtime/converter.go
std::string converter_error(const ValueType& type, const Json& value) {
  const std::string kind = value.is_string()           ? "string"
                           : value.is_boolean()        ? "bool"
                           : value.is_number_integer() ? "int64"
                           : value.is_number()         ? "float64"
                           : value.is_array()          ? "slice"
                                                       : "map";
  if (type.type == FieldType::kObject) return "cannot restore struct from: " + kind;
  if (type.type == FieldType::kMap) return "cannot restore map from " + kind;
  if (type.type == FieldType::kList) return "cannot restore slice from " + kind;
  const std::string from = value.is_array() ? "[]interface {}" : value.is_object() ? "map[string]interface {}" : kind;
  return "cannot convert " + from + " to " + go_type_name(type);
}

class Decoder {
 public:
  explicit Decoder(DecodeReport& report, bool partial = false, std::string struct_path = "",
                   MismatchWords words = MismatchWords::kJson)
      : report_(report), partial_(partial), words_(words), struct_path_(std::move(struct_path)) {}

  void object(const ObjectType& type, Json& value, const std::string& path, bool top) {
    for (auto it = value.begin(); it != value.end();) {
      const std::string& name = it.key();
      if ((top || has_type_meta(type)) && (name == "apiVersion" || name == "kind")) {
        ++it;
        continue;
      }
      const Field* field = type.find(name);
      if (field == nullptr) {
        note_unknown(path, name);
        it = value.erase(it);
        continue;
      }
      if (!keep_field(type, *field, it.value(), join_path(path, name))) {
        it = value.erase(it);
      } else {
        ++it;
      }
      if (!report_.error.empty()) return;
    }
    if (!partial_) add_always_printed(type, value);
  }

 private:
  static std::string join_path(const std::string& path, const std::string& name) {
    return path.empty() ? name : path + "." + name;
  }

  void note_unknown(const std::string& path, const std::string& name) {
    if (unknown_bytes_ > kMaxUnknownBytes) return;
    report_.unknown.push_back(join_path(path, name));
    unknown_bytes_ += report_.unknown.back().size();
  }

  // False if the field is not printed.
  bool keep_field(const ObjectType& owner, const Field& f, Json& value, const std::string& path) {
    if (value.is_null()) return false;  // an absent value; add_always_printed() restores the zero if needed
    const size_t outer = struct_path_.size();
    struct_path_ += "." + f.name;
    const bool enters_template = owner.name == "ResourceClaimTemplateSpec" && f.name == "metadata";
    if (enters_template) in_claim_template_ = true;
    check_value(f.value, value, path, owner.name + struct_path_);
    if (enters_template) in_claim_template_ = false;
    struct_path_.resize(outer);
    if (!report_.error.empty()) return true;
    if (f.value.pointer || f.always || partial_) return true;
    // Set, though to nothing: ValidateTemplateObjectMeta() refuses these.
    if (in_claim_template_ && (value.is_array() || value.is_null())) return true;
    if (f.value.type == FieldType::kObject) return !(f.omitzero && value.empty());
    return !is_zero(value);
  }

  static bool is_zero(const Json& v) {
    switch (v.type()) {
      case Json::value_t::string:
        return v.get_ref<const std::string&>().empty();
      case Json::value_t::boolean:
        return !v.get<bool>();
      case Json::value_t::number_integer:
      case Json::value_t::number_unsigned:
        return v.get<int64_t>() == 0;
      case Json::value_t::number_float:
        return v.get<double>() == 0;
      case Json::value_t::array:
      case Json::value_t::object:
        return v.empty();
      default:
        return true;
    }
  }

  void mismatch(const ValueType& type, const Json& value, const std::string& struct_field) {
    std::string what = json_kind_name(value);
    const bool number =
        type.type == FieldType::kInt32 || type.type == FieldType::kInt64 || type.type == FieldType::kDouble;
    if (value.is_number() && number) what += " " + value.dump();
    if (words_ == MismatchWords::kConverter) {
      report_.error = converter_error(type, value);
      return;
    }
    report_.error =
        "json: cannot unmarshal " + what + " into Go struct field " + struct_field + " of type " +
        (type.type == FieldType::kString && struct_field.ends_with(".uid") ? "types.UID" : go_type_name(type));
  }

  void check_value(const ValueType& type, Json& value, const std::string& path, const std::string& struct_field) {
    switch (type.type) {
      case FieldType::kString:
        if (value.is_null()) value = "";
        if (!value.is_string()) mismatch(type, value, struct_field);
        return;
      case FieldType::kBool:
        if (!value.is_boolean()) mismatch(type, value, struct_field);
        return;
      case FieldType::kInt32:
      case FieldType::kInt64:
        check_integer(type, value, struct_field);
        return;
      case FieldType::kDouble:
        if (!value.is_number()) mismatch(type, value, struct_field);
        return;
      case FieldType::kBytes:
        check_bytes(type, value, struct_field);
        return;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        check_time(type, value, struct_field);
        return;
      case FieldType::kQuantity:
        check_quantity(value);
        return;
      case FieldType::kIntOrString:
        check_int_or_string(value, struct_field);
        return;
      case FieldType::kRaw:
        return;
      case FieldType::kFields:
        if (!value.is_object()) mismatch(type, value, struct_field);
        return;
      case FieldType::kObject:
        if (!value.is_object()) {
          mismatch(type, value, struct_field);
          return;
        }
        object(*type.object, value, path, false);
        return;
      case FieldType::kList:
      case FieldType::kMap:
        check_container(type, value, path, struct_field);
        return;
    }
  }

  void check_integer(const ValueType& type, Json& value, const std::string& struct_field) {
    bool fits = value.is_number_integer() && !(value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX);
    if (value.is_number_float() && words_ == MismatchWords::kConverter) {
      const double d = value.get<double>();
      // 1.0 and 1e3 are integers for the converter only; the decoder refuses them.
      fits = std::floor(d) == d && std::fabs(d) < 9007199254740992.0;
      if (fits) value = static_cast<int64_t>(d);
    }
    if (fits && type.type == FieldType::kInt32) {
      const int64_t v = value.get<int64_t>();
      if (words_ == MismatchWords::kConverter)
        value = static_cast<int32_t>(v);  // reflect.Value.Convert() drops the upper half
      else
        fits = v >= INT32_MIN && v <= INT32_MAX;
    }
    if (!fits) mismatch(type, value, struct_field);
  }

  // The number is an int32 for the decoder.
  void check_int_or_string(Json& value, const std::string& struct_field) {
    static const ValueType number = [] {
      ValueType type;
      type.type = FieldType::kInt32;
      return type;
    }();
    if (value.is_number())
      check_integer(number, value, struct_field);
    else if (!value.is_string())
      mismatch(number, value, struct_field);
  }

  void check_bytes(const ValueType& type, const Json& value, const std::string& struct_field) {
    if (!value.is_string()) {
      mismatch(type, value, struct_field);
      return;
    }
    std::string ignored;
    const std::string& text = value.get_ref<const std::string&>();
    if (base64_decode(text, ignored)) return;
    size_t at = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n");
    if (at == std::string::npos) at = text.size() / 4 * 4;
    report_.error = "illegal base64 data at input byte " + std::to_string(at);
  }

  void check_time(const ValueType& type, Json& value, const std::string& struct_field) {
    if (!value.is_string()) {
      mismatch(type, value, struct_field);
      return;
    }
    const bool micro = type.type == FieldType::kMicroTime;
    const std::optional<Timestamp> time = parse_go_time(
        value.get_ref<const std::string&>(), micro ? TimeLayout::kMicros : TimeLayout::kSeconds, report_.error);
    if (!time) return;
    if (is_go_zero(*time, micro))
      value = nullptr;
    else
      value = micro ? format_rfc3339_micro(*time) : format_rfc3339(*time);
  }

  void check_quantity(Json& value) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    auto parsed = api::Quantity::parse(text);
    if (!parsed) {
      report_.error = parsed.error().message();
      return;
    }
    value = parsed->to_string();
  }

  void check_container(const ValueType& type, Json& value, const std::string& path, const std::string& struct_field) {
    const bool list = type.type == FieldType::kList;
    if (list ? !value.is_array() : !value.is_object()) {
      mismatch(type, value, struct_field);
      return;
    }
    size_t i = 0;
    for (auto it = value.begin(); it != value.end(); ++it, ++i) {
      const std::string at = list ? path + "[" + std::to_string(i) + "]" : path + "." + it.key();
      if (it->is_null()) *it = zero_of(*type.element);
      if (it->is_null()) continue;
      check_value(*type.element, *it, at, struct_field);
      if (!report_.error.empty()) return;
    }
  }

 public:
  static void add_always_printed(const ObjectType& type, Json& value) {
    for (const auto& [name, field] : type.visible) {
      if (value.contains(name)) continue;
      const bool plain_struct = field->value.type == FieldType::kObject && !field->value.pointer && !field->omitzero;
      if (field->always || plain_struct) value[name] = field->value.pointer ? Json() : zero_of(field->value);
    }
  }

  static Json zero_of(const ValueType& type) {
    switch (type.type) {
      case FieldType::kString:
        return "";
      case FieldType::kInt32:
      case FieldType::kInt64:
      case FieldType::kIntOrString:
        return 0;
      case FieldType::kDouble:
        return 0;
      case FieldType::kBool:
        return false;
      case FieldType::kQuantity:
        return "0";
      case FieldType::kObject: {
        Json out = Json::object();
        add_always_printed(*type.object, out);
        return out;
      }
      default:
        return nullptr;
    }
  }

 private:
  DecodeReport& report_;
  bool partial_;
  MismatchWords words_;
  bool in_claim_template_ = false;  // in the metadata of a ResourceClaimTemplate's claims
  std::string struct_path_;         // ".spec.containers.image": struct fields only, as in Go's decoder's messages
  size_t unknown_bytes_ = 0;
};

}  // namespace

std::string json_kind_name(const Json& value) {
  if (value.is_string()) return "string";
  if (value.is_number()) return "number";
  if (value.is_boolean()) return "bool";
  if (value.is_array()) return "array";
  return "object";
}

DecodeReport decode_object(const ObjectType* type, Json& object, MismatchWords words) {
  DecodeReport report;
  if (type != nullptr) {
    Decoder(report, false, "", words).object(*type, object, "", true);
    return report;
  }
  const ObjectType* meta = builtin_schemas().find("meta/v1", "ObjectMeta");
  auto it = object.find("metadata");
  if (it == object.end() || it->is_null()) {
    object["metadata"] = Json::object();
  } else if (!it->is_object()) {
    report.error =
        "json: cannot unmarshal " + json_kind_name(*it) + " into Go struct field .metadata of type v1.ObjectMeta";
  } else {
    Decoder(report, false, ".metadata").object(*meta, *it, "metadata", false);
  }
  return report;
}

DecodeReport decode_partial(const ObjectType& type, Json& object) {
  DecodeReport report;
  Decoder(report, true).object(type, object, "", true);
  return report;
}

namespace {

void settle_value(const ValueType& type, Json& value) {
  if (type.type == FieldType::kObject && value.is_object()) {
    null_empty_lists(*type.object, value);
  } else if (type.element && (value.is_array() || value.is_object())) {
    for (auto& below : value) settle_value(*type.element, below);
  }
}

}  // namespace

void null_empty_lists(const ObjectType& type, Json& object) {
  for (auto it = object.begin(); it != object.end(); ++it) {
    const Field* f = type.find(it.key());
    if (f == nullptr) continue;
    if (f->always && !f->value.pointer && it->is_array() && it->empty()) {
      *it = nullptr;
    } else {
      settle_value(f->value, *it);
    }
  }
}

Json zero_object(const ObjectType& type) {
  Json out = Json::object();
  Decoder::add_always_printed(type, out);
  return out;
}

}  // namespace dra::apiserver
