#include "pkg/apiserver/kinds/resource/parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/raw_text.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr std::string_view kRequestReference =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

bool uuid_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// github.com/google/uuid Validate: the plain form, urn:uuid:, braces, or 32 digits.
std::string uuid_problem(std::string_view text) {
  std::string_view digits = text;
  switch (text.size()) {
    case 36:
      break;
    case 36 + 9: {
      if (to_lower(text.substr(0, 9)) != "urn:uuid:") return "invalid urn prefix: " + quote(text.substr(0, 9));
      digits.remove_prefix(9);
      break;
    }
    case 36 + 2:
      if (text.front() != '{' || text.back() != '}') return "invalid bracketed UUID format";
      digits = text.substr(1, 36);
      break;
    case 32:
      return std::all_of(text.begin(), text.end(), uuid_digit) ? "" : "invalid UUID format";
    default:
      return "invalid UUID length: " + std::to_string(text.size());
  }
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? digits[i] != '-' : !uuid_digit(digits[i])) return "invalid UUID format";
  }
  return "";
}

bool known_effect(const std::string& effect) {
  return effect == "NoSchedule" || effect == "NoExecute" || effect == "None";
}
const std::vector<std::string>& effect_names() {
  static const std::vector<std::string> names = {"NoExecute", "NoSchedule", "None"};
  return names;
}

void check_identifier(FieldErrors& out, const FieldPath& path, const std::string& id) {
  if (id.size() > kMaxIdentifier) out.push_back(too_long(path, kMaxIdentifier));
  add_problems(out, path, id, c_identifier_problems(id));
}

void check_repeated(FieldErrors& out, const FieldPath& path, const Json& list, const Json& other) {
  std::set<std::string> seen;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string& text = as_text(list[i]);
    if (!seen.insert(text).second) out.push_back(duplicate(path.index(i), text));
    if (std::find(other.begin(), other.end(), list[i]) != other.end()) {
      out.push_back(invalid(path.index(i), text, "bindingFailureConditions must not overlap with bindingConditions"));
    }
  }
}

}  // namespace

void check_list(FieldErrors& out, const FieldPath& path, const Json& list, size_t max, const ItemCheck& check) {
  const size_t n = count_of(list);
  if (max != kNoLimit && n > max) {
    out.push_back(too_many(path, static_cast<int64_t>(n), static_cast<int64_t>(max)));
    return;
  }
  for (size_t i = 0; i < n; ++i) check(out, path.index(i), list[i]);
}

void check_set(FieldErrors& out, const FieldPath& path, const Json& list, size_t max, const ItemCheck& check,
               const ItemKey& key) {
  check_list(out, path, list, max, check);
  const size_t n = count_of(list);
  if (max != kNoLimit && n > max) return;
  std::set<std::string> seen;
  for (size_t i = 0; i < n; ++i) {
    std::string k = key(list[i]);
    if (!seen.insert(k).second) out.push_back(duplicate(path.index(i), k));
  }
}

void check_driver_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  if (name.empty()) {
    out.push_back(required(path, ""));
    return;
  }
  if (name.size() > kMaxDriverName) out.push_back(too_long(path, kMaxDriverName));
  add_problems(out, path, name, dns_subdomain_problems(to_lower(name)));
}

void check_pool_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  if (name.empty()) {
    out.push_back(required(path, ""));
    return;
  }
  if (name.size() > kMaxPoolName) out.push_back(too_long(path, kMaxPoolName));
  for (const auto& part : split(name, '/')) add_problems(out, path, part, dns_subdomain_problems(part));
}

void check_dns_label(FieldErrors& out, const FieldPath& path, const std::string& name) {
  add_problems(out, path, name, dns_label_problems(name));
}
void check_dns_subdomain(FieldErrors& out, const FieldPath& path, const std::string& name) {
  add_problems(out, path, name, dns_subdomain_problems(name));
}

void check_attribute_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  const auto parts = split(name, '/');
  if (parts.size() == 1) {
    check_identifier(out, path, parts[0]);
  } else if (parts.size() == 2) {
    if (parts[0].empty()) {
      out.push_back(invalid(path, "", "the domain must not be empty"));
    } else {
      check_driver_name(out, path, parts[0]);
    }
    if (parts[1].empty()) {
      out.push_back(invalid(path, "", "the name must not be empty"));
    } else {
      check_identifier(out, path, parts[1]);
    }
  }
}

void check_fully_qualified_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  check_attribute_name(out, path, name);
  if (name.find('/') == std::string::npos) {
    out.push_back(invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash"));
  }
}

void check_share_id(FieldErrors& out, const FieldPath& path, const std::string& uid) {
  const std::string problem = uuid_problem(uid);
  if (!problem.empty()) {
    out.push_back(invalid(path, uid, "error validating uid: " + problem));
  } else if (uid.size() != 36 || uid != to_lower(uid)) {
    out.push_back(invalid(path, uid,
                          "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with "
                          "lowercase hexadecimal characters"));
  }
}

