// The situations of kube-controller-manager's resourceclaim controller that concern the creation of claims, and its
// defects that were reproduced on 1.36, each as a table of what a reconcile returns.
#include <nlohmann/json.hpp>

#include "controllers/claimtemplate/claimtemplate_fixture.h"
#include "pkg/base/timestamp.h"

namespace dra::claimtemplate::claimtemplate_test {

using namespace protocol;
using namespace reconcile;
using Json = nlohmann::json;

TEST_F(ClaimTemplate, CreatesAndPublishes) {
  view.put(make_pod("p", {"gpu"}));
  view.put(make_template("tpl"));
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(w[0].verb, Verb::kCreate);
  EXPECT_EQ(w[0].object.name, generated("gpu"));
  const Json body = Json::parse(w[0].body);
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "p-uid");
  EXPECT_EQ(body["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"], "gpu");
  EXPECT_EQ(w[0].on_success.at(0).labels, (Labels{{"status", "success"}, {"admin_access", "false"}}));
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"gpu=" + generated("gpu")});
  EXPECT_EQ(Json::parse(w[1].body)["metadata"]["uid"], "p-uid");
}

TEST_F(ClaimTemplate, CountsAdminAccess) {
  view.put(make_pod("p", {"gpu"}));
  api::ResourceClaimTemplate admin = make_template("tpl");
  admin.spec.requests[0].exactly->admin_access = true;
  view.put(admin);
  EXPECT_EQ(writes(pass()).at(0).on_failure.at(0).labels, (Labels{{"status", "failure"}, {"admin_access", "true"}}));
}

TEST_F(ClaimTemplate, AGatedPodGetsItsClaims) {
  api::Pod pod = make_pod("p", {"gpu"});
  pod.scheduling_gates = {"dra-controller-manager/allocation"};
  view.put(pod);
  view.put(make_template("tpl"));
  EXPECT_EQ(writes(pass()).size(), 2u);
}

TEST_F(ClaimTemplate, NothingToDo) {
  struct Case {
    const char* name;
    void (*change)(MemoryView&, api::Pod&);
  };
  const Case cases[] = {
      {"no such pod", [](MemoryView& v, api::Pod&) { v.pods.clear(); }},
      {"pod deleted", [](MemoryView&, api::Pod& p) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }},
      {"pod succeeded", [](MemoryView&, api::Pod& p) { p.phase = "Succeeded"; }},
      {"pod failed", [](MemoryView&, api::Pod& p) { p.phase = "Failed"; }},
      {"no claims", [](MemoryView&, api::Pod& p) { p.resource_claims.clear(); }},
      {"a claim of the user's",
       [](MemoryView&, api::Pod& p) {
         p.resource_claims[0] = {"gpu", "mine", std::nullopt};
       }},
      {"no claim needed",
       [](MemoryView&, api::Pod& p) {
         p.resource_claim_statuses = {{"gpu", std::nullopt}};
       }},
      {"claim there and published",
       [](MemoryView& v, api::Pod& p) {
         v.put(make_claim("c", p, "gpu"));
         p.resource_claim_statuses = {{"gpu", "c"}};
       }},
      {"entry of a newer API",
       [](MemoryView&, api::Pod& p) {
         p.resource_claims[0] = {"gpu", {}, {}};
       }},
  };
  for (const Case& c : cases) {
    view = MemoryView();
    view.put(make_template("tpl"));
    api::Pod pod = make_pod("p", {"gpu"});
    view.put(pod);
    c.change(view, pod);
    if (!view.pods.empty()) view.put(pod);
    EXPECT_TRUE(pass().effects.empty()) << c.name;
  }
}

TEST_F(ClaimTemplate, RecreatesAPublishedClaimOnlyAfterItsAbsenceIsConfirmed) {
  api::Pod pod = make_pod("p", {"gpu"});
  pod.resource_claim_statuses = {{"gpu", "lost"}};
  view.put(pod);
  view.put(make_template("tpl"));
  const ReconcileResult first = pass();
  EXPECT_TRUE(writes(first).empty());
  ASSERT_EQ(only<LiveGet>(first).size(), 1u);
  EXPECT_EQ(only<LiveGet>(first)[0].object, (Ref{Kind::kClaim, "default", "lost", ""}));
  view.live_get({Kind::kClaim, "default", "lost", ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"gpu=" + generated("gpu")});
}

