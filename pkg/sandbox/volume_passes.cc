#include "pkg/sandbox/volume_passes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/api/quantity.h"
#include "pkg/base/strings.h"

namespace dra::sandbox {
namespace {

constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr const char* kClaimProtection = "kubernetes.io/pvc-protection";
constexpr const char* kVolumeProtection = "kubernetes.io/pv-protection";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHostname = "kubernetes.io/hostname";
const char* const kVolumesPath = "/api/v1/persistentvolumes";

std::string claim_path(const Json& claim) {
  return "/api/v1/namespaces/" + text_at(claim, "/metadata/namespace") + "/persistentvolumeclaims/" +
         text_at(claim, "/metadata/name");
}

std::string volume_path(const Json& volume) {
  return std::string(kVolumesPath) + "/" + text_at(volume, "/metadata/name");
}

Json read(const Json& object, const char* pointer, Json fallback) {
  return object.value(Json::json_pointer(pointer), std::move(fallback));
}

std::string annotation(const Json& object, const char* name) {
  return read(object, "/metadata/annotations", Json::object()).value(name, "");
}

bool going(const Json& object) {
  return !text_at(object, "/metadata/deletionTimestamp").empty();
}

// Changes only this version of the object: a volume is never bound twice.
ApiCall patch(const std::string& path, const Json& object, Json body) {
  body["metadata"]["uid"] = text_at(object, "/metadata/uid");
  body["metadata"]["resourceVersion"] = text_at(object, "/metadata/resourceVersion");
  return {"PATCH", path, body.dump()};
}

// Patches /status, which has another version by then.
ApiCall patch_status(const std::string& path, const Json& object, Json status) {
  return {"PATCH", path + "/status",
          Json{{"metadata", {{"uid", text_at(object, "/metadata/uid")}}}, {"status", std::move(status)}}.dump()};
}

// The finalizers without this one; null if it is not present.
Json without_finalizer(const Json& object, const char* name) {
  Json all = read(object, "/metadata/finalizers", Json::array());
  const auto found = std::find(all.begin(), all.end(), Json(name));
  if (found == all.end()) return nullptr;
  all.erase(found);
  return all;
}

bool refers_to(const Json& volume, const Json& claim) {
  return text_at(volume, "/spec/claimRef/namespace") == text_at(claim, "/metadata/namespace") &&
         text_at(volume, "/spec/claimRef/name") == text_at(claim, "/metadata/name") &&
         text_at(volume, "/spec/claimRef/uid", "") == text_at(claim, "/metadata/uid");
}

// A user reserved the volume for the claim by its name.
bool reserved_for(const Json& volume, const Json& claim) {
  return text_at(volume, "/spec/claimRef/uid").empty() &&
         text_at(volume, "/spec/claimRef/namespace") == text_at(claim, "/metadata/namespace") &&
         text_at(volume, "/spec/claimRef/name") == text_at(claim, "/metadata/name");
}

api::Quantity amount_at(const Json& object, const char* pointer) {
  auto q = api::Quantity::parse(text_at(object, pointer, "0"));
  return q ? *q : api::Quantity();
}

bool labels_match(const Json& selector, const Json& labels) {
  const Json wanted = selector.value("matchLabels", Json::object());  // outlives the loop over its items
  for (const auto& [key, value] : wanted.items())
    if (labels.value(key, Json()) != value) return false;
  return true;
}

bool fits(const Json& volume, const Json& claim) {
  if (volume.contains("/spec/claimRef"_json_pointer) || going(volume)) return false;
  if (text_at(volume, "/spec/storageClassName") != text_at(claim, "/spec/storageClassName")) return false;
  if (text_at(volume, "/spec/volumeMode", "Filesystem") != text_at(claim, "/spec/volumeMode", "Filesystem"))
    return false;
  if (amount_at(volume, "/spec/capacity/storage").compare(amount_at(claim, "/spec/resources/requests/storage")) < 0)
    return false;
  const Json offered = read(volume, "/spec/accessModes", Json::array());
  for (const Json& mode : read(claim, "/spec/accessModes", Json::array()))
    if (std::find(offered.begin(), offered.end(), mode) == offered.end()) return false;
  return labels_match(read(claim, "/spec/selector", Json::object()), read(volume, "/metadata/labels", Json::object()));
}

Json claim_reference(const Json& claim) {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"namespace", text_at(claim, "/metadata/namespace")},
          {"name", text_at(claim, "/metadata/name")},
          {"uid", text_at(claim, "/metadata/uid")},
          {"resourceVersion", text_at(claim, "/metadata/resourceVersion")}};
}

