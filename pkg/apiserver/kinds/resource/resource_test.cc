#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/resource/claim_spec.h"
#include "pkg/apiserver/kinds/resource/claim_status.h"
#include "pkg/apiserver/kinds/resource/slice_spec.h"
#include "pkg/apiserver/validation/go_render.h"

namespace dra::apiserver::resource_test {

Json parse(const char* text) {
  return Json::parse(text);
}

TEST(ClaimSpec, V1beta1RoundTripKeepsEveryField) {
  const Json flat = parse(R"({"devices":{"requests":[
    {"name":"a","deviceClassName":"c","count":2,"allocationMode":"ExactCount","adminAccess":false},
    {"name":"b","deviceClassName":"","firstAvailable":[{"name":"x","deviceClassName":"c"}]}]}})");
  Json spec = flat;
  claim_spec_from_v1beta1(spec);
  EXPECT_EQ(spec["devices"]["requests"][0]["exactly"]["count"], 2);
  EXPECT_FALSE(spec["devices"]["requests"][1].contains("exactly"));
  claim_spec_to_v1beta1(spec);
  EXPECT_EQ(spec, flat);
}

TEST(ClaimSpec, CountWithoutClassIsNotDefaultedInV1beta1) {
  Json spec = parse(R"({"devices":{"requests":[{"name":"a","count":2}]}})");
  claim_spec_from_v1beta1(spec);
  default_claim_spec(spec);
  FieldErrors errors;
  check_claim_spec(errors, FieldPath("spec"), spec);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].field, "spec.devices.requests[0].exactly.deviceClassName");
  EXPECT_EQ(errors[1].reason, "FieldValueNotSupported");
}

TEST(SliceSpec, AStepOfZeroIsRefusedInsteadOfDividedBy) {
  const Json spec = parse(R"({"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"allNodes":true,
    "devices":[{"name":"a","allowMultipleAllocations":true,"capacity":{"m":{"value":"4",
      "requestPolicy":{"default":"1","validRange":{"min":"1","step":"0"}}}}}]})");
  FieldErrors errors;
  check_slice_spec(errors, FieldPath("spec"), spec, nullptr);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "spec.devices[0].capacity[m].requestPolicy.validRange.step");
}

TEST(SliceSpec, ListAttributesAreDroppedUnlessStored) {
  const Json with = parse(R"({"devices":[{"name":"a","attributes":{"x":{"ints":[1]}}}]})");
  Json created = with;
  drop_disabled_slice_fields(created, nullptr);
  EXPECT_TRUE(created["devices"][0]["attributes"]["x"].empty());
  Json updated = with;
  drop_disabled_slice_fields(updated, with);
  EXPECT_EQ(updated, with);
}

TEST(ClaimStatus, DeallocationTakesDeviceStatusAlong) {
  const Json old = parse(R"({"status":{"allocation":{"devices":{"results":[{"driver":"d","pool":"p","device":"x"}]}},
    "devices":[{"driver":"d","pool":"p","device":"x"}]}})");
  Json claim = parse(R"({"status":{"devices":[{"driver":"d","pool":"p","device":"x"}]}})");
  drop_deallocated_devices(claim, old);
  EXPECT_FALSE(claim["status"].contains("devices"));
}

TEST(ClaimStatus, State) {
  EXPECT_EQ(claim_state(Json::object()), "pending");
  EXPECT_EQ(claim_state(parse(R"({"metadata":{"deletionTimestamp":"x"}})")), "deleted");
  EXPECT_EQ(claim_state(parse(R"({"status":{"allocation":{},"reservedFor":[{"uid":"u"}]}})")), "allocated,reserved");
}

TEST(GoRender, PrintsEveryFieldInOrder) {
  EXPECT_EQ(render_go("ResourceClaimSpec", parse(R"({"devices":{"requests":null}})")),
            R"({"Devices":{"Requests":null,"Constraints":null,"Config":null}})");
}

}  // namespace dra::apiserver::resource_test
