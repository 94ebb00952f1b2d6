// Fields that the manager does not support, on objects as a server with their feature gates has them: it reads protobuf
// first, finds a number that it does not know, reads JSON, and says the field's name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/store/store.h"
#include "test/integration/cluster.h"

namespace dra::integration::unknown_fields_test {

using namespace std::chrono_literals;

namespace {

ClusterOptions one_node() {
  ClusterOptions options;
  options.embedded = true;
  options.nodes = 1;
  options.devices = 2;
  options.components.scheduler_allocates = false;
  return options;
}

// Past admission, which drops the fields of gates that are off.
void store_slice(Cluster& cluster, Json slice) {
  slice["apiVersion"] = "resource.k8s.io/v1";
  slice["kind"] = "ResourceSlice";
  const std::string name = slice["metadata"]["name"];
  cluster.embedded().server().store().put("resource.k8s.io/resourceslices", name, std::move(slice));
}

// The notes of events of the reason about objects of the kind.
std::vector<std::string> notes(Cluster& cluster, const std::string& kind, const std::string& reason) {
  std::vector<std::string> found;
  for (const Json& event : cluster.api().list("Event"))
    if (event.value("reason", "") == reason && event["regarding"].value("kind", "") == kind)
      found.push_back(event.value("note", ""));
  return found;
}

}  // namespace

// In gate mode; bind mode counts what it takes (NodeTakes).
TEST(UnknownFields, ADeviceThatTakesCpuOfItsNodeIsNotAllocated) {
  Cluster cluster(one_node());
  const Json plain = cluster.api().list("ResourceSlice").at(0);
  Json slice = plain;
  for (Json& device : slice["spec"]["devices"])
    device["nodeAllocatableResourceMappings"]["cpu"]["allocationMultiplier"] = "3";
  store_slice(cluster, slice);
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  cluster.start("m1", process);
  for (const std::string one : {"a", "b"}) {
    cluster.api().create(claim(one));
    cluster.api().create(pod(one, {from_claim("gpu", one)}));
  }
  cluster.pass(20s);
  EXPECT_EQ(cluster.watchdog().held_devices(), 0u);
  EXPECT_EQ(cluster.watchdog().bound_pods(), 0u);
  const std::string flag = "--ignore-unknown-fields=resourceslices.spec.devices.nodeAllocatableResourceMappings";
  const std::vector<std::string> waits = notes(cluster, "Pod", "FailedAllocation");
  ASSERT_FALSE(waits.empty());
  EXPECT_NE(waits.front().find("2 devices refused (ResourceSlice"), std::string::npos) << waits.front();
  EXPECT_NE(waits.front().find(flag), std::string::npos) << waits.front();
  const std::vector<std::string> of_slice = notes(cluster, "ResourceSlice", "UnknownField");
  ASSERT_EQ(of_slice.size(), 1u);
  EXPECT_NE(of_slice.front().find(flag), std::string::npos) << of_slice.front();
  // A driver that publishes the devices without it.
  slice = plain;
  slice["metadata"]["generation"] = 2;
  store_slice(cluster, slice);
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == 2; }, 30s));
  EXPECT_EQ(cluster.verdict(), "");
}

TEST(UnknownFields, WhatIsAllocatedStays) {
  Cluster cluster(one_node());
  cluster.start();
  PodOptions options;
  options.run_seconds = 600;
  cluster.api().create(claim("a"));
  cluster.api().create(pod("a", {from_claim("gpu", "a")}, options));
  ASSERT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == 1; }, 30s));
  Json slice = cluster.api().list("ResourceSlice").at(0);
  for (Json& device : slice["spec"]["devices"])
    device["nodeAllocatableResourceMappings"]["cpu"]["allocationMultiplier"] = "3";
  slice["metadata"]["generation"] = 2;
  store_slice(cluster, slice);
  cluster.pass(10s);  // the list in JSON comes a second later
  cluster.api().create(claim("b"));
  cluster.api().create(pod("b", {from_claim("gpu", "b")}));
  cluster.pass(60s);
  EXPECT_EQ(cluster.watchdog().held_devices(), 1u);
  EXPECT_TRUE(cluster.api().get(Api::path("ResourceClaim", "a"))["status"].contains("allocation"));
  EXPECT_EQ(notes(cluster, "ResourceClaim", "DeviceOverCommitted").size(), 0u);
}

}  // namespace dra::integration::unknown_fields_test
