#include <nlohmann/json.hpp>

#include "pkg/protocol/keep.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/promise.h"
#include "pkg/protocol/proof.h"
#include "test/integration/feature_scenarios.h"
#include "test/integration/group_claim_scenarios.h"
#include "test/integration/groups.h"
#include "test/integration/moving.h"
#include "test/integration/preempting.h"
#include "test/integration/scenario.h"

namespace dra::integration {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> names(const std::string& prefix, int count) {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(prefix + std::to_string(i));
  return list;
}

std::vector<std::string> together(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::set<std::string> keys_of(const std::vector<std::string>& pods) {
  std::set<std::string> keys;
  for (const std::string& name : pods) keys.insert("default/" + name);
  return keys;
}

// An allocation as another program would leave it: finalizer, allocation, and the reservation of a pod.
void allocate_foreign(Api& api, const std::string& claim, const std::string& node, const std::string& device,
                      const Json& consumer) {
  const std::string path = Api::path("ResourceClaim", claim);
  api.merge(path, {{"metadata", {{"finalizers", {"resource.kubernetes.io/delete-protection"}}}}});
  api.merge(path + "/status?fieldManager=rival", {{"status",
                                                   {{"allocation", allocation(node, {device}, "2023-11-14T22:13:20Z")},
                                                    {"reservedFor", {pod_reference(consumer)}}}}});
}

// Generated and shared claims, pods with two claims, a finished pod, pods that must wait for devices; then
// deletions.
void play_templates(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.api().create(claim("shared"));
  s.begin();
  const auto single = names("t", 8), doubles = names("d", 2), sharing = names("s", 2), waiting = names("w", 4);
  for (const auto& name : sharing) s.api().create(pod(name, {from_claim("gpu", "shared")}));
  for (const auto& name : single) s.api().create(pod(name, {from_template("gpu", "one-gpu")}));
  for (const auto& name : doubles)
    s.api().create(pod(name, {from_template("a", "one-gpu"), from_template("b", "one-gpu")}));
  PodOptions job;
  job.restart_policy = "Never";
  s.api().create(pod("job", {from_template("gpu", "one-gpu")}, job));
  s.await("the first pods bound", [&] { return s.all_bound(together({single, doubles, sharing, {"job"}})); });
  // 13 of 16 devices are taken, or 14 while the job runs: one of these waits.
  for (const auto& name : waiting) s.api().create(pod(name, {from_template("gpu", "one-gpu")}));
  s.await("as many pods bound as there are devices", [&] { return s.watchdog().held_devices() == 16; });
  for (const char* name : {"t0", "t1", "s0"}) s.api().remove(Api::path("Pod", name));
  s.await("waiting pods bound when devices are free", [&] { return s.all_bound(waiting); });
  s.await("the shared claim pruned", [&] {
    const auto shared = s.watchdog().claim("default/shared");
    return shared && shared->status.reserved_for.size() == 1;
  });
  // Its pod stays, like a Job's, so no garbage collector deletes it.
  s.await("the claim of the finished pod deleted", [&] {
    const auto finished = s.watchdog().pod("default/job");
    return finished && finished->done() && s.watchdog().claims() == 15;
  });
  s.check();
  s.end(together({single, doubles, sharing, waiting, {"job"}}), {"default/shared"});
}

// Pods that we bind ourselves, and pods that others bound.
void play_bind(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.begin();
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  PodOptions elsewhere;
  elsewhere.gated = false;
  elsewhere.node = "n1";
  const auto bind = names("b", 6), bare = names("x", 3);
  for (const auto& name : bare) s.api().create(pod(name, {from_template("gpu", "one-gpu")}, elsewhere));
  s.await("devices for the pods of others", [&] { return s.watchdog().held_devices() == bare.size(); });
  for (const auto& name : bind) s.api().create(pod(name, {from_template("gpu", "one-gpu")}, ours));
  s.await("our pods bound", [&] { return s.all_bound(bind); });
  s.await("pods of others reserved", [&] {
    return std::all_of(bare.begin(), bare.end(), [&](const std::string& name) {
      const auto known = s.watchdog().pod("default/" + name);
      return known && known->phase == "Running";
    });
  });
  s.check();
  s.end(together({bind, bare}));
}

// Others allocate the devices that we are about to choose, while our view of claims is old.
void play_rivals(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.delay_claims(400ms);
  s.begin();
  s.cluster().pass(2s);
  std::vector<std::string> foreign;
  PodOptions running;
  running.gated = false;
  running.node = "n0";
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    foreign.push_back("f" + number);
    s.api().create(claim("foreign" + number));
    const Json consumer = s.api().create(pod(foreign.back(), {from_claim("gpu", "foreign" + number)}, running));
    s.cluster().pass(1s);
    // The rival takes the first free device of the latest state; we take that of an older state.
    size_t free = 0;
    while (s.watchdog().is_held(std::string(kDriver) + "/n0/gpu-" + std::to_string(free))) ++free;
    allocate_foreign(s.api(), "foreign" + number, "n0", "gpu-" + std::to_string(free), consumer);
    for (int j = 0; j < 2; ++j) s.api().create(pod("v" + std::to_string(2 * i + j), {from_template("gpu", "one-gpu")}));
    s.cluster().pass(1s);
  }
  s.await("our pods bound beside the rival", [&] { return s.all_bound(names("v", 6)); });
  s.check();
  s.end(together({names("v", 6), foreign}), {"default/foreign0", "default/foreign1", "default/foreign2"});
}

// A named claim keeps its device from one pod to the next, and after that until the time is over.
void play_keep(Stage& s) {
  Json kept = claim("kept");
  kept["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", "20s"}};
  s.api().create(kept);
  s.begin();
  for (const char* name : {"k0", "k1"}) {
    s.api().create(pod(name, {from_claim("gpu", "kept")}));
    s.await("the pod bound", [&] { return s.bound(name); });
    s.check();
    s.api().remove(Api::path("Pod", name));
    s.await("the device kept without a pod", [&] {
      const auto claim = s.watchdog().claim("default/kept");
      return claim && (protocol::is_only_kept(*claim) || !claim->status.allocation) &&
             !s.watchdog().pod("default/" + std::string(name));
    });
  }
  s.end({}, {"default/kept"});
}

