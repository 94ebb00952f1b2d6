#include "pkg/api/decode/decode.h"

#include <gmock/gmock.h>
#include <malloc.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "pkg/api/claim_bounds.h"
#include "pkg/api/decode/wire_value.h"
#include "pkg/api/pod_bounds.h"
#include "pkg/api/scheduling.h"
#include "pkg/api/selectors.h"
#include "pkg/api/storage.h"

namespace dra::api::decode_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Decode, APodThatItsKubeletRefused) {
  const auto refusal = [](const std::string& status) {
    Result<Pod> pod = decode<Pod>(R"({"metadata": {"name": "p"}, "status": )" + status + "}");
    return pod ? pod->refusal : KubeletRefusal{"cannot be read", ""};
  };
  EXPECT_EQ(refusal(R"({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node did not have"})"),
            (KubeletRefusal{"OutOfcpu", "Pod was rejected: Node did not have"}));
  EXPECT_EQ(refusal(R"({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."})"),
            std::nullopt);
  EXPECT_EQ(refusal(R"({"phase": "Running", "reason": "OutOfcpu", "message": "Pod was rejected: "})"), std::nullopt);
  EXPECT_EQ(refusal(R"({"phase": "Failed"})"), std::nullopt);
  EXPECT_EQ(refusal(R"({"phase": "Failed", "reason": 1})"), (KubeletRefusal{"cannot be read", ""}));
}

TEST(Decode, AJobsPodReplacementPolicy) {
  Result<Job> job = decode<Job>(
      R"({"metadata": {"name": "j", "namespace": "ns", "uid": "u"}, "spec": {"podReplacementPolicy": "Failed"}})");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->metadata.key(), "ns/j");
  EXPECT_EQ(job->pod_replacement_policy, "Failed");
  EXPECT_EQ(job->backoff_limit, 6);
  EXPECT_FALSE(job->ignores_disruption);
}

TEST(Decode, WhetherAJobCountsDisruptedPods) {
  const auto job = [](const std::string& rules) {
    return decode<Job>(R"({"metadata": {"name": "j"}, "spec": {"backoffLimit": 2, "podFailurePolicy": {"rules": [)" +
                       rules + R"(]}}, "status": {"failed": 1}})");
  };
  const std::string exit = R"({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}})";
  const auto on = [](const std::string& type, const std::string& action, const std::string& status) {
    return R"({"action": ")" + action + R"(", "onPodConditions": [{"type": ")" + type + R"(", "status": ")" + status +
           R"("}]})";
  };
  const Result<Job> ignoring =
      job(exit + "," + on("ConfigIssue", "FailJob", "True") + "," + on("DisruptionTarget", "Ignore", "True"));
  ASSERT_TRUE(ignoring);
  EXPECT_TRUE(ignoring->ignores_disruption);
  EXPECT_EQ(ignoring->backoff_limit, 2);
  EXPECT_EQ(ignoring->failed, 1);
  EXPECT_FALSE(job(exit)->ignores_disruption);
  EXPECT_FALSE(job(on("DisruptionTarget", "Ignore", "False"))->ignores_disruption);
  EXPECT_FALSE(job(on("DisruptionTarget", "FailJob", "True") + "," + on("DisruptionTarget", "Ignore", "True"))
                   ->ignores_disruption)
      << "the first rule that matches decides";
}

TEST(Decode, OfDevicesHealthPodKeepsWhatIsUnhealthyOfItsOwnEntries) {
  const auto status = [](const std::string& name, const std::string& resources) {
    return R"({"name": "c", "allocatedResourcesStatus": [{"name": ")" + name + R"(", "resources": [)" + resources +
           "]}]}";
  };
  const auto pod = [](const std::string& statuses) {
    return decode<Pod>(R"({"metadata": {"name": "p"}, "spec": {"resourceClaims": [{"name": "gpu"}]},
                           "status": {"containerStatuses": [)" +
                       statuses + "]}}");
  };
  const std::string sick = R"({"resourceID": "d/p/x", "health": "Unhealthy", "message": "XID 79"})";
  // Two containers with one device; a healthy one; entries of no claim and of a device plugin.
  const auto read = pod(status("claim:gpu/main", sick) + "," + status("claim:gpu/main", sick) + "," +
                        status("claim:gpu", R"({"resourceID": "d/p/y", "health": "Healthy"}, null)") + "," +
                        status("claim:other", sick) + "," + status("example.com/gpu", sick));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_THAT(read->unhealthy_devices, ElementsAre(UnhealthyDevice{"gpu", "main", "d/p/x", "XID 79"}));

  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"health": "Unhealthy", "resourceID": ")" + std::to_string(i) +
            std::string(5000, 'x') + R"("})";
  const auto absurd = pod(status("claim:gpu", many));
  ASSERT_TRUE(absurd);
  EXPECT_THAT(absurd->unhealthy_devices, SizeIs(kMaxUnhealthyDevices));
  EXPECT_THAT(absurd->unhealthy_devices[0].id, SizeIs(kMaxHealthText));
}

