// fits against the oracle's exhaustive search, on random worlds: now, and on the empty cluster.
#include "pkg/inspect/verbs/fits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"

namespace dra::inspect {
namespace {

// A claim that holds one device of the world, in the form of test/allocharness's inventory.
void hold_device(Objects& objects, const oracle::DeviceName& name, std::optional<std::string> share,
                 const api::StringMap& consumed) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = "holders";
  claim->metadata.name = claim->metadata.uid = "holder-" + std::to_string(objects.claims.size());
  api::DeviceRequestAllocationResult result{"held", name.driver, name.pool, name.device};
  result.share_id = std::move(share);
  result.consumed_capacity = consumed;
  claim->status.allocation.emplace().results.push_back(std::move(result));
  objects.claims[claim->metadata.key()] = claim;
}

Objects objects_of(const oracle::World& world) {
  Objects objects;
  for (const api::Node& node : world.nodes) {
    auto copy = std::make_shared<api::Node>(node);
    copy->allocatable["pods"] = "110";
    objects.nodes[node.metadata.name] = copy;
  }
  for (const auto& one : world.classes)
    objects.classes[one.metadata.name] = std::make_shared<const api::DeviceClass>(one);
  for (const auto& one : world.slices)
    objects.slices[one.metadata.name] = std::make_shared<const api::ResourceSlice>(one);
  for (const auto& one : world.taint_rules)
    objects.taint_rules[one.metadata.name] = std::make_shared<const api::DeviceTaintRule>(one);
  for (const auto& name : world.allocated) hold_device(objects, name, std::nullopt, {});
  std::map<oracle::DeviceName, api::StringMap> unclaimed = world.consumed;
  for (const auto& [name, share] : world.allocated_shares) {
    const auto consumed = unclaimed.extract(name);
    hold_device(objects, name, share, consumed ? consumed.mapped() : api::StringMap());
  }
  for (const auto& [name, consumed] : unclaimed)
    hold_device(objects, name, "00000000-0000-4000-8000-100000000000", consumed);
  return objects;
}

// The world's claims as the claims of one pod in a file.
Manifest manifest_of(const oracle::World& world) {
  Manifest manifest;
  Workload workload{"Pod", "asked", {}, 1};
  workload.pod.metadata.name = "asked";
  workload.pod.metadata.ns = "default";
  for (const api::ResourceClaim& claim : world.claims) {
    auto copy = std::make_shared<api::ResourceClaim>(claim);
    copy->metadata.ns = "default";
    copy->metadata.name += "-" + std::to_string(manifest.claims.size());
    workload.pod.resource_claims.push_back({copy->metadata.name, copy->metadata.name, std::nullopt});
    manifest.claims.push_back(std::move(copy));
  }
  manifest.workloads.push_back(std::move(workload));
  return manifest;
}

struct Tally {
  uint64_t now = 0, when_empty = 0, never = 0, skipped = 0;
};

void compare_world(uint64_t seed, Tally& tally) {
  const oracle::World world = oracle::random_world(seed);
  oracle::World emptied = world;
  emptied.allocated.clear();
  emptied.allocated_shares.clear();
  emptied.consumed.clear();
  const oracle::Solution now = oracle::solve(world), empty = oracle::solve(emptied);
  const auto decided = [](const oracle::Solution& v) {
    return v.answer == oracle::Answer::kFeasible || v.answer == oracle::Answer::kInfeasible;
  };
  if (!decided(now) || !decided(empty)) {
    ++tally.skipped;
    return;
  }
  FitsOptions options;
  options.count_more = false;
  options.state.features =
      inventory::FeatureChoice(*inventory::features_from_gates({world.gates.begin(), world.gates.end()}));
  const Objects objects = objects_of(world);
  const Manifest manifest = manifest_of(world);
  const auto found = fits(objects, manifest, options);
  ASSERT_TRUE(found) << "seed " << seed << ": " << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  const Fit expected = now.answer == oracle::Answer::kFeasible     ? Fit::kNow
                       : empty.answer == oracle::Answer::kFeasible ? Fit::kWhenEmpty
                                                                   : Fit::kNever;
  EXPECT_EQ(fit_name((*found)[0].fit), fit_name(expected))
      << "seed " << seed << " " << oracle::write_case(world) << " " << (*found)[0].why;
  options.on_empty = true;
  const auto on_empty = fits(objects, manifest, options);
  ASSERT_TRUE(on_empty) << "seed " << seed;
  EXPECT_EQ((*on_empty)[0].fit == Fit::kWhenEmpty, empty.answer == oracle::Answer::kFeasible) << "seed " << seed;
  ++(expected == Fit::kNow ? tally.now : expected == Fit::kWhenEmpty ? tally.when_empty : tally.never);
}

// DRA_FITS_CASES=10000 for the long form.
TEST(Fits, EqualsTheOracleNowAndOnTheEmptyCluster) {
  const char* wanted = std::getenv("DRA_FITS_CASES");
  const uint64_t cases = wanted ? std::strtoull(wanted, nullptr, 10) : 600;
  Tally tally;
  for (uint64_t seed = 1; seed <= cases && !::testing::Test::HasFailure(); ++seed) compare_world(seed, tally);
  std::printf("now %lu, when empty %lu, never %lu, skipped %lu\n", tally.now, tally.when_empty, tally.never,
              tally.skipped);
  EXPECT_GT(tally.now, cases / 10);
  EXPECT_GT(tally.when_empty, cases / 100);
  EXPECT_GT(tally.never, cases / 10);
}

Objects four_gpus() {
  Objects objects;
  auto slice = std::make_shared<api::ResourceSlice>();
  slice->metadata.name = "a-gpus";
  slice->driver = "gpu.example.com";
  slice->pool = {"a", 1, 1};
  slice->node_name = "a";
  for (int i = 0; i < 4; ++i) {
    api::Device device;
    device.name = "gpu-" + std::to_string(i);
    slice->devices.push_back(device);
  }
  objects.slices["a-gpus"] = slice;
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "a";
  node->allocatable = {{"pods", "3"}, {"cpu", "8"}};
  objects.nodes["a"] = node;
  auto device_class = std::make_shared<api::DeviceClass>();
  device_class->metadata.name = "gpu";
  device_class->selectors = {"device.driver == \"gpu.example.com\""};
  objects.classes["gpu"] = device_class;
  return objects;
}

constexpr std::string_view kTemplate = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    spec:
      resourceClaims: [{name: g, resourceClaimTemplateName: one}]
      containers: [{name: c, resources: {requests: {cpu: "1"}, claims: [{name: g}]}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
)";

TEST(Fits, CountsCopiesOfAWorkloadAndHowManyMore) {
  const Objects objects = four_gpus();
  const auto manifest = read_manifest(kTemplate, "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(manifest->skipped, std::vector<std::string>{"Service web"});
  auto found = fits(objects, *manifest, {});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].fit, Fit::kNow);
  EXPECT_EQ((*found)[0].placed, 2u);
  EXPECT_EQ((*found)[0].more, 1u) << "the node takes three pods";
  FitsOptions four;
  four.copies = 4;
  found = fits(objects, *manifest, four);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].placed, 3u);
  EXPECT_EQ((*found)[0].fit, Fit::kNever);
  EXPECT_NE((*found)[0].why.find("runs as many pods as it can"), std::string::npos) << (*found)[0].why;
}