// Binds the claim's side, unless that is done; volume_pass() binds the volume's side.
void bind(const Json& claim, const Json& volume, Step& step) {
  const std::string name = text_at(volume, "/metadata/name");
  const std::string path = claim_path(claim);
  if (text_at(claim, "/spec/volumeName") != name || annotation(claim, kBindCompleted).empty()) {
    Json annotations{{kBindCompleted, "yes"}};
    if (text_at(claim, "/spec/volumeName").empty()) annotations[kBoundByController] = "yes";
    step.calls.push_back(
        patch(path, claim, {{"metadata", {{"annotations", annotations}}}, {"spec", {{"volumeName", name}}}}));
    return;  // its answer enqueues the next pass
  }
  const Json status{{"phase", "Bound"},
                    {"accessModes", read(volume, "/spec/accessModes", Json::array())},
                    {"capacity", read(volume, "/spec/capacity", Json::object())}};
  if (text_at(claim, "/status/phase") != "Bound") step.calls.push_back(patch_status(path, claim, status));
}

ApiCall take(const Json& volume, const Json& claim) {
  Json body{{"spec", {{"claimRef", claim_reference(claim)}}}};
  if (!volume.contains("/spec/claimRef"_json_pointer)) body["metadata"]["annotations"] = {{kBoundByController, "yes"}};
  return patch(volume_path(volume), volume, std::move(body));
}

const Json* smallest_fitting(const Json& claim, const std::vector<const Json*>& volumes) {
  const Json* best = nullptr;
  const auto size = [](const Json* v) { return amount_at(*v, "/spec/capacity/storage"); };
  for (const Json* v : volumes)
    if (fits(*v, claim) && (best == nullptr || size(v).compare(size(best)) < 0)) best = v;
  return best;
}

// From where the volume can be used: the node's zone, or else the node.
Json affinity_of(const Json* node) {
  if (node == nullptr) return nullptr;
  const Json labels = read(*node, "/metadata/labels", Json::object());
  for (const char* key : {kZone, kHostname}) {
    const std::string value = labels.value(key, "");
    if (value.empty()) continue;
    Json expression{{"key", key}, {"operator", "In"}, {"values", {value}}};
    Json terms = Json::array({{{"matchExpressions", Json::array({std::move(expression)})}}});
    return {{"required", {{"nodeSelectorTerms", std::move(terms)}}}};
  }
  return nullptr;
}

void provision(const Json& claim, const Json& storage_class, const VolumeView& view, Step& step) {
  const std::string provisioner = text_at(storage_class, "/provisioner");
  const std::string node = annotation(claim, kSelectedNode);
  const bool waits = text_at(storage_class, "/volumeBindingMode") == "WaitForFirstConsumer";
  const Json parameters = read(storage_class, "/parameters", Json::object());
  if (provisioner == kNoProvisioner || (waits && node.empty()) || parameters.contains(kSilentParameter)) return;
  const std::string refused = parameters.value(kRefusesParameter, "");
  if (waits && (refused == "*" || refused == node)) {
    step.calls.push_back(
        patch(claim_path(claim), claim, {{"metadata", {{"annotations", {{kSelectedNode, nullptr}}}}}}));
    return;
  }
  const std::string name = "pvc-" + text_at(claim, "/metadata/uid");
  if (view.volume(name) != nullptr) return;  // another writer's claimRef is on it: nothing to do
  Json spec{{"capacity", {{"storage", text_at(claim, "/spec/resources/requests/storage")}}},
            {"accessModes", read(claim, "/spec/accessModes", Json::array())},
            {"storageClassName", text_at(storage_class, "/metadata/name")},
            {"volumeMode", text_at(claim, "/spec/volumeMode", "Filesystem")},
            {"persistentVolumeReclaimPolicy", text_at(storage_class, "/reclaimPolicy", "Delete")},
            {"claimRef", claim_reference(claim)},
            {"csi", {{"driver", provisioner}, {"volumeHandle", name}}}};
  const Json affinity = waits ? affinity_of(view.node(node)) : Json();
  if (!affinity.is_null()) spec["nodeAffinity"] = affinity;
  const Json volume{{"apiVersion", "v1"},
                    {"kind", "PersistentVolume"},
                    {"metadata", {{"name", name}, {"annotations", {{kProvisionedBy, provisioner}}}}},
                    {"spec", std::move(spec)}};
  step.calls.push_back({"POST", kVolumesPath, volume.dump()});
}

