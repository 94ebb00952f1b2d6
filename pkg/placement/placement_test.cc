#include "pkg/placement/placement.h"

#include <gmock/gmock.h>

#include <limits>

#include "pkg/api/decode.h"
#include "pkg/base/random.h"
#include "pkg/placement/node_selector.h"

namespace dra::placement::placement_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

api::Pod pod_of(std::string_view spec) {
  Result<api::Pod> pod =
      api::decode<api::Pod>(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": )" + std::string(spec) + "}");
  EXPECT_TRUE(pod) << to_string(pod.error());
  return *pod;
}

api::Node node_of(std::string name, api::StringMap labels = {}, std::vector<api::Taint> taints = {}) {
  api::Node node;
  node.metadata.name = std::move(name);
  node.metadata.labels = std::move(labels);
  node.taints = std::move(taints);
  node.allocatable = {{"cpu", "4"}, {"memory", "8Gi"}, {"ephemeral-storage", "10Gi"}, {"pods", "3"}};
  return node;
}

std::vector<std::string> why(const api::Pod& pod, const api::Node& node, const NodeLoad& load = {}) {
  Result<PodNeeds> needs = PodNeeds::of(pod);
  EXPECT_TRUE(needs) << to_string(needs.error());
  NodeFacts facts(node);
  facts.load = load;
  std::vector<std::string> out;
  for (const Refusal& refusal : refusals(*needs, facts))
    out.push_back(std::string(cause_name(refusal.cause)) + (refusal.detail.empty() ? "" : " " + refusal.detail));
  return out;
}

Amounts requests_of(std::string_view spec) {
  Result<Amounts> out = pod_requests(pod_of(spec));
  EXPECT_TRUE(out) << to_string(out.error());
  return *out;
}

TEST(NodeSelectorRules, EveryOperator) {
  const api::StringMap labels = {{"zone", "a"}, {"count", "5"}, {"text", "x5"}};
  auto one = [&](std::string key, std::string op, std::vector<std::string> values) {
    return matches(api::NodeSelectorTerm{{{std::move(key), std::move(op), std::move(values)}}, {}}, "n", labels);
  };
  EXPECT_TRUE(one("zone", "In", {"b", "a"}));
  EXPECT_FALSE(one("zone", "In", {}));
  EXPECT_FALSE(one("none", "In", {"a"}));
  EXPECT_TRUE(one("none", "NotIn", {"a"}));
  EXPECT_FALSE(one("zone", "NotIn", {"a"}));
  EXPECT_TRUE(one("zone", "Exists", {}));
  EXPECT_TRUE(one("none", "DoesNotExist", {}));
  EXPECT_TRUE(one("count", "Gt", {"4"}));
  EXPECT_FALSE(one("count", "Gt", {"5"}));
  EXPECT_TRUE(one("count", "Lt", {"+6"}));
  EXPECT_FALSE(one("text", "Gt", {"1"}));
  EXPECT_FALSE(one("count", "Gt", {"1", "2"}));
  EXPECT_FALSE(one("count", "Lt", {"99999999999999999999"}));
  EXPECT_FALSE(one("zone", "Matches", {"a"}));
}

TEST(NodeSelectorRules, FieldsTermsAndEmptiness) {
  const api::NodeSelectorTerm name{{}, {{"metadata.name", "In", {"n"}}}};
  EXPECT_TRUE(matches(name, "n", {}));
  EXPECT_FALSE(matches(name, "m", {}));
  EXPECT_FALSE(matches(api::NodeSelectorTerm{{}, {{"spec.x", "In", {"n"}}}}, "n", {}));
  EXPECT_FALSE(matches(api::NodeSelectorTerm{}, "n", {}));
  EXPECT_FALSE(matches(api::NodeSelector{}, "n", {}));
  EXPECT_TRUE(matches(api::NodeSelector{{{}, name}}, "n", {}));
  EXPECT_FALSE(matches(api::NodeSelectorTerm{{{"a", "Exists", {}}}, name.match_fields}, "n", {}));
}