// The API server writes requests where a file has limits alone.
TEST(Fits, LimitsWithoutRequestsAreRequests) {
  const Objects objects = four_gpus();  // a node with 8 cpu
  const auto fit_of = [&](const std::string& spec) {
    const auto manifest =
        read_manifest("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " + spec + "}", "default");
    const auto found = manifest ? fits(objects, *manifest, {}) : fail(manifest.error());
    EXPECT_TRUE(found) << spec;
    return found ? found->front().fit : Fit::kUnknown;
  };
  EXPECT_EQ(fit_of("{containers: [{name: c, resources: {limits: {cpu: 9}}}]}"), Fit::kNever);
  EXPECT_EQ(fit_of("{containers: [{name: c, resources: {limits: {cpu: 9}, requests: {cpu: 7}}}]}"), Fit::kNow);
  EXPECT_EQ(fit_of("{containers: [{name: c}], initContainers: [{name: i, resources: {limits: {cpu: 9}}}]}"),
            Fit::kNever);
  EXPECT_EQ(fit_of("{resources: {limits: {cpu: 9}}, containers: [{name: c}]}"), Fit::kNever);
  EXPECT_EQ(fit_of("{resources: {limits: {cpu: 9}}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}"),
            Fit::kNow);
  EXPECT_EQ(fit_of("{containers: [{name: c, resources: {limits: {cpu: 1}, requests: null}}]}"), Fit::kNow);
}

