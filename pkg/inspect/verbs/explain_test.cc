// explain names the broken link: one test per kind of breakage, each made from a world in which everything holds.
#include "pkg/inspect/verbs/explain.h"

#include <gtest/gtest.h>

#include <functional>

#include "pkg/inspect/answer/layout.h"
#include "pkg/inspect/source/label_filter.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/who.h"

namespace dra::inspect {
namespace {

constexpr const char* kTaken = "2026-03-01T12:00:00Z";

// A pod that runs on node a with device gpu-0, which its claim "c" has held for an hour.
struct SmallWorld {
  api::Pod pod;
  api::ResourceClaim claim;
  api::ResourceSlice slice;
  api::DeviceClass device_class;
  bool with_claim = true, with_slice = true, with_template = true, from_template = false;

  SmallWorld() {
    pod.metadata.ns = claim.metadata.ns = "ml";
    pod.metadata.name = "train";
    pod.metadata.uid = "pod-uid";
    pod.metadata.creation_timestamp = "2026-03-01T11:00:00Z";
    pod.node_name = "a";
    pod.phase = "Running";
    pod.resource_claims.push_back({"gpus", "c", std::nullopt});
    claim.metadata.name = "c";
    claim.metadata.uid = "claim-uid";
    claim.metadata.creation_timestamp = "2026-03-01T11:00:00Z";
    claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
    api::DeviceRequest request;
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu";
    request.exactly->count = 1;
    claim.spec.requests.push_back(request);
    auto& allocation = claim.status.allocation.emplace();
    allocation.results.push_back({"gpu", "gpu.example.com", "a", "gpu-0"});
    allocation.allocation_timestamp = "2026-03-01T11:00:00Z";
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"a"}}}}}};
    claim.status.reserved_for.push_back({"", "pods", "train", "pod-uid"});
    slice.metadata.name = "a-gpus";
    slice.driver = "gpu.example.com";
    slice.pool = {"a", 1, 1};
    slice.node_name = "a";
    for (const char* name : {"gpu-0", "gpu-1"}) {
      slice.devices.emplace_back();
      slice.devices.back().name = name;
    }
    device_class.metadata.name = "gpu";
    device_class.selectors = {"device.driver == \"gpu.example.com\""};
  }

  Objects objects() const {
    Objects all;
    parse_rfc3339(kTaken, all.taken);
    for (const char* name : {"a", "b"}) {
      auto node = std::make_shared<api::Node>();
      node->metadata.name = name;
      node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
      all.nodes[name] = node;
    }
    all.pods[pod.metadata.key()] = std::make_shared<const api::Pod>(pod);
    if (with_claim) {
      auto one = std::make_shared<const api::ResourceClaim>(claim);
      all.claims[claim.metadata.key()] = one;
      all.claim_by_uid[claim.metadata.uid] = one;
    }
    if (with_slice) all.slices[slice.metadata.name] = std::make_shared<const api::ResourceSlice>(slice);
    all.classes["gpu"] = std::make_shared<const api::DeviceClass>(device_class);
    if (with_template) {
      auto one = std::make_shared<api::ResourceClaimTemplate>();
      one->metadata.ns = "ml";
      one->metadata.name = "t";
      all.templates["ml/t"] = one;
    }
    return all;
  }

  // The first broken link, by name; "" when all hold.
  std::string broken() const {
    const Objects all = objects();
    const State state(all, {});
    const Chain chain = chain_of(state, pod);
    return chain.broken.empty() ? "" : std::string(break_name(chain.broken[0].kind));
  }
  Answer explained(const std::string& target = "pod/train") const {
    const Objects all = objects();
    State state(all, {});
    auto answer = explain(state, target, {"ml", "", 80, false});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? *answer : Answer{};
  }
};

TEST(Explain, AllLinksHold) {
  SmallWorld world;
  EXPECT_EQ(world.broken(), "");
  const Answer answer = world.explained();
  EXPECT_EQ(answer.status, Status::kYes);
  EXPECT_EQ(render(answer, {}),
            "Pod ml/train is Running on a; all links to its devices hold.\n\n"
            "CLAIM   REQUEST   DEVICE   NODE   SINCE   DECIDED BY   DRIVER SAYS\n"
            "c       gpu       gpu-0    a      60m     unknown      not reported\n");
}

