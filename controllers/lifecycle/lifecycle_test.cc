#include "controllers/lifecycle/lifecycle.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/api/pod_bounds.h"
#include "pkg/protocol/memory_view.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/support/objects.h"
#include "test/support/whole_controller.h"

// The situations of kube-controller-manager's resourceclaim controller that concern reservations, deallocation and the
// deletion of claims, and those of its defects that were reproduced on 1.36.
namespace dra::lifecycle::lifecycle_test {

using namespace protocol;
using namespace reconcile;
using namespace std::chrono_literals;
using Json = nlohmann::json;

api::Pod make_pod(const std::string& name, const std::string& claim) {
  auto pod = test::named<api::Pod>(name);
  pod.phase = "Running";
  pod.node_name = "n1";
  if (!claim.empty()) pod.resource_claims.push_back({"gpu", claim, std::nullopt});
  return pod;
}

api::ResourceClaim make_claim() {
  auto claim = test::named<api::ResourceClaim>("c");
  claim.metadata.resource_version = "5";
  return claim;
}

api::ResourceClaim allocated(std::vector<std::string> pods, bool finalizer = true) {
  api::ResourceClaim claim = make_claim();
  claim.status.allocation.emplace();
  claim.status.allocation->results.push_back({"gpu", "drv", "n1", "dev-0"});
  for (const std::string& pod : pods) claim.status.reserved_for.push_back({"", "pods", pod, pod + "-uid"});
  claim.metadata.managed_fields.push_back({"kube-scheduler", "Update", "status"});
  if (finalizer) claim.metadata.finalizers.push_back(std::string(api::kDeleteProtectionFinalizer));
  return claim;
}

api::ResourceClaim owned(api::ResourceClaim claim, const std::string& pod) {
  claim.metadata.owner_references.push_back({"v1", "Pod", pod, pod + "-uid", true});
  return claim;
}

class Lifecycle : public testing::Test {
 protected:
  // What a reconcile of the claim does: the purposes of its writes, "get <name>" for a live GET, "look again".
  std::string pass() { return run(claim_key("default/c")); }
  std::string run(const Key& key) {
    last = reconciler.reconcile(view, key);
    std::string did;
    const auto say = [&did](const std::string& what) { did += (did.empty() ? "" : ", ") + what; };
    for (const Effect& effect : last.effects) {
      if (const Write* write = std::get_if<Write>(&effect)) {
        EXPECT_FALSE(write->object.uid.empty());
        EXPECT_FALSE(write->resource_version.empty()) << "every write is preconditioned";
        say(write->purpose);
      } else if (const LiveGet* live_get = std::get_if<LiveGet>(&effect)) {
        say("get " + live_get->object.name);
      } else if (const Event* event = std::get_if<Event>(&effect)) {
        say("event " + event->reason);
      }
    }
    if (last.requeue_after) say("look again");
    return did;
  }
  Json body() const { return Json::parse(std::get<Write>(last.effects.at(0)).body); }
  void gone(const std::string& pod) { view.live_get({Kind::kPod, "default", pod, pod + "-uid"}, Presence::kAbsent); }
  // Applies the write as the server would.
  void deallocated() {
    view.claims.at("default/c").status = {};
    view.claims.at("default/c").metadata.resource_version = "6";
  }

