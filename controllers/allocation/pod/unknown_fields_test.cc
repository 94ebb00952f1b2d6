// Claims, slices and classes with a field that this build does not know: their pods wait with the reason, other pods do
// not, and what is allocated already stays.
#include "controllers/allocation/allocation_fixture.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation::unknown_fields_test {

using namespace protocol;
using namespace reconcile;

namespace {

api::UnknownFields unknown(const std::string& field, const std::string& path) {
  api::UnknownFields found;
  found.fields = {{field, path, api::UnknownField::Why::kName}};
  return found;
}

class UnknownFieldsTest : public AllocationTest {
 protected:
  UnknownFieldsTest() { quiet_claims = true; }

  api::ResourceSlice slice_of(const std::string& node) { return test::local_slice("gpu.example.com", node, "gpu-", 2); }
  std::string note() { return event().note; }
};

}  // namespace

TEST_F(UnknownFieldsTest, AClaimIsNotAllocatedAndOthersAre) {
  view.put(make_pod("p", {"c"}));
  view.put(make_pod("q", {"d"}));
  api::ResourceClaim claim = make_claim("c");
  claim.spec.unknown = unknown("resourceclaims.spec.devices.requests.exactly.a", "spec.devices.requests[0].exactly.a");
  put(claim);
  put(make_claim("d"));
  EXPECT_EQ(pass("p"), "event FailedAllocation, parked");
  EXPECT_EQ(note(),
            "claim \"default/c\": field spec.devices.requests[0].exactly.a is not known to this version: upgrade the "
            "manager or, if that is safe, ignore it by "
            "--ignore-unknown-fields=resourceclaims.spec.devices.requests.exactly.a");
  const std::string shape = last.park->shape;
  remember();
  EXPECT_EQ(pass("p"), "parked") << "said once";
  EXPECT_EQ(pass("q"), "allocate d");
  // Pods that are alike in all that is known are not tried for each other.
  api::Pod other = make_pod("r", {"e"});
  other.scheduling_gates.clear();
  put(make_claim("e", 99));
  view.put(make_pod("r", {"e"}));
  pass("r");
  EXPECT_TRUE(shape.empty() || shape != last.park->shape);
}

TEST_F(UnknownFieldsTest, APoolAndADevice) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  for (const char* node : {"n1", "n2"}) {
    api::ResourceSlice slice = slice_of(node);
    slice.unknown = unknown("resourceslices.spec.a", "spec.a");
    inventory.apply_slice(slice);
  }
  EXPECT_EQ(pass("p"), "event FailedAllocation, parked");
  EXPECT_NE(note().find("4 devices refused (ResourceSlice"), std::string::npos) << note();
  EXPECT_NE(note().find("--ignore-unknown-fields=resourceslices.spec.a)"), std::string::npos) << note();
  // One device of one node is left.
  api::ResourceSlice slice = slice_of("n2");
  slice.unknown = unknown("resourceslices.spec.devices.a", "spec.devices[0].a");
  slice.unknown->devices = {{0, 0}};
  inventory.apply_slice(slice);
  EXPECT_EQ(pass("p"), "allocate c");
  EXPECT_EQ(write().assume->results.at(0).device, slice.devices[1].name);
}

TEST_F(UnknownFieldsTest, AClass) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  gpu.unknown = unknown("deviceclasses.spec.a", "spec.a");
  inventory.apply_class(gpu);
  EXPECT_EQ(pass("p"), "event FailedAllocation, parked");
  EXPECT_NE(note().find("device class \"gpu\": field spec.a is not known"), std::string::npos) << note();
  gpu.unknown.reset();
  inventory.apply_class(gpu);
  EXPECT_EQ(pass("p"), "allocate c");
}

// In gate mode and in bind mode, before the proof and after it.
TEST_F(UnknownFieldsTest, WhatIsAllocatedStaysAndGoesOn) {
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", true, {"p"});
  claim.spec.unknown = unknown("resourceclaims.spec.a", "spec.a");
  put(claim);
  view.put(make_pod("p", {"c"}));
  api::ResourceSlice slice = slice_of("n1");
  slice.unknown = unknown("resourceslices.spec.a", "spec.a");
  inventory.apply_slice(slice);
  EXPECT_EQ(pass(), "prove c");
  proven(claim, "p");
  EXPECT_TRUE(pass().starts_with("lift-gate"));
}

TEST_F(UnknownFieldsTest, AnAllocationIsNotSharedWithMorePods) {
  api::ResourceClaim claim = allocated("c", "n1", "gpu-0", false, {"q"});
  claim.status.allocation->unknown = unknown("resourceclaims.status.allocation.a", "status.allocation.a");
  put(claim);
  view.put(make_pod("p", {"c"}));
  EXPECT_EQ(pass(), "event FailedAllocation");
  EXPECT_NE(note().find("claim \"c\" of entry \"c\": field status.allocation.a is not known"), std::string::npos)
      << note();
  view.ignored = {"resourceclaims.status.allocation.a"};
  EXPECT_NE(pass(), "event FailedAllocation");
}

TEST_F(UnknownFieldsTest, AGroupWaitsAndKeepsWhatItHolds) {
  api::Pod pod = make_pod("p", {"c"});
  pod.pod_group_name = "g";
  view.put(pod);
  allocated("c", "n1", "gpu-0", true, {"p"});
  api::PodGroup group;
  group.metadata.ns = "default";
  group.metadata.name = "g";
  group.min_count = 2;
  group.unknown = unknown("podgroups.spec.a", "spec.a");
  view.groups[GroupApi::kCore]["default/g"] = group;
  EXPECT_EQ(pass(), "event GroupWaits");
  EXPECT_NE(note().find("PodGroup default/g: field spec.a is not known"), std::string::npos) << note();
}

}  // namespace dra::allocation::unknown_fields_test