TEST(Explain, TemplateMissing) {
  SmallWorld world;
  world.pod.resource_claims = {{"gpus", std::nullopt, "t"}};
  world.with_template = world.with_claim = false;
  EXPECT_EQ(world.broken(), "TemplateMissing");
  EXPECT_EQ(world.explained().lines.at(1),
            "Broken at pod -> template: ResourceClaimTemplate ml/t (used by pod claim \"gpus\") does not exist.");
  world.with_template = true;
  EXPECT_EQ(world.broken(), "ClaimNotMade");
  EXPECT_NE(render(world.explained(), {.width = 0}).find("ResourceQuota, a webhook): kubectl describe pod -n ml train"),
            std::string::npos)
      << "what refuses it is in events, which are not read";
}

// No claim is made while a quota refuses it; what may not be listed is not absent.
TEST(Explain, QuotaRefuses) {
  SmallWorld world;
  world.pod.resource_claims = {{"gpus", std::nullopt, "t"}};
  world.pod.node_name.clear();
  world.pod.phase = "Pending";
  world.with_claim = false;
  const auto explained = [&](const std::string& hard, const std::string& used, bool hidden = false) {
    Objects all = world.objects();
    auto from = std::make_shared<api::ResourceClaimTemplate>(*all.templates.at("ml/t"));
    from->spec = world.claim.spec;
    from->spec.requests[0].exactly->count = 2;
    all.templates["ml/t"] = from;
    all.quotas.asked = true;
    if (hidden) {
      all.quotas.hidden = {{"resourcequotas outside namespace other", std::string(kMayNotList)}};
    } else {
      auto quota = std::make_shared<api::ResourceQuota>();
      quota->metadata.ns = "ml";
      quota->metadata.name = "q";
      quota->hard = {{"gpu.deviceclass.resource.k8s.io/devices", hard}};
      quota->used = {{"gpu.deviceclass.resource.k8s.io/devices", used}};
      all.quotas.all["ml/q"] = quota;
    }
    State state(all, {});
    const auto answer = explain(state, "pod/train", {"ml", "", 0, false});
    EXPECT_TRUE(answer) << answer.error().message();
    return answer ? answer->statements.at(1) : Statement{};
  };
  const Statement never = explained("1", "0");
  EXPECT_EQ(never.code, "QuotaRefuses");
  EXPECT_EQ(never.message,
            "Broken at template -> claim: no claim was made from ResourceClaimTemplate ml/t: ResourceQuota ml/q allows "
            "1 device of class gpu, 0 are used, and the claim asks for 2.");
  EXPECT_EQ(never.remedies.at(0).text,
            "ask for at most 1, or raise spec.hard[\"gpu.deviceclass.resource.k8s.io/devices\"] of the quota: kubectl "
            "edit resourcequota -n ml q");
  EXPECT_EQ(explained("4", "3").code, "QuotaRefuses");
  EXPECT_EQ(explained("4", "2").code, "ClaimNotMade");
  const Statement unseen = explained("", "", true);
  EXPECT_EQ(unseen.code, "ClaimNotMade");
  EXPECT_NE(unseen.remedies.at(0).text.find("whether a ResourceQuota of namespace ml refuses claims is not visible"),
            std::string::npos)
      << unseen.remedies.at(0).text;
}

TEST(Explain, ClaimMissing) {
  SmallWorld world;
  world.with_claim = false;
  EXPECT_EQ(world.broken(), "ClaimMissing");
  EXPECT_EQ(world.explained().lines.at(1),
            "Broken at pod -> claim: ResourceClaim ml/c (used by pod claim \"gpus\") does not exist.");
  EXPECT_EQ(world.explained().status, Status::kNo);
}

TEST(Explain, ContainerNamesARequestThatTheClaimLacks) {
  SmallWorld world;
  world.pod.containers.emplace_back();
  world.pod.containers[0].name = "c";
  world.pod.containers[0].claims = {{"gpus", "gpu"}};
  EXPECT_EQ(world.broken(), "");
  world.pod.containers[0].claims = {{"gpus", ""}, {"other", "x"}};
  EXPECT_EQ(world.broken(), "");
  world.pod.containers[0].claims = {{"gpus", "nic"}};
  EXPECT_EQ(world.broken(), "RequestMissing");
  EXPECT_EQ(
      world.explained().lines.at(1),
      "Broken at container -> request: container c asks for request \"nic\" of ResourceClaim ml/c, which has only "
      "gpu: the container gets no device, without an error.");
  EXPECT_EQ(world.explained().status, Status::kNo);
  std::swap(world.pod.init_containers, world.pod.containers);
  EXPECT_EQ(world.broken(), "RequestMissing");
}

