// Bind mode waits for what drivers report about devices that they must prepare, and takes other devices on failure.
#include "controllers/allocation/bind/bind_conditions.h"

#include <nlohmann/json.hpp>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::allocation::bind_conditions_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using State = DevicePreparation::State;

class BindConditions : public AllocationTest {
 protected:
  BindConditions() {
    options.mode = Mode::kBind;
    quiet_claims = true;
    api::Pod pod = make_pod("p", {"c"}, false);
    pod.scheduler_name = "ours";
    view.put(pod);
    preparing("gpu-0");
  }
  // Claim c is allocated the device, about which its driver has reported nothing yet.
  void preparing(const std::string& device) {
    api::ResourceClaim claim = allocated("c", "n1", device, true, {"p"});
    claim.status.allocation->allocation_timestamp = format_rfc3339(view.time);
    claim.status.allocation->results[0].binding_conditions = {"Attached", "Ready"};
    claim.status.allocation->results[0].binding_failure_conditions = {"Broken"};
    put(claim);
  }
  void says(const std::string& type, const std::string& status, const std::string& device = "gpu-0") {
    api::ResourceClaim claim = view.claims.at("default/c");
    auto& devices = claim.status.devices;
    auto known = std::find_if(devices.begin(), devices.end(), [&](const auto& one) { return one.device == device; });
    if (known == devices.end()) {
      devices.push_back({"gpu.example.com", "n1", device, std::nullopt, {}});
      known = devices.end() - 1;
    }
    std::erase_if(known->conditions, [&](const auto& condition) { return condition.type == type; });
    known->conditions.push_back({type, status, "R", "said so", ""});
    put(claim);
  }
};

TEST_F(BindConditions, NothingIsProvenBeforeAllAreTrue) {
  EXPECT_EQ(pass(), "event BindingConditionsPending, parked");
  EXPECT_EQ(
      event().note,
      "waits on node n1 for device gpu.example.com/n1/gpu-0 of claim \"default/c\": condition \"Attached\" is not "
      "True");
  EXPECT_EQ(last.requeue_after, options.retry_parked) << "the driver's word brings the pod back, not a timer";
  remember();
  says("Attached", "True");
  EXPECT_EQ(pass(), "event BindingConditionsPending, parked");
  says("Ready", "Unknown");
  remember();
  EXPECT_EQ(pass(), "event BindingConditionsPending, parked");
  says("Ready", "True");
  EXPECT_EQ(pass(), "prove c");
}

TEST_F(BindConditions, AFailureGivesTheDevicesBackAndAvoidsThem) {
  says("Attached", "True");
  says("Ready", "True");
  says("Broken", "True");
  EXPECT_EQ(pass(), "event BindingConditionsFailed, avoid-device p, withdraw c");
  const std::string annotation = body(1)["metadata"]["annotations"][std::string(kAvoidedDevices)];
  EXPECT_TRUE(annotation.starts_with("gpu.example.com/n1/gpu-0=")) << annotation;
  // The withdrawn claim gets another device.
  api::Pod pod = view.pods.at("default/p");
  pod.metadata.annotations[std::string(kAvoidedDevices)] = annotation;
  view.put(pod);
  put(make_claim("c"));
  EXPECT_EQ(pass(), "allocate c");
  EXPECT_EQ(write().assume->results.at(0).device, "gpu-1");
  EXPECT_FALSE(inventory.assumed("devices-held-back")) << "for this decision only";
  view.time += kAvoidDevice;
  EXPECT_EQ(pass(), "allocate c");
  EXPECT_EQ(write().assume->results.at(0).device, "gpu-0") << "not for good";
}

TEST_F(BindConditions, TenMinutesAfterTheAllocationItIsGivenUp) {
  view.time += kBindingTimeout - 1s;
  EXPECT_EQ(pass(), "event BindingConditionsPending, parked");
  EXPECT_EQ(last.requeue_after, Duration(1s));
  view.time += 1s;
  EXPECT_EQ(pass(), "event BindingConditionsFailed, avoid-device p, withdraw c");
}

// Two claims on shares of one device: each share has its own conditions.
TEST_F(BindConditions, SharesAreToldApart) {
  api::ResourceClaim claim = view.claims.at("default/c");
  claim.status.allocation->results[0].share_id = "one";
  says("Attached", "True");
  claim.status.devices = view.claims.at("default/c").status.devices;
  EXPECT_EQ(preparation_of(claim, view.time).state, State::kWaits);
  EXPECT_TRUE(preparation_of(claim, view.time).why.find("Attached") != std::string::npos);
}

// A proven device was ready when it was proven: it cannot be withdrawn, and must not be given up again and again.
TEST_F(BindConditions, WhatFailsAfterTheProofIsLeftToTheNode) {
  proven(view.claims.at("default/c"), "p");
  says("Broken", "True");
  EXPECT_EQ(pass(), "bind p");
}

TEST_F(BindConditions, WhatOthersAllocatedIsReportedOnly) {
  api::ResourceClaim claim = view.claims.at("default/c");
  claim.metadata.managed_fields = {{"kube-scheduler", "Update", "status"}};
  put(claim);
  says("Broken", "True");
  EXPECT_EQ(pass(), "event BindingConditionsFailed, parked");
  EXPECT_GE(*last.requeue_after, Duration(60s));
}

TEST_F(BindConditions, AnnotationsThatAreNoneAreLeftOut) {
  api::Pod pod = make_pod("q", {});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(view.time.time_since_epoch()).count();
  const std::string soon = std::to_string(seconds + 60);
  const auto read = [&](const std::string& text) {
    pod.metadata.annotations[std::string(kAvoidedDevices)] = text;
    return avoided_devices(pod, view.time);
  };
  for (const std::string& odd :
       {std::string(), std::string("x"), "a/b=" + soon, "a/b/c=" + soon + "x", std::string("a/b/c="),
        std::string("a/b/c=-5"), "a/b/c=" + std::to_string(seconds), std::string("a/b/c=99999999999999"),
        std::string("a/b/c=99999999999999999999999"), std::string("===///")})
    EXPECT_TRUE(read(odd).empty()) << odd;
  const auto good = read("drv/pool/of/parts/dev=" + soon);
  ASSERT_EQ(good.size(), 1u);
  EXPECT_EQ(good[0].name, (inventory::DeviceName{"drv", "pool/of/parts", "dev"}));
  EXPECT_EQ(avoided_text(good), "drv/pool/of/parts/dev=" + soon);
  std::string many;
  for (int i = 0; i < 200; ++i) many += "d/p/x" + std::to_string(i) + "=" + soon + " ";
  EXPECT_EQ(read(many).size(), kMaxAvoided);
}

}  // namespace dra::allocation::bind_conditions_test
