#include "controllers/claimtemplate/claimtemplate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/reconcile/memory_view.h"
#include "pkg/reconcile/pod_claims.h"

// The situations of kube-controller-manager's resourceclaim controller that concern the making of claims, and the
// defects of it that were reproduced on 1.36, each as a table of what a pass returns.
namespace dra::claimtemplate::claimtemplate_test {

using namespace reconcile;
using Json = nlohmann::json;

api::Pod make_pod(const std::string& name, std::vector<std::string> entries) {
  api::Pod pod;
  pod.metadata.ns = "default";
  pod.metadata.name = name;
  pod.metadata.uid = name + "-uid";
  pod.phase = "Pending";
  for (const std::string& entry : entries) pod.resource_claims.push_back({entry, std::nullopt, "tpl"});
  return pod;
}

api::ResourceClaimTemplate make_template(const std::string& name) {
  api::ResourceClaimTemplate made;
  made.metadata.ns = "default";
  made.metadata.name = name;
  made.spec_json = R"({"devices":{"requests":[{"name":"gpu","exactly":{"deviceClassName":"gpu"}}]}})";
  made.spec.requests.push_back({"gpu", api::DeviceSubRequest{}, {}});
  return made;
}

api::ResourceClaim make_claim(const std::string& name, const api::Pod& owner, const std::string& entry) {
  api::ResourceClaim claim;
  claim.metadata.ns = "default";
  claim.metadata.name = name;
  claim.metadata.uid = name + "-uid";
  claim.metadata.resource_version = "1";
  claim.metadata.owner_references.push_back({"v1", "Pod", owner.metadata.name, owner.metadata.uid, true});
  if (!entry.empty()) claim.metadata.annotations[std::string(api::kPodClaimNameAnnotation)] = entry;
  return claim;
}

class ClaimTemplate : public testing::Test {
 protected:
  Outcome pass() { return reconciler.reconcile(view, pod_key("default/p")); }
  std::vector<Write> writes(const Outcome& outcome) {
    std::vector<Write> found;
    for (const Effect& effect : outcome.effects)
      if (const Write* write = std::get_if<Write>(&effect)) found.push_back(*write);
    return found;
  }
  template <typename T>
  std::vector<T> only(const Outcome& outcome) {
    std::vector<T> found;
    for (const Effect& effect : outcome.effects)
      if (const T* one = std::get_if<T>(&effect)) found.push_back(*one);
    return found;
  }
  // The published entries that an apply carries: "entry=name".
  static std::vector<std::string> published(const Write& write) {
    EXPECT_EQ(write.verb, Verb::kApply);
    EXPECT_EQ(write.subresource, "status");
    std::vector<std::string> entries;
    const Json body = Json::parse(write.body);
    for (const Json& entry : body["status"]["resourceClaimStatuses"])
      entries.push_back(entry["name"].get<std::string>() + "=" + entry.value("resourceClaimName", "(none)"));
    return entries;
  }
  std::string generated(const std::string& entry) const { return generated_claim_name("p", entry, "p-uid"); }

  MemoryView view;
  ClaimTemplateReconciler reconciler{Options{}};
};

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

// ---- pods that the gate holds get their names with their node

class HeldPod : public ClaimTemplate {
 protected:
  HeldPod() {
    reconciler = ClaimTemplateReconciler(Options{"our-gate", std::chrono::seconds(5)});
    pod.scheduling_gates = {"our-gate"};
    view.put(make_template("tpl"));
  }
  void put_claim(const std::string& entry, const std::string& node, Duration age = {}) {
    api::ResourceClaim claim = make_claim(generated(entry), pod, entry);
    if (!node.empty()) {
      claim.status.allocation.emplace();
      if (node != "*")
        claim.status.allocation->node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {node}}}}}};
    }
    view.put(claim);
    view.ages[to_text(claim_key(claim.metadata.key()))] = age;
  }
  // What a pass publishes: "names@node", "" without a node; "nothing" where it publishes nothing.
  std::string pass_publishes() {
    view.put(pod);
    last = pass();
    for (const Write& write : writes(last))
      if (write.verb == Verb::kApply)
        return "names@" + Json::parse(write.body)["status"].value("nominatedNodeName", std::string());
    return "nothing";
  }
  void publish_names() { pod.resource_claim_statuses = {{"gpu", generated("gpu")}}; }
  void nominate(const std::string& node) {
    pod.nominated_node_name = node;
    pod.metadata.managed_fields = {{std::string(kFieldManager), "Apply", "status", true}};
  }

  api::Pod pod = make_pod("p", {"gpu"});
  Outcome last;
};

