// Whatever the store contains, every key comes to rest: few attempts at first, hardly any later, and no write and no
// event once nothing changes any more; every pod that still waits has got an event that says why.
//
// DRA_IMPOSSIBLE_SEEDS=N tries N worlds per test instead of 4, DRA_SEED=S begins with seed S: a failure names its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "pkg/apiserver/server.h"
#include "test/impossible/generator.h"
#include "test/integration/cluster.h"

namespace dra::impossible::states_test {

using namespace std::chrono_literals;

// The bound on attempts without a change: no key makes more than 12 attempts in the first 10 s; after 2 minutes, no key
// makes two within 8 s.
constexpr size_t kMostAtFirst = 12;
constexpr size_t kGroups = 8;

class World {
 public:
  explicit World(uint64_t seed) : random_(seed * 104729 + 7), generator_(random_), cluster_(options(seed)) {
    apiserver::Store& store = cluster_.embedded().server().store();
    for (Document& document : generator_.shared()) store.put(document.table, document.key, std::move(document.body));
    for (size_t i = 0; i < kGroups; ++i) {
      const std::string ns = "ns" + std::to_string(i);
      cluster_.api().create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}});
      for (Document& document : generator_.group(ns)) spoil(ns, document);
    }
    for (const char* table : {"/pods", "resource.k8s.io/resourceclaims"})
      store.listen(table, [this](const apiserver::ChangePtr& change) {
        ++changes_[change->key.substr(0, change->key.find('/'))];
        ++all_changes_;
      });
    for (const char* table : {"/events", "events.k8s.io/events"})
      store.listen(table, [this](const apiserver::ChangePtr& change) { events_.push_back(change->object->text()); });
    integration::ProcessOptions process;
    process.manager = integration::Cluster::manager_options();
    process.manager.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
    if (seed % 2 == 0) {
      process.manager.settings.scheduling = reconcile::Scheduling::kBind;
      process.manager.settings.scheduler_names = {"default-scheduler", "ours"};
    }
    process.manager.on_reconcile = [this](std::string_view controller, const std::string& key) {
      passes_[std::string(controller) + " " + key].push_back(now());
    };
    cluster_.start("m1", std::move(process));
    began_ = now();
  }

  MonoTime now() { return cluster_.plane().clock().mono_now(); }
  integration::Cluster& cluster() { return cluster_; }
  Random& random() { return random_; }
  size_t changes() const { return all_changes_; }
  // The events from the n-th on.
  std::string events_from(size_t n) const {
    std::string text;
    for (size_t i = n; i < events_.size(); ++i) text += events_[i] + "\n";
    return text;
  }
  size_t events() const { return events_.size(); }

  // Keys with more attempts in the first 10 s than allowed, beyond one for each change in their namespace.
  std::string hot_at_first() {
    std::string hot;
    for (const auto& [key, times] : passes_) {
      const size_t slash = key.find('/'), colon = key.find(':');
      const std::string ns = key.substr(colon + 1, slash - colon - 1);
      const auto early = std::count_if(times.begin(), times.end(), [&](MonoTime t) { return t - began_ <= 10s; });
      if (static_cast<size_t>(early) > kMostAtFirst + changes_[ns])
        hot += key + ": " + std::to_string(early) + " attempts, " + std::to_string(changes_[ns]) + " changes\n";
    }
    return hot;
  }
  // Keys with two attempts within 8 s after `since`: a write that is refused for good is retried every 8 s, and nothing
  // is tried more often.
  std::string hot_after(MonoTime since) {
    std::string hot;
    for (const auto& [key, times] : passes_)
      for (size_t i = 1; i < times.size(); ++i)
        if (times[i - 1] >= since && times[i] - times[i - 1] < 8s) {
          hot += key + ": twice within " +
                 std::to_string(std::chrono::duration<double>(times[i] - times[i - 1]).count()) + " s\n";
          break;
        }
    return hot;
  }
  // Pods that only our gate holds back and that have no event.
  std::string left_in_the_dark() {
    std::set<std::string> notified;
    for (const char* table : {"/events", "events.k8s.io/events"})
      for (const auto& [key, object] : cluster_.embedded().server().store().objects(table)) {
        const Json event = *object->document();
        const char* field = event.contains("regarding") ? "regarding" : "involvedObject";
        notified.insert(event[field].value("namespace", "") + "/" + event[field].value("name", ""));
      }
    std::string silent;
    for (const auto& [key, object] : cluster_.embedded().server().store().objects("/pods")) {
      const Json pod = *object->document();
      const Json gates = pod["spec"].value("schedulingGates", Json::array());
      const std::string phase = pod.contains("status") ? pod["status"].value("phase", "") : "";
      const bool held = gates.size() == 1 && gates[0]["name"] == integration::kGate &&
                        !pod["metadata"].contains("deletionTimestamp") && !pod["spec"].contains("nodeName") &&
                        phase != "Succeeded" && phase != "Failed";
      if (!held || notified.contains(key)) continue;
      silent += key + ": " + pod["spec"].value("resourceClaims", Json()).dump() + " " +
                pod["status"].value("resourceClaimStatuses", Json()).dump() + "\n";
      const std::string ns = key.substr(0, key.find('/') + 1);
      for (const auto& [claim, stored] : cluster_.embedded().server().store().objects("resource.k8s.io/resourceclaims"))
        if (claim.rfind(ns, 0) == 0) silent += "  " + claim + " " + stored->text() + "\n";
    }
    return silent;
  }

 private:
  // Creates a valid object with this name and then changes it in the store.
  void spoil(const std::string& ns, const Document& document) {
    const std::string name = document.key.substr(document.key.find('/') + 1);
    Json valid = integration::claim(name);
    if (document.table == "/pods") valid = integration::pod(name, {});
    if (document.table == "resource.k8s.io/resourceclaimtemplates") valid = integration::claim_template(name);
    valid["metadata"]["namespace"] = ns;
    cluster_.api().create(valid);
    apiserver::Store& store = cluster_.embedded().server().store();
    Json stored = *store.get(document.table, document.key)->document();
    stored.merge_patch(document.body);
    store.put(document.table, document.key, std::move(stored));
  }
  static integration::ClusterOptions options(uint64_t seed) {
    integration::ClusterOptions made;
    made.nodes = 2;
    made.devices = 3;
    made.seed = seed;
    made.embedded = true;
    made.components.kubelets = false;
    made.components.scheduler = false;
    return made;
  }

  SeededRandom random_;
  Generator generator_;
  std::map<std::string, size_t> changes_;  // by namespace
  size_t all_changes_ = 0;
  std::vector<std::string> events_;
  std::map<std::string, std::vector<MonoTime>> passes_;
  MonoTime began_{};
  integration::Cluster cluster_;
};

