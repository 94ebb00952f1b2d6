// What `kubectl dra whatif` says is what then happens: random pods and ReplicaSets, a random change, the answer, the
// change itself. Afterwards as many pods of each are on nodes as the answer said, in gate mode and in bind mode, on the
// embedded server and on a real control plane.
//
// Which of several pods of one ReplicaSet gets the devices does not matter: they ask for the same at the same age.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "pkg/inspect/verbs/whatif.h"
#include "test/integration/cluster.h"

namespace dra::integration::whatif_test {

using namespace std::chrono_literals;
using inspect::Change;
using Counts = std::map<std::string, int>;  // of pods on nodes, by ReplicaSet or by the pod's own name

constexpr size_t kNodes = 3, kDevices = 4;
constexpr int kForever = 1'000'000;  // seconds

// A ReplicaSet's name, or the pod's own.
std::string workload_of(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner != nullptr ? owner->name : pod.metadata.name;
}

// As kubectl-dra reads them.
inspect::Objects objects_of(Cluster& cluster) {
  inspect::Objects objects;
  objects.taken = cluster.plane().clock().wall_now();
  objects.server_version = "v1.36.2";
  objects.dra_versions = {"v1", "v1beta2"};
  objects.taint_rules_served = true;
  for (const inspect::KindToRead& kind : inspect::kinds_to_read()) {
    const std::string version = kind.plural == "devicetaintrules" ? "v1beta2" : "v1";
    const std::string group = kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/";
    const Answer answer = cluster.api().call("GET", group + version + "/" + std::string(kind.plural));
    if (!answer.ok()) continue;
    const auto added = inspect::add_page(objects, kind.plural, answer.body);
    EXPECT_TRUE(added) << kind.plural << ": " << (added ? "" : added.error().message());
  }
  return objects;
}

class Situation {
 public:
  Situation(bool gate, bool real, uint64_t seed) : gate_(gate), random_(seed), cluster_(options_of(seed, real)) {
    ProcessOptions process;
    process.manager = Cluster::manager_options();
    if (!gate) {
      process.manager.settings.scheduling = reconcile::Scheduling::kBind;
      process.manager.settings.scheduler_names = {"dra"};
    }
    cluster_.start("m1", process);
    for (int count = 1; count <= 4; ++count)
      api().create(claim_template("take-" + std::to_string(count), "gpu", count));
  }

  // What differs from the answer; empty: nothing. `said` counts the fates.
  std::string play(std::map<std::string, size_t>& said) {
    fill();
    if (!settle()) return "it does not settle: " + state();
    inspect::Objects objects = objects_of(cluster_);
    const Change change = choose(objects);
    if (one_in(4)) change_a_template();
    for (const inspect::OwnerToRead& owner : inspect::owners_of_change(objects, change, "default"))
      if (auto added = inspect::add_owner(objects, owner, read(owner)); !added) return added.error().message();
    const auto fates = inspect::whatif(objects, change, {}, "default");
    if (!fates) return fates.error().message();
    Counts predicted = on_nodes();
    const Counts before = predicted;
    for (const inspect::PodFate& fate : *fates) {
      ++said[std::string(inspect::fate_name(fate.fate))];
      predicted[workload_of_fate(objects, fate)] += int{!fate.after.empty()} - int{!fate.before.empty()};
    }
    const std::string was = state();
    act(change);
    if (!settle()) return "it does not settle after the change: " + state();
    // The claims of a pod that waits at the gate are published half a minute after it came (controllers/claimtemplate).
    std::string wrong;
    const auto right = [&] { return (wrong = cluster_.verdict(may_wait())).empty(); };
    if (!cluster_.eventually(right, 40s, 5s)) return wrong;
    Counts after = on_nodes();
    std::erase_if(predicted, [](const auto& one) { return one.second == 0; });
    std::erase_if(after, [](const auto& one) { return one.second == 0; });
    if (predicted == after) return "";
    return shown(change) + "\nbefore " + shown(before) + "predicted " + shown(predicted) + "then " + shown(after) +
           shown(*fates) + was + state();
  }