TEST(Explain, AResourceThatNobodyOffers) {
  SmallWorld world;
  world.pod.node_name.clear();
  world.pod.phase = "Pending";
  world.pod.resource_claims.clear();
  world.pod.containers.emplace_back();
  world.pod.containers[0].requests = {{"cpu", "1"}, {"nvidia.com/gpu", "1"}};
  const std::string said = render(world.explained(), {});
  EXPECT_NE(said.find("No node has a device plugin for nvidia.com/gpu, and no DeviceClass has extendedResourceName "
                      "nvidia.com/gpu.\n  set it on a class"),
            std::string::npos)
      << said;
  world.device_class.extended_resource_name = "nvidia.com/gpu";
  EXPECT_EQ(render(world.explained(), {}).find("No node has a device plugin"), std::string::npos);
}

TEST(Explain, NotAllocatedThoughBound) {
  SmallWorld world;
  world.claim.status = {};
  EXPECT_EQ(world.broken(), "NotAllocated");
  world.pod.node_name.clear();
  EXPECT_EQ(world.broken(), "") << "a pod that waits is not broken";
}

TEST(Explain, AllocatedElsewhere) {
  SmallWorld world;
  world.pod.node_name = "b";
  EXPECT_EQ(world.broken(), "AllocatedElsewhere");
}

TEST(Explain, NotReserved) {
  SmallWorld world;
  world.claim.status.reserved_for.clear();
  EXPECT_EQ(world.broken(), "NotReserved");
}

TEST(Explain, ReservedForAnOlderPodOfTheName) {
  SmallWorld world;
  world.claim.status.reserved_for[0].uid = "older";
  EXPECT_EQ(world.broken(), "WrongReservation");
}

TEST(Explain, ClaimOfAnotherPod) {
  SmallWorld world;
  world.pod.resource_claims = {{"gpus", std::nullopt, "t"}};
  world.pod.resource_claim_statuses = {{"gpus", "c"}};
  world.claim.metadata.owner_references = {{"v1", "Pod", "train", "older", true}};
  EXPECT_EQ(world.broken(), "WrongOwner");
  world.claim.metadata.owner_references[0].uid = "pod-uid";
  EXPECT_EQ(world.broken(), "");
}

// A pod that has not started cannot use what its driver does not publish. One that runs has been prepared: some drivers
// withdraw devices in use, so it is a note, and doctor warns.
TEST(Explain, WhatTheDriverPublishesNoMoreDisturbsOnlyPodsThatHaveNotStarted) {
  const std::vector<std::pair<std::string, std::function<void(SmallWorld&)>>> kinds{
      {"DriverAbsent", [](SmallWorld& world) { world.with_slice = false; }},
      {"DeviceGone", [](SmallWorld& world) { world.slice.devices.erase(world.slice.devices.begin()); }},
      {"PoolUnusable", [](SmallWorld& world) { world.slice.pool.resource_slice_count = 2; }}};
  for (const auto& [kind, withdraw] : kinds) {
    SmallWorld world;
    withdraw(world);
    EXPECT_EQ(world.broken(), "") << kind;
    for (const char* target : {"pod/train", "claim/c"}) {
      const Answer answer = world.explained(target);
      EXPECT_EQ(answer.status, Status::kYes) << kind << " " << target;
      EXPECT_EQ(answer.notes.size(), 1u) << kind << " " << target;
      EXPECT_EQ(render(answer, {}).find("delete"), std::string::npos) << render(answer, {});
    }
    const Objects objects = world.objects();
    const State state(objects, {});
    for (const Diagnosis& one : diagnose(state))
      if (one.check == "stuck claims" || one.check == "waiting pods") {
        EXPECT_NE(one.health, Health::kIll) << kind << ": " << one.finding;
      }
    world.pod.phase = "Pending";
    EXPECT_EQ(world.broken(), kind);
  }
}

