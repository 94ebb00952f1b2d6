#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/pod_amounts.h"
#include "pkg/apiserver/kinds/quota/quota.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

constexpr int64_t kMostDevices = 32;  // resourceapi.AllocationResultsMaxSize
constexpr std::string_view kPerClass = ".deviceclass.resource.k8s.io/devices";
constexpr std::string_view kImplicit = "requests.deviceclass.resource.kubernetes.io/";

void add_to(QuotaUsage& usage, const std::string& name, const api::Quantity& amount) {
  auto sum = usage[name].add(amount);
  if (sum) usage[name] = *sum;
}

bool pod_is_over(const Json& pod) {
  const std::string& phase = text_of(member(pod, "status"), "phase");
  return phase == "Succeeded" || phase == "Failed";
}

// requests or limits of a whole pod.
QuotaUsage pod_amounts(const Json& spec, const char* which) {
  QuotaUsage sum;
  for (const auto& [name, amount] : container_amounts(spec, which)) sum[name] = amount;
  for (const auto& [name, value] : map_of(member(spec, "resources"), which).items()) sum[name] = amount_of(value);
  for (const auto& [name, value] : map_of(spec, "overhead").items())
    if (sum.contains(name) || std::string_view(which) == "requests") add_to(sum, name, amount_of(value));
  return sum;
}

bool is_compute(const std::string& name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage";
}

void count_pod(QuotaUsage& usage, const Json& pod) {
  if (pod_is_over(pod)) return;
  const Json& spec = member(pod, "spec");
  usage["pods"] = api::Quantity::from_int64(1);
  for (const auto& [name, amount] : pod_amounts(spec, "requests")) {
    const bool extended = name.find('/') != std::string::npos;
    if (is_compute(name) || name.starts_with("hugepages-")) usage[name] = amount;
    if (is_compute(name) || name.starts_with("hugepages-") || extended) usage["requests." + name] = amount;
  }
  for (const auto& [name, amount] : pod_amounts(spec, "limits"))
    if (is_compute(name)) usage["limits." + name] = amount;
}

int64_t devices_of(const Json& request) {
  const std::string& mode = text_of(request, "allocationMode");
  return mode == "ExactCount" ? int_of(request, "count") : mode == "All" ? kMostDevices : 0;
}

// What the pod of an extended resource claim pays itself; empty unless pod and claim refer to each other.
QuotaUsage paid_by_pod(const ObjectReader& reader, const Json& claim) {
  const Json& meta = member(claim, "metadata");
  if (text_of(member(meta, "annotations"), "resource.kubernetes.io/extended-resource-claim") != "true") return {};
  for (const Json& owner : list_of(meta, "ownerReferences")) {
    if (!bool_of(owner, "controller") || text_of(owner, "kind") != "Pod" || text_of(owner, "apiVersion") != "v1")
      continue;
    const auto pod = reader.find("", "pods", text_of(meta, "namespace"), text_of(owner, "name"));
    if (pod == nullptr || text_of(member(*pod, "metadata"), "uid") != text_of(owner, "uid")) return {};
    const std::string& named = text_of(member_at(*pod, "status.extendedResourceClaimStatus"), "resourceClaimName");
    if (!named.empty() && named != text_of(meta, "name")) return {};
    QuotaUsage usage;
    count_pod(usage, *pod);
    return usage;
  }
  return {};
}

void count_claim(QuotaUsage& usage, const ObjectReader& reader, const Json& claim) {
  std::map<std::string, int64_t> by_class;
  for (const Json& request : list_of(member_at(claim, "spec.devices"), "requests")) {
    std::map<std::string, int64_t> worst;
    for (const Json& alternative : list_of(request, "firstAvailable")) {
      int64_t& most = worst[text_of(alternative, "deviceClassName")];
      most = std::max(most, devices_of(alternative));
    }
    const Json& exactly = member(request, "exactly");
    if (!exactly.is_null()) worst[text_of(exactly, "deviceClassName")] += devices_of(exactly);
    for (const auto& [name, count] : worst) by_class[name] += count;
  }
  const QuotaUsage paid = paid_by_pod(reader, claim);
  for (const auto& [name, count] : by_class) {
    usage[name + std::string(kPerClass)] = api::Quantity::from_int64(count);
    const auto owed = [&, devices = count](const std::string& resource) {
      const auto pays = paid.find(resource);
      const int64_t left = devices - (pays == paid.end() ? 0 : pays->second.value());
      if (left > 0) usage[resource] = api::Quantity::from_int64(left);
    };
    owed(std::string(kImplicit) + name);
    const auto device_class = reader.find("resource.k8s.io", "deviceclasses", "", name);
    if (device_class == nullptr) continue;
    const std::string& extended = text_of(member(*device_class, "spec"), "extendedResourceName");
    if (!extended.empty()) owed("requests." + extended);
  }
}

}  // namespace

QuotaUsage quota_usage(const ObjectReader& reader, const KindInfo& info, const Json& object) {
  QuotaUsage usage;
  const api::Quantity one = api::Quantity::from_int64(1);
  usage["count/" + info.group_resource().text()] = one;
  if (info.group.empty()) {
    if (info.plural == "pods") {
      count_pod(usage, object);
    } else {
      usage[info.plural] = one;
    }
  }
  if (info.group == "resource.k8s.io" && info.plural == "resourceclaims") count_claim(usage, reader, object);
  return usage;
}

}  // namespace dra::apiserver
