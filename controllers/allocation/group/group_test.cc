// Pods of groups: decided together, marked together, ungated together.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/members/group_members.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

class GroupTest : public AllocationTest {
 protected:
  GroupTest() { quiet_claims = true; }

  // A member of Job "train", whose pods say `count`; later letters are younger. Its claim is "c<name>".
  api::Pod member(const std::string& name, const std::string& count = "2", bool gated = true) {
    api::Pod pod = make_pod(name, {"c" + name}, gated);
    if (!gated) pod.scheduler_name = "ours";
    pod.metadata.creation_timestamp = "2026-01-01T00:00:0" + std::to_string(name[0] - 'a') + "Z";
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = count;
    return pod;
  }
  void put_members(const std::string& names, const std::string& count = "2", bool gated = true) {
    for (const char name : names) {
      view.put(member(std::string(1, name), count, gated));
      put(make_claim("c" + std::string(1, name)));
    }
  }
  // We have allocated the member's claim, at the current time of the view.
  api::ResourceClaim hold(const std::string& name, const std::string& node, const std::string& device) {
    api::ResourceClaim claim = allocated("c" + name, node, device, true, {name});
    claim.status.allocation->allocation_timestamp = format_rfc3339(view.time);
    put(claim);
    return claim;
  }
  // The watch still has the claim in an older version.
  void lag(const api::ResourceClaim& claim) {
    api::ResourceClaim old = claim;
    old.metadata.resource_version = "1";
    view.streamed_claims.insert_or_assign(claim.metadata.key(), old);
  }
};

// One member is reconciled for all: what its requests wait for, the others wait for.
TEST_F(GroupTest, TheOthersWaitWithTheMemberThatIsReconciledForAll) {
  put_members("abc", "3");
  view.put(make_pod("alone", {}));
  api::Pod gone = member("d", "3");
  gone.phase = "Failed";
  view.put(gone);
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  const std::vector<Key> with = reconciler.wait_with(view, pod_key("default/a"));
  ASSERT_EQ(with.size(), 2u);
  EXPECT_EQ(std::set<std::string>({with[0].object, with[1].object}), std::set<std::string>({"default/b", "default/c"}));
  EXPECT_TRUE(reconciler.wait_with(view, pod_key("default/b")).empty());
  EXPECT_TRUE(reconciler.wait_with(view, pod_key("default/alone")).empty());
  EXPECT_TRUE(reconciler.wait_with(view, pod_key("default/nobody")).empty());
}

TEST_F(GroupTest, OnePassDecidesAll) {
  put_members("abc", "3");
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc");
  EXPECT_EQ(pass("b"), "");
  EXPECT_EQ(pass("c"), "");
}

// So many bindings at once would be one long task; the others are ready too, and follow when one has started.
TEST_F(GroupTest, OfALargeGroupTheFirstMembersGoTogetherAndTheOthersFollow) {
  const size_t count = 300;
  options.mode = Mode::kBind;
  inventory.apply_slice(test::local_slice("gpu.example.com", "n1", "gpu-", count));
  const auto name = [](size_t i) { return "m" + std::to_string(1000 + i); };
  for (size_t i = 0; i < count; ++i) {
    api::Pod pod = member("a", std::to_string(count), false);
    pod.metadata.name = name(i);
    pod.metadata.uid = name(i) + "-uid";
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(1000 - i));
    pod.resource_claims = {{"c", "c" + name(i), std::nullopt}};
    view.put(pod);
    proven(hold(name(i), "n1", "gpu-" + std::to_string(i)), name(i));
  }
  const auto bindings = [&] {
    std::set<std::string> bound;
    for (const Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->purpose == "bind")
        bound.insert(write->object.name);
    return bound;
  };
  nodes.refused = {"n1"};
  pass(name(0));
  EXPECT_TRUE(bindings().empty()) << "none goes while one cannot";
  nodes.refused.clear();
  pass(name(0));
  const std::set<std::string> first = bindings();
  EXPECT_EQ(first.size(), kBoundAtOnce);
  pass(name(count - 1));
  EXPECT_TRUE(bindings().empty()) << "nothing shows yet that the group was launched";
  const api::Pod waiting = view.pods.at("default/" + name(0));
  api::Pod started = waiting;
  started.node_name = "n1";
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  (void)reconciler.reconcile(view, pod_key("default/" + name(count - 1)));  // looks whether another one has started
  view.put(started);
  // Two at once, as after a new list.
  api::Pod second = view.pods.at("default/" + name(1));
  second.node_name = "n1";
  view.put(second);
  EnqueueRequests out;
  reconciler.on_pod(view, &waiting, &started, out);
  std::set<std::string> now, later;
  for (const Key& key : out.keys) now.insert(key.object);
  for (const auto& [key, delay] : out.delayed) later.insert(key.object);
  EXPECT_TRUE(now.contains("default/" + name(count - 1)));
  EXPECT_FALSE(now.contains("default/" + name(5))) << "the leader's run is binding it";
  EXPECT_TRUE(later.contains("default/" + name(5)));
  EXPECT_GE(now.size() + later.size(), count - 2);
  for (size_t i = first.size(); i < count; ++i) {
    pass(name(i));
    EXPECT_EQ(bindings(), std::set<std::string>{name(i)});
  }
}

