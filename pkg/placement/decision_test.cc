// The words and the order of answers. dra-conformance placement compares them with kube-scheduler's.
#include "pkg/placement/decision.h"

#include <gmock/gmock.h>

#include "pkg/api/decode/decode.h"
#include "pkg/api/pod_bounds.h"
#include "pkg/placement/decide.h"

namespace dra::placement::decision_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

api::Pod pod_of(const std::string& spec, const std::string& labels = "{}", const std::string& name = "p") {
  Result<api::Pod> pod =
      api::decode<api::Pod>(R"({"metadata": {"name": ")" + name + R"(", "uid": ")" + name +
                            R"(", "namespace": "ns", "labels": )" + labels + R"(}, "spec": )" + spec + "}");
  EXPECT_TRUE(pod) << to_string(pod.error());
  return *pod;
}

std::shared_ptr<api::Node> node_of(std::string name, api::StringMap labels = {}, std::vector<api::Taint> taints = {}) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = std::move(name);
  node->metadata.labels = std::move(labels);
  node->taints = std::move(taints);
  node->allocatable = {{"cpu", "4"}, {"memory", "8Gi"}, {"ephemeral-storage", "10Gi"}, {"pods", "3"}};
  return node;
}

Decision decision_of(const Cluster& cluster, const api::Pod& pod) {
  const Result<PodNeeds> needs = PodNeeds::of(pod);
  EXPECT_TRUE(needs) << to_string(needs.error());
  return decide(cluster, *needs);
}

std::vector<std::string> order(const Cluster& cluster, const api::Pod& pod) {
  std::vector<std::string> names;
  for (const RankedNode& node : decision_of(cluster, pod).nodes) names.push_back(cluster.rest(node.node).name);
  return names;
}

TEST(Decision, PreferencesRoomThenTheOrderOfNames) {
  Cluster cluster;
  cluster.set_node(node_of("c", {}, {{"k", "", "PreferNoSchedule", ""}}));
  cluster.set_node(node_of("b", {{"disk", "ssd"}}));
  cluster.set_node(node_of("a"));
  const api::Pod plain = pod_of("{}");
  EXPECT_THAT(order(cluster, plain), ElementsAre("a", "b", "c"));
  const api::Pod prefers = pod_of(R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
    [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}})");
  EXPECT_THAT(order(cluster, prefers), ElementsAre("b", "a", "c"));
  cluster.set_pod(pod_of(R"({"containers": [{"resources": {"requests": {"cpu": "2", "memory": "4Gi"}}}]})", "{}", "q"),
                  "a", false);
  EXPECT_THAT(order(cluster, plain), ElementsAre("b", "a", "c"));
}

TEST(Decision, SummaryCountsNodesByReason) {
  Cluster cluster;
  EXPECT_EQ(decision_of(cluster, pod_of("{}")).summary(), "0/0 nodes are available: there are no nodes.");
  cluster.set_node(node_of("t", {}, {{"k", "v", "NoSchedule", ""}}));
  cluster.set_node(node_of("s"));
  cluster.set_node(node_of("o"));
  auto leaving = node_of("l");
  leaving->metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  cluster.set_node(leaving);
  const api::Pod pod =
      pod_of(R"({"containers": [{"resources": {"requests": {"cpu": "5", "example.com/x": 1, "example.com/a": 1}}}]})");
  const Decision decision = decision_of(cluster, pod);
  EXPECT_THAT(decision.nodes, IsEmpty());
  EXPECT_EQ(decision.summary(),
            "0/4 nodes are available: 1 node(s) are being deleted, 1 node(s) had untolerated taint(s), 2 Insufficient "
            "cpu, 2 Insufficient example.com/a, 2 Insufficient example.com/x.");
}

TEST(Decision, SummaryIsBounded) {
  Cluster cluster;
  cluster.set_node(node_of("n"));
  std::string requests;
  for (int i = 0; i < 200; ++i)
    requests += (i == 0 ? "" : ", ") + std::string("\"example.com/resource-") + std::to_string(i) + "\": 1";
  const api::Pod pod = pod_of(R"({"containers": [{"resources": {"requests": {)" + requests + "}}}]}");
  EXPECT_LE(decision_of(cluster, pod).summary().size(), 1024u);
}

TEST(Decision, SelectorsThatCannotBeParsedAreNamed) {
  const api::Pod pod = pod_of(R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z",
    "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]})");
  const Result<PodNeeds> needs = PodNeeds::of(pod);
  ASSERT_FALSE(needs);
  EXPECT_THAT(needs.error().message(), HasSubstr("spec.topologySpreadConstraints[0].labelSelector"));
}

TEST(Decision, TermsOfPodAffinityAreBounded) {
  api::Pod pod = pod_of("{}");
  pod.pod_affinity.preferred.resize(256);
  EXPECT_TRUE(PodNeeds::of(pod));
  pod.pod_affinity.preferred.resize(257);
  const Result<PodNeeds> needs = PodNeeds::of(pod);
  ASSERT_FALSE(needs);
  EXPECT_THAT(needs.error().message(), HasSubstr("one of pod affinity or spread 16"));
}

