// Gate mode: pods that kube-scheduler rejects on the node of their devices.
#include "controllers/allocation/pod/pinned.h"

#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::pinned_test {

class Pinned : public AllocationTest {
 protected:
  Pinned() {
    options.recreate_pinned_pods = true;
    nodes.labels[std::string(kRecreateLabel)] = "true";
    pod = make_pod("p", {"c"}, false);
    pod.metadata.owner_references.push_back({"apps/v1", "ReplicaSet", "rs", "rs-uid", true});
    api::Condition condition;
    condition.type = "PodScheduled";
    condition.status = "False";
    condition.reason = "Unschedulable";
    condition.message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match.";
    condition.last_transition_time = format_rfc3339(view.time - std::chrono::minutes(10));
    pod.conditions.push_back(condition);
    view.put(pod);
    claim = proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
    claim.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
    put(claim);
  }
  // What a reconcile does after this change of the pod.
  template <typename F>
  std::string with(F&& change) {
    api::Pod changed = pod;
    change(changed);
    view.put(changed);
    const std::string did = pass();
    view.put(pod);
    return did;
  }

  api::Pod pod;
  api::ResourceClaim claim;
};

TEST_F(Pinned, IsEvictedAfterTenMinutesAndItsOwnerGoesElsewhere) {
  EXPECT_EQ(pass(), "recreate-pinned p");
  EXPECT_EQ(write().subresource, "eviction");
  EXPECT_EQ(body()["deleteOptions"]["preconditions"]["uid"], "p-uid");
  EXPECT_EQ(body()["deleteOptions"]["preconditions"]["resourceVersion"], "11");
  const auto& avoided = std::get<reconcile::AvoidNodes>(last.effects.at(1));
  EXPECT_EQ(avoided.uid, "default/rs-uid");
  EXPECT_EQ(avoided.nodes, std::vector<std::string>{"n1"});
  view.time -= std::chrono::seconds(1);
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(1)));
}

TEST_F(Pinned, TheReasonIsKubeSchedulersAndWhatHolds) {
  options.recreate_pinned_pods = false;
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  EXPECT_EQ(
      event().note,
      "kube-scheduler: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match.; claims \"c\" hold "
      "devices on node n1 for this pod; delete it to free them; it is not evicted: --recreate-pinned-pods is off");
  remember();
  EXPECT_EQ(with([](api::Pod& p) {
              p.conditions[0].message = "0/3 nodes are available: 2 Insufficient cpu, 1 node(s) didn't match.";
            }),
            "")
      << "figures are no news";
}

TEST_F(Pinned, IsLeftWhereAnEvictionWouldNotHelpOrIsNotWanted) {
  const auto kept = [&](const char* why) {
    EXPECT_NE(event().note.find(why), std::string::npos) << event().note;
    EXPECT_FALSE(last.has_writes());
  };
  EXPECT_EQ(with([](api::Pod& p) { p.metadata.owner_references.clear(); }), "event PinnedUnschedulable");
  kept("no controller");
  EXPECT_EQ(with([](api::Pod& p) { p.metadata.owner_references[0].kind = "Job"; }), "event PinnedUnschedulable");
  kept("a Job of apps/v1");
  EXPECT_EQ(with([](api::Pod& p) { p.nominated_node_name = "n2"; }), "event PinnedUnschedulable");
  kept("nominated");
  nodes.labels.clear();
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  kept("no label");
  nodes.labels[std::string(kRecreateLabel)] = "true";
  claim.metadata.owner_references.clear();
  put(claim);
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  kept("stays where it is");
}