TEST_F(GroupTest, AClaimThatManyMembersShareEnqueuesTheirLeaderAlone) {
  const std::string names = "abcdefghijklmnop";
  put(make_claim("shared"));
  for (const char name : names) {
    api::Pod pod = member(std::string(1, name), "16");
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(100 - name + 'a'));
    pod.resource_claims = {{"all", "shared", std::nullopt}};
    view.put(pod);
  }
  view.put(make_pod("single", {"shared"}));
  const auto enqueued = [&] {
    test::WholeController reconciler(parts(options, inventory, allocator, nodes));
    EnqueueRequests out;
    const api::ResourceClaim& claim = view.claims.at("default/shared");
    reconciler.on_claim(view, &claim, &claim, out);
    std::set<std::string> keys;
    for (const Key& key : out.keys) keys.insert(key.object);
    return keys;
  };
  EXPECT_EQ(enqueued(), (std::set<std::string>{"default/a", "default/single"}));
  api::Pod started = view.pods.at("default/p");
  started.scheduling_gates.clear();
  started.node_name = "n1";
  view.put(started);
  EXPECT_GE(enqueued().size(), names.size()) << "a launched group's members join one by one";
}

TEST_F(GroupTest, NothingIsWrittenUnlessMinCountMembersFit) {
  put_members("abcde", "5");  // four devices
  EXPECT_EQ(pass("a"), "event GroupWaits, parked");
  EXPECT_NE(event().note.find("job default/train: 5 members must be placed together"), std::string::npos)
      << event().note;
  remember();
  EXPECT_EQ(pass("a"), "parked");
  put_members("e", "4");
  put_members("abcd", "4");
  EXPECT_EQ(pass("a"), "allocate ca, allocate cb, allocate cc, allocate cd");
}

TEST_F(GroupTest, TooFewMembersWaitAndHoldNothing) {
  put_members("ab", "3");
  EXPECT_EQ(pass("a"), "event GroupWaits");
  EXPECT_NE(event().note.find("2 of 3 members are ready"), std::string::npos) << event().note;
  for (const auto& [name, age] : {std::pair{"a", 60}, std::pair{"b", 4}}) {
    api::Pod pod = member(name, "3");
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(age));
    view.put(pod);
  }
  view.emitted.clear();
  EXPECT_EQ(pass("a"), "") << "others may be on their way";
  EXPECT_EQ(last.requeue_after, std::chrono::seconds(6));
  hold("b", "n1", "gpu-0");  // decided when there were three members
  EXPECT_EQ(pass("a"), "withdraw cb");
}

TEST_F(GroupTest, FiguresAloneAreNoNews) {
  put_members("ab", "4");
  EXPECT_EQ(pass("a"), "event GroupWaits");
  remember();
  put_members("c", "4");
  EXPECT_EQ(pass("a"), "") << "3 of 4 members are ready";
}

// The cause that a pod of no group would get.
TEST_F(GroupTest, WhatKeepsEvenASingleMemberIsNamed) {
  put_members("ab");
  const std::vector<std::string> names = nodes.names;
  nodes.refused = {names.begin(), names.end()};
  pass("a");
  EXPECT_NE(event().note.find("one member alone does not fit either: 0/2 nodes are available: 2 Insufficient cpu"),
            std::string::npos)
      << event().note;
  nodes.refused.clear();
  view.emitted.clear();
  for (const char* claim : {"ca", "cb"}) {
    api::ResourceClaim fails = make_claim(claim);
    fails.spec.requests[0].exactly->selectors = {"device.attributes[\"none\"].x == 1"};
    put(fails);
  }
  pass("a");
  EXPECT_NE(event().note.find("on which a selector fails"), std::string::npos) << event().note;
  // Where a member alone would fit, the group is the reason.
  view.emitted.clear();
  view.pods.clear();
  put_members("abcdef", "6");
  pass("a");
  EXPECT_EQ(event().note.find("alone"), std::string::npos) << event().note;
}