// 100 pods with 2,000 terms each made each decision over 2,000 nodes take 0.3 s, and every other pod wait for seconds.
TEST(Decision, NodeTermsValuesAndTolerationsAreBoundedTogether) {
  api::Pod pod = pod_of("{}");
  api::NodeSelectorRequirement in{
      "key", "In", std::vector<std::string>(api::kMaxSchedulingParts - 3 * api::kPartsOfAnEntry, "value")};
  pod.node_affinity = api::NodeAffinity{api::NodeSelector{{api::NodeSelectorTerm{{in}, {}}}}, {}};
  pod.tolerations.resize(1);
  EXPECT_EQ(api::scheduling_parts(pod), api::kMaxSchedulingParts);
  EXPECT_TRUE(PodNeeds::of(pod));
  pod.tolerations.resize(2);
  const Result<PodNeeds> needs = PodNeeds::of(pod);
  ASSERT_FALSE(needs);
  EXPECT_THAT(needs.error().message(), HasSubstr("have 4100 parts"));
  pod.node_affinity->preferred.resize(10'000);
  EXPECT_FALSE(PodNeeds::of(pod));
}

// 3,000 pods with labels of their own, as those of an indexed Job.
void add_labelled_pods(Cluster& cluster, const std::string& node, int pods) {
  api::Pod pod = pod_of("{}");
  for (int i = 0; i < pods; ++i) {
    pod.metadata.uid = pod.metadata.name = "l" + std::to_string(i);
    pod.metadata.labels["index"] = std::to_string(i);
    cluster.set_pod(pod, node, false);
  }
}

api::Pod with_terms(const std::string& name, size_t terms, std::optional<api::LabelSelector> namespaces) {
  api::Pod pod = pod_of("{}", "{}", name);
  for (size_t i = 0; i < terms; ++i)
    pod.pod_anti_affinity.required.push_back(
        {api::LabelSelector{{}, {{"index", "NotIn", {name + std::to_string(i)}}}}, {}, namespaces, "host"});
  return pod;
}

TEST(Decision, TermsTimesTheLabelSetsOfTheirNamespacesAreBounded) {
  Cluster cluster;
  cluster.set_node(node_of("n", {{"host", "n"}}));
  cluster.set_node(node_of("o", {{"host", "o"}}));
  add_labelled_pods(cluster, "n", 3000);
  const Decision refused = decision_of(cluster, with_terms("p", 220, api::LabelSelector{}));
  ASSERT_TRUE(refused.error);
  EXPECT_THAT(*refused.error, HasSubstr("have 220 terms about other pods"));
  EXPECT_THAT(*refused.error, HasSubstr("at most 595 different sets of pod labels"));
  EXPECT_TRUE(refused.depends_on_capacity()) << "it is decided again when pods leave";
  EXPECT_EQ(cluster.kept_queries(), 0u);
  EXPECT_TRUE(decision_of(cluster, with_terms("p", 220, std::nullopt)).error) << "its own namespace has them, too";
  EXPECT_FALSE(decision_of(cluster, with_terms("p", 43, std::nullopt)).error);
  EXPECT_TRUE(decision_of(cluster, with_terms("p", 44, std::nullopt)).error);
  api::Pod elsewhere = with_terms("p", 220, std::nullopt);
  elsewhere.metadata.ns = "elsewhere";
  EXPECT_FALSE(decision_of(cluster, elsewhere).error);
  add_labelled_pods(cluster, "n", 12'000);
  EXPECT_FALSE(decision_of(cluster, with_terms("p", 16, api::LabelSelector{})).error);
  for (int i = 500; i < 12'000; ++i) cluster.remove_pod("l" + std::to_string(i));
  EXPECT_FALSE(decision_of(cluster, with_terms("p", 220, api::LabelSelector{})).error);
}

TEST(Decision, QueriesOfManyPodsWithManyTermsTakeBoundedMemory) {
  Cluster cluster;
  cluster.set_node(node_of("n", {{"host", "n"}}));
  add_labelled_pods(cluster, "n", 3000);
  for (int i = 0; i < 40; ++i) {
    const api::Pod pod = with_terms("p" + std::to_string(i), 40, api::LabelSelector{});
    EXPECT_FALSE(decision_of(cluster, pod).error);
    EXPECT_LE(cluster.bytes_of_queries(), PodCounts::kMaxBytes);
  }
  EXPECT_GT(cluster.kept_queries(), 0u);
  for (int i = 0; i < 3000; ++i) cluster.remove_pod("l" + std::to_string(i));
  for (uint64_t i = 0; i <= PodCounts::kIdleDecisions; ++i) decision_of(cluster, pod_of("{}"));
  EXPECT_EQ(cluster.kept_queries(), 0u);
  EXPECT_EQ(cluster.bytes_of_queries(), 0u);
}

// The labels of a pod with more than api::kMaxLabels are not kept, so whether it matches is unknown.
TEST(Decision, PodsWithUnknownLabelsAreNoReasonToBreakARule) {
  Cluster cluster;
  cluster.set_node(node_of("n", {{"host", "n"}}));
  cluster.set_node(node_of("o", {{"host", "o"}}));
  const auto with = [](const std::string& rules) { return pod_of(rules, R"({"app": "a"})"); };
  const std::string term = R"([{"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "a"}}}])";
  const api::Pod apart =
      with(R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": )" + term + "}}}");
  const api::Pod together =
      with(R"({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": )" + term + "}}}");
  const api::Pod spread = with(R"({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "host",
    "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "a"}}}]})");
  const api::Pod plain = pod_of("{}");
  api::Pod unknown = pod_of("{}", "{}", "u");
  for (int i = 0; i <= static_cast<int>(api::kMaxLabels); ++i) unknown.metadata.labels["l" + std::to_string(i)] = "";
  api::drop_beyond_bounds(unknown);
  ASSERT_GT(unknown.labels_dropped, 0u);
  EXPECT_FALSE(PodNeeds::of(unknown)) << "such a pod is refused itself";
  const auto all_go_on = [&] {
    for (const api::Pod* pod : {&apart, &together, &spread, &plain})
      if (order(cluster, *pod) != std::vector<std::string>{"n", "o"}) return false;
    return true;
  };
  EXPECT_TRUE(all_go_on());

  cluster.set_pod(unknown, "n", false);
  EXPECT_THAT(order(cluster, apart), ElementsAre("o")) << "as if it matched";
  EXPECT_THAT(order(cluster, together), IsEmpty()) << "neither next to it nor as the first";
  EXPECT_EQ(order(cluster, plain).size(), 2u);
  const Decision undecided = decision_of(cluster, spread);
  EXPECT_THAT(undecided.nodes, IsEmpty());
  EXPECT_THAT(undecided.summary(), HasSubstr("1 pod(s) of the namespace have more labels than are checked (128"));
  EXPECT_TRUE(undecided.depends_on_capacity()) << "it is decided again when pods leave";
  cluster.set_pod(pod_of("{}", R"({"app": "a"})", "q"), "n", false);
  EXPECT_THAT(order(cluster, together), ElementsAre("n")) << "next to one that certainly matches";
  cluster.remove_pod("q");

  api::Pod elsewhere = apart;
  elsewhere.metadata.ns = "elsewhere";
  EXPECT_EQ(order(cluster, elsewhere).size(), 2u);
  cluster.remove_pod("u");
  EXPECT_TRUE(all_go_on());
  EXPECT_EQ(cluster.kept_label_sets(), 0u);
}

