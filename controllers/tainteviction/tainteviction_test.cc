#include "controllers/tainteviction/tainteviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "controllers/tainteviction/verdict.h"
#include "pkg/base/random.h"
#include "pkg/reconcile/memory_view.h"
#include "pkg/reconcile/pod_claims.h"

// The situations of kube-controller-manager's device taint eviction that slices alone can bring about, in simulated
// time, and those of its weaknesses that concern them.
namespace dra::tainteviction::tainteviction_test {

using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr const char* kDriver = "drv";
constexpr const char* kPool = "node-1";

// A cluster in memory. Changes are delivered to the reconciler as the manager does; keys are run as the runner does,
// and writes take effect.
class Cluster {
 public:
  explicit Cluster(Options options = {}) : reconciler(options, inventory) {}

  void put(const api::Pod& pod) { change(view.pods, pod, &TaintEvictionReconciler::on_pod); }
  void put(const api::ResourceClaim& claim) { change(view.claims, claim, &TaintEvictionReconciler::on_claim); }
  void remove_pod(const std::string& key) { take(view.pods, key, &TaintEvictionReconciler::on_pod); }
  void remove_claim(const std::string& key) { take(view.claims, key, &TaintEvictionReconciler::on_claim); }
  void put(const api::ResourceSlice& slice) {
    inventory.apply_slice(slice);
    change(slices, slice, &TaintEvictionReconciler::on_slice);
  }
  void remove_slice(const std::string& name) {
    inventory.remove_slice(name);
    take(slices, name, &TaintEvictionReconciler::on_slice);
  }
  // Runs what is due until nothing is; what happened, in short.
  std::string settle() {
    did.clear();
    while (!ready.empty()) {
      const Key key = *ready.begin();
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
  // A new process: nothing is remembered, everything is looked at once.
  std::string restart() {
    view.emitted.clear();
    ready.clear();
    later.clear();
    for (const auto& [key, pod] : view.pods) deliver<api::Pod>(&TaintEvictionReconciler::on_pod, nullptr, &pod);
    return settle();
  }

  MemoryView view;
  inventory::Inventory inventory;
  TaintEvictionReconciler reconciler;
  MemoryView::Table<api::ResourceSlice> slices;
  std::set<Key> ready;
  std::map<Key, WallTime> later;
  std::string did;
  std::vector<std::string> notes;
  std::vector<Write> writes;
  std::vector<Metric> metrics;
  std::function<bool(const Write&)> refuse;  // the server refuses this write
  Presence presence = Presence::kPresent;    // what the server says about pods

 private:
  template <typename T>
  using Tell = void (TaintEvictionReconciler::*)(const View&, const T*, const T*, Triggers&) const;
  template <typename T>
  void deliver(Tell<T> tell, const T* before, const T* after) {
    Triggers triggers;
    (reconciler.*tell)(view, before, after, triggers);
    ready.insert(triggers.keys.begin(), triggers.keys.end());
    EXPECT_TRUE(triggers.later.empty());
  }
  template <typename T>
  void change(MemoryView::Table<T>& table, const T& object, Tell<T> tell) {
    const std::string key = object.metadata.key();
    auto known = table.find(key);
    const std::optional<T> before = known == table.end() ? std::nullopt : std::optional<T>(known->second);
    table.insert_or_assign(key, object);
    // An object that was replaced under its name comes as a deletion and an addition.
    const bool replaced = before && before->metadata.uid != object.metadata.uid;
    if (replaced) deliver<T>(tell, &*before, nullptr);
    deliver<T>(tell, before && !replaced ? &*before : nullptr, &object);
  }
  template <typename T>
  void take(MemoryView::Table<T>& table, const std::string& key, Tell<T> tell) {
    const T before = table.at(key);
    table.erase(key);
    deliver<T>(tell, &before, nullptr);
  }
  void say(const std::string& what) { did += (did.empty() ? "" : ", ") + what; }

  void run(const Key& key) {
    view.confirmations.clear();
    Outcome outcome = reconciler.reconcile(view, key);
    if (outcome.has_confirms()) {
      EXPECT_TRUE(outcome.paced) << "who is about to evict waits for its turn";
      for (const Effect& effect : outcome.effects)
        if (const Confirm* confirm = std::get_if<Confirm>(&effect)) view.confirm(confirm->object, presence);
      outcome = reconciler.reconcile(view, key);
      EXPECT_FALSE(outcome.has_confirms());
    }
    if (outcome.look_again) later[key] = view.time + *outcome.look_again;
    EXPECT_TRUE(!outcome.has_writes() || outcome.paced);
    for (const Effect& effect : outcome.effects) {
      if (const Event* event = std::get_if<Event>(&effect)) {
        view.emitted[{event->regarding.uid, event->reason}] = event->signature;
        notes.push_back(event->note);
        say("event " + event->note.substr(0, event->note.find_first_of(":0123456789")));
      } else if (const Write* write = std::get_if<Write>(&effect)) {
        if (refuse && refuse(*write)) return say("refused " + write->purpose), void(ready.insert(key));
        perform(*write);
      }
    }
  }
  void perform(const Write& write) {
    writes.push_back(write);
    say(write.purpose + " " + write.object.name);
    metrics.insert(metrics.end(), write.on_success.begin(), write.on_success.end());
    api::Pod pod = view.pods.at(write.object.store_key());
    ASSERT_EQ(pod.metadata.uid, write.object.uid) << "bound to the instance";
    if (write.purpose == "mark-disruption") {
      const Json condition = Json::parse(write.body)["status"]["conditions"][0];
      pod.conditions.push_back({condition["type"], condition["status"], condition["reason"], condition["message"]});
    } else {
      pod.metadata.deletion_timestamp = format_rfc3339(view.time);
    }
    put(pod);
  }
};

api::DeviceTaint taint(WallTime added, const std::string& effect = "NoExecute", const std::string& key = "broken") {
  return {key, "yes", effect, format_rfc3339(added)};
}
api::DeviceToleration tolerate(std::optional<int64_t> seconds, const std::string& key = "broken") {
  return {key, "Exists", "", "NoExecute", seconds};
}

class TaintEviction : public testing::Test {
 protected:
  explicit TaintEviction(Options options = {}) : cluster(options), now(cluster.view.time) {}

  // A slice with devices dev-0 and dev-1; the taints are dev-0's.
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
    api::Pod made;
    made.metadata.ns = "default";
    made.metadata.name = name;
    made.metadata.uid = name + "-uid";
    made.metadata.resource_version = "7";
    made.node_name = "node-1";
    made.phase = "Running";
    made.resource_claims.push_back({"gpu", "c", std::nullopt});
    return made;
  }
  api::ResourceClaim claim(std::vector<api::DeviceToleration> tolerations = {}, const std::string& device = "dev-0") {
    api::ResourceClaim made;
    made.metadata.ns = "default";
    made.metadata.name = "c";
    made.metadata.uid = "c-uid";
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
  // A pod that is generated for: its claim is its own.
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

TEST_F(TaintEviction, NothingWithoutObjects) {
  EXPECT_EQ(cluster.settle(), "");
  EXPECT_TRUE(cluster.reconciler.reconcile(cluster.view, pod_key("default/p")).effects.empty());
}

TEST_F(TaintEviction, AnUntaintedClaimIsNoConcern) {
  cluster.put(slice({}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_TRUE(cluster.ready.empty());
}

TEST_F(TaintEviction, EvictsAsUpstreamDoes) {
  cluster.put(slice({taint(now - 2s)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_EQ(cluster.notes.at(0),
            "Marking for deletion: device drv/node-1/dev-0 of claim default/c has the taint broken=yes:NoExecute");
  const Write& mark = cluster.writes.at(0);
  EXPECT_EQ(mark.verb, Verb::kApply);
  EXPECT_EQ(mark.subresource, "status");
  EXPECT_NE(mark.field_manager, kFieldManager) << "or it would take away the claim statuses applied under that one";
  const Json body = Json::parse(mark.body);
  EXPECT_EQ(body["metadata"]["uid"], "p-uid");
  Json condition = body["status"]["conditions"][0];
  condition.erase("lastTransitionTime");
  EXPECT_EQ(condition,
            Json::parse(R"({"type":"DisruptionTarget","status":"True","reason":"DeletionByDeviceTaintManager",
                                       "message":"Device Taint manager: deleting due to NoExecute taint"})"));
  const Write& deletion = cluster.writes.at(1);
  EXPECT_EQ(deletion.verb, Verb::kDelete);
  EXPECT_EQ(deletion.object.uid, "p-uid");
  ASSERT_EQ(cluster.metrics.size(), 2u);
  EXPECT_EQ(cluster.metrics[0].name, "device_taint_eviction_controller_pod_deletions_total");
  EXPECT_EQ(cluster.metrics[1].name, "device_taint_eviction_controller_pod_deletion_duration_seconds");
  EXPECT_DOUBLE_EQ(cluster.metrics[1].value, 2);
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(TaintEviction, InEveryOrderOfEvents) {
  std::vector<int> order{0, 1, 2};
  do {
    Cluster one;
    for (const int what : order) {
      if (what == 0) one.put(slice({taint(now - 1s)}));
      if (what == 1) one.put(owned());
      if (what == 2) one.put(templated());
    }
    EXPECT_EQ(one.settle(), kEvicted) << order[0] << order[1] << order[2];
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(TaintEviction, NoEviction) {
  struct Case {
    const char* name;
    std::function<void(api::Pod&, api::ResourceClaim&, api::ResourceSlice&)> change;
  };
  using P = api::Pod;
  using C = api::ResourceClaim;
  using S = api::ResourceSlice;
  const Case cases[] = {
      {"not scheduled", [](P& p, C&, S&) { p.node_name = ""; }},
      {"succeeded", [](P& p, C&, S&) { p.phase = "Succeeded"; }},  // upstream deletes it
      {"failed", [](P& p, C&, S&) { p.phase = "Failed"; }},
      {"being deleted", [](P& p, C&, S&) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }},
      {"another device", [](P&, C& c, S&) { c.status.allocation->results[0].device = "dev-1"; }},
      {"a device that does not exist", [](P&, C& c, S&) { c.status.allocation->results[0].device = "dev-9"; }},
      {"another pool", [](P&, C& c, S&) { c.status.allocation->results[0].pool = "node-2"; }},
      {"another driver", [](P&, C& c, S&) { c.status.allocation->results[0].driver = "other"; }},
      {"no claim", [](P& p, C&, S&) { p.resource_claims.clear(); }},
      {"the claim of a template without status",
       [](P& p, C&, S&) {
         p.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
       }},
      {"a claim that is not the pod's own",
       [](P& p, C&, S&) {
         p.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
         p.resource_claim_statuses = {{"gpu", "c"}};
       }},
      {"an extended resource claim of another pod",
       [](P& p, C&, S&) {
         p.resource_claims.clear();
         p.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c", {}};
       }},
      {"not reserved for it", [](P&, C& c, S&) { c.status.reserved_for[0].uid = "another-uid"; }},
      {"not allocated", [](P&, C& c, S&) { c.status = {}; }},
      {"no taint", [](P&, C&, S& s) { s.devices[0].taints.clear(); }},
      {"NoSchedule", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "NoSchedule"; }},
      {"None", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "None"; }},
      {"an effect of the future", [](P&, C&, S& s) { s.devices[0].taints[0].effect = "NoBreathing"; }},
      {"tolerated for ever",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {tolerate(30), tolerate(std::nullopt)};
       }},
      {"everything tolerated",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {{"", "Exists", "", "NoExecute", std::nullopt}};
       }},
      {"tolerated by value",
       [](P&, C& c, S&) {
         c.status.allocation->results[0].tolerations = {{"broken", "", "yes", "NoExecute", std::nullopt}};
       }},
      {"tolerated for longer than clocks go",
       [](P&, C& c, S&) { c.status.allocation->results[0].tolerations = {tolerate(int64_t{1} << 62)}; }},
  };
  for (const Case& c : cases) {
    Cluster one;
    api::Pod p = pod();
    api::ResourceClaim made = claim();
    api::ResourceSlice s = slice({taint(now - 1s)});
    c.change(p, made, s);
    one.put(s);
    one.put(made);
    one.put(p);
    EXPECT_EQ(one.settle(), "") << c.name;
    EXPECT_EQ(one.advance(24h), "") << c.name;
    EXPECT_EQ(one.restart(), "") << c.name;
  }
}

TEST_F(TaintEviction, ANotMatchingTolerationDoesNotHelp) {
  const api::DeviceToleration useless[] = {
      tolerate(std::nullopt, "other"),
      {"broken", "Equal", "no", "NoExecute", std::nullopt},
      {"broken", "Exists", "", "", std::nullopt},  // an empty effect counts when devices are allocated, not here
      {"broken", "Exists", "", "NoSchedule", std::nullopt},
      {"broken", "Matches", "yes", "NoExecute", std::nullopt},
  };
  for (const api::DeviceToleration& toleration : useless) {
    Cluster one;
    one.put(slice({taint(now - 1s)}));
    one.put(claim({toleration}));
    one.put(pod());
    EXPECT_EQ(one.settle(), kEvicted) << toleration.op << " " << toleration.effect;
  }
}

TEST_F(TaintEviction, OneOfTwoTaintsUntolerated) {
  cluster.put(slice({taint(now - 1s), taint(now - 1s, "NoExecute", "hot")}));
  cluster.put(claim({tolerate(std::nullopt)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_NE(cluster.notes[0].find("hot=yes:NoExecute"), std::string::npos);
}

TEST_F(TaintEviction, SeveralTaintsOfOneTimeAreCounted) {
  cluster.put(slice({taint(now), taint(now, "NoExecute", "hot"), taint(now, "NoExecute", "wet")}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
  EXPECT_NE(cluster.notes[0].find("broken=yes:NoExecute (and 2 more)"), std::string::npos) << cluster.notes[0];
}

TEST_F(TaintEviction, LaterByTheLeastOfTheTolerations) {
  cluster.put(slice({taint(now - 10s)}));
  cluster.put(claim({tolerate(60), tolerate(30), tolerate(45)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.notes[0].substr(0, 38), "Will be deleted at " + format_rfc3339(now + 20s).substr(0, 19));
  EXPECT_EQ(cluster.advance(19s), "");
  EXPECT_EQ(cluster.advance(1s), kEvicted);
}

TEST_F(TaintEviction, NegativeSecondsAreNone) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(-5)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, DeadlinesSurviveARestart) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kAnnounced);
  cluster.advance(60s);
  EXPECT_EQ(cluster.restart(), kAnnounced) << "one repeat is allowed";
  EXPECT_EQ(cluster.advance(39s), "");
  EXPECT_EQ(cluster.advance(1s), kEvicted);
}

TEST_F(TaintEviction, ADeadlineThatPassedWhileNobodyWatched) {
  cluster.put(slice({taint(now - 1h)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.restart(), kEvicted);
}

TEST_F(TaintEviction, WhenItIsBound) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  api::Pod p = pod();
  p.node_name = "";
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), "");
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, UnrelatedChangesChangeNothing) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(100)}));
  cluster.put(pod());
  cluster.settle();
  for (int i = 0; i < 5; ++i) {
    api::Pod p = pod();
    p.metadata.labels["n"] = std::to_string(i);
    cluster.put(p);
    api::ResourceClaim c = claim({tolerate(100)});
    c.metadata.labels["n"] = std::to_string(i);
    cluster.put(c);
    EXPECT_EQ(cluster.advance(1s), "") << "the reason is the same: nothing is said";
  }
  EXPECT_EQ(cluster.later.size(), 1u);
}

TEST_F(TaintEviction, AnExtendedResourceClaim) {  // upstream never evicts for these
  api::Pod p = pod();
  p.resource_claims.clear();
  p.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c", {}};
  cluster.put(slice({taint(now)}));
  cluster.put(owned());
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, ResultsWithAdministrativeAccessCountToo) {
  api::ResourceClaim c = claim();
  c.status.allocation->results[0].admin_access = true;
  cluster.put(c);
  cluster.put(pod());
  cluster.put(slice({taint(now)}));
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, TheEarliestOfSeveralClaimsDecides) {
  api::ResourceClaim second = claim({tolerate(10)}, "dev-1");
  second.metadata.name = "d";
  second.metadata.uid = "d-uid";
  api::ResourceSlice s = slice({taint(now)});
  s.devices[1].taints = {taint(now)};
  api::Pod p = pod();
  p.resource_claims.push_back({"more", "d", std::nullopt});
  cluster.put(s);
  cluster.put(claim({tolerate(50)}));
  cluster.put(second);
  cluster.put(p);
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_NE(cluster.notes[0].find("dev-1"), std::string::npos);
  EXPECT_EQ(cluster.advance(10s), kEvicted);
}

TEST_F(TaintEviction, TheWrongPodReplaced) {
  api::Pod other = pod();
  other.metadata.uid = "another-uid";
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(other);
  EXPECT_EQ(cluster.settle(), "");
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

TEST_F(TaintEviction, TheWrongClaimReplaced) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());  // not owned by the pod
  cluster.put(templated());
  EXPECT_EQ(cluster.settle(), "");
  api::ResourceClaim right = owned();
  right.metadata.uid = "right-uid";
  cluster.put(right);
  EXPECT_EQ(cluster.settle(), kEvicted);
}

// ---- called off

class CalledOff : public TaintEviction {
 protected:
  void announce() {
    cluster.put(slice({taint(now)}));
    cluster.put(claim({tolerate(100)}));
    cluster.put(pod());
    ASSERT_EQ(cluster.settle(), kAnnounced);
  }
};

TEST_F(CalledOff, WhenTheTaintGoes) {
  announce();
  cluster.put(slice({}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, WhenTheTaintIsReduced) {
  announce();
  cluster.put(slice({taint(now, "NoSchedule")}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenANewerSliceHasNoTaint) {
  announce();
  cluster.put(slice({}, 2, "slice-2"));
  EXPECT_EQ(cluster.settle(), kCalledOff) << "only the highest generation counts, complete or not";
  cluster.remove_slice("slice-2");
  EXPECT_EQ(cluster.settle(), kAnnounced) << "removal falls back";
}

TEST_F(CalledOff, WhenTheSliceGoes) {
  announce();
  cluster.remove_slice("slice");
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenTheTolerationIsExtended) {
  announce();
  cluster.put(claim({tolerate(std::nullopt)}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenTheClaimIsDeallocatedOrDeleted) {
  announce();
  api::ResourceClaim free = claim();
  free.status = {};
  cluster.put(free);
  EXPECT_EQ(cluster.settle(), kCalledOff);
  cluster.put(claim({tolerate(100)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  cluster.remove_claim("default/c");
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, WhenAnotherDeviceTookThePlaceInOneUpdate) {  // upstream keeps the old decision
  announce();
  cluster.put(claim({tolerate(100)}, "dev-1"));
  EXPECT_EQ(cluster.settle(), kCalledOff);
}

TEST_F(CalledOff, SilentlyWhenThePodGoes) {
  announce();
  api::Pod leaving = pod();
  leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  cluster.put(leaving);
  EXPECT_EQ(cluster.settle(), "");
  cluster.remove_pod("default/p");
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, SilentlyWhenThePodFinishes) {
  announce();
  api::Pod done = pod();
  done.phase = "Succeeded";
  cluster.put(done);
  EXPECT_EQ(cluster.settle(), "");
  EXPECT_EQ(cluster.advance(1h), "");
}

TEST_F(CalledOff, AndEvictedAgainLater) {
  announce();
  cluster.put(slice({}));
  EXPECT_EQ(cluster.settle(), kCalledOff);
  cluster.put(slice({taint(now)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.advance(100s), kEvicted);
}

TEST_F(CalledOff, AChangedTaintMovesTheDeadline) {
  announce();
  cluster.advance(50s);
  cluster.put(slice({taint(now + 50s)}));
  EXPECT_EQ(cluster.settle(), kAnnounced);
  EXPECT_EQ(cluster.advance(60s), "") << "the first deadline is obsolete";
  EXPECT_EQ(cluster.advance(40s), kEvicted);
}

// ---- the server's word, and failures

TEST_F(TaintEviction, WhatIsGoneByTheServersWordIsLeftAlone) {
  cluster.presence = Presence::kAbsent;
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "no event, no metric";
  EXPECT_TRUE(cluster.metrics.empty());
}

TEST_F(TaintEviction, ARefusedDeletionIsRepeatedWithoutEventAndCondition) {
  int failures = 2;
  cluster.refuse = [&failures](const Write& write) { return write.purpose == "evict" && failures-- > 0; };
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "event Marking for deletion, mark-disruption p, refused evict, refused evict, evict p");
  EXPECT_EQ(cluster.metrics.size(), 2u) << "counted once";
}

TEST_F(TaintEviction, ACrashBetweenConditionAndDeletion) {
  cluster.refuse = [](const Write& write) { return write.purpose == "evict"; };
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  api::Pod marked = pod();
  marked.conditions.push_back({"DisruptionTarget", "True", "DeletionByDeviceTaintManager", ""});
  cluster.refuse = nullptr;
  cluster.put(marked);
  EXPECT_EQ(cluster.restart(), "event Marking for deletion, evict p");
}

TEST_F(TaintEviction, ATaintWithoutATime) {
  api::DeviceTaint timeless = taint(now);
  timeless.time_added = "";
  cluster.put(slice({timeless}));
  cluster.put(claim({tolerate(10)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "nothing to count from";
  EXPECT_EQ(cluster.advance(1h), "");
  cluster.put(claim());
  EXPECT_EQ(cluster.settle(), kEvicted);
}

// ---- beside kube-controller-manager's own

class BackUp : public TaintEviction {
 protected:
  BackUp() : TaintEviction(Options{30s, {}}) {}
};

TEST_F(BackUp, ActsOnlyOnWhatWasLeft) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim({tolerate(10)}));
  cluster.put(pod());
  EXPECT_EQ(cluster.settle(), "") << "announcing is the other one's";
  EXPECT_EQ(cluster.advance(39s), "");
  EXPECT_EQ(cluster.advance(1s), kEvicted);
}

TEST_F(BackUp, SaysNothingWhenTheOtherOneDidIt) {
  cluster.put(slice({taint(now)}));
  cluster.put(claim());
  cluster.put(pod());
  EXPECT_EQ(cluster.advance(1s), "");
  api::Pod evicted = pod();
  evicted.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  cluster.put(evicted);
  EXPECT_EQ(cluster.advance(1h), "");
  cluster.remove_pod("default/p");
  EXPECT_EQ(cluster.advance(1h), "");
}

// ---- a property

// After any sequence of changes, what the keys that were triggered left behind is what a process that starts now and
// looks at everything would decide: no change of an object is missed.
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

}  // namespace dra::tainteviction::tainteviction_test
