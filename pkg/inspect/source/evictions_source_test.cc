// What decides about evictions survives a snapshot, redacted or not.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/inspect/source/snapshot.h"

namespace dra::inspect::evictions_source_test {
namespace {

using nlohmann::json;

std::string page(const char* items) {
  return json{{"items", json::parse(items)}}.dump();
}

Objects through_snapshot(Redaction redaction) {
  SnapshotWriter writer(redaction);
  EXPECT_TRUE(writer.add("namespaces", page(R"([{"metadata":{"name":"ml"}}])")));
  EXPECT_TRUE(writer.add("nodes", page(R"([{"metadata":{"name":"n"}}])")));
  EXPECT_TRUE(writer.add("pods", page(R"([{"metadata":{"name":"p","namespace":"ml","uid":"u1","labels":{"app":"web"},
    "annotations":{"kubernetes.io/config.mirror":"hash"},
    "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u2","controller":true}]},
    "spec":{"nodeName":"n","preemptionPolicy":"Never","volumes":[{"name":"v","hostPath":{"path":"/secret"}}]},
    "status":{"phase":"Running","startTime":"2026-03-01T10:00:00Z"}}])")));
  EXPECT_TRUE(writer.add("poddisruptionbudgets", page(R"([{"metadata":{"name":"b","namespace":"ml","generation":2},
    "spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}},"unhealthyPodEvictionPolicy":"AlwaysAllow"},
    "status":{"observedGeneration":2,"disruptionsAllowed":3,"currentHealthy":5,"desiredHealthy":2,
    "disruptedPods":{"p":"2026-03-01T10:00:00Z"}}}])")));
  EXPECT_TRUE(writer.add("priorityclasses", page(R"([{"metadata":{"name":"high"},"value":7,"globalDefault":true,
    "preemptionPolicy":"Never","description":"ours"}])")));
  EXPECT_TRUE(writer.add("jobs", page(R"([{"metadata":{"name":"j","namespace":"ml","labels":{"team":"x"}},
    "spec":{"podReplacementPolicy":"Failed","template":{"spec":{"containers":[]}}}}])")));
  EXPECT_TRUE(writer.add("podgroups", page(R"([{"metadata":{"name":"g","namespace":"ml"},
    "spec":{"disruptionMode":"PodGroup","schedulingPolicy":{"gang":{"minCount":2}}}}])")));
  Objects objects;
  objects.evictions.asked = true;
  objects.evictions.hidden = {{"jobs outside namespace ml", "you may not list them"}};
  auto read = read_snapshot_bytes(writer.bytes(objects), "x.dra");
  EXPECT_TRUE(read) << read.error().message();
  return std::move(*read);
}

TEST(EvictionsSource, SurviveASnapshot) {
  for (const Redaction redaction : {Redaction::kNone, Redaction::kNames, Redaction::kStrict}) {
    SCOPED_TRACE(static_cast<int>(redaction));
    const Objects objects = through_snapshot(redaction);
    const EvictionObjects& read = objects.evictions;
    EXPECT_TRUE(read.asked);
    EXPECT_EQ(read.hidden.size(), 1u);
    ASSERT_EQ(objects.pods.size(), 1u);
    const api::Pod& pod = *objects.pods.begin()->second;
    ASSERT_TRUE(read.pods.contains(pod.metadata.key()));
    const api::PodEvictionFacts& facts = *read.pods.at(pod.metadata.key());
    EXPECT_EQ(facts.preemption_policy, "Never");
    EXPECT_EQ(facts.start_time, "2026-03-01T10:00:00Z");
    EXPECT_TRUE(facts.host_path);
    EXPECT_TRUE(facts.of_node);
    ASSERT_EQ(read.budgets.size(), 1u);
    const api::PodDisruptionBudget& budget = *read.budgets.begin()->second;
    EXPECT_EQ(budget.metadata.ns, pod.metadata.ns);
    ASSERT_TRUE(budget.selector);
    EXPECT_EQ(budget.selector->match_labels, pod.metadata.labels);
    EXPECT_EQ(budget.disrupted_pods, std::vector<std::string>{pod.metadata.name});
    EXPECT_TRUE(budget.always_allow);
    EXPECT_EQ(budget.metadata.generation, budget.observed_generation);
    EXPECT_EQ(budget.disruptions_allowed, 3);
    EXPECT_EQ(budget.current_healthy, 5);
    EXPECT_EQ(budget.desired_healthy, 2);
    ASSERT_EQ(read.priority_classes.size(), 1u);
    EXPECT_EQ(read.priority_classes.begin()->second->value, 7);
    EXPECT_TRUE(read.priority_classes.begin()->second->global_default);
    EXPECT_EQ(read.priority_classes.begin()->second->preemption_policy, "Never");
    ASSERT_EQ(read.jobs.size(), 1u);
    EXPECT_EQ(read.jobs.begin()->second->metadata.name, pod.metadata.controller()->name);
    EXPECT_EQ(read.jobs.begin()->second->pod_replacement_policy, "Failed");
    ASSERT_EQ(read.groups.size(), 1u);
    EXPECT_TRUE(read.groups.begin()->second.begin()->second->whole);
  }
}

// Only those who ask for it pay for a second look at each pod.
TEST(EvictionsSource, AreReadOnlyWhereTheyAreAskedFor) {
  Objects objects;
  ASSERT_TRUE(add_page(objects, "pods", page(R"([{"metadata":{"name":"p","namespace":"ml"}}])")));
  EXPECT_TRUE(objects.evictions.pods.empty());
}

}  // namespace
}  // namespace dra::inspect::evictions_source_test