  MemoryView view;
  test::WholeController reconciler{parts(Options{0s, 5s, 2s, 60s})};
  ReconcileResult last;
};

TEST_F(Lifecycle, NothingForAMissingClaim) {
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, StaysReservedForALivingPod) {
  view.put(make_pod("p", "c"));
  view.put(allocated({"p"}));
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, StaysReservedForAPodThatOnlyTheServerKnows) {
  view.put(allocated({"p"}));
  EXPECT_EQ(pass(), "get p");
  view.live_get({Kind::kPod, "default", "p", "p-uid"}, Presence::kPresent);
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, FreesADeviceWhenItsLastConsumerIsGone) {
  view.put(allocated({"p"}));
  gone("p");
  EXPECT_EQ(pass(), "deallocate");
  EXPECT_EQ(body(), Json::parse(R"({"metadata":{"uid":"c-uid","resourceVersion":"5"},
                                    "status":{"allocation":null,"reservedFor":null}})"));
  deallocated();
  view.ages["claim:default/c"] = 1s;
  EXPECT_EQ(pass(), "look again") << "a scheduler may be between its two writes";
  view.ages["claim:default/c"] = 6s;
  EXPECT_EQ(pass(), "remove-finalizer");
  EXPECT_TRUE(body()["metadata"]["finalizers"].is_null());
}

TEST_F(Lifecycle, AReplacedPodOfTheSameNameIsAnotherConsumer) {
  view.put(allocated({"p"}));
  api::Pod replaced = make_pod("p", "c");
  replaced.metadata.uid = "another-uid";
  view.put(replaced);
  EXPECT_EQ(pass(), "get p") << "the cache may be older than the reservation";
  gone("p");
  EXPECT_EQ(pass(), "prune-reservations") << "it runs, and gets the reservation";
  EXPECT_EQ(body()["status"]["reservedFor"][0]["uid"], "another-uid");
  replaced.node_name.clear();
  view.put(replaced);
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, FreesTheDeviceOfAFinishedPod) {
  for (const char* phase : {"Succeeded", "Failed"}) {
    api::Pod pod = make_pod("p", "c");
    pod.phase = phase;
    view.put(pod);
    view.put(allocated({"p"}));
    EXPECT_EQ(pass(), "deallocate") << phase;
  }
}

TEST_F(Lifecycle, ADeletedPodThatStillRunsKeepsItsDevices) {
  api::Pod pod = make_pod("p", "c");
  pod.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  view.put(pod);
  view.put(allocated({"p"}));
  EXPECT_EQ(pass(), "");
  pod.node_name = "";
  view.put(pod);
  EXPECT_EQ(pass(), "deallocate") << "deleted before it was bound";
}

TEST_F(Lifecycle, OnlyTheConsumerThatIsGoneLeaves) {
  view.put(make_pod("alive", "c"));
  view.put(allocated({"alive", "p"}));
  gone("p");
  EXPECT_EQ(pass(), "prune-reservations");
  EXPECT_EQ(body()["status"], Json::parse(R"({"reservedFor":[{"resource":"pods","name":"alive","uid":"alive-uid"}]})"));
}

// Whoever may write the status can name 256 pods that never existed, in thousands of claims.
TEST_F(Lifecycle, ManyConsumersAreAskedAboutAFewAtATime) {
  std::vector<std::string> pods;
  for (int i = 0; i < 100; ++i) pods.push_back("x" + std::to_string(i));
  view.put(make_pod("x50", "c"));
  view.put(allocated(pods));
  size_t writes = 0, most_asked = 0;
  for (int i = 0; i < 20 && view.claims.at("default/c").status.reserved_for.size() > 1; ++i) {
    pass();
    size_t asked = 0;
    for (const Effect& effect : last.effects) {
      if (const LiveGet* get = std::get_if<LiveGet>(&effect)) {
        ++asked;
        gone(get->object.name);
      } else if (std::holds_alternative<Write>(effect)) {
        ++writes;
        std::set<std::string> left;
        const Json written = body();
        for (const auto& consumer : written["status"]["reservedFor"]) left.insert(consumer["name"]);
        EXPECT_TRUE(left.contains("x50"));
        std::erase_if(view.claims.at("default/c").status.reserved_for,
                      [&](const auto& consumer) { return !left.contains(consumer.name); });
      }
    }
    most_asked = std::max(most_asked, asked);
  }
  EXPECT_EQ(view.claims.at("default/c").status.reserved_for.size(), 1u);
  EXPECT_EQ(most_asked, 32u);
  EXPECT_EQ(writes, 3u);
}

TEST_F(Lifecycle, ForeignConsumersAreKeptAndDoNotStopThePruning) {
  api::ResourceClaim claim = allocated({"p"});
  claim.status.reserved_for.push_back({"foo.com", "foos", "f", "f-uid"});
  view.put(claim);
  gone("p");
  EXPECT_EQ(pass(), "prune-reservations");
  EXPECT_EQ(body()["status"]["reservedFor"].size(), 1u);
  EXPECT_FALSE(body()["status"].contains("allocation"));
  view.claims.at("default/c").status.reserved_for = {{"foo.com", "foos", "f", "f-uid"}};
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, NothingIsWrittenBeforeEveryUnknownConsumerIsConfirmed) {
  view.put(allocated({"a", "b"}));
  EXPECT_EQ(pass(), "get a, get b");
  gone("a");
  EXPECT_EQ(pass(), "get b");
  gone("b");
  EXPECT_EQ(pass(), "deallocate");
}

// Seen with kube-controller-manager 1.36.2: the reservation goes, the allocation stays.
TEST_F(Lifecycle, AnAllocationOfAnotherClientWithoutTheFinalizerIsKept) {
  gone("p");
  for (const bool deleting : {false, true})
    for (const bool known_author : {true, false}) {
      api::ResourceClaim claim = allocated({"p"}, false);
      if (!known_author) claim.metadata.managed_fields.clear();
      if (deleting) claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
      view.put(claim);
      EXPECT_EQ(pass(), "prune-reservations");
      EXPECT_FALSE(body()["status"].contains("allocation"));
      view.claims.at("default/c").status.reserved_for.clear();
      EXPECT_EQ(pass(), "") << "and it is not freed afterwards either";
    }
}

TEST_F(Lifecycle, OurAllocationEndsWithItsConsumersBeforeItHasTheFinalizer) {
  api::ResourceClaim claim = allocated({"p"}, false);
  claim.metadata.managed_fields = {{std::string(kAllocationManager), "Update", "status"}};
  view.put(claim);
  gone("p");
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, AllocatedAndNeverReservedByOthersIsLeftAlone) {
  view.put(allocated({}));
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, DeletedWhileReserved) {
  api::ResourceClaim claim = allocated({"p"});
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  view.put(claim);
  gone("p");
  EXPECT_EQ(pass(), "deallocate");
  deallocated();
  view.ages["claim:default/c"] = 0s;
  EXPECT_EQ(pass(), "remove-finalizer") << "a deleted claim gets no allocation any more: no waiting";
}

TEST_F(Lifecycle, DeletedAllocatedAndNeverReserved) {
  api::ResourceClaim claim = allocated({});
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  view.put(claim);
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, OtherFinalizersStayAndTheProofGoes) {
  api::ResourceClaim claim = make_claim();
  claim.metadata.finalizers = {"a/b", std::string(api::kDeleteProtectionFinalizer), "c/d"};
  claim.metadata.annotations[std::string(kProofAnnotation)] = "p-uid/0";
  view.put(claim);
  EXPECT_EQ(pass(), "remove-finalizer") << "a crash between the two writes of a deallocation is repaired";
  EXPECT_EQ(body()["metadata"]["finalizers"], Json::parse(R"(["a/b","c/d"])"));
  EXPECT_EQ(body()["metadata"]["annotations"], Json::parse(R"({"dra-controller-manager/proven":null})"));
}

TEST_F(Lifecycle, AGeneratedClaimOfAFinishedPodIsDeleted) {
  api::Pod pod = make_pod("p", "");
  pod.phase = "Succeeded";
  view.put(pod);
  view.put(owned(allocated({"p"}), "p"));
  EXPECT_EQ(pass(), "deallocate");
  deallocated();
  view.ages["claim:default/c"] = 0s;
  EXPECT_EQ(pass(), "remove-finalizer");
  view.claims.at("default/c").metadata.finalizers.clear();
  EXPECT_EQ(pass(), "delete-claim");
  const Write write = std::get<Write>(last.effects.at(0));
  EXPECT_EQ(write.verb, Verb::kDelete);
  EXPECT_EQ(write.object.uid, "c-uid");
  EXPECT_EQ(write.resource_version, "6");
}

TEST_F(Lifecycle, AGeneratedClaimOfALivingPodStays) {
  view.put(make_pod("p", ""));
  view.put(owned(make_claim(), "p"));
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, AGeneratedClaimOfAReplacedPodIsDeletedOnceThatIsConfirmed) {
  api::Pod replaced = make_pod("p", "");
  replaced.metadata.uid = "another-uid";
  view.put(replaced);
  view.put(owned(make_claim(), "p"));
  EXPECT_EQ(pass(), "get p");
  gone("p");
  EXPECT_EQ(pass(), "delete-claim");
}

TEST_F(Lifecycle, WhosePodIsAbsentIsTheGarbageCollectorsFirst) {
  view.put(owned(make_claim(), "p"));
  view.ages["claim:default/c"] = 1s;
  EXPECT_EQ(pass(), "look again");
  EXPECT_EQ(last.requeue_after, 1s);
  view.ages["claim:default/c"] = 3s;
  EXPECT_EQ(pass(), "get p");
  gone("p");
  EXPECT_EQ(pass(), "delete-claim");
}

TEST_F(Lifecycle, AnotherOwnerKeepsAClaimWhosePodIsAbsent) {
  api::ResourceClaim claim = owned(make_claim(), "p");
  claim.metadata.owner_references.push_back({"example.com/v1", "Job", "j", "j-uid", false});
  view.put(claim);
  gone("p");
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, AnExtendedResourceClaimGoesWithItsPodLikeAnyOther) {
  api::Pod pod = make_pod("p", "");
  pod.phase = "Failed";
  pod.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"c", {}};
  view.put(pod);
  EnqueueRequests enqueued;
  api::Pod before = pod;
  before.phase = "Running";
  reconciler.on_pod(view, &before, &pod, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  view.put(owned(allocated({"p"}), "p"));
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, OurUnusedAllocationIsWithdrawnAfterAMinute) {
  api::ResourceClaim claim = allocated({});
  claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
  view.put(claim);
  view.ages["claim:default/c"] = 10s;
  EXPECT_EQ(pass(), "look again");
  view.ages["claim:default/c"] = 61s;
  view.claims.at("default/c").metadata.managed_fields.clear();
  EXPECT_EQ(pass(), "") << "nobody can tell whose it is: it may be another's";
  view.put(claim);
  EXPECT_EQ(pass(), "withdraw-unused");
  api::Pod pod = make_pod("p", "c");
  view.put(pod);
  EXPECT_EQ(pass(), "") << "somebody could use it";
}

// ---- reservations of pods bound by others

TEST_F(Lifecycle, ABoundPodGetsItsReservation) {
  view.put(make_pod("p", "c"));
  view.put(allocated({}));
  EXPECT_EQ(run(pod_key("default/p")), "reserve");
  EXPECT_EQ(body()["status"]["reservedFor"][0]["uid"], "p-uid");
}

TEST_F(Lifecycle, NoReservation) {
  struct Case {
    const char* name;
    void (*change)(api::Pod&, api::ResourceClaim&);
  };
  const Case cases[] = {
      {"not bound", [](api::Pod& p, api::ResourceClaim&) { p.node_name = ""; }},
      {"finished", [](api::Pod& p, api::ResourceClaim&) { p.phase = "Succeeded"; }},
      {"deleted", [](api::Pod& p, api::ResourceClaim&) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }},
      {"not allocated", [](api::Pod&, api::ResourceClaim& c) { c.status = {}; }},
      {"claim deleted", [](api::Pod&, api::ResourceClaim& c) { c.metadata.deletion_timestamp = "2026"; }},
      {"reserved",
       [](api::Pod&, api::ResourceClaim& c) {
         c.status.reserved_for = {{"", "pods", "p", "p-uid"}};
       }},
      {"not its claim",
       [](api::Pod& p, api::ResourceClaim&) {
         p.resource_claims[0] = {"gpu", std::nullopt, "tpl"};
         p.resource_claim_statuses = {{"gpu", "c"}};
       }},
      {"ours and not proven",
       [](api::Pod&, api::ResourceClaim& c) {
         c.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
       }},
  };
  for (const Case& c : cases) {
    api::Pod pod = make_pod("p", "c");
    api::ResourceClaim claim = allocated({});
    c.change(pod, claim);
    view.put(pod);
    view.put(claim);
    EXPECT_EQ(run(pod_key("default/p")), "") << c.name;
  }
}

