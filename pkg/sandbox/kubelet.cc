#include "pkg/sandbox/kubelet.h"

#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/sandbox/driver.h"
#include "pkg/sandbox/run_time.h"

namespace dra::sandbox {
namespace {

std::string pod_path(const Json& pod) {
  return "/api/v1/namespaces/" + text_at(pod, "/metadata/namespace") + "/pods/" + text_at(pod, "/metadata/name");
}

// The name of the claim behind one entry of spec.resourceClaims; empty if it is not known yet. `generated`: made from a
// template.
std::string claim_name(const Json& pod, const Json& entry, bool& generated) {
  generated = !entry.contains("resourceClaimName");
  if (!generated) return entry["resourceClaimName"].get<std::string>();
  for (const Json& status : pod.value("/status/resourceClaimStatuses"_json_pointer, Json::array())) {
    if (status.value("name", "") == entry.value("name", "?")) return status.value("resourceClaimName", "");
  }
  return "";
}

// An entry whose status has no claim name needs no claim.
bool needs_no_claim(const Json& pod, const Json& entry) {
  for (const Json& status : pod.value("/status/resourceClaimStatuses"_json_pointer, Json::array())) {
    if (status.value("name", "") == entry.value("name", "?")) return !status.contains("resourceClaimName");
  }
  return false;
}

bool usable(const Json* claim, const Json& pod, bool generated) {
  const std::string uid = text_at(pod, "/metadata/uid");
  if (claim == nullptr || !claim->contains("/status/allocation"_json_pointer)) return false;
  if (generated && !controlled_by(*claim, uid)) return false;
  for (const Json& consumer : claim->value("/status/reservedFor"_json_pointer, Json::array())) {
    if (consumer.value("uid", "") == uid) return true;
  }
  return false;
}

bool claims_ready(const Json& pod, const ClaimLookup& claims) {
  const std::string ns = text_at(pod, "/metadata/namespace");
  for (const Json& entry : pod.value("/spec/resourceClaims"_json_pointer, Json::array())) {
    bool generated = false;
    const std::string name = claim_name(pod, entry, generated);
    if (name.empty()) {
      if (needs_no_claim(pod, entry)) continue;
      return false;
    }
    if (!usable(claims(ns, name), pod, generated)) return false;
  }
  const std::string extended = text_at(pod, "/status/extendedResourceClaimStatus/resourceClaimName");
  return extended.empty() || usable(claims(ns, extended), pod, true);
}

// The pod's conditions with these set to `status`; other conditions, such as PodScheduled, are kept.
Json conditions(const Json& pod, std::initializer_list<const char*> types, const char* status,
                const std::string& reason, WallTime now) {
  Json list = pod.value("/status/conditions"_json_pointer, Json::array());
  for (const char* type : types) {
    Json condition = {{"type", type}, {"status", status}, {"lastTransitionTime", format_rfc3339(now)}};
    if (!reason.empty()) condition["reason"] = reason;
    bool found = false;
    for (Json& old : list) {
      if (old.value("type", "") != type) continue;
      if (old.value("status", "") != status) old = condition;
      found = true;
    }
    if (!found) list.push_back(condition);
  }
  return list;
}

// An address in the range that RFC 2544 reserves for benchmarks, spread by uid. Two pods may get the same one: nothing
// listens there.
std::string pod_ip(const Json& pod) {
  uint32_t hash = 2166136261U;
  for (const char c : text_at(pod, "/metadata/uid")) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return "198." + std::to_string(18 + (hash >> 24) % 2) + "." + std::to_string((hash >> 8) & 0xff) + "." +
         std::to_string(1 + (hash & 0xff) % 254);
}

Json container_statuses(const Json& pod, const char* list, bool ready, const Json& state) {
  Json statuses = Json::array();
  for (const Json& container : pod.value("/spec"_json_pointer, Json::object()).value(list, Json::array())) {
    statuses.push_back({{"name", container.value("name", "")},
                        {"image", container.value("image", "")},
                        {"imageID", ""},
                        {"ready", ready},
                        {"started", ready},
                        {"restartCount", 0},
                        {"state", state}});
  }
  return statuses;
}

ApiCall patch_status(const Json& pod, Json status) {
  return {"PATCH", pod_path(pod) + "/status",
          Json{{"metadata", {{"uid", text_at(pod, "/metadata/uid")}}}, {"status", std::move(status)}}.dump()};
}

ApiCall start(const Json& pod, const ClaimLookup& claims, const DriverBehaviours& drivers, WallTime now) {
  const std::string ip = pod_ip(pod);
  const std::string at = format_rfc3339(now);
  Json status = {
      {"phase", "Running"},
      {"startTime", at},
      {"hostIP", "198.18.0.1"},
      {"hostIPs", {{{"ip", "198.18.0.1"}}}},
      {"podIP", ip},
      {"podIPs", {{{"ip", ip}}}},
      {"conditions",
       conditions(pod, {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"}, "True",
                  "", now)},
      {"containerStatuses", container_statuses(pod, "containers", true, {{"running", {{"startedAt", at}}}})}};
  Json init = container_statuses(
      pod, "initContainers", true,
      {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}, {"startedAt", at}, {"finishedAt", at}}}});
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  const Json containers = pod.value("/spec/containers"_json_pointer, Json::array());
  for (size_t i = 0; i < containers.size(); ++i) {
    Json health = resources_health(pod, containers[i], claims, drivers);
    if (!health.empty()) status["containerStatuses"][i]["allocatedResourcesStatus"] = std::move(health);
  }
  return patch_status(pod, std::move(status));
}

