// The rules that the annotations of a group's pods and its PodGroup make.
#include "pkg/alignment/group_rails.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace dra::alignment {
namespace {

constexpr const char* kRail = "net.example.com/rail";

class GroupRailsRead : public testing::Test {
 protected:
  // A pod with one claim, "devices", whose request is "nic".
  void add(const std::string& hard, const std::string& soft = "", const std::string& claim = "devices") {
    api::StringMap& annotations = *annotations_.emplace_back(std::make_unique<api::StringMap>());
    if (!hard.empty()) annotations[std::string(kRailsAnnotation)] = hard;
    if (!soft.empty()) annotations[std::string(kPreferredRailsAnnotation)] = soft;
    api::ResourceClaim& object = *claims_.emplace_back(std::make_unique<api::ResourceClaim>());
    for (const char* name : {"nic", "gpu"}) object.spec.requests.emplace_back().name = name;
    members_.push_back({&annotations, {&object}, {{claim, 0}}});
  }
  GroupRails read(const api::StringMap* pod_group = nullptr) { return read_group_rails(pod_group, members_); }
  static size_t bound(const RailRule& rule) {
    return static_cast<size_t>(
        std::count_if(rule.of.begin(), rule.of.end(), [](const auto& of) { return !of.empty(); }));
  }

  std::vector<std::unique_ptr<api::StringMap>> annotations_;
  std::vector<std::unique_ptr<api::ResourceClaim>> claims_;
  std::vector<RailMember> members_;
  api::StringMap group_;
};

TEST_F(GroupRailsRead, APodGroupsEntryBindsThoseWhoHaveIt) {
  group_[std::string(kRailsAnnotation)] = "prefill/nic+decode/nic by net.example.com/rail";
  add("", "", "prefill");
  add("", "", "decode");
  add("", "", "router");
  const GroupRails rails = read(&group_);
  ASSERT_EQ(rails.rules.size(), 1u);
  EXPECT_EQ(bound(rails.rules[0]), 2u);
  EXPECT_TRUE(rails.rules[0].of[2].empty());
}

TEST_F(GroupRailsRead, APodsOwnEntryReplacesThePodGroupsOfTheSameKind) {
  group_[std::string(kRailsAnnotation)] = "devices/nic by net.example.com/rail";
  add("devices/gpu by net.example.com/rail");
  add("", "devices/gpu by net.example.com/rail");
  const GroupRails rails = read(&group_);
  ASSERT_EQ(rails.rules.size(), 2u);
  EXPECT_FALSE(rails.rules[0].soft);
  EXPECT_EQ(rails.rules[0].of[0], (std::vector<RailRequest>{{0, "gpu"}}));
  EXPECT_EQ(rails.rules[0].of[1], (std::vector<RailRequest>{{0, "nic"}}))
      << "a soft entry leaves the hard one in force";
  EXPECT_TRUE(rails.rules[1].soft);
  EXPECT_EQ(bound(rails.rules[1]), 1u);
}

TEST_F(GroupRailsRead, ATextComesBeforeANameInRefusals) {
  add("elsewhere/nic by net.example.com/rail");
  add("devices/nic by");
  GroupRails rails = read();
  ASSERT_TRUE(rails.refusal);
  EXPECT_EQ(rails.refusal->kind, Refusal::Kind::kSyntax);
  EXPECT_EQ(rails.refused_member, 1u);
  (*annotations_[1])[std::string(kRailsAnnotation)] = "devices/nic by rail";
  rails = read();
  ASSERT_TRUE(rails.refusal);
  EXPECT_EQ(rails.refusal->kind, Refusal::Kind::kUnknown);
  EXPECT_EQ(rails.refused_member, 0u);
  EXPECT_TRUE(rails.rules.empty());
}

TEST_F(GroupRailsRead, APodGroupMayNameWhatOnlySomeMembersHaveButNotWhatNobodyHas) {
  group_[std::string(kRailsAnnotation)] = "devices/nic+nobody/nic by net.example.com/rail";
  add("");
  add("");
  const GroupRails rails = read(&group_);
  ASSERT_TRUE(rails.refusal);
  EXPECT_EQ(rails.refusal->kind, Refusal::Kind::kUnknown);
  EXPECT_FALSE(rails.refused_member);
}

TEST_F(GroupRailsRead, ASoftAnnotationIsIgnoredAsAWhole) {
  add("devices/nic by net.example.com/rail", "devices/nic by net.example.com/plane, devices/nope by a.com/b");
  const GroupRails rails = read();
  EXPECT_FALSE(rails.refusal);
  ASSERT_EQ(rails.ignored.size(), 1u);
  EXPECT_EQ(rails.ignored[0].second.kind, Refusal::Kind::kUnknown);
  ASSERT_EQ(rails.rules.size(), 1u);
  EXPECT_EQ(rails.rules[0].attribute, kRail);
}

}  // namespace
}  // namespace dra::alignment
