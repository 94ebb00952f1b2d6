#include "pkg/protocol/promise.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/protocol/memory_view.h"

namespace dra::protocol::promise_test {

using nlohmann::json;

api::Pod waiting() {
  api::Pod pod;
  pod.metadata.ns = "ml";
  pod.metadata.name = "p";
  pod.metadata.uid = "p-uid";
  pod.metadata.resource_version = "7";
  return pod;
}

Promise some() {
  Promise promise;
  promise.pod_uid = "p-uid";
  promise.node = "n1";
  promise.since = "2026-03-01T12:00:00Z";
  promise.victims = {{"ml/low", "low-uid"}, {"other/x", "x-uid"}};
  promise.victim_claims = {{"ml/low-gpu", "claim-uid"}};
  api::DeviceRequestAllocationResult result;
  result.request = "gpu";
  result.driver = "gpu.example.com";
  result.pool = "n1";
  result.device = "gpu-0";
  promise.allocations["ml/p-gpu"].results = {result};
  return promise;
}

// The pod as the server would have it after the write.
api::Pod after(const reconcile::Write& write) {
  api::Pod pod = waiting();
  const json status = json::parse(write.body).at("status");
  if (!status.contains("conditions")) return pod;
  const json& condition = status.at("conditions").at(0);
  pod.conditions.push_back({condition.at("type"), condition.at("status"), condition.at("reason"),
                            condition.at("message"), condition.at("lastTransitionTime"), 0});
  pod.nominated_node_name = status.value("nominatedNodeName", "");
  return pod;
}

TEST(Promise, WhatIsWrittenIsRead) {
  const MemoryView view;
  Promise promise = some();
  for (const bool proven : {false, true}) {
    promise.proven = proven;
    const reconcile::Write write = write_promise(view, waiting(), promise);
    EXPECT_EQ(write.resource_version, "7");
    EXPECT_EQ(json::parse(write.body)["metadata"]["resourceVersion"], "7") << "409 if the pod has changed";
    const api::Pod pod = after(write);
    EXPECT_EQ(pod.nominated_node_name, "n1");
    const auto read = promise_of(pod);
    ASSERT_TRUE(read && *read) << (*read).error().message();
    EXPECT_EQ(**read, promise);
  }
  api::Pod pod = after(write_promise(view, waiting(), promise));
  pod.conditions.insert(pod.conditions.begin(), api::Condition{"PodScheduled", "False", "Unschedulable", "", "", 0});
  EXPECT_EQ(write_promise_removed(pod).body,
            R"([{"op":"add","path":"/metadata/uid","value":"p-uid"},)"
            R"({"op":"add","path":"/metadata/resourceVersion","value":"7"},)"
            R"({"op":"test","path":"/status/conditions/1/type","value":"dra-controller-manager/Promise"},)"
            R"({"op":"remove","path":"/status/conditions/1"},{"op":"remove","path":"/status/nominatedNodeName"}])");
}

TEST(Promise, WhatIsNotUnderstoodIsRefused) {
  const MemoryView view;
  const api::Pod good = after(write_promise(view, waiting(), some()));
  ASSERT_TRUE(*promise_of(good));
  const json record = json::parse(good.conditions[0].message);
  std::vector<std::string> bad{"", "[]", "{", std::string(kMaxPromiseBytes + 1, ' ')};
  for (const auto& [name, value] : record.items()) {
    json without = record;
    without.erase(name);
    bad.push_back(without.dump());
    json other = record;
    other[name] = 7;
    bad.push_back(other.dump());
  }
  for (const char* victim : {"low", "ml/low", ""}) {
    json other = record;
    other["victims"] = {victim};
    bad.push_back(other.dump());
  }
  json other = record;
  other["since"] = "yesterday";
  bad.push_back(other.dump());
  other = record;
  other["allocations"]["ml/p-gpu"] = {{"devices", {{"results", 3}}}};
  bad.push_back(other.dump());
  for (const std::string& text : bad) {
    api::Pod pod = good;
    pod.conditions[0].message = text;
    EXPECT_TRUE(has_promise(pod));
    EXPECT_FALSE(*promise_of(pod)) << text.substr(0, 200);
  }
}

// One record says it of all members; the pod that has it may be none of them, and then it is nominated for no node.
TEST(Promise, OfAGroupIsOneRecord) {
  const MemoryView view;
  Promise promise = some();
  promise.node.clear();
  promise.places = {{{"ml/p", "p-uid"}, "n1"}, {{"ml/q", "q-uid"}, "n2"}};
  api::Pod pod = after(write_promise(view, waiting(), promise));
  EXPECT_EQ(pod.nominated_node_name, "n1");
  auto read = promise_of(pod);
  ASSERT_TRUE(read && *read) << (*read).error().message();
  EXPECT_EQ(**read, promise);
  EXPECT_EQ(places_of(**read, pod), promise.places);
  promise.places.erase(promise.places.begin());
  pod = after(write_promise(view, waiting(), promise));
  EXPECT_EQ(pod.nominated_node_name, "");
  ASSERT_TRUE(*promise_of(pod));

  const json record = json::parse(pod.conditions[0].message);
  for (const json& places :
       {json::object(), json::array(), json(3), json{{"ml/q", "n1"}}, json{{"other/q/q-uid", "n1"}},
        json{{"ml/q/1", "n1"}, {"ml/q/2", "n1"}}, json{{"ml/q/q-uid", ""}}, json{{"ml/q/q-uid", 3}}}) {
    json other = record;
    other["places"] = places;
    pod.conditions[0].message = other.dump();
    EXPECT_FALSE(*promise_of(pod)) << places.dump();
  }
  json both = record;
  both["node"] = "n1";
  pod.conditions[0].message = both.dump();
  EXPECT_FALSE(*promise_of(pod));
  json many = record;
  for (size_t i = 0; i <= kMostPlaces; ++i) many["places"]["ml/q" + std::to_string(i) + "/u"] = "n1";
  pod.conditions[0].message = many.dump();
  EXPECT_FALSE(*promise_of(pod));
}

// Copied to another pod, or to a later one of the name.
TEST(Promise, OfAnotherPodIsNone) {
  const MemoryView view;
  api::Pod pod = after(write_promise(view, waiting(), some()));
  pod.metadata.uid = "later-uid";
  ASSERT_FALSE(*promise_of(pod));
  EXPECT_EQ((*promise_of(pod)).error().message(),
            "the condition dra-controller-manager/Promise is that of another pod");
}

}  // namespace dra::protocol::promise_test