 private:
  static ClusterOptions options_of(uint64_t seed, bool real) {
    ClusterOptions options;
    options.embedded = !real;
    options.seed = seed;
    options.nodes = kNodes;
    options.devices = kDevices;
    options.components.scheduler_allocates = false;
    return options;
  }
  Api& api() { return cluster_.api(); }
  bool one_in(uint64_t n) { return random_.below(n) == 0; }
  size_t up_to(size_t n) { return 1 + static_cast<size_t>(random_.below(n)); }

  // A pod that asks for so many devices of one node. Some have node affinity of their own, which every node matches.
  Json pod_of(const std::string& name, size_t devices) {
    PodOptions options;
    options.gated = gate_;
    options.run_seconds = kForever;
    if (!gate_) options.scheduler = "dra";
    Json made = pod(name, {from_template("gpu", "take-" + std::to_string(devices))}, options);
    if (!one_in(3)) return made;
    const Json either{{"key", "kubernetes.io/hostname"}, {"operator", "Exists"}};
    const Json other{{"key", "kubernetes.io/hostname"}, {"operator", "NotIn"}, {"values", {"elsewhere"}}};
    made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
        Json::array(
            {Json{{"matchExpressions", Json::array({either})}}, Json{{"matchExpressions", Json::array({other})}}});
    return made;
  }

  void fill() {
    for (size_t i = 0, pods = up_to(4); i < pods; ++i) {
      api().create(pod_of("bare" + std::to_string(i), up_to(4)));
      cluster_.pass(1100ms);  // ages are whole seconds, and the older pod comes first
    }
    for (size_t i = 0, sets = up_to(3); i < sets; ++i) {
      const std::string name = "set" + std::to_string(i);
      const Json model = pod_of("x", up_to(3));
      replicas_[name] = static_cast<int>(up_to(3));
      api().create({{"apiVersion", "apps/v1"},
                    {"kind", "ReplicaSet"},
                    {"metadata", {{"name", name}, {"namespace", "default"}}},
                    {"spec",
                     {{"replicas", replicas_[name]},
                      {"selector", {{"matchLabels", {{"app", name}}}}},
                      {"template",
                       {{"metadata", {{"labels", {{"app", name}}}, {"annotations", model["metadata"]["annotations"]}}},
                        {"spec", model["spec"]}}}}}});
      cluster_.pass(2100ms);
    }
  }

  // The next pods of a set ask for another number of devices; those that exist stay as they are.
  void change_a_template() {
    const std::string name = replicas_.begin()->first;
    const Json claims =
        Json::array({Json{{"name", "gpu"}, {"resourceClaimTemplateName", "take-" + std::to_string(up_to(4))}}});
    api().merge(Api::path("ReplicaSet", name), {{"spec", {{"template", {{"spec", {{"resourceClaims", claims}}}}}}}});
  }

  std::string read(const inspect::OwnerToRead& owner) {
    return api().get(Api::path(owner.owner.kind, owner.owner.name)).dump();
  }

  Change choose(const inspect::Objects& objects) {
    const std::string node = node_name(random_.below(kNodes));
    std::vector<std::string> pods;
    for (const auto& [key, pod] : objects.pods) pods.push_back(pod->metadata.name);
    Change change;
    change.target = node;
    switch (random_.below(7)) {
      case 0:
      case 1:
        change.kind = Change::Kind::kDrain;
        return change;
      case 2:
        change.kind = Change::Kind::kCordon;
        return change;
      case 3:
        change.kind = Change::Kind::kTaint;
        change.taint = {"example.com/broken", "yes", one_in(3) ? "NoSchedule" : "NoExecute", ""};
        // Several pods that leave devices behind which others may have would be a race: one device, or all of a node.
        if (one_in(2)) change.target += "/gpu-" + std::to_string(random_.below(kDevices));
        return change;
      case 4:
        change.kind = Change::Kind::kScale;
        change.target = pick_set();
        // One pod fewer at most, for the same reason.
        change.count = static_cast<uint32_t>(replicas_[change.target] + (one_in(2) ? -1 : static_cast<int>(up_to(2))));
        change.target = "replicaset/" + change.target;
        return change;
      case 5:
        change.kind = Change::Kind::kAddNode;
        change.count = static_cast<uint32_t>(up_to(2));
        return change;
      default:
        change.kind = Change::Kind::kDelete;
        change.target = "pod/" + pods[random_.below(pods.size())];
        return change;
    }
  }
  std::string pick_set() {
    auto at = replicas_.begin();
    std::advance(at, static_cast<long>(random_.below(replicas_.size())));
    return at->first;
  }