TEST(Fits, ExtendedResourcesOfAClassTakeItsDevices) {
  Objects objects = four_gpus();
  auto device_class = std::make_shared<api::DeviceClass>(*objects.classes["gpu"]);
  device_class->extended_resource_name = "example.com/gpu";
  objects.classes["gpu"] = device_class;
  const auto manifest = read_manifest(R"(
kind: Pod
apiVersion: v1
metadata: {name: p}
spec: {containers: [{name: c, image: x, resources: {limits: {example.com/gpu: "2"}}}]}
)",
                                      "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  FitsOptions three;
  three.copies = 3;
  const auto found = fits(objects, *manifest, three);
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].placed, 2u) << "four devices, two for each pod";
  EXPECT_NE((*found)[0].why.find("2 x gpu"), std::string::npos) << (*found)[0].why;
}

// A quota keeps claims from being made, however many devices are free.
TEST(Fits, AQuotaRefusesClaims) {
  Objects objects = four_gpus();
  const auto set_quota = [&](const std::string& resource, const std::string& hard, const std::string& used) {
    auto quota = std::make_shared<api::ResourceQuota>();
    quota->metadata.ns = "default";
    quota->metadata.name = "q";
    quota->hard = {{resource, hard}};
    quota->used = {{resource, used}};
    objects.quotas.all = {{"default/q", quota}};
  };
  const auto manifest = read_manifest(kTemplate, "default");  // two pods with a device each
  ASSERT_TRUE(manifest) << manifest.error().message();
  const auto asked = [&] {
    const auto found = fits(objects, *manifest, {});
    EXPECT_TRUE(found) << found.error().message();
    return found ? found->front() : FitAnswer{};
  };
  const std::string devices = "gpu.deviceclass.resource.k8s.io/devices";
  set_quota(devices, "3", "0");
  EXPECT_EQ(asked().fit, Fit::kNow);
  EXPECT_EQ(asked().more, 1u) << "the third is the last one, by the quota and by the node";
  set_quota(devices, "2", "0");
  EXPECT_EQ(asked().more, 0u);
  for (const std::string& resource : {devices, std::string("count/resourceclaims.resource.k8s.io")}) {
    set_quota(resource, "2", "1");
    const FitAnswer found = asked();
    EXPECT_EQ(found.fit, Fit::kWhenEmpty) << resource;
    EXPECT_EQ(found.placed, 1u);
    EXPECT_EQ(found.cause, "QuotaRefuses");
    EXPECT_NE(found.why.find("ResourceQuota default/q allows 2"), std::string::npos) << found.why;
  }
  set_quota(devices, "1", "0");
  EXPECT_EQ(asked().fit, Fit::kNever);
  const Answer answer = to_answer({asked()}, *manifest, objects, false);
  EXPECT_EQ(answer.status, Status::kNo);
  ASSERT_EQ(answer.statements.size(), 1u);
  EXPECT_EQ(
      answer.statements[0].message,
      "deployment/web, copy 2: ResourceQuota default/q allows 1 device of class gpu, 1 is used, and the pod asks "
      "for 1; wait until others are gone (kubectl dra top claims -n default), or raise "
      "spec.hard[\"gpu.deviceclass.resource.k8s.io/devices\"] of the quota: kubectl edit resourcequota -n default q");
  objects.quotas.all.clear();
  objects.quotas.asked = true;
  objects.quotas.hidden = {{"resourcequotas", std::string(kMayNotList)}};
  const Answer unseen = to_answer({asked()}, *manifest, objects, false);
  EXPECT_EQ(std::count(unseen.notes.begin(), unseen.notes.end(),
                       "whether a ResourceQuota of namespace default refuses claims is not visible: you may not list "
                       "them"),
            1);
}