TEST(PodRequests, InitContainersSidecarsAndOverhead) {
  // Running: 1 + sidecar 0.5 = 1.5. Starting: init 2 beside no sidecar, then 1.2 beside sidecar 0.5 = 1.7. Overhead
  // 0.1.
  EXPECT_THAT(requests_of(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
    "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}},
      {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}},
      {"name": "j", "resources": {"requests": {"cpu": "1200m", "memory": "3Gi"}}}],
    "overhead": {"cpu": "100m"}})"),
              ElementsAre(Pair("cpu", 2100), Pair("memory", int64_t{4} << 30)));
  EXPECT_THAT(requests_of(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
    "initContainers": [{"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]})"),
              ElementsAre(Pair("cpu", 2000)));
}

TEST(PodRequests, PodLevelReplacesWhatItNames) {
  EXPECT_THAT(
      requests_of(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "1", "example.com/x": 2}}}],
    "resources": {"requests": {"cpu": "3", "memory": "1Gi", "example.com/x": 9}}, "overhead": {"cpu": "1"}})"),
      ElementsAre(Pair("cpu", 4000), Pair("example.com/x", 2), Pair("memory", 1 << 30)));
}

TEST(PodRequests, BadQuantityIsNamed) {
  Result<PodNeeds> needs =
      PodNeeds::of(pod_of(R"({"containers": [{"name": "a", "resources": {"requests": {"cpu": "lots"}}}]})"));
  ASSERT_FALSE(needs);
  EXPECT_THAT(needs.error().message(), HasSubstr(R"(pod "ns/p": container "a": resource "cpu": "lots")"));
}

TEST(PodRequests, SumsSaturate) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(saturating_add(most, 1), most);
  EXPECT_EQ(saturating_add(-most, -10), std::numeric_limits<int64_t>::min());
  EXPECT_THAT(why(pod_of(R"({"containers": [{"resources": {"requests": {"memory": "9223372036854775807"}}},
                                             {"resources": {"requests": {"memory": "9223372036854775807"}}}]})"),
                  node_of("n")),
              ElementsAre("Resource memory"));
}

TEST(Refusals, RoomForRequestsAndPods) {
  const api::Pod pod = pod_of(R"({"containers": [{"resources": {"requests":
    {"cpu": "3", "memory": "6Gi", "ephemeral-storage": "1Gi", "example.com/dongle": "0"}}}]})");
  EXPECT_THAT(why(pod, node_of("n")), IsEmpty());
  NodeLoad load;
  load.add({{"cpu", 1001}, {"ephemeral-storage", int64_t{10} << 30}}, {});
  EXPECT_THAT(why(pod, node_of("n"), load), ElementsAre("Resource cpu", "Resource ephemeral-storage"));
  load.add({}, {});
  load.add({}, {});
  EXPECT_THAT(why(pod, node_of("n"), load), ElementsAre("TooManyPods", "Resource cpu", "Resource ephemeral-storage"));
  load.remove({{"cpu", 1001}, {"ephemeral-storage", int64_t{10} << 30}}, {});
  EXPECT_THAT(why(pod, node_of("n"), load), IsEmpty());
  EXPECT_THAT(why(pod_of(R"({"containers": [{"resources": {"requests": {"example.com/dongle": 1}}}]})"), node_of("n")),
              ElementsAre("Resource example.com/dongle"));
  api::Node silent = node_of("n");
  silent.allocatable.clear();
  EXPECT_THAT(why(pod_of("{}"), silent), ElementsAre("TooManyPods"));
}

