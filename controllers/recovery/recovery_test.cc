// Which pods are made anew, which are not and why, how many at a time, and what their owners' next pods avoid.
#include "controllers/recovery/recovery.h"

#include <gtest/gtest.h>

#include "controllers/recovery/failures.h"
#include "pkg/api/decode/decode.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

namespace dra::recovery::recovery_test {
namespace {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;

class Labels : public nodes::NodeChooser {
 public:
  nodes::NodeChoice choose(const api::Pod&, const std::vector<std::string>&) override { return {}; }
  bool matches(const api::NodeSelector&, const std::string&) override { return false; }
  std::vector<std::string> all_nodes() override { return {}; }
  std::optional<std::string> namespace_label(const std::string&, const std::string& key) override {
    EXPECT_EQ(key, kRecoverLabel);
    return label;
  }
  std::optional<std::string> label = "true";
};

class Recovery : public testing::Test {
 public:  // for the cases of a table
  // A bound pod of a ReplicaSet that has not begun, with device gpu-N of node n1 by a claim of its own.
  void add_pod(const std::string& name, const std::string& device = "gpu-0") {
    api::Pod pod = test::named<api::Pod>(name);
    pod.metadata.resource_version = "7";
    pod.metadata.owner_references = {{"apps/v1", "ReplicaSet", "set", "set-uid", true}};
    pod.node_name = "n1";
    pod.phase = "Pending";
    pod.resource_claims = {{"gpu", std::nullopt, "one"}};
    pod.resource_claim_statuses = {{"gpu", name + "-gpu"}};
    api::ResourceClaim claim = test::named<api::ResourceClaim>(name + "-gpu");
    claim.metadata.owner_references = {{"v1", "Pod", name, name + "-uid", true}};
    claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
    claim.status.allocation.emplace().results.push_back({"gpu", "drv", "n1", device});
    claim.status.reserved_for.push_back({"", "pods", name, name + "-uid"});
    view.put(pod);
    view.put(claim);
  }
  void fails(const std::string& pod, int64_t times, const std::string& note = "rpc error", const std::string& id = "") {
    api::PrepareEvent event = test::named<api::PrepareEvent>(pod + ".event" + id);
    event.pod = "default/" + pod;
    event.pod_uid = pod + "-uid";
    event.times = times;
    event.note = note;
    view.put(event);
  }
  api::Pod& pod(const std::string& name) { return view.pods.at("default/" + name); }
  api::ResourceClaim& claim(const std::string& name) { return view.claims.at("default/" + name); }

  // What one run did: "evict p", "event REASON: note", in their order. Notes are kept.
  std::string pass(const std::string& name = "p") {
    last = controller.reconcile(view, pod_key("default/" + name));
    std::string text;
    for (const Effect& effect : last.effects) {
      if (const auto* write = std::get_if<Write>(&effect)) {
        EXPECT_EQ(write->subresource, "eviction");
        EXPECT_EQ(write->resource_version.empty(), true) << "the precondition is in the body";
        EXPECT_NE(write->body.find(R"("resourceVersion":"7")"), std::string::npos) << write->body;
        text += "evict " + write->object.name + "\n";
      } else if (const auto* event = std::get_if<Event>(&effect)) {
        view.emitted[{event->regarding.uid, event->reason.str()}] =
            event->signature.empty() ? event->note : event->signature;
        text += event->reason.str() + ": " + event->note + "\n";
      } else if (const auto* note = std::get_if<Note>(&effect)) {
        note->text.empty() ? void(view.notes.erase({note->uid, note->topic}))
                           : void(view.notes[{note->uid, note->topic}] = {note->text, view.time});
      } else if (const auto* avoid = std::get_if<AvoidNodes>(&effect)) {
        text += "avoid " + avoid->uid + " " + avoid->nodes.at(0) + "\n";
      }
    }
    return text;
  }
  std::string avoided(const std::string& name = "p") {
    std::string text;
    for (const AvoidedDevice& one : avoided_devices(view, pod(name))) text += one.name.text() + " ";
    return text;
  }