// Copies that share a claim of the file count it once; the pods of a group count together.
TEST(Fits, AQuotaCountsWhatIsMade) {
  Objects objects = four_gpus();
  auto quota = std::make_shared<api::ResourceQuota>();
  quota->metadata.ns = "default";
  quota->metadata.name = "q";
  quota->hard = {{"gpu.deviceclass.resource.k8s.io/devices", "1"}};
  objects.quotas.all = {{"default/q", quota}};
  const std::string job = "kind: Job\napiVersion: batch/v1\nmetadata: {name: j}\nspec: {parallelism: 2, template: ";
  const std::string claim = "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}";
  const std::string containers = "containers: [{name: c, resources: {requests: {cpu: 1}}}]";
  const auto fit_of = [&](const std::string& text) {
    const auto manifest = read_manifest(text, "default");
    EXPECT_TRUE(manifest) << manifest.error().message();
    const auto found = manifest ? fits(objects, *manifest, {}) : fail(manifest.error());
    EXPECT_TRUE(found);
    return found && !found->empty() ? found->back() : FitAnswer{};
  };
  EXPECT_EQ(fit_of("kind: ResourceClaim\napiVersion: resource.k8s.io/v1\nmetadata: {name: one}\n" + claim + "\n---\n" +
                   job + "{spec: {resourceClaims: [{name: g, resourceClaimName: one}], " + containers + "}}}\n")
                .placed,
            2u);
  const std::string made =
      "kind: ResourceClaimTemplate\napiVersion: resource.k8s.io/v1\nmetadata: {name: one}\nspec: {" + claim +
      "}\n---\n";
  const std::string group =
      "kind: PodGroup\napiVersion: scheduling.x-k8s.io/v1alpha1\nmetadata: {name: g}\nspec: {minMember: 2}\n---\n";
  const FitAnswer together =
      fit_of(made + group + job +
             "{metadata: {labels: {scheduling.x-k8s.io/pod-group: g}}, spec: {resourceClaims: [{name: g, " +
             "resourceClaimTemplateName: one}], " + containers + "}}}\n");
  EXPECT_EQ(together.fit, Fit::kNever) << together.why;
  EXPECT_EQ(together.placed, 0u);
  EXPECT_EQ(together.cause, "QuotaRefuses") << together.why;
}

// A file is judged as a whole, but "never" is said only of what fits on no cluster like this one.
TEST(Fits, WhatFitsOnlyWithoutTheRestOfTheFileIsNotNever) {
  const Objects objects = four_gpus();
  const auto pod = [](const std::string& name, const std::string& cpu) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
           "}, spec: {containers: [{name: c, resources: {requests: {cpu: " + cpu + "}}}]}}\n---\n";
  };
  const auto manifest = read_manifest(pod("big", "6") + pod("second", "3") + pod("huge", "9"), "default");
  ASSERT_TRUE(manifest);
  FitsOptions options;
  options.on_empty = true;
  const auto found = fits(objects, *manifest, options);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)[0].fit, Fit::kWhenEmpty);
  EXPECT_EQ((*found)[1].fit, Fit::kAlone);
  EXPECT_TRUE((*found)[1].why.starts_with("not beside what comes before it in the file: 0/1 nodes")) << (*found)[1].why;
  EXPECT_EQ((*found)[2].fit, Fit::kNever);
  EXPECT_EQ(to_answer(*found, *manifest, objects, true).status, Status::kNo);
}

TEST(Fits, CopiesShareAClaimThatTheyName) {
  const Objects objects = four_gpus();
  const auto manifest = read_manifest(R"(
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
metadata: {name: all}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: 4}}]}}
---
kind: Job
apiVersion: batch/v1
metadata: {name: j}
spec: {parallelism: 3, template: {spec: {resourceClaims: [{name: g, resourceClaimName: all}], containers: [{name: c}]}}}
)",
                                      "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  const auto found = fits(objects, *manifest, {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)[0].placed, 3u) << (*found)[0].why;
  EXPECT_EQ((*found)[0].fit, Fit::kNow);
}

// A node whose device plugin offers what a class provides too: members go there by themselves, or to the devices of the
// class on the other node by a claim.
Objects gpus_of_a_class(int by_plugin) {
  Objects objects = four_gpus();
  auto device_class = std::make_shared<api::DeviceClass>(*objects.classes["gpu"]);
  device_class->extended_resource_name = "example.com/gpu";
  objects.classes["gpu"] = device_class;
  auto roomy = std::make_shared<api::Node>(*objects.nodes["a"]);
  roomy->allocatable["pods"] = "10";
  objects.nodes["a"] = roomy;
  if (by_plugin > 0) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = "b";
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}, {"example.com/gpu", std::to_string(by_plugin)}};
    objects.nodes["b"] = node;
  }
  return objects;
}

TEST(Fits, AGroupOfPodsWithExtendedResourcesOfAClassIsDecided) {
  for (const int by_plugin : {0, 4})
    for (int members = 1; members <= 4; ++members) {
      SCOPED_TRACE(std::to_string(members) + " members, plugin with " + std::to_string(by_plugin));
      const auto manifest = read_manifest(
          "{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: "
          "{gang: {minCount: " +
              std::to_string(members) + "}}}}\n---\n" +
              "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: " + std::to_string(members) +
              ", template: {spec: {schedulingGroup: {podGroupName: g}, containers: [{name: c, resources: {limits: "
              "{example.com/gpu: 2}}}]}}}}",
          "default");
      ASSERT_TRUE(manifest) << manifest.error().message();
      const auto found = fits(gpus_of_a_class(by_plugin), *manifest, {});
      ASSERT_TRUE(found) << found.error().message();
      const FitAnswer& group = found->front();
      // As in the manager, members of one shape are served alike: all by the plugin, or all by claims.
      EXPECT_EQ(group.fit, members <= 2 ? Fit::kNow : Fit::kNever) << group.why;
      EXPECT_EQ(group.placed, members <= 2 ? static_cast<uint32_t>(members) : 0u);
      if (members > 2) continue;
      EXPECT_EQ(group.nodes.front(), by_plugin > 0 ? "b" : "a");
      EXPECT_EQ(group.first.size(), by_plugin > 0 ? 0u : 1u) << "devices come from a claim where no plugin offers them";
    }
}

