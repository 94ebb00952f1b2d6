// Reports about devices in use: once per change, only about the claim's own devices, and not while a driver restarts.
#include "controllers/lifecycle/health.h"

#include <gtest/gtest.h>

#include "controllers/lifecycle/lifecycle.h"
#include "pkg/protocol/device_health.h"
#include "pkg/protocol/memory_view.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::lifecycle::health_test {
namespace {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class Health : public testing::Test {
 protected:
  Health() {
    slice = test::local_slice("drv", "n1", "dev-", 2);
    inventory.apply_slice(slice);
    claim = test::named<api::ResourceClaim>("c");
    claim.metadata.resource_version = "5";
    claim.status.allocation.emplace();
    claim.status.allocation->results.push_back({"gpu", "drv", "n1", "dev-0"});
    claim.status.reserved_for.push_back({"", "pods", "p", "p-uid"});
    pod = test::named<api::Pod>("p");
    pod.phase = "Running";
    pod.node_name = "n1";
    pod.resource_claims.push_back({"gpu", "c", std::nullopt});
  }

  // The notes of the events of one reconcile; "+" before one that reports recovery.
  std::string pass() {
    view.put(claim);
    view.put(pod);
    const ReconcileResult outcome = reconciler.reconcile(view, claim_key("default/c"));
    std::string events;
    counted = 0;
    for (const Effect& effect : outcome.effects) {
      if (const Event* event = std::get_if<Event>(&effect)) {
        EXPECT_EQ(event->reason, "DeviceTrouble");
        view.emitted[{event->regarding.uid, "DeviceTrouble"}] = event->signature;
        events += (event->warning ? "" : "+") + event->regarding.name + ": " + event->note + "\n";
      } else if (const Note* note = std::get_if<Note>(&effect)) {
        if (note->text.empty())
          view.notes.erase({note->uid, note->topic});
        else
          view.notes[{note->uid, note->topic}] = {note->text, view.time};
      } else {
        EXPECT_TRUE(std::holds_alternative<Metric>(effect)) << "nothing is written for it";
        ++counted;
      }
    }
    return events;
  }
  void publish(std::vector<std::string> devices) {
    slice.devices.clear();
    for (const std::string& name : devices) slice.devices.emplace_back().name = name;
    inventory.apply_slice(slice);
  }
  api::Condition ready(const std::string& status, const std::string& reason) {
    return {"Ready", status, reason, "", "2026-11-01T00:00:00Z", 0};
  }

