// Groups of groups: all of them that are needed together, or none; the rest join later.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/protocol/wholes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

class WholeTest : public AllocationTest {
 protected:
  WholeTest() { quiet_claims = true; }

  void group(const std::string& name, int32_t min_count, const std::string& min_groups = "") {
    api::PodGroup made = test::named<api::PodGroup>(name);
    if (min_count > 0) made.min_count = min_count;
    if (!min_groups.empty())
      made.metadata.annotations[std::string(kMinGroupsAnnotation)] = min_groups;
    else
      made.metadata.annotations[std::string(kParentGroupAnnotation)] = "whole";
    view.groups[GroupApi::kCore].insert_or_assign("default/" + name, made);
  }
  // A member of the group; later letters are younger. Its claim is "c<name>".
  void member(const std::string& name, const std::string& of) {
    api::Pod pod = make_pod(name, {"c" + name});
    pod.metadata.creation_timestamp = "2026-01-01T00:00:0" + std::to_string(name[0] - 'a') + "Z";
    pod.pod_group_name = of;
    view.put(pod);
    put(make_claim("c" + name));
  }
  api::ResourceClaim hold(const std::string& name, const std::string& node, const std::string& device) {
    api::ResourceClaim claim = allocated("c" + name, node, device, true, {name});
    claim.status.allocation->allocation_timestamp = format_rfc3339(view.time);
    put(claim);
    return claim;
  }
};

// Four devices: the head and two groups of two workers do not fit, whatever fits alone.
TEST_F(WholeTest, AllOrNothing) {
  group("whole", 0, "3");
  group("head", 0);
  group("w1", 2);
  group("w2", 2);
  for (const auto& [name, of] :
       {std::pair("a", "head"), std::pair("b", "w1"), std::pair("c", "w1"), std::pair("d", "w2"), std::pair("e", "w2")})
    member(name, of);
  EXPECT_NE(pass("a").find("event GroupWaits"), std::string::npos);
  EXPECT_NE(event().note.find("group default/whole: 3 of its groups must be placed together"), std::string::npos)
      << event().note;
  EXPECT_EQ(pass("b"), "");
  ASSERT_FALSE(last.enqueue.empty());
  EXPECT_EQ(last.enqueue.front().object, "default/a") << "one pod is reconciled for all";
  inventory.apply_slice(test::local_slice("gpu.example.com", "n1", "gpu-", 3));
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc, allocate cd, allocate ce");
}

// The leader enqueues the others when it says something new; if they enqueued it in turn, a reason that changes from
// run to run would keep them running.
TEST_F(WholeTest, WhoHearsANewReasonDoesNotBeginTheLeaderAnew) {
  group("whole", 0, "2");
  group("w1", 2);
  group("w2", 4);
  for (const auto& [name, of] : {std::pair("a", "w1"), std::pair("b", "w1"), std::pair("c", "w2"), std::pair("d", "w2"),
                                 std::pair("e", "w2"), std::pair("f", "w2")})
    member(name, of);
  EXPECT_NE(pass("a").find("event GroupWaits"), std::string::npos);
  keep_notes();
  pass("b");
  ASSERT_EQ(last.enqueue.size(), 1u) << "a new pod";
  keep_notes();
  pass("b");
  EXPECT_EQ(last.enqueue.size(), 1u) << "something of the pod has changed";
  view.notes[{"a-uid", "group"}] = {"nowhere: group default/whole: other words", view.time};
  pass("b");
  EXPECT_TRUE(last.enqueue.empty());
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(5)));
  keep_notes();
  pass("b");
  EXPECT_EQ(last.enqueue.size(), 1u);
}

TEST_F(WholeTest, SomeOfTheGroupsAreEnoughAndTheRestJoinLater) {
  group("whole", 0, "2");
  group("head", 0);
  group("w1", 2);
  group("w2", 2);
  for (const auto& [name, of] :
       {std::pair("a", "head"), std::pair("b", "w1"), std::pair("c", "w1"), std::pair("d", "w2"), std::pair("e", "w2")})
    member(name, of);
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc");
  hold("a", "n1", "gpu-0");
  hold("b", "n1", "gpu-1");
  hold("c", "n2", "gpu-0");
  EXPECT_EQ(pass("a"), "prove ca, prove cb, prove cc");
  // Launched: the others wait as a group of their own.
  for (const char* name : {"a", "b", "c"}) {
    proven(*view.claim(std::string("default/c") + name), name);
    api::Pod started = view.pods.at(std::string("default/") + name);
    started.scheduling_gates.clear();
    started.node_name = "n1";
    view.put(started);
  }
  EXPECT_NE(pass("d").find("event GroupWaits"), std::string::npos);
  EXPECT_NE(event().note.find("group default/w2: 2 members must be placed together"), std::string::npos)
      << event().note;
  inventory.apply_slice(test::local_slice("gpu.example.com", "n2", "gpu-", 3));
  EXPECT_EQ(pass("d"), "allocate cd, allocate ce");
}

