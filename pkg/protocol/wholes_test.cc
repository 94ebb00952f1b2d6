#include "pkg/protocol/wholes.h"

#include <gtest/gtest.h>

#include "pkg/protocol/memory_view.h"

namespace dra::protocol {

using namespace reconcile;
namespace {

class Wholes : public testing::Test {
 protected:
  // A PodGroup; `min_count` 0: basic. `min_groups` is the annotation; "": none.
  api::PodGroup& group(const std::string& name, int32_t min_count, const std::string& parent = "",
                       const std::string& min_groups = "", GroupApi api = GroupApi::kCore) {
    api::PodGroup made;
    made.metadata.ns = "ml";
    made.metadata.name = name;
    if (min_count > 0) made.min_count = min_count;
    if (!parent.empty()) made.metadata.annotations[std::string(kParentGroupAnnotation)] = parent;
    if (!min_groups.empty()) made.metadata.annotations[std::string(kMinGroupsAnnotation)] = min_groups;
    return view.groups[api].insert_or_assign("ml/" + name, made).first->second;
  }
  api::PodGroup& composite(const std::string& name, int32_t min_groups, const std::string& parent = "") {
    api::PodGroup& made = group(name, 0, "", "", GroupApi::kComposite);
    if (min_groups > 0) made.min_groups = min_groups;
    made.parent = parent;
    return made;
  }
  api::Pod& pod(const std::string& name, const std::string& of) {
    api::Pod made;
    made.metadata.ns = "ml";
    made.metadata.name = name;
    made.pod_group_name = of;
    return view.pods.insert_or_assign("ml/" + name, made).first->second;
  }
  api::Pod& pod_of_job(const std::string& name, const std::string& count, const std::string& parent) {
    api::Pod& made = pod(name, "");
    made.metadata.owner_references.push_back({"batch/v1", "Job", "j", "u1", true});
    made.metadata.annotations[std::string(kGroupAnnotation)] = count;
    made.metadata.annotations[std::string(kParentGroupAnnotation)] = parent;
    return made;
  }
  std::string why(const std::string& name) {
    const Membership member = membership_of(view, view.pods.at("ml/" + name));
    return member.state == Membership::State::kWaits ? member.why : "";
  }
  std::string above(const std::string& name) {
    std::string keys;
    for (const GroupRef& one : membership_of(view, view.pods.at("ml/" + name)).above) keys += one.key() + " ";
    return keys;
  }

