#include "pkg/sandbox/driver.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"

namespace dra::sandbox {
namespace {

constexpr const char* kDeviceKeys[] = {"driver", "pool", "device"};

bool same_device(const Json& entry, const Json& result) {
  return std::all_of(std::begin(kDeviceKeys), std::end(kDeviceKeys),
                     [&](const char* key) { return entry.value(key, "") == result.value(key, ""); }) &&
         entry.value("shareID", "") == result.value("shareID", "");
}

Json& entry_of(Json& devices, const Json& result) {
  for (Json& entry : devices)
    if (same_device(entry, result)) return entry;
  Json entry = Json::object();
  for (const char* key : kDeviceKeys) entry[key] = result.value(key, "");
  if (result.contains("shareID")) entry["shareID"] = result["shareID"];
  devices.push_back(std::move(entry));
  return devices.back();
}

// Adds the condition unless it is already True; returns whether that changed anything.
bool set_true(Json& entry, const std::string& type, const char* reason, WallTime now) {
  Json& list = entry["conditions"];
  if (!list.is_array()) list = Json::array();
  for (const Json& condition : list)
    if (condition.value("type", "") == type && condition.value("status", "") == "True") return false;
  std::erase_if(list.get_ref<Json::array_t&>(), [&](const Json& c) { return c.value("type", "") == type; });
  list.push_back({{"type", type},
                  {"status", "True"},
                  {"reason", reason},
                  {"message", "simulated driver of dra-sandbox"},
                  {"lastTransitionTime", format_rfc3339(now)}});
  return true;
}

// True if something changed; sets requeue_after for a delay that has not passed.
bool bind_device(Json& entry, const Json& result, const DriverBehaviour& driver, const Json& claim, WallTime now,
                 Step& step) {
  const Json wanted = result.value("bindingConditions", Json::array());
  if (wanted.empty() || !driver.binding_delay) return false;
  Timestamp since = now;
  parse_rfc3339(text_at(claim, "/status/allocation/allocationTimestamp"), since);
  const Timestamp due = since + *driver.binding_delay;
  if (now < due) {
    step.requeue_in(due - now);
    return false;
  }
  const Json failures = result.value("bindingFailureConditions", Json::array());
  if (driver.failing_devices.contains(result.value("device", "")))
    return !failures.empty() && set_true(entry, failures.front().get<std::string>(), "BindingFailed", now);
  bool changed = false;
  for (const Json& type : wanted) changed |= set_true(entry, type.get<std::string>(), "Bound", now);
  return changed;
}

}  // namespace

Step driver_pass(const Json& claim, const DriverBehaviours& drivers, WallTime now) {
  Step step;
  if (drivers.empty() || !text_at(claim, "/metadata/deletionTimestamp").empty()) return step;
  Json devices = claim.value("/status/devices"_json_pointer, Json::array());
  bool changed = false;
  for (const Json& result : claim.value("/status/allocation/devices/results"_json_pointer, Json::array())) {
    const auto driver = drivers.find(result.value("driver", ""));
    if (driver == drivers.end() || !driver->second.reports_status()) continue;
    Json before = devices;
    Json& entry = entry_of(devices, result);
    bool wrote = bind_device(entry, result, driver->second, claim, now, step);
    for (const std::string& type : driver->second.conditions) wrote |= set_true(entry, type, "Prepared", now);
    if (!wrote) devices = std::move(before);
    changed |= wrote;
  }
  if (!changed) return step;
  step.calls.push_back({"PATCH",
                        "/apis/resource.k8s.io/v1/namespaces/" + text_at(claim, "/metadata/namespace") +
                            "/resourceclaims/" + text_at(claim, "/metadata/name") + "/status",
                        Json{{"metadata",
                              {{"uid", text_at(claim, "/metadata/uid")},
                               {"resourceVersion", text_at(claim, "/metadata/resourceVersion")}}},
                             {"status", {{"devices", devices}}}}
                            .dump()});
  return step;
}

Json resources_health(const Json& pod, const Json& container, const ClaimLookup& claims,
                      const DriverBehaviours& drivers) {
  Json out = Json::array();
  if (drivers.empty()) return out;
  for (const Json& used : container.value("/resources/claims"_json_pointer, Json::array())) {
    const std::string entry = used.value("name", ""), request = used.value("request", "");
    std::string name;
    for (const char* list : {"/spec/resourceClaims", "/status/resourceClaimStatuses"})
      for (const Json& e : pod.value(Json::json_pointer(list), Json::array()))
        if (e.value("name", "") == entry && e.contains("resourceClaimName")) name = e["resourceClaimName"];
    const Json* claim = name.empty() ? nullptr : claims(text_at(pod, "/metadata/namespace"), name);
    if (claim == nullptr) continue;
    Json resources = Json::array();
    for (const Json& result : claim->value("/status/allocation/devices/results"_json_pointer, Json::array())) {
      const std::string of = result.value("request", "");
      if (!request.empty() && of != request && !of.starts_with(request + "/")) continue;
      const auto driver = drivers.find(result.value("driver", ""));
      if (driver == drivers.end()) continue;
      const auto health = driver->second.health.find(result.value("device", ""));
      if (health == driver->second.health.end()) continue;
      resources.push_back({{"resourceID", result.value("driver", "") + "/" + result.value("pool", "") + "/" +
                                              result.value("device", "")},
                           {"health", health->second}});
    }
    if (resources.empty()) continue;
    out.push_back({{"name", "claim:" + entry + (request.empty() ? "" : "/" + request)}, {"resources", resources}});
  }
  return out;
}

}  // namespace dra::sandbox