// The plugin's node is full: the members take the class's devices on the other one.
TEST(Fits, AGroupTakesTheClassesDevicesWhereThePluginHasNoneLeft) {
  const std::string two_groups = [] {
    std::string text;
    for (const char* name : {"g", "h"})
      text += std::string("{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: ") + name +
              "}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}\n---\n{apiVersion: batch/v1, kind: Job, metadata: "
              "{name: j" +
              name + "}, spec: {parallelism: 2, template: {spec: {schedulingGroup: {podGroupName: " + name +
              "}, containers: [{name: c, resources: {limits: {example.com/gpu: 2}}}]}}}}\n---\n";
    return text;
  }();
  const auto manifest = read_manifest(two_groups, "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  const auto found = fits(gpus_of_a_class(1), *manifest, {});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].fit, Fit::kNow) << (*found)[0].why;
  EXPECT_EQ((*found)[0].nodes, (std::vector<std::string>{"a", "a"}));
  EXPECT_EQ((*found)[0].first.size(), 1u);
}

// One group of either API: members by a field of scheduling.k8s.io, or by a label of the coscheduling plugin.
std::string gang(bool by_label, int minimum, int members) {
  const std::string group = by_label
                                ? "{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g}, "
                                  "spec: {minMember: " +
                                      std::to_string(minimum) + "}}"
                                : "{apiVersion: scheduling.k8s.io/v1alpha2, kind: PodGroup, metadata: {name: g}, "
                                  "spec: {schedulingPolicy: {gang: {minCount: " +
                                      std::to_string(minimum) + "}}}}";
  const std::string metadata = by_label ? "metadata: {labels: {scheduling.x-k8s.io/pod-group: g}}, " : "";
  const std::string field = by_label ? "" : "schedulingGroup: {podGroupName: g}, ";
  return group + "\n---\n" +
         "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one}, "
         "spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}\n---\n" +
         "{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: " + std::to_string(members) +
         ", template: {" + metadata + "spec: {" + field +
         "resourceClaims: [{name: g, resourceClaimTemplateName: one}], volumes: [{name: v, persistentVolumeClaim: "
         "{claimName: d}}], containers: [{name: c, resources: {claims: [{name: g}]}}]}}}}";
}

// The node has capacity for three pods: a group fits if and only if it asks for at most three members and has them.
TEST(Fits, AGroupFitsAsAWholeOrNotAtAll) {
  const Objects objects = four_gpus();
  for (const bool by_label : {false, true})
    for (int minimum = 1; minimum <= 5; ++minimum)
      for (int members = 1; members <= 5; ++members) {
        SCOPED_TRACE(std::to_string(minimum) + " of " + std::to_string(members) + (by_label ? ", by label" : ""));
        const auto manifest = read_manifest(gang(by_label, minimum, members), "default");
        ASSERT_TRUE(manifest) << manifest.error().message();
        const auto found = fits(objects, *manifest, {});
        ASSERT_TRUE(found) << found.error().message();
        ASSERT_EQ(found->size(), 1u) << "one answer for the group, none for its members";
        const FitAnswer& group = found->front();
        EXPECT_EQ(group.what, "podgroup/g");
        const bool fits_now = minimum <= 3 && members >= minimum;
        EXPECT_EQ(group.fit, fits_now ? Fit::kNow : Fit::kNever) << group.why;
        EXPECT_EQ(group.placed, fits_now ? std::min(members, 3) : 0) << "nothing of a group that does not fit";
        EXPECT_EQ(group.why.empty(), fits_now && members <= 3);
        if (!fits_now && members < minimum) {
          EXPECT_NE(group.why.find("the file has"), std::string::npos) << group.why;
        }
        const Answer answer = to_answer(*found, *manifest, objects, false);
        EXPECT_EQ(answer.notes,
                  std::vector<std::string>{"not checked: where the volumes of job/j can be, as the snapshot is without "
                                           "them; its nodes are judged without them"});
      }
}

TEST(Fits, AVolumeThatIsNowhereIsNamedAndOneOfTheFileIsLeftOut) {
  Objects objects = four_gpus();
  objects.storage_read = true;
  const auto asked = [&](const std::string& before) {
    const auto manifest = read_manifest(before + gang(false, 1, 1), "default");
    EXPECT_TRUE(manifest);
    const auto found = fits(objects, *manifest, {});
    EXPECT_TRUE(found && !found->empty());
    return std::make_pair(found->front(), to_answer(*found, *manifest, objects, false).notes);
  };
  const auto [nowhere, no_notes] = asked("");
  EXPECT_EQ(nowhere.fit, Fit::kNever);
  EXPECT_NE(nowhere.why.find("persistentvolumeclaim \"d\" not found"), std::string::npos) << nowhere.why;
  const auto [of_file, notes] = asked("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}}\n---\n");
  EXPECT_EQ(of_file.fit, Fit::kNow) << of_file.why;
  ASSERT_FALSE(notes.empty());
  EXPECT_NE(notes.front().find("PersistentVolumeClaim d is still to be made from the file"), std::string::npos);
}

// Local volumes of 10Gi, one per node, for claims of a class with WaitForFirstConsumer.
Objects with_local_volumes(const std::vector<std::string>& nodes) {
  Objects objects = four_gpus();
  objects.storage_read = true;
  auto local = std::make_shared<api::StorageClass>();
  local->metadata.name = "local";
  local->metadata.annotations["storageclass.kubernetes.io/is-default-class"] = "true";
  local->provisioner = "kubernetes.io/no-provisioner";
  local->volume_binding_mode = "WaitForFirstConsumer";
  objects.storage_classes["local"] = local;
  for (const std::string& node : nodes) {
    auto volume = std::make_shared<api::PersistentVolume>();
    volume->metadata.name = volume->metadata.uid = "on-" + node;
    volume->storage = "10Gi";
    volume->access_modes = {"ReadWriteOnce"};
    volume->storage_class_name = "local";
    volume->phase = "Available";
    volume->node_affinity = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
    objects.volumes[volume->metadata.name] = volume;
  }
  return objects;
}

std::string pod_with(const std::string& name, const std::string& volume_claim) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name +
         "}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: " + volume_claim +
         "}}], containers: [{name: c}]}}\n---\n";
}

