// Claims that keep their devices (docs/design/keep.md) in words: while pods use them, and afterwards.
#include <gtest/gtest.h>

#include "pkg/inspect/verbs/explain.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/two_nodes_fixture.h"
#include "pkg/inspect/verbs/who.h"
#include "pkg/protocol/keep.h"

namespace dra::inspect::kept_devices_test {
namespace {

// Claim "disk" of a user with the GPUs of node b, used by nobody or by pod "vm".
struct Kept : TwoNodes {
  explicit Kept(bool used) {
    add_pod("vm", "b", {"gpu-0", "gpu-1"});
    auto claim = std::make_shared<api::ResourceClaim>(*objects.claims.at("ml/vm-g"));
    objects.claims.erase("ml/vm-g");
    objects.claim_by_uid.clear();
    claim->metadata.name = "disk";
    claim->metadata.owner_references.clear();
    claim->metadata.annotations[std::string(protocol::kKeepAnnotation)] = "10m";
    if (!used) {
      claim->status.reserved_for.clear();
      objects.pods.erase("ml/vm");
    }
    protocol::Keep keep;
    if (!used) keep.until = Timestamp::at(objects.taken.seconds() + 600);
    claim->status.reserved_for.push_back(protocol::keep_reference(*claim, keep));
    objects.claims["ml/disk"] = claim;
    objects.claim_by_uid[claim->metadata.uid] = claim;
  }

  std::string said(Result<Answer> answer) const {
    return answer ? render(*answer, {Format::kTable}) : answer.error().message();
  }
};

TEST(KeptDevices, AreSaidToBeKeptWhereNobodyUsesThem) {
  const Kept world(false);
  State state(world.objects, {});
  const std::string until = "kept until 2026-03-01T12:10:00Z";
  EXPECT_NE(world.said(who(state, "b", {"ml"})).find(until), std::string::npos) << world.said(who(state, "b", {"ml"}));
  const std::string explained = world.said(explain(state, "claim/disk", {"ml"}));
  EXPECT_NE(explained.find("used by no pod; its devices are " + until), std::string::npos) << explained;
  const std::string table = world.said(top_claims(state, {"ml"}));
  EXPECT_NE(table.find("kept"), std::string::npos) << table;
}

TEST(KeptDevices, AreThoseOfTheirPodWhileItRuns) {
  const Kept world(true);
  State state(world.objects, {});
  EXPECT_NE(world.said(who(state, "b", {"ml"})).find("vm"), std::string::npos);
  EXPECT_EQ(world.said(explain(state, "claim/disk", {"ml"})).find("used by no pod"), std::string::npos);
  const std::string table = world.said(top_claims(state, {"ml"}));
  EXPECT_EQ(table.find("kept"), std::string::npos) << table;
  EXPECT_NE(table.find("reserved"), std::string::npos) << table;
}

}  // namespace
}  // namespace dra::inspect::kept_devices_test
