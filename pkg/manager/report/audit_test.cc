#include "pkg/manager/report/audit.h"

#include <gtest/gtest.h>

#include <set>

#include "client/informer/object_store.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "pkg/reactor/sim_reactor.h"

// The audit finds double allocations and drift within its period, reports them once, and changes nothing.
namespace dra::manager::audit_test {

using namespace std::chrono_literals;

class AuditTest : public testing::Test, public EventSink {
 protected:
  AuditTest()
      : reactor(clock),
        pods(pods_core),
        claims(claims_core),
        slices(slices_core),
        stores{&pods, &claims, nullptr, nullptr, nullptr, &slices},
        instruments(registry),
        audit(reactor, inventory, stores, instruments, *this) {
    add_indexes(stores);
    claims_core.replace({}, 1);
    slices_core.replace({}, 1);
  }
  bool emit(const reconcile::Event& event) override {
    events.push_back(event.regarding.name + " " + event.reason);
    return true;
  }

  // Puts the claim into the store, and (unless the derived state is to drift) into the inventory.
  void claim(const std::string& name, const std::string& device, bool tell = true) {
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.ns = "d";
    made->metadata.name = name;
    made->metadata.uid = name + "-uid";
    made->status.allocation.emplace();
    made->status.allocation->results.push_back({"r", "drv", "p", device});
    put(claims_core, made, tell ? [this, made] { inventory.apply_claim(*made); } : std::function<void()>());
  }
  void slice(int devices, bool tell = true, const std::string& pool = "p") {
    auto made = std::make_shared<api::ResourceSlice>();
    made->metadata.name = "slice-" + pool;
    made->metadata.uid = made->metadata.name + "-uid";
    made->driver = "drv";
    made->pool = {pool, 1, 1};
    made->node_name = "n";
    for (int i = 0; i < devices; ++i) {
      made->devices.emplace_back();
      made->devices.back().name = "d" + std::to_string(i);
    }
    put(slices_core, made, tell ? [this, made] { inventory.apply_slice(*made); } : std::function<void()>());
  }
  template <typename T>
  void put(client::ObjectStore& core, const std::shared_ptr<T>& object, const std::function<void()>& tell) {
    core.apply(client::Entry(std::shared_ptr<const T>(object), object->metadata, ++revision));
    if (tell) tell();
  }
  bool says(const std::string& line) { return registry.text().find("\n" + line + "\n") != std::string::npos; }

  ManualClock clock;
  SimReactor reactor;
  client::ObjectStore pods_core, claims_core, slices_core;
  client::Store<api::Pod> pods;
  client::Store<api::ResourceClaim> claims;
  client::Store<api::ResourceSlice> slices;
  Stores stores;
  inventory::Inventory inventory;
  metrics::Registry registry;
  Instruments instruments;
  Audit audit;
  std::vector<std::string> events;
  uint64_t revision = 1;
};

TEST_F(AuditTest, NothingToFind) {
  slice(4);
  claim("a", "d0");
  claim("b", "d1");
  EXPECT_EQ(audit.run(), 0u);
  EXPECT_TRUE(says("dra_audit_differences_total 0"));
  EXPECT_TRUE(says("dra_over_committed 0"));
}

TEST_F(AuditTest, ADoubleAllocationIsToldOnceWithinTenSecondsAndLeftAlone) {
  slice(4);
  audit.start(10s);
  claim("a", "d0");
  claim("b", "d0");
  reactor.advance(10s);
  EXPECT_EQ(events, (std::vector<std::string>{"a DeviceOverCommitted", "b DeviceOverCommitted"}));
  EXPECT_TRUE(says("dra_over_committed 1"));
  reactor.advance(10min);
  EXPECT_EQ(events.size(), 2u);
  EXPECT_TRUE(says("dra_audit_differences_total 0"));
  claim("b", "d1");
  reactor.advance(10s);
  EXPECT_TRUE(says("dra_over_committed 0"));
  claim("b", "d0");
  reactor.advance(10s);
  EXPECT_EQ(events.size(), 4u) << "mended and there again: news";
}

TEST_F(AuditTest, TwoNamesOfOnePieceOfSiliconAreToldOnce) {
  for (const char* driver : {"drv", "other"}) {
    auto made = std::make_shared<api::ResourceSlice>();
    made->metadata.name = made->metadata.uid = driver;
    made->driver = driver;
    made->pool = {"p", 1, 1};
    made->node_name = "n";
    made->devices.emplace_back().name = "d0";
    made->devices[0].attributes["resource.kubernetes.io/pciBusID"] = std::string("0000:1a:00.0");
    put(slices_core, made, [this, made] { inventory.apply_slice(*made); });
  }
  audit.start(10s);
  for (const char* driver : {"drv", "other"}) {
    auto made = std::make_shared<api::ResourceClaim>();
    made->metadata.ns = "d";
    made->metadata.name = driver;
    made->metadata.uid = std::string(driver) + "-uid";
    made->status.allocation.emplace().results.push_back({"r", driver, "p", "d0"});
    put(claims_core, made, [this, made] {
      inventory.apply_claim(*made);
      audit.check(*made);
    });
  }
  const std::vector<std::string> once{"other DeviceConflict", "drv DeviceConflict"};
  EXPECT_EQ(std::multiset<std::string>(events.begin(), events.end()),
            std::multiset<std::string>(once.begin(), once.end()));
  reactor.advance(10min);
  EXPECT_EQ(events.size(), 2u);
  EXPECT_TRUE(says("dra_over_committed 1"));
}

TEST_F(AuditTest, OfAThousandClaimsOnTheSameDevicesAFewAreToldEachOnce) {
  slice(4);
  audit.start(10s);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "c" + std::to_string(i);
    claim(name, "d" + std::to_string(i % 2));
    audit.check(*claims.get("d/" + name));
  }
  EXPECT_EQ(events.size(), 2 * Audit::kMostNotified);
  EXPECT_EQ(std::set<std::string>(events.begin(), events.end()).size(), events.size());
  reactor.advance(10s);
  EXPECT_EQ(events.size(), 2 * Audit::kMostNotified);
  EXPECT_TRUE(says("dra_over_committed 2"));
}

