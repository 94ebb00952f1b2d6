// Groups that are wrong, absurd or deleted halfway: a precise reason, bounded work, no device held.
#include <ctime>

#include "controllers/allocation/allocation_fixture.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/topology.h"

namespace dra::allocation::bad_groups_test {

using namespace protocol;
using namespace reconcile;

namespace {

class BadGroups : public AllocationTest {
 protected:
  BadGroups() { quiet_claims = true; }

  api::Pod member(const std::string& name, const std::string& count, const std::string& ns = "default") {
    api::Pod pod = make_pod(name, {"c" + name});
    pod.metadata.ns = ns;
    pod.metadata.uid = ns + "-" + name + "-uid";
    pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::seconds(15));
    pod.metadata.owner_references.push_back({"batch/v1", "Job", "train", "job-uid", true});
    pod.metadata.annotations[std::string(kGroupAnnotation)] = count;
    return pod;
  }
  void put_pod(const api::Pod& pod) {
    view.put(pod);
    api::ResourceClaim claim = make_claim("c" + pod.metadata.name);
    claim.metadata.ns = pod.metadata.ns;
    claim.metadata.uid = pod.metadata.ns + "-c" + pod.metadata.name;
    put(claim);
  }
  std::string note() { return event().note; }
};

TEST_F(BadGroups, TenThousandMembersAreRefusedByNumber) {
  for (int i = 0; i < 10'000; ++i) put_pod(member("m" + std::to_string(10'000 + i), "8"));
  const auto cost_of = [](const auto& what) {
    const std::clock_t start = std::clock();  // of the processor: other programs do not count
    for (int i = 0; i < 20; ++i) what(i);
    return std::clock() - start;
  };
  const std::clock_t passes = cost_of([&](int i) {
    view.emitted.clear();
    ASSERT_EQ(pass("m" + std::to_string(10'000 + 97 * i)), "event GroupWaits");
  });
  EXPECT_NE(note().find("10000 pods, and at most 1024"), std::string::npos) << note();
  // The tests' view scans all pods for those of a group: a reconcile costs a few scans, whichever member it is for.
  size_t found = 0;
  const std::clock_t looks = cost_of([&](int) { found += view.pods_of_group("job:default/job-uid").size(); });
  EXPECT_EQ(found, 200'000u);
  EXPECT_LT(passes, 10 * looks);
}

TEST_F(BadGroups, AMinimumAboveTheMembersHoldsNothing) {
  put_pod(member("a", "3"));
  put_pod(member("b", "3"));
  EXPECT_EQ(pass("a"), "event GroupWaits");
  EXPECT_NE(note().find("2 of 3 members are ready"), std::string::npos) << note();
}

// The same Job name and uid in two namespaces: these are two groups, and neither is complete.
TEST_F(BadGroups, MembersOfSeveralNamespacesAreNoGroup) {
  put_pod(member("a", "2"));
  put_pod(member("b", "2", "other"));
  EXPECT_EQ(pass("a"), "event GroupWaits");
  EXPECT_NE(note().find("1 of 2 members are ready"), std::string::npos) << note();
}

TEST_F(BadGroups, MembersThatGoInTheMiddleTakeTheHoldsOfTheOthersWithThem) {
  put_pod(member("a", "2"));
  put_pod(member("b", "2"));
  ASSERT_EQ(pass("a"), "allocate ca, allocate cb");
  api::ResourceClaim held = allocated("ca", "n1", "gpu-0", true, {});
  held.metadata.uid = "default-ca";
  held.status.reserved_for.push_back({"", "pods", "a", "default-a-uid"});
  held.status.allocation->allocation_timestamp = format_rfc3339(view.time);
  put(held);
  view.pods.erase("default/b");
  EXPECT_EQ(pass("a"), "withdraw ca");
}

TEST_F(BadGroups, MembersThatSayDifferentCountsWaitForTheHighest) {
  put_pod(member("a", "2"));
  put_pod(member("b", "3"));
  EXPECT_EQ(pass("a"), "event GroupWaits");
  EXPECT_NE(note().find("2 of 3"), std::string::npos) << note();
}

TEST_F(BadGroups, AbsurdTopologyIsIgnoredAndSaid) {
  for (const std::string& text :
       {std::string(400, 'x'), std::string("a/b/c"), std::string("=1"), std::string("\xff")}) {
    for (const char* name : {"a", "b"}) {
      api::Pod pod = member(name, "2");
      pod.metadata.annotations[std::string(kTopologyRequiredAnnotation)] = text;
      put_pod(pod);
    }
    view.emitted.clear();
    EXPECT_EQ(pass("a"), "event TopologyIgnored, allocate ca, allocate cb") << text;
    EXPECT_LT(note().size(), 1024u);
  }
}

}  // namespace
}  // namespace dra::allocation::bad_groups_test
