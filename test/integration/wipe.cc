#include "test/integration/wipe.h"

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace dra::integration {
namespace {

void expect_ok(const std::string& what, const Answer& answer, int also_fine = 200) {
  if (!answer.ok() && answer.status != also_fine)
    throw std::runtime_error(what + ": " + std::to_string(answer.status) + " " + answer.body);
}

std::string object_path(const std::string& kind, const Json& object) {
  return Api::path(kind, object["metadata"]["name"], object["metadata"].value("namespace", ""));
}

void wipe_kind(Api& api, const std::string& kind) {
  std::set<std::string> namespaces;
  for (const Json& object : api.list(kind)) {
    namespaces.insert(object["metadata"].value("namespace", ""));
    if (object["metadata"].contains("finalizers"))
      expect_ok("finalizers",
                api.call("PATCH", object_path(kind, object), R"({"metadata":{"finalizers":null}})",
                         "application/merge-patch+json"),
                404);
  }
  for (const std::string& ns : namespaces)
    expect_ok("delete all " + kind, api.call("DELETE", Api::path(kind, "", ns), R"({"gracePeriodSeconds":0})"));
}

// Objects of these collections whose names begin with ours.
void wipe_ours(Api& api, const std::string& collection) {
  const Answer answer = api.call("GET", collection);
  expect_ok(collection, answer);
  const Json list = answer.json();
  for (const Json& object : list.at("items")) {
    const std::string name = object["metadata"]["name"];
    if (name.starts_with("dra-controller-manager")) expect_ok(name, api.call("DELETE", collection + "/" + name), 404);
  }
}

}  // namespace

void wipe(Api& api) {
  // First what makes others.
  for (const char* kind :
       {"ReplicaSet", "Pod", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "Node", "Event"})
    wipe_kind(api, kind);
  if (api.exists(Api::path("DeviceTaintRule"))) wipe_kind(api, "DeviceTaintRule");
  // All except the API server's own.
  for (const Json& lease : api.list("Lease"))
    if (!lease["metadata"]["name"].get<std::string>().starts_with("apiserver-"))
      api.remove(object_path("Lease", lease));
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
  for (const std::string& collection :
       {rbac + "/clusterrolebindings", rbac + "/clusterroles", rbac + "/namespaces/dra-controller-manager/rolebindings",
        rbac + "/namespaces/dra-controller-manager/roles",
        std::string("/api/v1/namespaces/dra-controller-manager/serviceaccounts")})
    wipe_ours(api, collection);
  api.merge(Api::path("Namespace", "default"),
            {{"metadata", {{"labels", {{"resource.kubernetes.io/admin-access", nullptr}}}}}});
}

}  // namespace dra::integration