void check_selectors(FieldErrors& out, const FieldPath& path, const Json& selectors, bool stored) {
  check_list(out, path, selectors, kMaxSelectors, [&](FieldErrors& o, const FieldPath& p, const Json& selector) {
    if (!is_set(selector, "cel")) {
      o.push_back(required(p.child("cel"), ""));
    } else if (!stored) {
      check_cel_expression(o, p.child("cel").child("expression"), text_of(member(selector, "cel"), "expression"));
    }
  });
}

void check_raw_object(FieldErrors& out, const FieldPath& path, const Json& value, bool stored, size_t max) {
  if (value.is_null()) {
    out.push_back(required(path, ""));
  } else if (!stored && value.dump(-1, ' ', false, Json::error_handler_t::replace).size() > max) {
    out.push_back(too_long(path, static_cast<int64_t>(max)));
  } else if (!value.is_object()) {
    out.push_back(invalid(path, "<value omitted>", "must be a valid JSON object"));
  }
}

void check_device_configuration(FieldErrors& out, const FieldPath& path, const Json& config, bool stored) {
  const FieldPath opaque_path = path.child("opaque");
  const Json& opaque = member(config, "opaque");
  if (opaque.is_null()) {
    out.push_back(required(opaque_path, ""));
    return;
  }
  check_driver_name(out, opaque_path.child("driver"), text_of(opaque, "driver"));
  check_raw_object(out, opaque_path.child("parameters"), member(opaque, "parameters"), stored, kMaxOpaqueBytes);
}

void check_toleration(FieldErrors& out, const FieldPath& path, const Json& toleration) {
  const std::string& key = text_of(toleration, "key");
  const std::string& op = text_of(toleration, "operator");
  const std::string& value = text_of(toleration, "value");
  const std::string& effect = text_of(toleration, "effect");
  if (!key.empty()) check_label_name(out, path.child("key"), key);
  if (op == "Exists") {
    if (!value.empty()) out.push_back(invalid(path.child("value"), value, "must be empty for operator `Exists`"));
  } else if (op == "Equal") {
    add_problems(out, path.child("value"), value, label_value_problems(value));
  } else if (op.empty()) {
    out.push_back(required(path.child("operator"), ""));
  } else {
    out.push_back(not_supported(path.child("operator"), op, {"Equal", "Exists"}));
  }
  if (!effect.empty() && !known_effect(effect)) {
    out.push_back(not_supported(path.child("effect"), effect, effect_names()));
  }
}

void check_taint(FieldErrors& out, const FieldPath& path, const Json& taint) {
  check_label_name(out, path.child("key"), text_of(taint, "key"));
  const std::string& value = text_of(taint, "value");
  if (!value.empty()) add_problems(out, path.child("value"), value, label_value_problems(value));
  const std::string& effect = text_of(taint, "effect");
  if (effect.empty()) {
    out.push_back(required(path.child("effect"), ""));
  } else if (!known_effect(effect)) {
    out.push_back(not_supported(path.child("effect"), effect, effect_names()));
  }
}

void check_binding_conditions(FieldErrors& out, const FieldPath& path, const Json& holder) {
  const FieldPath binding = path.child("bindingConditions");
  const FieldPath failure = path.child("bindingFailureConditions");
  const Json& conditions = list_of(holder, "bindingConditions");
  const Json& failures = list_of(holder, "bindingFailureConditions");
  auto name = [](FieldErrors& o, const FieldPath& p, const Json& v) { check_label_name(o, p, as_text(v)); };
  check_list(out, binding, conditions, kMaxBindingConditions, name);
  check_list(out, failure, failures, kMaxBindingConditions, name);
  check_repeated(out, binding, conditions, Json::array());
  check_repeated(out, failure, failures, conditions);
  if (conditions.empty() && !failures.empty()) {
    out.push_back(invalid_value(binding, member(holder, "bindingConditions"),
                                "bindingConditions are required to use bindingFailureConditions"));
  }
  if (failures.empty() && !conditions.empty()) {
    out.push_back(invalid_value(failure, member(holder, "bindingFailureConditions"),
                                "bindingFailureConditions are required to use bindingConditions"));
  }
}

RequestNames request_names(const Json& device_claim) {
  RequestNames out;
  for (const auto& request : list_of(device_claim, "requests")) {
    auto& subrequests = out[text_of(request, "name")];
    for (const auto& sub : list_of(request, "firstAvailable")) subrequests.insert(text_of(sub, "name"));
  }
  return out;
}

void check_request_reference(FieldErrors& out, const FieldPath& path, const std::string& name,
                             const RequestNames& names) {
  const auto parts = split(name, '/');
  if (parts.size() > 2) {
    out.push_back(invalid(path, name, kRequestReference));
    return;
  }
  for (const auto& part : parts) check_dns_label(out, path, part);
  auto it = names.find(parts[0]);
  if (it == names.end() || (parts.size() == 2 && !it->second.contains(parts[1]))) {
    out.push_back(invalid(path, name, kRequestReference));
  }
}

}  // namespace dra::apiserver
