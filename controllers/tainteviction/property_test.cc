// Checks against a process that reads everything that no change of an object is missed.
#include "controllers/tainteviction/tainteviction_fixture.h"
#include "controllers/tainteviction/verdict.h"
#include "pkg/base/random.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::tainteviction::property_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

// ---- a property

// After any sequence of changes, the state that the enqueued keys have produced equals what a process that starts now
// and reads everything would decide: no change of an object is missed.
TEST(TaintEvictionProperty, NoTriggerIsMissing) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    Cluster cluster;
    const WallTime start = cluster.view.time;
    const auto pick = [&random](std::vector<std::string> of) { return of[random.below(of.size())]; };
    for (int step = 0; step < 40; ++step) {
      const std::string pool = pick({"p0", "p1"});
      switch (random.below(4)) {
        case 0: {
          api::ResourceSlice slice;
          slice.metadata.name = pick({"s0", "s1", "s2"});
          slice.metadata.uid = slice.metadata.name;
          if (random.below(5) == 0) {
            if (cluster.slices.contains(slice.metadata.name)) cluster.remove_slice(slice.metadata.name);
            break;
          }
          slice.driver = kDriver;
          slice.pool = {pool, static_cast<int64_t>(1 + random.below(3)), 1};
          slice.all_nodes = true;
          slice.devices.resize(1);
          slice.devices[0].name = pick({"d0", "d1"});
          if (random.below(2) == 0)
            slice.devices[0].taints = {taint(start + std::chrono::seconds(random.below(100)),
                                             pick({"NoExecute", "NoExecute", "NoSchedule"}), pick({"k0", "k1"}))};
          cluster.put(slice);
          break;
        }
        case 1: {
          api::ResourceClaim claim;
          claim.metadata.ns = "default";
          claim.metadata.name = pick({"c0", "c1"});
          claim.metadata.uid = claim.metadata.name + pick({"", "", "x"});
          if (random.below(3) > 0) {
            claim.status.allocation.emplace();
            claim.status.allocation->results.push_back({"r", kDriver, pool, pick({"d0", "d1"})});
            if (random.below(2) == 0)
              claim.status.allocation->results[0].tolerations = {tolerate(random.below(200), pick({"k0", "k1"}))};
            claim.status.reserved_for.push_back({"", "pods", "a", pick({"a0", "a1"})});
          }
          if (random.below(3) == 0) claim.metadata.owner_references.push_back({"v1", "Pod", "a", "a0", true});
          cluster.put(claim);
          break;
        }
        case 2: {
          api::Pod pod;
          pod.metadata.ns = "default";
          pod.metadata.name = "a";
          pod.metadata.uid = pick({"a0", "a0", "a1"});
          pod.phase = pick({"Running", "Running", "Running", "Succeeded"});
          pod.node_name = pick({"n", "n", ""});
          pod.resource_claims.push_back({"e", pick({"c0", "c1"}), std::nullopt});
          if (random.below(4) == 0) pod.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c1", {}};
          cluster.put(pod);
          break;
        }
        default:
          cluster.advance(std::chrono::seconds(random.below(60)));
      }
      cluster.settle();
      if (!cluster.view.pods.contains("default/a")) continue;
      const api::Pod& pod = cluster.view.pods.at("default/a");
      const auto verdict = judge(cluster.view, cluster.inventory, pod);
      const auto last = cluster.view.last_event(pod.metadata.uid, "DeviceTaintManagerEviction");
      const bool stays = !pod.terminal() && !pod.metadata.deleting() && !pod.node_name.empty();
      if (verdict && verdict->due > cluster.view.time) {
        ASSERT_EQ(last, "due " + format_rfc3339(verdict->due)) << "seed " << seed << ", step " << step;
      } else if (verdict) {
        FAIL() << "due and left: seed " << seed << ", step " << step;
      } else if (stays) {
        ASSERT_TRUE(!last || *last == "cancelled") << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace dra::tainteviction::property_test
