// What the manager needs from an API server, checked with the embedded one and, if KUBEBUILDER_ASSETS names a folder
// with etcd and kube-apiserver, with a real one (docs/real-cluster.md).
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/informer/informer.h"
#include "client/rest/status.h"
#include "client/writer/writer.h"
#include "pkg/api/decode/decode_protobuf.h"
#include "pkg/base/timestamp.h"
#include "pkg/manager/watch/discovery.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/integration/cluster.h"
#include "test/integration/real_control_plane.h"

namespace dra::integration::real_test {

using namespace std::chrono_literals;

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

// A missing program, one that ends, one that never answers.
class Start : public testing::Test {
 protected:
  Start() {
    std::string pattern = (std::filesystem::temp_directory_path() / "dra-assets-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Start() override { std::filesystem::remove_all(folder_); }

  void program(const std::string& name, const std::string& script) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << "#!/bin/sh\necho $$ > " << path << ".pid\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  bool runs(const std::string& name) {
    pid_t pid = 0;
    std::ifstream(folder_ + "/" + name + ".pid") >> pid;
    EXPECT_GT(pid, 0) << name << " was never started";
    return pid > 0 && ::kill(pid, 0) == 0;
  }
  std::string failure(Duration patience) {
    const auto plane = RealControlPlane::start(folder_, patience);
    return plane ? "" : plane.error().message();
  }

  std::string folder_;
};

TEST_F(Start, AMissingProgramIsNamed) {
  EXPECT_EQ(failure(1s), "KUBEBUILDER_ASSETS names \"" + folder_ +
                             "\", which has no executable \"etcd\": put etcd and kube-apiserver of one release there");
  program("etcd", "exec sleep 60");
  EXPECT_NE(failure(1s).find("has no executable \"kube-apiserver\""), std::string::npos);
}

TEST_F(Start, AProgramThatEndsIsQuotedAndTheOtherIsStopped) {
  program("etcd", "exec sleep 60");
  // Not before the other program has written its process id.
  program("kube-apiserver", "until [ -s " + folder_ + "/etcd.pid ]; do sleep 0.01; done\n" +
                                "echo unknown flag: --secure-port >&2; exit 3");
  const std::string why = failure(30s);
  EXPECT_NE(why.find("kube-apiserver ended with exit code 3: unknown flag: --secure-port"), std::string::npos) << why;
  EXPECT_FALSE(runs("etcd"));
}

TEST_F(Start, AServerThatNeverAnswersIsGivenUp) {
  program("etcd", "exec sleep 60");
  program("kube-apiserver", "echo still thinking; exec sleep 60");
  std::string why = failure(500ms);
  // On a busy machine the programs may still be starting.
  for (int patience = 1; patience <= 16 && why.find("still thinking") == std::string::npos; patience *= 4)
    why = failure(std::chrono::seconds(patience));
  EXPECT_NE(why.find("was not ready in time"), std::string::npos) << why;
  EXPECT_NE(why.find("still thinking"), std::string::npos) << why;
  EXPECT_FALSE(runs("etcd"));
  EXPECT_FALSE(runs("kube-apiserver"));
}

enum class Kind { kEmbedded, kReal };

class Server : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (GetParam() == Kind::kEmbedded) {
      plane_ = std::make_unique<SimControlPlane>();
    } else {
      const std::string folder = real_programs();
      if (folder.empty()) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set";
      auto started = RealControlPlane::start(folder, 60s);
      ASSERT_TRUE(started) << started.error().message();
      plane_ = std::move(*started);
    }
    api_ = std::make_unique<Api>(*plane_, plane_->transport());
    client_ = std::make_unique<client::RestClient>(plane_->transport());
    writer_ = std::make_unique<client::Writer>(plane_->reactor(), *client_);
  }
  void TearDown() override {
    writer_.reset();
    client_.reset();
    api_.reset();
    plane_.reset();
  }