TEST(Refusals, TaintsCordonsAndTolerations) {
  const api::Pod plain = pod_of("{}");
  EXPECT_THAT(why(plain, node_of("n", {}, {{"k", "v", "NoSchedule", ""}})), ElementsAre("Taint {k: v}"));
  EXPECT_THAT(why(plain, node_of("n", {}, {{"k", "v", "NoExecute", ""}})), ElementsAre("Taint {k: v}"));
  EXPECT_THAT(why(plain, node_of("n", {}, {{"k", "v", "PreferNoSchedule", ""}})), IsEmpty());
  auto tolerating = [](std::string toleration) { return pod_of(R"({"tolerations": [)" + toleration + "]}"); };
  const api::Node tainted = node_of("n", {}, {{"k", "v", "NoSchedule", ""}});
  EXPECT_THAT(why(tolerating(R"({"key": "k", "value": "v"})"), tainted), IsEmpty());
  EXPECT_THAT(why(tolerating(R"({"key": "k", "value": "w"})"), tainted), ElementsAre("Taint {k: v}"));
  EXPECT_THAT(why(tolerating(R"({"operator": "Exists"})"), tainted), IsEmpty());
  EXPECT_THAT(why(tolerating(R"({"operator": "Exists", "effect": "NoExecute"})"), tainted),
              ElementsAre("Taint {k: v}"));
  EXPECT_THAT(why(tolerating(R"({"operator": "Sometimes", "key": "k"})"), tainted), ElementsAre("Taint {k: v}"));
  api::Node cordoned = node_of("n");
  cordoned.unschedulable = true;
  EXPECT_THAT(why(plain, cordoned), ElementsAre("Unschedulable"));
  EXPECT_THAT(why(tolerating(R"({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})"), cordoned),
              IsEmpty());
}

TEST(Refusals, AffinityNameAndPorts) {
  const api::Node node = node_of("n", {{"zone", "a"}});
  EXPECT_THAT(why(pod_of(R"({"nodeSelector": {"zone": "a"}})"), node), IsEmpty());
  EXPECT_THAT(why(pod_of(R"({"nodeSelector": {"zone": "b"}})"), node), ElementsAre("NodeAffinity"));
  auto required = [](std::string terms) {
    return pod_of(R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms": [)" +
                  terms + "]}}}}");
  };
  EXPECT_THAT(why(required(R"({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
                              {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]})"),
                  node),
              IsEmpty());
  EXPECT_THAT(why(required(""), node), ElementsAre("NodeAffinity"));
  EXPECT_THAT(why(pod_of(R"({"nodeName": "other"})"), node), ElementsAre("NodeName"));
  NodeLoad load;
  load.add({}, {80});
  const api::Pod listening = pod_of(R"({"containers": [{"ports": [{"hostPort": 80}]}]})");
  EXPECT_THAT(why(listening, node, load), ElementsAre("HostPort 80"));
  load.remove({}, {80});
  EXPECT_THAT(why(listening, node, load), IsEmpty());
  api::Node leaving = node;
  leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  EXPECT_THAT(why(pod_of("{}"), leaving), ElementsAre("Deleting"));
}

TEST(Refusals, IgnoredResourcesAreNotAskedOfTheNode) {
  const api::Pod pod = pod_of(R"({"containers": [{"resources": {"requests": {"example.com/gpu": 1}}}]})");
  Result<PodNeeds> needs = PodNeeds::of(pod, [](const std::string& name) { return name == "example.com/gpu"; });
  const api::Node node = node_of("n");
  EXPECT_THAT(refusals(*needs, NodeFacts(node)), IsEmpty());
}

std::vector<std::string> order(const api::Pod& pod, const std::vector<NodeFacts>& facts) {
  std::vector<const NodeFacts*> nodes;
  for (const NodeFacts& one : facts) nodes.push_back(&one);
  Result<PodNeeds> needs = PodNeeds::of(pod);
  std::vector<std::string> names;
  for (const RankedNode& ranked : rank(*needs, nodes).nodes) names.push_back(facts[ranked.index].node().metadata.name);
  return names;
}