// 2,000 terms took 1.2 MB of memory, for a pod that is refused because of them.
TEST(Decode, OfAPodWithTooManyRulesOnlyTheirNumberIsKept) {
  const auto pod = [](size_t terms) {
    std::string list = R"({"operator": "Exists"})";
    for (size_t i = 1; i < terms; ++i) list += R"(,{"operator": "Exists"})";
    return decode<Pod>(R"({"metadata": {"name": "p", "namespace": "ns"},
      "spec": {"nodeSelector": {"a": "b"}, "tolerations": [)" +
                       list + "]}}");
  };
  constexpr size_t kMost = kMaxSchedulingParts / kPartsOfAnEntry - 1;
  const Result<Pod> kept = pod(kMost);
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->tolerations, SizeIs(kMost));
  EXPECT_TRUE(check_bounds(*kept));
  const Result<Pod> dropped = pod(kMost + 1);
  ASSERT_TRUE(dropped);
  EXPECT_THAT(dropped->tolerations, SizeIs(0));
  EXPECT_THAT(dropped->node_selector, SizeIs(0));
  EXPECT_EQ(scheduling_parts(*dropped), kMaxSchedulingParts + kPartsOfAnEntry);
  ASSERT_FALSE(check_bounds(*dropped));
  EXPECT_THAT(check_bounds(*dropped).error().message(), HasSubstr(R"(pod "ns/p": spec.affinity)"));
}

// 400 pods with 200 KB of labels each took 172 MiB.
TEST(Decode, OfAPodWithTooManyLabelsOnlyTheirNumberIsKept) {
  const auto pod = [](size_t count, size_t bytes) {
    nlohmann::json labels;
    for (size_t i = 0; i < count; ++i) labels["l" + std::to_string(i)] = std::string(bytes, 'v');
    return decode<Pod>(nlohmann::json{{"metadata", {{"name", "p"}, {"labels", labels}}}}.dump());
  };
  const Result<Pod> kept = pod(kMaxLabels, 63);
  ASSERT_TRUE(kept);
  EXPECT_THAT(kept->metadata.labels, SizeIs(kMaxLabels));
  EXPECT_TRUE(check_bounds(*kept));
  for (const auto& [count, bytes] : {std::pair<size_t, size_t>{kMaxLabels + 1, 1}, {10, kMaxLabelBytes / 10}}) {
    const Result<Pod> dropped = pod(count, bytes);
    ASSERT_TRUE(dropped);
    EXPECT_THAT(dropped->metadata.labels, SizeIs(0));
    EXPECT_EQ(dropped->labels_dropped, count);
    ASSERT_FALSE(check_bounds(*dropped));
    EXPECT_THAT(check_bounds(*dropped).error().message(), HasSubstr("metadata.labels has " + std::to_string(count)));
  }
}

Pod pod_of(const nlohmann::json& spec, const std::string& phase = "Pending") {
  const Result<Pod> pod =
      decode<Pod>(nlohmann::json{{"metadata", {{"name", "p"}}}, {"spec", spec}, {"status", {{"phase", phase}}}}.dump());
  EXPECT_TRUE(pod) << pod.error().message();
  return pod ? *pod : Pod{};
}

