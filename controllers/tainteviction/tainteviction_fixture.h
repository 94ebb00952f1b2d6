// The fixture of this package's tests: a cluster in memory on which evictions take effect, in simulated time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/tainteviction/tainteviction.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/memory_view.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::tainteviction {

inline constexpr const char* kDriver = "drv";
inline constexpr const char* kPool = "node-1";

// A cluster in memory. It delivers changes to the reconciler as the manager does, runs keys as the runner does, and
// applies writes.
class Cluster {
 public:
  explicit Cluster(Options options = {}) : reconciler(parts(options, inventory)) {}

  void put(const api::Pod& pod) { change(view.pods, pod); }
  void put(const api::ResourceClaim& claim) { change(view.claims, claim); }
  void remove_pod(const std::string& key) { take(view.pods, key); }
  void remove_claim(const std::string& key) { take(view.claims, key); }
  void put(const api::ResourceSlice& slice) {
    inventory.apply_slice(slice);
    change(slices, slice);
  }
  void remove_slice(const std::string& name) {
    inventory.remove_slice(name);
    take(slices, name);
  }
  void put(const api::DeviceTaintRule& rule) {
    inventory.apply_taint_rule(rule);
    change(view.rules, rule);
  }
  void remove_rule(const std::string& name) {
    inventory.remove_taint_rule(name);
    take(view.rules, name);
  }
  // Runs whatever is due until nothing is; returns what happened, in short.
  std::string settle() {
    did.clear();
    while (!ready.empty()) {
      const reconcile::Key key = *ready.begin();
      ready.erase(ready.begin());
      run(key);
    }
    return did;
  }
  std::string advance(Duration by) {
    view.time += by;
    for (auto entry = later.begin(); entry != later.end();) {
      if (entry->second > view.time) {
        ++entry;
        continue;
      }
      ready.insert(entry->first);
      entry = later.erase(entry);
    }
    return settle();
  }
  // A new process: it remembers nothing and reconciles everything once.
  std::string restart() {
    view.emitted.clear();
    ready.clear();
    later.clear();
    view.tallies.clear();
    for (const auto& [key, pod] : view.pods) deliver<api::Pod>(nullptr, &pod);
    for (const auto& [name, rule] : view.rules) deliver<api::DeviceTaintRule>(nullptr, &rule);
    return settle();
  }

  protocol::MemoryView view;
  inventory::Inventory inventory;
  test::WholeController reconciler;
  protocol::MemoryView::Table<api::ResourceSlice> slices;
  std::set<reconcile::Key> ready;
  std::map<reconcile::Key, WallTime> later;
  std::string did;
  size_t most_keys_at_once = 0, portions = 0;  // of walks
  std::vector<std::string> notes;
  std::vector<reconcile::Write> writes;
  std::vector<reconcile::Metric> metrics;
  std::function<bool(const reconcile::Write&)> refuse;           // the server refuses this write
  reconcile::Presence presence = reconcile::Presence::kPresent;  // what the server says about pods

 private:
  template <typename T>
  void deliver(const T* before, const T* after) {
    reconcile::EnqueueRequests enqueued;
    reconciler.on(view, before, after, enqueued);
    take_keys(enqueued);
    for (const reconcile::Walk& walk : enqueued.walks)
      for (bool more = true; more;) {
        reconcile::EnqueueRequests portion;
        more = walk(view, portion);
        take_keys(portion);
        ++portions;
      }
  }
  void take_keys(const reconcile::EnqueueRequests& enqueued) {
    most_keys_at_once = std::max(most_keys_at_once, enqueued.keys.size());
    ready.insert(enqueued.keys.begin(), enqueued.keys.end());
    for (const auto& [key, delay] : enqueued.delayed) later.emplace(key, view.time + delay);
  }
  template <typename T>
  void change(protocol::MemoryView::Table<T>& table, const T& object) {
    const std::string key = object.metadata.key();
    auto known = table.find(key);
    const std::optional<T> before = known == table.end() ? std::nullopt : std::optional<T>(known->second);
    table.insert_or_assign(key, object);
    // An object that replaces another of its name is delivered as a deletion and an addition.
    const bool replaced = before && before->metadata.uid != object.metadata.uid;
    if (replaced) deliver<T>(&*before, nullptr);
    deliver<T>(before && !replaced ? &*before : nullptr, &object);
  }
  template <typename T>
  void take(protocol::MemoryView::Table<T>& table, const std::string& key) {
    const T before = table.at(key);
    table.erase(key);
    deliver<T>(&before, nullptr);
  }
  void say(const std::string& what) { did += (did.empty() ? "" : ", ") + what; }