  void act(const Change& change) {
    const std::string node = change.target.substr(0, change.target.find('/'));
    const std::string named = change.target.substr(change.target.find('/') + 1);
    switch (change.kind) {
      case Change::Kind::kDrain:
      case Change::Kind::kCordon:
        api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
        cluster_.pass(1s);
        if (change.kind == Change::Kind::kDrain)
          remove_each([&](const api::Pod& pod) { return pod.node_name == node; });
        return;
      case Change::Kind::kTaint:
        return taint(node, node == change.target ? "" : named, change.taint.effect);
      case Change::Kind::kScale:
        api().merge(Api::path("ReplicaSet", named), {{"spec", {{"replicas", change.count}}}});
        return;
      case Change::Kind::kAddNode:
        for (size_t i = 0; i < change.count; ++i) {
          const std::string name = "new" + std::to_string(i);
          api().create(slice(name, kDevices));
          api().create(integration::node(name));
        }
        return;
      case Change::Kind::kDelete:
        return api().remove(Api::path("Pod", named));
    }
  }

  // The taint, by a rule or, from a server that does not serve rules, by the driver; and what kube-controller-manager
  // does if it evicts.
  void taint(const std::string& node, const std::string& device, const std::string& effect) {
    Json taint{{"key", "example.com/broken"}, {"value", "yes"}, {"effect", effect}};
    if (api().exists(Api::path("DeviceTaintRule"))) {
      Json selector{{"driver", kDriver}, {"pool", node}};
      if (!device.empty()) selector["device"] = device;
      api().create({{"apiVersion", "resource.k8s.io/v1beta2"},
                    {"kind", "DeviceTaintRule"},
                    {"metadata", {{"name", "broken"}}},
                    {"spec", {{"deviceSelector", selector}, {"taint", taint}}}});
    } else {
      Json published = slice(node, kDevices)["spec"];
      published["pool"]["generation"] = 2;
      for (Json& one : published["devices"])
        if (device.empty() || one["name"] == device) one["taints"] = Json::array({taint});
      api().merge(Api::path("ResourceSlice", slice(node, kDevices)["metadata"]["name"]), {{"spec", published}});
    }
    cluster_.pass(1s);
    if (effect != "NoExecute") return;
    std::set<std::string> uids;
    for (const auto& claim : cluster_.watchdog().all_claims()) {
      if (!claim->status.allocation) continue;
      for (const auto& result : claim->status.allocation->results)
        if (result.pool == node && (device.empty() || result.device == device))
          for (const auto& consumer : claim->status.reserved_for) uids.insert(consumer.uid);
    }
    remove_each([&](const api::Pod& pod) { return uids.contains(pod.metadata.uid); });
  }

  // One after the other, in the order of names: what one leaves behind is taken before the next leaves.
  void remove_each(const std::function<bool(const api::Pod&)>& goes) {
    std::vector<std::string> names;
    for (const auto& [key, pod] : pods())
      if (goes(pod)) names.push_back(pod.metadata.name);
    for (const std::string& name : names) {
      api().remove(Api::path("Pod", name));
      settle();
    }
  }

  std::map<std::string, api::Pod> pods() {
    const inspect::Objects objects = [&] {
      inspect::Objects read;
      const Answer answer = api().call("GET", "/api/v1/pods");
      EXPECT_TRUE(answer.ok() && inspect::add_page(read, "pods", answer.body));
      return read;
    }();
    std::map<std::string, api::Pod> found;
    for (const auto& [key, pod] : objects.pods) found.emplace(key, *pod);
    return found;
  }