TEST_F(GroupTest, AClassThatDoesNotExistIsTheReason) {
  put_members("ab");
  for (const char* name : {"ca", "cb"}) {
    api::ResourceClaim claim = make_claim(name);
    claim.spec.requests[0].exactly->device_class_name = "none";
    put(claim);
  }
  EXPECT_EQ(pass("a"), "event GroupWaits, parked");
  EXPECT_NE(event().note.find("\"none\""), std::string::npos) << event().note;
  EXPECT_EQ(event().note.find("never"), std::string::npos) << event().note;
}

TEST_F(GroupTest, NoMemberIsMarkedBeforeAllAreAllocated) {
  put_members("ab");
  hold("a", "n1", "gpu-0");
  EXPECT_EQ(pass("a"), "allocate cb");  // continues where a crash interrupted it
  const api::ResourceClaim b = hold("b", "n1", "gpu-1");
  lag(b);
  EXPECT_EQ(pass("a"), "");
  EXPECT_LE(last.requeue_after.value_or(std::chrono::hours(1)), options.gang_hold_timeout);
  view.streamed_claims.clear();
  EXPECT_EQ(pass("b"), "");
  EXPECT_EQ(pass("a"), "prove ca, prove cb");
}

TEST_F(GroupTest, HoldsThatCannotBeCompletedGoBackTogether) {
  put_members("abc", "3");
  hold("a", "n1", "gpu-0");
  hold("b", "n1", "gpu-1");
  nodes.refused = {"n2"};
  EXPECT_EQ(pass("a"), "withdraw ca, withdraw cb");
  EXPECT_GE(last.min_interval.value_or(Duration::zero()), std::chrono::milliseconds(20));
}

TEST_F(GroupTest, HoldsGoBackAfterTheTimeout) {
  put_members("ab");
  hold("a", "n1", "gpu-0");
  lag(hold("b", "n1", "gpu-1"));
  EXPECT_EQ(pass("a"), "");
  view.time += std::chrono::seconds(31);
  EXPECT_EQ(pass("a"), "withdraw ca, event GroupWaits, withdraw cb");
}

TEST_F(GroupTest, AnOverlapWithOthersTakesAllBack) {
  put_members("ab");
  hold("a", "n1", "gpu-0");
  hold("b", "n1", "gpu-1");
  allocated("foreign", "n1", "gpu-1", false, {});
  EXPECT_EQ(pass("a"), "withdraw ca, withdraw cb");
}

TEST_F(GroupTest, OfTwoGroupsThatOverlapTheOlderOneWaits) {
  put_members("ab");
  hold("a", "n1", "gpu-0");
  hold("b", "n1", "gpu-1");
  for (const char* name : {"x", "y"}) {
    api::Pod pod = member(name);
    pod.metadata.creation_timestamp = "2026-01-02T00:00:00Z";
    pod.metadata.owner_references.front().uid = "job2-uid";
    view.put(pod);
  }
  hold("x", "n1", "gpu-1");
  put(make_claim("cy"));
  EXPECT_EQ(pass("a"), "");
  EXPECT_EQ(pass("x"), "withdraw cx");
  api::Pod important = view.pods.at("default/x");
  important.priority = 1000;
  view.put(important);
  EXPECT_EQ(pass("x"), "");
  EXPECT_EQ(pass("a"), "withdraw ca, withdraw cb");
}

TEST_F(GroupTest, FromTheFirstMarkOnItGoesForward) {
  put_members("ab");
  proven(hold("a", "n1", "gpu-0"), "a");
  const api::ResourceClaim b = hold("b", "n1", "gpu-1");
  view.time += std::chrono::minutes(10);
  EXPECT_EQ(pass("a"), "prove cb");
  proven(b, "b");
  EXPECT_EQ(pass("b"), "");
  EXPECT_EQ(pass("a"), "lift-gate a, lift-gate b");
}

