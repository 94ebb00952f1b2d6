#include "pkg/apiserver/kinds/resource/claim_spec.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/kinds/resource/release_fields.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr const char* kExactFields[] = {"deviceClassName", "selectors",   "allocationMode", "count",
                                        "adminAccess",     "tolerations", "capacity",       "derivedAttributes"};

// A request that v1beta1 sent without a class has an explicit empty mode (claim_spec_from_v1beta1): that version
// defaults mode and count only if there is a class.
void default_request(Json& request) {
  auto mode = request.find("allocationMode");
  const bool undefaulted = mode != request.end() && mode->is_string() && mode->get_ref<const std::string&>().empty();
  if (!undefaulted) {
    if (text_of(request, "allocationMode").empty()) request["allocationMode"] = "ExactCount";
    if (text_of(request, "allocationMode") == "ExactCount" && int_of(request, "count") == 0) request["count"] = 1;
  }
  auto tolerations = request.find("tolerations");
  if (tolerations == request.end() || !tolerations->is_array()) return;
  for (auto& t : *tolerations) {
    if (t.is_object() && text_of(t, "operator").empty()) t["operator"] = "Equal";
  }
}

Json* requests_of(Json& spec) {
  if (!spec.is_object()) return nullptr;
  auto devices = spec.find("devices");
  if (devices == spec.end() || !devices->is_object()) return nullptr;
  auto requests = devices->find("requests");
  return requests == devices->end() || !requests->is_array() ? nullptr : &*requests;
}

void check_class_name(FieldErrors& out, const FieldPath& path, const std::string& name) {
  if (name.empty()) {
    out.push_back(required(path, ""));
  } else {
    check_dns_subdomain(out, path, name);
  }
}

void check_allocation_mode(FieldErrors& out, const FieldPath& path, const Json& request) {
  const std::string& mode = text_of(request, "allocationMode");
  const int64_t count = int_of(request, "count");
  if (mode == "All") {
    if (count != 0) {
      out.push_back(invalid_value(path.child("count"), count, "must not be specified when allocationMode is 'All'"));
    }
  } else if (mode == "ExactCount") {
    if (count <= 0) out.push_back(invalid_value(path.child("count"), count, "must be greater than zero"));
  } else {
    out.push_back(not_supported(path.child("allocationMode"), mode, {"All", "ExactCount"}));
  }
}

// What `exactly` and the entries of firstAvailable share.
void check_request_body(FieldErrors& out, const FieldPath& path, const Json& request) {
  check_class_name(out, path.child("deviceClassName"), text_of(request, "deviceClassName"));
  check_selectors(out, path.child("selectors"), member(request, "selectors"), false);
  check_allocation_mode(out, path, request);
  const Json& tolerations = list_of(request, "tolerations");
  for (size_t i = 0; i < tolerations.size(); ++i) {
    check_toleration(out, path.child("tolerations").index(i), tolerations[i]);
  }
}

