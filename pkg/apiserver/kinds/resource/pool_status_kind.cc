// ResourcePoolStatusRequest: a question about the pools of a driver, answered once in its status.
// kube-controller-manager answers; nothing in the sandbox does.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/resource/kinds.h"
#include "pkg/apiserver/kinds/resource/parts.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr int64_t kDefaultLimit = 100, kMaxLimit = 1000;
constexpr size_t kMaxPools = 1000, kMaxPoolConditions = 10, kMaxSummaries = 32;
constexpr size_t kMaxValidationError = 256;

// The members that must be set, each at least `least`.
void check_counts(FieldErrors& out, const FieldPath& path, const Json& holder,
                  std::initializer_list<const char*> required_ones, std::initializer_list<const char*> optional_ones) {
  for (const char* key : required_ones)
    if (!is_set(holder, key)) out.push_back(required(path.child(key), ""));
  const auto check = [&](const char* key, int64_t least) {
    if (is_set(holder, key) && int_of(holder, key) < least)
      out.push_back(invalid_value(path.child(key), int_of(holder, key),
                                  "must be greater than or equal to " + std::to_string(least)));
  };
  for (const char* key : required_ones) check(key, 0);
  for (const char* key : optional_ones) check(key, key == std::string_view("resourceSliceCount") ? 1 : 0);
}

void check_text(FieldErrors& out, const FieldPath& path, const Json& holder, const char* key) {
  if (text_of(holder, key).empty()) out.push_back(required(path.child(key), ""));
}

// A driver's name here may be as long as a DNS name, in any case.
void check_driver(FieldErrors& out, const FieldPath& path, const Json& holder) {
  std::string name = text_of(holder, "driver");
  if (name.empty()) return out.push_back(required(path.child("driver"), ""));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  add_problems(out, path.child("driver"), text_of(holder, "driver"), dns_subdomain_problems(name));
}

void check_summaries(FieldErrors& out, const FieldPath& path, const Json& pool) {
  check_set(
      out, path.child("partitionSummary"), member(pool, "partitionSummary"), kMaxSummaries,
      [](FieldErrors& o, const FieldPath& p, const Json& one) {
        check_text(o, p, one, "attribute");
        check_text(o, p, one, "type");
        check_counts(o, p, one, {"total", "allocatable"}, {});
      },
      [](const Json& one) { return text_of(one, "attribute") + "," + text_of(one, "type"); });
  if (!is_set(pool, "shareableSummary")) return;
  const FieldPath at = path.child("shareableSummary");
  const Json& shareable = member(pool, "shareableSummary");
  check_counts(out, at, shareable, {"fullyAvailableDevices", "partiallyAvailableDevices"}, {});
  check_list(out, at.child("capacity"), member(shareable, "capacity"), kMaxSummaries,
             [](FieldErrors& o, const FieldPath& p, const Json& one) {
               check_text(o, p, one, "name");
               for (const char* key : {"total", "consumed", "available"})
                 if (!is_set(one, key)) o.push_back(required(p.child(key), ""));
             });
}

void check_pool_status(FieldErrors& out, const FieldPath& path, const Json& pool) {
  check_driver(out, path, pool);
  if (text_of(pool, "poolName").empty())
    out.push_back(required(path.child("poolName"), ""));
  else
    check_pool_name(out, path.child("poolName"), text_of(pool, "poolName"));
  check_counts(out, path, pool, {},
               {"generation", "resourceSliceCount", "totalDevices", "allocatedDevices", "availableDevices",
                "unavailableDevices"});
  if (is_set(pool, "nodeName"))
    add_problems(out, path.child("nodeName"), text_of(pool, "nodeName"),
                 dns_subdomain_problems(text_of(pool, "nodeName")));
  if (text_of(pool, "validationError").size() > kMaxValidationError)
    out.push_back(too_long(path.child("validationError"), kMaxValidationError));
  check_summaries(out, path, pool);
}

const Json* condition_of(const Json& object, const char* type) {
  for (const Json& condition : list_of(member(object, "status"), "conditions"))
    if (text_of(condition, "type") == type && text_of(condition, "status") == "True") return &condition;
  return nullptr;
}

class PoolStatusRequestKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (member(object, "spec").is_object()) set_default(object["spec"], "limit", kDefaultLimit);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& spec = member(object, "spec");
    check_driver(out, path, spec);
    if (is_set(spec, "poolName")) check_pool_name(out, path.child("poolName"), text_of(spec, "poolName"));
    const int64_t limit = int_of(spec, "limit");
    if (is_set(spec, "limit") && limit < 1)
      out.push_back(invalid_value(path.child("limit"), limit, "must be greater than or equal to 1"));
    if (limit > kMaxLimit)
      out.push_back(invalid_value(path.child("limit"), limit, "must be less than or equal to 1000"));
    const char* attribute = "defaultPartitionTypeAttribute";
    if (is_set(spec, attribute) && !serves_gate("DRAPartitionableDevicesType"))
      out.push_back(forbidden(path.child(attribute), ""));
    else if (is_set(spec, attribute))
      check_fully_qualified_name(out, path.child(attribute), text_of(spec, attribute));
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    if (!semantic_equal(member(object, "spec"), member(old, "spec")))
      out.push_back(invalid_value(FieldPath("spec"), member(object, "spec"), "field is immutable"));
    return out;
  }

  FieldErrors validate_status_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    const FieldPath path("status");
    const Json& status = member(object, "status");
    if (is_set(old, "status")) {
      if (!semantic_equal(status, member(old, "status")))
        out.push_back(invalid_value(path, status, "field is immutable"));
      return out;
    }
    if (!status.is_object()) return out;
    check_counts(out, path, status, {"poolCount"}, {});
    check_list(out, path.child("pools"), member(status, "pools"), kMaxPools, check_pool_status);
    const Json& conditions = list_of(status, "conditions");
    if (conditions.size() > kMaxPoolConditions)
      out.push_back(too_many(path.child("conditions"), static_cast<int64_t>(conditions.size()), kMaxPoolConditions));
    else
      check_conditions(out, path.child("conditions"), conditions);
    return out;
  }

  std::vector<TableColumn> columns() const override {
    std::vector<TableColumn> out = {name_column(), {"Driver", "string", "", "The DRA driver name", 0}};
    for (const char* name : {"Total", "Available", "Allocated", "Unavailable", "Errors"})
      out.push_back({name, "string", "", "", 0});
    out.push_back({"Pools", "integer", "", "", 0});
    out.push_back({"Status", "string", "", "", 0});
    out.push_back({"Completed", "string", "", "", 0});
    return out;
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& status = member(object, "status");
    const Json& pools = list_of(status, "pools");
    const Json* complete = condition_of(object, "Complete");
    Json row = Json::array({text_of(member(object, "metadata"), "name"), text_of(member(object, "spec"), "driver")});
    for (const char* key : {"totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices"}) {
      int64_t sum = 0;
      for (const Json& pool : pools) sum += int_of(pool, key);
      row.push_back(complete == nullptr ? "-" : std::to_string(sum));
    }
    const auto errors =
        std::count_if(pools.begin(), pools.end(), [](const Json& pool) { return is_set(pool, "validationError"); });
    row.push_back(complete == nullptr ? "-" : std::to_string(errors));
    const int64_t all = int_of(status, "poolCount");
    row.push_back(all);
    std::string word = condition_of(object, "Failed") != nullptr ? "Failed" : "Pending";
    if (complete != nullptr) word = "Complete";
    if (complete != nullptr && static_cast<int64_t>(pools.size()) < all)
      word += " (" + std::to_string(pools.size()) + "/" + std::to_string(all) + " pools)";
    row.push_back(word);
    row.push_back(complete == nullptr ? "<none>" : age_cell(member(*complete, "lastTransitionTime"), now));
    return row;
  }
};

}  // namespace

std::unique_ptr<Kind> make_pool_status_request_kind() {
  KindInfo info = kind_info({"resource.k8s.io", "v1alpha3"}, "resource/v1alpha3", "ResourcePoolStatusRequest",
                            "resourcepoolstatusrequests", "resourcepoolstatusrequest", false);
  info.served.front().deprecation =
      "resource.k8s.io/v1alpha3 ResourcePoolStatusRequest is deprecated in v1.39+, unavailable in v1.42+";
  info.allow_unconditional_update = false;
  with_status(info);
  return std::make_unique<PoolStatusRequestKind>(std::move(info));
}

}  // namespace dra::apiserver
