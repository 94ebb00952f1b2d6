// Groups that compete for devices: each is placed whole, none blocks another, and nothing is held unmarked for longer
// than the timeout.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/integration/cluster.h"
#include "test/integration/groups.h"

namespace dra::integration::groups_test {

using namespace std::chrono_literals;

struct Group {
  std::string name;
  std::vector<std::string> pods;
};

class Groups {
 public:
  Groups(Cluster& cluster, bool bind) : cluster_(cluster), bind_(bind) {}

  void add(const std::string& name, size_t size) {
    PodOptions options;
    options.restart_policy = "Never";
    options.run_seconds = 20;
    options.gated = !bind_;
    if (bind_) options.scheduler = "dra";
    Group group{name, {}};
    for (size_t i = 0; i < size; ++i) {
      group.pods.push_back(name + "-" + std::to_string(i));
      cluster_.api().create(
          member_of_job(pod(group.pods.back(), {from_template("gpu", "one-gpu")}, options), name, size));
    }
    groups_.push_back(std::move(group));
  }
  // What is wrong at this moment, or empty.
  std::string look() {
    const WallTime now = cluster_.plane().clock().wall_now();
    for (const Group& group : groups_) {
      size_t bound = 0, ready = 0;
      for (const std::string& name : group.pods) {
        const auto known = cluster_.watchdog().pod("default/" + name);
        if (!known) continue;
        const bool here = !known->node_name.empty();
        bound += here;
        bool marked = true;
        for (const std::string& key : protocol::claim_keys_of(*known)) {
          const auto claim = cluster_.watchdog().claim(key);
          marked = marked && claim && protocol::is_proven(*claim);
          Timestamp at;
          if (!claim || !claim->status.allocation || protocol::is_proven(*claim) ||
              !parse_rfc3339(claim->status.allocation->allocation_timestamp, at))
            continue;
          if (now - at > 33s) return key + " is held without a mark for longer than 30 s";
        }
        ready += here || marked;
      }
      if (bound > 0 && ready < group.pods.size() && !launched_.contains(group.name))
        return group.name + ": " + std::to_string(bound) + " bound, and only " + std::to_string(ready) + " marked";
      if (bound == group.pods.size()) launched_.insert(group.name);
    }
    return "";
  }
  size_t launched() const { return launched_.size(); }

