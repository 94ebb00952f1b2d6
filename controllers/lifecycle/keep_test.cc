#include "controllers/lifecycle/keep.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "controllers/lifecycle/lifecycle.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

// Kept devices: what the lifecycle controller writes into status.reservedFor, and when it frees what is kept.
namespace dra::lifecycle::keep_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int64_t kNow = 1'700'000'000;

class KeptDevices : public testing::Test {
 protected:
  static api::Pod pod(const std::string& name, int64_t priority = 0) {
    auto made = test::named<api::Pod>(name);
    made.phase = "Running";
    made.node_name = "n1";
    made.priority = static_cast<int32_t>(priority);
    made.resource_claims.push_back({"gpu", "c", std::nullopt});
    return made;
  }
  // Allocated by another program, with its finalizer: nothing of ours to prove.
  static api::ResourceClaim claim(const std::vector<std::string>& pods, const std::string& keeps = "",
                                  const std::string& annotation = "10m") {
    auto made = test::named<api::ResourceClaim>("c");
    made.metadata.resource_version = "5";
    made.metadata.finalizers.push_back(std::string(api::kDeleteProtectionFinalizer));
    made.metadata.managed_fields.push_back({"kube-scheduler", "Update", "status"});
    if (!annotation.empty()) made.metadata.annotations.emplace(kKeepAnnotation, annotation);
    made.status.allocation.emplace();
    made.status.allocation->results.push_back({"gpu", "drv", "n1", "dev-0"});
    for (const std::string& name : pods) made.status.reserved_for.push_back({"", "pods", name, name + "-uid"});
    if (!keeps.empty())
      made.status.reserved_for.push_back({"dra-controller-manager", "kept-devices", keeps, "kept-c-uid"});
    return made;
  }
  static std::string until(int64_t seconds, int64_t priority = 0) {
    return "until-" + std::to_string(kNow + seconds) + "-priority-" + std::to_string(priority);
  }
  // The purpose of the write and what it makes of our entry ("-": the write frees the claim), the reason of an event
  // without a write, "get <name>".
  std::string pass() {
    last = reconciler.reconcile(view, claim_key("default/c"));
    std::string did;
    for (const Effect& effect : last.effects) {
      did += did.empty() ? "" : ", ";
      if (const Write* write = std::get_if<Write>(&effect)) {
        const Json status = Json::parse(write->body)["status"];
        did += write->purpose + " " + (status.contains("allocation") ? "-" : "");
        if (status["reservedFor"].is_array())
          for (const Json& one : status["reservedFor"])
            if (one["resource"] == "kept-devices") did += one["name"];
        if (write->success_event) did += " " + write->success_event->reason;
      } else if (const Event* event = std::get_if<Event>(&effect)) {
        did += event->reason.str();
      } else if (const LiveGet* get = std::get_if<LiveGet>(&effect)) {
        did += "get " + get->object.name;
      }
    }
    return did;
  }
  void gone(const std::string& name) {
    view.pods.erase("default/" + name);
    view.live_get({Kind::kPod, "default", name, name + "-uid"}, Presence::kAbsent);
  }

  MemoryView view;
  inventory::Inventory devices;
  test::WholeController reconciler{parts(Options{}, &devices)};
  ReconcileResult last;
};

TEST_F(KeptDevices, TheGrammarHasBounds) {
  for (const auto& [text, seconds] :
       std::map<std::string, int64_t>{{"1s", 1}, {"90s", 90}, {"10m", 600}, {"24h", 86400}})
    EXPECT_EQ(read_keep(text), Duration(std::chrono::seconds(seconds))) << text;
  for (const char* text : {"", "s", "0s", "10", "10 m", "-1m", "+1m", "1.5h", "1d", "25h", "86401s", "99999999s",
                           "1h30m", "9223372036854775807h", "m10"}) {
    EXPECT_EQ(read_keep(text), std::nullopt) << text;
    EXPECT_NE(why_not_kept(text), "") << text;
  }
}

