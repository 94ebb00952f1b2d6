#include "pkg/protocol/groups.h"

#include <gtest/gtest.h>

#include "pkg/protocol/memory_view.h"

namespace dra::protocol {

using namespace reconcile;
namespace {

api::Pod pod_named(const std::string& name) {
  api::Pod pod;
  pod.metadata.ns = "ml";
  pod.metadata.name = name;
  return pod;
}

TEST(Groups, TheFirstWayThatThePodUsesCounts) {
  api::Pod pod = pod_named("a");
  EXPECT_FALSE(group_of(pod));
  pod.metadata.annotations[std::string(kGroupAnnotation)] = "4";
  EXPECT_FALSE(group_of(pod)) << "no Job";
  pod.metadata.owner_references.push_back({"example.com/v1", "Job", "train", "u1", true});
  EXPECT_FALSE(group_of(pod)) << "another API's Job";
  pod.metadata.owner_references.front().api_version = "batch/v1";
  EXPECT_EQ(group_of(pod)->key(), "job:ml/u1");
  EXPECT_EQ(group_of(pod)->shown(), "job ml/train");
  pod.metadata.labels[std::string(kGroupLabel)] = "g";
  EXPECT_EQ(group_of(pod)->key(), "plugins:ml/g");
  pod.pod_group_name = "g";
  EXPECT_EQ(group_of(pod)->key(), "core:ml/g");
  EXPECT_EQ(group_of(pod)->key(), group_key(GroupApi::kCore, "ml/g"));
  EXPECT_EQ(group_of(pod)->shown(), "group ml/g");
}

TEST(Groups, ACountIsANumberOfPodsThatCanBePlacedTogether) {
  MemoryView view;
  api::Pod pod = pod_named("a");
  pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "u1", true});
  using State = Membership::State;
  for (const auto& [text, state, said] :
       std::vector<std::tuple<std::string, State, bool>>{{"2", State::kMember, false},
                                                         {"1024", State::kMember, false},
                                                         {"1", State::kAlone, false},
                                                         {"0", State::kAlone, true},
                                                         {"-3", State::kAlone, true},
                                                         {"", State::kAlone, true},
                                                         {" 2", State::kAlone, true},
                                                         {"2 ", State::kAlone, true},
                                                         {"2e3", State::kAlone, true},
                                                         {"99999999999999999999", State::kAlone, true},
                                                         {"1025", State::kWaits, true}}) {
    pod.metadata.annotations[std::string(kGroupAnnotation)] = text;
    const Membership member = membership_of(view, pod);
    EXPECT_EQ(member.state, state) << text;
    EXPECT_EQ(!member.why.empty(), said) << text;
  }
}

TEST(Groups, AFieldThatIsNotKnownKeepsThePodsWaiting) {
  MemoryView view;
  api::Pod pod = pod_named("a");
  pod.pod_group_name = "g";
  api::PodGroup group;
  group.metadata.ns = "ml";
  group.metadata.name = "g";
  for (const bool gang : {false, true}) {
    group.min_count = gang ? std::optional<int32_t>(2) : std::nullopt;
    group.unknown.reset();
    view.groups[GroupApi::kCore].insert_or_assign("ml/g", group);
    EXPECT_NE(membership_of(view, pod).state, Membership::State::kWaits);
    group.unknown.emplace().fields = {{"podgroups.spec.newField", "spec.newField", api::UnknownField::Why::kName}};
    view.groups[GroupApi::kCore].insert_or_assign("ml/g", group);
    const Membership refused = membership_of(view, pod);
    EXPECT_EQ(refused.state, Membership::State::kWaits);
    EXPECT_TRUE(refused.keeps) << "what it has stays";
    EXPECT_EQ(refused.why,
              "PodGroup ml/g: field spec.newField is not known to this version: upgrade the manager or, if "
              "that is safe, ignore it by --ignore-unknown-fields=podgroups.spec.newField");
    view.ignored = {"podgroups.spec.newField"};
    EXPECT_NE(membership_of(view, pod).state, Membership::State::kWaits);
    view.ignored.clear();
  }
}

TEST(Groups, MembersAreOfOneNamespace) {
  MemoryView view;
  for (const char* ns : {"ml", "other"}) {
    api::Pod pod = pod_named("a");
    pod.metadata.ns = ns;
    pod.metadata.labels[std::string(kGroupLabel)] = "g";
    view.put(pod);
  }
  ASSERT_EQ(view.pods_of_group("plugins:ml/g").size(), 1u);
  EXPECT_EQ(view.pods_of_group("plugins:ml/g").front()->metadata.ns, "ml");
}

}  // namespace
}  // namespace dra::protocol