// The next pod of a controller takes over what its earlier pod has left; where the manager dies in between it may get
// another device.
void play_keep_next(Stage& s) {
  Json kept = claim_template("kept");
  kept["spec"]["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", "20s"}};
  s.api().create(kept);
  const Json owner = s.api().create(claim_template("owner"));  // nobody acts on it
  s.begin();
  for (const std::string name : {"k0", "k1"}) {
    Json made = pod(name, {from_template("gpu", "kept")});
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "resource.k8s.io/v1"},
                                            {"kind", "ResourceClaimTemplate"},
                                            {"name", "owner"},
                                            {"uid", owner["metadata"]["uid"]},
                                            {"controller", true}}};
    s.api().create(made);
    s.await("the pod bound", [&] { return s.bound(name); });
    s.check();
    s.api().remove(Api::path("Pod", name));
    s.await("the pod gone", [&] { return !s.watchdog().pod("default/" + name); });
  }
  s.end({});
}

// A pod bound by another is deleted between the allocation of its claim and the reservation.
void play_unused(Stage& s) {
  s.delay_claims(2s);
  s.begin();
  s.cluster().pass(3s);
  PodOptions elsewhere;
  elsewhere.gated = false;
  elsewhere.node = "n1";
  s.api().create(claim("lonely"));
  s.api().create(pod("u0", {from_claim("gpu", "lonely")}, elsewhere));
  s.await("the claim allocated", [&] { return s.watchdog().held_devices() == 1; });
  s.api().remove_now(Api::path("Pod", "u0"));
  s.cluster().plane().pass(75s);  // also in real time: the grace period of an unused allocation is a minute
  s.end({}, {"default/lonely"});
}

void play_election(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.begin();
  const auto pods = names("e", 6);
  for (const auto& name : pods) {
    s.api().create(pod(name, {from_template("gpu", "one-gpu")}));
    s.cluster().pass(1500ms);
  }
  s.await("pods bound", [&] { return s.all_bound(pods); });
  s.check();
  s.end(pods);
}

