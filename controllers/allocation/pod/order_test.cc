// Order: which pods may overtake a waiting group, and for how long. And domains of nodes, for groups and single pods.
#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/topology.h"

namespace dra::allocation::order_test {

using namespace protocol;
using namespace reconcile;

namespace {

class OrderTest : public AllocationTest {
 protected:
  explicit OrderTest(Mode mode = Mode::kGate) : reconciler_(parts(in(mode), inventory, allocator, nodes)) {
    quiet_claims = true;
  }
  const Options& in(Mode mode) {
    options.mode = mode;
    return options;
  }

  api::Pod member(const std::string& name, const std::string& count, Duration age, const std::string& job = "train") {
    api::Pod pod = make_pod(name, {"c" + name});
    pod.metadata.creation_timestamp = format_rfc3339(view.time - age);
    pod.metadata.owner_references.push_back({"batch/v1", "Job", job, job + "-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = count;
    return pod;
  }
  void put_pod(const api::Pod& pod) {
    view.put(pod);
    put(make_claim("c" + pod.metadata.name));
  }
  // Like AllocationTest::pass(), with one reconciler for all reconciles.
  std::string run(const std::string& pod) {
    last = reconciler_.reconcile(view, pod_key("default/" + pod));
    std::string did;
    for (const Effect& effect : last.effects) {
      if (const Write* write = std::get_if<Write>(&effect)) did += write->purpose + " " + write->object.name + " ";
      if (const Event* event = std::get_if<Event>(&effect)) did += "event " + event->reason + " ";
    }
    return did;
  }
  std::string node_of(const std::string& claim) {
    for (const Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->object.name == claim && write->assume_pod)
        return write->assume_pod->node;
    return "";
  }
  void label(const std::string& node, const std::string& key, const std::string& value) {
    api::Node known;
    if (const api::Node* before = view.node(node)) known = *before;
    known.metadata.name = node;
    known.metadata.labels[key] = value;
    view.put(known);
  }

  test::WholeController reconciler_;
};

// One of four devices is held, and the group needs all of them.
class Starving : public OrderTest {
 protected:
  using OrderTest::OrderTest;
  void group_of_four(Duration age, int priority = 0) {
    allocated("x", "n1", "gpu-0", false, {});
    for (const char name : std::string("abcd")) {
      api::Pod pod = member(std::string(1, name), "4", age);
      pod.priority = priority;
      put_pod(pod);
    }
    EXPECT_EQ(run("a").find("allocate"), std::string::npos);
  }
  std::string small_pod(int priority = 0) {
    api::Pod pod = make_pod("p", {"cp"});
    pod.priority = priority;
    put_pod(pod);
    return run("p");
  }
};

TEST_F(Starving, ASmallerPodPassesAYoungGroup) {
  group_of_four(std::chrono::minutes(4));
  EXPECT_EQ(last.requeue_after, std::chrono::minutes(1)) << "then nodes are kept";
  EXPECT_EQ(small_pod(), "allocate cp ");
}

TEST_F(Starving, AfterAWhileNobodyOfItsPriorityPasses) {
  group_of_four(std::chrono::minutes(5));
  EXPECT_NE(event().note.find("2 nodes are kept for it"), std::string::npos) << event().note;
  EXPECT_EQ(small_pod(), "event FailedScheduling ");
  EXPECT_NE(event().note.find("kept for job default/train"), std::string::npos) << event().note;
  EXPECT_EQ(last.requeue_after, std::chrono::seconds(30));
  EXPECT_EQ(small_pod(-1), "event FailedScheduling ");
  EXPECT_EQ(small_pod(1), "allocate cp ") << "a higher priority passes";
}

TEST_F(Starving, TheLowestPriorityOfItsMembersCounts) {
  group_of_four(std::chrono::minutes(5), 10);
  api::Pod low = member("d", "4", std::chrono::minutes(5));
  view.put(low);
  run("a");
  EXPECT_EQ(small_pod(5), "allocate cp ");
}

TEST_F(Starving, WhatIsKeptEndsWithTheGroup) {
  group_of_four(std::chrono::minutes(5));
  ASSERT_EQ(small_pod(), "event FailedScheduling ");
  view.pods.erase("default/a");
  EXPECT_EQ(small_pod(), "allocate cp ");
}

TEST_F(Starving, WhatIsKeptEndsWhenTheGroupIsPlaced) {
  group_of_four(std::chrono::minutes(5));
  inventory.remove_claim("x-uid");
  EXPECT_EQ(run("a"), "allocate ca allocate cb allocate cc allocate cd ");
  inventory.forget("ca-uid");
  EXPECT_EQ(small_pod(), "allocate cp ");
}

TEST_F(Starving, AGroupThatNeverFitsKeepsNothing) {
  for (const char name : std::string("abcde")) put_pod(member(std::string(1, name), "5", std::chrono::hours(1)));
  run("a");
  EXPECT_EQ(event().note.find("kept"), std::string::npos) << event().note;
  EXPECT_EQ(small_pod(), "allocate cp ");
}

class StarvingWhereWeBind : public Starving {
 protected:
  StarvingWhereWeBind() : Starving(Mode::kBind) {}
};

// A pod without claims asks for no devices.
TEST_F(StarvingWhereWeBind, APodWithoutClaimsIsToldWhatItsNodesAreKeptFor) {
  group_of_four(std::chrono::minutes(5));
  api::Pod pod = make_pod("p", {}, false);
  pod.scheduler_name = "ours";
  put_pod(pod);
  EXPECT_EQ(run("p"), "event FailedScheduling ");
  EXPECT_EQ(
      event().note,
      "0/2 nodes are available: 2 nodes (n1, n2): kept for job default/train, which waits for devices longer than "
      "--gang-starvation-after and has no lower priority");
}

TEST_F(Starving, OnlyOneDomainIsKept) {
  for (const std::string node : {"n1", "n2"}) label(node, "rack", node);
  allocated("x", "n1", "gpu-0", false, {});
  allocated("y", "n2", "gpu-0", false, {});
  allocated("z", "n2", "gpu-1", false, {});
  for (const char name : std::string("ab")) {
    api::Pod pod = member(std::string(1, name), "2", std::chrono::minutes(6));
    pod.metadata.annotations[std::string(kTopologyRequiredAnnotation)] = "rack";
    put_pod(pod);
  }
  run("a");
  EXPECT_NE(event().note.find("1 nodes are kept"), std::string::npos) << event().note;
  EXPECT_EQ(small_pod(), "event FailedAllocation event FailedAllocation ") << "n1 is kept, n2 is full";
  EXPECT_NE(event().note.find("kept for job default/train, which waits for devices longer than"), std::string::npos)
      << event().note;
  inventory.remove_claim("y-uid");
  EXPECT_EQ(small_pod(), "allocate cp ");
  EXPECT_EQ(node_of("cp"), "n2");
}

// A started group of four has all four devices; its member d ends.
class Returning : public OrderTest {
 protected:
  Returning() {
    for (const auto& [name, node, device] :
         {std::tuple{"a", "n1", "gpu-0"}, {"b", "n1", "gpu-1"}, {"c", "n2", "gpu-0"}, {"d", "n2", "gpu-1"}}) {
      view.put(running(name, node));
      put(allocated("c" + std::string(name), node, device, true, {name}));
    }
  }
  api::Pod running(const std::string& name, const std::string& node) {
    api::Pod pod = member(name, "4", std::chrono::minutes(60));
    pod.scheduling_gates.clear();
    pod.node_name = node;
    pod.phase = "Running";
    return pod;
  }
  // Does what the watch and the lifecycle controller do.
  EnqueueRequests end(const std::string& name, const std::string& phase = "Failed") {
    const api::Pod before = *view.pod("default/" + name);
    api::Pod after = before;
    after.phase = phase;
    view.put(after);
    EnqueueRequests out;
    reconciler_.on_pod(view, &before, &after, out);
    put(make_claim("c" + name));
    return out;
  }
  std::string single_pod(int priority = 0) {
    api::Pod pod = make_pod("p", {"cp"});
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::minutes(30));
    pod.priority = priority;
    put_pod(pod);
    return run("p");
  }
};

TEST_F(Returning, ItsDevicesAreKeptUntilItComesAgain) {
  const EnqueueRequests out = end("d");
  ASSERT_EQ(out.delayed.size(), 1u) << "then they are free";
  EXPECT_EQ(out.delayed[0].second, options.gang_hold_timeout);
  EXPECT_EQ(single_pod().find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("1 device is kept for job default/train"), std::string::npos) << event().note;
  EXPECT_EQ(single_pod(1), "allocate cp ") << "a higher priority passes";
  api::Pod again = member("e", "4", std::chrono::seconds(1));
  put_pod(again);
  EXPECT_EQ(run("e"), "allocate ce ");
  EXPECT_EQ(node_of("ce"), "n2");
}

TEST_F(Returning, AnotherGroupLeavesThemToo) {
  end("d");
  end("c");
  for (const char* name : {"x", "y"}) put_pod(member(name, "2", std::chrono::minutes(30), "other"));
  EXPECT_EQ(run("x").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("2 devices are kept for job default/train"), std::string::npos) << event().note;
}

// Counts how often all pods of a group are visited.
class CountingView : public MemoryView {
 public:
  mutable size_t visits = 0;
  std::vector<const api::Pod*> pods_of_group(std::string_view key) const override {
    ++visits;
    return MemoryView::pods_of_group(key);
  }
  size_t size_of_group(std::string_view key) const override { return MemoryView::pods_of_group(key).size(); }
  std::vector<const api::Pod*> started_of_group(std::string_view key, size_t most) const override {
    const size_t before = visits;
    std::vector<const api::Pod*> started = MemoryView::started_of_group(key, most);
    visits = before;
    return started;
  }
};

// A namespace that deletes a running group of 1,000 pods would take seconds of everybody's time.
TEST_F(Returning, ALargeGroupIsNotVisitedForEachOfItsPods) {
  CountingView large;
  large.time = view.time;
  std::vector<api::Pod> pods;
  for (int i = 0; i < 100; ++i) {
    pods.push_back(running("m" + std::to_string(i), "n1"));
    large.put(pods.back());
    api::ResourceClaim claim = make_claim("cm" + std::to_string(i));
    claim.status.allocation = on("n1", "gpu-0");
    large.put(claim);
  }
  large.put(member("late", "4", std::chrono::seconds(1)));
  large.put(make_claim("clate"));
  reconciler_.reconcile(large, pod_key("default/late"));
  EXPECT_LE(large.visits, 1u) << "it joins alone";
  EnqueueRequests out;
  for (const api::Pod& before : pods) {
    api::Pod after = before;
    after.phase = "Failed";
    large.put(after);
    reconciler_.on_pod(large, &before, &after, out);
  }
  EXPECT_LE(large.visits, 3u);
  const auto recounts = std::count_if(out.delayed.begin(), out.delayed.end(),
                                      [](const auto& one) { return one.second == std::chrono::microseconds(10'100); });
  EXPECT_EQ(recounts, 1);
  EXPECT_TRUE(reconciler_.reconcile(large, pod_key("default/none")).unparks.empty()) << "not yet counted again";
  large.time += std::chrono::milliseconds(11);
  EXPECT_FALSE(reconciler_.reconcile(large, pod_key("default/none")).unparks.empty()) << "all have ended";
}

TEST_F(Returning, NothingIsKeptForLongerThanTheTimeout) {
  end("d");
  ASSERT_EQ(single_pod().find("allocate"), std::string::npos);
  view.time += options.gang_hold_timeout;
  last = reconciler_.reconcile(view, pod_key("default/d"));
  EXPECT_NE(std::find(last.unparks.begin(), last.unparks.end(), "class/gpu"), last.unparks.end())
      << "who parked is woken";
  EXPECT_EQ(single_pod(), "allocate cp ");
}

TEST_F(Returning, NothingIsKeptForAGroupThatGoes) {
  end("d");
  for (const char* name : {"a", "b", "c"}) {
    const api::Pod before = *view.pod("default/" + std::string(name));
    api::Pod after = before;
    after.metadata.deletion_timestamp = format_rfc3339(view.time);
    view.put(after);
    EnqueueRequests out;
    reconciler_.on_pod(view, &before, &after, out);
    const bool woken = std::find(out.causes.begin(), out.causes.end(), "class/gpu") != out.causes.end();
    EXPECT_EQ(woken, std::string(name) == "c");
  }
  EXPECT_EQ(single_pod(), "allocate cp ");
}

TEST_F(Returning, NothingIsKeptForOneThatSucceeded) {
  EXPECT_TRUE(end("d", "Succeeded").delayed.empty());
  EXPECT_EQ(single_pod(), "allocate cp ");
}

TEST_F(Returning, NothingIsKeptOnceItRunsAgain) {
  end("d");
  const api::Pod again = running("e", "n1");
  view.put(again);
  EnqueueRequests out;
  reconciler_.on_pod(view, nullptr, &again, out);
  EXPECT_NE(std::find(out.causes.begin(), out.causes.end(), "class/gpu"), out.causes.end());
  EXPECT_EQ(single_pod(), "allocate cp ");
}

TEST_F(Returning, ItWaitsAsLongAsItsGroup) {
  const auto waits_since = [&] {  // a pod whose reason is reported parks unless that cannot be written
    const std::optional<Park>& park = last.park ? last.park : last.park_unless_written;
    return park ? park->since : "not parked";
  };
  end("d");
  put(allocated("foreign", "n2", "gpu-1", false, {}));
  ASSERT_EQ(single_pod().find("allocate"), std::string::npos);
  EXPECT_EQ(waits_since(), format_rfc3339(view.time - std::chrono::minutes(30)));
  put_pod(member("e", "4", std::chrono::seconds(1)));
  run("e");
  EXPECT_EQ(waits_since(), format_rfc3339(view.time - std::chrono::minutes(60)));
}

class Domains : public OrderTest {
 protected:
  // Racks r1: n1, n2; r2: n3. Two devices each.
  Domains() {
    inventory.apply_node("n3", {});
    api::ResourceSlice slice;
    slice.metadata.name = "slice-n3";
    slice.driver = "gpu.example.com";
    slice.pool = {"n3", 1, 1};
    slice.node_name = "n3";
    for (const char* name : {"gpu-0", "gpu-1"}) slice.devices.emplace_back().name = name;
    inventory.apply_slice(slice);
    nodes.names = {"n1", "n2", "n3"};
    for (const auto& [node, rack] : {std::pair{"n1", "r1"}, {"n2", "r1"}, {"n3", "r2"}}) label(node, "rack", rack);
  }
  void group(const std::string& names, const std::string& count, std::string_view annotation, const std::string& key) {
    for (const char name : names) {
      api::Pod pod = member(std::string(1, name), count, std::chrono::seconds('z' - name));
      pod.metadata.annotations[std::string(annotation)] = key;
      put_pod(pod);
    }
  }
};

TEST_F(Domains, TheSmallestDomainWithRoomIsTaken) {
  group("ab", "2", kTopologyPreferredAnnotation, "rack");
  EXPECT_EQ(run("a"), "allocate ca allocate cb ");
  EXPECT_EQ(node_of("ca"), "n3");
  EXPECT_EQ(node_of("cb"), "n3");
  EXPECT_EQ(last.decided->why, "is with its group in rack=r2");
}

TEST_F(Domains, ARequiredDomainIsNotLeft) {
  group("abcde", "5", kTopologyRequiredAnnotation, "rack");
  EXPECT_EQ(run("a").find("allocate"), std::string::npos) << "six devices, but no five in a rack";
  EXPECT_NE(event().note.find("rack"), std::string::npos) << event().note;
  view.pods.erase("default/e");
  group("abcd", "4", kTopologyRequiredAnnotation, "rack");
  EXPECT_EQ(run("a"), "allocate ca allocate cb allocate cc allocate cd ");
  EXPECT_NE(node_of("ca"), "n3");
}

TEST_F(Domains, APreferredDomainIsLeftWhenItIsTooSmall) {
  group("abcde", "5", kTopologyPreferredAnnotation, "rack");
  EXPECT_EQ(run("a"), "allocate ca allocate cb allocate cc allocate cd allocate ce ");
}

TEST_F(Domains, AnUnknownLabelIsAReasonWhereItIsRequired) {
  group("ab", "2", kTopologyRequiredAnnotation, "example.com/spine");
  EXPECT_EQ(run("a").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("has the label example.com/spine"), std::string::npos) << event().note;
}

TEST_F(Domains, AnUnknownLabelIsIgnoredAndSaidWhereItIsPreferred) {
  group("ab", "2", kTopologyPreferredAnnotation, "example.com/spine");
  EXPECT_EQ(run("a"), "event TopologyIgnored allocate ca allocate cb ");
  for (const char* name : {"a", "b"}) {
    api::Pod pod = *view.pod(std::string("default/") + name);
    pod.metadata.annotations[std::string(kTopologyPreferredAnnotation)] = "no label!";
    view.put(pod);
  }
  EXPECT_EQ(run("a"), "event TopologyIgnored allocate ca allocate cb ");
  EXPECT_NE(event().note.find("\"no label!\""), std::string::npos) << event().note;
}

TEST_F(Domains, DevicesSayWhichNodesBelongTogether) {
  for (const auto& [node, clique] : {std::pair{"n1", "a"}, {"n2", "b"}, {"n3", "b"}}) {
    api::ResourceSlice slice;
    slice.metadata.name = std::string("slice-") + node;
    slice.driver = "gpu.example.com";
    slice.pool = {node, 2, 1};
    slice.node_name = node;
    for (const char* name : {"gpu-0", "gpu-1"}) {
      api::Device& device = slice.devices.emplace_back();
      device.name = name;
      device.attributes["clique"] = std::string(clique);
    }
    inventory.apply_slice(slice);
  }
  group("abcd", "4", kTopologyRequiredAnnotation, "attribute:gpu.example.com/clique");
  EXPECT_EQ(run("a"), "allocate ca allocate cb allocate cc allocate cd ");
  for (const char* claim : {"ca", "cb", "cc", "cd"}) EXPECT_NE(node_of(claim), "n1");
  group("abcd", "4", kTopologyRequiredAnnotation, "attribute:gpu.example.com/nothing");
  EXPECT_EQ(run("a").find("allocate"), std::string::npos);
  EXPECT_NE(event().note.find("device attribute gpu.example.com/nothing"), std::string::npos) << event().note;
  group("abcd", "4", kTopologyPreferredAnnotation, "attribute:clique");
  for (const char name : std::string("abcd")) {
    api::Pod pod = *view.pod("default/" + std::string(1, name));
    pod.metadata.annotations.erase(std::string(kTopologyRequiredAnnotation));
    view.put(pod);
  }
  EXPECT_EQ(run("a"), "event TopologyIgnored allocate ca allocate cb allocate cc allocate cd ") << "it has no domain";
}

TEST_F(Domains, ASinglePodGoesToTheSmallestDomain) {
  api::Pod pod = make_pod("p", {"cp"});
  put_pod(pod);
  ASSERT_EQ(run("p"), "allocate cp ");
  EXPECT_EQ(node_of("cp"), "n1");
  pod.metadata.annotations[std::string(kTopologyPreferredAnnotation)] = "rack";
  put_pod(pod);
  ASSERT_EQ(run("p"), "allocate cp ");
  EXPECT_EQ(node_of("cp"), "n3");
  EXPECT_EQ(last.decided->why, "is in the smallest domain with room, rack=r2");
  pod.metadata.annotations = {{std::string(kTopologyRequiredAnnotation), "example.com/spine"}};
  put_pod(pod);
  EXPECT_EQ(run("p"), "event FailedScheduling ");
  EXPECT_NE(event().note.find("example.com/spine"), std::string::npos) << event().note;
}

// A pod that requires a domain never gets devices by a search that does not know the domain.
TEST_F(Domains, ARequiredDomainThatIsNotDecidedIsNotIgnored) {
  allocator::Options little;
  little.max_step_budget = 1;
  allocator::Allocator hurried(inventory, little, random);
  test::WholeController reconciler(parts(options, inventory, hurried, nodes));
  put(make_claim("cp", 2));
  api::Pod pod = make_pod("p", {"cp"});
  pod.metadata.annotations = {{std::string(kTopologyRequiredAnnotation), "rack"}};
  put_pod(pod);
  last = reconciler.reconcile(view, pod_key("default/p"));
  EXPECT_EQ(node_of("cp"), "");
  EXPECT_NE(last.retry, "");
  EXPECT_EQ(event().reason.str(), "AllocationUndecided");
  EXPECT_NE(event().note.find("in one domain of rack: "), std::string::npos) << event().note;
  // A preference is dropped instead.
  pod.metadata.annotations = {{std::string(kTopologyPreferredAnnotation), "rack"}};
  pod.metadata.uid = "another-uid";
  put_pod(pod);
  last = reconciler.reconcile(view, pod_key("default/p"));
  EXPECT_NE(node_of("cp"), "");
}

TEST_F(Domains, WhoJoinsLaterGoesNearTheOthers) {
  Options with = options;
  with.topology_levels = {"rack"};
  test::WholeController near(parts(with, inventory, allocator, nodes));
  api::Pod running = member("a", "2", std::chrono::minutes(1));
  running.scheduling_gates.clear();
  running.node_name = "n3";
  running.phase = "Running";
  view.put(running);
  put(allocated("ca", "n3", "gpu-0", true, {"a"}));
  put_pod(member("b", "2", std::chrono::seconds(1)));
  last = near.reconcile(view, pod_key("default/b"));
  EXPECT_EQ(node_of("cb"), "n3");
  EXPECT_EQ(last.decided->why, "is near its group, in rack=r2");
  // A required domain is the domain of the other members, which is full.
  put(allocated("y", "n3", "gpu-1", false, {}));
  api::Pod bound = member("b", "2", std::chrono::seconds(1));
  bound.metadata.annotations[std::string(kTopologyRequiredAnnotation)] = "rack";
  view.put(bound);
  last = near.reconcile(view, pod_key("default/b"));
  EXPECT_EQ(node_of("cb"), "");
}

}  // namespace
}  // namespace dra::allocation::order_test