TEST_F(ClaimTemplate, MissingTemplateIsConfirmedThenReportedOnce) {
  view.put(make_pod("p", {"gpu"}));
  ASSERT_EQ(only<LiveGet>(pass()).size(), 1u);
  view.live_get({Kind::kClaimTemplate, "default", "tpl", ""}, Presence::kAbsent);
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  EXPECT_FALSE(outcome.requeue_after) << "the template's arrival wakes the pod, no timer";
  const std::vector<Event> events = only<Event>(outcome);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].note, "PodResourceClaim gpu: resourceclaimtemplates \"tpl\" not found");
  view.emitted[{"p-uid", "FailedResourceClaimCreation"}] = events[0].signature;
  EXPECT_TRUE(pass().effects.empty());
  EnqueueRequests enqueued;
  view.put(make_template("tpl"));
  reconciler.on_claim_template(view, nullptr, view.claim_template("default/tpl"), enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
  EXPECT_EQ(writes(pass()).size(), 2u);
}

TEST_F(ClaimTemplate, ATemplateThatCannotBeReadIsReported) {
  view.put(make_pod("p", {"gpu"}));
  view.live_get({Kind::kClaimTemplate, "default", "tpl", ""}, Presence::kPresent);
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  ASSERT_EQ(only<Event>(outcome).size(), 1u);
  EXPECT_NE(only<Event>(outcome)[0].note.find("\"tpl\" exists, and the watch has not shown it in a form"),
            std::string::npos);
}

TEST_F(ClaimTemplate, ATemplateThatIsTooLargeIsRefusedByName) {
  view.put(make_pod("p", {"gpu"}));
  api::ResourceClaimTemplate large = make_template("tpl");
  large.spec = {};
  large.spec_json.clear();
  large.bytes_dropped = 100 << 10;
  view.put(large);
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty()) << "no claim without a spec";
  ASSERT_EQ(only<Event>(outcome).size(), 1u);
  EXPECT_NE(only<Event>(outcome)[0].note.find("has a spec of 100 KiB, and at most 64 KiB"), std::string::npos);
}

TEST_F(ClaimTemplate, ATemplateMayFollowItsPodWithinTwoSeconds) {
  api::Pod pod = make_pod("p", {"gpu"});
  pod.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::milliseconds(500));
  view.put(pod);
  view.live_get({Kind::kClaimTemplate, "default", "tpl", ""}, Presence::kAbsent);
  const ReconcileResult young = pass();
  EXPECT_TRUE(young.effects.empty());
  EXPECT_TRUE(young.requeue_after);
  view.time += std::chrono::seconds(3);
  EXPECT_EQ(only<Event>(pass()).size(), 1u);
}

TEST_F(ClaimTemplate, AdoptsAClaimThatWasMadeButNotPublished) {
  const api::Pod pod = make_pod("p", {"gpu"});
  view.put(pod);
  view.put(make_claim("p-gpu-x7x7x", pod, "gpu"));  // made by another controller; no template is needed any more
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 1u);
  EXPECT_EQ(published(w[0]), std::vector<std::string>{"gpu=p-gpu-x7x7x"});
}

TEST_F(ClaimTemplate, AdoptsTheSameOneOfSeveralEveryTime) {
  const api::Pod pod = make_pod("p", {"gpu"});
  view.put(pod);
  view.put(make_claim("b", pod, "gpu"));
  view.put(make_claim("a", pod, "gpu"));
  EXPECT_EQ(published(writes(pass())[0]), std::vector<std::string>{"gpu=a"});
  view.put(make_claim(generated("gpu"), pod, ""));
  EXPECT_EQ(published(writes(pass())[0]), std::vector<std::string>{"gpu=" + generated("gpu")});
  api::ResourceClaim allocated = make_claim("b", pod, "gpu");
  allocated.status.allocation.emplace();
  view.put(allocated);
  EXPECT_EQ(published(writes(pass())[0]), std::vector<std::string>{"gpu=b"});
}

TEST_F(ClaimTemplate, UnrelatedClaimsAreNotTaken) {
  view.put(make_pod("p", {"gpu"}));
  view.put(make_template("tpl"));
  view.put(make_claim("p-gpu", make_pod("other", {}), "gpu"));
  EXPECT_EQ(writes(pass()).size(), 2u);
}

TEST_F(ClaimTemplate, APublishedClaimOfSomebodyElseIsReplaced) {
  api::Pod pod = make_pod("p", {"gpu"});
  pod.resource_claim_statuses = {{"gpu", "theirs"}};
  view.put(pod);
  view.put(make_template("tpl"));
  view.put(make_claim("theirs", make_pod("other", {}), "gpu"));
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"gpu=" + generated("gpu")});
}

TEST_F(ClaimTemplate, ATakenNameIsReportedAndNotAdopted) {
  view.put(make_pod("p", {"gpu"}));
  view.put(make_template("tpl"));
  view.put(make_claim(generated("gpu"), make_pod("other", {}), "gpu"));
  const ReconcileResult outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  ASSERT_EQ(only<Event>(outcome).size(), 1u);
  EXPECT_NE(only<Event>(outcome)[0].note.find(generated("gpu")), std::string::npos);
}

