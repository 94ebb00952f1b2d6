#include <gtest/gtest.h>

#include "pkg/base/timestamp.h"
#include "pkg/manager/manager.h"
#include "pkg/manager/report/device_gauges.h"
#include "pkg/manager/report/exclusivity.h"
#include "pkg/manager/report/fragmentation_gauges.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/report/pending_pods.h"
#include "pkg/manager/report/pinned_pods.h"
#include "pkg/manager/report/stuck_claims.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"

// Figures computed at each scrape: devices by state, and stuck claims.
namespace dra::manager::figures_test {

using namespace std::chrono_literals;

class Devices : public testing::Test {
 protected:
  Devices() : random(1), allocator(inventory, {}, random), gauges(registry, inventory, allocator) {}
  api::ResourceSlice slice(const std::string& driver, const std::string& pool, int devices) {
    api::ResourceSlice made;
    made.metadata.name = driver + "-" + pool;
    made.driver = driver;
    made.pool = {pool, 1, 1};
    made.node_name = "n";
    for (int i = 0; i < devices; ++i) {
      made.devices.emplace_back();
      made.devices.back().name = "d" + std::to_string(i);
    }
    return made;
  }
  void take(const std::string& pool, const std::string& device) {
    api::AllocationResult held;
    held.results.push_back({"r", "gpu", pool, device});
    inventory.apply_allocation("claim-" + pool + device, held);
  }
  bool says(const std::string& line) {
    gauges.refresh();
    return registry.text().find(line + "\n") != std::string::npos;
  }

  SeededRandom random;
  inventory::Inventory inventory;
  allocator::Allocator allocator;
  metrics::Registry registry;
  DeviceGauges gauges;
};

TEST_F(Devices, ByDriverPoolAndClass) {
  api::ResourceSlice a = slice("gpu", "a", 4);
  a.devices[3].taints = {{"broken", "", "NoExecute", ""}};
  a.devices[2].taints = {{"noted", "", "None", ""}};
  inventory.apply_slice(a);
  inventory.apply_slice(slice("gpu", "b", 2));
  inventory.apply_slice(slice("nic", "a", 1));
  api::DeviceClass gpu;
  gpu.metadata.name = "gpus";
  gpu.selectors = {"device.driver == 'gpu'"};
  inventory.apply_class(gpu);
  take("a", "d0");
  take("a", "d3");
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"total\"} 6")) << registry.text();
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"used\"} 2"));
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"free\"} 4"));
  EXPECT_TRUE(says("dra_pool_devices{driver=\"gpu\",pool=\"a\",state=\"free\"} 2"));
  EXPECT_TRUE(says("dra_pool_devices{driver=\"gpu\",pool=\"a\",state=\"tainted\"} 1"));
  EXPECT_TRUE(says("dra_class_devices{class=\"gpus\",state=\"total\"} 6"));
  EXPECT_TRUE(says("dra_class_devices{class=\"gpus\",state=\"used\"} 2"));
  EXPECT_TRUE(says("dra_class_devices{class=\"gpus\",state=\"free\"} 4"));
  EXPECT_TRUE(says("dra_class_devices{class=\"gpus\",state=\"tainted\"} 1"));
  inventory.remove_slice("gpu-b");
  inventory.remove_claim("claim-ad0");
  inventory.remove_class("gpus");
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"free\"} 3"));
  EXPECT_EQ(registry.text().find("pool=\"b\""), std::string::npos);
  EXPECT_EQ(registry.text().find("gpus"), std::string::npos);
}

TEST_F(Devices, IgnoredTaintsKeepNothingFromBeingFree) {
  api::ResourceSlice tainted = slice("gpu", "a", 3);
  for (api::Device& device : tainted.devices) device.taints = {{"exclusive", "", "NoSchedule", ""}};
  inventory.apply_slice(tainted);
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"free\"} 0"));
  metrics::Registry other;
  DeviceGauges ignoring(other, inventory, allocator, {"exclusive"});
  ignoring.refresh();
  EXPECT_NE(other.text().find("dra_devices{driver=\"gpu\",state=\"free\"} 3\n"), std::string::npos);
}

