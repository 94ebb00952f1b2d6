#include "pkg/apiserver/rest/pod_log.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

// The name of the pod's claim; empty if it is not known yet, or if none is needed.
std::string claim_behind(const Json& pod, const std::string& entry_name) {
  for (const Json& entry : list_of(member(pod, "spec"), "resourceClaims"))
    if (text_of(entry, "name") == entry_name && is_set(entry, "resourceClaimName"))
      return text_of(entry, "resourceClaimName");
  for (const Json& status : list_of(member(pod, "status"), "resourceClaimStatuses"))
    if (text_of(status, "name") == entry_name) return text_of(status, "resourceClaimName");
  return "";
}

// The devices that the claim holds for one request, or for all of them if `request` is empty. A result of
// firstAvailable names "request/alternative".
void add_devices(std::vector<std::string>& out, const ObjectReader& reader, const Json& pod, const std::string& claim,
                 const std::string& request) {
  const auto object =
      reader.find("resource.k8s.io", "resourceclaims", text_of(member(pod, "metadata"), "namespace"), claim);
  if (object == nullptr) return;
  for (const Json& result : list_of(member_at(*object, "status.allocation.devices"), "results")) {
    const std::string& of = text_of(result, "request");
    if (!request.empty() && of != request && !of.starts_with(request + "/")) continue;
    std::string text = text_of(result, "driver") + "/" + text_of(result, "pool") + "/" + text_of(result, "device") +
                       " (claim " + claim + ", request " + of;
    for (const auto& [name, amount] : map_of(result, "consumedCapacity").items())
      text += ", " + name + " " + as_text(amount);
    out.push_back(text + ")");
  }
}

const Json* find_container(const Json& pod, const std::string& name, std::vector<std::string>& names) {
  const Json& spec = member(pod, "spec");
  const Json* found = nullptr;
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Json& container : list_of(spec, list)) {
      if (text_of(container, "name") == name) found = &container;
      if (std::string_view(list) == "containers") names.push_back(text_of(container, "name"));
    }
  }
  if (found == nullptr && name.empty() && names.size() == 1) return &list_of(spec, "containers").front();
  return found;
}

bool has_started(const Json& pod) {
  const std::string& phase = text_of(member(pod, "status"), "phase");
  return phase == "Running" || phase == "Succeeded" || phase == "Failed";
}

}  // namespace

std::string container_line(const ObjectReader& reader, const Json& pod, const Json& container) {
  std::vector<std::string> devices;
  for (const Json& claim : list_of(member(container, "resources"), "claims"))
    add_devices(devices, reader, pod, claim_behind(pod, text_of(claim, "name")), text_of(claim, "request"));
  const Json& extended = member_at(pod, "status.extendedResourceClaimStatus");
  for (const Json& mapping : list_of(extended, "requestMappings"))
    if (text_of(mapping, "containerName") == text_of(container, "name"))
      add_devices(devices, reader, pod, text_of(extended, "resourceClaimName"), text_of(mapping, "requestName"));
  const Json& meta = member(pod, "metadata");
  return "simulated container " + quote(text_of(container, "name")) + " of pod " + text_of(meta, "namespace") + "/" +
         text_of(meta, "name") + " on node " + text_of(member(pod, "spec"), "nodeName") + " sees " +
         (devices.empty() ? "no devices" : join(devices, ", "));
}

void pod_log(const Env& env, const CallPtr& call) {
  const std::string& name = call->path.name;
  const StoredPtr stored = env.store.get(call->table(), call->key(name));
  if (!stored) return send_status(*call, not_found({"", "pods"}, name));
  const auto pod = stored->document();
  const std::string wanted = call->query.get("container");
  std::vector<std::string> names;
  const Json* container = find_container(*pod, wanted, names);
  if (container == nullptr && wanted.empty())
    return send_status(*call, bad_request("a container name must be specified for pod " + name + ", choose one of: [" +
                                          join(names, " ") + "]"));
  if (container == nullptr)
    return send_status(*call, bad_request("container " + wanted + " is not valid for pod " + name));
  const std::string text = text_of(*container, "name");
  // A pod without a node has no log yet: the real server also answers with an empty text.
  if (text_of(member(*pod, "spec"), "nodeName").empty()) return send_text(*call, 200, "text/plain", "");
  if (!has_started(*pod))
    return send_status(*call, bad_request("container " + quote(text) + " in pod " + quote(name) +
                                          " is waiting to start: ContainerCreating"));
  send_text(*call, 200, "text/plain", container_line(env.reader, *pod, *container) + "\n");
}

}  // namespace dra::apiserver