// What the lists that a user fills take; each of these pods is 250 KB as JSON.
TEST(Decode, OfAPodWithLongListsLittleIsKept) {
  const auto list = [](size_t count, const auto& element) {
    nlohmann::json out = nlohmann::json::array();
    for (size_t i = 0; i < count; ++i) out.push_back(element(std::to_string(i)));
    return out;
  };
  nlohmann::json resources;
  for (int i = 0; i < 10'000; ++i) resources["example.com/" + std::to_string(i)] = "0";
  const nlohmann::json one_container = {{{"name", "c"}}};
  const std::vector<nlohmann::json> specs = {
      {{"containers", list(10'000,
                           [](const std::string& i) -> nlohmann::json {
                             return {{"name", "c" + i}};
                           })}},
      {{"containers", {{{"name", "c"}, {"resources", {{"requests", resources}}}}}}},
      {{"containers", one_container},
       {"volumes", list(5'000,
                        [](const std::string& i) -> nlohmann::json {
                          return {{"name", i}, {"persistentVolumeClaim", {{"claimName", i}}}};
                        })}},
      {{"containers", one_container},
       {"resourceClaims", list(5'000,
                               [](const std::string& i) -> nlohmann::json {
                                 return {{"name", i}, {"resourceClaimTemplateName", "t"}};
                               })}},
      {{"containers", one_container},
       {"resourceClaims", list(5'000,
                               [](const std::string& i) -> nlohmann::json {
                                 return {{"name", i}, {"resourceClaimName", "c"}};
                               })}},
      {{"containers", one_container}, {"schedulingGates", list(20'000, [](const std::string& i) -> nlohmann::json {
                                         return {{"name", i}};
                                       })}}};
  for (const nlohmann::json& spec : specs) {
    for (const bool bound : {false, true}) {
      nlohmann::json one = spec;
      if (bound) one["nodeName"] = "n";
      const Pod pod = pod_of(one);
      EXPECT_GT(pod.bytes_dropped, kMaxListBytes);
      EXPECT_LE(pod.containers.size() + pod.init_containers.size(), bound ? 3u : 0u);
      EXPECT_LE(pod.containers.get().capacity() + pod.init_containers.get().capacity(), 4u);
      EXPECT_LE(pod.volumes.capacity(), kMaxKeptEntries);
      EXPECT_LE(pod.resource_claims.size(), kMaxKeptEntries);
      if (!bound && spec.contains("resourceClaims") && spec["resourceClaims"][0].contains("resourceClaimName")) {
        EXPECT_EQ(pod.resource_claims.size(), kMaxClaimsOfRefused);
      }
      EXPECT_LE(pod.scheduling_gates.capacity(), 2u);
      for (const Container& container : pod.containers) EXPECT_LE(container.requests.size(), kMaxResourceNames);
      ASSERT_FALSE(check_bounds(pod));
      EXPECT_THAT(check_bounds(pod).error().message(), HasSubstr("at most 64 KiB are checked"));
    }
  }
  EXPECT_EQ(
      pod_of({{"containers", {{{"name", "c"}, {"image", std::string(250'000, 'x')}}}}}).containers[0].image.size(),
      kMaxImageText);
}

TEST(Decode, PodKeepsWhatControllersRead) {
  Result<Pod> pod = decode<Pod>(R"({
    "apiVersion": "v1", "kind": "Pod", "unknown": {"deep": [1, {}]},
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"},
      "ownerReferences": [{"apiVersion": "v1", "kind": "Job", "name": "j", "uid": "ju", "controller": true}],
      "managedFields": [{"manager": "m", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:x": {}}},
        {"manager": "m", "operation": "Apply", "subresource": "status",
         "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}},
        {"manager": "m", "operation": "Update", "subresource": "status",
         "fieldsV1": {"f:status": {"f:nominatedNodeName": {}}}}]},
    "spec": {
      "nodeName": "n", "schedulerName": "s", "nodeSelector": {"zone": "z"}, "priority": 5, "priorityClassName": "high",
      "affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
          {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}],
           "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
          {"weight": 3, "preference": {"matchExpressions": [{"key": "q", "operator": "Exists"}]}}]}},
      "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
      "schedulingGates": [{"name": "g"}],
      "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "tpl"}, {"name": "d", "resourceClaimName": "x"}],
      "containers": [{"name": "main", "resources": {"requests": {"cpu": "100m", "memory": 1024},
        "limits": {"cpu": 2}, "claims": [{"name": "c", "request": "r"}]},
        "ports": [{"hostPort": 8080}, {"containerPort": 1}, null]}],
      "initContainers": [{"name": "side", "restartPolicy": "Always"}],
      "overhead": {"cpu": "10m"}, "resources": {"requests": {"cpu": "1"}},
      "terminationGracePeriodSeconds": 0, "activeDeadlineSeconds": 9},
    "status": {"phase": "Running", "nominatedNodeName": "m",
      "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "msg"}],
      "resourceClaimStatuses": [{"name": "c", "resourceClaimName": "p-c-x"}, {"name": "d"}],
      "extendedResourceClaimStatus": {"resourceClaimName": "e",
        "requestMappings": [{"containerName": "main", "resourceName": "x/y", "requestName": "q"}]}}
  })");
  ASSERT_TRUE(pod) << to_string(pod.error());
  EXPECT_EQ(pod->metadata.key(), "ns/p");
  ASSERT_NE(pod->metadata.controller(), nullptr);
  EXPECT_EQ(pod->metadata.controller()->uid, "ju");
  EXPECT_EQ(pod->metadata.managed_fields[0].subresource, "status");
  EXPECT_FALSE(pod->metadata.managed_fields[0].nominates_node);
  EXPECT_TRUE(pod->metadata.managed_fields[1].nominates_node);
  EXPECT_FALSE(pod->metadata.managed_fields[2].nominates_node);
  ASSERT_TRUE(pod->node_affinity && pod->node_affinity->required);
  EXPECT_EQ(pod->node_affinity->required->terms[0].match_fields[0].key, "metadata.name");
  EXPECT_EQ(pod->node_affinity->preferred[0].weight, 3);
  EXPECT_EQ(pod->tolerations[0].toleration_seconds, 30);
  EXPECT_THAT(pod->scheduling_gates, ElementsAre("g"));
  EXPECT_EQ(pod->resource_claims[0].resource_claim_template_name, "tpl");
  EXPECT_EQ(pod->resource_claims[0].resource_claim_name, std::nullopt);
  EXPECT_EQ(pod->containers[0].requests.at("memory"), "1024");
  EXPECT_EQ(pod->containers[0].limits.at("cpu"), "2");
  EXPECT_THAT(pod->containers[0].host_ports, ElementsAre(HostPort{8080, "", ""}));
  EXPECT_EQ(pod->init_containers[0].restart_policy, "Always");
  ASSERT_TRUE(pod->pod_requests);
  EXPECT_EQ(pod->pod_requests->at("cpu"), "1");
  EXPECT_EQ(pod->termination_grace_period_seconds, 0);
  EXPECT_EQ(pod->resource_claim_statuses[1].resource_claim_name, std::nullopt);
  EXPECT_EQ(pod->extended_resource_claim_status->request_mappings[0].request_name, "q");
}

TEST(Decode, SliceAttributesAreAUnion) {
  Result<ResourceSlice> slice = decode<ResourceSlice>(R"({"metadata": {"name": "s"}, "spec": {
    "driver": "d", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2}, "perDeviceNodeSelection": true,
    "devices": [{"name": "x", "nodeName": "n", "bindsToNode": true, "allowMultipleAllocations": true,
      "attributes": {"i": {"int": -4}, "b": {"bool": true}, "s": {"string": ""}, "v": {"version": "1.2.3"},
        "is": {"ints": [1, 2]}, "bs": {"bools": [true, false]}, "ss": {"strings": ["a"]}, "vs": {"versions": ["1.0.0"]},
        "none": {}, "two": {"int": 1, "bool": false}, "new": {"complex": 1}, "nil": null, "nulls": {"int": null, "bool": true}},
      "capacity": {"m": {"value": "80Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": 1}}},
                   "n": {"value": 5, "requestPolicy": {"validValues": ["1", 2]}}},
      "consumesCounters": [{"counterSet": "cs", "counters": {"m": {"value": "1"}}}],
      "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
      "bindingConditions": ["a"], "bindingFailureConditions": ["f"]}]}})");
  ASSERT_TRUE(slice) << to_string(slice.error());
  EXPECT_EQ(slice->pool.generation, 3);
  EXPECT_TRUE(slice->per_device_node_selection);
  ASSERT_THAT(slice->devices, SizeIs(1));
  const Device& device = slice->devices[0];
  EXPECT_EQ(device.attributes.at("i"), DeviceAttribute(int64_t{-4}));
  EXPECT_EQ(device.attributes.at("b"), DeviceAttribute(true));
  EXPECT_EQ(device.attributes.at("s"), DeviceAttribute(std::string()));
  EXPECT_EQ(device.attributes.at("v"), DeviceAttribute(VersionText{"1.2.3"}));
  EXPECT_EQ(device.attributes.at("is"), DeviceAttribute(std::vector<int64_t>{1, 2}));
  EXPECT_EQ(device.attributes.at("bs"), DeviceAttribute(std::vector<bool>{true, false}));
  EXPECT_EQ(device.attributes.at("vs"), DeviceAttribute(std::vector<VersionText>{{"1.0.0"}}));
  for (const char* unusable : {"none", "two", "new", "nil"})
    EXPECT_EQ(device.attributes.at(unusable), DeviceAttribute()) << unusable;
  EXPECT_EQ(device.attributes.at("nulls"), DeviceAttribute(true));
  EXPECT_EQ(device.capacity.at("m").request_policy->valid_range->step, "1");
  EXPECT_EQ(device.capacity.at("n").value, "5");
  EXPECT_THAT(device.capacity.at("n").request_policy->valid_values, ElementsAre("1", "2"));
  EXPECT_EQ(device.consumes_counters[0].counters.at("m"), "1");
}