  static client::Resource claims() { return {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true}; }
  // A patch of claim "c" in the reconcilers' form, through the writer that performs theirs.
  Result<client::Written> patch(const std::string& subresource, const Json& body, const Json& at,
                                const std::string& uid = "") {
    client::WriteRequest write;
    write.object = {claims(), "default", "c", subresource};
    const Json& metadata = at["metadata"];
    const std::string pinned = uid.empty() ? metadata["uid"].get<std::string>() : uid;
    Json pinned_body = body;
    pinned_body["metadata"]["uid"] = pinned;
    pinned_body["metadata"]["resourceVersion"] = metadata["resourceVersion"];
    write.body = pinned_body.dump();
    write.field_manager = subresource.empty() ? protocol::kFieldManager : protocol::kAllocationManager;
    std::optional<Result<client::Written>> result;
    writer_->perform(write, [&](Result<client::Written> answer) { result = std::move(answer); });
    plane_->run_until([&] { return result.has_value(); }, 30s);
    return result.value_or(fail(Code::kInternal, "no answer"));
  }
  static std::string outcome(const Result<client::Written>& answer) {
    return answer ? "ok" : std::string(code_name(answer.error().code()));
  }
  Json allocated_on_n0(const Json& pod) {
    const std::string now = format_rfc3339(plane_->reactor().clock().wall_now());
    return {{"status",
             {{"allocation", allocation("n0", {"gpu-0"}, now)}, {"reservedFor", Json::array({pod_reference(pod)})}}}};
  }

  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<client::RestClient> client_;
  std::unique_ptr<client::Writer> writer_;
};

TEST_P(Server, ServesTheGroupAndTheStatusOfClaims) {
  const auto version = manager::choose_dra_version(api_->get("/apis/resource.k8s.io").dump());
  ASSERT_TRUE(version) << version.error().message();
  EXPECT_EQ(*version, "v1");
  std::set<std::string> served;
  const Json list = api_->get("/apis/resource.k8s.io/v1");
  for (const Json& resource : list["resources"]) served.insert(resource["name"].get<std::string>());
  for (const char* name :
       {"deviceclasses", "resourceclaims", "resourceclaims/status", "resourceclaimtemplates", "resourceslices"})
    EXPECT_TRUE(served.contains(name)) << name;
}

TEST_P(Server, TakesAnAllocationOnceAndSaysWhoWroteIt) {
  api_->create(device_class());
  const Json pod_made = api_->create(pod("p", {from_claim("gpu", "c")}));
  const Json fresh = api_->create(claim("c"));
  EXPECT_EQ(outcome(patch("status", allocated_on_n0(pod_made), fresh, "another-uid")), "NotFound");
  const Result<client::Written> written = patch("status", allocated_on_n0(pod_made), fresh);
  ASSERT_TRUE(written) << written.error().message();
  const Json allocated = Json::parse(written->object);
  EXPECT_EQ(allocated["status"]["allocation"]["devices"]["results"][0]["device"], "gpu-0");

  // The owner of the field shows that it is ours.
  const auto owns_allocation = [](const Json& field) {
    return field.value("subresource", "") == "status" && field["fieldsV1"].contains("f:status") &&
           field["fieldsV1"]["f:status"].contains("f:allocation");
  };
  std::set<std::string> owners;
  for (const Json& field : allocated["metadata"]["managedFields"])
    if (owns_allocation(field)) owners.insert(field["manager"].get<std::string>());
  EXPECT_EQ(owners, std::set<std::string>{std::string(protocol::kAllocationManager)});

  // A rival that read before that write, and one that read after it.
  EXPECT_EQ(outcome(patch("status", allocated_on_n0(pod_made), fresh)), "Conflict");
  Json other = allocated_on_n0(pod_made);
  other["status"]["allocation"]["devices"]["results"][0]["device"] = "gpu-1";
  EXPECT_EQ(outcome(patch("status", other, allocated)), "Conflict");

  // The proof: finalizer and annotation in one write, at exactly that version.
  const Json proof{{"metadata",
                    {{"finalizers", {std::string(api::kDeleteProtectionFinalizer)}},
                     {"annotations", {{std::string(protocol::kProofAnnotation), "x"}}}}}};
  EXPECT_EQ(outcome(patch("", proof, fresh)), "Conflict");
  EXPECT_EQ(outcome(patch("", proof, allocated)), "ok");
}

TEST_P(Server, StreamsAListAndWhatComesAfterIt) {
  api_->create(claim("before"));
  SeededRandom random(1);
  client::ReflectorOptions options;
  options.resource = claims();
  client::Informer<api::ResourceClaim> informer(plane_->reactor(), plane_->transport(), random, options);
  informer.start();
  ASSERT_TRUE(plane_->run_until([&] { return informer.synced(); }, 30s));
  EXPECT_TRUE(informer.store().get("default/before"));
  api_->create(claim("after"));
  EXPECT_TRUE(plane_->run_until([&] { return informer.store().get("default/after") != nullptr; }, 30s));
}