  void run(const reconcile::Key& key) {
    view.live_answers.clear();
    reconcile::ReconcileResult outcome = reconciler.reconcile(view, key);
    if (outcome.has_live_gets()) {
      EXPECT_TRUE(outcome.paced) << "who is about to evict waits for its turn";
      for (const reconcile::Effect& effect : outcome.effects)
        if (const reconcile::LiveGet* live_get = std::get_if<reconcile::LiveGet>(&effect))
          view.live_get(live_get->object, presence);
      outcome = reconciler.reconcile(view, key);
      EXPECT_FALSE(outcome.has_live_gets());
    }
    if (outcome.requeue_after) later[key] = view.time + *outcome.requeue_after;
    EXPECT_TRUE(!outcome.has_writes() || outcome.paced || key.kind == reconcile::Kind::kTaintRule);
    for (const reconcile::Effect& effect : outcome.effects) {
      if (const reconcile::Event* event = std::get_if<reconcile::Event>(&effect)) {
        view.emitted[{event->regarding.uid, event->reason.str()}] = event->signature;
        notes.push_back(event->note);
        say("event " + event->note.substr(0, event->note.find_first_of(":0123456789")));
      } else if (const reconcile::Write* write = std::get_if<reconcile::Write>(&effect)) {
        if (refuse && refuse(*write)) return say("refused " + write->purpose), void(ready.insert(key));
        perform(*write);
      }
    }
  }
  void perform(const reconcile::Write& write);
};

inline api::DeviceTaint taint(WallTime added, const std::string& effect = "NoExecute",
                              const std::string& key = "broken") {
  return {key, "yes", effect, format_rfc3339(added)};
}
inline api::DeviceToleration tolerate(std::optional<int64_t> seconds, const std::string& key = "broken") {
  return {key, "Exists", "", "NoExecute", seconds};
}

// A rule for all devices of the driver.
inline api::DeviceTaintRule rule_of(const std::string& name, const api::DeviceTaint& taint) {
  api::DeviceTaintRule made;
  made.metadata.name = name;
  made.metadata.uid = name + "-uid";
  made.metadata.generation = 1;
  made.has_selector = true;
  made.driver = kDriver;
  made.taint = taint;
  return made;
}

class TaintEviction : public testing::Test {
 protected:
  explicit TaintEviction(Options options = {}) : cluster(options), now(cluster.view.time) {}

  // A slice with devices dev-0 and dev-1; the taints are on dev-0.
  api::ResourceSlice slice(std::vector<api::DeviceTaint> taints, int64_t generation = 1,
                           const std::string& name = "slice") {
    api::ResourceSlice made;
    made.metadata.name = name;
    made.metadata.uid = name + "-uid";
    made.driver = kDriver;
    made.pool = {kPool, generation, 1};
    made.node_name = "node-1";
    for (const char* device : {"dev-0", "dev-1"}) {
      made.devices.emplace_back();
      made.devices.back().name = device;
    }
    made.devices[0].taints = std::move(taints);
    return made;
  }
  api::Pod pod(const std::string& name = "p") {
    auto made = test::named<api::Pod>(name);
    made.metadata.resource_version = "7";
    made.node_name = "node-1";
    made.phase = "Running";
    made.resource_claims.push_back({"gpu", "c", std::nullopt});
    return made;
  }
  api::ResourceClaim claim(std::vector<api::DeviceToleration> tolerations = {}, const std::string& device = "dev-0") {
    auto made = test::named<api::ResourceClaim>("c");
    api::DeviceRequestAllocationResult result;
    result.request = "gpu";
    result.driver = kDriver;
    result.pool = kPool;
    result.device = device;
    result.tolerations = std::move(tolerations);
    made.status.allocation.emplace();
    made.status.allocation->results.push_back(result);
    made.status.reserved_for.push_back({"", "pods", "p", "p-uid"});
    return made;
  }
  // A pod with a claim generated for it.
  api::Pod templated() {
    api::Pod made = pod();
    made.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
    made.resource_claim_statuses = {{"gpu", "c"}};
    return made;
  }
  api::ResourceClaim owned() {
    api::ResourceClaim made = claim();
    made.metadata.owner_references.push_back({"v1", "Pod", "p", "p-uid", true});
    return made;
  }

  const std::string kEvicted = "event Marking for deletion, mark-disruption p, evict p";
  const std::string kCalledOff = "event Cancelling deletion";
  const std::string kAnnounced = "event Will be deleted at ";

  Cluster cluster;
  const WallTime now;
};

}  // namespace dra::tainteviction
