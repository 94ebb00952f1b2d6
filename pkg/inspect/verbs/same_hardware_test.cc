// What verbs say of a device whose silicon is held under another name, and of devices of a device plugin.
#include <gtest/gtest.h>

#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/inspect/verbs/who.h"

namespace dra::inspect::same_hardware_test {
namespace {

// The GPUs of node a, which pod "run" holds, are published by another driver, too, which has a third one.
struct TwoDrivers : TwoNodes {
  TwoDrivers() {
    auto gpus = std::make_shared<api::ResourceSlice>(*objects.slices.at("a-gpus"));
    auto others = named_object<api::ResourceSlice>("", "a-pts");
    others->driver = "pt.example.com";
    others->pool = {"a", 1, 1};
    others->node_name = "a";
    for (int i = 0; i < 3; ++i) {
      api::DeviceAttribute bus = std::string("0000:" + std::to_string(10 + i) + ":00.0");
      others->devices.emplace_back().name = "pt-" + std::to_string(i);
      others->devices.back().attributes["resource.kubernetes.io/pciBusID"] = bus;
      if (i < 2) gpus->devices.at(static_cast<size_t>(i)).attributes["resource.kubernetes.io/pciBusID"] = bus;
    }
    objects.slices["a-gpus"] = gpus;
    objects.slices["a-pts"] = others;
    auto device_class = named_object<api::DeviceClass>("", "pt");
    device_class->selectors = {"device.driver == \"pt.example.com\""};
    objects.classes["pt"] = device_class;
  }
};

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(SameHardware, WhoNamesTheHolderOfTheOtherName) {
  const TwoDrivers world;
  State state(world.objects, {});
  const auto answer = who(state, "a", {"ml", true});
  ASSERT_TRUE(answer);
  const std::string text = render(*answer, {Format::kCsv});
  EXPECT_TRUE(says(text, "pt-0,\"held as gpu.example.com/a/gpu-0\",ml/run-g,run,")) << text;
  EXPECT_TRUE(says(text, "pt-1,\"held as gpu.example.com/a/gpu-1\",ml/run-g,run,")) << text;
  EXPECT_TRUE(says(text, "pt-2,free,")) << text;
}

TEST(SameHardware, TopCountsAPieceUnderTheNameThatIsHeld) {
  const TwoDrivers world;
  State state(world.objects, {});
  const std::string text = render(top_nodes(state, {}), {Format::kCsv});
  EXPECT_TRUE(says(text, "a,gpu.example.com,2,2,0,0,0,")) << text;
  EXPECT_TRUE(says(text, "a,pt.example.com,1,0,0,1,0,")) << text;
  EXPECT_TRUE(says(text, "2 devices in use under another name")) << text;
}

TEST(SameHardware, ExplainNamesTheHolderOfTheOtherName) {
  TwoDrivers world;
  world.add_pod("waits", "", {});
  auto claim = std::make_shared<api::ResourceClaim>(*world.objects.claims.at("ml/waits-g"));
  claim->spec.requests[0].exactly->device_class_name = "pt";
  world.objects.claims["ml/waits-g"] = world.objects.claim_by_uid[claim->metadata.uid] = claim;
  State state(world.objects, {});
  ExplainOptions options;
  options.ns = "ml";
  options.width = 0;
  const auto answer = explain(state, "pod/waits", options);
  ASSERT_TRUE(answer);
  const std::string text = render(*answer, {});
  EXPECT_TRUE(says(text, "pt.example.com/a/pt-0 is the same hardware as gpu.example.com/a/gpu-0 (pci 0000:10:00.0)"))
      << text;
  EXPECT_TRUE(says(text, "by claim ml/run-g (pod ml/run)")) << text;
}

std::vector<std::string> findings_of(const Objects& objects, const std::string& check) {
  std::vector<std::string> found;
  for (const Diagnosis& one : diagnose(State(objects, {})))
    if (one.check == check) found.push_back(one.finding);
  return found;
}

TEST(SameHardware, DoctorNamesNodesAndWhatIsOdd) {
  TwoDrivers world;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(findings_of(world.objects, "same hardware"),
            Texts{"node a: drivers gpu.example.com and pt.example.com publish the same hardware (pci 0000:10:00.0; 2 "
                  "pairs of devices)"});
  auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.at("a-pts"));
  for (api::Device& device : slice->devices) device.attributes["resource.kubernetes.io/pciBusID"] = std::string("n/a");
  world.objects.slices["a-pts"] = slice;
  EXPECT_EQ(findings_of(world.objects, "same hardware").at(0),
            "device pt.example.com/a/pt-0: attribute resource.kubernetes.io/pciBusID should name its hardware, and is "
            "not in the form of its kind: it is ignored");
  EXPECT_EQ(findings_of(TwoNodes().objects, "same hardware"), Texts{"no two drivers publish the same hardware"});
}

// As NVIDIA's driver publishes ConsumableShares beside DynamicMIG: a capacity without a request policy.
TEST(SharedDevices, DoctorSaysThatTheDriverMadeItSo) {
  TwoDrivers world;
  using Texts = std::vector<std::string>;
  const Texts fine = findings_of(world.objects, "shared devices");
  ASSERT_EQ(fine.size(), 1u);
  auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.at("a-pts"));
  for (api::Device& device : slice->devices) {
    device.allow_multiple_allocations = true;
    device.capacity["copyEngines"].value = "7";
    device.capacity["memory"].value = "80Gi";
    device.capacity["memory"].request_policy.emplace().default_value = "0";
  }
  world.objects.slices["a-pts"] = slice;
  EXPECT_EQ(findings_of(world.objects, "shared devices"),
            Texts{"driver pt.example.com publishes 3 devices on 1 node that may be shared (allowMultipleAllocations), "
                  "but gives no request policy to copyEngines: each claim takes all of it, so nobody shares them"});
  for (api::Device& device : slice->devices) device.capacity.erase("copyEngines");
  EXPECT_EQ(findings_of(world.objects, "shared devices"), fine);
  auto ruled = std::make_shared<api::DeviceClass>(*world.objects.classes.at("pt"));
  ruled->metadata.annotations["dra-controller-manager/shares"] = "sharers=none";
  world.objects.classes["pt"] = ruled;
  const Texts wrong = findings_of(world.objects, "shared devices");
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_TRUE(says(wrong[0],
                   "annotation dra-controller-manager/shares of DeviceClass pt cannot be read, so the class "
                   "gives no shares: \"sharers=none\": write sharers=NUMBER"))
      << wrong[0];
}