TEST(Decode, OlderVersionsAreReadAsV1) {
  Result<ResourceSlice> slice = decode<ResourceSlice>(
      R"({"spec": {"devices": [{"name": "x", "basic": {"attributes": {"a": {"int": 1}}, "allowMultipleAllocations": true}}]}})");
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->devices[0].attributes.at("a"), DeviceAttribute(int64_t{1}));
  EXPECT_TRUE(slice->devices[0].allow_multiple_allocations);
  Result<ResourceClaim> claim = decode<ResourceClaim>(R"({"spec": {"devices": {"requests": [
    {"name": "a", "deviceClassName": "c", "count": 2},
    {"name": "b", "deviceClassName": "", "firstAvailable": [{"name": "s", "deviceClassName": "d", "allocationMode": "All"}]}]}}})");
  ASSERT_TRUE(claim) << to_string(claim.error());
  ASSERT_TRUE(claim->spec.requests[0].exactly);
  EXPECT_EQ(claim->spec.requests[0].exactly->count, 2);
  EXPECT_FALSE(claim->spec.requests[1].exactly);
  EXPECT_EQ(claim->spec.requests[1].first_available[0].allocation_mode, "All");
}

TEST(Decode, ClaimWithAllocation) {
  Result<ResourceClaim> claim = decode<ResourceClaim>(R"({"metadata": {"name": "c"}, "spec": {"devices": {
      "requests": [{"name": "r", "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}, {}],
        "capacity": {"requests": {"m": "1Gi"}}, "tolerations": [{"operator": "Exists"}], "adminAccess": true}}],
      "constraints": [{"requests": ["r"], "matchAttribute": "d/a"}, {"distinctAttribute": "d/b"}],
      "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {"x" : [1, 2.50, "é"]}}}]}},
    "status": {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x",
        "shareID": "id", "consumedCapacity": {"m": "1Gi"}, "bindingConditions": ["b"]}],
        "config": [{"source": "FromClass", "opaque": {"driver": "d", "parameters": null}}]},
        "nodeSelector": {"nodeSelectorTerms": [{}]}, "allocationTimestamp": "2026-01-01T00:00:00Z"},
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
      "devices": [{"driver": "d", "pool": "p", "device": "x", "conditions": [{"type": "T", "status": "True"}], "data": {}}]}})");
  ASSERT_TRUE(claim) << to_string(claim.error());
  EXPECT_THAT(claim->spec.requests[0].exactly->selectors, ElementsAre("true", ""));
  EXPECT_EQ(claim->spec.constraints[0].match_attribute, "d/a");
  EXPECT_EQ(claim->spec.config[0].opaque->parameters_json.substr(0, 12), R"({"x":[1,2.5,)");
  ASSERT_TRUE(claim->status.allocation);
  EXPECT_EQ(claim->status.allocation->results[0].share_id, "id");
  EXPECT_THAT(claim->status.allocation->node_selector->terms, SizeIs(1));
  EXPECT_EQ(claim->status.devices[0].conditions[0].type, "T");
}