TEST(Decision, NodesThatAreNotNamedAreCounted) {
  Cluster cluster;
  cluster.set_node(node_of("n"));
  const api::Pod pod = pod_of(R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gone"]}]}]}}}})");
  EXPECT_EQ(decision_of(cluster, pod).summary(),
            "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity].");
}

TEST(Decision, APodIsNoObstacleToItself) {
  Cluster cluster;
  cluster.set_node(node_of("n", {{"host", "n"}}));
  const api::Pod pod = pod_of(R"({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
    [{"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "a"}}}]}}})",
                              R"({"app": "a"})");
  cluster.set_pod(pod, "n", true);
  EXPECT_EQ(decision_of(cluster, pod).summary(),
            "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.");
  {
    const Cluster::Aside aside(cluster, "p");
    EXPECT_THAT(order(cluster, pod), ElementsAre("n"));
  }
  EXPECT_THAT(order(cluster, pod), IsEmpty());
}

TEST(Cluster, PodsMayComeBeforeTheirNodeAndNothingIsLeftBehind) {
  Cluster cluster;
  const api::Pod resident =
      pod_of(R"({"containers": [{"resources": {"requests": {"cpu": "4"}}}]})", R"({"a": "b"})", "q");
  cluster.set_pod(resident, "n", false);
  EXPECT_THAT(cluster.nodes(), IsEmpty());
  cluster.set_node(node_of("n"));
  const api::Pod pod = pod_of(R"({"containers": [{"resources": {"requests": {"cpu": "1"}}}]})");
  EXPECT_EQ(decision_of(cluster, pod).summary(), "0/1 nodes are available: 1 Insufficient cpu.");
  cluster.remove_node("n");
  EXPECT_EQ(cluster.kept_nodes(), 1u) << "its pod still counts, should it come back";
  cluster.remove_pod("q");
  EXPECT_EQ(cluster.kept_nodes(), 0u);
  EXPECT_EQ(cluster.kept_label_sets(), 0u);
}

}  // namespace
}  // namespace dra::placement::decision_test
