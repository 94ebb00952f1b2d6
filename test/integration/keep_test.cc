// Kept devices (`dra-controller-manager/keep-devices`) on a whole control plane: a claim between two pods, and how that
// ends.
#include <nlohmann/json.hpp>

#include "pkg/protocol/keep.h"
#include "test/integration/sim_control_plane.h"
#include "test/integration/world.h"

namespace dra::integration::keep_test {

using namespace std::chrono_literals;

class Keep : public World {
 protected:
  void begin_keeping(Claims claims, const std::string& time = "60s", const std::string& name = "kept") {
    nodes_ = 1;
    if (cluster_ == nullptr) begin(claims);
    for (const int value : {5, 10, 20, 50}) {
      const std::string of = "p" + std::to_string(value);
      if (api().exists(Api::path("PriorityClass", of))) continue;
      api().create({{"apiVersion", "scheduling.k8s.io/v1"},
                    {"kind", "PriorityClass"},
                    {"metadata", {{"name", of}}},
                    {"value", value}});
    }
    Json made = claim(name);
    made["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", time}};
    api().create(made);
  }
  void start(const std::string& name, const std::string& claim = "kept", int priority = 0) {
    Json made = pod(name, {from_claim("gpu", claim)});
    if (priority != 0) made["spec"]["priorityClassName"] = "p" + std::to_string(priority);
    api().create(made);
  }
  std::string device_of(const std::string& claim = "kept") {
    const auto known = get_claim(claim);
    return known && known->status.allocation ? known->status.allocation->results.at(0).device : "";
  }
  bool only_kept(const std::string& claim = "kept") {
    const auto known = get_claim(claim);
    return known && protocol::is_only_kept(*known);
  }
  void stop(const std::string& name) { api().remove(Api::path("Pod", name)); }
  // A back-up removes a finalizer without an allocation after half a minute.
  std::string last_verdict() {
    for (int i = 0; i < 60 && !cluster().verdict().empty(); ++i) pass(1s);
    return cluster().verdict();
  }
  // All devices but those that are held.
  void fill() {
    for (int i = 0; i < 4; ++i) api().create(pod("fill" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  }
};

// With both owners of the claim controller: this manager, and kube-controller-manager's stand-in.
TEST_F(Keep, AStoppedPodComesBackToItsDevice) {
  for (const Claims claims : {Claims::kOwn, Claims::kObserve}) {
    cluster_.reset();
    begin_keeping(claims);
    start("vm");
    ASSERT_TRUE(soon([&] { return bound("vm"); }));
    const std::string device = device_of();
    fill();
    pass(5s);
    stop("vm");
    ASSERT_TRUE(soon([&] { return get_pod("vm") == nullptr && only_kept(); }));
    pass(10s);
    size_t waiting = 0;
    for (int i = 0; i < 4; ++i) waiting += bound("fill" + std::to_string(i)) ? 0 : 1;
    EXPECT_EQ(waiting, 1u) << "the device that is kept is nobody's";
    EXPECT_EQ(device_of(), device);
    start("vm");
    ASSERT_TRUE(soon([&] { return bound("vm"); }));
    EXPECT_EQ(device_of(), device);
    EXPECT_TRUE(soon([&] { return get_claim("kept")->status.reserved_for.size() == 2; }));
    stop("vm");
    ASSERT_TRUE(soon([&] { return only_kept(); }));
    EXPECT_TRUE(never([&] { return !only_kept(); }, 55s));
    EXPECT_TRUE(within(60s, [&] { return bound("fill0") && bound("fill1") && bound("fill2") && bound("fill3"); }))
        << "the time is over";
    EXPECT_TRUE(reasons().contains("KeepEnded"));
    EXPECT_EQ(last_verdict(), "");
  }
}

TEST_F(Keep, TheClaimsEndAndTheAnnotationsEndFreeTheDevice) {
  begin_keeping(Claims::kObserve);
  begin_keeping(Claims::kObserve, "60s", "other");
  for (const char* name : {"kept", "other"}) {
    start(std::string("pod-of-") + name, name);
    ASSERT_TRUE(soon([&] { return bound(std::string("pod-of-") + name); }));
    stop(std::string("pod-of-") + name);
    ASSERT_TRUE(soon([&] { return only_kept(name); }));
  }
  api().remove(Api::path("ResourceClaim", "kept"));
  EXPECT_TRUE(within(5s, [&] { return get_claim("kept") == nullptr; }));
  api().merge(Api::path("ResourceClaim", "other"),
              {{"metadata", {{"annotations", {{"dra-controller-manager/keep-devices", nullptr}}}}}});
  EXPECT_TRUE(within(5s, [&] { return device_of("other").empty(); }));
}

// A claim that is deleted under its pod keeps nothing beyond it.
TEST_F(Keep, AClaimThatIsDeletedUnderItsPodEndsWithIt) {
  begin_keeping(Claims::kObserve);
  start("vm");
  ASSERT_TRUE(soon([&] { return bound("vm"); }));
  api().remove(Api::path("ResourceClaim", "kept"));
  pass(3s);
  EXPECT_NE(get_claim("kept"), nullptr);
  EXPECT_EQ(consumers("kept"), std::vector<std::string>{"vm"});
  stop("vm");
  EXPECT_TRUE(within(10s, [&] { return get_claim("kept") == nullptr; }));
}

TEST_F(Keep, AHigherPriorityTakesWhatIsKeptAndNothingElse) {
  begin_keeping(Claims::kOwn, "24h");
  begin_keeping(Claims::kOwn, "24h", "high");
  start("vm", "kept", 5);
  start("vm-high", "high", 50);
  ASSERT_TRUE(soon([&] { return bound("vm") && bound("vm-high"); }));
  api().create(pod("fill0", {from_template("gpu", "two-gpus")}));
  ASSERT_TRUE(soon([&] { return bound("fill0"); }));
  stop("vm");
  stop("vm-high");
  ASSERT_TRUE(soon([&] { return only_kept() && only_kept("high"); }));
  // The same priority waits, and a pod that does not fit even so takes nothing.
  Json equal = pod("equal", {from_template("gpu", "one-gpu")});
  equal["spec"]["priorityClassName"] = "p5";
  api().create(equal);
  Json large = pod("large", {from_template("gpu", "two-gpus")});
  large["spec"]["priorityClassName"] = "p20";
  api().create(large);
  EXPECT_TRUE(never([&] { return !only_kept() || !only_kept("high"); }, 20s));
  Json higher = pod("higher", {from_template("gpu", "one-gpu")});
  higher["spec"]["priorityClassName"] = "p10";
  api().create(higher);
  EXPECT_TRUE(within(10s, [&] { return bound("higher"); }));
  EXPECT_FALSE(bound("equal"));
  EXPECT_TRUE(only_kept("high"));
  EXPECT_TRUE(device_of().empty());
  const auto seen = reasons();
  EXPECT_TRUE(seen.contains("KeptDevicesTaken") && seen.contains("TakesKeptDevices"));
  std::string note;
  for (const Json& event : api().list("Event"))
    if (event.value("reason", "") == "KeptDevicesTaken") note = event.value("note", "");
  EXPECT_NE(note.find("pod default/higher of priority 10"), std::string::npos) << note;
  EXPECT_NE(note.find("priority 5"), std::string::npos) << note;
}

// Claims from a template, for the next pod of the controller.
class KeepForTheNext : public Keep {
 protected:
  void begin_with_template(Claims claims, const std::string& time = "60s") {
    nodes_ = 1;
    begin(claims);
    create_template("kept", 1, time);
    for (const char* name : {"set", "another"}) owners_[name] = api().create(claim_template(name));
  }
  void create_template(const std::string& name, int count, const std::string& time) {
    Json made = claim_template(name, "gpu", count);
    made["spec"]["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", time}};
    api().create(made);
  }
  // The controllers are objects of a kind of which the control plane runs no controller: nobody makes or deletes pods.
  void start_owned(const std::string& name, const std::string& owner = "set", const std::string& from = "kept") {
    Json made = pod(name, {from_template("gpu", from)});
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "resource.k8s.io/v1"},
                                            {"kind", "ResourceClaimTemplate"},
                                            {"name", owner},
                                            {"uid", owners_[owner]["metadata"]["uid"]},
                                            {"controller", true}}};
    api().create(made);
  }
  std::string device_of_pod(const std::string& name) { return device_of(generated(name)); }
  void end(const std::string& name) {
    stop(name);
    ASSERT_TRUE(soon([&] { return get_pod(name) == nullptr; }));
  }
  size_t waiting() {
    size_t all = 0;
    for (int i = 0; i < 4; ++i) all += bound("fill" + std::to_string(i)) ? 0 : 1;
    return all;
  }
  std::map<std::string, Json> owners_;
};