// Objects in which as many as possible of the fields that we read are set.
Json full_pod() {
  return Json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "full", "namespace": "default", "labels": {"app": "x", "empty": ""},
      "annotations": {"dra-controller-manager/group": "g", "other": "o"}, "finalizers": ["example.com/f"],
      "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "u", "controller": true}]},
    "spec": {"schedulerName": "none", "restartPolicy": "Never", "nodeSelector": {"zone": "a"},
      "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 77,
      "schedulingGates": [{"name": "example.com/gate"}],
      "affinity": {
        "nodeAffinity": {
          "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}, {"key": "b", "operator": "Exists"}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}]},
          "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 3, "preference": {"matchExpressions": [{"key": "c", "operator": "Gt", "values": ["3"]}]}}]},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
          {"labelSelector": {"matchLabels": {"app": "x"}}, "namespaceSelector": {}, "topologyKey": "zone"}]},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
          {"weight": 5, "podAffinityTerm": {"namespaces": ["default"], "topologyKey": "host",
            "labelSelector": {"matchExpressions": [{"key": "k", "operator": "NotIn", "values": ["v"]}]}}}]}},
      "topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 2, "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor", "labelSelector": {},
        "matchLabelKeys": ["app"]}],
      "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
      "overhead": null,
      "volumes": [{"name": "pvc", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
          "resources": {"requests": {"storage": "1Gi"}}}}}},
        {"name": "disk", "rbd": {"monitors": ["m1", "m2"], "image": "i", "pool": "p", "readOnly": true}},
        {"name": "empty", "emptyDir": {}}],
      "resourceClaims": [{"name": "a", "resourceClaimName": "claim"}, {"name": "b", "resourceClaimTemplateName": "t"}],
      "resources": {"requests": {"cpu": "1500m", "memory": "2Gi"}},
      "initContainers": [{"name": "side", "image": "s", "restartPolicy": "Always"}],
      "containers": [{"name": "main", "image": "i:1",
        "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "127.0.0.1"}, {"containerPort": 81}],
        "resources": {"requests": {"cpu": "0.5", "memory": "1G"}, "limits": {"memory": "1G", "example.com/x": "2"},
          "claims": [{"name": "a", "request": "gpu"}]}}]}})");
}

Json full_pod_status() {
  return Json::parse(R"({"status": {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: full <&>",
    "nominatedNodeName": "n0",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "m",
      "lastTransitionTime": "2026-01-02T03:04:05Z", "lastProbeTime": null}],
    "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "full-b"}],
    "containerStatuses": [{"name": "main", "image": "i:1", "imageID": "", "ready": false, "restartCount": 0,
      "resources": {"requests": {"cpu": "250m"}}, "allocatedResources": {"cpu": "250m"},
      "allocatedResourcesStatus": [{"name": "claim:a/gpu", "resources": [
        {"resourceID": "d/p/gpu-0", "health": "Unhealthy", "message": "hot"}]}]}]}})");
}

Json full_node() {
  return Json::parse(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "full", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true,
      "taints": [{"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2026-01-02T03:04:05Z"}]}})");
}

Json full_node_status() {
  return Json::parse(R"({"status": {"capacity": {"cpu": "8", "memory": "32Gi"}, "allocatable": {"cpu": "7900m"},
    "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}],
    "images": [{"names": ["registry/x:1", "registry/x@sha256:1"], "sizeBytes": 123456789012}]}})");
}

Json full_slice() {
  return Json::parse(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "full"},
    "spec": {"driver": "d.example.com", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 1},
      "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]},
      "devices": [{"name": "d0",
        "attributes": {"s": {"string": ""}, "b": {"bool": false}, "i": {"int": 0}, "v": {"version": "1.2.3-rc.1"},
          "example.com/q": {"string": "\u00e4 <b>"}},
        "capacity": {"mem": {"value": "80Gi"}},
        "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"}]}]}})");
}

Json full_claim() {
  return Json::parse(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "full", "namespace": "default",
      "annotations": {"resource.kubernetes.io/pod-claim-name": "a", "dra-controller-manager/proven": "p"}},
    "spec": {"devices": {
      "requests": [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 2, "allocationMode": "ExactCount",
          "selectors": [{"cel": {"expression": "device.driver == \"d\" && 1 < 2"}}],
          "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 9}]}},
        {"name": "two", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}, {"name": "y", "deviceClassName": "h"}]}],
      "constraints": [{"requests": ["gpu"], "matchAttribute": "example.com/q"}],
      "config": [{"requests": ["gpu"], "opaque": {"driver": "d.example.com",
        "parameters": {"z": 1, "a": [1.50, 12345678901234567890, "<&>", null], "deep": {"x": {}}}}}]}}})");
}