  MemoryView view;
  Labels labels;
  test::WholeController controller{parts({}, labels)};
  ReconcileResult last;
};

TEST_F(Recovery, APodThatFailedThreeTimesIsMadeAnewElsewhere) {
  add_pod("p");
  EXPECT_EQ(pass(), "");
  fails("p", 2);
  EXPECT_EQ(pass(), "") << "the next event brings it again";
  fails("p", 1, "rpc error: other words", "2");
  EXPECT_EQ(pass(), "evict p\n") << "events of different words add up";
  EXPECT_EQ(avoided(), "drv/n1/gpu-0 ") << "known before the next pod comes";
  add_pod("q", "gpu-1");
  EXPECT_EQ(avoided("q"), "drv/n1/gpu-0 ");
  pod("q").metadata.owner_references[0].uid = "another";
  EXPECT_EQ(avoided("q"), "") << "other owners get the device";
  view.time += kAvoidDevice + 1s;
  EXPECT_EQ(avoided(), "") << "it ends";
}

TEST_F(Recovery, AnotherDeviceOfTheNodeThatFailsTooMakesTheOwnerAvoidTheNode) {
  add_pod("p");
  fails("p", 3);
  pass();
  add_pod("q", "gpu-1");
  fails("q", 3);
  EXPECT_EQ(pass("q"), "avoid default/set-uid n1\nevict q\n");
  EXPECT_EQ(avoided("q"), "drv/n1/gpu-0 drv/n1/gpu-1 ");
}

// By events only if pods of two namespaces failed on it.
TEST_F(Recovery, WhatFailsForTwoNamespacesIsKeptFromAllOthers) {
  const auto move_to = [&](const std::string& name, const std::string& ns) {
    const auto put_in = [&](auto object) {
      object.metadata.ns = ns;
      view.put(object);
    };
    put_in(pod(name)), put_in(claim(name + "-gpu"));
    api::PrepareEvent event = view.prepare_events.at("default/" + name + ".event");
    event.metadata.ns = ns, event.pod = ns + "/" + name;
    view.prepare_events.clear();
    view.put(event);
  };
  add_pod("p"), add_pod("stranger");
  pod("stranger").metadata.owner_references[0].uid = "stranger-owner";
  fails("p", 3);
  EXPECT_EQ(pass(), "evict p\n");
  EXPECT_EQ(avoided("stranger"), "");
  add_pod("q");
  fails("q", 3);
  move_to("q", "other");
  last = controller.reconcile(view, pod_key("other/q"));
  size_t counted = 0;
  for (const Effect& effect : last.effects) {
    if (const auto* note = std::get_if<Note>(&effect)) view.notes[{note->uid, note->topic}] = {note->text, view.time};
    if (const auto* metric = std::get_if<Metric>(&effect)) counted += metric->name == "dra_quarantined_devices_total";
    if (const auto* write = std::get_if<Write>(&effect)) {
      EXPECT_NE(write->success_event->note.find("nobody gets drv/n1/gpu-0 until 2023-"), std::string::npos)
          << write->success_event->note;
    }
  }
  EXPECT_EQ(counted, 1u);
  EXPECT_EQ(avoided("stranger"), "drv/n1/gpu-0 ");
  EXPECT_TRUE(own_avoided_devices(view, pod("stranger")).empty());
  view.time += kAvoidDevice;
  EXPECT_EQ(avoided("stranger"), "") << "it ends by itself";
}

TEST_F(Recovery, WhatTheDriverCallsBrokenIsKeptFromAllOthers) {
  add_pod("p"), add_pod("stranger");
  pod("stranger").metadata.owner_references[0].uid = "stranger-owner";
  pod("p").unhealthy_devices.push_back({"gpu", "", "drv/n1/gpu-0", "ECC"});
  pass();
  view.time += 30s;
  EXPECT_EQ(pass(), "evict p\n");
  EXPECT_EQ(avoided("stranger"), "drv/n1/gpu-0 ");
}

TEST_F(Recovery, OnlyWhereAnAdministratorSaidSo) {
  add_pod("p");
  fails("p", 3);
  labels.label = "";
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(1min)) << "the label may come";
  labels.label.reset();
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(1s));
}

TEST_F(Recovery, WhatHasBegunIsNeverTouched) {
  add_pod("p");
  fails("p", 100);
  const api::Pod failing = pod("p");
  const auto refused = [&](void (*change)(api::Pod&)) {
    view.put(failing);
    change(pod("p"));
    return pass();
  };
  EXPECT_EQ(refused([](api::Pod& p) { p.phase = "Running"; }), "");
  EXPECT_EQ(refused([](api::Pod& p) { p.phase = "Failed"; }), "");
  EXPECT_EQ(refused([](api::Pod& p) { p.node_name = ""; }), "");
  EXPECT_EQ(refused([](api::Pod& p) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }), "");
  EXPECT_EQ(refused([](api::Pod& p) {
              p.conditions.push_back({"PodReadyToStartContainers", "True", "", "", "", 0});
            }),
            "")
      << "its init containers run";
  EXPECT_EQ(refused([](api::Pod& p) {
              p.conditions.push_back({"PodReadyToStartContainers", "False", "", "", "", 0});
            }),
            "evict p\n");
}