TEST(Decode, OfConditionsOfDevicesOnlyTheBeginningOfTheirTextIsKept) {
  std::string message(kMaxDeviceConditionText - 1, 'm');
  message += "é and more";
  const nlohmann::json condition = {
      {"type", "T"}, {"status", "False"}, {"reason", std::string(1000, 'r')}, {"message", message}};
  const nlohmann::json text = {
      {"metadata", {{"name", "c"}}},
      {"status", {{"devices", {{{"driver", "d"}, {"pool", "p"}, {"device", "x"}, {"conditions", {condition}}}}}}}};
  Result<ResourceClaim> claim = decode<ResourceClaim>(text.dump());
  ASSERT_TRUE(claim) << to_string(claim.error());
  const Condition& kept = claim->status.devices.at(0).conditions.at(0);
  EXPECT_EQ(kept.reason, std::string(kMaxDeviceConditionText, 'r'));
  EXPECT_EQ(kept.message, std::string(kMaxDeviceConditionText - 1, 'm')) << "whole characters";
  EXPECT_LT(kept.message.capacity(), 2 * kMaxDeviceConditionText);
}

// Opaque parameters are the drivers' own: kube-apiserver takes whatever encoding/json can skip over.
ResourceClaimSpec claim_with_parameters(const std::string& parameters) {
  const std::string spec = R"({"devices":{"config":[{"opaque":{"driver":"d","parameters":)" + parameters + R"(}}]}})";
  const std::string claim = R"({"metadata":{"name":"c","resourceVersion":"1"},"spec":)" + spec + "}";
  Result<ResourceClaimSpec> one = decode<ResourceClaimSpec>(spec);  // keeps parameters of any size
  EXPECT_TRUE(one) << to_string(one.error());
  Result<DecodedList<ResourceClaim>> list =
      decode_list<ResourceClaim>(R"({"metadata":{"resourceVersion":"2"},"items":[)" + claim + "," + claim + "]}");
  EXPECT_TRUE(list && list->items.size() == 2);
  return one ? *one : ResourceClaimSpec{};
}