std::string volume_claim(const std::string& name) {
  return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + name +
         "}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}}\n---\n";
}

std::string fits_text(const Objects& objects, const std::string& text, const FitsOptions& options = {}) {
  const auto manifest = read_manifest(text, "default");
  EXPECT_TRUE(manifest);
  const auto found = fits(objects, *manifest, options);
  EXPECT_TRUE(found);
  std::string said;
  for (const FitAnswer& one : *found)
    said += one.what + " " + std::string(fit_name(one.fit)) + " " + std::to_string(one.placed) + " on " +
            (one.nodes.empty() ? "-" : one.nodes.front()) + "; ";
  return said;
}

TEST(Fits, PodsCompeteForVolumesThatAreNotBound) {
  const std::string node = four_gpus().nodes.begin()->first;
  const std::string file = volume_claim("a") + volume_claim("b") + pod_with("one", "a") + pod_with("two", "b");
  EXPECT_EQ(fits_text(with_local_volumes({}), file), "pod/one never 0 on -; pod/two never 0 on -; ");
  EXPECT_EQ(fits_text(with_local_volumes({node}), file), "pod/one now 1 on " + node + "; pod/two when empty 0 on -; ")
      << "the first takes the only volume";
  EXPECT_EQ(fits_text(with_local_volumes({node}), volume_claim("a") + pod_with("one", "a") + pod_with("two", "a")),
            "pod/one now 1 on " + node + "; pod/two now 1 on " + node + "; ")
      << "two pods of one claim";
}

TEST(Fits, WhatWasOnlyCountedIsGivenBackWithItsVolume) {
  const std::string node = four_gpus().nodes.begin()->first;
  Objects objects = with_local_volumes({node});
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = pod.metadata.uid = "p";
  api::PodVolume volume;
  volume.name = "v";
  volume.claim_name = "a";
  pod.volumes = {volume};
  auto claim = std::make_shared<api::PersistentVolumeClaim>();
  claim->metadata.ns = "default";
  claim->metadata.name = claim->metadata.uid = "a";
  claim->access_modes = {"ReadWriteOnce"};
  claim->storage = "5Gi";
  claim->storage_class_name = "local";
  objects.volume_claims["default/a"] = claim;
  State taken(objects, {});
  for (int round = 0; round < 3; ++round) {
    const Placed placed = taken.place(&pod, {});
    ASSERT_EQ(placed.outcome, allocator::Outcome::kFeasible) << placed.why;
    taken.take(&pod, {}, placed);
    EXPECT_TRUE(taken.cluster.storage.volumes.find("on-" + node)->claim_ref);
    taken.release(pod.metadata.uid, {});
    EXPECT_FALSE(taken.cluster.storage.volumes.find("on-" + node)->claim_ref);
  }
}

