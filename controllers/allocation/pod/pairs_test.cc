// Pairs of a pod and of its claims: they reach the allocator, and what cannot be followed makes the pod wait.
#include <gtest/gtest.h>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/alignment/alignment.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::pairs_test {
namespace {

using reconcile::Write;

// Each node has two GPUs and two NICs; those of n1 are on three roots, those of n2 on two.
class Pairs : public AllocationTest {
 protected:
  Pairs() {
    for (const char* node : {"n1", "n2"})
      for (const char* kind : {"gpu", "nic"}) {
        api::ResourceSlice slice;
        slice.metadata.name = std::string(node) + "-" + kind;
        slice.driver = std::string(kind) + "s.example.com";
        slice.pool = {node, 1, 1};
        slice.node_name = node;
        for (int i = 0; i < 2; ++i) {
          api::Device& device = slice.devices.emplace_back();
          device.name = std::string(kind) + "-" + std::to_string(i);
          const bool apart = node == std::string("n1") && kind == std::string("nic") && i == 1;
          device.attributes["example.com/root"] = std::to_string(apart ? 7 : i);
        }
        inventory.apply_slice(slice);
      }
    for (const char* kind : {"gpus", "nics"}) {
      api::DeviceClass device_class;
      device_class.metadata.name = kind;
      device_class.selectors = {"device.driver == \"" + std::string(kind) + ".example.com\""};
      inventory.apply_class(device_class);
    }
  }
  api::ResourceClaim two_and_two(const std::string& name, const std::string& pairs) {
    api::ResourceClaim claim = make_claim(name);
    claim.spec.requests = {test::exactly("gpu", "gpus", 2), test::exactly("nic", "nics", 2)};
    if (!pairs.empty()) claim.metadata.annotations[std::string(alignment::kPairsAnnotation)] = pairs;
    return claim;
  }
  // Allocated on the node, with all of its GPUs and NICs.
  api::ResourceClaim on_node(api::ResourceClaim claim, const std::string& node, bool ours, const std::string& pod) {
    api::AllocationResult& allocation = claim.status.allocation.emplace();
    for (const api::DeviceRequest& request : claim.spec.requests)
      for (int i = 0; i < request.exactly->count; ++i)
        allocation.results.push_back(
            {request.name, request.name + "s.example.com", node, request.name + "-" + std::to_string(i)});
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
    allocation.allocation_timestamp = format_rfc3339(view.time);
    if (!pod.empty()) claim.status.reserved_for.push_back({"", "pods", pod, pod + "-uid"});
    claim.metadata.managed_fields.push_back(
        {ours ? std::string(protocol::kAllocationManager) : "kube-scheduler", "Update", "status"});
    put(claim);
    return claim;
  }
  // Two claims of pod "p", with the annotation over both.
  void pod_over_two(const std::string& pairs) {
    api::Pod pod = make_pod("p", {"a", "b"});
    if (!pairs.empty()) pod.metadata.annotations[std::string(alignment::kPairsAnnotation)] = pairs;
    view.put(pod);
  }
  api::ResourceClaim two_of(const std::string& name, const std::string& request) {
    api::ResourceClaim claim = make_claim(name);
    claim.spec.requests = {test::exactly(request, request + "s", 2)};
    return claim;
  }
  std::string node_chosen() {
    for (const reconcile::Effect& effect : last.effects)
      if (const Write* write = std::get_if<Write>(&effect); write && write->assume_pod) return write->assume_pod->node;
    return "";
  }
};

TEST_F(Pairs, OfAClaim) {
  view.put(make_pod("p", {"c"}));
  put(two_and_two("c", ""));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n1");
  put(two_and_two("c", "gpu+nic by example.com/root"));
  ASSERT_EQ(pass(), "allocate c");
  EXPECT_EQ(node_chosen(), "n2");
}

TEST_F(Pairs, OfAPodOverItsClaims) {
  api::Pod pod = make_pod("p", {"a", "b"});
  pod.resource_claims[0].name = "left";  // its own name for claim a
  pod.metadata.annotations[std::string(alignment::kPairsAnnotation)] = "left/gpu+b/nic by example.com/root";
  view.put(pod);
  api::ResourceClaim a = make_claim("a"), b = make_claim("b");
  a.spec.requests = {test::exactly("gpu", "gpus", 2)};
  b.spec.requests = {test::exactly("nic", "nics", 2)};
  put(a);
  put(b);
  ASSERT_EQ(pass(), "allocate a, allocate b");
  EXPECT_EQ(node_chosen(), "n2");
}

TEST_F(Pairs, TooFewAreSaidWithTheirNumbers) {
  nodes.names = {"n1"};
  view.put(make_pod("p", {"c"}));
  put(two_and_two("c", "gpu+nic by example.com/root"));
  pass();
  EXPECT_NE(event().note.find("node n1 has 1 such pair (gpu+nic by example.com/root), 2 are asked"), std::string::npos)
      << event().note;
}

TEST_F(Pairs, AMalformedAnnotationMakesThePodWaitAndIsSaidOnce) {
  view.put(make_pod("p", {"c"}));
  put(two_and_two("c", "gpu++nic by example.com/root"));
  pass();
  EXPECT_EQ(node_chosen(), "");
  EXPECT_EQ(event().reason, "FailedAllocation");
  EXPECT_EQ(
      event().note,
      "claim \"default/c\": annotation dra-controller-manager/pairs: \"gpu++nic by example.com/root\": has an empty "
      "term (syntax)");
  remember();
  const std::string again = pass();
  EXPECT_EQ(again.find("event"), std::string::npos) << again;
}

// A driver has published other roots since the decision.
TEST_F(Pairs, AreJudgedAgainBeforeTheMark) {
  view.put(make_pod("p", {"c"}));
  on_node(two_and_two("c", "gpu+nic by example.com/root"), "n1", true, "p");
  EXPECT_EQ(pass(), "withdraw c");
  on_node(two_and_two("c", ""), "n1", true, "p");
  EXPECT_EQ(pass(), "prove c");
  on_node(two_and_two("c", "gpu+nic by example.com/root"), "n2", true, "p");
  EXPECT_EQ(pass(), "prove c");
}

// A claim's annotation is not looked at once the claim is allocated; a pod's is.
TEST_F(Pairs, OverClaimsThatOthersAllocated) {
  pod_over_two("a/gpu+b/nic by example.com/root");
  on_node(two_of("a", "gpu"), "n1", false, "p");
  on_node(two_of("b", "nic"), "n1", false, "p");
  pass();
  EXPECT_EQ(event().reason, "FailedAllocation");
  EXPECT_EQ(event().note,
            "its claims are allocated already, and the devices of its claims form 1 such pair (a/gpu+b/nic by "
            "example.com/root), 2 are asked; name claims that are not allocated, or make the pod without the "
            "annotation");
  remember();
  const std::string again = pass();
  EXPECT_EQ(again, "") << "said once";
  pod_over_two("");
  EXPECT_EQ(pass(), "enlist a, enlist b");
  pod_over_two("a/gpu+b/nic by example.com/root");
  on_node(two_of("a", "gpu"), "n2", false, "p");
  on_node(two_of("b", "nic"), "n2", false, "p");
  EXPECT_EQ(pass(), "enlist a, enlist b");
  pod_over_two("a/gpu+b/nick by example.com/root");
  pass();
  EXPECT_NE(event().note.find("b/nick"), std::string::npos) << event().note;
  pod_over_two("a/gpu*3 by example.com/root");
  pass();
  EXPECT_NE(event().note.find("gpu takes 2 devices, a group of gpu*3 needs 3: this never fits"), std::string::npos)
      << event().note;
  // The claim's own annotation: it was decided when the claim was allocated.
  view.put(make_pod("q", {"c"}));
  on_node(two_and_two("c", "gpu+nic by example.com/root"), "n1", false, "q");
  EXPECT_EQ(pass("q"), "enlist c");
}

// Its own mark says that they were judged: what the driver publishes later no longer holds the pod.
TEST_F(Pairs, AreNotJudgedAgainAfterTheMark) {
  pod_over_two("a/gpu+b/nic by example.com/root");
  proven(on_node(two_of("a", "gpu"), "n1", true, "p"), "p");
  proven(on_node(two_of("b", "nic"), "n1", true, "p"), "p");
  EXPECT_EQ(pass(), "lift-gate p");
}

TEST_F(Pairs, WhatNeverFitsIsSaid) {
  view.put(make_pod("p", {"c"}));
  put(two_and_two("c", "gpu*3+nic by example.com/root"));
  pass();
  EXPECT_NE(event().note.find("gpu takes 2 devices, a group of gpu*3 needs 3: this never fits"), std::string::npos)
      << event().note;
}

}  // namespace
}  // namespace dra::allocation::pairs_test