// The class says that the device plugin serves the same devices.
TEST(SameHardware, OfADevicePluginIsSaid) {
  TwoDrivers world;
  auto serving = std::make_shared<api::DeviceClass>(*world.objects.classes.at("pt"));
  serving->extended_resource_name = "example.com/pt";
  world.objects.classes["pt"] = serving;
  auto node = std::make_shared<api::Node>(*world.objects.nodes.at("a"));
  node->allocatable["example.com/pt"] = "3";
  world.objects.nodes["a"] = node;
  for (const auto use : {identity::PluginUse::kPlugin, identity::PluginUse::kDra}) {
    StateOptions options;
    options.identities.plugin["pt.example.com"] = use;
    State state(world.objects, options);
    const auto answer = who(state, "a/pt-2", {"ml", true});
    ASSERT_TRUE(answer);
    const std::string wanted = use == identity::PluginUse::kPlugin ? "pt-2,\"device plugin\"," : "pt-2,free,";
    EXPECT_TRUE(says(render(*answer, {Format::kCsv}), wanted)) << render(*answer, {Format::kCsv});
    const std::string top = render(top_nodes(state, {}), {Format::kCsv});
    EXPECT_EQ(says(top, "1 device with the device plugin"), use == identity::PluginUse::kPlugin) << top;
  }
}

}  // namespace
}  // namespace dra::inspect::same_hardware_test