ApiCall finish(const Json& pod, int64_t exit_code, WallTime now) {
  const bool succeeded = exit_code == 0;
  const Json state = {{"terminated",
                       {{"exitCode", exit_code},
                        {"reason", succeeded ? "Completed" : "Error"},
                        {"startedAt", text_at(pod, "/status/startTime", format_rfc3339(now))},
                        {"finishedAt", format_rfc3339(now)}}}};
  return patch_status(pod, {{"phase", succeeded ? "Succeeded" : "Failed"},
                            {"conditions", conditions(pod, {"Ready", "ContainersReady"}, "False",
                                                      succeeded ? "PodCompleted" : "PodFailed", now)},
                            {"containerStatuses", container_statuses(pod, "containers", false, state)}});
}

// A number in an annotation; the fallback if it is absent or not a number from 0 to a day's seconds.
int64_t annotated(const Json& pod, std::string_view annotation, int64_t fallback) {
  const Json annotations = pod.value("/metadata/annotations"_json_pointer, Json::object());
  const std::string text = annotations.value(std::string(annotation), "");
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos) return fallback;
  return std::stoll(text);
}

void run_on(const Json& pod, WallTime now, Step& step) {
  if (text_at(pod, "/spec/restartPolicy", "Always") == "Always") return;
  Timestamp started = now;
  parse_rfc3339(text_at(pod, "/status/startTime"), started);
  const std::optional<int64_t> seconds = run_seconds(pod);
  const int64_t asked = annotated(pod, kRunSecondsAnnotation, -1);
  if (asked < 0 && !seconds) return;  // runs until it is deleted, or the annotation is added
  const Timestamp end = started.plus_seconds(asked >= 0 ? asked : *seconds);
  if (now < end)
    step.requeue_in(end - now);
  else
    step.calls.push_back(finish(pod, annotated(pod, kExitCodeAnnotation, 0), now));
}

}  // namespace

Step kubelet_pass(const Json& pod, const ClaimLookup& claims, WallTime now, const DriverBehaviours& drivers,
                  bool volumes_mounted) {
  Step step;
  if (text_at(pod, "/spec/nodeName").empty()) return step;
  if (!text_at(pod, "/metadata/deletionTimestamp").empty()) {
    // The containers are simulated and stop at once: the object may be deleted.
    const Json options = {{"gracePeriodSeconds", 0}, {"preconditions", {{"uid", text_at(pod, "/metadata/uid")}}}};
    step.calls.push_back({"DELETE", pod_path(pod), options.dump()});
    return step;
  }
  const std::string phase = text_at(pod, "/status/phase", "Pending");
  if (phase == "Pending") {
    if (volumes_mounted && claims_ready(pod, claims)) step.calls.push_back(start(pod, claims, drivers, now));
  } else if (phase == "Running") {
    run_on(pod, now, step);
  }
  return step;
}

Json node_status(std::string_view node_name, WallTime now) {
  const std::string at = format_rfc3339(now);
  const auto condition = [&](const char* type, const char* status, const char* reason, const char* message) {
    return Json{{"type", type},       {"status", status},        {"reason", reason},
                {"message", message}, {"lastHeartbeatTime", at}, {"lastTransitionTime", at}};
  };
  return {{"conditions",
           {condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "simulated"),
            condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "simulated"),
            condition("PIDPressure", "False", "KubeletHasSufficientPID", "simulated"),
            condition("Ready", "True", "KubeletReady", "simulated kubelet of dra-sandbox")}},
          {"addresses",
           {{{"type", "Hostname"}, {"address", node_name}}, {{"type", "InternalIP"}, {"address", "198.18.0.1"}}}},
          {"nodeInfo",
           {{"kubeletVersion", "v1.36.2"},
            {"kubeProxyVersion", ""},
            {"osImage", "dra-sandbox (simulated)"},
            {"kernelVersion", "simulated"},
            {"containerRuntimeVersion", "simulated://0"},
            {"operatingSystem", "linux"},
            {"architecture", "amd64"},
            {"machineID", ""},
            {"systemUUID", ""},
            {"bootID", ""}}}};
}

}  // namespace dra::sandbox
