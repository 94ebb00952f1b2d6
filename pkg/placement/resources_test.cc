#include "pkg/placement/resources.h"

#include <gmock/gmock.h>

#include <limits>

#include "pkg/api/decode/decode.h"

namespace dra::placement::resources_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

api::Pod pod_with(const std::string& spec, const std::string& status = "{}") {
  Result<api::Pod> pod = api::decode<api::Pod>(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": )" + spec +
                                               R"(, "status": )" + status + "}");
  EXPECT_TRUE(pod) << to_string(pod.error());
  return *pod;
}

Charge pending(const std::string& spec) {
  const api::Pod pod = pod_with(spec);
  Result<Charge> out = pending_charge(pod);
  EXPECT_TRUE(out) << to_string(out.error());
  return *out;
}

TEST(PendingCharge, InitContainersSidecarsAndOverhead) {
  // Running: 1 + sidecar 0.5 = 1.5. Starting: init 2 without a sidecar, then 1.2 beside sidecar 0.5 = 1.7. Overhead
  // 0.1.
  const Charge charge =
      pending(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
    "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}},
      {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
      {"name": "j", "resources": {"requests": {"cpu": "1200m", "memory": "3Gi"}}}],
    "overhead": {"cpu": "100m"}})");
  EXPECT_EQ(charge.cpu, 2100);
  EXPECT_EQ(charge.memory, int64_t{4} << 30);
  EXPECT_EQ(pending(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
    "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]})")
                .cpu,
            2000);
}

TEST(PendingCharge, PodLevelReplacesWhatItNames) {
  const Charge charge =
      pending(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "example.com/x": 2}}}],
    "resources": {"requests": {"cpu": "3", "memory": "1Gi", "example.com/x": 9}}, "overhead": {"cpu": "1"}})");
  EXPECT_EQ(charge.cpu, 4000);
  EXPECT_EQ(charge.memory, 1 << 30);
  EXPECT_THAT(charge.others, ElementsAre(Pair("example.com/x", 2)));
}

TEST(PendingCharge, RoundedUpOnceAtTheEnd) {
  EXPECT_EQ(pending(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1500u"}}},
                                       {"name": "b", "resources": {"requests": {"cpu": "1500u"}}}]})")
                .cpu,
            3);
}

TEST(PendingCharge, ScoresCountContainersThatDoNotSay) {
  const Charge charge =
      pending(R"({"containers": [{"name": "a"}, {"name": "b", "resources": {"requests": {"cpu": "0"}}}]})");
  EXPECT_EQ(charge.cpu, 0);
  EXPECT_EQ(charge.score_cpu, 100) << "a request of 0 is one";
  EXPECT_EQ(charge.score_memory, int64_t{400} << 20);
}

TEST(PendingCharge, BadQuantityIsNamed) {
  const api::Pod pod = pod_with(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "lots"}}}]})");
  const Result<Charge> charge = pending_charge(pod);
  ASSERT_FALSE(charge);
  EXPECT_THAT(charge.error().message(), HasSubstr(R"(pod "ns/p": container "a": resource "cpu": "lots")"));
}

TEST(PendingCharge, SumsSaturate) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturating_add(most, 1), most);
  EXPECT_EQ(saturating_add(-most, -10), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(pending(R"({"containers": [{"resources": {"requests": {"memory": "9223372036854775807"}}},
                                       {"resources": {"requests": {"memory": "9223372036854775807"}}}]})")
                .memory,
            most);
}

TEST(PendingCharge, IgnoredResourcesAreNotAskedOfTheNode) {
  const api::Pod pod = pod_with(R"({"containers": [{"resources": {"requests": {"example.com/gpu": 1}}}]})");
  EXPECT_THAT(pending_charge(pod, [](const std::string& name) { return name == "example.com/gpu"; })->others,
              ElementsAre());
}

