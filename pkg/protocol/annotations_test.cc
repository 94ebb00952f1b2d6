#include "pkg/protocol/annotations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/protocol/avoided.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/history.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/topology.h"

namespace dra::protocol::annotations_test {

TEST(Annotations, AreSortedAndComplete) {
  std::string_view before;
  for (const UserAnnotation& one : user_annotations()) {
    EXPECT_LT(before, one.name);
    before = one.name;
    EXPECT_TRUE(one.name.starts_with(kAnnotationPrefix)) << one.name;
    EXPECT_FALSE(one.kinds().empty()) << one.name;
    EXPECT_FALSE(one.value.empty()) << one.name;
    EXPECT_FALSE(one.since.empty()) << one.name;
    EXPECT_TRUE(one.page.ends_with(".md")) << one.name;
    EXPECT_EQ(find_user_annotation(one.name), &one);
  }
}

TEST(Annotations, OfUsersAndOfTheManagerAreApart) {
  for (const std::string_view mark : manager_marks()) EXPECT_EQ(find_user_annotation(mark), nullptr) << mark;
  for (const std::string_view mark :
       {kProofAnnotation, kProvenForAnnotation, kLeavingAnnotation, kAvoidedDevices, kHistoryAnnotation})
    EXPECT_EQ(std::count(manager_marks().begin(), manager_marks().end(), mark), 1) << mark;
  for (const std::string_view name : {kGroupAnnotation, kTopologyRequiredAnnotation, kTopologyPreferredAnnotation}) {
    const UserAnnotation* found = find_user_annotation(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_TRUE(found->stands_on(AnnotationPlace::kPod));
    EXPECT_FALSE(found->stands_on(AnnotationPlace::kResourceClaim));
  }
  EXPECT_EQ(find_user_annotation("dra-controller-manager/pair"), nullptr);
}

TEST(Annotations, NameTheirKinds) {
  const UserAnnotation* pairs = find_user_annotation("dra-controller-manager/pairs");
  ASSERT_NE(pairs, nullptr);
  EXPECT_EQ(pairs->kinds(), (std::vector<std::string>{"Pod", "ResourceClaim"}));
}

}  // namespace dra::protocol::annotations_test