TEST(Rank, PreferencesRoomThenTheOrderGiven) {
  const api::Node a = node_of("a"), b = node_of("b", {{"disk", "ssd"}}),
                  c = node_of("c", {}, {{"k", "", "PreferNoSchedule", ""}});
  std::vector<NodeFacts> facts = {NodeFacts(c), NodeFacts(a), NodeFacts(b)};
  const api::Pod plain = pod_of("{}");
  EXPECT_THAT(order(plain, facts), ElementsAre("a", "b", "c"));
  const api::Pod prefers = pod_of(R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
    [{"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}}]}}})");
  EXPECT_THAT(order(prefers, facts), ElementsAre("b", "a", "c"));
  facts[1].load.add({{"cpu", 2000}, {"memory", int64_t{4} << 30}}, {});
  EXPECT_THAT(order(plain, facts), ElementsAre("b", "a", "c"));
}

// Against the definition: highest score first, ties in the order given.
TEST(Rank, OrderIsByScoreThenPlace) {
  SeededRandom random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<api::Node> nodes;
    for (int i = 0; i < 40; ++i)
      nodes.push_back(node_of("n" + std::to_string(i), {{"zone", std::to_string(random.below(3))}},
                              random.below(4) == 0 ? std::vector<api::Taint>{{"k", "", "PreferNoSchedule", ""}}
                                                   : std::vector<api::Taint>{}));
    std::vector<NodeFacts> facts(nodes.begin(), nodes.end());
    std::vector<const NodeFacts*> pointers;
    for (NodeFacts& one : facts) {
      one.load.add({{"cpu", static_cast<int64_t>(random.below(5)) * 1000}}, {});
      pointers.push_back(&one);
    }
    const api::Pod pod = pod_of(R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
      [{"weight": 7, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["1"]}]}},
       {"weight": 3, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["2"]}]}}]}}})");
    const Ranking ranking = rank(*PodNeeds::of(pod), pointers);
    ASSERT_FALSE(ranking.nodes.empty());
    for (size_t i = 1; i < ranking.nodes.size(); ++i) {
      const RankedNode &before = ranking.nodes[i - 1], &after = ranking.nodes[i];
      EXPECT_TRUE(before.score > after.score || (before.score == after.score && before.index < after.index)) << i;
      EXPECT_GE(after.score, 0);
      EXPECT_LE(before.score, 700);
    }
  }
}

TEST(Rank, SummaryCountsNodesByReason) {
  const api::Node tainted = node_of("t", {}, {{"k", "v", "NoSchedule", ""}}), small = node_of("s"),
                  other = node_of("o");
  std::vector<NodeFacts> facts = {NodeFacts(tainted), NodeFacts(small), NodeFacts(other)};
  std::vector<const NodeFacts*> nodes = {&facts[0], &facts[1], &facts[2]};
  const api::Pod pod = pod_of(R"({"containers": [{"resources": {"requests": {"cpu": "5"}}}]})");
  const Ranking ranking = rank(*PodNeeds::of(pod), nodes);
  EXPECT_THAT(ranking.nodes, IsEmpty());
  EXPECT_EQ(ranking.summary(), "0/3 nodes are available: 1 node(s) had untolerated taint {k: v}, 2 Insufficient cpu.");
  EXPECT_EQ(rank(*PodNeeds::of(pod), {}).summary(), "0/0 nodes are available: there are no nodes.");
}

TEST(Rank, SummaryIsBounded) {
  std::vector<api::Node> nodes;
  for (int i = 0; i < 500; ++i) nodes.push_back(node_of("n", {}, {{"key-" + std::to_string(i), "", "NoSchedule", ""}}));
  std::vector<NodeFacts> facts(nodes.begin(), nodes.end());
  std::vector<const NodeFacts*> pointers;
  for (const NodeFacts& one : facts) pointers.push_back(&one);
  const api::Pod pod = pod_of("{}");
  EXPECT_LE(rank(*PodNeeds::of(pod), pointers).summary().size(), 1024u);
}

TEST(NodeLoadProperty, AddingAndRemovingInAnyOrderEndsEmpty) {
  SeededRandom random(7);
  for (int round = 0; round < 200; ++round) {
    NodeLoad load;
    std::vector<std::pair<Amounts, std::vector<uint16_t>>> pods;
    for (int i = 0; i < 10; ++i)
      pods.push_back(
          {{{"cpu", static_cast<int64_t>(random.below(1000))}, {"memory", static_cast<int64_t>(random.below(5))}},
           {static_cast<uint16_t>(random.below(4))}});
    for (const auto& pod : pods) load.add(pod.first, pod.second);
    while (!pods.empty()) {
      const size_t i = random.below(pods.size());
      load.remove(pods[i].first, pods[i].second);
      pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(i));
    }
    EXPECT_EQ(load.pods(), 0);
    for (const auto& [name, amount] : load.requested()) EXPECT_EQ(amount, 0) << name << " in round " << round;
    for (uint16_t port = 0; port < 4; ++port) EXPECT_FALSE(load.port_taken(port));
  }
}

}  // namespace
}  // namespace dra::placement::placement_test