TEST_F(KeepForTheNext, PodOfTheControllerGetsTheSameDeviceThoughOthersWait) {
  for (const Claims claims : {Claims::kOwn, Claims::kObserve}) {
    cluster_.reset();
    begin_with_template(claims);
    start_owned("a");
    ASSERT_TRUE(soon([&] { return bound("a"); }));
    const std::string device = device_of_pod("a");
    fill();
    pass(5s);
    ASSERT_EQ(waiting(), 1u);
    // At once, after some time, and twice in a row.
    const std::pair<const char*, Duration> next[] = {{"b", 0s}, {"c", 20s}, {"d", 1s}};
    std::string before = "a";
    for (const auto& one : next) {
      const std::string name = one.first;
      const std::string old_claim = generated(before);
      end(before);
      pass(one.second);
      start_owned(name);
      EXPECT_TRUE(within(15s, [&] { return bound(name); })) << name;
      EXPECT_EQ(device_of_pod(name), device) << name;
      EXPECT_EQ(waiting(), 1u);
      EXPECT_TRUE(soon([&] { return get_claim(old_claim) == nullptr; })) << "it goes when its devices are taken over";
      before = name;
    }
    EXPECT_TRUE(reasons().contains("TakesKeptDevices"));
    end("d");
    EXPECT_TRUE(never([&] { return waiting() == 0; }, 50s));
    EXPECT_TRUE(within(60s, [&] { return waiting() == 0; })) << "the time is over";
    EXPECT_EQ(last_verdict(), "");
  }
}