TEST_F(WholeTest, AGroupThatIsNotCompleteGivesBackWhatItHolds) {
  group("whole", 0, "1");
  group("w1", 2);
  group("w2", 2);
  for (const auto& [name, of] :
       {std::pair("a", "w1"), std::pair("b", "w1"), std::pair("c", "w2"), std::pair("d", "w2")})
    member(name, of);
  hold("a", "n1", "gpu-0");  // the writes for b were lost
  hold("c", "n1", "gpu-1");
  hold("d", "n2", "gpu-0");
  EXPECT_EQ(pass("a"), "withdraw ca");
}

TEST_F(WholeTest, UntilEnoughGroupsHaveTheirMembersNobodyIsPlaced) {
  group("whole", 0, "2");
  group("w1", 2);
  group("w2", 2);
  for (const auto& [name, of] : {std::pair("a", "w1"), std::pair("b", "w1"), std::pair("c", "w2")}) member(name, of);
  view.time += std::chrono::hours(24 * 365 * 10);
  EXPECT_EQ(pass("a").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("1 of 2 groups are ready; group default/w2 has 1 of 2 members"), std::string::npos)
      << event().note;
  member("d", "w2");
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc, allocate cd");
}

TEST_F(WholeTest, EachGroupInADomainOfItsOwnInsideThatOfTheWhole) {
  group("whole", 0, "2");
  group("w1", 2);
  group("w2", 2);
  for (const char* name : {"w1", "w2"})
    view.groups[GroupApi::kCore].at("default/" + std::string(name)).topology_key = "rack";
  for (const auto& [name, of] :
       {std::pair("a", "w1"), std::pair("b", "w1"), std::pair("c", "w2"), std::pair("d", "w2")})
    member(name, of);
  for (const char* node : {"n1", "n2"}) {
    api::Node made;
    made.metadata.name = node;
    made.metadata.labels["rack"] = node;
    inventory.apply_node(node, made.metadata.labels);
    view.put(made);
  }
  ASSERT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc, allocate cd");
  const auto node_of = [&](size_t i) {
    return body(i)["status"]["allocation"]["devices"]["results"][0]["pool"].get<std::string>();
  };
  EXPECT_EQ(node_of(0), node_of(1));
  EXPECT_EQ(node_of(2), node_of(3));
  EXPECT_NE(node_of(0), node_of(2)) << "a rack has two devices";
  // The search is exact: with one device less in a rack, none.
  allocated("other", "n2", "gpu-0", false, {"someone"});
  EXPECT_EQ(pass("a").find("allocate"), std::string::npos);
}

// The whole's domain counts for pods without claims, too; one of a child is refused by name, not ignored.
TEST_F(WholeTest, ADomainOfAChildNeedsClaims) {
  group("whole", 0, "2");
  group("w1", 2);
  group("w2", 1);
  for (const auto& [name, of] : {std::pair("a", "w1"), std::pair("b", "w1"), std::pair("c", "w2")}) member(name, of);
  api::Pod bare = make_pod("b", {});
  bare.metadata.creation_timestamp = "2026-01-01T00:00:01Z";
  bare.pod_group_name = "w1";
  view.put(bare);
  api::PodGroup& child = view.groups[GroupApi::kCore].at("default/w1");
  child.topology_key = "rack";
  EXPECT_EQ(pass("a").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("pod b has no claims, and that group default/w1 is in one domain of rack is only kept"),
            std::string::npos)
      << event().note;
  child.topology_key.clear();
  EXPECT_EQ(pass("a"), "allocate ca, allocate cc");
}

TEST_F(WholeTest, RailsOfAllMembersAreRefusedByName) {
  group("whole", 0, "2");
  group("w1", 1);
  group("w2", 1);
  for (const auto& [name, of] : {std::pair("a", "w1"), std::pair("b", "w2")}) member(name, of);
  api::Pod asking = *view.pod("default/b");
  asking.metadata.annotations["dra-controller-manager/same-across-members"] = "cb/gpu by rail.test/rail";
  view.put(asking);
  EXPECT_EQ(pass("a").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("same-across-members of one of them cannot be combined with that"), std::string::npos)
      << event().note;
}

}  // namespace
}  // namespace dra::allocation