template <class T>
std::string differences(const Answer& json, const Answer& protobuf) {
  const auto a = api::decode_list<T>(json.body);
  const auto b = api::decode_protobuf_list<T>(protobuf.body);
  if (!a || !b) return !a ? a.error().message() : b.error().message();
  if (a->items.empty() || a->items.size() != b->items.size()) return "not the same number of objects";
  for (size_t i = 0; i < a->items.size(); ++i)
    if (!(a->items[i] == b->items[i])) return a->items[i].metadata.key() + " differs";
  return a->metadata.resource_version == b->metadata.resource_version ? "" : "the revisions differ";
}

TEST_P(Server, SaysTheSameInBothEncodings) {
  const auto merge_status = [&](const Json& made, const Json& status) {
    api_->merge(Api::path(made["kind"], made["metadata"]["name"]) + "/status", status);
  };
  merge_status(api_->create(full_pod()), full_pod_status());
  merge_status(api_->create(full_node()), full_node_status());
  api_->create(full_slice());
  merge_status(api_->create(full_claim()), allocated_on_n0(api_->get(Api::path("Pod", "full"))));

  const auto compare = [&](const std::string& kind, auto differences_of) {
    const std::string path = Api::path(kind);
    EXPECT_EQ(differences_of(api_->call("GET", path), api_->call("GET", path, "", "", kProtobuf)), "") << kind;
  };
  compare("Pod", differences<api::Pod>);
  compare("Node", differences<api::Node>);
  compare("ResourceClaim", differences<api::ResourceClaim>);
  compare("ResourceSlice", differences<api::ResourceSlice>);

  // And a watch of each stays in protobuf.
  SeededRandom random(1);
  client::ReflectorOptions options;
  options.resource = claims();
  client::Informer<api::ResourceClaim> informer(plane_->reactor(), plane_->transport(), random, options);
  informer.start();
  ASSERT_TRUE(plane_->run_until([&] { return informer.synced(); }, 30s));
  api_->create(claim("after"));
  ASSERT_TRUE(plane_->run_until([&] { return informer.store().get("default/after") != nullptr; }, 30s));
  EXPECT_TRUE(informer.reflector().protobuf());
  const std::string list = Api::path("ResourceClaim");
  const auto expected = api::decode_list<api::ResourceClaim>(api_->call("GET", list).body);
  for (const api::ResourceClaim& one : expected->items)
    EXPECT_EQ(*informer.store().get(one.metadata.key()), one) << one.metadata.key();
  // A revision that the server cannot know: the refusal is also in protobuf.
  const Answer refused = api_->call("GET", list + "?resourceVersion=x", "", "", kProtobuf);
  client::Response response;
  response.status = refused.status;
  response.body = refused.body;
  const Error error = client::error_from_response(response, "list");
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_NE(error.message().find("resourceVersion"), std::string::npos) << error.message();
}

TEST_P(Server, LetsTheManagerTakeAGatedPodToItsNode) {
  api_->create(device_class());
  api_->create(claim_template("one-gpu"));
  api_->create(node("n0"));
  api_->create(slice("n0", 2));
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  Process manager(plane_->reactor(), plane_->transport(), process);
  manager.start();
  ASSERT_TRUE(plane_->run_until([&] { return manager.manager().leading(); }, 30s));
  api_->create(pod("p", {from_template("gpu", "one-gpu")}));
  Json ungated;
  for (int i = 0; i < 300 && ungated.is_null(); ++i) {
    plane_->pass(100ms);
    const Json now = api_->get(Api::path("Pod", "p"));
    if (!now["spec"].contains("schedulingGates")) ungated = now;
  }
  ASSERT_FALSE(ungated.is_null()) << "the gate was not lifted within 30 s";
  const std::string affinity = ungated["spec"]["affinity"].dump();
  EXPECT_NE(affinity.find(R"("metadata.name","operator":"In","values":["n0"])"), std::string::npos) << affinity;
  const std::vector<Json> made = api_->list("ResourceClaim");
  ASSERT_EQ(made.size(), 1u);
  EXPECT_TRUE(made[0]["metadata"]["annotations"].contains(std::string(protocol::kProofAnnotation)));
  EXPECT_EQ(made[0]["status"]["reservedFor"][0]["uid"], ungated["metadata"]["uid"]);
}

INSTANTIATE_TEST_SUITE_P(Embedded, Server, testing::Values(Kind::kEmbedded), [](const auto&) { return "Server"; });
INSTANTIATE_TEST_SUITE_P(Real, Server, testing::Values(Kind::kReal), [](const auto&) { return "Server"; });

}  // namespace dra::integration::real_test