// KEP-1287: the largest of what a container requests, has and was allocated; its spec is void once it is infeasible.
Charge bound(const std::string& status) {
  return bound_charge(pod_with(R"({"nodeName": "n",
      "containers": [{"name": "a", "resources": {"requests": {"cpu": "2", "memory": "1Gi"}}}],
      "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]})",
                               status));
}

TEST(BoundCharge, ResizesInPlace) {
  EXPECT_EQ(bound("{}").cpu, 3000);
  // Shrinking from 4 to 2: counts 4 until the resize is done.
  const Charge shrinking = bound(R"({"containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "4"}},
                                     "allocatedResources": {"cpu": "3", "memory": "2Gi"}}]})");
  EXPECT_EQ(shrinking.cpu, 5000);
  EXPECT_EQ(shrinking.memory, int64_t{2} << 30);
  EXPECT_EQ(bound(R"({"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "9"}}]})").cpu, 3000)
      << "without `resources` the status says nothing";
  EXPECT_EQ(bound(R"({"initContainerStatuses": [{"name": "s", "resources": {"requests": {"cpu": "5"}}}]})").cpu, 7000);
}

// Growing from 1 to 2: while deferred the pod still claims 2; infeasible, it does not.
TEST(BoundCharge, PendingResizes) {
  const auto pending_because = [](const std::string& reason) {
    return bound(R"({"conditions": [{"type": "PodResizePending", "status": "True", "reason": ")" + reason +
                 R"("}], "containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                 "allocatedResources": {"cpu": "1", "memory": "1Gi"}}]})");
  };
  EXPECT_EQ(pending_because("Deferred").cpu, 3000);
  EXPECT_EQ(pending_because("Infeasible").cpu, 2000);
}

TEST(BoundCharge, ResizesOfTheWholePod) {
  const api::Pod pod = pod_with(R"({"nodeName": "n", "resources": {"requests": {"cpu": "2"}},
    "containers": [{"name": "a"}]})",
                                R"({"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "1"}})");
  EXPECT_EQ(bound_charge(pod).cpu, 3000);
  EXPECT_EQ(pending_charge(pod)->cpu, 2000);
}

// KEP-5517 in its three forms. Pod-level requests take the place of all of it for the resources that they name.
TEST(BoundCharge, WhatDevicesTakeOfTheNodeIsAdded) {
  const auto taking = [](const std::string& spec, const std::string& status) {
    return bound_charge(pod_with(R"({"nodeName": "n", "overhead": {"cpu": "10m"},
        "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}], "initContainers": [
        {"name": "i", "resources": {"requests": {"cpu": "1500m"}}}])" +
                                     spec + "}",
                                 status));
  };
  const std::string of136 = R"({"nodeAllocatableResourceClaimStatuses": [
      {"resourceClaimName": "c", "containers": ["a"], "resources": {"cpu": "3", "memory": "1Gi"}},
      {"resourceClaimName": "d", "containers": ["a"], "resources": {"cpu": "250m", "hugepages-2Mi": "4Mi"}}]})";
  const Charge charge = taking("", of136);
  EXPECT_EQ(charge.cpu, 1500 + 3250 + 10);
  EXPECT_EQ(charge.score_cpu, charge.cpu);
  EXPECT_EQ(charge.memory, 1 << 30);
  EXPECT_THAT(charge.others, ElementsAre(Pair("hugepages-2Mi", 4 << 20)));
  EXPECT_EQ(taking(R"(, "resources": {"requests": {"cpu": "5"}})", of136).cpu, 5010);

  const std::string lists = R"("containers": ["a", "i", "b"],
      "mapping": [{"name": "cpu", "quantity": "2"}],
      "overhead": [{"name": "cpu", "perPod": "100m", "perContainer": "7m"}, {"name": "memory", "perContainer": "1Mi"}]}]})";
  for (const std::string begin : {R"({"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "c", )",
                                  R"({"additionalNodeAllocatableResources": [{"source": {"name": "c"}, )"}) {
    EXPECT_EQ(taking("", begin + lists).cpu, 1500 + 2100 + 21 + 10);
    EXPECT_EQ(taking("", begin + lists).memory, 3 << 20);
  }
}