TEST_F(GroupTest, AMemberThatLostItsPlaceGetsAnotherBeforeAnyGateIsLifted) {
  put_members("ab");
  proven(hold("a", "n1", "gpu-0"), "a");
  EXPECT_EQ(pass("a"), "allocate cb");
  // No node fits: after the timeout the gated members leave what they have (P8).
  nodes.refused = {"n2"};
  allocated("foreign", "n1", "gpu-1", false, {});
  EXPECT_EQ(pass("a"), "event GroupWaits");
  remember();
  view.time += std::chrono::seconds(6);
  EXPECT_EQ(pass("a"), "announce-leaving a");
}

TEST_F(GroupTest, BindingsComeBackToBack) {
  options.mode = Mode::kBind;
  put_members("ab", "2", false);
  proven(hold("a", "n1", "gpu-0"), "a");
  proven(hold("b", "n2", "gpu-1"), "b");
  EXPECT_EQ(pass("a"), "bind a, bind b");
}

// In bind mode too: a member whose node is lost leaves alone, and all leave when there is no place beside the others.
TEST_F(GroupTest, NoMemberIsBoundWhileAnotherHasNoNode) {
  options.mode = Mode::kBind;
  put_members("ab", "2", false);
  proven(hold("a", "n1", "gpu-0"), "a");
  const api::ResourceClaim b = proven(hold("b", "n2", "gpu-1"), "b");
  nodes.refused = {"n2"};
  EXPECT_EQ(pass("a"), "announce-unbound b");
  api::ResourceClaim freed = b;
  freed.status = {};
  put(freed);
  EXPECT_EQ(pass("a"), "allocate cb") << "beside the other member";
  nodes.refused = {"n1", "n2"};
  view.time += std::chrono::seconds(4);
  EXPECT_EQ(pass("a"), "event GroupWaits");
  remember();
  view.time += std::chrono::seconds(2);
  EXPECT_EQ(pass("a"), "announce-unbound a") << "the group is open again";
}

TEST_F(GroupTest, AMemberThatCannotLeaveDoesNotKeepTheOthersDevices) {
  options.mode = Mode::kBind;
  put_members("ab", "2", false);
  api::Pod other = make_pod("other", {"cb"}, false);
  other.node_name = "n2";
  view.put(other);
  proven(hold("a", "n1", "gpu-0"), "a");
  api::ResourceClaim shared = allocated("cb", "n2", "gpu-1", true, {"other"});
  shared.status.allocation->allocation_timestamp = format_rfc3339(view.time);
  proven(shared, "other");
  nodes.refused = {"n2"};
  EXPECT_EQ(pass("a"), "event FailedScheduling, parked");
  remember();
  view.time += std::chrono::seconds(6);
  EXPECT_EQ(pass("a"), "announce-unbound a");
  put(make_claim("ca"));
  EXPECT_EQ(pass("a"), "parked") << "nothing is allocated beside it, only to be withdrawn again";
  EXPECT_FALSE(last.has_writes());
}

TEST_F(GroupTest, MembersThatAreBeingBoundCountAsGoing) {
  options.mode = Mode::kBind;
  put_members("ab", "2", false);
  proven(hold("a", "n1", "gpu-0"), "a");
  proven(hold("b", "n2", "gpu-1"), "b");
  view.being_bound = {"a-uid"};
  EXPECT_EQ(pass("a"), "bind b");
  view.being_bound = {"a-uid", "b-uid"};
  EXPECT_EQ(pass("a"), "");
}

TEST_F(GroupTest, AListThatBrokeOffLeavesNoMemberBehind) {
  options.mode = Mode::kBind;
  put_members("ab", "2", false);
  proven(hold("a", "n1", "gpu-0"), "a");
  proven(hold("b", "n2", "gpu-1"), "b");
  ASSERT_EQ(pass("a"), "bind a, bind b");
  test::WholeController reconciler(parts(options, inventory, allocator, nodes));
  EnqueueRequests out;
  reconciler.on_write_given_up(view, write(1), out);
  ASSERT_EQ(out.keys.size(), 1u);
  EXPECT_EQ(out.keys[0].object, "default/b");
}

// Nodes n1 and n2 in racks; the label of one changes after the search.
class RackTest : public GroupTest {
 protected:
  void put_in_racks(const std::map<std::string, std::string>& racks, bool gated) {
    for (const auto& [name, rack] : racks) {
      auto node = test::named<api::Node>(name);
      node.metadata.ns.clear();
      if (!rack.empty()) node.metadata.labels["rack"] = rack;
      view.put(node);
    }
    for (const char* name : {"a", "b", "c"}) {
      api::Pod pod = member(name, "3", gated);
      pod.metadata.annotations["dra-controller-manager/topology-required"] = "rack";
      view.put(pod);
      if (!view.claims.contains("default/c" + std::string(name))) put(make_claim("c" + std::string(name)));
    }
  }
};