// Nothing in them counts for another pod, whatever it names.
TEST_F(Recovery, EventsOfOtherNamespacesAndInstancesDoNotCount) {
  add_pod("p");
  fails("p", 3);
  api::PrepareEvent& event = view.prepare_events.at("default/p.event");
  event.pod = "other/p";
  EXPECT_EQ(pass(), "");
  event.pod = "default/q";
  EXPECT_EQ(pass(), "");
  event.pod = "default/p";
  event.pod_uid = "older";
  EXPECT_EQ(pass(), "");
  // As decoded: an event of its own namespace about a pod, of this reason; the count is bounded.
  const auto decoded = [](const std::string& ns, const std::string& kind, const std::string& reason, int count) {
    return *api::decode<api::PrepareEvent>(R"({"metadata": {"name": "e", "namespace": "ml"}, "reason": ")" + reason +
                                           R"(", "deprecatedCount": )" + std::to_string(count) +
                                           R"(, "note": "n", "regarding": {"kind": ")" + kind + R"(", "namespace": ")" +
                                           ns + R"(", "name": "p", "uid": "u"}})");
  };
  const std::string reason = api::kPrepareFailedReason;
  EXPECT_EQ(decoded("ml", "Pod", reason, 4).times, 4);
  EXPECT_EQ(decoded("ml", "Pod", reason, 4).pod, "ml/p");
  EXPECT_EQ(decoded("ml", "Pod", reason, -5).times, 1);
  EXPECT_EQ(decoded("ml", "Pod", reason, 2'000'000'000).times, 1000);
  EXPECT_EQ(decoded("other", "Pod", reason, 4).pod_uid, "");
  EXPECT_EQ(decoded("ml", "Node", reason, 4).pod_uid, "");
  EXPECT_EQ(decoded("ml", "Pod", "Other", 4).pod_uid, "");
}

TEST_F(Recovery, WhatDriverOrKubeletReportsCountsOnceItHasStoodForHalfAMinute) {
  add_pod("p");
  claim("p-gpu").status.allocation->results.push_back({"gpu", "drv", "n1", "gpu-3"});
  claim("p-gpu").status.devices.push_back(
      {"drv", "n1", "gpu-3", std::nullopt, {{"Ready", "False", "Broken", "fell off the bus", "", 0}}});
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(30s));
  view.time += 20s;
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(10s));
  view.time += 10s;
  EXPECT_EQ(pass(), "evict p\n");
  EXPECT_EQ(avoided(), "drv/n1/gpu-3 ") << "the other device is not to blame";
}

TEST_F(Recovery, AReportThatEndsBeginsAnew) {
  add_pod("p");
  pod("p").unhealthy_devices.push_back({"gpu", "", "drv/n1/gpu-0", "ECC"});
  EXPECT_EQ(pass(), "");
  view.time += 20s;
  pod("p").unhealthy_devices.clear();
  EXPECT_EQ(pass(), "");
  view.time += 20s;
  pod("p").unhealthy_devices.push_back({"gpu", "", "drv/n1/gpu-0", "ECC"});
  EXPECT_EQ(pass(), "");
  EXPECT_EQ(last.requeue_after, Duration(30s));
}

// Every one of these stays, and the event says why.
TEST_F(Recovery, WhichPodsStayAndWhy) {
  struct Case {
    void (*change)(Recovery& t);
    const char* why;
  };
  const Case cases[] = {
      {[](Recovery& t) { t.pod("p").metadata.owner_references.clear(); }, "no controller makes it again"},
      {[](Recovery& t) { t.pod("p").metadata.owner_references[0].kind = "DaemonSet"; }, "on the same node"},
      {[](Recovery& t) { t.pod("p").pod_group_name = "train"; }, "whose pods are placed together"},
      {[](Recovery& t) { t.claim("p-gpu").metadata.managed_fields.clear(); }, "allocated by another program"},
      {[](Recovery& t) { t.claim("p-gpu").status.allocation.reset(); }, "default/p-gpu is not allocated"},
      {[](Recovery& t) { t.view.claims.clear(); }, "default/p-gpu is not known"},
      {[](Recovery& t) { t.fails("p", 3, "strict decoding error: unknown field \"sharng\""); },
       "no other device helps: mend them"},
      {[](Recovery& t) {
         api::OpaqueConfig opaque;
         opaque.driver = "gpu.nvidia.com";
         opaque.parameters_json = R"({"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharng": {}})";
         t.claim("p-gpu").status.allocation->config.push_back({"FromClaim", {}, opaque});
       },
       "refuses the parameters of ResourceClaim default/p-gpu"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.why);
    view = MemoryView();
    add_pod("p");
    fails("p", 3);
    one.change(*this);
    const std::string said = pass();
    EXPECT_TRUE(said.starts_with("NotRecovered: ")) << said;
    EXPECT_NE(said.find(one.why), std::string::npos) << said;
    EXPECT_EQ(said.find("evict"), std::string::npos) << said;
    EXPECT_EQ(last.requeue_after, Duration(1min));
    EXPECT_EQ(pass(), "") << "it is said once";
  }
}