TEST_F(Pinned, APodOfAJobGoesOnlyWhereThatIsNoFailure) {
  const auto of_a_job = [](api::Pod& p) { p.metadata.owner_references[0] = {"batch/v1", "Job", "j", "j-uid", true}; };
  const auto kept = [&](const char* why) {
    EXPECT_EQ(with(of_a_job), "event PinnedUnschedulable");
    EXPECT_NE(event().note.find(why), std::string::npos) << event().note;
  };
  kept("its Job is not known yet");
  nodes.job = {"", "it belongs to a Job, and this manager may not list jobs.batch"};
  kept("may not list jobs.batch");
  nodes.job = {"TerminatingOrFailed", ""};
  kept("podReplacementPolicy is TerminatingOrFailed");
  nodes.job = {"Failed", "", 3};
  kept("would count that as a failure, and can bear 3: let its podFailurePolicy ignore DisruptionTarget");
  nodes.job = {"Failed", "", 4};
  EXPECT_EQ(with(of_a_job), "recreate-pinned p");
  nodes.job = {"Failed", ""};
  EXPECT_EQ(with(of_a_job), "recreate-pinned p");
  EXPECT_EQ(std::get<reconcile::AvoidNodes>(last.effects.at(1)).uid, "default/j-uid");
}

// A slice may select its nodes by labels; then the pod is pinned to every one of them.
TEST_F(Pinned, ThePinIsEveryNodeThatTheLabelsOfTheAllocationSelect) {
  nodes.names = {"n1", "n2", "n3"};
  nodes.node_labels = {{"n1", {{"rack", "a"}}}, {"n2", {{"rack", "b"}}}, {"n3", {{"rack", "a"}}}};
  const auto reachable_from = [&](std::vector<api::NodeSelectorTerm> terms) {
    claim = allocated("c", "n1", "gpu-0", true, {"p"});
    claim.status.allocation->node_selector = api::NodeSelector{std::move(terms)};
    claim.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
    claim = proven(claim, "p");
  };
  const api::NodeSelectorTerm rack_a{{{"rack", "In", {"a"}}}, {}}, rack_b{{{"rack", "In", {"b"}}}, {}};
  reachable_from({rack_a});
  EXPECT_EQ(pass(), "recreate-pinned p");
  EXPECT_EQ(std::get<reconcile::AvoidNodes>(last.effects.at(1)).nodes, (std::vector<std::string>{"n1", "n3"}));
  options.recreate_pinned_pods = false;
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  EXPECT_NE(event().note.find("on the nodes with rack In (a) for this pod"), std::string::npos) << event().note;

  // With several terms the allocation does not say to which node the pod is pinned: the pod's own affinity does.
  reachable_from({rack_a, rack_b});
  const auto pinned_by_name = [](api::Pod& p) {
    p.node_affinity.emplace().required = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n2"}}}}}};
  };
  EXPECT_EQ(with(pinned_by_name), "event PinnedUnschedulable");
  EXPECT_NE(event().note.find("on node n2 for this pod"), std::string::npos) << event().note;

  // Devices that every node reaches pin the pod to none.
  reachable_from({});
  claim.status.allocation->node_selector.reset();
  claim = proven(claim, "p");
  EXPECT_EQ(pass(), "");

  // So many nodes that the next pod would have none left.
  nodes.names.clear();
  nodes.node_labels.clear();
  for (int i = 0; i < 65; ++i) {
    nodes.names.push_back("m" + std::to_string(i));
    nodes.node_labels[nodes.names.back()] = {{"rack", "a"}};
  }
  reachable_from({rack_a});
  options.recreate_pinned_pods = true;
  EXPECT_EQ(pass(), "event PinnedUnschedulable");
  EXPECT_NE(event().note.find("more than 64 nodes"), std::string::npos) << event().note;
}

TEST_F(Pinned, OthersAreNotLookedAt) {
  EXPECT_EQ(with([](api::Pod& p) { p.node_name = "n1"; }), "");
  EXPECT_EQ(with([](api::Pod& p) { p.conditions.clear(); }), "");
  EXPECT_EQ(with([](api::Pod& p) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }), "");
  claim = allocated("c", "n1", "gpu-0", false, {"p"});
  EXPECT_EQ(pass(), "") << "others allocated it";
}

}  // namespace dra::allocation::pinned_test