bool in_use(const std::vector<const Json*>& pods) {
  return std::any_of(pods.begin(), pods.end(), [](const Json* pod) {
    const std::string phase = text_at(*pod, "/status/phase");
    return phase != "Succeeded" && phase != "Failed";
  });
}

// The attach/detach controller's name for it: equal for the same volume and node.
std::string attachment_name(const std::string& volume, const std::string& node) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : volume + "^" + node) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  static const char* kHex = "0123456789abcdef";
  std::string out = "csi-";
  for (int shift = 60; shift >= 0; shift -= 4) out += kHex[(hash >> shift) & 15];
  return out;
}

// The volume of a bound claim of the pod; nullptr if it has none.
const Json* bound_volume(const std::string& key, const VolumeView& view) {
  const Json* claim = view.claim(key);
  if (claim == nullptr || text_at(*claim, "/status/phase") != "Bound") return nullptr;
  return view.volume(text_at(*claim, "/spec/volumeName"));
}

}  // namespace

std::vector<std::string> volume_claims_of(const Json& pod) {
  std::vector<std::string> keys;
  const std::string ns = text_at(pod, "/metadata/namespace") + "/";
  for (const Json& volume : read(pod, "/spec/volumes", Json::array())) {
    if (volume.contains("persistentVolumeClaim"))
      keys.push_back(ns + volume["persistentVolumeClaim"].value("claimName", ""));
    else if (volume.contains("ephemeral"))
      keys.push_back(ns + text_at(pod, "/metadata/name") + "-" + volume.value("name", ""));
  }
  return keys;
}

Step volume_claim_pass(const Json& claim, const VolumeView& view) {
  Step step;
  if (going(claim)) {
    const Json left = without_finalizer(claim, kClaimProtection);
    if (!left.is_null() && !in_use(view.pods_of_claim(object_key(claim))))
      step.calls.push_back(patch(claim_path(claim), claim, {{"metadata", {{"finalizers", left}}}}));
    return step;
  }
  const std::string bound_to = text_at(claim, "/spec/volumeName");
  if (!bound_to.empty()) {
    const Json* volume = view.volume(bound_to);
    if (volume == nullptr) {
      if (!annotation(claim, kBindCompleted).empty() && text_at(claim, "/status/phase") != "Lost")
        step.calls.push_back(patch_status(claim_path(claim), claim, {{"phase", "Lost"}}));
    } else if (refers_to(*volume, claim)) {
      bind(claim, *volume, step);
    } else if (!volume->contains("/spec/claimRef"_json_pointer) || reserved_for(*volume, claim)) {
      step.calls.push_back(take(*volume, claim));
    }
    return step;
  }
  const std::vector<const Json*> volumes = view.volumes();
  for (const Json* v : volumes) {
    if (refers_to(*v, claim)) return bind(claim, *v, step), step;
  }
  for (const Json* v : volumes) {
    if (!reserved_for(*v, claim)) continue;
    step.calls.push_back(take(*v, claim));
    return step;
  }
  const std::string class_name = text_at(claim, "/spec/storageClassName");
  const Json* storage_class = class_name.empty() ? nullptr : view.storage_class(class_name);
  const bool waits =
      storage_class != nullptr && text_at(*storage_class, "/volumeBindingMode") == "WaitForFirstConsumer";
  if (!waits) {
    if (const Json* v = smallest_fitting(claim, volumes)) {
      step.calls.push_back(take(*v, claim));
      return step;
    }
  }
  if (storage_class != nullptr) provision(claim, *storage_class, view, step);
  return step;
}