TEST_F(KeepForTheNext, OneOfTwoTakesOverAndPodsOfOthersGetNothing) {
  begin_with_template(Claims::kOwn);
  start_owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string device = device_of_pod("a");
  for (int i = 0; i < 3; ++i) api().create(pod("fill" + std::to_string(i), {from_template("gpu", "one-gpu")}));
  ASSERT_TRUE(soon([&] { return bound("fill0") && bound("fill1") && bound("fill2"); }));
  end("a");
  pass(5s);
  start_owned("stranger", "another");
  pass(10s);
  EXPECT_FALSE(bound("stranger"));
  start_owned("b");
  start_owned("c");
  EXPECT_TRUE(within(15s, [&] { return bound("b") || bound("c"); }));
  pass(10s);
  EXPECT_NE(bound("b"), bound("c"));
  EXPECT_EQ(device_of_pod(bound("b") ? "b" : "c"), device);
  EXPECT_FALSE(bound("stranger"));
}

TEST_F(KeepForTheNext, EachPodOfANameGetsWhatThePodOfItsNameHad) {
  begin_with_template(Claims::kOwn);
  std::map<std::string, std::string> had;
  for (const std::string name : {"set-0", "set-1", "set-2"}) {
    start_owned(name);
    ASSERT_TRUE(soon([&] { return bound(name); }));
    had[name] = device_of_pod(name);
  }
  for (const auto& one : had) end(one.first);
  for (const char* name : {"set-2", "set-0", "set-1"}) start_owned(name);
  for (const auto& one : had) {
    EXPECT_TRUE(within(15s, [&] { return bound(one.first); })) << one.first;
    EXPECT_EQ(device_of_pod(one.first), one.second) << one.first;
  }
  EXPECT_EQ(last_verdict(), "");
}

