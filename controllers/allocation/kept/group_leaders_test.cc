// The leader of a group without visiting the group: the same answer, at a cost that does not grow with the group.
#include <random>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/kept/group_leaders.h"
#include "controllers/allocation/members/group_members.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation::group_leaders_test {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr const char* kGroup = "plugins:default/g";

// Like the manager's view, which knows the sizes of groups, and counts what is visited.
class CountingView : public MemoryView {
 public:
  std::vector<const api::Pod*> pods_of_group(std::string_view key) const override {
    std::vector<const api::Pod*> found = MemoryView::pods_of_group(key);
    visited += found.size();
    return found;
  }
  size_t size_of_group(std::string_view) const override { return size; }
  std::vector<const api::Pod*> started_of_group(std::string_view, size_t) const override { return {}; }

  size_t size = 0;
  mutable size_t visited = 0;
};

class LeadersTest : public AllocationTest {
 protected:
  api::Pod member(int i, int age) {
    api::Pod pod = make_pod("m" + std::to_string(i), {});
    pod.metadata.uid += "-" + std::to_string(++created_);
    pod.metadata.labels[std::string(kGroupLabel)] = "g";
    pod.metadata.creation_timestamp = "2026-01-01T00:00:" + std::to_string(10 + age) + "Z";
    return pod;
  }
  std::string uid_of(const api::Pod* pod) { return pod ? pod->metadata.uid : "none"; }

  CountingView counting;
  int created_ = 0;
};

// Pods come, are ungated, end, are deleted and come again under their old name, in any order.
TEST_F(LeadersTest, TheAnswerIsThatOfAVisit) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 dice(seed);
    GroupLeaders leaders;
    counting.pods.clear();
    for (int step = 0; step < 400; ++step) {
      const int i = static_cast<int>(dice() % 12);
      const std::string key = "default/m" + std::to_string(i);
      const auto found = counting.pods.find(key);
      const api::Pod* changed = nullptr;
      if (found == counting.pods.end()) {
        counting.put(member(i, static_cast<int>(dice() % 40)));
        changed = counting.pod(key);
      } else if (dice() % 3 == 0) {
        counting.pods.erase(found);
      } else {
        api::Pod pod = *counting.pod(key);
        if (dice() % 2 == 0) {
          pod.phase = "Failed";
        } else if (pod.scheduling_gates.empty()) {
          pod.scheduling_gates = {std::string(kAllocationGate)};
        } else {
          pod.scheduling_gates.clear();
        }
        counting.put(pod);
        changed = counting.pod(key);
      }
      counting.size = counting.pods.size();
      ASSERT_EQ(uid_of(leaders.leader_of(counting, kGroup, changed, options)),
                uid_of(leader_of(counting, kGroup, options)))
          << "step " << step;
      if (changed != nullptr) leaders.changed(counting, *changed, options);
      ASSERT_EQ(leaders.has_launched(counting, kGroup, options), launched_of(counting, kGroup, 1, options) > 0)
          << "step " << step;
    }
  }
}

TEST_F(LeadersTest, AFollowerDoesNotVisitItsGroupUntilAMemberIsLaunched) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  api::PodGroup group;
  group.metadata.ns = "default";
  group.metadata.name = "g";
  group.min_count = 150;
  counting.groups[GroupApi::kPlugins].insert_or_assign("default/g", group);
  for (int i = 0; i < 100; ++i) counting.put(member(i, i / 10));
  counting.size = counting.pods.size();
  reconciler.reconcile(counting, pod_key("default/m5"));
  counting.visited = 0;
  for (int i = 20; i < 40; ++i) reconciler.reconcile(counting, pod_key("default/m" + std::to_string(i)));
  EXPECT_EQ(counting.visited, 0u);
  const ReconcileResult leading = reconciler.reconcile(counting, pod_key("default/m0"));
  EXPECT_GE(leading.min_interval.value_or(Duration::zero()), std::chrono::milliseconds(10)) << "members still come";
  // A claim shows that an ungated pod is launched: it has reserved it, and is on its list of users.
  api::Pod ungated = *counting.pod("default/m7");
  ungated.scheduling_gates.clear();
  ungated.resource_claims.push_back({"own", "own", std::nullopt});
  counting.put(ungated);
  EnqueueRequests out;
  reconciler.on_pod(counting, counting.pod("default/m7"), counting.pod("default/m7"), out);
  counting.visited = 0;
  reconciler.reconcile(counting, pod_key("default/m20"));
  EXPECT_EQ(counting.visited, 0u) << "not launched without a claim";
  api::ResourceClaim claim = make_claim("own");
  claim.status.allocation = on("n1", "gpu-0");
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "m7/" + ungated.metadata.uid;
  counting.put(claim);
  reconciler.on_claim(counting, nullptr, &claim, out);
  reconciler.reconcile(counting, pod_key("default/m20"));
  EXPECT_GT(counting.visited, 0u);
}