TEST_F(Lifecycle, AProvenAllocationOfOursIsReserved) {
  view.put(make_pod("p", "c"));
  api::ResourceClaim claim = allocated({});
  claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
  claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value("p-uid", *claim.status.allocation);
  view.put(claim);
  EXPECT_EQ(run(pod_key("default/p")), "reserve");
}

TEST_F(Lifecycle, AMissingClaimDoesNotHoldUpTheNext) {  // upstream stops at it, with success
  api::Pod pod = make_pod("p", "missing");
  pod.resource_claims.push_back({"second", "c", std::nullopt});
  view.put(pod);
  view.put(allocated({}));
  EXPECT_EQ(run(pod_key("default/p")), "reserve");
}

TEST_F(Lifecycle, AFullClaimIsReported) {
  view.put(make_pod("p", "c"));
  api::ResourceClaim claim = allocated({});
  for (size_t i = 0; i < api::kMaxReservedFor; ++i)
    claim.status.reserved_for.push_back({"", "pods", "x", "x" + std::to_string(i)});
  view.put(claim);
  EXPECT_EQ(run(pod_key("default/p")), "event FailedReservation");
}

TEST_F(Lifecycle, ATerminalPodIsNeverReservedAgain) {  // upstream oscillates, 210 writes in 10 s
  api::Pod done = make_pod("done", "c");
  done.phase = "Succeeded";
  view.put(done);
  view.put(make_pod("alive", "c"));
  view.put(allocated({"alive"}));
  EXPECT_EQ(run(pod_key("default/done")), "");
  EXPECT_EQ(pass(), "");
  view.put(allocated({}));
  EXPECT_EQ(run(pod_key("default/done")), "") << "upstream reserves it, prunes it and clears the allocation";
  EXPECT_EQ(pass(), "");
}

