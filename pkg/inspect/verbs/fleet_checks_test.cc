// Classes without devices, alignment that says nothing, and extended resources of a running pod.
#include <gtest/gtest.h>

#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/verbs/chain.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"

namespace dra::inspect::fleet_checks_test {
namespace {

constexpr const char* kRoot = "resource.kubernetes.io/pcieRoot";
constexpr const char* kNuma = "resource.kubernetes.io/numaNode";

std::shared_ptr<api::ResourceSlice> slice_of(TwoNodes& world, const std::string& node) {
  auto slice = std::make_shared<api::ResourceSlice>(*world.objects.slices.at(node + "-gpus"));
  world.objects.slices[node + "-gpus"] = slice;
  return slice;
}

// Node a is a virtual machine; node b shows where its devices are.
TwoNodes with_a_virtual_machine() {
  TwoNodes world;
  int64_t number = 0;
  for (const std::string node : {"a", "b"})
    for (api::Device& device : slice_of(world, node)->devices) {
      device.attributes[kRoot] = node == "a" ? std::string("pci0000:00") : "pci0000:0" + std::to_string(number);
      device.attributes[kNuma] = node == "a" ? int64_t{-1} : int64_t{0};
      ++number;
    }
  return world;
}

void align(TwoNodes& world, const std::string& attribute) {
  auto from = std::make_shared<api::ResourceClaimTemplate>(*world.objects.templates.at("ml/two"));
  from->spec.constraints.push_back({{}, attribute, std::nullopt});
  world.objects.templates["ml/two"] = from;
}

TEST(FleetChecks, AlignmentThatSaysNothingIsNamedWithItsUsers) {
  TwoNodes world = with_a_virtual_machine();
  EXPECT_EQ(diagnosed(world.objects, "alignment"), "fine") << "nobody aligns by it";
  align(world, kRoot);
  EXPECT_EQ(diagnosed(world.objects, "alignment"),
            "ResourceClaimTemplate ml/two aligns devices by resource.kubernetes.io/pcieRoot, which says nothing: all "
            "devices of a node share one value on 1 of 2 nodes (a), as in many virtual machines");
  world = with_a_virtual_machine();
  align(world, "numaNode");
  EXPECT_EQ(diagnosed(world.objects, "alignment"),
            "ResourceClaimTemplate ml/two aligns devices by resource.kubernetes.io/numaNode, which says nothing: it is "
            "-1, unknown, on 1 of 2 nodes (a), as in many virtual machines");
  world = TwoNodes();
  align(world, kRoot);
  EXPECT_EQ(diagnosed(world.objects, "alignment"), "fine") << "no device has it";
}

TEST(FleetChecks, LintWarnsOfAlignmentThatSaysNothing) {
  const TwoNodes world = with_a_virtual_machine();
  const auto said = [&](const std::string& attribute) {
    const auto findings = lint(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: pair\n  annotations:\n    "
        "dra-controller-manager/prefer: same:" +
            attribute +
            "\nspec:\n  devices:\n    requests:\n    - name: r\n      exactly: {deviceClassName: gpu, count: 2}\n"
            "    constraints:\n    - matchAttribute: " +
            attribute + "\n",
        &world.objects, {}, "ml");
    std::string text;
    if (findings)
      for (const Finding& one : *findings) text += one.path + ": " + one.text + "\n";
    return text;
  };
  EXPECT_NE(said(kRoot).find("constraints[0].matchAttribute: aligns nothing on some nodes: of " + std::string(kRoot) +
                             ", all devices of a node share one value on 1 of 2 nodes (a)"),
            std::string::npos)
      << said(kRoot);
  EXPECT_NE(said(kNuma).find("is not met on some nodes: it is -1, unknown, on 1 of 2 nodes (a)"), std::string::npos)
      << said(kNuma);
  EXPECT_EQ(said("gpu.example.com/model"), "");
}

TEST(FleetChecks, AClassWithoutDevicesIsNamedIfSomebodyWaits) {
  TwoNodes world;
  auto silent = named_object<api::DeviceClass>("", "silent");
  silent->selectors = {"device.driver == \"silent.example.com\""};
  world.objects.classes["silent"] = silent;
  EXPECT_EQ(diagnosed(world.objects, "device classes"), "fine");
  world.add_pod("waits", "", {});
  auto claim = std::make_shared<api::ResourceClaim>(*world.objects.claims.at("ml/waits-g"));
  claim->spec.requests[0].exactly->device_class_name = "silent";
  world.objects.claims["ml/waits-g"] = claim;
  EXPECT_EQ(diagnosed(world.objects, "device classes"),
            "class silent selects none of 4 devices (the drivers that publish are gpu.example.com), and pod ml/waits "
            "waits for one");
}

TEST(FleetChecks, ExtendedResourcesOfARunningPodAreLinks) {
  TwoNodes world;
  auto pod = std::make_shared<api::Pod>(*world.objects.pods.at("ml/run"));
  pod->resource_claims.clear();
  pod->resource_claim_statuses.clear();
  pod->extended_resource_claim_status = api::PodExtendedResourceClaimStatus{};
  pod->extended_resource_claim_status->resource_claim_name = "run-g";
  world.objects.pods["ml/run"] = pod;
  const State state(world.objects, {});
  const Chain whole = chain_of(state, *pod);
  EXPECT_EQ(whole.claims.size(), 1u);
  EXPECT_TRUE(whole.broken.empty());
  world.objects.claims.erase("ml/run-g");
  const Chain torn = chain_of(state, *pod);
  ASSERT_EQ(torn.broken.size(), 1u);
  EXPECT_EQ(torn.broken[0].kind, Break::kClaimMissing);
}

}  // namespace
}  // namespace dra::inspect::fleet_checks_test