 private:
  Cluster& cluster_;
  const bool bind_;
  std::vector<Group> groups_;
  std::set<std::string> launched_;
};

void contend(bool bind, size_t managers) {
  ClusterOptions options;
  options.components.scheduler_allocates = false;
  Cluster cluster(options);
  if (!cluster.plane().simulated()) GTEST_SKIP() << "minutes of simulated time";
  for (size_t i = 0; i < managers; ++i) {
    ProcessOptions process;
    process.manager = Cluster::manager_options();
    if (bind) {
      process.manager.settings.scheduling = reconcile::Scheduling::kBind;
      process.manager.settings.scheduler_names = {"dra"};
    }
    cluster.start("m" + std::to_string(i), process);
  }
  cluster.api().create(claim_template("one-gpu"));
  Groups groups(cluster, bind);
  for (size_t i = 0; i < 20; ++i) groups.add("g" + std::to_string(i), 2 + i % 7);  // 16 devices
  std::string wrong;
  EXPECT_TRUE(cluster.eventually(
      [&] {
        if (wrong.empty()) wrong = groups.look();
        return groups.launched() == 20 || !wrong.empty();
      },
      20min));
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(groups.launched(), 20u);
}

TEST(Groups, TwentyContendInGateMode) {
  contend(false, 1);
}
TEST(Groups, TwentyContendInBindMode) {
  contend(true, 1);
}
TEST(Groups, TwentyContendUnderTwoManagersThatBothLead) {
  contend(false, 2);
}

// Kube-scheduler allocates nothing.
ClusterOptions two_nodes_of_two() {
  ClusterOptions options;
  options.components.scheduler_allocates = false;
  options.nodes = 2;
  options.devices = 2;
  return options;
}

// A pod for one device that ends by itself; `member`: one of the four of Job "train".
void create_pod(Cluster& cluster, const std::string& name, int seconds, bool member) {
  PodOptions how;
  how.restart_policy = "Never";
  how.run_seconds = seconds;
  const Json one = pod(name, {from_template("gpu", "one-gpu")}, how);
  cluster.api().create(member ? member_of_job(one, "train", 4) : one);
}

// A group has every device and another pod waits for one: a replacement for an ended member gets its place, although
// its device is free for ten seconds before it is created, as with a Job controller's back-off.
TEST(Groups, AMemberThatComesAgainKeepsItsPlace) {
  Cluster cluster(two_nodes_of_two());
  if (!cluster.plane().simulated()) GTEST_SKIP() << "minutes of simulated time";
  cluster.start();
  cluster.api().create(claim_template("one-gpu"));
  const auto create = [&](const std::string& name, bool member) { create_pod(cluster, name, 1000, member); };
  const auto bound = [&](const std::string& name) {
    const auto known = cluster.watchdog().pod("default/" + name);
    return known && !known->node_name.empty();
  };
  for (int i = 0; i < 4; ++i) create("train-" + std::to_string(i), true);
  ASSERT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == 4; }, 30s));
  create("single", false);
  cluster.pass(5s);
  ASSERT_FALSE(bound("single"));
  for (int round = 0; round < 3; ++round) {
    cluster.api().remove_now("/api/v1/namespaces/default/pods/train-" + std::to_string(round));
    cluster.pass(10s);
    ASSERT_FALSE(bound("single")) << round;
    const std::string again = "train-" + std::to_string(4 + round);
    create(again, true);
    EXPECT_TRUE(cluster.eventually([&] { return bound(again); }, 5s)) << round;
  }
  // A member that is not replaced leaves its device to others.
  cluster.api().remove_now("/api/v1/namespaces/default/pods/train-3");
  cluster.pass(25s);
  EXPECT_FALSE(bound("single"));
  EXPECT_TRUE(cluster.eventually([&] { return bound("single"); }, 10s)) << "--gang-hold-timeout";
}

// Small pods that come and go would take each device that becomes free before a group of four sees all four: from
// --gang-starvation-after on the group gets them.
TEST(Groups, SmallPodsDoNotKeepAGroupWaitingForever) {
  Cluster cluster(two_nodes_of_two());
  if (!cluster.plane().simulated()) GTEST_SKIP() << "minutes of simulated time";
  cluster.start();
  cluster.api().create(claim_template("one-gpu"));
  const auto create = [&](const std::string& name, int seconds, bool member) {
    create_pod(cluster, name, seconds, member);
  };
  const auto started = [&] {
    size_t bound = 0;
    for (int i = 0; i < 4; ++i) {
      const auto known = cluster.watchdog().pod("default/train-" + std::to_string(i));
      bound += known && !known->node_name.empty();
    }
    return bound == 4;
  };
  int small = 0;
  const auto for_a_while = [&](Duration time) {
    for (Duration passed{}; passed < time && !started(); passed += 20s) {
      create("small-" + std::to_string(small++), 50, false);
      cluster.pass(20s);
    }
  };
  for_a_while(60s);
  for (int i = 0; i < 4; ++i) create("train-" + std::to_string(i), 1000, true);
  for_a_while(280s);
  ASSERT_FALSE(started()) << "two or three small pods run all the time";
  for_a_while(180s);
  EXPECT_TRUE(started());
}

// A label of a plugin that is not installed here must not block pods.
TEST(Groups, WithoutPodGroupsThePodIsPlacedAlone) {
  ClusterOptions options;
  options.embedded = true;
  Cluster cluster(options);
  cluster.start();
  cluster.api().create(claim_template("one-gpu"));
  for (const bool label : {true, false}) {
    Json one = pod(label ? "labelled" : "plain", {from_template("gpu", "one-gpu")});
    if (label) one["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g";
    cluster.api().create(one);
  }
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().bound_pods() == 2; }, 30s));
  EXPECT_TRUE(cluster.eventually(
      [&] {
        for (const Json& event : cluster.api().list("Event"))
          if (event.value("reason", "") == "GroupIgnored") return true;
        return false;
      },
      30s));
}

}  // namespace dra::integration::groups_test