// Before an uninstall: pods that cannot get devices lose their gate.
void play_release(Stage& s) {
  s.api().create(claim_template("two-gpus", "gpu", 2));
  s.begin();
  const auto pods = names("r", 11);  // 8 fit
  for (const auto& name : pods) s.api().create(pod(name, {from_template("gpu", "two-gpus")}));
  s.await("the first pods bound", [&] { return s.watchdog().bound_pods() == 8; });
  s.restart_with([](ProcessOptions& process) { process.manager.settings.release_gates = true; });
  VerdictOptions waiting;
  for (const auto& name : pods)
    if (!s.bound(name)) waiting.may_wait.insert("default/" + name);
  s.await("no gate left", [&] {
    return std::all_of(pods.begin(), pods.end(), [&](const std::string& name) {
      const auto known = s.watchdog().pod("default/" + name);
      return known && known->scheduling_gates.empty();
    });
  });
  s.check(waiting);
  s.end(pods);
}

// A device gets a NoExecute taint: its pod is evicted, and its replacement, as by a Deployment, gets another device.
void play_eviction(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.begin();
  const auto pods = names("k", 6);
  for (const auto& name : pods) s.api().create(pod(name, {from_template("gpu", "one-gpu")}));
  s.await("pods bound", [&] { return s.all_bound(pods); });
  Json tainted = s.api().get(Api::path("ResourceSlice", std::string("n0-") + kDriver));
  Json devices = tainted["spec"]["devices"];
  devices[0]["taints"] = {{{"key", "example.com/broken"}, {"value", "yes"}, {"effect", "NoExecute"}}};
  devices[2]["taints"] = devices[0]["taints"];
  s.api().merge(Api::path("ResourceSlice", std::string("n0-") + kDriver), {{"spec", {{"devices", devices}}}});
  s.await("the pods of tainted devices evicted", [&] { return s.watchdog().pods() == 4; });
  s.check();
  s.end(pods);
}

// A pod's reasons to wait change and come back: the events about it become a series.
void play_reasons(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  const std::string path = Api::path("Node", "n0");
  const Json cordoned{{"spec", {{"unschedulable", true}, {"taints", nullptr}}}};
  const Json tainted{
      {"spec", {{"unschedulable", nullptr}, {"taints", {{{"key", "a"}, {"value", "b"}, {"effect", "NoSchedule"}}}}}}};
  s.api().merge(path, cordoned);
  s.begin();
  const Json held = s.api().create(pod("p", {from_template("gpu", "one-gpu")}));
  s.cluster().pass(2s);
  // A tenant forges the announcement that the pod leaves its claim at a future version.
  const auto waiting = s.watchdog().claim(
      "default/" + protocol::generated_claim_name("p", "gpu", held["metadata"]["uid"].get<std::string>()));
  if (waiting)
    s.api().merge(
        Api::path("Pod", "p"),
        {{"metadata",
          {{"annotations", {{std::string(protocol::kLeavingAnnotation), waiting->metadata.uid + "@99999999999"}}}}}});
  s.cluster().pass(35s);  // long enough for a condition
  for (const Json& change : {tainted, cordoned, tainted}) {
    s.api().merge(path, change);
    s.cluster().pass(2s);
  }
  s.api().merge(path, {{"spec", {{"unschedulable", nullptr}, {"taints", nullptr}}}});
  s.await("the pod bound", [&] { return s.bound("p"); });
  s.check();
  s.end({"p"});
}