  MemoryView view;
  inventory::Inventory inventory;
  api::ResourceSlice slice;
  api::ResourceClaim claim;
  api::Pod pod;
  test::WholeController reconciler{parts({}, &inventory)};
  int counted = 0;
};

TEST_F(Health, NothingIsSaidOfWhatWorks) {
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(counted, 0);
}

TEST_F(Health, ADeviceThatIsGoneIsToldOnceAfterAMinuteAndItsReturnOnce) {
  publish({"dev-1"});
  EXPECT_EQ(pass(), "");
  view.time += 59s;
  EXPECT_EQ(pass(), "");
  view.time += 2s;
  EXPECT_EQ(pass(),
            "c: DeviceGone: device drv/n1/dev-0: it is not published any more\n"
            "p: DeviceGone: device drv/n1/dev-0: it is not published any more\n")
      << "of the claim, and of the pod that people look at";
  EXPECT_EQ(counted, 1) << "one trouble";
  EXPECT_EQ(pass(), "");
  view.time += 1h;
  EXPECT_EQ(pass(), "");
  publish({"dev-0", "dev-1"});
  EXPECT_EQ(pass(),
            "+c: the devices are as they should be again\n"
            "+p: the devices are as they should be again\n");
  EXPECT_EQ(pass(), "");
}

TEST_F(Health, ADriverThatRestartsIsNotTold) {
  inventory.remove_slice(slice.metadata.name);
  EXPECT_EQ(pass(), "");
  view.time += 30s;
  inventory.apply_slice(slice);
  EXPECT_EQ(pass(), "");
  inventory.remove_slice(slice.metadata.name);
  view.time += 50s;
  EXPECT_EQ(pass(), "") << "the minute begins anew";
  view.time += 61s;
  EXPECT_NE(pass().find("DriverAbsent: device drv/n1/dev-0"), std::string::npos);
}

TEST_F(Health, TheEndOfThePodsIsNotTakenForARecovery) {
  publish({"dev-1"});
  pass();
  view.time += 61s;
  EXPECT_NE(pass(), "");
  claim.metadata.deletion_timestamp = "2026-11-01T00:00:00Z";
  EXPECT_EQ(pass(), "");
}

TEST_F(Health, WhatTheDriverSaysIsToldAtOnceWithItsTime) {
  claim.status.devices.push_back({"drv", "n1", "dev-0", std::nullopt, {ready("False", "NoPower")}});
  const std::string events = pass();
  EXPECT_NE(
      events.find("NotReady: device drv/n1/dev-0: its driver says that it is not ready: NoPower (since 2026-11-01"),
      std::string::npos)
      << events;
  EXPECT_EQ(pass(), "");
  claim.status.devices[0].conditions[0] = ready("True", "Ready");
  EXPECT_EQ(pass(),
            "+c: the devices are as they should be again\n"
            "+p: the devices are as they should be again\n");
}

TEST_F(Health, ForgedEntriesSayNothing) {
  claim.status.devices.push_back({"drv", "n1", "dev-1", std::nullopt, {ready("False", "NotOfThisClaim")}});
  claim.status.devices.push_back({"drv", "n1", "dev-0", "another-share", {ready("False", "NotOfThisShare")}});
  pod.unhealthy_devices.push_back({"another-entry", "", "drv/n1/dev-0", ""});
  EXPECT_EQ(pass(), "");
  // A pod of the same name, but not the one for which the claim is reserved.
  pod.unhealthy_devices[0].entry = "gpu";
  claim.status.reserved_for[0].uid = "an-older-pod";
  EXPECT_EQ(troubles_of(pod, claim).size(), 0u);
  claim.status.reserved_for[0].uid = "p-uid";
  EXPECT_EQ(troubles_of(pod, claim).size(), 1u);
}

TEST_F(Health, AbsurdWordsAreCut) {
  claim.status.devices.push_back({"drv", "n1", "dev-0", std::nullopt, {ready("False", std::string(1 << 20, 'x'))}});
  claim.status.devices[0].conditions[0].message = std::string(1 << 20, 'y');
  EXPECT_LT(pass().size(), 2000u) << "of two events";
}

TEST_F(Health, WhatKubeletReportsIsToldOnThePodWhicheverClaimIsLookedAt) {
  api::ResourceClaim second = claim;
  second.metadata.name = "d";
  second.metadata.uid = "d-uid";
  second.status.allocation->results[0].device = "dev-1";
  view.put(second);
  pod.resource_claims.push_back({"other", "d", std::nullopt});
  pod.unhealthy_devices.push_back({"other", "gpu", "drv/n1/dev-1", "XID 79"});
  const std::string events = pass();
  EXPECT_EQ(events, "p: Unhealthy: device drv/n1/dev-1: its driver reports it as unhealthy (request gpu): XID 79\n");
  EXPECT_EQ(pass(), "");
  pod.unhealthy_devices.clear();
  EXPECT_EQ(pass(), "+p: the devices are as they should be again\n");
}

// A pool of many slices is published one by one: each change enqueues only the claims that it concerns.
class SliceChange : public testing::Test {
 protected:
  static constexpr int kSlices = 20, kDevices = 8;

  SliceChange() {
    for (int i = 0; i < kSlices; ++i) publish(nullptr, slice(i));
    for (int i = 0; i < kSlices; ++i)
      for (int d = 0; d < kDevices; ++d) {
        auto claim = test::named<api::ResourceClaim>(device(i, d));
        claim.status.allocation.emplace();
        claim.status.allocation->results.push_back({"gpu", "drv", "big", device(i, d)});
        view.put(claim);
      }
  }
  static std::string device(int slice, int number) {
    return "d-" + std::to_string(slice) + "-" + std::to_string(number);
  }
  static api::ResourceSlice slice(int number, int64_t generation = 1) {
    api::ResourceSlice made;
    made.metadata.name = "s-" + std::to_string(number);
    made.driver = "drv";
    made.pool = {"big", generation, kSlices};
    made.all_nodes = true;
    for (int d = 0; d < kDevices; ++d) made.devices.emplace_back().name = device(number, d);
    return made;
  }
  std::vector<std::string> publish(const api::ResourceSlice* before, const api::ResourceSlice& after) {
    inventory.apply_slice(after);
    return enqueued(before, &after);
  }
  std::vector<std::string> enqueued(const api::ResourceSlice* before, const api::ResourceSlice* after) {
    EnqueueRequests out;
    reconciler.on_slice(view, before, after, out);
    std::vector<std::string> keys;
    for (const Key& key : out.keys) keys.push_back(key.object);
    return keys;
  }

