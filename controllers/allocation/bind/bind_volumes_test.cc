// Bind mode: volumes that wait for their first consumer are bound before the pod's devices are proven.
#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/bind/bind_steps.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::bind_volumes_test {

class BindVolumes : public AllocationTest {
 protected:
  BindVolumes() {
    options.mode = Mode::kBind;
    api::Pod pod = make_pod("p", {"c"}, false);
    pod.scheduler_name = "ours";
    view.put(pod);
    allocated("c", "n1", "gpu-0", true, {"p"});
    claim.metadata.ns = "default";
    claim.metadata.name = "data";
    claim.metadata.uid = "data-uid";
    claim.metadata.resource_version = "8";
    volume.metadata.name = "pv";
    volume.metadata.uid = "pv-uid";
    volume.metadata.resource_version = "9";
  }
  void provision() { nodes.volume_needs.provision = {std::make_shared<api::PersistentVolumeClaim>(claim)}; }
  void bind() {
    nodes.volume_needs.bind = {
        {std::make_shared<api::PersistentVolumeClaim>(claim), std::make_shared<api::PersistentVolume>(volume)}};
  }
  // The state after the write of the previous reconcile.
  void select(const std::string& node) {
    claim.metadata.annotations["volume.kubernetes.io/selected-node"] = node;
    claim.metadata.annotations["dra-controller-manager/volume-binding"] = node + " " + format_rfc3339(view.time);
    provision();
  }
  const reconcile::AvoidNodes* avoided() const {
    for (const reconcile::Effect& effect : last.effects)
      if (const auto* found = std::get_if<reconcile::AvoidNodes>(&effect)) return found;
    return nullptr;
  }

  api::PersistentVolumeClaim claim;
  api::PersistentVolume volume;
};

TEST_F(BindVolumes, NothingIsProvenBeforeTheProvisionerIsDone) {
  provision();
  EXPECT_EQ(pass(), "select-node data");
  EXPECT_EQ(body()["metadata"]["annotations"]["volume.kubernetes.io/selected-node"], "n1");
  EXPECT_EQ(body()["metadata"]["resourceVersion"], "8");
  ASSERT_TRUE(write().assume_pod);
  EXPECT_EQ(write().assume_pod->node, "n1") << "the pod holds its place on the node";
  select("n1");
  EXPECT_EQ(pass(), "parked");
  nodes.volume_needs = {};
  EXPECT_EQ(pass(), "prove c");
}

TEST_F(BindVolumes, AVolumeThatIsThereIsReservedForTheClaim) {
  bind();
  EXPECT_EQ(pass(), "bind-volume pv");
  EXPECT_EQ(body()["spec"]["claimRef"]["uid"], "data-uid");
  EXPECT_EQ(body()["metadata"]["annotations"]["pv.kubernetes.io/bound-by-controller"], "yes");
  volume.claim_ref = {"default", "data", "data-uid"};
  volume.metadata.annotations["dra-controller-manager/volume-binding"] = "n1 " + format_rfc3339(view.time);
  bind();
  EXPECT_EQ(pass(), "parked") << "kube-controller-manager binds the claim";
}

// As in kube-scheduler: a volume that an administrator reserved is not marked as one that a controller may release.
TEST_F(BindVolumes, AReservationByNameIsCompleted) {
  volume.claim_ref = {"default", "data", ""};
  bind();
  EXPECT_EQ(pass(), "bind-volume pv");
  EXPECT_FALSE(body()["metadata"]["annotations"].contains("pv.kubernetes.io/bound-by-controller"));
}

TEST_F(BindVolumes, ProvisionerThatGaveUpGetsAnotherNode) {
  select("n1");
  claim.metadata.annotations.erase("volume.kubernetes.io/selected-node");
  provision();
  EXPECT_EQ(pass(), "event FailedScheduling, unmark-volume data, withdraw c");
  ASSERT_TRUE(avoided());
  EXPECT_EQ(avoided()->nodes, std::vector<std::string>{"n1"});
  EXPECT_EQ(avoided()->uid, "p-uid");
}