// The node of a shared claim is cordoned after its second consumer was reserved and before that consumer is ungated.
void play_moves(Stage& s) {
  s.api().create(claim("shared"));
  s.delay_claims(3s);
  s.begin();
  s.cluster().pass(4s);
  PodOptions staying;
  staying.run_seconds = 100'000;
  s.api().create(pod("m0", {from_claim("gpu", "shared")}, staying));
  s.await("the first consumer bound", [&] { return s.bound("m0"); });
  const auto consumers = [&] {
    const auto known = s.watchdog().claim("default/shared");
    return known ? known->status.reserved_for.size() : 0;
  };
  s.api().create(pod("m1", {from_claim("gpu", "shared")}, staying));
  s.await("the second consumer reserved", [&] { return consumers() == 2; });
  const std::string node = Api::path("Node", s.watchdog().pod("default/m0")->node_name);
  s.api().merge(node, {{"spec", {{"unschedulable", true}}}});
  s.await("its reservation given back, or the gate lifted just before", [&] {
    const auto known = s.watchdog().pod("default/m1");
    return consumers() == 1 || (known && known->scheduling_gates.empty());
  });
  s.api().merge(node, {{"spec", {{"unschedulable", nullptr}}}});
  s.await("both bound", [&] { return s.all_bound({"m0", "m1"}); });
  s.check();
  s.end({"m0", "m1"}, {"default/shared"});
}

// The nodes of proven pods are cordoned before the pods are bound: of one alone, and of a group of two.
void play_bound_moves(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.allow_bindings(false);
  s.begin();
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  const std::vector<std::string> pods{"n0", "o0", "o1"};
  s.api().create(pod("n0", {from_template("gpu", "one-gpu")}, ours));
  for (const char* name : {"o0", "o1"})
    s.api().create(member_of_job(pod(name, {from_template("gpu", "one-gpu")}, ours), "pair", 2));
  std::set<std::string> lost;  // nodes
  const auto proven_elsewhere = [&] {
    return std::all_of(pods.begin(), pods.end(), [&](const std::string& name) {
      const auto known = s.watchdog().pod("default/" + name);
      if (!known) return false;
      const std::vector<std::string> keys = protocol::claim_keys_of(*known);
      const auto held = keys.empty() ? nullptr : s.watchdog().claim(keys.front());
      return held && protocol::is_proven(*held) && !lost.contains(held->status.allocation->results.front().pool);
    });
  };
  s.await("all proven", proven_elsewhere);
  for (const std::string& name : pods)
    lost.insert(s.watchdog()
                    .claim(protocol::claim_keys_of(*s.watchdog().pod("default/" + name)).front())
                    ->status.allocation->results.front()
                    .pool);
  for (const std::string& node : lost) s.api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
  s.await("all proven on other nodes", proven_elsewhere);
  s.allow_bindings(true);
  s.await("all bound", [&] { return s.all_bound(pods); });
  for (const std::string& node : lost) s.api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", nullptr}}}});
  s.check();
  s.end(pods);
}

// Two pods of high priority take the place of two of four.
// `made`: how one of the two high ones is created.
void take_two_of_four(Stage& s, const std::function<Json(const std::string&)>& made) {
  s.api().create(claim_template("one-gpu"));
  create_priorities(s.api());
  s.api().merge(Api::path("Namespace", "default"),
                {{"metadata", {{"labels", {{"dra-controller-manager/preemption", "true"}}}}}});
  s.begin();
  const auto low = names("low", 4), high = names("high", 2);
  for (const auto& name : low) s.api().create(pod_of_rank(name, {from_template("gpu", "one-gpu")}));
  s.await("the low ones bound", [&] { return s.all_bound(low); });
  for (const auto& name : high) s.api().create(made(name));
  s.await("the high ones bound", [&] { return s.all_bound(high); });
  s.await("their promises ended", [&] {
    return std::none_of(high.begin(), high.end(), [&](const std::string& name) {
      return protocol::has_promise(*s.watchdog().pod("default/" + name));
    });
  });
  const auto left = std::count_if(low.begin(), low.end(),
                                  [&](const std::string& name) { return s.watchdog().pod("default/" + name); });
  s.await("nobody evicted in vain", [&] { return left == 2; });
  s.check();
  auto rest = high;
  for (const auto& name : low)
    if (s.watchdog().pod("default/" + name)) rest.push_back(name);
  s.end(rest);
}

void play_preemption(Stage& s) {
  take_two_of_four(s, [](const std::string& name) { return pod_of_rank(name, {from_template("gpu", "one-gpu")}); });
}

