// Offers that name what a user can change: each is what the cluster makes of it, and none gives a pod a broken device.
#include "pkg/verdict/would_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/verdict/causes.h"
#include "pkg/verdict/verdict_fixture.h"

namespace dra::verdict::would_fit_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// "Kind: text" of each offer.
std::vector<std::string> offers(VerdictWorld& world,
                                const std::vector<std::shared_ptr<const api::ResourceSlice>>& slices) {
  EXPECT_EQ(world.judge().answer, Answer::kDoesNotFit);
  std::vector<std::string> all;
  for (const Suggestion& one : would_fit(world.facts(), world.question, {world.holders, slices}).suggestions)
    all.push_back(std::string(change_kind_name(one.kind)) + ": " + one.text);
  return all;
}

TEST(WouldFit, ALabelOfTheNodeSelectorIsDropped) {
  VerdictWorld one;
  one.node_selector = {{"zone", "mars"}};
  EXPECT_THAT(offers(one, {}), Contains("DropNodeSelector: drop nodeSelector zone: mars"));
  VerdictWorld two;
  two.node_selector = {{"zone", "mars"}, {"rack", "7"}};
  EXPECT_THAT(offers(two, {}), Contains("DropNodeSelector: drop nodeSelector rack: 7 and zone: mars"));
}

TEST(WouldFit, LessOfACapacityThatSomeDeviceHas) {
  VerdictWorld world;
  world.capacity = {{"memory", "96Gi"}};
  auto slice = std::make_shared<api::ResourceSlice>();
  for (const char* has : {"40Gi", "80Gi", "141Gi"}) slice->devices.emplace_back().capacity["memory"].value = has;
  EXPECT_THAT(offers(world, {slice}),
              Contains(HasSubstr("LessCapacity: ask for 80Gi memory in request gpu of claim ")));
}

TEST(WouldFit, NobodyIsToTolerateABrokenDevice) {
  for (const auto& [key, value, broken] :
       {std::tuple{"example.com/ecc", "uncorrectable", true}, std::tuple{"gpu.nvidia.com/xid", "79", true},
        std::tuple{"example.com/state", "Unhealthy", true}, std::tuple{"example.com/team", "ml", false},
        std::tuple{"example.com/reserved-for-failover", "yes", false}}) {
    VerdictWorld world;
    world.device_taint = api::DeviceTaint{key, value, "NoSchedule", ""};
    const auto all = offers(world, {});
    const std::string tolerate = "TolerateDeviceTaint: tolerate device taint " + std::string(key);
    const std::string repair = "RepairDevice: repair the device that is tainted " + std::string(key);
    EXPECT_THAT(all, Contains(HasSubstr(broken ? repair : tolerate)));
    EXPECT_THAT(all, Not(Contains(HasSubstr(broken ? tolerate : repair))));
  }
}

}  // namespace
}  // namespace dra::verdict::would_fit_test