Step volume_pass(const Json& volume, const VolumeView& view) {
  Step step;
  const std::string uid = text_at(volume, "/spec/claimRef/uid");
  const std::string key = text_at(volume, "/spec/claimRef/namespace") + "/" + text_at(volume, "/spec/claimRef/name");
  const Json* claim = uid.empty() ? nullptr : view.claim(key);
  const bool bound = claim != nullptr && text_at(*claim, "/metadata/uid") == uid;
  if (going(volume)) {
    const Json left = without_finalizer(volume, kVolumeProtection);
    if (!bound && !left.is_null())
      step.calls.push_back(patch(volume_path(volume), volume, {{"metadata", {{"finalizers", left}}}}));
    return step;
  }
  const char* phase = uid.empty() ? "Available" : bound ? "Bound" : "Released";
  if (!uid.empty() && !bound && text_at(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete") {
    const Json options{{"preconditions", {{"uid", text_at(volume, "/metadata/uid")}}}};
    step.calls.push_back({"DELETE", volume_path(volume), options.dump()});
  } else if (text_at(volume, "/status/phase") != phase) {
    step.calls.push_back(patch_status(volume_path(volume), volume, {{"phase", phase}}));
  }
  return step;
}

Step attach_pass(const Json& pod, const VolumeView& view) {
  Step step;
  const std::string node = text_at(pod, "/spec/nodeName");
  if (node.empty() || going(pod) || !in_use({&pod})) return step;
  for (const std::string& key : volume_claims_of(pod)) {
    const Json* volume = bound_volume(key, view);
    if (volume == nullptr || !volume->contains("/spec/csi"_json_pointer)) continue;
    const std::string volume_name = text_at(*volume, "/metadata/name");
    const std::string name = attachment_name(volume_name, node);
    const Json* attachment = view.attachment(name);
    if (attachment == nullptr) {
      const Json made{{"apiVersion", "storage.k8s.io/v1"},
                      {"kind", "VolumeAttachment"},
                      {"metadata", {{"name", name}}},
                      {"spec",
                       {{"attacher", text_at(*volume, "/spec/csi/driver")},
                        {"nodeName", node},
                        {"source", {{"persistentVolumeName", volume_name}}}}}};
      step.calls.push_back({"POST", "/apis/storage.k8s.io/v1/volumeattachments", made.dump()});
    } else if (!read(*attachment, "/status/attached", false).get<bool>()) {
      step.calls.push_back(
          patch_status("/apis/storage.k8s.io/v1/volumeattachments/" + name, *attachment, {{"attached", true}}));
    }
  }
  return step;
}

Step attachment_pass(const Json& attachment, const VolumeView& view) {
  Step step;
  const std::string node = text_at(attachment, "/spec/nodeName");
  const Json* volume = view.volume(text_at(attachment, "/spec/source/persistentVolumeName"));
  if (volume != nullptr) {
    const std::string key =
        text_at(*volume, "/spec/claimRef/namespace") + "/" + text_at(*volume, "/spec/claimRef/name");
    for (const Json* pod : view.pods_of_claim(key))
      if (text_at(*pod, "/spec/nodeName") == node && in_use({pod})) return step;
  }
  const Json options{{"preconditions", {{"uid", text_at(attachment, "/metadata/uid")}}}};
  step.calls.push_back(
      {"DELETE", "/apis/storage.k8s.io/v1/volumeattachments/" + text_at(attachment, "/metadata/name"), options.dump()});
  return step;
}

Step ephemeral_pass(const Json& pod, const VolumeView& view) {
  Step step;
  if (going(pod) || !in_use({&pod})) return step;
  for (const Json& volume : read(pod, "/spec/volumes", Json::array())) {
    if (!volume.contains("ephemeral")) continue;
    const std::string name = text_at(pod, "/metadata/name") + "-" + volume.value("name", "");
    if (view.claim(text_at(pod, "/metadata/namespace") + "/" + name) != nullptr) continue;
    const Json claim_template = read(volume, "/ephemeral/volumeClaimTemplate", Json::object());
    Json metadata = claim_template.value("metadata", Json::object());
    metadata["name"] = name;
    metadata["ownerReferences"] = {{{"apiVersion", "v1"},
                                    {"kind", "Pod"},
                                    {"name", text_at(pod, "/metadata/name")},
                                    {"uid", text_at(pod, "/metadata/uid")},
                                    {"controller", true},
                                    {"blockOwnerDeletion", true}}};
    const Json claim{{"apiVersion", "v1"},
                     {"kind", "PersistentVolumeClaim"},
                     {"metadata", metadata},
                     {"spec", claim_template.value("spec", Json::object())}};
    step.calls.push_back({"POST",
                          "/api/v1/namespaces/" + text_at(pod, "/metadata/namespace") + "/persistentvolumeclaims",
                          claim.dump()});
  }
  return step;
}

bool volumes_ready(const Json& pod, const VolumeView& view) {
  const std::string node = text_at(pod, "/spec/nodeName");
  for (const std::string& key : volume_claims_of(pod)) {
    const Json* volume = bound_volume(key, view);
    if (volume == nullptr) return false;
    if (!volume->contains("/spec/csi"_json_pointer)) continue;
    const Json* attachment = view.attachment(attachment_name(text_at(*volume, "/metadata/name"), node));
    if (attachment == nullptr || !read(*attachment, "/status/attached", false).get<bool>()) return false;
  }
  return true;
}

}  // namespace dra::sandbox