TEST_F(RackTest, MembersOutsideTheRackOfMostLeaveBeforeTheFirstOneStarts) {
  for (const bool gated : {true, false}) {
    options.mode = gated ? Mode::kGate : Mode::kBind;
    put_in_racks({{"n1", "a"}, {"n2", "a"}}, gated);
    proven(hold("a", "n1", "gpu-0"), "a");
    proven(hold("b", "n1", "gpu-1"), "b");
    proven(hold("c", "n2", "gpu-0"), "c");
    EXPECT_EQ(pass("a"), gated ? "lift-gate a, lift-gate b, lift-gate c" : "bind a, bind b, bind c");
    for (const char* rack : {"b", ""}) {
      put_in_racks({{"n1", "a"}, {"n2", rack}}, gated);
      EXPECT_EQ(pass("a"), gated ? "announce-leaving c" : "announce-unbound c") << rack;
    }
    put_in_racks({{"n1", "b"}, {"n2", "a"}}, gated);
    EXPECT_EQ(pass("a"), gated ? "announce-leaving c" : "announce-unbound c") << "two are in rack b";
  }
}

TEST_F(RackTest, AnOpenGroupIsWithdrawnAsAWhole) {
  put_in_racks({{"n1", "a"}, {"n2", "b"}}, true);
  hold("a", "n1", "gpu-0");
  hold("b", "n1", "gpu-1");
  hold("c", "n2", "gpu-0");
  EXPECT_EQ(pass("a"), "withdraw ca, withdraw cb, withdraw cc");
}

TEST_F(RackTest, ALaunchedGroupIsLeftAlone) {
  put_in_racks({{"n1", "a"}, {"n2", "b"}}, true);
  api::Pod a = view.pods.at("default/a");
  a.scheduling_gates.clear();
  a.node_name = "n1";
  view.put(a);
  proven(hold("a", "n1", "gpu-0"), "a");
  proven(hold("c", "n2", "gpu-0"), "c");
  EXPECT_EQ(pass("c"), "lift-gate c");
}

// Bind mode. A member without devices of one node may be bound anywhere but for the group's domain.
TEST_F(RackTest, AMemberWithoutDevicesIsBoundInTheRackOfTheOthers) {
  options.mode = Mode::kBind;
  put_in_racks({{"n1", "b"}, {"n2", "a"}}, false);
  proven(hold("a", "n2", "gpu-0"), "a");
  proven(hold("b", "n2", "gpu-1"), "b");
  api::Pod bare = view.pods.at("default/c");
  bare.resource_claims.clear();
  view.put(bare);
  ASSERT_EQ(pass("a"), "bind a, bind b, bind c");
  EXPECT_EQ(write(2).assume_pod->node, "n2") << "although n1 comes first";
  for (const char* name : {"a", "b"}) {
    api::Pod bound = view.pods.at("default/" + std::string(name));
    bound.node_name = "n2";
    view.put(bound);
  }
  ASSERT_EQ(pass("c"), "bind c") << "and so if it is bound later";
  EXPECT_EQ(write().assume_pod->node, "n2");
  nodes.refused = {"n2"};
  EXPECT_EQ(pass("c"), "event FailedScheduling, show-waiting c");
  EXPECT_EQ(event().note, "no node in the domain of rack that its group is in takes this pod");
}

TEST_F(RackTest, MembersWithoutDevicesAreBoundInTheRackThatTheSearchFound) {
  options.mode = Mode::kBind;
  inventory.apply_node("n3", {});
  nodes.names = {"n1", "n2", "n3"};
  nodes.labels = {};
  put_in_racks({{"n1", ""}, {"n2", "a"}, {"n3", "a"}}, false);
  for (const char* name : {"a", "b", "c"}) {
    api::Pod bare = view.pods.at("default/" + std::string(name));
    bare.resource_claims.clear();
    view.put(bare);
  }
  EXPECT_EQ(pass("a"), "bind a") << "one at a time";
  EXPECT_NE(write().assume_pod->node, "n1");
}