// 200 claims with 317 KB of parameters each took 220 MiB.
TEST(Decode, OfLargeParametersOnlyThePlaceIsKept) {
  const auto config = [](size_t bytes) -> nlohmann::json {
    return {{"opaque", {{"driver", "d"}, {"parameters", {{"x", std::string(bytes, 'y')}}}}}};
  };
  const nlohmann::json configs = {config(100), config(3'000), config(3'000), config(100), config(9'900)};
  const Result<ResourceClaim> claim = decode<ResourceClaim>(nlohmann::json{
      {"metadata", {{"name", "c"}}},
      {"spec", {{"devices", {{"config", configs}}}}},
      {"status",
       {{"allocation", {{"devices", {{"config", configs}}}}}}}}.dump());
  ASSERT_TRUE(claim) << claim.error().message();
  std::vector<int32_t> places;
  for (const DeviceClaimConfig& one : claim->spec.config) {
    places.push_back(one.opaque->at_entry);
    EXPECT_EQ(one.opaque->parameters_json.empty(), one.opaque->at_entry >= 0);
    EXPECT_EQ(one.opaque->driver, "d");
    EXPECT_LE(one.opaque->parameters_json.capacity(), 3'100u) << "freed, not only emptied";
  }
  EXPECT_THAT(places, ElementsAre(-1, -1, 2, -1, 4));
  size_t kept = 0;
  for (const auto& one : claim->status.allocation->config) kept += one.opaque->parameters_json.capacity();
  EXPECT_LE(kept, kMaxKeptParameters + 256);
}

TEST(Decode, OfAClaimWithTooLongSelectorsOnlyTheirSizeIsKept) {
  const auto claim = [](size_t selectors) {
    nlohmann::json list;
    for (size_t i = 0; i < selectors; ++i) list.push_back({{"cel", {{"expression", std::string(1024, 'x')}}}});
    return decode<ResourceClaim>(
        nlohmann::json{{"metadata", {{"name", "c"}}},
                       {"spec", {{"devices", {{"requests", {{{"name", "r"}, {"exactly", {{"selectors", list}}}}}}}}}}}
            .dump());
  };
  const Result<ResourceClaim> kept = claim(kMaxClaimSelectorBytes / 1024),
                              dropped = claim(kMaxClaimSelectorBytes / 1024 + 1);
  ASSERT_TRUE(kept && dropped);
  EXPECT_THAT(kept->spec.requests[0].exactly->selectors[0], SizeIs(1024));
  EXPECT_LE(dropped->spec.requests[0].exactly->selectors[0].capacity(), 64u);
  EXPECT_EQ(dropped->spec.selector_bytes_dropped, kMaxClaimSelectorBytes + 1024);
}

// Whoever may write the status of claims writes it; the API server limits neither terms nor requirements nor values.
TEST(Decode, ALongNodeSelectorOfAnAllocationIsReadAsOneThatMatchesNoNode) {
  using nlohmann::json;
  const auto claim = [](const json& terms) {
    const json allocation = {
        {"devices", {{"results", {{{"request", "r"}, {"driver", "d"}, {"pool", "p"}, {"device", "x"}}}}}},
        {"nodeSelector", {{"nodeSelectorTerms", terms}}}};
    return decode<ResourceClaim>(json{{"metadata", {{"name", "c"}}}, {"status", {{"allocation", allocation}}}}.dump());
  };
  const auto requirement = [](const json& values) {
    return json{{"key", "k"}, {"operator", "In"}, {"values", values}};
  };
  const auto fields = [](const json& requirements) { return json::array({json{{"matchExpressions", requirements}}}); };
  const json one = requirement(json::array({"a"}));
  const size_t fixed = sizeof(NodeSelectorTerm) + sizeof(NodeSelectorRequirement) + 3 + sizeof(std::string);
  const auto kept =
      claim(fields(json::array({requirement(json::array({std::string(kMaxAllocationSelectorBytes - fixed, 'v')}))})));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->status.allocation->selector_bytes_dropped, 0u);
  EXPECT_THAT(kept->status.allocation->node_selector->terms, SizeIs(1));

  json values = json::array(), requirements = json::array(), terms = json::array();
  for (size_t i = 0; i < 2048; ++i) {
    values.push_back("v");
    requirements.push_back(one);
    terms.push_back(json::object());
  }
  const json long_value = requirement(json::array({std::string(kMaxAllocationSelectorBytes - fixed + 1, 'v')}));
  const json long_key = {{"key", std::string(kMaxAllocationSelectorBytes, 'k')}, {"operator", "Exists"}};
  for (const json& large :
       {fields(json::array({long_value})), fields(json::array({long_key})), fields(json::array({requirement(values)})),
        fields(requirements), json::array({json{{"matchFields", requirements}}}), terms}) {
    const auto dropped = claim(large);
    ASSERT_TRUE(dropped);
    const AllocationResult& allocation = *dropped->status.allocation;
    EXPECT_GT(allocation.selector_bytes_dropped, kMaxAllocationSelectorBytes);
    ASSERT_TRUE(allocation.node_selector) << "without one, every node could use the devices";
    EXPECT_EQ(allocation.node_selector->terms.capacity(), 0u);
    EXPECT_FALSE(matches(*allocation.node_selector, "n", {{"k", "a"}}));
    EXPECT_EQ(named_nodes(*allocation.node_selector), nullptr);
    EXPECT_THAT(allocation.results, SizeIs(1)) << "the device is in use";
  }
}

TEST(Decode, ParametersMayBeNestedAsDeepAsAnApiServerAllows) {
  for (const size_t depth : {1'000, 1'400, 9'990}) {
    std::string parameters;
    for (size_t i = 0; i < depth; ++i) parameters += i % 2 == 0 ? "[" : "{\"k\":";
    parameters += "1";
    for (size_t i = depth; i-- > 0;) parameters += i % 2 == 0 ? "]" : "}";
    const ResourceClaimSpec spec = claim_with_parameters(parameters);
    ASSERT_THAT(spec.config, SizeIs(1));
    EXPECT_EQ(spec.config[0].opaque->parameters_json, parameters);
  }
  // Nesting deeper than any server can store is refused, without a stack as deep as the text.
  EXPECT_FALSE(decode<ResourceClaim>(R"({"spec":)" + std::string(1'000'000, '[')));
}

TEST(Decode, ParametersMayHoldWhatNoParserOfValuesReads) {
  const std::string numbers = R"({"a":123456789012345678901234567890,"b":[-1e999,1,"x"],"c":99999999999999999999})";
  EXPECT_EQ(claim_with_parameters(numbers).config[0].opaque->parameters_json, numbers);
  EXPECT_EQ(claim_with_parameters("\"a\xff\xc3\xa4\x80z\"").config[0].opaque->parameters_json,
            "\"a\xEF\xBF\xBD\xC3\xA4\xEF\xBF\xBDz\"");
  EXPECT_EQ(
      claim_with_parameters(R"(["\ud800","\\ud800","\ud83d\ude00","\udc00\ud800"])").config[0].opaque->parameters_json,
      "[\"\xEF\xBF\xBD\",\"\\\\ud800\",\"\xF0\x9F\x98\x80\",\"\xEF\xBF\xBD\xEF\xBF\xBD\"]");
  // Broken JSON stays broken.
  for (const char* bad : {"01234567890123456789012345", "1.e999", "--5", "\"\\u12\"", "\"\\ud8", "\xff", "1e999 2"})
    EXPECT_FALSE(decode<ResourceClaim>(std::string(R"({"metadata":{"name":"c"},"x":)") + bad + "}")) << bad;
}

TEST(Decode, TemplateKeepsItsSpecAsText) {
  Result<ResourceClaimTemplate> tpl = decode<ResourceClaimTemplate>(R"({"metadata": {"name": "t"}, "spec": {
    "metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": null, "future": {"x": 1}}}}})");
  ASSERT_TRUE(tpl);
  EXPECT_EQ(tpl->spec_json, R"({"devices":{"requests":null,"future":{"x":1}}})");
  EXPECT_EQ(tpl->claim_labels.at("a"), "b");
}

TEST(Decode, NothingOfALargeTemplateIsKept) {
  const auto of_bytes = [](size_t bytes, const std::string& where) {
    const std::string text(bytes, 'x');
    const std::string label = where == "labels" ? R"("labels": {"a": ")" + text + "\"}" : "";
    const std::string spec = where == "spec" ? R"("future": ")" + text + "\"" : "";
    return decode<ResourceClaimTemplate>(R"({"metadata": {"name": "t"}, "spec": {"metadata": {)" + label +
                                         R"(}, "spec": {"devices": {"requests": [{"name": "r"}]} )" +
                                         (spec.empty() ? "" : ",") + spec + "}}}");
  };
  for (const std::string where : {"labels", "spec"}) {
    const auto small = of_bytes(kMaxTemplateBytes - 200, where), large = of_bytes(kMaxTemplateBytes, where);
    ASSERT_TRUE(small && large) << where;
    EXPECT_EQ(small->bytes_dropped, 0u) << where;
    EXPECT_EQ(small->spec.requests.size(), 1u);
    EXPECT_GT(large->bytes_dropped, kMaxTemplateBytes) << where;
    EXPECT_EQ(large->spec_json + (large->claim_labels.empty() ? "" : "labels"), "") << where;
    EXPECT_TRUE(large->spec.requests.empty()) << where;
  }
}

