#include "pkg/api/encode.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"

namespace dra::api::encode_test {
namespace {

// Text -> struct -> text must be the text again, for an object that sets every field the struct has.
template <class T>
void expect_round_trip(std::string_view text) {
  Result<T> value = decode<T>(text);
  ASSERT_TRUE(value) << to_string(value.error());
  EXPECT_EQ(nlohmann::json::parse(encode(*value)), nlohmann::json::parse(text));
}

TEST(Encode, SliceRoundTrip) {
  expect_round_trip<ResourceSlice>(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
    "metadata": {"name": "s", "uid": "u", "generation": 2}, "spec": {"driver": "d",
      "pool": {"name": "p", "generation": 0, "resourceSliceCount": 1}, "perDeviceNodeSelection": true,
      "devices": [{"name": "x", "nodeName": "n", "attributes": {"a": {"ints": [1]}, "b": {"versions": ["1.0.0"]},
          "c": {"bools": [false]}, "d": {"string": ""}, "e": {"version": "2.0.0"}, "f": {}},
        "capacity": {"m": {"value": "1Gi", "requestPolicy": {"default": "1", "validRange": {"min": "1", "max": "2", "step": "1"}}},
          "n": {"value": "2", "requestPolicy": {"validValues": ["1"]}}},
        "consumesCounters": [{"counterSet": "c", "counters": {"m": {"value": "1"}}}],
        "taints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
        "bindsToNode": true, "bindingConditions": ["a"], "bindingFailureConditions": ["b"],
        "allowMultipleAllocations": true},
        {"name": "y", "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}}]}})");
  expect_round_trip<ResourceSlice>(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {},
    "spec": {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "allNodes": true,
      "sharedCounters": [{"name": "c", "counters": {"m": {"value": "1"}}}]}})");
}

TEST(Encode, ClaimRoundTrip) {
  expect_round_trip<ResourceClaim>(R"({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "n", "finalizers": ["f"]}, "spec": {"devices": {
      "requests": [{"name": "r", "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}, {}],
          "allocationMode": "ExactCount", "count": 2, "adminAccess": true, "tolerations": [{"key": "k", "operator": "Equal",
          "value": "v", "effect": "NoExecute", "tolerationSeconds": 0}], "capacity": {"requests": {"m": "1"}}}},
        {"name": "s", "firstAvailable": [{"name": "t", "deviceClassName": "d", "allocationMode": "All"}]}],
      "constraints": [{"requests": ["r"], "matchAttribute": "a/b"}, {"distinctAttribute": "a/c"}],
      "config": [{"requests": ["r"], "opaque": {"driver": "d", "parameters": {"z": 1, "a": [true]}}}]}},
    "status": {"allocation": {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x",
          "adminAccess": true, "tolerations": [{"operator": "Exists"}], "bindingConditions": ["b"],
          "bindingFailureConditions": ["f"], "shareID": "s", "consumedCapacity": {"m": "1"}}],
          "config": [{"source": "FromClass", "requests": ["r"], "opaque": {"driver": "d", "parameters": {}}}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]},
        "allocationTimestamp": "2026-01-01T00:00:00Z"},
      "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
      "devices": [{"driver": "d", "pool": "p", "device": "x", "shareID": "s",
        "conditions": [{"type": "T", "status": "True"}]}]}})");
}

TEST(Encode, ClassRuleAndNodeRoundTrip) {
  expect_round_trip<DeviceClass>(
      R"({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"},
    "spec": {"selectors": [{"cel": {"expression": "x"}}], "config": [{"opaque": {"driver": "d", "parameters": {"a": 1}}}],
      "extendedResourceName": "e/f"}})");
  expect_round_trip<DeviceTaintRule>(R"({"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule",
    "metadata": {"name": "c"}, "spec": {"deviceSelector": {"driver": "d"}, "taint": {"key": "k", "effect": "None"}}})");
  expect_round_trip<Node>(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {"allocatable": {"cpu": "1"}, "conditions": [{"type": "Ready", "status": "True"}]}})");
}

TEST(Encode, BadTextDoesNotThrow) {
  AllocationResult result;
  result.config.push_back({"FromClaim", {}, OpaqueConfig{"d\xff", "{not json"}});
  EXPECT_NE(encode(result).find("\"parameters\":null"), std::string::npos);
}

}  // namespace
}  // namespace dra::api::encode_test