TEST_F(GroupTest, LaterMembersJoinOneByOne) {
  put_members("abc");
  api::Pod a = view.pods.at("default/a");
  a.scheduling_gates.clear();
  a.node_name = "n1";
  view.put(a);
  proven(hold("a", "n1", "gpu-0"), "a");
  EXPECT_EQ(pass("b"), "allocate cb");
  EXPECT_EQ(pass("c"), "allocate cc");
  a.phase = "Failed";
  view.put(a);
  EXPECT_EQ(pass("c"), "");
  EXPECT_EQ(pass("b"), "allocate cb, allocate cc");
}

TEST_F(GroupTest, ASharedClaimIsAllocatedAndMarkedOnce) {
  for (const char* name : {"a", "b"}) {
    api::Pod pod = member(name);
    pod.resource_claims = {{"shared", "shared", std::nullopt}};
    view.put(pod);
  }
  put(make_claim("shared"));
  EXPECT_EQ(pass("a"), "allocate shared");
  EXPECT_NE(body().dump().find("a-uid"), std::string::npos);
  EXPECT_NE(body().dump().find("b-uid"), std::string::npos);
  allocated("shared", "n1", "gpu-0", true, {"a", "b"});
  EXPECT_EQ(pass("a"), "prove shared");
}

TEST_F(GroupTest, ACountThatIsNoCountIsIgnoredWithAnEvent) {
  put_members("a", "many");
  EXPECT_EQ(pass("a"), "event GroupIgnored, allocate ca");
  put_members("a", "-1");
  EXPECT_EQ(pass("a"), "event GroupIgnored, allocate ca");
  put_members("a", "1");
  EXPECT_EQ(pass("a"), "allocate ca");
  put_members("a", "99999");
  EXPECT_EQ(pass("a"), "event GroupWaits");
  api::Pod pod = member("a");
  pod.metadata.owner_references.clear();
  view.put(pod);
  EXPECT_EQ(pass("a"), "event GroupIgnored, allocate ca");
}

TEST_F(GroupTest, PodGroupsOfBothApis) {
  for (const GroupApi api : {GroupApi::kCore, GroupApi::kPlugins}) {
    for (const char* name : {"a", "b"}) {
      api::Pod pod = make_pod(name, {"c" + std::string(name)});
      if (api == GroupApi::kCore)
        pod.pod_group_name = "g";
      else
        pod.metadata.labels[std::string(kGroupLabel)] = "g";
      view.put(pod);
      put(make_claim("c" + std::string(name)));
    }
    view.groups.clear();
    view.known_groups.clear();
    EXPECT_EQ(pass("a"), "event GroupWaits");
    EXPECT_NE(event().note.find("PodGroup default/g does not exist"), std::string::npos);
    api::PodGroup group;
    group.metadata.ns = "default";
    group.metadata.name = "g";
    view.groups[api].emplace("default/g", group);  // policy basic
    EXPECT_EQ(pass("a"), "allocate ca");
    view.groups[api].at("default/g").min_count = 2;
    EXPECT_EQ(pass("a"), "allocate ca, allocate cb");
    view.groups[api].at("default/g").metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
    hold("a", "n1", "gpu-0");
    EXPECT_EQ(pass("a"), "withdraw ca");
    put(make_claim("ca"));
    view.known_groups[api] = {GroupsKnown::State::kCannot, "nobody serves them"};
    EXPECT_EQ(pass("a"), "event GroupIgnored, allocate ca");
    view.known_groups[api] = {GroupsKnown::State::kListing, ""};
    EXPECT_EQ(pass("a"), "");
  }
}

TEST_F(GroupTest, ThePluginsTimeoutCanOnlyBeShorter) {
  for (const char* name : {"a", "b"}) {
    api::Pod pod = make_pod(name, {"c" + std::string(name)});
    pod.metadata.labels[std::string(kGroupLabel)] = "g";
    view.put(pod);
  }
  api::PodGroup group;
  group.min_count = 2;
  for (const auto& [seconds, after] : {std::pair{5, 6}, std::pair{500, 31}}) {
    group.schedule_timeout_seconds = seconds;
    view.groups[GroupApi::kPlugins]["default/g"] = group;
    hold("a", "n1", "gpu-0");
    lag(hold("b", "n1", "gpu-1"));
    EXPECT_EQ(pass("a"), "");
    view.time += std::chrono::seconds(after);
    view.emitted.clear();
    EXPECT_EQ(pass("a"), "withdraw ca, event GroupWaits, withdraw cb") << seconds;
  }
}

}  // namespace
}  // namespace dra::allocation
