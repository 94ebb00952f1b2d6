// Choices that are kept for pods of one shape, and answers about a node that still hold, beside random changes.
#include <map>

#include "pkg/base/random.h"
#include "pkg/nodes/choice_cache.h"
#include "pkg/nodes/node_tracker_fixture.h"

namespace dra::nodes::node_tracker_test {

using namespace std::chrono_literals;

namespace {

std::string text_of(const NodeChoice& choice) {
  std::string text;
  for (size_t i = 0; i < choice.nodes.size(); ++i)
    text += std::string(choice.nodes[i]) + "/" + std::to_string(choice.facts.at(i).free_cpu_milli) + "/" +
            std::to_string(choice.facts.at(i).preferred) + " ";
  return text + std::to_string(choice.cpu_milli) + choice.why_none + (choice.depends_on_capacity ? " room" : "") +
         (choice.depends_on_pods ? " pods" : "");
}

class KeptChoices : public NodeTrackerTest {
 protected:
  KeptChoices() {
    tracker.set_known(Facts::kNamespaces, true, "");
    tracker.set_known(Facts::kWorkloads, true, "");
    for (int i = 0; i < 24; ++i) nodes[node_name(i)] = fresh_node(node_name(i));
    for (const auto& [name, node] : nodes) tracker.set_node(node);
  }
  static std::string node_name(int i) { return "w" + std::to_string(100 + i); }
  static std::shared_ptr<const api::Node> fresh_node(const std::string& name) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels = {{"kubernetes.io/hostname", name}, {"disk", "hdd"}};
    node.allocatable = {{"cpu", "8"}, {"memory", "4Gi"}, {"pods", "6"}};
    return std::make_shared<const api::Node>(node);
  }
  static api::Pod shaped(int shape, const std::string& name) {
    api::Pod made = pod(name, "", std::to_string(shape % 3 + 1));
    made.metadata.labels["shape"] = std::to_string(shape);
    if (shape % 2 == 1) made.node_selector["disk"] = "ssd";
    if (shape >= 4) made.containers[0].image = "image-" + std::to_string(shape % 2);
    if (shape == 5) made.tolerations.push_back({"dedicated", "Exists", "", "NoSchedule", {}});
    return made;
  }
  void change_a_node(api::Node node) {
    switch (random.below(7)) {
      case 0:
        node.unschedulable = !node.unschedulable;
        break;
      case 1:
        node.metadata.labels["disk"] = random.below(2) == 0 ? "ssd" : "hdd";
        break;
      case 2:
        node.taints = {{"dedicated", "x", "NoSchedule", ""}};
        break;
      case 3:
        node.taints.clear();
        break;
      case 4:
        node.allocatable["cpu"] = std::to_string(4 + random.below(8));
        break;
      case 5:
        node.images = {{api::image_hash("image-" + std::to_string(random.below(2)) + ":latest"), 400 << 20}};
        break;
      default:
        if (random.below(10) == 0) node.taints = {{"slow", "x", "PreferNoSchedule", ""}};
    }
    nodes[node.metadata.name] = std::make_shared<const api::Node>(node);
    tracker.set_node(nodes[node.metadata.name]);
  }
  void change_something() {
    const std::string node = node_name(static_cast<int>(random.below(26)));
    const uint64_t what = random.below(20);
    if (what < 8) {
      tracker.assume(shaped(static_cast<int>(random.below(7)), "p" + std::to_string(random.below(200))), node);
    } else if (what < 14) {
      tracker.remove_pod("p" + std::to_string(random.below(200)));
    } else if (what < 18) {
      change_a_node(nodes.contains(node) ? *nodes[node] : *fresh_node(node));
    } else if (what == 18) {
      nodes.erase(node);
      tracker.remove_node(node);
    } else {
      api::Pod repels = pod("r" + std::to_string(random.below(3)));
      repels.metadata.labels["app"] = "r";
      api::PodAffinityTerm term;
      term.topology_key = random.below(2) == 0 ? "kubernetes.io/hostname" : "disk";
      term.label_selector = api::LabelSelector{{{"shape", "2"}}, {}};
      repels.pod_anti_affinity.required.push_back(term);
      random.below(2) == 0 ? tracker.assume(repels, node) : tracker.remove_pod(repels.metadata.uid);
    }
  }
  SeededRandom random{17};
  std::map<std::string, std::shared_ptr<const api::Node>> nodes;
};

// Who keeps a decision keeps it as it was; while nobody does, it is brought up to date in place.
TEST_F(KeptChoices, ADecisionThatWasHandedOutNeverChanges) {
  placement::Cluster cluster;
  for (const auto& [name, node] : nodes) cluster.set_node(node);
  const auto cordon = [&](const std::string& name, bool cordoned) {
    api::Node changed = *nodes.at(name);
    changed.unschedulable = cordoned;
    cluster.set_node(std::make_shared<const api::Node>(changed));
  };
  const api::Pod pod = shaped(0, "p");  // the needs refer to it
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  ASSERT_TRUE(needs);
  ChoiceCache cache;
  const auto now = [&] { return cache.of(cluster, *needs, "shape", nullptr); };
  ASSERT_NE(now(), nullptr);
  auto handed_out = now()->decision;
  EXPECT_EQ(handed_out->nodes.size(), nodes.size());
  cordon(node_name(3), true);
  ASSERT_NE(now(), nullptr);
  EXPECT_EQ(now()->decision->nodes.size(), nodes.size() - 1);
  EXPECT_EQ(handed_out->nodes.size(), nodes.size());
  handed_out.reset();
  const placement::Decision* const where = now()->decision.get();
  cordon(node_name(3), false);
  EXPECT_EQ(now()->decision->nodes.size(), nodes.size());
  EXPECT_EQ(now()->decision.get(), where) << "nobody has it: no copy";
}

TEST_F(KeptChoices, AreWhatAWholeDecisionWouldSay) {
  size_t some = 0;
  for (int round = 0; round < 4000; ++round) {
    for (uint64_t changes = random.below(4); changes > 0; --changes) change_something();
    // All seven shapes take turns, more than are kept; mostly few of them.
    const int shape = static_cast<int>(random.below(10) == 0 ? random.below(7) : random.below(3));
    const api::Pod wanted = shaped(shape, "new");
    const NodeChoice kept = tracker.choose(wanted, {});
    const std::string text = text_of(kept);
    some += kept.nodes.empty() ? 0 : 1;
    ASSERT_EQ(text, text_of(tracker.choose(wanted, tracker.all_nodes()))) << "round " << round << ", shape " << shape;
  }
  EXPECT_GT(some, 2000u);
}

// What lets a search skip the question about a node (NodeTracker::still_takes).
TEST_F(KeptChoices, ANodeThatStillTakesAPodIsOneThatWouldBeChosen) {
  struct Accepted {
    api::Pod pod;
    std::string node;
    uint64_t version;
  };
  std::vector<Accepted> accepted;
  size_t taken = 0, unknown = 0;
  for (int round = 0; round < 12'000; ++round) {
    clock.advance(1s);
    change_something();
    const std::string somewhere = node_name(static_cast<int>(random.below(24)));
    const uint64_t what = random.below(200);
    if (what == 0) {
      tracker.avoid("new-" + std::to_string(random.below(3)), {somewhere}, 10s, "refused");
    } else if (what == 1) {
      api::Pod nominated = shaped(0, "nominated-" + std::to_string(random.below(5)));
      if (random.below(2) == 0) nominated.nominated_node_name = somewhere;
      tracker.set_pod(nominated);
    } else if (what < 50) {
      const api::Pod supposed = shaped(2, "supposed");
      const uint64_t before = tracker.version();
      tracker.suppose(supposed, somewhere);
      tracker.stop_supposing(supposed);
      ASSERT_EQ(tracker.version(), before);
    }
    std::erase_if(accepted, [&](const Accepted& one) {
      if (!tracker.still_takes(one.pod, one.node, one.version)) return ++unknown, true;
      ++taken;
      EXPECT_FALSE(tracker.choose(one.pod, {one.node}).nodes.empty()) << "round " << round << ", " << one.node;
      return false;
    });
    const api::Pod wanted = shaped(static_cast<int>(random.below(7)), "new-" + std::to_string(random.below(3)));
    if (accepted.size() < 40 && !tracker.choose(wanted, {somewhere}).nodes.empty())
      accepted.push_back({wanted, somewhere, tracker.version()});
  }
  EXPECT_GT(taken, 5'000u);
  EXPECT_GT(unknown, 500u);
}

TEST_F(KeptChoices, AfterChangesOfVeryManyNodesNothingIsSaidAboutAnOldVersion) {
  const api::Pod wanted = shaped(0, "new");
  const uint64_t version = tracker.version();
  const std::string node = node_name(0);
  EXPECT_TRUE(tracker.still_takes(wanted, node, version));
  for (size_t i = 0; i < NodeTracker::kMaxChanged - 26; ++i) tracker.set_node(fresh_node("other-" + std::to_string(i)));
  EXPECT_TRUE(tracker.still_takes(wanted, node, version));
  tracker.set_node(fresh_node("one-more"));
  EXPECT_FALSE(tracker.still_takes(wanted, node, version));
  EXPECT_TRUE(tracker.still_takes(wanted, node, tracker.version()));
}

TEST_F(KeptChoices, ChangesThatWereForgottenAreNotMissed) {
  const api::Pod wanted = shaped(0, "new");
  EXPECT_EQ(tracker.choose(wanted, {}).nodes.size(), 26u) << "24, n1 and n2";
  // More changes of one node than the cluster remembers, after one of another.
  tracker.assume(shaped(2, "big-1"), "w100");
  tracker.assume(shaped(2, "big-2"), "w100");
  tracker.assume(shaped(2, "big-3"), "w100");
  for (size_t i = 0; i < placement::Cluster::kMaxLog; ++i) {
    tracker.assume(shaped(0, "p"), "w101");
    tracker.remove_pod("p");
  }
  EXPECT_EQ(text_of(tracker.choose(wanted, {})), text_of(tracker.choose(wanted, tracker.all_nodes())));
}

}  // namespace
}  // namespace dra::nodes::node_tracker_test
