// The claim for extended resources: the requests and mappings that kube-scheduler 1.36.2 made for the same pods.
#include "pkg/protocol/extended_claim.h"

#include <gtest/gtest.h>

namespace dra::allocation::extended_claim_test {

using namespace protocol;
using namespace reconcile;

constexpr const char* kGpu = "example.com/gpu";

struct Asks {
  const char* name;
  int count;
  bool sidecar = false;
};

api::Pod pod_of(const std::vector<Asks>& inits, const std::vector<Asks>& containers) {
  api::Pod pod;
  for (const auto& [list, out] : {std::pair{&inits, &pod.init_containers}, std::pair{&containers, &pod.containers}})
    for (const Asks& asks : *list) {
      api::Container& container = out->emplace_back();
      container.name = asks.name;
      if (asks.sidecar) container.restart_policy = "Always";
      if (asks.count > 0) container.limits[kGpu] = std::to_string(asks.count);
    }
  return pod;
}

// "0x1 1x1 | c0:1 i0:1,0": counts by container index; which container uses which request.
std::string text_of(const ExtendedPlan& plan) {
  const auto number = [](const std::string& name) { return name.substr(10, name.find("-request") - 10); };
  std::string text;
  for (const api::DeviceRequest& request : plan.requests)
    text += number(request.name) + "x" + std::to_string(request.exactly->count) + " ";
  std::string last;
  for (const auto& mapping : plan.mappings) {
    text += mapping.container_name == last ? "," : (last.empty() ? "| " : " ") + mapping.container_name + ":";
    text += number(mapping.request_name);
    last = mapping.container_name;
  }
  return text;
}

TEST(ExtendedClaim, SharesDevicesAsKubeSchedulerDoes) {
  struct Case {
    std::vector<Asks> inits, containers;
    const char* plan;
  };
  const Case cases[] = {
      {{{"i0", 3}}, {{"c0", 1}, {"c1", 1}}, "0x1 1x1 2x1 | c0:1 c1:2 i0:1,2,0"},
      {{{"i0", 3}, {"side", 1, true}, {"i2", 2}}, {{"c0", 1}}, "0x1 1x1 3x1 | side:1 c0:3 i0:1,3,0 i2:3,0"},
      {{{"side", 1, true}, {"i0", 2}}, {{"c0", 1}}, "0x1 1x1 2x1 | side:0 c0:2 i0:2,1"},
      {{{"i0", 1}}, {{"c0", 2}}, "1x2 | c0:1 i0:1"},
      {{{"i0", 2}}, {{"c0", 1}, {"c1", 2}}, "1x1 2x2 | c0:1 c1:2 i0:1,2"},
      {{{"i0", 1}, {"i1", 2}}, {{"c0", 0}}, "1x2 | i0:1 i1:1"},
      {{{"i0", 2}, {"i1", 3}}, {{"c0", 1}}, "1x2 2x1 | c0:2 i0:2,1 i1:2,1"},
      {{{"i0", 3}, {"i1", 2}}, {{"c0", 2}, {"c1", 2}}, "2x2 3x2 | c0:2 c1:3 i0:2,3 i1:2"},
      {{{"i0", 2}, {"side", 2, true}}, {{"c0", 1}}, "1x2 2x1 | side:1 c0:2 i0:1"},
      {{{"i0", 4}, {"side", 1, true}, {"i1", 1}, {"s2", 1, true}},
       {{"c0", 1}},
       "0x1 1x1 3x1 4x1 | side:1 s2:3 c0:4 i0:1,3,4,0 i1:3"},
      {{{"i0", 5}}, {{"c0", 3}, {"c1", 1}}, "0x1 1x3 2x1 | c0:1 c1:2 i0:1,2,0"},
      {{{"i0", 3}, {"side", 2, true}, {"i2", 2}}, {{"c0", 0}}, "1x2 2x2 | side:1 i0:1,2 i2:2"},
      {{{"i0", 2}, {"i1", 2}}, {{"c0", 0}}, "0x2 | i0:0 i1:0"},
      {{{"i0", 1}, {"i1", 3}, {"i2", 2}}, {{"c0", 1}}, "1x2 3x1 | c0:3 i0:3 i1:3,1 i2:3,1"},
      {{{"i0", 3}, {"s1", 1, true}, {"i2", 3}, {"s3", 1, true}, {"i4", 4}},
       {{"c0", 1}},
       "1x1 3x1 4x3 5x1 | s1:1 s3:3 c0:5 i0:1,3,5 i2:3,5,4 i4:5,4"},
      {{{"i0", 5}, {"s1", 3, true}, {"i2", 4}, {"i3", 3}},
       {{"c0", 1}},
       "1x3 2x3 4x1 | s1:1 c0:4 i0:1,4,2 i2:4,2 i3:4,2"},
  };
  for (const Case& one : cases)
    EXPECT_EQ(text_of(plan_extended(pod_of(one.inits, one.containers), {{kGpu, "gpu"}})), one.plan);
}

TEST(ExtendedClaim, NumbersRequestsByAllThatTheContainerRequests) {
  api::Pod pod = pod_of({}, {{"c0", 1}});
  pod.containers[0].limits["cpu"] = "1";
  pod.containers[0].limits["memory"] = "1Mi";
  const ExtendedPlan plan = plan_extended(pod, {{kGpu, "gpu"}});
  ASSERT_EQ(plan.requests.size(), 1u);
  EXPECT_EQ(plan.requests[0].name, "container-0-request-1");
}

TEST(ExtendedClaim, KnowsItsOwnAndNoOther) {
  const api::Pod pod = pod_of({}, {{"c0", 2}});
  const std::vector<ExtendedResource> resources{{kGpu, "gpu"}, {"example.com/nic", "nic"}};
  api::ResourceClaim claim;
  claim.spec.requests = plan_extended(pod, {resources[0]}).requests;
  EXPECT_EQ(claimed_by(pod, resources, claim), std::vector<ExtendedResource>{resources[0]});
  EXPECT_TRUE(is_as_planned(pod, resources, claim));
  api::ResourceClaim more = claim;
  more.spec.requests[0].exactly->count = 8;
  EXPECT_FALSE(is_as_planned(pod, resources, more));
  more = claim;
  more.spec.requests[0].exactly->admin_access = true;
  EXPECT_FALSE(is_as_planned(pod, resources, more));
  more = claim;
  more.spec.requests[0].exactly->device_class_name = "better";
  EXPECT_FALSE(is_as_planned(pod, resources, more));
  more = claim;
  more.spec.requests.push_back(claim.spec.requests[0]);
  EXPECT_FALSE(is_as_planned(pod, resources, more));
  more = claim;
  more.spec.config.emplace_back();
  EXPECT_FALSE(is_as_planned(pod, resources, more));
  more.spec = {};
  EXPECT_FALSE(is_as_planned(pod, resources, more));
}

// Amounts that cannot be counted request nothing; an absurdly large amount stays a number.
TEST(ExtendedClaim, AmountsThatAreNone) {
  for (const char* odd : {"x", "", "-3", "0"}) {
    api::Pod pod = pod_of({}, {{"c0", 1}});
    pod.containers[0].limits[kGpu] = odd;
    EXPECT_TRUE(plan_extended(pod, {{kGpu, "gpu"}}).requests.empty()) << odd;
  }
  api::Pod pod = pod_of({{"i0", 1}}, {{"c0", 1}, {"c1", 1}});
  for (api::Container& container : pod.containers) container.limits[kGpu] = "9223372036854775807";
  EXPECT_EQ(plan_extended(pod, {{kGpu, "gpu"}}).requests.size(), 2u);
}

}  // namespace dra::allocation::extended_claim_test