// The device is one whole or two halves, and both pods prefer the whole (kubernetes/kubernetes#138765): one after the
// other they do not fit.
TEST(Fits, AGroupIsDecidedInOneSearch) {
  Objects objects;
  auto node = std::make_shared<api::Node>();
  node->metadata.name = "a";
  node->allocatable = {{"pods", "10"}};
  objects.nodes["a"] = node;
  auto counters = std::make_shared<api::ResourceSlice>(), devices = std::make_shared<api::ResourceSlice>();
  for (const auto& slice : {counters, devices}) {
    slice->driver = "gpu.example.com";
    slice->node_name = "a";
    slice->pool = {"a", 1, 2};
  }
  counters->metadata.name = "counters";
  devices->metadata.name = "devices";
  counters->shared_counters.push_back({"set", {{"halves", "2"}}});
  for (const auto& [name, halves] : {std::pair("whole", "2"), std::pair("half-0", "1"), std::pair("half-1", "1")}) {
    api::Device& device = devices->devices.emplace_back();
    device.name = name;
    device.attributes["size"] = std::string(halves);
    device.consumes_counters.push_back({"set", {{"halves", halves}}});
  }
  objects.slices["counters"] = counters;
  objects.slices["devices"] = devices;
  for (const std::string size : {"1", "2"}) {
    auto one = std::make_shared<api::DeviceClass>();
    one->metadata.name = size == "1" ? "half" : "whole";
    one->selectors.push_back("device.attributes[\"gpu.example.com\"].size == \"" + size + "\"");
    objects.classes[one->metadata.name] = one;
  }
  const std::string gang = R"({apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one},
    spec: {spec: {devices: {requests: [{name: r, firstAvailable: [{name: a, deviceClassName: whole}, {name: b, deviceClassName: half}]}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {parallelism: COUNT, template: {metadata: {annotations: {GROUP: "COUNT"}}, spec: {
    resourceClaims: [{name: g, resourceClaimTemplateName: one}], containers: [{name: c, resources: {claims: [{name: g}]}}]}}}}
)";
  const auto ask = [&](int count, bool together) {
    std::string text = gang;
    for (size_t at; (at = text.find("COUNT")) != std::string::npos;) text.replace(at, 5, std::to_string(count));
    text.replace(text.find("GROUP"), 5, together ? "dra-controller-manager/group" : "other");
    const auto manifest = read_manifest(text, "default");
    EXPECT_TRUE(manifest) << manifest.error().message();
    const auto found = fits(objects, *manifest, {});
    EXPECT_TRUE(found) << found.error().message();
    return found->front();
  };
  EXPECT_EQ(ask(2, false).placed, 1u) << "the first takes the whole";
  const FitAnswer both = ask(2, true);
  EXPECT_EQ(both.fit, Fit::kNow) << both.why;
  EXPECT_EQ(both.placed, 2u);
  const FitAnswer three = ask(3, true);
  EXPECT_EQ(three.fit, Fit::kNever);
  EXPECT_EQ(three.placed, 0u);
  EXPECT_NE(three.why.find("3 members must fit at once: "), std::string::npos) << three.why;
}

// Node a has a large GPU and node b a small one, which suffices.
TEST(Fits, TheStrategyChoosesNodeAndDevices) {
  Objects objects;
  for (const std::string name : {"a", "b"}) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = name;
    node->allocatable = {{"pods", "10"}, {"cpu", "8"}};
    objects.nodes[name] = node;
    auto slice = std::make_shared<api::ResourceSlice>();
    slice->metadata.name = name;
    slice->driver = "gpu.example.com";
    slice->node_name = name;
    slice->pool = {name, 1, 1};
    api::Device& device = slice->devices.emplace_back();
    device.name = "gpu-0";
    device.capacity["memory"].value = name == "a" ? "80Gi" : "40Gi";
    objects.slices[name] = slice;
  }
  auto gpu = std::make_shared<api::DeviceClass>();
  gpu->metadata.name = "gpu";
  objects.classes["gpu"] = gpu;
  const auto manifest =
      read_manifest(R"({apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one},
    spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: g, resourceClaimTemplateName: one}], containers: [{name: c}]}}
)",
                    "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  const auto node_of = [&](const StateOptions& state) {
    FitsOptions options;
    options.state = state;
    const auto found = fits(objects, *manifest, options);
    EXPECT_TRUE(found && found->front().placed == 1);
    return found->front().nodes.front();
  };
  EXPECT_EQ(node_of({}), "b") << "the smallest that suffices";
  StateOptions first_fit;
  first_fit.strategy = allocator::Strategy::kFirstFit;
  EXPECT_EQ(node_of(first_fit), "a");
  auto said = std::make_shared<api::DeviceClass>(*gpu);
  said->metadata.annotations["dra-controller-manager/strategy"] = "first-fit";
  objects.classes["gpu"] = said;
  EXPECT_EQ(node_of({}), "a");
}