TEST(Decode, OfManyFinalizersOnlyOursIsKeptWithItsPlace) {
  const auto with = [](int others, int ours_at) {
    std::string list;
    for (int i = 0; i < others; ++i) {
      if (i == ours_at) list += "\"" + std::string(kDeleteProtectionFinalizer) + "\",";
      list += "\"example.com/" + std::string(40, 'f') + std::to_string(i) + (i + 1 < others ? "\"," : "\"");
    }
    return decode<ResourceClaim>(R"({"metadata": {"name": "c", "finalizers": [)" + list + "]}}");
  };
  EXPECT_EQ(with(50, 3)->metadata.finalizers.size(), 51u);
  EXPECT_EQ(with(50, 3)->finalizer_bytes_dropped, 0u);
  const auto large = with(200, 150);
  EXPECT_THAT(large->metadata.finalizers, ElementsAre(std::string(kDeleteProtectionFinalizer)));
  EXPECT_EQ(large->finalizer_at, 150u);
  EXPECT_GT(large->finalizer_bytes_dropped, kMaxFinalizerBytes);
  EXPECT_TRUE(with(200, -1)->metadata.finalizers.empty());
}

TEST(Decode, SelectorsThatNoPodCanMatchAreNotKept) {
  const auto with_labels = [](int count) {
    std::string labels;
    for (int i = 0; i < count; ++i) labels += (i ? ",\"l" : "\"l") + std::to_string(i) + R"(": "v")";
    return R"({"metadata": {"name": "s"}, "spec": {"selector": {)" + labels + "}}}";
  };
  EXPECT_EQ(decode<Service>(with_labels(128))->selector.size(), 128u);
  EXPECT_TRUE(decode<Service>(with_labels(129))->selector.empty());
  EXPECT_TRUE(decode<ReplicationController>(with_labels(129))->selector.empty());
  const auto volume_claim = [](int values) {
    std::string list;
    for (int i = 0; i < values; ++i) list += (i ? ",\"" : "\"") + std::to_string(i) + "\"";
    return decode<PersistentVolumeClaim>(R"({"metadata": {"name": "c"}, "spec": {"selector": {"matchExpressions": [)"
                                         R"({"key": "k", "operator": "NotIn", "values": [)" +
                                         list + "]}]}}}");
  };
  EXPECT_TRUE(matches(*volume_claim(10)->selector, {{"k", "x"}}));
  const auto large = volume_claim(5000);
  ASSERT_TRUE(large && large->selector);
  EXPECT_FALSE(matches(*large->selector, {{"k", "x"}})) << "no volume is bound by what is not kept";
  EXPECT_FALSE(matches(*large->selector, {}));
}

TEST(Decode, PodGroupsOfBothApis) {
  const auto core = decode<PodGroup>(R"({"metadata": {"name": "g", "namespace": "ml", "uid": "u"}, "spec": {
      "schedulingPolicy": {"gang": {"minCount": 8}}, "schedulingConstraints": {"topology": [{"key": "rack"}]}}})");
  ASSERT_TRUE(core);
  EXPECT_EQ(core->metadata.key(), "ml/g");
  EXPECT_EQ(core->min_count, 8);
  EXPECT_EQ(core->topology_key, "rack");
  EXPECT_TRUE(core->resource_claims.empty());
  const auto claims = decode<PodGroup>(R"({"metadata": {"name": "g"}, "spec": {"resourceClaims": [
      {"name": "a", "resourceClaimTemplateName": "t"}, {"name": "b", "resourceClaimName": "c"}]}})");
  ASSERT_TRUE(claims);
  EXPECT_EQ(claims->resource_claims,
            (std::vector<PodResourceClaim>{{"a", std::nullopt, "t"}, {"b", "c", std::nullopt}}));
  const auto basic = decode<PodGroup>(R"({"metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"basic": {}}}})");
  ASSERT_TRUE(basic);
  EXPECT_EQ(basic->min_count, std::nullopt);
  const auto plugins =
      decode<PodGroup>(R"({"metadata": {"name": "g"}, "spec": {"minMember": -3, "scheduleTimeoutSeconds": 10}})");
  ASSERT_TRUE(plugins);
  EXPECT_EQ(plugins->min_count, -3);
  EXPECT_EQ(plugins->schedule_timeout_seconds, 10);
  const auto pod = decode<Pod>(R"({"metadata": {"name": "p"}, "spec": {"schedulingGroup": {"podGroupName": "g"}}})");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->pod_group_name, "g");
}