// Nobody makes a next one: refused by name, and freed with the pod.
TEST_F(KeepForTheNext, NothingIsKeptForAPodWithoutAController) {
  begin_with_template(Claims::kOwn);
  api().create(pod("bare", {from_template("gpu", "kept")}));
  ASSERT_TRUE(soon([&] { return bound("bare"); }));
  pass(3s);
  EXPECT_TRUE(reasons().contains("KeepRefused"));
  const std::string claim = generated("bare");
  EXPECT_EQ(consumers(claim), std::vector<std::string>{"bare"});
  end("bare");
  EXPECT_TRUE(within(10s, [&] { return get_claim(claim) == nullptr; }));
}

// Whatever a tenant writes as the owner of his pods: what is kept for the pods of another namespace is not his.
TEST_F(KeepForTheNext, APodOfAnotherNamespaceTakesNothingOver) {
  begin_with_template(Claims::kOwn, "24h");
  start_owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string claim = generated("a"), device = device_of(claim);
  end("a");
  pass(3s);
  api().create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "tenant"}}}});
  Json copied = api().get(Api::path("ResourceClaimTemplate", "kept"));
  copied["metadata"] = {{"name", "kept"}, {"namespace", "tenant"}};
  api().create(copied);
  // The uid is that of the other namespace's controller. Nobody collects the pod, whose owner's name is not there, at
  // once.
  Json forged = pod("a", {from_template("gpu", "kept")});
  forged["metadata"]["namespace"] = "tenant";
  forged["metadata"]["ownerReferences"] = {{{"apiVersion", "resource.k8s.io/v1"},
                                            {"kind", "ResourceClaimTemplate"},
                                            {"name", "kept"},
                                            {"uid", owners_["set"]["metadata"]["uid"]},
                                            {"controller", true}}};
  api().create(forged);
  EXPECT_TRUE(never([&] { return reasons().contains("TakesKeptDevices"); }, 10s));
  const auto known = get_claim(claim);
  ASSERT_NE(known, nullptr);
  EXPECT_TRUE(protocol::is_only_kept(*known));
  EXPECT_EQ(device_of(claim), device);
}

// The device gets a taint after its claim was freed for the next pod, and before that has it.
TEST_F(KeepForTheNext, NothingWithATaintIsTakenOver) {
  begin_with_template(Claims::kOwn, "24h");
  start_owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string device = device_of_pod("a"), claim = generated("a");
  end("a");
  pass(3s);
  start_owned("b");
  ASSERT_TRUE(soon([&] { return reasons().contains("TakesKeptDevices"); }));
  ASSERT_FALSE(bound("b"));
  api().create({{"apiVersion", "resource.k8s.io/v1beta2"},
                {"kind", "DeviceTaintRule"},
                {"metadata", {{"name", "broken"}}},
                {"spec",
                 {{"deviceSelector", {{"driver", kDriver}, {"pool", node_name(0)}, {"device", device}}},
                  {"taint", {{"key", "example.com/broken"}, {"effect", "NoSchedule"}}}}}});
  EXPECT_TRUE(within(30s, [&] { return bound("b"); }));
  EXPECT_NE(device_of_pod("b"), device);
}

// The next pod asks for something else, and is placed as any other.
TEST_F(KeepForTheNext, WhatCannotBeTakenOverKeepsNobodyWaiting) {
  begin_with_template(Claims::kOwn, "24h");
  start_owned("a");
  ASSERT_TRUE(soon([&] { return bound("a"); }));
  const std::string device = device_of_pod("a");
  end("a");
  pass(3s);
  create_template("kept-two", 2, "60s");
  start_owned("two", "set", "kept-two");
  EXPECT_TRUE(within(5s, [&] { return bound("two"); }));
  EXPECT_NE(device_of_pod("two"), device);
  EXPECT_EQ(last_verdict(), "");
}