TEST_F(AuditTest, DriftIsCounted) {
  slice(4);
  claim("a", "d0", false);  // the inventory was not updated
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 1")) << registry.text();
  inventory.apply_claim(*claims.get("d/a"));
  api::AllocationResult ghost;
  ghost.results.push_back({"r", "drv", "p", "d3"});
  inventory.apply_allocation("ghost-uid", ghost);  // a holder that is in no claim
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 2"));
  inventory.remove_claim("ghost-uid");
  slice(5, false);  // the pool has grown, the inventory was not updated
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 3"));
  EXPECT_TRUE(events.empty()) << "drift is ours, no object's";
}

TEST_F(AuditTest, EverySliceIsReadAnewInTurn) {
  for (int i = 0; i < 100; ++i) slice(100, true, "pool-" + std::to_string(100 + i));
  slice(101, false, "pool-177");  // the inventory was not updated
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 0"));
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 1"));
  for (int round = 0; round < 4; ++round) audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 3"));
}

TEST_F(AuditTest, AChangedAttributeIsADifference) {
  slice(4);
  auto changed = std::make_shared<api::ResourceSlice>(*slices.list().front());
  changed->devices[2].attributes["index"] = int64_t{7};
  put(slices_core, changed, {});
  audit.run();
  EXPECT_TRUE(says("dra_audit_differences_total 1"));
}

// What kube-scheduler does to a pinned pod whose claim's node selector matches no node any more.
TEST_F(AuditTest, AnAllocationThatWasReplacedUnderItsProofIsReported) {
  audit.start(10s);
  api::ResourceClaim claim;
  claim.metadata.ns = "d";
  claim.metadata.name = "a";
  claim.metadata.uid = "a-uid";
  claim.metadata.finalizers = {std::string(api::kDeleteProtectionFinalizer)};
  claim.status.allocation.emplace();
  claim.status.allocation->results.push_back({"r", "drv", "p", "d0"});
  claim.metadata.annotations[std::string(protocol::kProofAnnotation)] =
      protocol::proof_value("p-uid", *claim.status.allocation);
  claim.status.reserved_for = {{"", "pods", "p", "p-uid"}};
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = "d";
  pod->metadata.name = "p";
  pod->metadata.uid = "p-uid";
  auto gated = std::make_shared<api::Pod>(*pod);
  gated->scheduling_gates = {"dra-controller-manager/allocation"};
  pods_core.replace({}, 1);
  put(pods_core, gated, nullptr);
  audit.check(claim);
  claim.status.allocation->results[0].device = "d1";
  audit.check(claim);
  EXPECT_TRUE(events.empty()) << "allocated anew while the gate holds the pod, and not proven yet";
  put(pods_core, pod, nullptr);
  claim.status.reserved_for[0].uid = "another";
  audit.check(claim);
  EXPECT_TRUE(events.empty()) << "freed and used again by another pod";
  claim.status.reserved_for[0].uid = "p-uid";
  audit.check(claim);
  EXPECT_EQ(events, std::vector<std::string>{"a AllocationReplaced"});
}

TEST_F(AuditTest, GoesOnBetweenOtherTasksAndFindsWhatItFindsAtOnce) {
  slice(4'000);
  for (int i = 0; i < 3'000; ++i) claim("c" + std::to_string(i), "d" + std::to_string(i));
  claim("again", "d2999");
  claim("silent", "d3500", false);
  audit.start(10s);
  int others = 0;
  std::function<void()> other = [&] {
    if (++others < 1'000) reactor.post(other);
  };
  const Handle timer = reactor.after(10s, [&] { other(); });
  reactor.advance(10s);
  EXPECT_TRUE(says("dra_over_committed 1"));
  EXPECT_TRUE(says("dra_audit_differences_total 1"));
  EXPECT_EQ(others, 1'000);
}

}  // namespace dra::manager::audit_test