// Metadata that others fill in costs no memory once it is read.
TEST(Decode, MetadataThatNobodyReadsIsNotKept) {
  std::string text = R"({"metadata": {"name": "p", "namespace": "ns", "annotations": {"theirs": ")" +
                     std::string(250'000, 'x') + R"(", "resource.kubernetes.io/pod-claim-name": "c",
      "dra-controller-manager/proven": ")" +
                     std::string(5'000, 'y') + R"("}, "labels": {"app": "a"}, "managedFields": [)";
  for (int i = 0; i < 500; ++i)
    text += R"({"manager": "theirs-)" + std::to_string(i) + R"(", "operation": "Apply", "fieldsV1": {"f:x": {}}},)";
  text += R"({"manager": "dra-controller-manager", "operation": "Apply", "subresource": "status"}]}, "spec": {
      "containers": [{"name": "c", "env": [{"name": "E", "value": ")" +
          std::string(100'000, 'z') + R"("}]}]}})";
  const size_t before = mallinfo2().uordblks;
  std::vector<Pod> pods;
  pods.reserve(400);
  for (int i = 0; i < 400; ++i) pods.push_back(*decode<Pod>(text));
  const size_t kept = (mallinfo2().uordblks - before) / 400;
  EXPECT_LT(kept, 10'000u);
  const ObjectMeta& metadata = pods.back().metadata;
  EXPECT_EQ(metadata.annotations.size(), 2u);
  EXPECT_EQ(metadata.annotations.at("resource.kubernetes.io/pod-claim-name"), "c");
  EXPECT_EQ(metadata.annotations.at("dra-controller-manager/proven"), std::string(512, 'y'));
  EXPECT_THAT(metadata.managed_fields, SizeIs(17));
  EXPECT_EQ(metadata.managed_fields.back().manager, "dra-controller-manager");
  EXPECT_EQ(metadata.labels.at("app"), "a") << "affinity and spreading select pods by it";
  EXPECT_THAT(decode<ResourceClaim>(text)->metadata.labels, SizeIs(0));
  EXPECT_EQ(decode<Node>(text)->metadata.labels.at("app"), "a");
  EXPECT_EQ(decode<DeviceTaintRule>(text)->metadata.labels.at("app"), "a") << "untaint finds rules of one card by it";
}

TEST(Decode, TaintRuleSelector) {
  EXPECT_FALSE(decode<DeviceTaintRule>(R"({"spec": {"taint": {"key": "k", "effect": "None"}}})")->has_selector);
  Result<DeviceTaintRule> rule = decode<DeviceTaintRule>(R"({"spec": {"deviceSelector": {"pool": "p"}}})");
  EXPECT_TRUE(rule->has_selector);
  EXPECT_EQ(rule->pool, "p");
  EXPECT_EQ(rule->driver, std::nullopt);
  // Fields of 1.34, and of future versions, narrow the selector in a way that cannot be evaluated here.
  Result<DeviceTaintRule> unknown =
      decode<DeviceTaintRule>(R"({"spec": {"deviceSelector": {"driver": "d", "deviceClassName": "c"}}})");
  EXPECT_FALSE(unknown->has_selector);
  EXPECT_EQ(unknown->unknown_selector, "deviceClassName");
  EXPECT_TRUE(decode<DeviceTaintRule>(R"({"spec": {"deviceSelector": {"selectors": []}}})")->has_selector);
}

TEST(Decode, WrongTypesNameTheField) {
  auto message = [](std::string_view json) { return decode<ResourceSlice>(json).error().message(); };
  EXPECT_EQ(message(R"({"spec": {"devices": [{"name": "a"}, {"name": 7}]}})"),
            "spec.devices[1].name: expected a string, got a number");
  EXPECT_EQ(message(R"({"spec": {"devices": [{"attributes": {"x/y": {"int": "1"}}}]}})"),
            "spec.devices[0].attributes[x/y].int: expected an integer, got a string");
  EXPECT_EQ(message(R"({"spec": {"pool": {"generation": 1e30}}})"),
            "spec.pool.generation: the number 1e+30 is out of range");
  EXPECT_EQ(message(R"([])"), "expected an object, got an array");
  EXPECT_THAT(message(R"({"spec": )"), HasSubstr("not valid JSON"));
  EXPECT_EQ(decode<Pod>(R"({"spec": {"containers": [{"ports": [{"hostPort": 70000}]}]}})").error().message(),
            "spec.containers[0].ports[0].hostPort: the port 70000 is out of range");
}

TEST(Decode, DeepNestingIsAnErrorNotACrash) {
  std::string deep = R"({"spec": )";
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_FALSE(decode<Pod>(deep));
}

TEST(Decode, ListReportsBrokenItemsAndKeepsTheRest) {
  Result<DecodedList<Node>> list =
      decode_list<Node>(R"({"metadata": {"resourceVersion": "9", "continue": "c"}, "items": [
    {"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "spec": {"taints": {}}}, {"metadata": {"name": "c"}}]})");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->metadata.resource_version, "9");
  EXPECT_EQ(list->metadata.continue_token, "c");
  ASSERT_THAT(list->items, SizeIs(2));
  EXPECT_EQ(list->items[1].metadata.name, "c");
  ASSERT_THAT(list->errors, SizeIs(1));
  EXPECT_EQ(list->errors[0].message(), R"(items[1] "b": spec.taints: expected an array, got an object)");
  EXPECT_TRUE(decode_list<Pod>(R"({"items": null})"));
}

// Its parser then has no place to go back to: AddressSanitizer sees whether it tries.
TEST(Decode, ADocumentMayOutliveItsThreadsOtherObjects) {
  std::thread([] {
    thread_local std::optional<detail::JsonDocument> last;  // made before the parsers' pool, so destroyed after it
    last.reset();
    last.emplace(*detail::JsonDocument::parse("{}"));
  }).join();
}

}  // namespace
}  // namespace dra::api::decode_test
