#include "pkg/sandbox/driver.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/base/timestamp.h"

namespace dra::sandbox::driver_test {

TEST(DriverTest, BindsAfterItsDelayOnceAndKeepsForeignEntries) {
  DriverBehaviours drivers;
  drivers["d"].binding_delay = std::chrono::seconds(2);
  drivers["d"].failing_devices = {"bad"};
  WallTime now{std::chrono::seconds{1'800'000'000}};
  Json claim = {{"metadata", {{"name", "c"}, {"namespace", "ns"}, {"uid", "u"}, {"resourceVersion", "1"}}}};
  const auto result = [](const char* driver, const char* device) {
    return Json{{"driver", driver},
                {"pool", "p"},
                {"device", device},
                {"request", "r"},
                {"bindingConditions", {"attached"}},
                {"bindingFailureConditions", {"failed"}}};
  };
  claim["status"] = {{"allocation",
                      {{"allocationTimestamp", format_rfc3339(now)},
                       {"devices", {{"results", {result("d", "good"), result("d", "bad"), result("other", "x")}}}}}},
                     {"devices", {{{"driver", "other"}, {"pool", "p"}, {"device", "x"}, {"data", {{"a", 1}}}}}}};
  const Step early = driver_pass(claim, drivers, now);
  EXPECT_TRUE(early.calls.empty());
  EXPECT_EQ(early.requeue_after, Duration(std::chrono::seconds(2)));
  const Step due = driver_pass(claim, drivers, now + std::chrono::seconds(2));
  ASSERT_EQ(due.calls.size(), 1U);
  const Json body = Json::parse(due.calls[0].body);
  EXPECT_EQ(body["metadata"]["resourceVersion"], "1");
  const Json& devices = body["status"]["devices"];
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0]["data"]["a"], 1) << "another driver's entry stays";
  EXPECT_EQ(devices[1]["conditions"][0]["type"], "attached");
  EXPECT_EQ(devices[2]["conditions"][0]["type"], "failed");
  claim["status"]["devices"] = devices;
  EXPECT_TRUE(driver_pass(claim, drivers, now + std::chrono::seconds(9)).calls.empty()) << "written once";
}

TEST(DriverTest, HealthOfTheDevicesThatAContainerUses) {
  DriverBehaviours drivers;
  drivers["d"].health = {{"good", "Healthy"}, {"bad", "Unhealthy"}};
  const Json pod = {{"metadata", {{"namespace", "ns"}}},
                    {"spec", {{"resourceClaims", {{{"name", "gpu"}, {"resourceClaimName", "c"}}}}}}};
  const Json claim = {{"status",
                       {{"allocation",
                         {{"devices",
                           {{"results",
                             {{{"driver", "d"}, {"pool", "p"}, {"device", "good"}, {"request", "a"}},
                              {{"driver", "d"}, {"pool", "p"}, {"device", "bad"}, {"request", "b/first"}}}}}}}}}}};
  const ClaimLookup find = [&](std::string_view, std::string_view name) { return name == "c" ? &claim : nullptr; };
  const Json container = {{"resources", {{"claims", {{{"name", "gpu"}, {"request", "b"}}}}}}};
  const Json health = resources_health(pod, container, find, drivers);
  ASSERT_EQ(health.size(), 1U);
  EXPECT_EQ(health[0]["name"], "claim:gpu/b");
  ASSERT_EQ(health[0]["resources"].size(), 1U);
  EXPECT_EQ(health[0]["resources"][0]["resourceID"], "d/p/bad");
  EXPECT_EQ(health[0]["resources"][0]["health"], "Unhealthy");
}

}  // namespace dra::sandbox::driver_test