// As a group.
void play_group_preemption(Stage& s) {
  take_two_of_four(s, [](const std::string& name) {
    return member_of_job(pod_of_rank(name, {from_template("gpu", "one-gpu")}), "pair", 2);
  });
}

// Of three pods on each of two nodes with four devices one moves, and a pod that wants two devices fits.
void play_defragment(Stage& s) {
  s.api().create(claim_template("one-gpu"));
  s.api().create(claim_template("two-gpu", "gpu", 2));
  const auto nodes = names("n", 2);
  for (const auto& node : nodes)
    s.api().merge(Api::path("Node", node),
                  {{"spec", {{"taints", {{{"key", "example.com/accelerators"}, {"effect", "NoSchedule"}}}}}}});
  s.begin();
  auto pods = names("p", 8);
  for (const auto& name : pods) s.api().create(pod_that_may_move(name));
  s.await("all bound", [&] { return s.all_bound(pods); });
  const auto pod = [&s](const std::string& name) { return s.watchdog().pod("default/" + name); };
  for (const auto& node : nodes) {
    const auto one =
        std::find_if(pods.begin(), pods.end(), [&](const auto& name) { return pod(name)->node_name == node; });
    s.api().remove_now(Api::path("Pod", *one));
    pods.erase(one);
  }
  s.api().create(pod_that_may_move("wide", "two-gpu"));
  // Its controller makes the next one when a pod is gone, or is going.
  const auto bound_with_next = [&] {
    for (std::string& name : pods) {
      const auto known = pod(name);
      if (known && !known->metadata.deleting()) continue;
      if (name.ends_with("-next")) return false;
      name += "-next";
      s.api().create(pod_that_may_move(name));
    }
    return s.all_bound(pods) && s.all_bound({"wide"});
  };
  s.await("the wide one bound, and all others", bound_with_next);
  s.await("its plan ended", [&] { return !protocol::has_promise(*pod("wide")); });
  const auto moved = std::count_if(pods.begin(), pods.end(), [](const auto& name) { return name.ends_with("-next"); });
  s.await("nobody moved in vain", [&] { return moved == 1; });
  s.check();
  pods.push_back("wide");
  s.end(pods);
}

// Three pods share a claim. kube-scheduler takes them out of reservedFor again and again (Unreserve), and all but one
// end; then the claim is deleted. The last living pod keeps the device.
void play_shared(Stage& s) {
  const std::string path = Api::path("ResourceClaim", "shared");
  s.api().create(claim("shared"));
  s.api().create(claim_template("one-gpu"));
  s.delay_claims(1s);
  s.begin();
  PodOptions staying;
  staying.run_seconds = 100'000;
  s.api().create(pod("h0", {from_claim("gpu", "shared")}, staying));
  s.api().create(pod("h1", {from_claim("gpu", "shared"), from_template("own", "one-gpu")}, staying));
  s.api().create(pod("h2", {from_claim("gpu", "shared")}, staying));
  s.await("all bound", [&] { return s.all_bound({"h0", "h1", "h2"}); });
  const std::string device = s.watchdog().claim("default/shared")->status.allocation->results.at(0).device;
  const auto unreserve = [&] { s.api().merge(path + "/status", {{"status", {{"reservedFor", nullptr}}}}); };
  const auto consumers = [&] {
    const auto known = s.watchdog().claim("default/shared");
    return known ? known->status.reserved_for.size() : 0;
  };
  for (const size_t left : {2, 1}) {
    unreserve();
    s.api().remove_now(Api::path("Pod", "h" + std::to_string(left)));
    s.await("the others reserved again", [&] { return consumers() == left; });
  }
  s.api().remove(path);
  s.cluster().pass(2s);
  unreserve();
  s.cluster().pass(20s);
  const auto deleted = s.watchdog().claim("default/shared");
  s.await("the device still held", [&] {
    return deleted && deleted->status.allocation && deleted->status.allocation->results.at(0).device == device;
  });
  s.end({"h0", "h1", "h2"});
}