// Two cards of eight slices, published as 18 devices, and a device by itself: silicon counts, not names.
TEST_F(Devices, CardsCountOnceAndInParts) {
  api::ResourceSlice devices = slice("gpu", "a", 1), counters = slice("gpu", "a", 0);
  counters.metadata.name = "gpu-a-counters";
  devices.pool = counters.pool = {"a", 1, 2};
  for (const char* card : {"g0", "g1"}) {
    counters.shared_counters.push_back({card, {{"slices", "8"}, {"engines", "16"}, {"none", "0"}}});
    for (int i = 0; i < 9; ++i) {
      api::Device& device = devices.devices.emplace_back();
      device.name = std::string(card) + "-" + std::to_string(i);
      device.consumes_counters = {{card, {{"slices", i == 8 ? "8" : "1"}, {"engines", i == 8 ? "16" : "1"}}}};
    }
  }
  inventory.apply_slice(devices);
  inventory.apply_slice(counters);
  EXPECT_TRUE(says("dra_cards{driver=\"gpu\",state=\"total\"} 3")) << registry.text();
  EXPECT_TRUE(says("dra_cards{driver=\"gpu\",state=\"used\"} 0")) << registry.text();
  take("a", "g0-8");
  take("a", "g1-3");
  EXPECT_TRUE(says("dra_cards{driver=\"gpu\",state=\"used\"} 1.125")) << registry.text();
  take("a", "d0");
  EXPECT_TRUE(says("dra_cards{driver=\"gpu\",state=\"used\"} 2.125")) << registry.text();
  inventory.remove_slice("gpu-a");
  inventory.remove_slice("gpu-a-counters");
  gauges.refresh();
  EXPECT_EQ(registry.text().find("dra_cards{"), std::string::npos) << registry.text();
}

TEST_F(Devices, ManyPoolsAreCountedTogether) {
  for (int i = 0; i < 1000; ++i) inventory.apply_slice(slice("gpu", "pool-" + std::to_string(1000 + i), 2));
  EXPECT_TRUE(says("dra_devices{driver=\"gpu\",state=\"total\"} 2000"));
  EXPECT_TRUE(says("dra_pool_devices{driver=\"gpu\",pool=\"(others)\",state=\"total\"} 1200"));
  size_t series = 0;
  const std::string text = registry.text();
  for (size_t at = text.find("\ndra_pool_devices{"); at != std::string::npos;
       at = text.find("\ndra_pool_devices{", at + 1))
    ++series;
  EXPECT_EQ(series, 4 * (DeviceGauges::kMaxPools + 1));
}

