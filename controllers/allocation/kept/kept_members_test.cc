// The states of a group's members are used again in the next slice of its search, unless something changed.
#include "controllers/allocation/kept/kept_members.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controllers/allocation/allocation_fixture.h"
#include "controllers/allocation/members/same_choice.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation::kept_members_test {

using namespace protocol;
using namespace reconcile;

namespace {

// Counts how often claims are looked up.
class CountingView : public WatchedView {
 public:
  std::shared_ptr<const api::ResourceClaim> shared_claim(std::string_view key) const override {
    ++looks;
    return WatchedView::shared_claim(key);
  }
  uint64_t rewinds() const override { return rewound; }
  mutable size_t looks = 0;
  uint64_t rewound = 0;
};

// All pods have one shape and count on the nodes that the test says.
class AlikeNodes : public FakeNodes {
 public:
  std::string shape(const api::Pod&) const override { return alike ? "one" : ""; }
  bool have_same_shape(const api::Pod&, const api::Pod&) const override { return alike; }
  std::string_view counts_on(const api::Pod& pod) const override {
    const auto found = on.find(pod.metadata.name);
    return found == on.end() ? "" : std::string_view(found->second);
  }
  bool alike = true;
  std::map<std::string, std::string> on;
};

class KeptMembersTest : public AllocationTest {
 protected:
  static constexpr size_t kCount = 300;

  KeptMembersTest()
      : sliced(inventory, sliced_options(), random), reconciler(parts(options, inventory, sliced, alike)) {
    inventory.apply_slice(test::local_slice("gpu.example.com", "n1", "gpu-", kCount));
    for (size_t i = 0; i < kCount; ++i) {
      api::Pod pod = make_pod(name(i), {"c" + name(i)});
      pod.metadata.creation_timestamp = format_rfc3339(watched.time - std::chrono::seconds(1000 - i));
      pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
      pod.metadata.annotations[std::string(kGroupAnnotation)] = std::to_string(kCount);
      watched.put(pod);
      watched.put(make_claim("c" + name(i)));
    }
  }
  allocator::Options sliced_options() {
    allocator::Options made;
    made.slice = {1'000'000, std::chrono::hours(1), &clock};
    return made;
  }
  static std::string name(size_t i) { return "m" + std::to_string(1000 + i); }
  // How many allocations the leader's reconcile writes.
  size_t allocations() { return allocations(reconciler); }
  size_t allocations(test::WholeController& by) {
    watched.looks = 0;
    const ReconcileResult outcome = by.reconcile(watched, pod_key("default/" + name(0)));
    return static_cast<size_t>(std::count_if(outcome.effects.begin(), outcome.effects.end(), [](const Effect& effect) {
      const Write* write = std::get_if<Write>(&effect);
      return write && write->purpose == "allocate";
    }));
  }