  MemoryView view;
};

TEST_F(Wholes, AChildNamesItsParentByAnnotationOrField) {
  group("whole", 0, "", "2");
  group("head", 0, "whole");
  group("workers", 4, "whole");
  pod("h", "head");
  pod("w", "workers");
  pod_of_job("j", "3", "whole");
  for (const char* name : {"h", "w", "j"}) EXPECT_EQ(above(name), "core:ml/whole ") << name;
  const Whole whole = whole_of(view, membership_of(view, view.pods.at("ml/h")).above.front());
  EXPECT_EQ(whole.group.key(), "whole:ml/whole");
  ASSERT_EQ(whole.parts.size(), 4u);
  EXPECT_EQ(whole.parts[0].need, 2u);
  EXPECT_EQ(whole.parts[1].group.key(), "core:ml/head");
  EXPECT_EQ(whole.parts[1].need, 1u) << "basic counts once one of its pods is placed";
  EXPECT_EQ(whole.parts[2].need, 4u);
  EXPECT_EQ(whole.parts[3].group.key(), "job:ml/u1");
  EXPECT_EQ(whole.parts[3].need, 3u);
  EXPECT_EQ(whole.least(), 4u);
  EXPECT_EQ(satisfied_parts(whole, {0, 1, 3, 0}), std::vector<bool>({false, true, false, false}));
  EXPECT_EQ(satisfied_parts(whole, {0, 1, 0, 3}), std::vector<bool>({true, true, false, true}));
  // By fields, several levels.
  composite("top", 1);
  composite("middle", 2, "top");
  group("leaf", 2).parent = "middle";
  pod("l", "leaf");
  EXPECT_EQ(above("l"), "composite:ml/top composite:ml/middle ");
  EXPECT_EQ(groups_below(view, "composite:ml/top"), std::vector<std::string>({"core:ml/leaf"}));
}

TEST_F(Wholes, BasicBindsNobody) {
  group("whole", 0);
  group("a", 2, "whole");
  pod("p", "a");
  Membership member = membership_of(view, view.pods.at("ml/p"));
  EXPECT_TRUE(member.above.empty());
  EXPECT_EQ(member.min_count, 2u);
  // In the middle it counts as a child, and the gang above it binds.
  group("whole", 0, "top");
  group("top", 0, "", "1");
  EXPECT_EQ(above("p"), "core:ml/top ");
  const Whole whole = whole_of(view, {GroupRef::Source::kCore, "ml", "top", ""});
  ASSERT_EQ(whole.parts.size(), 3u);
  EXPECT_EQ(whole.parts[1].need, 1u);
}

TEST_F(Wholes, WhatCannotBeIsRefusedByName) {
  group("a", 2, "missing");
  pod("p", "a");
  EXPECT_EQ(why("p"), "PodGroup ml/missing, the group above a, does not exist");
  group("missing", 3);
  EXPECT_EQ(why("p"),
            "PodGroup ml/missing has groups below it and does not say how many of them are placed together; add the "
            "annotation dra-controller-manager/min-groups, or give it the policy basic");
  for (const char* wrong : {"0", "-1", "two", "257", " 2", "99999999999999999999"}) {
    group("missing", 0, "", wrong);
    EXPECT_EQ(why("p"), "annotation dra-controller-manager/min-groups of PodGroup ml/missing: \"" + std::string(wrong) +
                            "\" is not a number of groups from 1 to 256");
  }
  group("missing", 0, "a", "1");
  EXPECT_EQ(why("p"), "the groups above it form a circle: a, missing, a; let one of them name no parent");
  group("missing", 0, "missing", "1");
  EXPECT_EQ(why("p"), "the groups above it form a circle: a, missing, missing; let one of them name no parent");
  group("missing", 0, "l3", "1");
  group("l3", 0, "l2", "1");
  EXPECT_EQ(why("p"), "PodGroup ml/l2, the group above l3, does not exist");
  group("l2", 0, "", "1");
  EXPECT_EQ(why("p"), "") << "four levels";
  group("l2", 0, "l1", "1");
  group("l1", 0, "", "1");
  EXPECT_EQ(why("p"), "it is on level 5 of the groups a, missing, l3, l2, l1; at most 4 levels are placed together");
  pod("direct", "l1");
  EXPECT_EQ(why("direct"),
            "PodGroup ml/l1 is a group of groups (annotation dra-controller-manager/min-groups); let its pods name a "
            "PodGroup below it");
  group("a", 2).parent = "c";
  EXPECT_EQ(why("p"), "CompositePodGroup ml/c, the group above a, does not exist");
  composite("c", -1).min_groups = -1;
  EXPECT_EQ(why("p"), "minGroupCount of CompositePodGroup ml/c is -1, which is not a number of groups from 1 to 256");
  view.known_groups[GroupApi::kComposite] = {GroupsKnown::State::kCannot, "the API server does not serve them"};
  EXPECT_EQ(why("p"), "CompositePodGroup ml/c, the group above a, cannot be read: the API server does not serve them");
}

TEST_F(Wholes, AnotherApisGroupOfThatNameIsNotTheParent) {
  group("whole", 0, "", "1");
  group("whole", 0, "", "1", GroupApi::kPlugins);
  group("a", 2, "whole");
  group("b", 2, "whole", "", GroupApi::kPlugins);
  pod("p", "a");
  pod("q", "").metadata.labels[std::string(kGroupLabel)] = "b";
  EXPECT_EQ(above("p"), "core:ml/whole ");
  EXPECT_EQ(above("q"), "plugins:ml/whole ");
  EXPECT_EQ(whole_of(view, {GroupRef::Source::kCore, "ml", "whole", ""}).parts.size(), 2u);
}

TEST_F(Wholes, TooManyGroupsAreRefused) {
  group("whole", 0, "", "1");
  for (int i = 0; i < 300; ++i) group("g" + std::to_string(i), 1, "whole");
  const Whole whole = whole_of(view, {GroupRef::Source::kCore, "ml", "whole", ""});
  EXPECT_EQ(whole.why, "more than 256 groups are below PodGroup ml/whole; at most so many are placed together");
  EXPECT_LE(whole.parts.size(), 256u);
}

}  // namespace
}  // namespace dra::protocol