// Two groups, of which only one fits at a time, and one group of pods that share a claim.
void play_groups(Stage& s, const PodOptions& options) {
  s.api().create(claim_template("one-gpu"));
  s.api().create(claim("shared"));
  s.begin();
  const auto first = names("g", 9), second = names("h", 9), sharing = names("i", 2);
  for (const auto& name : first)
    s.api().create(member_of_job(pod(name, {from_template("gpu", "one-gpu")}, options), "first", 9));
  for (const auto& name : second)
    s.api().create(member_of_job(pod(name, {from_template("gpu", "one-gpu")}, options), "second", 9));
  for (const auto& name : sharing)
    s.api().create(member_of_job(pod(name, {from_claim("gpu", "shared")}, options), "third", 2));
  s.await("one group bound, and the one that shares",
          [&] { return (s.all_bound(first) || s.all_bound(second)) && s.all_bound(sharing); });
  const auto& was = s.all_bound(first) ? first : second;
  const auto& next = s.all_bound(first) ? second : first;
  VerdictOptions waiting;
  waiting.may_wait = keys_of(next);
  s.check(waiting);
  for (const auto& name : was) s.api().remove(Api::path("Pod", name));
  s.await("the other group bound", [&] { return s.all_bound(next); });
  s.check();
  s.end(together({next, sharing}), {"default/shared"});
}

void play_gated_groups(Stage& s) {
  play_groups(s, {});
}
void play_bound_groups(Stage& s) {
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  play_groups(s, ours);
}

std::vector<Scenario> make_scenarios() {
  std::vector<Scenario> all;
  ClusterOptions small;
  small.components.scheduler_allocates = false;
  all.push_back({"templates", small, nullptr, play_templates});
  const auto bind_mode = [](ProcessOptions& process) {
    process.manager.settings.scheduling = reconcile::Scheduling::kBind;
    process.manager.settings.scheduler_names = {"dra"};
  };
  all.push_back({"bind", small, bind_mode, play_bind});
  ClusterOptions one_node = small;
  one_node.nodes = 1;
  one_node.devices = 12;
  all.push_back({"rivals", one_node, nullptr, play_rivals});
  all.push_back({"keep", small, nullptr, play_keep});
  all.push_back({"keepnext", small, nullptr, play_keep_next});
  all.push_back({"unused", small, bind_mode, play_unused});
  all.push_back({"reasons", one_node, nullptr, play_reasons});
  all.push_back({"moves", small, nullptr, play_moves});
  ClusterOptions more_nodes = small;
  more_nodes.nodes = 6;
  all.push_back({"boundmoves", more_nodes, bind_mode, play_bound_moves});
  all.push_back({"shared", small, nullptr, play_shared});
  all.push_back({"election", small, [](ProcessOptions& process) { process.elect = true; }, play_election});
  all.push_back({"groups", small, nullptr, play_gated_groups});
  all.push_back({"boundgroups", small, bind_mode, play_bound_groups});
  all.push_back({"release", small, nullptr, play_release});
  all.push_back({"eviction", small,
                 [](ProcessOptions& process) {
                   process.manager.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
                   process.manager.settings.controllers.push_back("tainteviction");
                 },
                 play_eviction});
  ClusterOptions four = small;
  four.nodes = 1;
  four.devices = 4;
  all.push_back({"preemption", four, [](ProcessOptions& process) { switch_on(process.manager); }, play_preemption});
  all.push_back(
      {"grouppreemption", four, [](ProcessOptions& process) { switch_on(process.manager); }, play_group_preemption});
  ClusterOptions two_of_four = small;
  two_of_four.nodes = 2;
  two_of_four.devices = 4;
  all.push_back({"defragment", two_of_four,
                 [](ProcessOptions& process) {
                   switch_moves_on(process.manager);
                   process.manager.settings.move_after = Duration::zero();
                 },
                 play_defragment});
  for (Scenario& scenario : feature_scenarios()) all.push_back(std::move(scenario));
  for (Scenario& scenario : group_claim_scenarios()) all.push_back(std::move(scenario));
  return all;
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> kAll = make_scenarios();
  return kAll;
}

}  // namespace dra::integration