TEST_F(HeldPod, GetsItsNamesWithTheNodeOfItsAllocation) {
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(writes(last).size(), 1u) << "the claim is created all the same";
  EXPECT_EQ(last.look_again, Duration(std::chrono::seconds(5)));
  put_claim("gpu", "", std::chrono::seconds(2));
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(last.look_again, Duration(std::chrono::seconds(3)));
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "names@n1");
  put_claim("gpu", "*");
  EXPECT_EQ(pass_publishes(), "names@") << "devices that several nodes reach leave the node to kube-scheduler";
}

TEST_F(HeldPod, GetsItsNamesWithoutANodeWhenNoneIsFoundInTime) {
  put_claim("gpu", "", std::chrono::seconds(5));
  EXPECT_EQ(pass_publishes(), "names@");
  publish_names();
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_FALSE(last.look_again);
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "nothing") << "kube-scheduler nominates then; it is not worth a write of its own";
}

TEST_F(HeldPod, AllClaimsCount) {
  pod = make_pod("p", {"gpu", "nic"});
  pod.scheduling_gates = {"our-gate"};
  put_claim("gpu", "n1");
  put_claim("nic", "");
  EXPECT_EQ(pass_publishes(), "nothing");
  put_claim("nic", "n1");
  EXPECT_EQ(pass_publishes(), "names@n1");
}

TEST_F(HeldPod, ANodeThatWasNominatedFollowsTheAllocation) {
  publish_names();
  nominate("n1");
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "nothing");
  put_claim("gpu", "");
  EXPECT_EQ(pass_publishes(), "nothing") << "withdrawn just now, and most likely allocated anew in a moment";
  EXPECT_TRUE(last.look_again);
  put_claim("gpu", "n2");
  EXPECT_EQ(pass_publishes(), "names@n2");
  put_claim("gpu", "", std::chrono::seconds(5));
  EXPECT_EQ(pass_publishes(), "names@");
}

TEST_F(HeldPod, ANodeThatOthersNominatedIsTheirs) {
  nominate("elsewhere");
  for (const api::ManagedFieldsEntry& theirs :
       {api::ManagedFieldsEntry{"kueue", "Apply", "status", true},
        api::ManagedFieldsEntry{std::string(kFieldManager), "Apply", "status", false}}) {
    pod.metadata.managed_fields = {theirs};
    for (const char* node : {"", "n1"}) {
      put_claim("gpu", node, std::chrono::hours(1));
      pod.resource_claim_statuses.clear();
      EXPECT_EQ(pass_publishes(), "names@") << theirs.manager << " " << node;
      publish_names();
      EXPECT_EQ(pass_publishes(), "nothing") << theirs.manager << " " << node;
    }
  }
}

TEST_F(HeldPod, ANominationIsKeptWhileTheClaimIsOnItsWayToUsAndGoesWithTheAllocation) {
  publish_names();
  nominate("n1");
  EXPECT_EQ(pass_publishes(), "nothing") << "the pod's stream is ahead of the claims'";
  put_claim("gpu", "", std::chrono::hours(1));
  pod.scheduling_gates = {};
  EXPECT_EQ(pass_publishes(), "names@") << "withdrawn before --release-gates lifted the gate";
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "nothing") << "kube-scheduler is on its way there";
  pod.node_name = "n1";
  pod.nominated_node_name.clear();
  EXPECT_EQ(pass_publishes(), "nothing");
}