TEST_F(BindVolumes, AProvisionerThatNeverAnswersIsGivenUpAfterTenMinutes) {
  select("n1");
  view.time += std::chrono::seconds(31);
  EXPECT_EQ(pass(), "event WaitingForVolumes, parked");
  remember();
  view.time += std::chrono::seconds(568);
  EXPECT_EQ(pass(), "parked");
  ASSERT_TRUE(last.requeue_after);
  EXPECT_LE(*last.requeue_after, std::chrono::seconds(1));
  view.time += std::chrono::seconds(1);
  EXPECT_EQ(pass(), "event FailedScheduling, unmark-volume data, withdraw c");
  EXPECT_NE(event().note.find("persistentvolumeclaim \"data\""), std::string::npos) << event().note;
}

// A pod without ResourceClaims has nothing to withdraw but its place on the node.
TEST_F(BindVolumes, WithoutClaimsThePodWaitsElsewhere) {
  api::Pod pod = make_pod("q", {}, false);
  pod.scheduler_name = "ours";
  view.put(pod);
  select("n1");
  view.time += std::chrono::minutes(10);
  claim.metadata.annotations.clear();
  EXPECT_EQ(pass("q"), "event FailedScheduling, unmark-volume data");
  provision();
  EXPECT_EQ(pass("q"), "select-node data");
  nodes.volume_needs = {};
  EXPECT_EQ(pass("q"), "bind q");
}

TEST_F(BindVolumes, AMarkThatCannotBeReadIsWrittenAnew) {
  for (const char* mark : {"n1", "n1 ", "n1 soon", "n1 2099-01-01T00:00:00Z", "n2 2023-11-14T22:13:20Z"}) {
    select("n1");
    claim.metadata.annotations["dra-controller-manager/volume-binding"] = mark;
    provision();
    EXPECT_EQ(pass(), "select-node data") << mark;
  }
}

// The volume is given up after the claim was proven: the pod leaves the claim (P8), as it would have been withdrawn.
TEST_F(BindVolumes, GivenUpAfterTheProofThePodLeaves) {
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  select("n1");
  view.time += std::chrono::minutes(11);
  EXPECT_EQ(pass(), "event FailedScheduling, unmark-volume data, announce-unbound p");
  nodes.volume_needs = {};
  EXPECT_EQ(pass(), "bind p") << "unless the announcement did not get through, and the volume is there after all";
}

// Gate mode leaves the binding to kube-scheduler.
TEST_F(BindVolumes, GatedPodsAreNotPrepared) {
  options.mode = Mode::kGate;
  view.put(make_pod("p", {"c"}));
  provision();
  EXPECT_EQ(pass(), "prove c");
}

// After a restart, while volumes are being listed: nothing is withdrawn.
TEST_F(BindVolumes, WhatIsNotListedYetIsWaitedFor) {
  nodes.refused = {"n1", "n2"};
  nodes.watch_lags = true;
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(1)));
  proven(allocated("c", "n1", "gpu-0", true, {"p"}), "p");
  EXPECT_EQ(pass(), "");
  nodes.watch_lags = false;
  EXPECT_NE(pass(), "");
}

StepAnswer waits(const BindContext&) {
  return StepAnswer::wait("WaitingForVolumes", "for a step");
}
StepAnswer is_done(const BindContext&) {
  return StepAnswer::done();
}

TEST_F(BindVolumes, StepsRunInOrderUntilOneIsNotDone) {
  const api::Pod& pod = *view.pod("default/p");
  const PodState state = derive_state(view, pod, options);
  const std::string node = "n1";
  const BindContext context{view, pod, state, nodes, node};
  const BindStep steps[] = {is_done, waits, is_done};
  EXPECT_EQ(run_bind_steps(context, steps).note, "for a step");
  EXPECT_EQ(run_bind_steps(context, std::span(steps).first(1)).kind, StepAnswer::Kind::kDone);
}

}  // namespace dra::allocation::bind_volumes_test