TEST(Ports, ConflictByPortProtocolAndAddress) {
  EXPECT_TRUE(ports_conflict({80, "TCP", "0.0.0.0"}, {80, "TCP", "10.0.0.1"}));
  EXPECT_FALSE(ports_conflict({80, "TCP", "10.0.0.2"}, {80, "TCP", "10.0.0.1"}));
  EXPECT_FALSE(ports_conflict({80, "TCP", "0.0.0.0"}, {80, "UDP", "0.0.0.0"}));
  EXPECT_FALSE(ports_conflict({80, "TCP", "::"}, {80, "TCP", "10.0.0.1"})) << "kube-scheduler knows one wildcard";
  const Charge charge = pending(R"({"containers": [{"ports": [{"hostPort": 80}]}], "initContainers": [
    {"ports": [{"hostPort": 81}]}, {"restartPolicy": "Always", "ports": [{"hostPort": 82, "protocol": "UDP"}]}]})");
  EXPECT_THAT(charge.ports, ElementsAre(api::HostPort{80, "TCP", "0.0.0.0"}, api::HostPort{82, "UDP", "0.0.0.0"}));
}

// Containers of a pod with very many are merged when it is decoded (api/pod_bounds.h).
TEST(BoundCharge, MergedContainersTakeTheSameOfTheNode) {
  const auto container = [](int i, const char* cpu, const std::string& more) {
    return R"({"name": "c)" + std::to_string(i) + R"(", "ports": [{"hostPort": )" + std::to_string(1 + i % 3) +
           R"(}], "resources": {"requests": {"cpu": ")" + cpu + R"(", "example.com/)" + std::to_string(i % 5) +
           R"(": "1", "example.com/none": "0"}})" + more + "}";
  };
  const auto pod = [&](int from, int to) {
    std::string main, init;
    for (int i = from; i < to; ++i) {
      const std::string comma = i == from ? "" : ",";
      main += comma + container(i, "1m", "");
      const bool sidecar = i % 3 == 0;
      init += comma + container(i, sidecar ? "3500u" : "900", sidecar ? R"(, "restartPolicy": "Always")" : "");
    }
    return pod_with(R"({"nodeName": "n", "overhead": {"cpu": "7m"}, "containers": [)" + main +
                        R"(], "initContainers": [)" + init + "]}",
                    R"({"nodeAllocatableResourceClaimStatuses": [{"resources": {"cpu": "1"}},
                        {"resources": {"cpu": "1", "memory": "1"}}]})");
  };
  api::Pod whole = pod(0, 0);
  for (int i = 0; i < 400; i += 20) {
    const api::Pod part = pod(i, i + 20);
    ASSERT_EQ(part.bytes_dropped, 0u);
    for (const api::Container& one : part.containers) whole.containers.push_back(one);
    for (const api::Container& one : part.init_containers) whole.init_containers.push_back(one);
  }
  const api::Pod merged = pod(0, 400);
  ASSERT_GT(merged.bytes_dropped, 0u);
  EXPECT_EQ(merged.containers.size() + merged.init_containers.size(), 3u);
  const Charge one = bound_charge(merged), other = bound_charge(whole);
  EXPECT_GT(one.cpu, 900'000);
  EXPECT_EQ(one.cpu, other.cpu);
  EXPECT_EQ(merged.claims_take->size(), 1u);
  EXPECT_EQ(one.memory, other.memory);
  EXPECT_EQ(one.others, other.others);
  for (const api::HostPort& port : other.ports) EXPECT_THAT(one.ports, ::testing::Contains(port));
}

}  // namespace
}  // namespace dra::placement::resources_test
