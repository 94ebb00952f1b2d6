#include "pkg/manager/permit/component_probe.h"

#include <gtest/gtest.h>

#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"

namespace dra::manager::component_probe_test {

using namespace std::chrono_literals;

std::string lease(const std::string& holder, WallTime renewed, int seconds = 15) {
  return R"({"kind":"Lease","spec":{"holderIdentity":")" + holder + R"(","leaseDurationSeconds":)" +
         std::to_string(seconds) + R"(,"renewTime":")" + format_rfc3339(renewed) + R"("}})";
}

TEST(ControlPlane, AFreshLeaseMeansPresence) {
  const WallTime now = WallTime(std::chrono::hours(24 * 20000));
  EXPECT_EQ(presence_of(lease("a", now - 10s), now), ComponentPresence::kPresent);
  EXPECT_EQ(presence_of(lease("a", now - 59s), now), ComponentPresence::kPresent);
  EXPECT_EQ(presence_of(lease("a", now - 61s), now), ComponentPresence::kAbsent);
  EXPECT_EQ(presence_of(lease("", now), now), ComponentPresence::kAbsent);
  EXPECT_EQ(presence_of(fail(Error(Code::kNotFound, 404, "NotFound", "")), now), ComponentPresence::kAbsent);
  EXPECT_EQ(presence_of(fail(Error(Code::kPermissionDenied, 403, "Forbidden", "")), now), ComponentPresence::kUnknown);
  EXPECT_EQ(presence_of(std::string("nonsense"), now), ComponentPresence::kUnknown);
  EXPECT_EQ(presence_of(std::string("{}"), now), ComponentPresence::kUnknown);
}

TEST(ControlPlane, AdviceIsGivenWhereModesDoNotFit) {
  ManagerOptions options;
  options.settings.scheduling = reconcile::Scheduling::kGate;
  EXPECT_TRUE(advice({ComponentPresence::kPresent, ComponentPresence::kPresent}, options).empty());
  EXPECT_TRUE(advice({}, options).empty());
  EXPECT_EQ(advice({ComponentPresence::kAbsent, ComponentPresence::kAbsent}, options).size(), 2u);
  options.settings.claim_templates = ClaimTemplates::kOwn;
  options.settings.scheduling = reconcile::Scheduling::kBind;
  options.settings.scheduler_names = {"ours"};
  EXPECT_TRUE(advice({ComponentPresence::kPresent, ComponentPresence::kPresent}, options).empty())
      << "own mode says it by itself";
  options.settings.scheduler_names = {"default-scheduler"};
  EXPECT_EQ(advice({ComponentPresence::kAbsent, ComponentPresence::kPresent}, options).size(), 1u);
}

}  // namespace dra::manager::component_probe_test