TEST_F(HeldPod, AReplacedClaimIsPublishedAtOnce) {
  pod.resource_claim_statuses = {{"gpu", "gone"}};
  view.confirm({Kind::kClaim, "default", "gone", ""}, Presence::kAbsent);
  EXPECT_EQ(pass_publishes(), "names@") << "allocation looks for the published one as long as it is published";
  api::ResourceClaim strangers = make_claim("gone", make_pod("other", {}), "gpu");
  strangers.status.allocation.emplace();
  strangers.status.allocation->node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"far"}}}}}};
  view.put(strangers);
  EXPECT_EQ(pass_publishes(), "names@");
}

TEST_F(HeldPod, WaitsForNothingThatCannotCome) {
  pod.resource_claims.push_back({"mine", "my-claim", std::nullopt});
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "names@") << "the user's claim is not there";
  publish_names();
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_FALSE(last.look_again) << "its arrival brings the pod back";
  pod.resource_claim_statuses.clear();
  pod.resource_claims.push_back({"newer", std::nullopt, std::nullopt});
  EXPECT_EQ(pass_publishes(), "names@");
}

TEST_F(HeldPod, OthersGetTheirNamesAtOnce) {
  put_claim("gpu", "");
  pod.scheduling_gates = {"our-gate", "theirs"};
  EXPECT_EQ(pass_publishes(), "names@") << "not ours to let go";
  pod.scheduling_gates = {};
  EXPECT_EQ(pass_publishes(), "names@");
  pod.scheduling_gates = {"our-gate"};
  view.claims.clear();
  view.put(make_claim("of-another-controller", pod, "gpu"));
  EXPECT_EQ(pass_publishes(), "names@") << "allocation looks for our name only";
}