TEST_F(KeptDevices, TheEntryIsReadAsItIsWritten) {
  const api::ResourceClaim one = claim({});
  for (const Keep& keep :
       {Keep{}, Keep{std::nullopt, 7}, Keep{std::nullopt, -2'000'000'000}, Keep{Timestamp::at(kNow), 0},
        Keep{Timestamp::at(kNow), -5}, Keep{std::nullopt, 0, "uid-of-set"}}) {
    api::ResourceClaim holds = one;
    holds.status.reserved_for = {keep_reference(one, keep)};
    EXPECT_EQ(keep_of(holds), keep) << holds.status.reserved_for[0].name;
    EXPECT_NE(holds.status.reserved_for[0].uid, one.metadata.uid);
    EXPECT_FALSE(has_users(holds));
  }
  for (const char* forged : {"", "until-", "until-x-priority-1", "until-99999999999999999999-priority-1", "in-use",
                             "until-1-priority-", "until--1-priority-1"}) {
    api::ResourceClaim holds = one;
    holds.status.reserved_for = {{"dra-controller-manager", "kept-devices", forged, "x"}};
    EXPECT_EQ(keep_of(holds), Keep()) << forged;
    EXPECT_FALSE(is_only_kept(holds)) << forged;
  }
}

TEST_F(KeptDevices, TheEntryIsWrittenWhilePodsAreThere) {
  view.put(pod("a", 5));
  view.put(pod("b", 9));
  view.put(claim({"a", "b"}));
  EXPECT_EQ(pass(), "keep in-use-priority-9");
  view.put(claim({"a", "b"}, "in-use-priority-9"));
  EXPECT_EQ(pass(), "");
  view.put(claim({"a"}, "in-use-priority-9"));
  EXPECT_EQ(pass(), "keep in-use-priority-5");
  view.put(claim({"a"}, "", ""));
  EXPECT_EQ(pass(), "") << "nobody asked";
}

TEST_F(KeptDevices, WithTheLastPodTheTimeBegins) {
  view.put(claim({"a"}, "in-use-priority-5"));
  gone("a");
  EXPECT_EQ(pass(), "keep " + until(601, 5) + " KeepingDevices");
  view.put(claim({}, until(601, 5)));
  EXPECT_EQ(pass(), "");
  EXPECT_LE(last.requeue_after.value(), 2s);
  view.time += 600s;
  EXPECT_EQ(pass(), "");
  view.time += 1s;
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
}

// kube-controller-manager removed the pod: nothing is left to back up.
TEST_F(KeptDevices, ABackUpDoesNotWaitWithIt) {
  Options options;
  options.grace = 30s;
  test::WholeController backup{parts(options, &devices)};
  view.put(claim({}, "in-use-priority-5"));
  view.ages["claim:default/c"] = 0s;
  const ReconcileResult now = backup.reconcile(view, claim_key("default/c"));
  ASSERT_EQ(now.effects.size(), 1u);
  EXPECT_EQ(std::get<Write>(now.effects[0]).purpose, "keep");
  view.put(claim({"a"}, "in-use-priority-5"));
  EXPECT_FALSE(backup.reconcile(view, claim_key("default/c")).has_writes()) << "the pod is not ours to prune yet";
}

TEST_F(KeptDevices, TheNextPodUsesThem) {
  view.put(pod("a", 3));
  view.put(claim({"a"}, until(100, 5)));
  EXPECT_EQ(pass(), "keep in-use-priority-3");
}

TEST_F(KeptDevices, WhatEndsIt) {
  const auto free = [&](const std::string& why, const api::ResourceClaim& one, const std::string& did) {
    view.put(one);
    EXPECT_EQ(pass(), did) << why;
    if (did.empty() || last.effects.empty()) return;
    const Write& write = std::get<Write>(last.effects.back());
    EXPECT_NE(write.success_event->note.find(why), std::string::npos) << write.success_event->note;
  };
  api::ResourceClaim deleted = claim({}, until(100));
  deleted.metadata.deletion_timestamp = "2023-11-14T22:13:20Z";
  free("is being deleted", deleted, "end-keeping - KeepEnded");
  free("was removed", claim({}, until(100), ""), "end-keeping - KeepEnded");
  free("24h", claim({}, until(100), "25h"), "KeepRefused, end-keeping - KeepEnded");
  view.put(pod("a"));
  free("was removed", claim({"a"}, "in-use-priority-0", ""), "keep  KeepEnded");
  view.pods.clear();
  // Ours, and never proven: no pod ever used it.
  api::ResourceClaim unproven = claim({}, "in-use-priority-0");
  unproven.metadata.managed_fields = {{std::string(kAllocationManager), "Update", "status"}};
  free("no pod has used", unproven, "end-keeping - KeepEnded");
  // Whoever may write the status wrote a time that no annotation can ask for.
  view.put(claim({}, until(90'000)));
  EXPECT_EQ(pass(), "keep " + until(601) + " KeepingDevices");
}

TEST_F(KeptDevices, ATaintEndsItUnlessItIsTolerated) {
  api::DeviceTaintRule rule = test::named<api::DeviceTaintRule>("broken");
  rule.metadata.ns.clear();
  rule.has_selector = true;
  rule.driver = "drv";
  rule.taint = {"broken", "", "NoSchedule", ""};
  devices.apply_taint_rule(rule);
  view.put(claim({}, until(100)));
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
  api::ResourceClaim tolerates = claim({}, until(100));
  tolerates.status.allocation->results[0].tolerations.push_back({"broken", "Exists", "", "", std::nullopt});
  view.put(tolerates);
  EXPECT_EQ(pass(), "");
  Options options;
  options.ignored_taints = {"broken"};
  view.put(claim({}, until(100)));
  EXPECT_FALSE(test::WholeController(parts(options, &devices)).reconcile(view, claim_key("default/c")).has_writes());
}

TEST_F(KeptDevices, TheNextPodAvoidsTheDevice) {
  view.put(claim({}, until(100)));
  api::Pod next = pod("next");
  next.node_name.clear();
  next.phase = "Pending";
  next.metadata.annotations.emplace(kAvoidedDevices, "drv/n1/dev-0=" + std::to_string(kNow + 60));
  view.put(next);
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
}

TEST_F(KeptDevices, AHigherPriorityTakesThem) {
  view.put(claim({}, until(100, 5)));
  const auto asks = [&](int64_t priority, Duration age = 0s) {
    api::Pod other = pod("other", priority);
    other.node_name.clear();
    other.phase = "Pending";
    view.put(other);
    view.notes[{"c-uid", std::string(kTakenNote)}] = {taken_note(other), view.time - age};
  };
  asks(5);
  EXPECT_EQ(pass(), "") << "not a higher one";
  asks(6, kTakenCounts);
  EXPECT_EQ(pass(), "") << "too old";
  asks(6);
  EXPECT_EQ(pass(), "end-keeping - KeptDevicesTaken");
  view.pods.at("default/other").node_name = "n2";
  EXPECT_EQ(pass(), "") << "it has a place";
  view.pods.clear();
  EXPECT_EQ(pass(), "") << "it is gone";
}

// Pods that left the list of reservations may use the claim: nothing is freed under them.
TEST_F(KeptDevices, NothingIsFreedUnderAUser) {
  view.put(pod("a"));
  api::ResourceClaim used = claim({}, until(-1));
  used.metadata.annotations[std::string(kProvenForAnnotation)] = "a/a-uid";
  view.put(used);
  EXPECT_EQ(pass().find("end-keeping -"), std::string::npos);
  gone("a");
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
}

TEST_F(KeptDevices, WhatIsRefusedByName) {
  view.put(pod("a"));
  view.foreign_consumers = false;
  view.put(claim({"a"}));
  EXPECT_EQ(pass(), "KeepRefused");
  EXPECT_NE(std::get<Event>(last.effects[0]).note.find("older than 1.36"), std::string::npos);
  view.foreign_consumers = true;
  view.put(claim({"a"}, "", "1d"));
  EXPECT_EQ(pass(), "KeepRefused");
  api::ResourceClaim generated = claim({"a"});
  generated.metadata.owner_references.push_back({"v1", "Pod", "a", "a-uid", true});
  view.put(generated);
  EXPECT_EQ(pass(), "KeepRefused");
  std::vector<std::string> many;
  for (size_t i = 0; i < api::kMaxReservedFor; ++i) {
    many.push_back("p" + std::to_string(i));
    view.put(pod(many.back()));
  }
  view.put(claim(many));
  EXPECT_EQ(pass(), "KeepRefused");
}

// Made for pod a of controller uid-of-set.
struct FromTemplate : KeptDevices {
  static api::Pod owned(const std::string& name, const std::string& ns = "default") {
    api::Pod made = pod(name);
    made.metadata.ns = ns;
    made.metadata.owner_references = {{"apps/v1", "StatefulSet", "set", "uid-of-set", true}};
    return made;
  }
  static api::ResourceClaim made_for(const std::vector<std::string>& pods, const std::string& keeps = "") {
    api::ResourceClaim made = claim(pods);
    made.metadata.owner_references = {{"v1", "Pod", "a", "a-uid", true}};
    if (!keeps.empty())
      made.status.reserved_for.push_back({"dra-controller-manager", "kept-devices", keeps, "kept-for-uid-of-set"});
    return made;
  }
  static api::ResourceClaim deleted(api::ResourceClaim claim) {
    claim.metadata.deletion_timestamp = "2023-11-14T22:13:20Z";
    return claim;
  }
};

TEST_F(FromTemplate, IsKeptForTheNextPodFromItsDeletionOn) {
  view.put(owned("a"));
  view.put(made_for({"a"}));
  EXPECT_EQ(pass(), "keep in-use-priority-0");
  view.put(made_for({"a"}, "in-use-priority-7"));
  EXPECT_EQ(pass(), "keep in-use-priority-0");
  view.put(deleted(made_for({"a"}, "in-use-priority-7")));
  EXPECT_EQ(pass(), "") << "no new entry is taken into it";
  view.put(deleted(made_for({"a"})));
  EXPECT_EQ(pass(), "");
  gone("a");
  view.put(made_for({"a"}, "in-use-priority-0"));
  EXPECT_EQ(pass(), "prune-reservations in-use-priority-0") << "it will be deleted";
  view.put(deleted(made_for({"a"}, "in-use-priority-0")));
  EXPECT_EQ(pass(), "keep in-use-priority-0 KeepingDevices");
  view.put(deleted(made_for({}, "in-use-priority-0")));
  EXPECT_EQ(pass(), "");
  EXPECT_LE(last.requeue_after.value(), 2s);
  view.time += 599s;
  EXPECT_EQ(pass(), "");
  view.time += 1s;
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
}

TEST_F(FromTemplate, TheNextPodTakesItOverWhateverItsPriority) {
  view.put(deleted(made_for({}, "in-use-priority-9")));
  auto next = owned("b");
  next.node_name = "", next.phase = "Pending";
  view.put(next);
  EXPECT_EQ(pass(), "");
  view.notes[{"c-uid", std::string(kTakenNote)}] = {taken_note(next), view.time};
  EXPECT_EQ(pass(), "end-keeping - KeepEnded");
}

TEST_F(FromTemplate, APodOfAnotherNamespaceIsNoNextOneWhateverItSaysOfItsOwner) {
  view.put(deleted(made_for({}, "in-use-priority-9")));
  auto forged = owned("b", "elsewhere");
  forged.node_name = "", forged.phase = "Pending";
  view.put(forged);
  view.notes[{"c-uid", std::string(kTakenNote)}] = {taken_note(forged), view.time};
  EXPECT_EQ(pass(), "");
}

TEST_F(FromTemplate, NothingIsKeptForNobody) {
  view.put(pod("a"));  // without a controller
  view.put(made_for({"a"}));
  EXPECT_EQ(pass(), "KeepRefused");
  view.pods.clear();
  EXPECT_EQ(pass(), "get a") << "nothing is said of a pod that is not known";
}

}  // namespace dra::lifecycle::keep_test