TEST_F(ClaimTemplate, WaitsForAnOwnClaimThatIsBeingDeleted) {
  const api::Pod pod = make_pod("p", {"gpu"});
  view.put(pod);
  view.put(make_template("tpl"));
  api::ResourceClaim going = make_claim(generated("gpu"), pod, "gpu");
  going.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  view.put(going);
  EXPECT_TRUE(pass().effects.empty());
  view.claims.clear();
  EnqueueRequests enqueued;
  reconciler.on_claim(view, &going, nullptr, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
}

TEST_F(ClaimTemplate, DoesNotTouchTheTemplate) {  // upstream writes the annotation into the cached template
  view.put(make_pod("p", {"gpu"}));
  view.put(make_template("tpl"));
  pass();
  EXPECT_TRUE(view.templates.at("default/tpl").claim_annotations.empty());
}

TEST_F(ClaimTemplate, LosingOneOfThreeClaimsSettlesInTwoWrites) {  // upstream alternates forever, 250 writes in 12 s
  api::Pod pod = make_pod("p", {"a", "b", "c"});
  for (const char* entry : {"a", "b", "c"}) {
    view.put(make_claim(std::string("claim-") + entry, pod, entry));
    pod.resource_claim_statuses.push_back({entry, std::string("claim-") + entry});
  }
  view.put(pod);
  view.put(make_template("tpl"));
  EXPECT_TRUE(pass().effects.empty());
  view.claims.erase("default/claim-b");
  view.live_get({Kind::kClaim, "default", "claim-b", ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), (std::vector<std::string>{"a=claim-a", "b=" + generated("b"), "c=claim-c"}));
  view.put(make_claim(generated("b"), pod, "b"));
  pod.resource_claim_statuses[1].resource_claim_name = generated("b");
  view.put(pod);
  EXPECT_TRUE(pass().effects.empty());
}

TEST_F(ClaimTemplate, DeletingThePublishedClaimMakesANewOne) {  // upstream finds a ghost in its cache and waits an hour
  api::Pod pod = make_pod("p", {"gpu"});
  view.put(make_template("tpl"));
  pod.resource_claim_statuses = {{"gpu", generated("gpu")}};
  view.put(pod);
  view.live_get({Kind::kClaim, "default", generated("gpu"), ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 1u) << "the same name again: nothing new to publish";
  EXPECT_EQ(w[0].verb, Verb::kCreate);
}

TEST_F(ClaimTemplate, OneBadEntryDoesNotHoldUpTheGoodOnes) {
  api::Pod pod = make_pod("p", {"bad", "good"});
  pod.resource_claims[0].resource_claim_template_name = "absent";
  view.put(pod);
  view.put(make_template("tpl"));
  view.live_get({Kind::kClaimTemplate, "default", "absent", ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"good=" + generated("good")});
}

TEST_F(ClaimTemplate, AfterAFailedCreateTheOthersArePublishedFirst) {
  const api::Pod pod = make_pod("p", {"a", "b"});
  view.put(pod);
  view.put(make_template("tpl"));
  EXPECT_EQ(writes(pass()).size(), 3u);
  view.put(make_claim(generated("a"), pod, "a"));  // the first create succeeded, the second was refused
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[0]), std::vector<std::string>{"a=" + generated("a")});
  EXPECT_EQ(w[1].verb, Verb::kCreate);
  ASSERT_TRUE(w[1].failure_event);
  EXPECT_EQ(w[1].failure_event->reason, "FailedResourceClaimCreation");
}

TEST_F(ClaimTemplate, TenThousandPassesWithALaggingWatchCreateTheSameNames) {
  for (int i = 0; i < 10'000; ++i) {
    api::Pod pod = make_pod("p" + std::to_string(i), {"gpu"});
    view.put(pod);
  }
  view.put(make_template("tpl"));
  for (int i = 0; i < 10'000; i += 97) {
    const Key key = pod_key("default/p" + std::to_string(i));
    EXPECT_EQ(writes(reconciler.reconcile(view, key))[0].object.name,
              writes(reconciler.reconcile(view, key))[0].object.name);
  }
}

TEST_F(ClaimTemplate, TemplateEventsWakeItsPodsInItsNamespaceOnly) {
  view.put(make_pod("uses", {"gpu"}));
  api::Pod other = make_pod("other-template", {"gpu"});
  other.resource_claims[0].resource_claim_template_name = "another";
  view.put(other);
  api::Pod elsewhere = make_pod("elsewhere", {"gpu"});
  elsewhere.metadata.ns = "other";
  view.put(elsewhere);
  const api::ResourceClaimTemplate made = make_template("tpl");
  EnqueueRequests enqueued;
  reconciler.on_claim_template(view, nullptr, &made, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/uses")});
  enqueued = {};
  reconciler.on_claim_template(view, &made, nullptr, enqueued);
  EXPECT_TRUE(enqueued.keys.empty());
}

}  // namespace dra::claimtemplate::claimtemplate_test