TEST(ImpossibleStates, EveryKeyComesToRestAndEveryWaiterIsTold) {
  for (const uint64_t seed : integration::seeds("DRA_IMPOSSIBLE_SEEDS", 4)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.cluster().pass(10s);
    EXPECT_EQ(world.hot_at_first(), "");
    world.cluster().pass(110s);
    const size_t changes = world.changes(), events = world.events();
    const MonoTime since = world.now();
    world.cluster().pass(6min);  // longer than the retry interval of parked pods
    EXPECT_EQ(world.hot_after(since), "");
    EXPECT_EQ(world.changes(), changes) << "writes although nothing changes";
    EXPECT_EQ(world.events_from(events), "") << "events although nothing changes";
    EXPECT_EQ(world.left_in_the_dark(), "");
    if (testing::Test::HasFailure()) return;
  }
}

// The same while a user deletes objects at any moment without grace period.
TEST(ImpossibleStates, DeletedAtAnyMoment) {
  for (const uint64_t seed : integration::seeds("DRA_IMPOSSIBLE_SEEDS", 4)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(1000 + seed);
    Random& random = world.random();
    for (int i = 0; i < 40; ++i) {
      const bool pod = random.below(2) == 0;
      const std::string ns = "ns" + std::to_string(random.below(kGroups));
      const std::string name = (pod ? "p" : "c") + std::to_string(random.below(3));
      world.cluster().api().call(
          "DELETE", integration::Api::path(pod ? "Pod" : "ResourceClaim", name, ns) + "?gracePeriodSeconds=0");
      world.cluster().pass(Duration(static_cast<Duration::rep>(random.below(400'000'000))));
    }
    world.cluster().pass(2min);
    const size_t changes = world.changes(), events = world.events();
    const MonoTime since = world.now();
    world.cluster().pass(6min);
    EXPECT_EQ(world.hot_after(since), "");
    EXPECT_EQ(world.changes(), changes) << "writes although nothing changes";
    EXPECT_EQ(world.events_from(events), "") << "events although nothing changes";
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace dra::impossible::states_test