// Deleting a pod is advised only where its owner makes another one, and never for a member of a group.
TEST(Explain, NothingIsDeletedThatNobodyMakesAgain) {
  SmallWorld world;
  world.pod.phase = "Pending";
  world.slice.devices.erase(world.slice.devices.begin());
  const auto said = [&] { return render(world.explained(), {}); };
  EXPECT_EQ(said().find("kubectl delete"), std::string::npos) << said();
  EXPECT_NE(said().find("nobody makes this pod again"), std::string::npos) << said();
  world.pod.metadata.owner_references = {{"apps/v1", "ReplicaSet", "train-7c", "rs", true}};
  EXPECT_NE(said().find("kubectl delete pod -n ml train"), std::string::npos) << said();
  EXPECT_NE(said().find("ReplicaSet train-7c makes another one"), std::string::npos) << said();
  world.pod.pod_group_name = "g";
  EXPECT_EQ(said().find("kubectl delete"), std::string::npos) << said();
  EXPECT_NE(said().find("member of group ml/g"), std::string::npos) << said();
}

// KEP-5729: the claim belongs to the PodGroup and is reserved for it.
TEST(Explain, AClaimOfThePodsGroupIsNotBroken) {
  SmallWorld world;
  world.pod.resource_claims = {{"gpus", std::nullopt, "t"}};
  world.pod.resource_claim_statuses = {{"gpus", "c"}};
  world.pod.pod_group_name = "g";
  world.claim.metadata.owner_references = {{"scheduling.k8s.io/v1alpha2", "PodGroup", "g", "g-uid", true}};
  world.claim.status.reserved_for = {{"scheduling.k8s.io", "podgroups", "g", "g-uid"}};
  EXPECT_EQ(world.broken(), "");
  const Answer answer = world.explained();
  EXPECT_EQ(answer.status, Status::kYes) << render(answer, {});
  EXPECT_EQ(render(answer, {}).find("delete"), std::string::npos) << render(answer, {});
  world.claim.metadata.owner_references[0].name = "another";
  EXPECT_EQ(world.broken(), "WrongOwner");
  EXPECT_EQ(render(world.explained(), {}).find("kubectl delete resourceclaim"), std::string::npos);
}

// As cilium#48922: each node publishes its slice under one pool name. kube-scheduler serves such pods.
TEST(Explain, OnePoolNameOnTwoNodesIsJudgedByNode) {
  SmallWorld world;
  Objects objects = world.objects();
  auto slice_of = [&](const std::string& node, int64_t generation) {
    auto slice = std::make_shared<api::ResourceSlice>(world.slice);
    slice->metadata.name = node + "-gpus";
    slice->node_name = node;
    slice->pool = {"blue", generation, 1};
    objects.slices[slice->metadata.name] = slice;
  };
  slice_of("a", 1);
  slice_of("b", 4);
  objects.dra_versions = {"v1"};
  auto claim = std::make_shared<api::ResourceClaim>(world.claim);
  claim->status.allocation->results[0].pool = "blue";
  objects.claims["ml/c"] = objects.claim_by_uid["claim-uid"] = claim;
  State state(objects, {});
  const auto explained = explain(state, "pod/train", {"ml", "", 80, false});
  ASSERT_TRUE(explained);
  EXPECT_EQ(explained->status, Status::kYes) << render(*explained, {});
  EXPECT_TRUE(explained->notes.empty()) << render(*explained, {});
  const Answer top = top_nodes(state, {});
  ASSERT_EQ(top.tables.at(0).rows.size(), 2u) << render(top, {});
  EXPECT_EQ(top.tables[0].rows[0].cells[0].text, "a");
  EXPECT_EQ(top.tables[0].rows[1].cells[0].text, "b");
  for (const auto& row : top.tables[0].rows) {
    EXPECT_EQ(row.cells[2].text, "2") << "total";
    EXPECT_EQ(row.cells[5].text, "1") << "free: gpu-0 is held, whatever node it is on";
  }
  bool warned = false;
  for (const Diagnosis& one : diagnose(state)) {
    EXPECT_NE(one.health, Health::kIll) << one.check << ": " << one.finding;
    warned = warned || one.finding.find("nodes a and b publish device gpu-0 under one pool name") != std::string::npos;
  }
  EXPECT_TRUE(warned);
}

TEST(Explain, DeviceTainted) {
  SmallWorld world;
  world.slice.devices[0].taints.push_back({"broken", "ecc", "NoExecute", ""});
  EXPECT_EQ(world.broken(), "DeviceTainted");
  world.claim.status.allocation->results[0].tolerations.push_back({"broken", "Exists", "", "", std::nullopt});
  EXPECT_EQ(world.broken(), "");
}