TEST_F(Lifecycle, EveryStateReachedIsStable) {
  // Reconciles come to an end from every start: no state causes writes forever.
  for (const bool finalizer : {false, true})
    for (const bool owner : {false, true})
      for (const char* phase : {"Running", "Succeeded", ""}) {
        view = MemoryView();
        if (*phase) {
          api::Pod pod = make_pod("p", owner ? "" : "c");
          pod.phase = phase;
          view.put(pod);
        } else {
          gone("p");
        }
        api::ResourceClaim claim = allocated({"p"}, finalizer);
        view.put(owner ? owned(claim, "p") : claim);
        int writes = 0;
        for (; writes < 10; ++writes) {
          const std::string did = pass();
          api::ResourceClaim& now = view.claims.at("default/c");
          if (did == "deallocate") {
            now.status = {};
          } else if (did == "prune-reservations") {
            now.status.reserved_for.clear();
          } else if (did == "remove-finalizer") {
            now.metadata.finalizers.clear();
          } else if (did == "delete-claim") {
            view.claims.clear();
            break;
          } else {
            EXPECT_EQ(did, "");
            break;
          }
        }
        EXPECT_LE(writes, 3) << finalizer << owner << phase;
      }
}

// ---- which keys a change concerns

TEST_F(Lifecycle, ClaimEvents) {
  const api::ResourceClaim claim = make_claim();
  EnqueueRequests enqueued;
  reconciler.on_claim(view, nullptr, &claim, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  enqueued = {};
  reconciler.on_claim(view, &claim, nullptr, enqueued);
  EXPECT_TRUE(enqueued.keys.empty());
  view.put(make_pod("p", "c"));
  const api::ResourceClaim now = allocated({});
  view.put(now);
  reconciler.on_claim(view, &claim, &now, enqueued);
  EXPECT_EQ(enqueued.keys, (std::vector<Key>{claim_key("default/c"), pod_key("default/p")}));
}

TEST_F(Lifecycle, PodEvents) {
  api::Pod pod = make_pod("p", "c");
  EnqueueRequests enqueued;
  reconciler.on_pod(view, nullptr, &pod, enqueued);
  EXPECT_TRUE(enqueued.keys.empty()) << "running, nothing to reserve";
  api::Pod done = pod;
  done.phase = "Succeeded";
  reconciler.on_pod(view, &pod, &done, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  enqueued = {};
  reconciler.on_pod(view, &pod, nullptr, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  enqueued = {};
  test::WholeController backup(parts(Options{30s, 5s, 2s, 60s}));
  backup.on_pod(view, &pod, nullptr, enqueued);
  EXPECT_TRUE(enqueued.keys.empty());
  ASSERT_EQ(enqueued.delayed.size(), 1u);
  EXPECT_EQ(enqueued.delayed[0].second, 30s);
}

TEST_F(Lifecycle, APodThatDoesNotNameItsClaimFreesItAllTheSame) {
  const api::Pod pod = make_pod("p", "");
  view.put(pod);
  view.put(allocated({"p"}));
  EXPECT_EQ(pass(), "") << "alive";
  view.pods.clear();
  view.live_get({Kind::kPod, "default", "p", "p-uid"}, Presence::kAbsent);
  EnqueueRequests enqueued;
  reconciler.on_pod(view, &pod, nullptr, enqueued);
  ASSERT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, AsABackUpItActsOnlyOnWhatHasStood) {
  test::WholeController backup(parts(Options{30s, 5s, 2s, 60s}));
  view.put(allocated({"p"}));
  gone("p");
  view.ages["claim:default/c"] = 10s;
  EXPECT_TRUE(backup.reconcile(view, claim_key("default/c")).effects.empty());
  EXPECT_EQ(backup.reconcile(view, claim_key("default/c")).requeue_after, 20s);
  view.ages["claim:default/c"] = 31s;
  EXPECT_TRUE(backup.reconcile(view, claim_key("default/c")).has_writes());
}

// kube-scheduler removes a pod that we ungated from reservedFor when binding fails, and may bind it later without
// another write of the claim.
class Unreserved : public Lifecycle {
 protected:
  // A proven claim, reserved for some pods, with these pods listed as users.
  api::ResourceClaim proven(std::vector<std::string> reserved, std::vector<std::string> users) {
    api::ResourceClaim claim = allocated(std::move(reserved));
    claim.metadata.managed_fields.push_back({std::string(kAllocationManager), "Update", "status"});
    claim.metadata.annotations[std::string(kProofAnnotation)] = proof_value("p-uid", *claim.status.allocation);
    std::string list;
    for (const std::string& user : users) list += (list.empty() ? "" : ",") + user + "/" + user + "-uid";
    claim.metadata.annotations[std::string(kProvenForAnnotation)] = list;
    view.put(claim);
    return claim;
  }
  void put_unbound(const std::string& name) {
    api::Pod pod = make_pod(name, "c");
    pod.node_name.clear();
    pod.phase = "Pending";
    view.put(pod);
  }
  Json status() const { return Json::parse(std::get<Write>(last.effects.at(0)).body)["status"]; }
};

TEST_F(Unreserved, APodOnTheListOfUsersGetsItsReservationBack) {
  api::ResourceClaim claim = proven({}, {"p", "q"});
  struct Case {
    const char* name;
    const char* pod;
    void (*change)(api::Pod&);
    const char* did;
  };
  const Case cases[] = {
      {"the pod that proved the claim", "p", [](api::Pod&) {}, "reserve"},
      {"a second consumer", "q", [](api::Pod&) {}, "reserve"},
      {"still gated", "p", [](api::Pod& pod) { pod.scheduling_gates = {"dra-controller-manager/allocation"}; }, ""},
      {"being deleted", "p", [](api::Pod& pod) { pod.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }, ""},
      {"a pod of kube-scheduler's", "r", [](api::Pod&) {}, ""},
  };
  for (const Case& c : cases) {
    api::Pod pod = make_pod(c.pod, "c");
    pod.node_name.clear();
    c.change(pod);
    view.put(pod);
    EXPECT_EQ(run(pod_key(std::string("default/") + c.pod)), c.did) << c.name;
  }
  claim.status.allocation->results[0].device = "dev-1";
  view.put(claim);
  put_unbound("p");
  EXPECT_EQ(run(pod_key("default/p")), "") << "the allocation changed under the mark";
}

TEST_F(Unreserved, TheLastReservationDoesNotTakeTheAllocationFromAPodThatWasLetGo) {
  proven({"a"}, {"a", "x"});
  gone("a");
  EXPECT_EQ(pass(), "get x") << "our view of pods may lack it";
  view.live_get({Kind::kPod, "default", "x", "x-uid"}, Presence::kPresent);
  ASSERT_EQ(pass(), "prune-reservations");
  EXPECT_FALSE(status().contains("allocation"));
  EXPECT_TRUE(status()["reservedFor"].is_null());
  put_unbound("x");
  ASSERT_EQ(pass(), "prune-reservations");
  EXPECT_FALSE(status().contains("allocation"));
  EXPECT_EQ(status()["reservedFor"], Json::parse(R"([{"resource":"pods","name":"x","uid":"x-uid"}])"));
  view.pods.clear();
  gone("x");
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Unreserved, NorFromABoundPodThatWaitsForItsReservation) {
  proven({"a"}, {"a"});
  gone("a");
  view.put(make_pod("bound", "c"));
  ASSERT_EQ(pass(), "prune-reservations");
  EXPECT_FALSE(status().contains("allocation"));
  EXPECT_EQ(status()["reservedFor"][0]["name"], "bound");
}

TEST_F(Unreserved, NorDoesTheDeletionOfTheClaim) {
  api::ResourceClaim claim = proven({}, {"x"});
  claim.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  view.put(claim);
  put_unbound("x");
  EXPECT_EQ(pass(), "event DeletionWaits") << "the API server allows no new reservation";
  view.put(make_pod("x", "c"));
  EXPECT_EQ(pass(), "event DeletionWaits") << "it may be running";
  view.pods.clear();
  gone("x");
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Unreserved, AProvenClaimThatNobodyUsesIsFreedAtOnce) {
  proven({}, {"p"});
  EXPECT_EQ(pass(), "get p");
  view.live_get({Kind::kPod, "default", "p", "p-uid"}, Presence::kPresent);
  EXPECT_EQ(pass(), "");
  gone("p");
  put_unbound("r");  // names the claim, and can use it only on the claim's node
  EXPECT_EQ(pass(), "deallocate");
}

// A pod without a gate left (docs/design/arbitration.md, P8). Others may have bound it before its reservation was
// removed.
TEST_F(Unreserved, WhatAPodLeftWithoutAGateIsFreedOnlyWhenTheServerShowsItUnbound) {
  api::ResourceClaim claim = proven({}, {});
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "p/~p-uid";
  view.put(claim);
  put_unbound("p");
  const Ref pod{Kind::kPod, "default", "p", "p-uid"};
  EXPECT_EQ(pass(), "get p") << "our view of pods may be old";
  view.live_get(pod, Presence::kPresent, "c-uid@4");
  EXPECT_EQ(pass(), "get p") << "so was it bound after this version of the claim?";
  view.live_get(pod, Presence::kPresent, "c-uid@5");
  EXPECT_EQ(pass(), "deallocate");
  view.put(make_pod("p", "c"));
  EXPECT_EQ(pass(), "") << "bound";
  EXPECT_EQ(run(pod_key("default/p")), "reserve");
}

TEST_F(Unreserved, WhoLeftStaysKnownWhenTheFinalizerGoes) {
  api::ResourceClaim claim = proven({}, {});
  claim.status = {};
  claim.metadata.annotations[std::string(kProvenForAnnotation)] = "a/a-uid,p/~p-uid";
  view.put(claim);
  ASSERT_EQ(pass(), "remove-finalizer");
  const Json annotations = body()["metadata"]["annotations"];
  EXPECT_TRUE(annotations[kProofAnnotation].is_null());
  EXPECT_EQ(annotations[kProvenForAnnotation], "p/~p-uid");
}

// A pod that others bound, with 200 claims in 64 KiB and more: the last of them is "c". Only 128 are kept.
api::Pod pod_with_more_claims_than_are_kept() {
  api::Pod pod = make_pod("many", "");
  for (int i = 0; i < 199; ++i)
    pod.resource_claims.push_back({std::string(200, 'e') + std::to_string(i), "other" + std::to_string(i)});
  pod.resource_claims.push_back({std::string(20'000, 'e'), "c"});
  api::drop_beyond_bounds(pod);
  EXPECT_TRUE(api::may_have_more_claims(pod));
  EXPECT_EQ(pod.resource_claims.size(), api::kMaxKeptEntries);
  return pod;
}

TEST_F(Unreserved, NoClaimIsFreedThatAPodWithTooManyClaimsMayUse) {
  const api::Pod many = pod_with_more_claims_than_are_kept();
  view.put(many);
  // Proven, and kube-scheduler removed the reservation.
  proven({}, {});
  EXPECT_EQ(pass(), "event DevicesKept, look again");
  // Its last consumer is gone: the list stays too, or nothing would free the claim afterwards.
  view.put(allocated({"a"}));
  gone("a");
  EXPECT_EQ(pass(), "event DevicesKept, look again");
  // Ours, unproven, and no pod is known that could use it.
  api::ResourceClaim ours = allocated({});
  ours.metadata.managed_fields = {{std::string(kAllocationManager), "Update", "status"}};
  view.put(ours);
  EXPECT_EQ(pass(), "event DevicesKept, look again");
  // Its end is all that was missing.
  api::Pod done = many;
  done.phase = "Succeeded";
  view.put(done);
  EXPECT_EQ(pass(), "withdraw-unused");
  view.put(allocated({"a"}));
  EXPECT_EQ(pass(), "deallocate");
  proven({}, {});
  EXPECT_EQ(pass(), "deallocate");
  // Nor do pods matter that do not run yet, or that run elsewhere.
  api::Pod waiting = many;
  waiting.node_name.clear();
  view.put(waiting);
  EXPECT_EQ(pass(), "deallocate");
  view.pods.clear();
  api::Pod elsewhere = many;
  elsewhere.metadata.ns = "other";
  view.put(elsewhere);
  EXPECT_EQ(pass(), "deallocate");
}

TEST_F(Lifecycle, AClaimThatItsRunningPodNoLongerNamesIsReported) {
  api::ResourceClaim claim = owned(allocated({"p"}), "p");
  claim.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = "gpu";
  view.put(claim);
  api::Pod pod = make_pod("p", "");
  pod.resource_claims.push_back({"gpu", std::nullopt, "tpl"});
  pod.resource_claim_statuses = {{"gpu", "c"}};
  view.put(pod);
  EXPECT_EQ(pass(), "");
  const api::Pod before = pod;
  pod.resource_claim_statuses = {{"gpu", "d"}};
  view.put(pod);
  EnqueueRequests enqueued;
  reconciler.on_pod(view, &before, &pod, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{claim_key("default/c")});
  EXPECT_EQ(pass(), "event ClaimSuperseded");
  pod.scheduling_gates = {"dra-controller-manager/allocation"};
  pod.node_name.clear();
  view.put(pod);
  EXPECT_EQ(pass(), "") << "the allocation controller takes it back";
}

}  // namespace dra::lifecycle::lifecycle_test