// Both believe that they lead, and both see the claim: the device stays, and is given back once.
TEST_F(Keep, TwoLeadersDoNoHarm) {
  begin_keeping(Claims::kOwn, "20s");
  ProcessOptions process;
  process.manager = Cluster::manager_options();
  cluster().start("second", process);
  start("vm");
  ASSERT_TRUE(soon([&] { return bound("vm"); }));
  const std::string device = device_of();
  for (int round = 0; round < 3; ++round) {
    stop("vm");
    ASSERT_TRUE(soon([&] { return get_pod("vm") == nullptr && only_kept(); }));
    pass(3s);
    start("vm");
    ASSERT_TRUE(soon([&] { return bound("vm"); }));
    EXPECT_EQ(device_of(), device);
  }
  cluster().kill("m1");
  stop("vm");
  ASSERT_TRUE(soon([&] { return only_kept(); }));
  EXPECT_TRUE(within(30s, [&] { return device_of().empty(); }));
  EXPECT_EQ(last_verdict(), "");
}

// Answers as a server of 1.35 to GET /version.
class OlderServer : public client::Transport {
 public:
  explicit OlderServer(client::Transport& server) : server_(server) {}
  Handle send(client::Request request, Done done) override {
    const bool asked = request.target == "/version";
    return server_.send(std::move(request), [asked, done = std::move(done)](Result<client::Response> answer) {
      constexpr std::string_view kServed = "v1.36.2";
      if (const size_t at = asked && answer ? answer->body.find(kServed) : std::string::npos; at != std::string::npos)
        answer->body.replace(at, kServed.size(), "v1.35.0");
      done(std::move(answer));
    });
  }
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override {
    return server_.stream(std::move(request), std::move(callbacks));
  }

 private:
  client::Transport& server_;
};

TEST(KeepOnAnOlderServer, IsRefusedByName) {
  SimControlPlane plane{SimOptions{}};
  Api api(plane, plane.transport());
  OlderServer between(plane.transport());
  api.create(node("n0"));
  api.create(device_class());
  api.create(slice("n0", 4));
  Json kept = claim("kept");
  kept["metadata"]["annotations"] = {{"dra-controller-manager/keep-devices", "10m"}};
  api.create(kept);
  ProcessOptions options;
  options.manager = Cluster::manager_options();
  options.manager.settings.scheduling = reconcile::Scheduling::kBind;
  options.manager.settings.scheduler_names = {"dra"};
  Process process(plane.reactor(), between, std::move(options));
  process.start();
  api.create(pod("vm", {from_claim("gpu", "kept")}, {.gated = false, .scheduler = "dra"}));
  const auto status = [&] { return api.get(Api::path("ResourceClaim", "kept"))["status"]; };
  const auto within = [&](int seconds, const std::function<bool()>& done) {
    for (int i = 0; i < seconds && !done(); ++i) plane.pass(1s);
    return done();
  };
  ASSERT_TRUE(within(20, [&] { return api.get(Api::path("Pod", "vm"))["spec"].contains("nodeName"); }));
  ASSERT_EQ(status()["reservedFor"].size(), 1u) << status().dump();
  plane.pass(3s);
  std::string note;
  for (const Json& event : api.list("Event"))
    if (event.value("reason", "") == "KeepRefused") note = event.value("note", "");
  EXPECT_NE(note.find("older than 1.36"), std::string::npos) << note;
  api.call("DELETE", Api::path("Pod", "vm"), R"({"gracePeriodSeconds":0})");
  EXPECT_TRUE(within(60, [&] { return !status().contains("allocation"); })) << "nothing else is done";
}

}  // namespace dra::integration::keep_test