TEST_F(HeldPod, WakesWithItsGateAndItsAllocation) {
  view.put(pod);
  put_claim("gpu", "");
  const api::ResourceClaim before = *view.claim("default/" + generated("gpu"));
  put_claim("gpu", "n1");
  Triggers triggers;
  reconciler.on_claim(view, &before, view.claim("default/" + generated("gpu")), triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/p")});
  const api::Pod held = pod;
  pod.scheduling_gates = {};
  view.put(pod);
  triggers = {};
  reconciler.on_claim(view, &before, view.claim("default/" + generated("gpu")), triggers);
  EXPECT_TRUE(triggers.keys.empty());
  reconciler.on_pod(view, &held, &pod, triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/p")});
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
  const Outcome first = pass();
  EXPECT_TRUE(writes(first).empty());
  ASSERT_EQ(only<Confirm>(first).size(), 1u);
  EXPECT_EQ(only<Confirm>(first)[0].object, (Ref{Kind::kClaim, "default", "lost", ""}));
  view.confirm({Kind::kClaim, "default", "lost", ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"gpu=" + generated("gpu")});
}

TEST_F(ClaimTemplate, MissingTemplateIsConfirmedThenReportedOnce) {
  view.put(make_pod("p", {"gpu"}));
  ASSERT_EQ(only<Confirm>(pass()).size(), 1u);
  view.confirm({Kind::kClaimTemplate, "default", "tpl", ""}, Presence::kAbsent);
  const Outcome outcome = pass();
  EXPECT_TRUE(writes(outcome).empty());
  EXPECT_FALSE(outcome.look_again) << "the template's arrival wakes the pod, no timer";
  const std::vector<Event> events = only<Event>(outcome);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].note, "PodResourceClaim gpu: resourceclaimtemplates \"tpl\" not found");
  view.emitted[{"p-uid", "FailedResourceClaimCreation"}] = events[0].signature;
  EXPECT_TRUE(pass().effects.empty());
  Triggers triggers;
  view.put(make_template("tpl"));
  reconciler.on_claim_template(view, nullptr, view.claim_template("default/tpl"), triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/p")});
  EXPECT_EQ(writes(pass()).size(), 2u);
}

TEST_F(ClaimTemplate, AdoptsAClaimThatWasMadeButNotPublished) {
  const api::Pod pod = make_pod("p", {"gpu"});
  view.put(pod);
  view.put(make_claim("p-gpu-x7x7x", pod, "gpu"));  // made by another controller, no template needed any more
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
  const Outcome outcome = pass();
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
  Triggers triggers;
  reconciler.on_claim(view, &going, nullptr, triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/p")});
}

TEST_F(ClaimTemplate, DoesNotTouchTheTemplate) {  // upstream writes the annotation into the cached template
  view.put(make_pod("p", {"gpu"}));
  view.put(make_template("tpl"));
  pass();
  EXPECT_TRUE(view.templates.at("default/tpl").claim_annotations.empty());
}

TEST_F(ClaimTemplate, LosingOneOfThreeClaimsSettlesInTwoWrites) {  // upstream alternates for ever, 250 writes in 12 s
  api::Pod pod = make_pod("p", {"a", "b", "c"});
  for (const char* entry : {"a", "b", "c"}) {
    view.put(make_claim(std::string("claim-") + entry, pod, entry));
    pod.resource_claim_statuses.push_back({entry, std::string("claim-") + entry});
  }
  view.put(pod);
  view.put(make_template("tpl"));
  EXPECT_TRUE(pass().effects.empty());
  view.claims.erase("default/claim-b");
  view.confirm({Kind::kClaim, "default", "claim-b", ""}, Presence::kAbsent);
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
  view.confirm({Kind::kClaim, "default", generated("gpu"), ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 1u) << "the same name again: nothing new to publish";
  EXPECT_EQ(w[0].verb, Verb::kCreate);
}

TEST_F(ClaimTemplate, OneBadEntryDoesNotHoldUpTheGoodOnes) {
  api::Pod pod = make_pod("p", {"bad", "good"});
  pod.resource_claims[0].resource_claim_template_name = "absent";
  view.put(pod);
  view.put(make_template("tpl"));
  view.confirm({Kind::kClaimTemplate, "default", "absent", ""}, Presence::kAbsent);
  const std::vector<Write> w = writes(pass());
  ASSERT_EQ(w.size(), 2u);
  EXPECT_EQ(published(w[1]), std::vector<std::string>{"good=" + generated("good")});
}

TEST_F(ClaimTemplate, AfterAFailedCreateTheOthersArePublishedFirst) {
  const api::Pod pod = make_pod("p", {"a", "b"});
  view.put(pod);
  view.put(make_template("tpl"));
  EXPECT_EQ(writes(pass()).size(), 3u);
  view.put(make_claim(generated("a"), pod, "a"));  // the first create worked, the second was refused
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
  Triggers triggers;
  reconciler.on_claim_template(view, nullptr, &made, triggers);
  EXPECT_EQ(triggers.keys, std::vector<Key>{pod_key("default/uses")});
  triggers = {};
  reconciler.on_claim_template(view, &made, nullptr, triggers);
  EXPECT_TRUE(triggers.keys.empty());
}

TEST_F(ClaimTemplate, ARivalGeneratorIsNamed) {
  const api::Pod pod = make_pod("p", {"gpu"});
  api::ResourceClaim ours = make_claim(generated("gpu"), pod, "gpu");
  ours.metadata.creation_timestamp = format_rfc3339(view.time);
  ours.metadata.managed_fields = {{"kubectl-edit", "Update", ""}};
  EXPECT_EQ(rival_generator({&ours}, view.time), std::nullopt);
  api::ResourceClaim theirs = make_claim("p-gpu-abcde", pod, "gpu");
  theirs.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::minutes(9));
  theirs.metadata.managed_fields = {{"kube-controller-manager", "Update", ""}};
  const std::optional<std::string> rival = rival_generator({&ours, &theirs}, view.time);
  ASSERT_TRUE(rival);
  EXPECT_NE(rival->find("default/p-gpu-abcde"), std::string::npos);
  EXPECT_NE(rival->find("kube-controller-manager"), std::string::npos);
  theirs.metadata.creation_timestamp = format_rfc3339(view.time - std::chrono::minutes(11));
  EXPECT_EQ(rival_generator({&theirs}, view.time), std::nullopt);
}

}  // namespace dra::claimtemplate::claimtemplate_test