TEST_F(Devices, AreCountedInPieces) {
  const int pools = 2 * DeviceGauges::kPoolsOfPiece + 500;
  for (int i = 0; i < pools; ++i) inventory.apply_slice(slice("gpu", "pool-" + std::to_string(10'000 + i), 2));
  for (const char* name : {"a", "b"}) {
    api::DeviceClass made;
    made.metadata.name = name;
    made.selectors = {"device.driver == 'gpu'"};
    inventory.apply_class(made);
  }
  EXPECT_FALSE(gauges.refresh_some());
  EXPECT_EQ(registry.text().find("dra_devices{"), std::string::npos) << "half of the pools do not make a figure";
  inventory.remove_slice("gpu-pool-10000");
  inventory.remove_class("b");
  int pieces = 1;
  while (!gauges.refresh_some()) ++pieces;
  EXPECT_EQ(pieces, 3);  // of pools, and the class in the last call
  const std::string text = registry.text();
  EXPECT_NE(text.find("dra_devices{driver=\"gpu\",state=\"total\"} " + std::to_string(2 * pools - 2) + "\n"),
            std::string::npos);
  EXPECT_NE(text.find("dra_class_devices{class=\"a\",state=\"total\"} " + std::to_string(2 * pools - 2) + "\n"),
            std::string::npos);
  EXPECT_EQ(text.find("class=\"b\""), std::string::npos);
  EXPECT_FALSE(gauges.refresh_some()) << "the devices changed after the first piece";
}

TEST_F(Devices, ClassesAreJudgedOverSeveralRefreshesWhereThereAreMany) {
  for (int i = 0; i < 500; ++i) inventory.apply_slice(slice("gpu", "pool-" + std::to_string(1000 + i), 128));
  for (int i = 0; i < 10; ++i) {
    api::DeviceClass made;
    made.metadata.name = "class-" + std::to_string(i);
    made.selectors = {"device.driver == 'gpu' && " + std::to_string(i) + " >= 0"};
    inventory.apply_class(made);
  }
  EXPECT_FALSE(says("dra_class_devices{class=\"class-9\",state=\"total\"} 64000"));
  for (int i = 0; i < 4; ++i) gauges.refresh();
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(says("dra_class_devices{class=\"class-" + std::to_string(i) + "\",state=\"total\"} 64000")) << i;
}

class Fragments : public Devices {
 protected:
  Fragments() : fragments(registry, inventory, allocator, clock) {
    for (const char* name : {"gpus", "nics"}) {
      api::DeviceClass made;
      made.metadata.name = name;
      made.selectors = {std::string("device.driver == '") + (name[0] == 'g' ? "gpu" : "nic") + "'"};
      inventory.apply_class(made);
    }
  }
  api::ResourceSlice slice_of(const std::string& node, int devices) {
    api::ResourceSlice made = slice("gpu", node, devices);
    made.node_name = node;
    return made;
  }
  int count() {
    int pieces = 1;
    while (!fragments.refresh_some()) ++pieces;
    return pieces;
  }
  bool serves(const std::string& line) {
    return registry.text().find("dra_class_fragmentation{class=" + line + "\n") != std::string::npos;
  }

  ManualClock clock;
  FragmentationGauges fragments;
};

// Four and two GPUs, of which two and one are held: three are free, and the larger node has four.
TEST_F(Fragments, AreServedByClass) {
  inventory.apply_slice(slice_of("a", 4));
  inventory.apply_slice(slice_of("b", 2));
  take("a", "d0");
  take("a", "d3");
  take("b", "d1");
  count();
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 2")) << registry.text();
  EXPECT_TRUE(serves("\"gpus\",state=\"if_packed\"} 3"));
  EXPECT_TRUE(serves("\"gpus\",state=\"free\"} 3"));
  EXPECT_TRUE(serves("\"nics\",state=\"largest\"} 0"));
  inventory.remove_class("gpus");
  clock.advance(FragmentationGauges::kInterval);
  count();
  EXPECT_EQ(registry.text().find("dra_class_fragmentation{class=\"gpus"), std::string::npos);
}

TEST_F(Fragments, AreCountedOnceInAnInterval) {
  inventory.apply_slice(slice_of("a", 4));
  count();
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 4"));
  take("a", "d0");
  clock.advance(FragmentationGauges::kInterval - 1s);
  count();
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 4")) << "they are not to be counted yet";
  clock.advance(1s);
  count();
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 3"));
}

// The first scrape may come before the classes have been read.
TEST_F(Fragments, AreCountedAtTheNextScrapeWhereNoClassIsKnown) {
  inventory.apply_slice(slice_of("a", 4));
  inventory.remove_class("gpus");
  inventory.remove_class("nics");
  EXPECT_EQ(count(), 1);
  api::DeviceClass made;
  made.metadata.name = "gpus";
  made.selectors = {"device.driver == 'gpu'"};
  inventory.apply_class(made);
  count();
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 4")) << registry.text();
}

// 60,000 devices; a device is more than one unit of work.
TEST_F(Fragments, AreCountedInPieces) {
  for (int i = 0; i < 500; ++i) inventory.apply_slice(slice_of("n" + std::to_string(i), 120));
  EXPECT_FALSE(fragments.refresh_some());
  EXPECT_FALSE(serves("\"gpus\",state=\"free\"} 60000")) << "a part of the pools makes no figure";
  EXPECT_GE(count(), 3);
  EXPECT_TRUE(serves("\"gpus\",state=\"free\"} 60000"));
  EXPECT_TRUE(serves("\"gpus\",state=\"largest\"} 32"));
}

TEST_F(Fragments, OfManyClassesAreCountedOverSeveralIntervals) {
  for (int i = 0; i < 500; ++i) inventory.apply_slice(slice_of("n" + std::to_string(i), 120));
  for (int i = 0; i < 5; ++i) {
    api::DeviceClass made;
    made.metadata.name = "class-" + std::to_string(i);
    made.selectors = {"device.driver == 'gpu' && " + std::to_string(i) + " >= 0"};
    inventory.apply_class(made);
  }
  count();
  EXPECT_FALSE(serves("\"class-4\",state=\"free\"} 60000"));
  for (int i = 0; i < 2; ++i) {
    clock.advance(FragmentationGauges::kInterval);
    count();
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(serves("\"class-" + std::to_string(i) + "\",state=\"free\"} 60000")) << i;
}

api::ResourceClaim make_claim(WallTime created) {
  api::ResourceClaim claim;
  claim.metadata.ns = "d";
  claim.metadata.name = "c";
  claim.metadata.uid = "c-uid";
  claim.metadata.creation_timestamp = format_rfc3339(created);
  return claim;
}

TEST(Stuck, ClaimsByState) {
  using Counts = std::array<size_t, 3>;
  WallTime now{std::chrono::seconds(1'700'000'000)};
  bool wanted = true;
  const auto needed = [&wanted](const std::string& key) {
    EXPECT_EQ(key, "d/c");
    return wanted;
  };
  StuckClaims stuck;
  api::ResourceClaim claim = make_claim(now);
  stuck.changed(nullptr, &claim, now);
  EXPECT_EQ(stuck.count(now + 299s, needed), (Counts{0, 0, 0}));
  EXPECT_EQ(stuck.count(now + 300s, needed), (Counts{1, 0, 0}));
  api::ResourceClaim labelled = claim;
  labelled.metadata.labels["a"] = "b";
  stuck.changed(&claim, &labelled, now + 200s);
  EXPECT_EQ(stuck.count(now + 300s, needed), (Counts{1, 0, 0})) << "what changes nothing does not count as progress";
  wanted = false;
  EXPECT_EQ(stuck.count(now + 300s, needed), (Counts{0, 0, 0})) << "nobody waits for it";
  wanted = true;
  api::ResourceClaim allocated = claim;
  allocated.status.allocation.emplace();
  allocated.metadata.managed_fields.push_back({std::string(protocol::kAllocationManager), "Update", "status"});
  stuck.changed(&labelled, &allocated, now + 300s);
  EXPECT_EQ(stuck.count(now + 599s, needed), (Counts{0, 0, 0}));
  EXPECT_EQ(stuck.count(now + 600s, needed), (Counts{0, 1, 0}));
  api::ResourceClaim theirs = allocated;
  theirs.metadata.managed_fields[0].manager = "kube-scheduler";
  stuck.changed(&allocated, &theirs, now + 600s);
  EXPECT_EQ(stuck.count(now + 1h, needed), (Counts{0, 0, 0}));
  stuck.changed(&theirs, &claim, now + 700s);
  EXPECT_EQ(stuck.count(now + 999s, needed), (Counts{0, 0, 0})) << "pending anew, whatever its age";
  api::ResourceClaim deleted = claim;
  deleted.metadata.deletion_timestamp = format_rfc3339(now + 700s);
  stuck.changed(&claim, &deleted, now + 701s);
  EXPECT_EQ(stuck.count(now + 1000s, needed), (Counts{0, 0, 1}));
  stuck.changed(&deleted, nullptr, now + 1000s);
  EXPECT_EQ(stuck.count(now + 1h, needed), (Counts{0, 0, 0}));
  stuck.changed(nullptr, &claim, now + 1h);
  EXPECT_EQ(stuck.count(now + 1h, needed), (Counts{1, 0, 0})) << "a restart does not forget how long it has waited";
}

TEST(Pinned, PodsThatWereLetGoAndAreNotBound) {
  const WallTime now{std::chrono::seconds(1'700'000'000)};
  protocol::MemoryView view;
  PinnedPods pinned;
  const auto put = [&](const std::string& name, WallTime allocated, bool proven) {
    api::ResourceClaim claim = make_claim(now - 1h);
    claim.metadata.name = name;
    claim.metadata.uid = name + "-claim";
    claim.metadata.managed_fields.push_back({std::string(protocol::kAllocationManager), "Update", "status"});
    claim.status.allocation.emplace();
    claim.status.allocation->allocation_timestamp = format_rfc3339(allocated);
    claim.status.reserved_for.push_back({"", "pods", name, name + "-uid"});
    if (proven) {
      claim.metadata.finalizers.emplace_back(api::kDeleteProtectionFinalizer);
      claim.metadata.annotations[std::string(protocol::kProofAnnotation)] =
          protocol::proof_value(name + "-uid", *claim.status.allocation);
    }
    view.put(claim);
    api::Pod pod;
    pod.metadata.ns = "d";
    pod.metadata.name = name;
    pod.metadata.uid = name + "-uid";
    pod.resource_claims.push_back({"gpu", name, ""});
    view.put(pod);
    pinned.changed(nullptr, &pod);
    return pod;
  };
  put("young", now - 1min, true);
  const api::Pod old = put("old", now - 10min, true);
  put("unproven", now - 20min, false);
  EXPECT_EQ(pinned.count(view).pods, 2u) << "the third is kube-scheduler's, or not ungated yet";
  EXPECT_EQ(pinned.count(view).since, now - 10min);
  api::Pod gated = old;
  gated.scheduling_gates = {"other/gate"};
  pinned.changed(&old, &gated);
  EXPECT_EQ(pinned.count(view).pods, 1u) << "somebody else holds it";
  pinned.changed(&gated, &old);
  EXPECT_EQ(pinned.count(view).pods, 2u);
  api::Pod bound = old;
  bound.node_name = "n";
  pinned.changed(&old, &bound);
  EXPECT_EQ(pinned.count(view).since, now - 1min);
  pinned.changed(&bound, nullptr);
  EXPECT_EQ(pinned.count(view).pods, 1u);
}

TEST(Instruments, CreationsBearTheNamesOf136And137) {
  metrics::Registry registry;
  Instruments instruments(registry);
  instruments.record({reconcile::Metric::Type::kCounter,
                      "resourceclaim_controller_creates_total",
                      {{"status", "success"}, {"admin_access", "false"}},
                      2});
  for (const char* name :
       {"resourceclaim_controller_creates_total", "dynamic_resource_allocation_resourceclaim_creates_total"})
    EXPECT_NE(registry.text().find(std::string(name) + "{admin_access=\"false\",status=\"success\"} 2\n"),
              std::string::npos)
        << registry.text();
}

TEST(Pending, PodsByClassAndCauseUntilTheyWaitNoLonger) {
  using Counts = PendingPods::Counts;
  protocol::MemoryView view;
  PendingPods pending;
  const auto put = [&](const std::string& name, const std::string& uid, bool gated, const std::string& node = "") {
    api::Pod pod;
    pod.metadata.ns = "d";
    pod.metadata.name = name;
    pod.metadata.uid = uid;
    if (gated) pod.scheduling_gates = {"dra-controller-manager/allocation"};
    pod.node_name = node;
    view.put(pod);
  };
  put("a", "a-uid", true);
  put("b", "b-uid", true);
  put("c", "c-uid", false);
  pending.waits({"d/a", "a-uid", true, "gpu", "InUse"});
  pending.waits({"d/b", "b-uid", true, "gpu", "InUse"});
  pending.waits({"d/c", "c-uid", false, "gpu", "NoNode"});
  pending.waits({"d/gone", "x", true, "gpu", "InUse"});
  EXPECT_EQ(pending.count(view), (Counts{{{"gpu", "InUse"}, 2}, {{"gpu", "NoNode"}, 1}}));
  pending.waits({{"pod", "d/a"}, {"uid", "a-uid"}, {"gated", "true"}, {"class", "gpu"}, {"cause", "Taint"}});
  EXPECT_EQ(pending.count(view), (Counts{{{"gpu", "InUse"}, 1}, {{"gpu", "NoNode"}, 1}, {{"gpu", "Taint"}, 1}}));
  put("a", "a-uid", false);  // ungated
  EXPECT_EQ(pending.count(view), (Counts{{{"gpu", "InUse"}, 1}, {{"gpu", "NoNode"}, 1}}));
  put("b", "another-uid", true);
  EXPECT_EQ(pending.count(view), (Counts{{{"gpu", "NoNode"}, 1}}));
  put("c", "c-uid", false, "n1");
  EXPECT_EQ(pending.count(view), Counts{});
}

TEST(Pending, ClassesAreBounded) {
  protocol::MemoryView view;
  PendingPods pending;
  for (size_t i = 0; i < 3 * PendingPods::kMaxClasses; ++i) {
    api::Pod pod;
    pod.metadata.ns = "d";
    pod.metadata.name = pod.metadata.uid = "p" + std::to_string(i);
    view.put(pod);
    pending.waits({pod.metadata.key(), pod.metadata.uid, false, "class-" + std::to_string(1000 + i), "InUse"});
  }
  const PendingPods::Counts counts = pending.count(view);
  EXPECT_EQ(counts.size(), PendingPods::kMaxClasses + 1);
  EXPECT_EQ(counts.at({"(others)", "InUse"}), 2 * PendingPods::kMaxClasses);
}

TEST(Pending, SeriesGoWithTheirPods) {
  metrics::Registry registry;
  Instruments instruments(registry);
  protocol::MemoryView view;
  api::Pod pod;
  pod.metadata.ns = "d";
  pod.metadata.name = pod.metadata.uid = "p";
  view.put(pod);
  const reconcile::Metric waits{
      reconcile::Metric::Type::kCounter,
      "dra_pending_pods",
      {{"pod", "d/p"}, {"uid", "p"}, {"gated", "false"}, {"class", "gpu"}, {"cause", "InUse"}}};
  instruments.record(waits);
  instruments.set_pending(view);
  EXPECT_NE(registry.text().find("dra_pending_pods{cause=\"InUse\",class=\"gpu\"} 1\n"), std::string::npos);
  instruments.forget_pending();
  instruments.set_pending(view);
  EXPECT_EQ(registry.text().find("dra_pending_pods{"), std::string::npos) << "a standby counts nothing";
}

TEST(Exclusive, ADriverIsOursWhileNobodyElseAllocatesOrItsTaintKeepsThemOut) {
  std::map<std::string, inventory::Usage> devices;
  devices["gpu"].total = devices["nic"].total = 2;
  devices["nic"].tainted = 2;
  api::ResourceClaim foreign = make_claim(WallTime{});
  foreign.status.allocation.emplace();
  foreign.status.allocation->results.push_back({"r", "gpu", "a", "d0"});
  foreign.status.allocation->results.push_back({"r", "gpu", "a", "d1"});
  foreign.status.allocation->results.push_back({"r", "nic", "a", "d0"});
  foreign.metadata.managed_fields.push_back({"kube-scheduler", "Update", "status", false});
  Exclusivity exclusivity;
  EXPECT_TRUE(exclusivity.drivers(devices, false)["gpu"].exclusive);
  EXPECT_NE(
      config_json({}, exclusivity.drivers(devices, false))
          .find(R"("gpu":{"allDevicesTainted":false,"exclusive":true,"foreignClaims":0,"why":"no claim that somebody)"),
      std::string::npos);
  exclusivity.changed(nullptr, &foreign);
  EXPECT_NE(
      config_json({}, exclusivity.drivers(devices, true))
          .find(R"("gpu":{"allDevicesTainted":false,"exclusive":false,"foreignClaims":1,"why":"1 claim holds devices)"),
      std::string::npos);
  EXPECT_NE(
      config_json({}, exclusivity.drivers(devices, true))
          .find(R"("nic":{"allDevicesTainted":true,"exclusive":true,"foreignClaims":1,"why":"every device bears)"),
      std::string::npos);
  EXPECT_EQ(exclusivity.drivers(devices, false)["gpu"].foreign_claims, 1u) << "claims are counted, not devices";
  EXPECT_FALSE(exclusivity.drivers(devices, true)["gpu"].exclusive);
  EXPECT_FALSE(exclusivity.drivers(devices, false)["nic"].exclusive) << "--ignore-taints is not set";
  EXPECT_TRUE(exclusivity.drivers(devices, true)["nic"].exclusive);
  api::ResourceClaim admin = foreign;
  for (api::DeviceRequestAllocationResult& result : admin.status.allocation->results) result.admin_access = true;
  exclusivity.changed(&foreign, &admin);
  EXPECT_TRUE(exclusivity.drivers(devices, false)["gpu"].exclusive) << "admin access takes nothing away";
  exclusivity.changed(&admin, nullptr);
  exclusivity.changed(nullptr, &foreign);
  exclusivity.changed(&foreign, nullptr);
  EXPECT_EQ(exclusivity.drivers(devices, false)["gpu"].foreign_claims, 0u);
}

}  // namespace dra::manager::figures_test