  ManualClock clock;
  CountingView watched;
  AlikeNodes alike;
  allocator::Allocator sliced;
  test::WholeController reconciler;
};

TEST_F(KeptMembersTest, TheNextSliceDoesNotLookAtTheMembersAgain) {
  EXPECT_EQ(allocations(), 0u) << "what is found for so many is written by the next slice";
  EXPECT_GE(watched.looks, kCount);
  EXPECT_EQ(allocations(), kCount);
  EXPECT_LT(watched.looks, 10u);
  allocations();
  EXPECT_LT(watched.looks, 10u) << "also kept while the claims are written: the answers say which members change";
}

TEST_F(KeptMembersTest, ChangesOfOthersDoNotMatter) {
  EXPECT_EQ(allocations(), 0u);
  EnqueueRequests out;
  const api::Pod pod = make_pod("single", {"single"});
  const api::ResourceClaim claim = make_claim("single");
  watched.put(pod);
  reconciler.on_pod(watched, nullptr, &pod, out);
  watched.put(claim);
  reconciler.on_claim(watched, nullptr, &claim, out);
  reconciler.on_streamed_claim(watched, nullptr, &claim, out);
  EXPECT_EQ(allocations(), kCount);
  EXPECT_LT(watched.looks, 10u);
}

// Each kind of notification reaches what is kept.
TEST_F(KeptMembersTest, AChangeOfASourceIsSeen) {
  const std::string key = "default/c" + name(kCount - 1);
  EnqueueRequests out;
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  const std::vector<std::function<void(test::WholeController&)>> changes{
      [&](auto& by) { by.on_claim(watched, &watched.claims.at(key), nullptr, out); },
      [&](auto& by) { by.on_claim(watched, nullptr, &watched.claims.at(key), out); },
      [&](auto& by) { by.on_streamed_claim(watched, &watched.claims.at(key), nullptr, out); },
      [&](auto& by) { by.on_pod(watched, &watched.pods.at("default/" + name(5)), nullptr, out); },
      [&](auto& by) { by.on_pod(watched, nullptr, &watched.pods.at("default/" + name(5)), out); },
      [&](auto& by) { by.on_class(watched, nullptr, &gpu, out); },
      [&](auto& by) { by.controllers_run({}); },
      [&](auto& by) { by.events_end(); },
      [&](auto&) { ++watched.rewound; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    test::WholeController by(parts(options, inventory, sliced, alike));
    EXPECT_EQ(allocations(by), 0u);
    changes[i](by);
    allocations(by);
    if (constexpr size_t kOfClaims = 3; i < kOfClaims) {
      EXPECT_GE(watched.looks, 1u) << i;
      EXPECT_LT(watched.looks, 10u) << "one member is derived again: " << i;
    } else {
      EXPECT_GE(watched.looks, kCount) << i;
    }
  }
}

TEST_F(KeptMembersTest, TheSearchIsAskedAboutTheClaimsAsTheyAreNow) {
  EXPECT_EQ(allocations(), 0u);
  api::ResourceClaim& claim = watched.claims.at("default/c" + name(7));
  const api::ResourceClaim before = claim;
  claim.spec.requests = {test::exactly("gpu", "gpu", kCount + 1)};
  EnqueueRequests out;
  reconciler.on_claim(watched, &before, &claim, out);
  EXPECT_EQ(allocations(), 0u) << "there are not so many devices";
}

// Whether a group is launched depends on the claims of its pods that do not wait: then all is derived again.
TEST_F(KeptMembersTest, ClaimsOfPodsThatDoNotWaitMatter) {
  Sources sources;
  sources.waiting = {{"waits-uid", 3}};
  sources.claims["default/waits"] = {3};
  sources.other_uids = {"goes-uid"};
  sources.other_claims = {"default/goes"};
  EXPECT_TRUE(sources.note_change(make_claim("of-nobody")));
  EXPECT_TRUE(sources.changed.empty());
  EXPECT_TRUE(sources.note_change(make_claim("waits")));
  EXPECT_EQ(sources.changed, std::set<uint32_t>{3});
  EXPECT_FALSE(sources.note_change(make_claim("goes")));
  api::ResourceClaim owned = make_claim("owned"), reserved = make_claim("reserved");
  owned.metadata.owner_references.push_back({"v1", "Pod", "goes", "goes-uid", true});
  EXPECT_FALSE(sources.note_change(owned));
  reserved.status.reserved_for.push_back({"", "pods", "goes", "goes-uid"});
  EXPECT_FALSE(sources.note_change(reserved));
}

TEST_F(KeptMembersTest, AHigherCountIsSeen) {
  EXPECT_EQ(allocations(), 0u);
  // No notification: the count is read by itself.
  watched.pods.at("default/" + name(0)).metadata.annotations[std::string(kGroupAnnotation)] =
      std::to_string(kCount + 1);
  EXPECT_EQ(allocations(), 0u);
  EXPECT_GE(watched.looks, kCount);
}

// ---- SameChoice

class SameChoiceTest : public AllocationTest {
 protected:
  SameChoiceTest() : a(make_pod("a", {})), b(make_pod("b", {})) { alike.on = {{"a", "n1"}, {"b", "n1"}}; }
  bool shared() {
    SameChoice same;
    same.note(alike, a, "n1", alike.choose(a, {"n1"}));
    EXPECT_EQ(same.find(alike, b, "n2"), nullptr);
    return same.find(alike, b, "n1") != nullptr;
  }
  AlikeNodes alike;
  api::Pod a, b;
};

TEST_F(SameChoiceTest, IsForPodsThatAreAlikeInEverything) {
  EXPECT_TRUE(shared());
  b.priority = 1;
  EXPECT_FALSE(shared());
  b = a;
  b.metadata.labels["app"] = "other";
  EXPECT_FALSE(shared());
  b = a;
  b.nominated_node_name = "n1";
  EXPECT_FALSE(shared());
  b = a;
  EXPECT_TRUE(shared());
  alike.alike = false;
  EXPECT_FALSE(shared());
}

TEST_F(SameChoiceTest, IsForPodsThatCountOnTheNodeAlready) {
  for (const char* pod : {"a", "b"}) {
    alike.on = {{"a", "n1"}, {"b", "n1"}};
    alike.on.erase(pod);
    EXPECT_FALSE(shared()) << pod;
  }
}

TEST_F(SameChoiceTest, IsNoRefusalAndNoAnswerThatDependsOnOtherPods) {
  alike.refused = {"n1"};
  EXPECT_FALSE(shared());
  alike.refused.clear();
  alike.depends_on_pods = true;
  EXPECT_FALSE(shared());
}

}  // namespace
}  // namespace dra::allocation::kept_members_test