  std::string state() {
    std::string text;
    for (const auto& [key, pod] : pods())
      text += key + " " + pod.phase + " " + pod.node_name + (pod.metadata.deleting() ? " deleting" : "") +
              (pod.scheduling_gates.empty() ? "" : " gated") + "\n";
    return text;
  }
  // Nothing changes for three seconds, no pod is being deleted, and those on nodes run.
  bool settle() {
    std::string seen;
    for (int second = 0, same = 0; second < 120; ++second) {
      cluster_.pass(1s);
      bool busy = false;
      for (const auto& [key, pod] : pods())
        busy = busy || pod.metadata.deleting() || (!pod.node_name.empty() && pod.phase != "Running");
      std::string now = state();
      same = !busy && now == seen ? same + 1 : 0;
      seen = std::move(now);
      if (same == 3) return true;
    }
    return false;
  }

  Counts on_nodes() {
    Counts counts;
    for (const auto& [key, pod] : pods())
      if (!pod.node_name.empty()) ++counts[workload_of(pod)];
    return counts;
  }
  VerdictOptions may_wait() {
    VerdictOptions options;
    for (const auto& [key, pod] : pods())
      if (pod.node_name.empty()) options.may_wait.insert(key);
    return options;
  }
  // New pods of `scale` are called "<set>-new-<number>".
  static std::string workload_of_fate(const inspect::Objects& objects, const inspect::PodFate& fate) {
    const auto known = objects.pods.find(fate.pod);
    if (known != objects.pods.end()) return workload_of(*known->second);
    const std::string name = fate.pod.substr(fate.pod.find('/') + 1);
    return name.substr(0, name.find("-new-"));
  }

  static std::string shown(const Change& change) {
    return "change " + std::to_string(static_cast<int>(change.kind)) + " " + change.target + " " + change.taint.effect +
           " " + std::to_string(change.count);
  }
  static std::string shown(const Counts& counts) {
    std::string text;
    for (const auto& [name, count] : counts) text += name + "=" + std::to_string(count) + " ";
    return text + "\n";
  }
  static std::string shown(const std::vector<inspect::PodFate>& fates) {
    std::string text;
    for (const inspect::PodFate& fate : fates)
      text += fate.pod + " " + std::string(inspect::fate_name(fate.fate)) + " " + fate.before + ">" + fate.after + " " +
              fate.why + "\n";
    return text;
  }

  const bool gate_;
  SeededRandom random_;
  Cluster cluster_;
  std::map<std::string, int> replicas_;  // by set
};

struct Mode {
  bool gate, real;
};

class WhatIf : public testing::TestWithParam<Mode> {};

TEST_P(WhatIf, SaysWhatThenHappens) {
  const Mode mode = GetParam();
  if (mode.real && real_programs().empty()) GTEST_SKIP() << "KUBEBUILDER_ASSETS names no real control plane";
  std::map<std::string, size_t> said;
  size_t wrong = 0, played = 0;
  for (const uint64_t seed : mode.real ? seeds("DRA_WHATIF_REAL_SEEDS", 20) : seeds("DRA_WHATIF_SEEDS", 200)) {
    const std::string differs = Situation(mode.gate, mode.real, seed).play(said);
    ++played;
    wrong += !differs.empty();
    EXPECT_EQ(differs, "") << "DRA_SEED=" << seed;
    if (wrong > 5) break;
  }
  std::string text;
  for (const auto& [fate, count] : said) text += "; " + std::to_string(count) + " " + fate;
  std::printf("%zu situations, %zu wrong%s\n", played, wrong, text.c_str());
}

std::string mode_name(const testing::TestParamInfo<Mode>& info) {
  return info.param.gate ? "Gate" : "Bind";
}
INSTANTIATE_TEST_SUITE_P(Embedded, WhatIf, testing::Values(Mode{true, false}, Mode{false, false}), mode_name);
INSTANTIATE_TEST_SUITE_P(Real, WhatIf, testing::Values(Mode{true, true}, Mode{false, true}), mode_name);

}  // namespace dra::integration::whatif_test