TEST(Explain, WhatKubeletPassesOnOfADevicesHealth) {
  SmallWorld world;
  world.pod.unhealthy_devices.push_back(
      {world.pod.resource_claims[0].name, "gpu", "gpu.example.com/a/gpu-0", "XID 79"});
  EXPECT_EQ(world.broken(), "Unhealthy");
  const std::string said = render(world.explained(), {});
  EXPECT_NE(said.find("XID 79"), std::string::npos) << said;
  EXPECT_NE(said.find("gpu.example.com/a/gpu-0"), std::string::npos) << said;
  // An entry that is not the pod's is ignored, and so is a pod that the claim is not reserved for.
  world.pod.unhealthy_devices[0].entry = "another";
  EXPECT_EQ(world.broken(), "");
}

TEST(Explain, ForgedDeviceStatusSaysNothing) {
  SmallWorld world;
  api::AllocatedDeviceStatus& status = world.claim.status.devices.emplace_back();
  status.driver = "gpu.example.com";
  status.pool = "a";
  status.device = "gpu-of-another-claim";
  status.conditions.push_back({"Ready", "False", "Broken", std::string(100'000, 'x'), "2026-01-01T00:00:00Z", 0});
  EXPECT_EQ(world.broken(), "");
  status.device = "gpu-0";
  EXPECT_EQ(world.broken(), "PrepareFailing");
  EXPECT_LT(render(world.explained(), {}).size(), 2000u) << "words of drivers are cut";
}

TEST(Explain, PrepareFailing) {
  SmallWorld world;
  world.claim.status.devices.push_back(
      {"gpu.example.com", "a", "gpu-0", std::nullopt, {{"Ready", "False", "LinkDown", "cable"}}});
  EXPECT_EQ(world.broken(), "PrepareFailing");
  world.claim.status.devices.clear();
  world.pod.phase = "Pending";
  world.pod.conditions.push_back({"PodReadyToStartContainers", "False", "", "", "2026-03-01T11:58:00Z"});
  EXPECT_EQ(world.broken(), "PrepareFailing");
}

TEST(Explain, FinalizerStuck) {
  SmallWorld world;
  world.claim.metadata.deletion_timestamp = "2026-03-01T11:30:00Z";
  EXPECT_EQ(world.broken(), "") << "its pod runs";
  world.pod.phase = "Succeeded";
  EXPECT_EQ(world.broken(), "ClaimStuck");
}

TEST(Explain, AClaimThatNoContainerUsesIsNoted) {
  SmallWorld world;
  world.pod.containers.emplace_back();
  EXPECT_EQ(world.explained().notes,
            std::vector<std::string>{
                "no container of pod ml/train uses claim \"gpus\": its devices are taken, and no container sees them; "
                "add resources.claims [{name: gpus}] to a container, and make the pod anew"});
  world.pod.init_containers.emplace_back();
  world.pod.init_containers[0].claims = {{"gpus", ""}};
  EXPECT_TRUE(world.explained().notes.empty());
}

// Its claims were freed when it ended, and those of its own deleted: that is as it should be.
TEST(Explain, NothingIsBrokenAboutAPodThatHasEnded) {
  for (const char* phase : {"Succeeded", "Failed"}) {
    SmallWorld world;
    world.pod.phase = phase;
    world.claim.status = {};
    EXPECT_EQ(world.broken(), "") << phase << ", its claim is free";
    world.with_claim = false;
    EXPECT_EQ(world.broken(), "") << phase << ", its claim is gone";
    const Answer answer = world.explained();
    EXPECT_EQ(answer.status, Status::kYes);
    EXPECT_EQ(answer.lines, std::vector<std::string>{std::string("Pod ml/train has ended (") + phase + ")."});
  }
}

TEST(Explain, WaitingPodSaysWhetherItFits) {
  SmallWorld world;
  world.claim.status = {};
  world.pod.node_name.clear();
  world.pod.phase = "Pending";
  world.pod.scheduling_gates = {"dra-controller-manager/allocation"};
  EXPECT_EQ(world.explained().status, Status::kYes);
  world.claim.spec.requests[0].exactly->count = 3;
  EXPECT_EQ(world.explained().status, Status::kNo);
}

// What containers request by the name of an extended resource is served by devices of its class.
TEST(Explain, ExtendedResourcesOfAClassAreAskedOfItsDevices) {
  SmallWorld world;
  world.device_class.extended_resource_name = "example.com/gpu";
  const auto explained = [&](const std::string& count, const std::string& offered_on_b) {
    Objects all = world.objects();
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.ns = "ml";
    pod->metadata.name = "asks";
    pod->metadata.uid = "asks-uid";
    pod->metadata.creation_timestamp = "2026-03-01T11:00:00Z";
    pod->containers.emplace_back().limits = {{"example.com/gpu", count}};
    pod->containers[0].requests = pod->containers[0].limits;
    all.pods["ml/asks"] = pod;
    if (!offered_on_b.empty()) {
      auto node = std::make_shared<api::Node>(*all.nodes["b"]);
      node->allocatable["example.com/gpu"] = offered_on_b;
      all.nodes["b"] = node;
    }
    State state(all, {});
    const auto answer = explain(state, "pod/asks", {"ml", "", 200, false});
    EXPECT_TRUE(answer) << answer.error().message();
    std::string text = answer->status == Status::kYes ? "fits\n" : "waits\n";
    for (const std::string& line : answer->lines) text += line + "\n";
    return text;
  };
  const std::string fits = explained("1", "");
  EXPECT_TRUE(fits.starts_with("fits\n")) << fits;
  const std::string refused = explained("2", "");  // the claim has gpu-0
  EXPECT_TRUE(refused.starts_with("waits\n")) << refused;
  EXPECT_NE(refused.find("It asks for example.com/gpu, which DeviceClass gpu provides: by a claim.\n"),
            std::string::npos)
      << refused;
  EXPECT_NE(refused.find("no node has 2 x gpu"), std::string::npos) << refused;
  EXPECT_NE(refused.find("claim ml/c"), std::string::npos) << refused;
  const std::string plugin = explained("2", "4");
  EXPECT_TRUE(plugin.starts_with("fits\n")) << plugin;
  EXPECT_EQ(plugin.find("by a claim"), std::string::npos) << "the device plugin of node b serves it: " << plugin;
  const std::string neither = explained("5", "4");
  EXPECT_TRUE(neither.starts_with("waits\n")) << neither;
  EXPECT_NE(neither.find("by a claim on the 1 node without a device plugin for it."), std::string::npos) << neither;
}

// A pod that waits, with a volume of claim "data".
SmallWorld waiting_with_volume() {
  SmallWorld world;
  world.claim.status = {};
  world.pod.node_name.clear();
  world.pod.phase = "Pending";
  world.pod.volumes.emplace_back().claim_name = "data";
  return world;
}

Answer with_storage(const SmallWorld& world, const std::function<void(Objects&)>& change) {
  Objects all = world.objects();
  all.storage_read = true;
  change(all);
  State state(all, {});
  auto answer = explain(state, "pod/train", {"ml", "", 200, false});
  EXPECT_TRUE(answer);
  return answer ? *answer : Answer{};
}

std::string page(const Answer& answer) {
  std::string text;
  for (const std::string& line : answer.lines) text += line + "\n";
  return text;
}

// The claim "data" after the change, and a volume of node b.
void add_data(Objects& all, const std::function<void(api::PersistentVolumeClaim&)>& change) {
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.ns = "ml";
  claim->metadata.name = "data";
  claim->metadata.uid = "data-uid";
  claim->access_modes = {"ReadWriteOnce"};
  claim->storage = "1Gi";
  change(*claim);
  all.volume_claims["ml/data"] = std::move(claim);
  auto volume = std::make_shared<api::PersistentVolume>();
  volume->metadata.name = "disk-b";
  volume->storage = "1Gi";
  volume->access_modes = {"ReadWriteOnce"};
  volume->claim_ref = {"ml", "data", "data-uid"};
  volume->node_affinity = api::NodeSelector{{{{}, {{"metadata.name", "In", {"b"}}}}}};
  volume->phase = "Bound";
  all.volumes["disk-b"] = std::move(volume);
}

TEST(Explain, AVolumeThatCannotBeUsedIsNamed) {
  const SmallWorld world = waiting_with_volume();
  Answer answer = with_storage(world, [](Objects&) {});
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_NE(page(answer).find("persistentvolumeclaim \"data\" not found"), std::string::npos) << page(answer);
  EXPECT_TRUE(answer.notes.empty());

  answer = with_storage(world, [](Objects& all) {
    add_data(all, [](api::PersistentVolumeClaim& claim) { claim.storage_class_name = "none"; });
  });
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_NE(page(answer).find("unbound immediate PersistentVolumeClaims"), std::string::npos) << page(answer);
  EXPECT_NE(page(answer).find("PersistentVolumeClaim data names StorageClass none, which does not exist."),
            std::string::npos)
      << page(answer);

  // The devices are on node a, the volume is on node b.
  const auto bound = [](Objects& all) {
    add_data(all, [](api::PersistentVolumeClaim& claim) {
      claim.volume_name = "disk-b";
      claim.phase = "Bound";
      claim.metadata.annotations["pv.kubernetes.io/bind-completed"] = "yes";
    });
  };
  answer = with_storage(world, bound);
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_NE(page(answer).find("PersistentVolume's node affinity"), std::string::npos) << page(answer);
  SmallWorld on_b = waiting_with_volume();
  on_b.slice.node_name = on_b.slice.pool.name = "b";
  answer = with_storage(on_b, bound);
  EXPECT_EQ(answer.status, Status::kYes) << page(answer);
}

TEST(Explain, VolumesThatMayNotBeListedAreNamedForPodsThatHaveSome) {
  SmallWorld world = waiting_with_volume();
  const auto hide = [](Objects& all) { all.hidden_storage.push_back({"persistentvolumes", "you may not list them"}); };
  const Answer answer = with_storage(world, hide);
  EXPECT_EQ(answer.status, Status::kYes);
  EXPECT_EQ(answer.notes, std::vector<std::string>{"the pod's volumes are not judged here: persistentvolumes are not "
                                                   "visible (you may not list them)"});
  world.pod.volumes.clear();
  EXPECT_TRUE(with_storage(world, hide).notes.empty());
}

// Without the storage kinds; the scheduler sees them and reports them in the pod's condition.
TEST(Explain, APodWithVolumesQuotesWhatItsConditionSays) {
  SmallWorld world;
  world.claim.status = {};
  world.pod.node_name.clear();
  world.pod.phase = "Pending";
  world.pod.volumes.emplace_back().claim_name = "data";
  EXPECT_EQ(world.explained().status, Status::kYes);
  EXPECT_EQ(world.explained().notes,
            std::vector<std::string>{"the pod's volumes are not judged here: the snapshot is without them"});
  api::Condition& condition = world.pod.conditions.emplace_back();
  condition.type = "PodScheduled";
  condition.status = "False";
  condition.message = "0/2 nodes are available: 2 nodes: didn't find available persistent volumes to bind";
  const Answer answer = world.explained();
  EXPECT_EQ(answer.status, Status::kNo);
  EXPECT_NE(
      std::find(answer.lines.begin(), answer.lines.end(), "Its condition PodScheduled says: " + condition.message),
      answer.lines.end());
}

TEST(Explain, UnknownObjectsAndKindsSuggestWhatIsNear) {
  const SmallWorld world;
  const Objects all = world.objects();
  State state(all, {});
  const auto why = [&](const std::string& target) {
    const auto answer = explain(state, target, {"ml", "", 80, false});
    return answer ? "" : answer.error().message();
  };
  EXPECT_EQ(why("pod/trian"), "pod \"trian\" is not known in namespace ml; did you mean \"train\"?");
  EXPECT_EQ(why("deploymnet/x"), "kind \"deploymnet\" cannot be explained; did you mean \"deployment\"?");
  EXPECT_EQ(why("job/x"), "a pod of job \"x\" is not known in namespace ml");
}

TEST(Explain, HiddenPodsAreSaid) {
  const SmallWorld world;
  Objects all = world.objects();
  all.hidden.push_back({"pods outside namespace ml", "forbidden"});
  State state(all, {});
  const auto answer = explain(state, "claim/c", {"ml", "", 80, false});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->notes, std::vector<std::string>{"not visible: pods outside namespace ml (forbidden)"});
}

TEST(Who, ListsHoldersAndSuggestsNames) {
  const SmallWorld world;
  const Objects all = world.objects();
  State state(all, {});
  const auto answer = who(state, "a");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(render(*answer, {}),
            "DEVICE   STATE   CLAIM   PODS    SINCE\n"
            "gpu-0    held    ml/c    train   60m\n"
            "gpu-1    free    -       -       -\n");
  EXPECT_EQ(who(state, "aa").error().message(), "node \"aa\" is not known; did you mean \"a\"?");
  EXPECT_EQ(who(state, "a/gpu-7").error().message(), "node \"a\" has no device \"gpu-7\"; did you mean \"gpu-0\"?");
}

TEST(Who, SurvivesTwoClaimsOfOneUid) {
  SmallWorld world;
  Objects all = world.objects();
  // As in a forged snapshot: the holder's uid leads to a claim without an allocation.
  auto forged = std::make_shared<api::ResourceClaim>(world.claim);
  forged->status = {};
  all.claim_by_uid[forged->metadata.uid] = forged;
  State state(all, {});
  const auto answer = who(state, "a/gpu-0");
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->tables.at(0).rows.size(), 1u);
}

TEST(Top, CountsNodesClassesClaimsAndNamespaces) {
  const SmallWorld world;
  const Objects all = world.objects();
  State state(all, {});
  EXPECT_EQ(render(top_nodes(state, {}), {}),
            "NODE   DRIVER            TOTAL   WHOLE   CUT   FREE   BAD   CAN BE CUT   SHARED LEFT\n"
            "a      gpu.example.com   2       1       0     1      0     -            -\n");
  EXPECT_EQ(render(top_classes(state), {}),
            "CLASS   TOTAL   USED   CUT   FREE   BAD   LARGEST   ON NODE\n"
            "gpu     2       1      0     1      0     1         a\n");
  EXPECT_EQ(render(top_claims(state, {}), {}),
            "NAMESPACE   CLAIM   STATE      DEVICES   NODE   PODS    AGE\n"
            "ml          c       reserved   1         a      train   60m\n");
  EXPECT_EQ(render(top_namespaces(state, {}), {}),
            "NAMESPACE   CLAIMS   ALLOCATED   DEVICES   WAITING PODS\n"
            "ml          1        1           1         0\n");
}

TEST(Top, LabelsSelectClaimsAndNamespaces) {
  SmallWorld world;
  world.claim.metadata.labels = {{"app", "train"}};
  Objects all = world.objects();
  auto ns = std::make_shared<api::Namespace>();
  ns->metadata.name = "ml";
  ns->metadata.labels = {{"team", "a"}};
  all.namespaces["ml"] = ns;
  State state(all, {});
  const auto rows = [&](auto top, const char* labels) {
    const auto selector = parse_label_selector(labels);
    EXPECT_TRUE(selector);
    return top(state, Scope{"", *selector}).tables[0].rows.size();
  };
  EXPECT_EQ(rows(top_claims, "app=train"), 1u);
  EXPECT_EQ(rows(top_claims, "app=web"), 0u);
  EXPECT_EQ(rows(top_namespaces, "team in (a,b)"), 1u);
  EXPECT_EQ(rows(top_namespaces, "team!=a"), 0u);
}

TEST(Answer, FormsOfOutput) {
  Answer answer{"Kind"};
  answer.tables.push_back(
      {"", "rows", {{"A", "a"}, {"B", "b", true}}, {{"thing/x", {Cell("x\x1b[31m", Tone::kBad), 7}}}});
  EXPECT_EQ(render(answer, {Format::kTable, false, true}), "A\nx\\x1b[31m\n");
  EXPECT_EQ(render(answer, {Format::kWide, false, false}), "x\\x1b[31m   7\n");
  EXPECT_EQ(render(answer, {Format::kName, false, true}), "thing/x\n");
  EXPECT_EQ(render(answer, {Format::kTable, true, false}), "\x1b[31mx\\x1b[31m\x1b[0m\n");
  EXPECT_NE(render(answer, {Format::kJson, false, true}).find("\"b\": 7"), std::string::npos);
  EXPECT_NE(render(answer, {Format::kYaml, false, true}).find("b: 7"), std::string::npos);
  EXPECT_FALSE(format_of("jsonn"));
}

TEST(Answer, WrapsAtWordsAndKeepsIndents) {
  EXPECT_EQ(wrapped("aaa bbb ccc", 7), "aaa bbb\nccc");
  EXPECT_EQ(wrapped("  aaa bbb ccc\nd", 7), "  aaa\n  bbb\n  ccc\nd");
  EXPECT_EQ(wrapped("abcdefghij", 4), "abcdefghij") << "a word is never cut";
}

}  // namespace
}  // namespace dra::inspect
