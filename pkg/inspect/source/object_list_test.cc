// What kubectl printed in place of a snapshot.
#include "pkg/inspect/source/object_list.h"

#include <gtest/gtest.h>

#include "pkg/inspect/source/snapshot.h"

namespace dra::inspect {
namespace {

constexpr const char* kDump = R"(apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: a, uid: node-a, creationTimestamp: "2026-03-01T10:00:00Z"}
  status:
    conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-03-01T12:00:00Z"}]
- apiVersion: resource.k8s.io/v1
  kind: DeviceClass
  metadata: {name: gpu, uid: k}
  spec: {selectors: [{cel: {expression: 'device.driver == "d.example.com"'}}]}
- apiVersion: resource.k8s.io/v1
  kind: ResourceSlice
  metadata: {name: s, uid: s}
  spec: {driver: d.example.com, nodeName: a, pool: {name: a, generation: 1, resourceSliceCount: 1}, devices: [{name: gpu-0}]}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: other}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: ml, uid: p}
spec: {nodeName: a, resourceClaims: [{name: g, resourceClaimName: c}]}
)";

std::string why_not(std::string_view text) {
  const auto objects = read_object_list(text, "x");
  return objects ? "" : objects.error().message();
}

TEST(ObjectList, IsReadAsAClusterWithTheLatestTimeInIt) {
  const auto objects = read_snapshot_bytes(kDump, "dump.yaml");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_EQ(objects->origin, "dump.yaml");
  EXPECT_EQ(format_rfc3339(objects->taken), "2026-03-01T12:00:00Z");
  EXPECT_EQ(objects->dra_versions, std::vector<std::string>{"v1"});
  EXPECT_EQ(objects->nodes.size(), 1u);
  EXPECT_EQ(objects->slices.at("s")->devices.size(), 1u);
  EXPECT_TRUE(objects->pods.contains("ml/p"));
  EXPECT_FALSE(objects->hides("nodes"));
  // The pod names a claim, and the file has none: they were left out.
  EXPECT_TRUE(objects->hides("resourceclaims"));
}

TEST(ObjectList, OfOneKindAsAServerSendsIt) {
  const auto objects = read_object_list(
      R"({"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]})",
      "x");
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_EQ(objects->nodes.size(), 2u);
  EXPECT_TRUE(objects->hides("resourceslices"));
}

TEST(ObjectList, WhatIsNoneIsRefusedInOneSentence) {
  for (const std::string& text : {std::string("hello"), std::string("[]"), std::string("{\"items\": 3}"),
                                  std::string("kind: List\nitems: [3, {kind: 4}, {kind: Node, apiVersion: x/v1}]")})
    EXPECT_NE(why_not(text).find("nor a list of objects"), std::string::npos) << text << ": " << why_not(text);
  EXPECT_NE(why_not("a: [").find("cannot be read as a list"), std::string::npos) << why_not("a: [");
  std::string deep = R"({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": )";
  deep += std::string(200'000, '[') + std::string(200'000, ']') + "}";
  read_object_list(deep, "x");  // ends
}

}  // namespace
}  // namespace dra::inspect
