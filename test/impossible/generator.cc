#include "test/impossible/generator.h"

#include "test/integration/objects.h"

namespace dra::impossible {

namespace {

constexpr const char* kPast = "2023-11-14T20:13:00Z";
constexpr const char* kFinalizer = "resource.kubernetes.io/delete-protection";

std::string uid_of(const std::string& ns, const std::string& name) {
  return ns + "-" + name + "-uid";
}

}  // namespace

Json Generator::metadata(const std::string& ns, const std::string& name) {
  Json made{{"name", name}, {"uid", uid_of(ns, name)}, {"creationTimestamp", kPast}};
  if (!ns.empty()) made["namespace"] = ns;
  if (one_in(20)) made["creationTimestamp"] = pick({"yesterday", "", "9999-99-99T99:99:99Z"});
  if (one_in(8)) made["deletionTimestamp"] = pick({kPast, "soon"});
  return made;
}

Json Generator::owners(const std::string& ns) {
  Json list = Json::array();
  for (uint64_t i = 0; i < 1 + random_.below(2); ++i) {
    const std::string pod = pick({"p0", "p1", "p2", "gone"});
    list.push_back({{"apiVersion", pick({"v1", "v1", "v1", "v2"})},
                    {"kind", pick({"Pod", "Pod", "Pod", "ReplicaSet", ""})},
                    {"name", pod},
                    {"uid", pick({uid_of(ns, pod), uid_of(ns, pod), "former-uid", ""})},
                    {"controller", !one_in(5)}});
  }
  return list;
}

Json Generator::tolerations() {
  Json list = Json::array();
  for (uint64_t i = 0; i < random_.below(3); ++i) {
    Json one{{"key", pick({"broken", "", "other"})}, {"operator", pick({"Exists", "Equal", "Like", ""})}};
    if (one_in(2)) one["effect"] = pick({"NoExecute", "NoSchedule", "", "NoBreathing"});
    if (one_in(2)) one["value"] = pick({"yes", ""});
    if (one_in(2)) one["tolerationSeconds"] = static_cast<int64_t>(random_.below(200)) - 20;
    if (one_in(10)) one["tolerationSeconds"] = INT64_MAX;
    list.push_back(std::move(one));
  }
  return list;
}

Json Generator::request() {
  Json exactly{{"deviceClassName", pick({"gpu", "gpu", "gpu", "unknown", "broken-class", ""})}};
  if (one_in(2)) exactly["count"] = std::vector<int64_t>{1, 2, 0, -1, 33, INT64_MAX}[random_.below(6)];
  if (one_in(3)) exactly["allocationMode"] = pick({"ExactCount", "All", "Some"});
  if (one_in(3))
    exactly["selectors"] = {{{"cel",
                              {{"expression", pick({"true", "device.attributes['gpu.example.com'].index < 2", "1 + ",
                                                    "device.nonsense", "", "device.attributes['x'].y == 1"})}}}}};
  if (one_in(5)) exactly["selectors"] = {Json::object()};
  if (one_in(6)) exactly["adminAccess"] = true;
  if (one_in(3)) exactly["tolerations"] = tolerations();
  if (one_in(6)) exactly["capacity"]["requests"] = {{"memory", pick({"1Gi", "lots", "-1"})}};
  Json made{{"name", pick({"gpu", "gpu", "other", ""})}};
  if (!one_in(6)) made["exactly"] = exactly;
  if (one_in(6)) {
    exactly["name"] = "sub";
    made["firstAvailable"] = {exactly};
  }
  return made;
}

Json Generator::requests() {
  Json list = Json::array();
  for (uint64_t i = 0; i < random_.below(3); ++i) list.push_back(request());
  if (one_in(3)) list = {{{"name", "gpu"}, {"exactly", {{"deviceClassName", "gpu"}, {"count", 1}}}}};
  return list;
}

Json Generator::allocation() {
  Json results = Json::array();
  for (uint64_t i = 0; i < random_.below(3); ++i) {
    Json one{{"request", pick({"gpu", "gpu/sub", "unknown", ""})},
             {"driver", pick({integration::kDriver, integration::kDriver, "other.example.com", ""})},
             {"pool", pick({"n0", "n1", "no-such-pool"})},
             {"device", pick({"gpu-0", "gpu-1", "gpu-9", ""})}};
    if (one_in(5)) one["adminAccess"] = true;
    if (one_in(6)) one["shareID"] = pick({"", "not-a-uuid"});
    if (one_in(6)) one["consumedCapacity"] = {{"memory", pick({"1Gi", "plenty"})}};
    if (one_in(3)) one["tolerations"] = tolerations();
    if (one_in(8)) one["bindingConditions"] = {"ready"};
    results.push_back(std::move(one));
  }
  Json made{{"devices", {{"results", results}}}};
  if (one_in(2)) made["allocationTimestamp"] = pick({kPast, "never"});
  if (one_in(4)) made["nodeSelector"] = {{"nodeSelectorTerms", Json::array()}};
  if (one_in(3))
    made["nodeSelector"] = {{"nodeSelectorTerms",
                             {{{"matchFields",
                                {{{"key", pick({"metadata.name", "metadata.shoe"})},
                                  {"operator", pick({"In", "In", "Near"})},
                                  {"values", {pick({"n0", "n1", "nowhere"})}}}}}}}}};
  return made;
}

Json Generator::consumers(const std::string& ns) {
  Json list = Json::array();
  for (uint64_t i = 0; i < random_.below(4); ++i) {
    const std::string name = pick({"p0", "p1", "p2", "gone"});
    Json one{{"resource", pick({"pods", "pods", "pods", "foos", ""})},
             {"name", name},
             {"uid", pick({uid_of(ns, name), uid_of(ns, name), "former-uid", ""})}};
    if (one_in(5)) one["apiGroup"] = pick({"foo.example.com", "scheduling.k8s.io"});
    list.push_back(std::move(one));
  }
  if (one_in(40)) {
    for (int i = 0; i < 256; ++i)
      list.push_back({{"resource", "foos"}, {"apiGroup", "x.io"}, {"name", "n"}, {"uid", std::to_string(i)}});
  }
  return list;
}

Json Generator::claim(const std::string& ns, const std::string& name) {
  Json meta = metadata(ns, name);
  if (one_in(2)) meta["ownerReferences"] = owners(ns);
  if (one_in(2)) meta["finalizers"] = {kFinalizer};
  if (one_in(8)) meta["finalizers"] = {"example.com/other", kFinalizer, kFinalizer};
  if (one_in(2)) meta["annotations"]["resource.kubernetes.io/pod-claim-name"] = pick({"e0", "e1", "none"});
  if (one_in(4)) meta["annotations"]["dra-controller-manager/proven"] = pick({"", "/", "p0-uid/0000000000000000"});
  if (one_in(6)) meta["annotations"]["resource.kubernetes.io/extended-resource-claim"] = "true";
  if (!one_in(4))
    meta["managedFields"] = {
        {{"manager", pick({"kube-scheduler", "dra-controller-manager-allocation", "dra-controller-manager"})},
         {"operation", "Update"},
         {"subresource", "status"},
         {"apiVersion", "resource.k8s.io/v1"},
         {"fieldsType", "FieldsV1"},
         {"fieldsV1", {{"f:status", {{"f:allocation", Json::object()}}}}}}};
  Json made{{"metadata", meta}, {"spec", {{"devices", {{"requests", requests()}}}}}};
  if (one_in(10)) made["spec"] = Json::object();
  Json status = Json::object();
  if (one_in(2)) status["allocation"] = allocation();
  if (one_in(2)) status["reservedFor"] = consumers(ns);
  if (!status.empty()) made["status"] = status;
  return made;
}

Json Generator::pod(const std::string& ns, const std::string& name) {
  Json made = integration::pod(name, {});
  made.erase("apiVersion");
  made.erase("kind");
  made["metadata"] = metadata(ns, name);
  made["spec"] = {{"schedulingGates", nullptr}};
  Json entries = Json::array(), statuses = Json::array();
  for (uint64_t i = 0; i < random_.below(3); ++i) {
    const std::string entry = pick({"e0", "e1", "e2"});
    Json one{{"name", entry}};
    if (one_in(2)) one["resourceClaimName"] = pick({"c0", "c1", "c2", "missing"});
    if (one_in(2)) one["resourceClaimTemplateName"] = pick({"t0", "t1", "missing"});
    entries.push_back(std::move(one));
    if (one_in(2)) continue;
    Json status{{"name", pick({entry, entry, "nobody"})}};
    if (!one_in(4)) status["resourceClaimName"] = pick({"c0", "c1", "c2", "missing"});
    statuses.push_back(std::move(status));
  }
  if (!entries.empty()) made["spec"]["resourceClaims"] = entries;
  if (!statuses.empty()) made["status"]["resourceClaimStatuses"] = statuses;
  if (one_in(5)) made["status"]["extendedResourceClaimStatus"] = {{"resourceClaimName", pick({"c0", "missing", ""})}};
  Json gates = Json::array();
  if (!one_in(3)) gates.push_back({{"name", integration::kGate}});
  if (one_in(6)) gates.push_back({{"name", "example.com/other"}});
  if (one_in(10)) gates.push_back({{"name", integration::kGate}});
  if (!gates.empty()) made["spec"]["schedulingGates"] = gates;
  if (one_in(3)) made["spec"]["nodeName"] = pick({"n0", "n1", "nowhere"});
  if (one_in(4)) made["spec"]["schedulerName"] = pick({"default-scheduler", "ours", ""});
  made["status"]["phase"] = pick({"Pending", "Pending", "Pending", "Running", "Succeeded", "Failed", "Confused", ""});
  if (one_in(10)) made["spec"]["affinity"]["nodeAffinity"] = Json::object();
  if (one_in(12)) made["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "nowhere"}};
  return made;
}

Json Generator::slice(const std::string& name) {
  const std::string node = pick({"n0", "n1", "n9"});
  Json made = integration::slice(node, random_.below(4));
  made.erase("apiVersion");
  made.erase("kind");
  made["metadata"] = metadata("", name);
  made["metadata"].erase("deletionTimestamp");
  Json& spec = made["spec"];
  if (one_in(3)) spec["pool"]["generation"] = std::vector<int64_t>{0, 1, -5, INT64_MAX}[random_.below(4)];
  if (one_in(3)) spec["pool"]["resourceSliceCount"] = std::vector<int64_t>{0, 2, -1, INT64_MAX}[random_.below(4)];
  if (one_in(5)) spec["allNodes"] = true;
  if (one_in(5)) spec.erase("nodeName");
  for (Json& device : spec["devices"]) {
    if (one_in(3))
      device["taints"] = {{{"key", pick({"broken", ""})},
                           {"effect", pick({"NoExecute", "NoExecute", "NoSchedule", "NoBreathing", ""})},
                           {"timeAdded", pick({kPast, "2023-11-14T22:13:25Z", "then", ""})}}};
    if (one_in(6)) device["name"] = pick({"gpu-0", "", "GPU 0"});
    if (one_in(8)) device["consumesCounters"] = {{{"counterSet", "none"}, {"counters", {{"c", {{"value", "1"}}}}}}};
    if (one_in(8)) device["capacity"]["memory"]["value"] = pick({"1Gi", "vast"});
    if (one_in(8)) device["allowMultipleAllocations"] = true;
  }
  return made;
}

std::vector<Document> Generator::shared() {
  std::vector<Document> all;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "odd-slice-" + std::to_string(i);
    all.push_back({"resource.k8s.io/resourceslices", name, slice(name)});
  }
  all.push_back({"resource.k8s.io/deviceclasses",
                 "broken-class",
                 {{"metadata", metadata("", "broken-class")},
                  {"spec", {{"selectors", {{{"cel", {{"expression", "device.driver =="}}}}}}}}}});
  return all;
}

std::vector<Document> Generator::group(const std::string& ns) {
  std::vector<Document> all;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "c" + std::to_string(i);
    if (!one_in(4)) all.push_back({"resource.k8s.io/resourceclaims", ns + "/" + name, claim(ns, name)});
  }
  for (int i = 0; i < 2; ++i) {
    const std::string name = "t" + std::to_string(i);
    Json made{{"metadata", metadata(ns, name)}, {"spec", {{"spec", {{"devices", {{"requests", requests()}}}}}}}};
    if (one_in(6)) made["spec"] = Json::object();
    all.push_back({"resource.k8s.io/resourceclaimtemplates", ns + "/" + name, std::move(made)});
  }
  for (int i = 0; i < 3; ++i) {
    const std::string name = "p" + std::to_string(i);
    all.push_back({"/pods", ns + "/" + name, pod(ns, name)});
  }
  return all;
}

}  // namespace dra::impossible