// Capacity that an unplaceable group tried to take is free for those after it in the file.
TEST(Fits, AGroupThatDoesNotFitKeepsNothing) {
  const std::string behind =
      "\n---\n{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {resourceClaims: [{name: g, "
      "resourceClaimTemplateName: one}], containers: [{name: c}]}}";
  const auto manifest = read_manifest(gang(false, 4, 4) + behind, "default");
  ASSERT_TRUE(manifest) << manifest.error().message();
  FitsOptions options;
  options.count_more = true;
  const auto found = fits(four_gpus(), *manifest, options);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].fit, Fit::kNever);
  EXPECT_EQ((*found)[1].fit, Fit::kNow);
  EXPECT_EQ((*found)[1].more, 2u) << "three pods go on the node";
}

TEST(Fits, AGroupOfAnotherKindIsRefused) {
  const auto manifest =
      read_manifest("{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {name: g}}", "d");
  ASSERT_FALSE(manifest);
  EXPECT_NE(manifest.error().message().find("scheduling.volcano.sh/v1beta1"), std::string::npos);
}

TEST(Fits, NamesWhatTheFileLacks) {
  const auto manifest = read_manifest(
      R"({kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: g, resourceClaimTemplateName: none}], containers: []}})",
      "ml");
  ASSERT_TRUE(manifest) << manifest.error().message();
  const auto found = fits(four_gpus(), *manifest, {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ((*found)[0].fit, Fit::kBroken);
  EXPECT_EQ((*found)[0].why,
            "ResourceClaimTemplate ml/none (used by pod claim \"g\") is neither in the file nor in the cluster");
  EXPECT_EQ(to_answer(*found, *manifest, four_gpus(), false).status, Status::kUsage);
}

// One object that cannot be judged, or not even read, hides nothing of the others.
TEST(Fits, WhatIsBrokenHidesNothing) {
  const std::string pods =
      "{apiVersion: v1, kind: Pod, metadata: {name: broken}, spec: {resourceClaims: [{name: g, "
      "resourceClaimTemplateName: none}], containers: []}}\n---\n"
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: odd}, spec: {devices: 3}}\n---\n"
      "{apiVersion: v1, kind: Pod, metadata: {name: whole}, spec: {containers: []}}";
  const auto manifest = read_manifest(pods, "ml");
  ASSERT_TRUE(manifest) << manifest.error().message();
  ASSERT_EQ(manifest->broken.size(), 1u);
  EXPECT_TRUE(manifest->broken.at(1).message().starts_with("document 2: ")) << manifest->broken.at(1).message();
  const auto found = fits(four_gpus(), *manifest, {});
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].fit, Fit::kBroken);
  EXPECT_EQ((*found)[1].fit, Fit::kNow);
  const Answer answer = to_answer(*found, *manifest, four_gpus(), false);
  EXPECT_EQ(answer.status, Status::kUsage);
  EXPECT_EQ(answer.notes.at(0), "not checked: " + manifest->broken.at(1).message());
}

TEST(Fits, RefusesHostileFilesWithOneSentence) {
  for (const char* text : {"[", "- 1", "a: &x [*x]", "kind: Pod\nspec: 7\nmetadata: []",
                           "{kind: ResourceClaim, spec: {devices: 3}}", "\x01\x02"}) {
    const auto manifest = read_manifest(text, "default");
    if (manifest) continue;  // nothing in it is usable, and nothing broke
    EXPECT_FALSE(manifest.error().message().empty()) << text;
  }
  EXPECT_FALSE(read_manifest(std::string(kMaxManifest + 1, ' '), "default"));
}

}  // namespace
}  // namespace dra::inspect