TEST_F(LeadersTest, APodThatComesDoesNotCostAVisitOfItsGroup) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  for (int i = 0; i < 500; ++i) {
    counting.put(member(i, i / 10));
    counting.size = counting.pods.size();
    EnqueueRequests out;
    reconciler.on_pod(counting, nullptr, counting.pod("default/m" + std::to_string(i)), out);
    EXPECT_EQ(out.keys.back(), pod_key("default/m0")) << "the oldest";
  }
  EXPECT_LE(counting.visited, 2u) << "the first pod's group has one pod";
}

TEST_F(LeadersTest, AClaimOfAllMembersCostsOneVisitAtMost) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  for (int i = 0; i < 500; ++i) {
    api::Pod pod = member(i, i / 10);
    pod.resource_claims.push_back({"shared", "shared", std::nullopt});
    counting.put(pod);
  }
  counting.size = counting.pods.size();
  const api::ResourceClaim claim = make_claim("shared");
  counting.put(claim);
  EnqueueRequests out;
  reconciler.on_claim(counting, &claim, &claim, out);
  EXPECT_EQ(out.keys.size(), 501u);
  EXPECT_LE(counting.visited, 500u);
}

TEST_F(LeadersTest, AGroupThatIsTooLargeIsNeverVisited) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  api::PodGroup group;
  group.metadata.ns = "default";
  group.metadata.name = "g";
  group.min_count = 2;
  counting.groups[GroupApi::kPlugins].insert_or_assign("default/g", group);
  for (int i = 0; i < 3; ++i) counting.put(member(i, i));
  counting.size = kMaxGroupMembers + 1;
  const api::Pod* pod = counting.pod("default/m1");
  EnqueueRequests out;
  reconciler.on_pod(counting, nullptr, pod, out);
  reconciler.on_pod(counting, pod, nullptr, out);
  const ReconcileResult outcome = reconciler.reconcile(counting, pod_key("default/m1"));
  EXPECT_FALSE(outcome.effects.empty()) << "it says why it waits";
  EXPECT_EQ(counting.visited, 0u);
}

}  // namespace

// The youngest first, so that the leader stays.
TEST_F(LeadersTest, MembersThatAreDeletedDoNotEachVisitTheGroup) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  for (int i = 0; i < 100; ++i) counting.put(member(i, i / 10));
  counting.size = counting.pods.size();
  reconciler.reconcile(counting, pod_key("default/m0"));
  counting.visited = 0;
  for (int i = 99; i > 0; --i) {
    const std::string key = "default/m" + std::to_string(i);
    const api::Pod before = *counting.pod(key);
    api::Pod after = before;
    after.metadata.deletion_timestamp = "2026-01-01T01:00:00Z";
    counting.put(after);
    EnqueueRequests out;
    reconciler.on_pod(counting, &before, counting.pod(key), out);
    EXPECT_EQ(out.keys.back(), pod_key("default/m0")) << key;
  }
  EXPECT_LE(counting.visited, 300u);
}

// The entry of managedFields that comes with a condition is no other change. The leader does not read conditions.
TEST_F(LeadersTest, AConditionOfAMemberRunsThatMemberAlone) {
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  for (int i = 0; i < 3; ++i) counting.put(member(i, i));
  counting.size = counting.pods.size();
  const api::Pod before = *counting.pod("default/m2");
  api::Pod after = before;
  after.metadata.resource_version = "77";
  after.metadata.managed_fields.push_back({.manager = "dra-controller-manager"});
  after.conditions.push_back({"PodScheduled", "False", "Unschedulable", "", "", 0});
  counting.put(after);
  EnqueueRequests of_condition;
  reconciler.on_pod(counting, &before, counting.pod("default/m2"), of_condition);
  EXPECT_EQ(of_condition.keys, std::vector<Key>{pod_key("default/m2")});
  after.metadata.labels["a"] = "b";
  EnqueueRequests of_more;
  reconciler.on_pod(counting, &before, &after, of_more);
  EXPECT_EQ(of_more.keys.back(), pod_key("default/m0"));
}

}  // namespace dra::allocation::group_leaders_test