void check_request(FieldErrors& out, const FieldPath& path, const Json& request) {
  check_dns_label(out, path.child("name"), text_of(request, "name"));
  const bool alternatives = !list_of(request, "firstAvailable").empty();
  const bool exactly = is_set(request, "exactly");
  if (alternatives && exactly) {
    out.push_back(invalid_value(
        path, nullptr, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"));
  } else if (alternatives) {
    check_set(
        out, path.child("firstAvailable"), member(request, "firstAvailable"), kMaxSubRequests,
        [](FieldErrors& o, const FieldPath& p, const Json& sub) {
          check_dns_label(o, p.child("name"), text_of(sub, "name"));
          check_request_body(o, p, sub);
        },
        [](const Json& sub) { return text_of(sub, "name"); });
  } else if (exactly) {
    check_request_body(out, path.child("exactly"), member(request, "exactly"));
  } else {
    out.push_back(required(path, "exactly one of `exactly` or `firstAvailable` is required"));
  }
}

void check_references(FieldErrors& out, const FieldPath& path, const Json& list, const RequestNames& names) {
  check_set(
      out, path, list, kMaxRequests,
      [&](FieldErrors& o, const FieldPath& p, const Json& name) {
        check_request_reference(o, p, as_text(name), names);
      },
      [](const Json& name) { return as_text(name); });
}

void check_constraint(FieldErrors& out, const FieldPath& path, const Json& constraint, const RequestNames& names) {
  check_references(out, path.child("requests"), member(constraint, "requests"), names);
  if (is_set(constraint, "matchAttribute")) {
    check_fully_qualified_name(out, path.child("matchAttribute"), text_of(constraint, "matchAttribute"));
  } else if (is_set(constraint, "distinctAttribute")) {
    check_fully_qualified_name(out, path.child("distinctAttribute"), text_of(constraint, "distinctAttribute"));
  } else {
    // The text mentions several fields although none is set: upstream's words.
    out.push_back(required(path,
                           "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple "
                           "fields are set"));
  }
}

}  // namespace

void default_claim_spec(Json& spec) {
  Json* requests = requests_of(spec);
  if (requests == nullptr) return;
  for (auto& request : *requests) {
    if (!request.is_object()) continue;
    auto exactly = request.find("exactly");
    if (exactly != request.end() && exactly->is_object()) default_request(*exactly);
    auto alternatives = request.find("firstAvailable");
    if (alternatives == request.end() || !alternatives->is_array()) continue;
    for (auto& sub : *alternatives) {
      if (sub.is_object()) default_request(sub);
    }
  }
}

void claim_spec_from_v1beta1(Json& spec) {
  Json* requests = requests_of(spec);
  if (requests == nullptr) return;
  for (auto& request : *requests) {
    if (!request.is_object()) continue;
    Json exactly = Json::object();
    for (const char* field : kExactFields) {
      auto it = request.find(field);
      if (it == request.end()) continue;
      const bool empty = it->is_null() || (it->is_string() && it->get_ref<const std::string&>().empty());
      if (!empty) exactly[field] = std::move(*it);
      request.erase(it);
    }
    if (exactly.empty()) continue;
    if (!exactly.contains("deviceClassName") && !exactly.contains("allocationMode")) exactly["allocationMode"] = "";
    request["exactly"] = std::move(exactly);
  }
}

void claim_spec_to_v1beta1(Json& spec) {
  Json* requests = requests_of(spec);
  if (requests == nullptr) return;
  for (auto& request : *requests) {
    if (!request.is_object()) continue;
    auto exactly = request.find("exactly");
    if (exactly != request.end()) {
      Json fields = std::move(*exactly);
      request.erase(exactly);
      if (fields.is_object()) request.update(fields);
    }
    if (!request.contains("deviceClassName")) request["deviceClassName"] = "";
  }
}

void check_claim_spec(FieldErrors& out, const FieldPath& path, const Json& spec) {
  const Json& devices = member(spec, "devices");
  const FieldPath at = path.child("devices");
  const RequestNames names = request_names(devices);
  check_set(out, at.child("requests"), member(devices, "requests"), kMaxRequests, check_request,
            [](const Json& request) { return text_of(request, "name"); });
  check_list(out, at.child("constraints"), member(devices, "constraints"), kMaxConstraints,
             [&](FieldErrors& o, const FieldPath& p, const Json& c) { check_constraint(o, p, c, names); });
  check_list(out, at.child("config"), member(devices, "config"), kMaxConfigs,
             [&](FieldErrors& o, const FieldPath& p, const Json& config) {
               check_references(o, p.child("requests"), member(config, "requests"), names);
               check_device_configuration(o, p, config, false);
             });
  check_claim_fields_of_137(out, path, spec);
}

void check_admin_access(FieldErrors& out, const WriteContext& ctx, const Json& spec) {
  const Json& requests = list_of(member(spec, "devices"), "requests");
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!bool_of(member(requests[i], "exactly"), "adminAccess")) continue;
    check_admin_namespace(out, ctx, FieldPath("spec.devices.requests").index(i).child("adminAccess"));
    return;
  }
}

void check_admin_namespace(FieldErrors& out, const WriteContext& ctx, const FieldPath& path) {
  const auto ns = ctx.reader == nullptr ? nullptr : ctx.reader->find("", "namespaces", "", ctx.namespace_);
  if (ns == nullptr) {
    out.push_back(internal_error(
        path, "could not retrieve namespace to verify admin access: namespace \"" + ctx.namespace_ + "\" not found"));
    return;
  }
  if (text_of(member_at(*ns, "metadata.labels"), "resource.kubernetes.io/admin-access") == "true") return;
  out.push_back(forbidden(path,
                          "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on "
                          "the containing namespace"));
}

}  // namespace dra::apiserver
