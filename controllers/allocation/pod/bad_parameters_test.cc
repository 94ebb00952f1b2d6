// The event about opaque parameters that the driver would refuse when the pod starts.
#include "controllers/allocation/allocation_fixture.h"

namespace dra::allocation::bad_parameters_test {
namespace {

using namespace protocol;
using namespace reconcile;

class BadParameters : public AllocationTest {
 protected:
  // A claim of the pod "p" with these parameters, as the body of a JSON object behind the version.
  void put_claim(const std::string& rest, const std::string& driver = "gpu.nvidia.com") {
    api::ResourceClaim claim = make_claim("c");
    claim.spec.config = {{{}, api::OpaqueConfig{driver, config(rest)}}};
    put(claim);
  }
  static std::string config(const std::string& rest) {
    return R"({"apiVersion":"resource.nvidia.com/v1beta1",)" + rest + "}";
  }
  const Event* event_of(const std::string& reason) {
    for (const Effect& effect : last.effects)
      if (const Event* found = std::get_if<Event>(&effect); found && found->reason == reason) return found;
    return nullptr;
  }
};

TEST_F(BadParameters, WhatTheDriverRefusesIsSaidWhenTheClaimIsAllocated) {
  view.put(make_pod("p", {"c"}));
  put_claim(R"("kind":"GpuConfig","sharng":{"strategy":"MPS"},"other":1)");
  EXPECT_EQ(pass(), "event ParametersRefused, allocate c") << "said, and nothing is stopped";
  ASSERT_NE(event_of("ParametersRefused"), nullptr);
  const Event& event = *event_of("ParametersRefused");
  EXPECT_TRUE(event.warning);
  EXPECT_EQ(event.regarding.name, "p");
  for (const char* word :
       {"claim \"default/c\": spec.devices.config[0].opaque.parameters.other: unknown field \"other\"", "and 1 more",
        "driver gpu.nvidia.com will refuse the claim"})
    EXPECT_NE(event.note.find(word), std::string::npos) << word << " is not in " << event.note;
  remember();
  EXPECT_EQ(pass(), "allocate c") << "once";
}

// The claim was made from a template: that is what somebody has to mend.
TEST_F(BadParameters, TheTemplateOfTheClaimIsNamed) {
  api::Pod pod = make_pod("p", {"c"});
  pod.resource_claims[0] = {"c", std::nullopt, "gpus"};
  pod.resource_claim_statuses.push_back({"c", "c"});
  view.put(pod);
  api::ResourceClaim claim = make_claim("c");
  claim.metadata.owner_references.push_back({"v1", "Pod", "p", pod.metadata.uid, true});
  claim.spec.config = {{{}, api::OpaqueConfig{"gpu.nvidia.com", config(R"("kind":"GpuConfg")")}}};
  put(claim);
  pass();
  ASSERT_NE(event_of("ParametersRefused"), nullptr);
  EXPECT_TRUE(
      event_of("ParametersRefused")
          ->note.starts_with("claim \"default/c\", made from ResourceClaimTemplate \"gpus\": spec.devices.config[0]"))
      << event_of("ParametersRefused")->note;
}

TEST_F(BadParameters, ParametersOfTheClassAreSaidToBeTheClasss) {
  view.put(make_pod("p", {"c"}));
  put(make_claim("c"));
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  gpu.config = {{"gpu.nvidia.com", R"({"apiVersion":"gpu.nvidia.com/v1alpha1","kind":"GpuConfig"})"}};
  view.put(gpu);
  pass();
  ASSERT_NE(event_of("ParametersRefused"), nullptr);
  EXPECT_NE(
      event_of("ParametersRefused")->note.find("DeviceClass \"gpu\": spec.config[0].opaque.parameters.apiVersion"),
      std::string::npos)
      << event_of("ParametersRefused")->note;
}

// Nobody here knows whether the gate is on: no warning.
TEST_F(BadParameters, AGateThatIsOffByDefaultIsNormal) {
  view.put(make_pod("p", {"c"}));
  put_claim(R"("kind":"GpuConfig","sharing":{"strategy":"MPS"})");
  pass();
  EXPECT_EQ(event_of("ParametersRefused"), nullptr);
  ASSERT_NE(event_of("ParametersNeedGate"), nullptr);
  EXPECT_FALSE(event_of("ParametersNeedGate")->warning);
  EXPECT_NE(event_of("ParametersNeedGate")->note.find("MPSSupport"), std::string::npos);
}

TEST_F(BadParameters, ObserveModeSaysItToo) {
  options.mode = Mode::kObserve;
  view.put(make_pod("p", {"c"}, false));
  put_claim(R"("kind":"GpuConfg")");
  EXPECT_EQ(pass(), "event ParametersRefused");
}

TEST_F(BadParameters, NothingIsSaidOfWhatIsRightOrNotKnown) {
  view.put(make_pod("p", {"c"}));
  put_claim(R"("kind":"GpuConfig")");
  EXPECT_EQ(pass(), "allocate c");
  put_claim(R"("kind":"Anything","a":1)", "other.example.com");
  EXPECT_EQ(pass(), "allocate c");
  api::ResourceClaim claim = make_claim("c");
  claim.spec.config = {{{}, api::OpaqueConfig{"gpu.nvidia.com", "", 0}}};  // too large to be kept
  put(claim);
  EXPECT_EQ(pass(), "allocate c");
}

}  // namespace
}  // namespace dra::allocation::bad_parameters_test