  MemoryView view;
  inventory::Inventory inventory;
  test::WholeController reconciler{parts({}, &inventory)};
};

// A pool that a state has not seen counts as changed.
TEST_F(SliceChange, APoolIsComparedWithWhatTheStateHasSeen) {
  const LifecycleEvents events({}, &inventory);
  lifecycle::State one, other;
  const api::ResourceSlice same = slice(3);
  const auto concerned = [&](lifecycle::State& state) {
    EnqueueRequests out;
    events.changed(Changed<api::ResourceSlice>{&same, &same}, view, state, out);
    return out.keys.size();
  };
  const size_t all = kSlices * kDevices;
  EXPECT_EQ(concerned(one), all);
  EXPECT_EQ(concerned(one), 0u);
  EXPECT_EQ(concerned(other), all);
}

TEST_F(SliceChange, WhatADeviceIsLikeConcernsNoClaim) {
  api::ResourceSlice after = slice(3);
  after.devices[0].attributes["firmware"] = std::string("2");
  after.devices[1].taints.push_back({"bad", "", "NoExecute", ""});
  EXPECT_EQ(publish(nullptr, slice(3)).size(), static_cast<size_t>(kDevices)) << "not known before";
  const api::ResourceSlice before = slice(3);
  EXPECT_EQ(publish(&before, after), std::vector<std::string>{});
}

TEST_F(SliceChange, ADeviceThatGoesOrReturnsConcernsItsClaim) {
  const api::ResourceSlice before = slice(3);
  api::ResourceSlice after = before;
  after.devices.erase(after.devices.begin() + 2);
  EXPECT_EQ(publish(&before, after), std::vector<std::string>{"default/d-3-2"});
  EXPECT_EQ(publish(&after, before), std::vector<std::string>{"default/d-3-2"});
}

TEST_F(SliceChange, AnIncompletePoolConcernsAllItsClaimsOnceAndAgainWhenItIsComplete) {
  const size_t all = kSlices * kDevices;
  const api::ResourceSlice gone = slice(3);
  inventory.remove_slice(gone.metadata.name);
  EXPECT_EQ(enqueued(&gone, nullptr).size(), all);
  const api::ResourceSlice other = slice(4);
  inventory.remove_slice(other.metadata.name);
  EXPECT_EQ(enqueued(&other, nullptr).size(), static_cast<size_t>(kDevices)) << "it was incomplete before";
  EXPECT_EQ(publish(nullptr, other).size(), static_cast<size_t>(kDevices));
  EXPECT_EQ(publish(nullptr, gone).size(), all);
}

TEST_F(SliceChange, ANewGenerationConcernsAllClaimsWithItsFirstAndItsLastSlice) {
  const size_t all = kSlices * kDevices;
  size_t keys = 0;
  for (int i = 0; i < kSlices; ++i) {
    const api::ResourceSlice before = slice(i);
    keys += publish(&before, slice(i, 2)).size();
  }
  EXPECT_EQ(keys, 2 * all) << "not once for each of " << kSlices << " slices";
}

TEST_F(SliceChange, APoolThatVanishesConcernsAllItsClaims) {
  for (int i = 0; i + 1 < kSlices; ++i) inventory.remove_slice(slice(i).metadata.name);
  const api::ResourceSlice last = slice(kSlices - 1);
  inventory.remove_slice(last.metadata.name);
  EXPECT_EQ(enqueued(&last, nullptr).size(), static_cast<size_t>(kSlices * kDevices));
}

}  // namespace
}  // namespace dra::lifecycle::health_test