// A claim of several pods keeps its devices while one of them runs, or may begin.
TEST_F(Recovery, ANamedClaimWithARunningConsumerKeepsItsDevices) {
  add_pod("p");
  add_pod("q");
  for (const char* name : {"p", "q"}) {
    pod(name).resource_claims = {{"gpu", "shared", std::nullopt}};
    pod(name).resource_claim_statuses.clear();
  }
  api::ResourceClaim shared = claim("p-gpu");
  shared.metadata.name = "shared";
  shared.metadata.owner_references.clear();
  shared.status.reserved_for.push_back({"", "pods", "q", "q-uid"});
  view.put(shared);
  fails("p", 3);
  pod("q").phase = "Running";
  EXPECT_NE(pass().find("is in use by pod q and keeps its devices"), std::string::npos);
  pod("q").phase = "Pending";
  view.emitted.clear();
  EXPECT_NE(pass().find("is in use by pod q"), std::string::npos) << "it may begin";
  fails("q", 1);
  EXPECT_EQ(pass(), "evict p\n") << "it fails, too";
}

TEST_F(Recovery, FewOfAnOwnerAndFewInAMinute) {
  for (size_t i = 0; i < Recreations::kAtOnce + 1; ++i) {
    const std::string name = "p" + std::to_string(i);
    add_pod(name, "gpu-" + std::to_string(i));
    fails(name, 3);
    const std::string said = pass(name);
    EXPECT_EQ(said.find("evict p") != std::string::npos, i < Recreations::kAtOnce) << said;
    if (i == Recreations::kAtOnce) {
      EXPECT_NE(said.find("not yet: 3 pods of ReplicaSet/set"), std::string::npos) << said;
    }
  }
  size_t evicted = Recreations::kAtOnce;
  for (size_t i = 0; i < kMostAMinute; ++i) {
    const std::string name = "q" + std::to_string(i);
    add_pod(name, "gpu-9");
    pod(name).metadata.owner_references[0].uid = name + "-owner";
    fails(name, 3);
    evicted += pass(name).starts_with("evict ");
  }
  EXPECT_EQ(evicted, kMostAMinute);
  view.time += 61s;
  EXPECT_EQ(pass("q" + std::to_string(kMostAMinute - 1)), "evict q" + std::to_string(kMostAMinute - 1) + "\n");
}

TEST_F(Recovery, EventsAndReportsEnqueueTheirPods) {
  add_pod("p");
  const auto keys = [](const EnqueueRequests& out) {
    std::string text;
    for (const Key& key : out.keys) text += to_text(key) + " ";
    return text;
  };
  EnqueueRequests by_event, by_claim, by_pod, by_running;
  fails("p", 1);
  controller.on<api::PrepareEvent>(view, nullptr, &view.prepare_events.at("default/p.event"), by_event);
  EXPECT_EQ(keys(by_event), "pod:default/p ");
  api::ResourceClaim before = claim("p-gpu");
  claim("p-gpu").status.devices.push_back({"drv", "n1", "gpu-0", std::nullopt, {}});
  controller.on_claim(view, &before, &claim("p-gpu"), by_claim);
  EXPECT_EQ(keys(by_claim), "pod:default/p ");
  controller.on_pod(view, nullptr, &pod("p"), by_pod);
  EXPECT_EQ(keys(by_pod), "pod:default/p ");
  pod("p").phase = "Running";
  controller.on_pod(view, nullptr, &pod("p"), by_running);
  EXPECT_EQ(keys(by_running), "");
}

}  // namespace
}  // namespace dra::recovery::recovery_test
