// Gated pods get their claim names together with their node.
#include <nlohmann/json.hpp>

#include "controllers/claimtemplate/claimtemplate_fixture.h"

namespace dra::claimtemplate::held_pod_test {

using namespace protocol;
using namespace reconcile;
using Json = nlohmann::json;

class HeldPod : public ClaimTemplate {
 protected:
  HeldPod() {
    reconciler = test::WholeController(parts(Options{"our-gate", std::chrono::seconds(5), std::chrono::seconds(30)}));
    pod.scheduling_gates = {"our-gate"};
    pod.metadata.resource_version = "7";
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
  // What a reconcile publishes: "names@node", "" without a node; "nothing" if it publishes nothing.
  std::string pass_publishes() {
    view.put(pod);
    last = pass();
    for (const Write& write : writes(last)) {
      if (write.purpose != "publish-claim-names") continue;
      const Json body = Json::parse(write.body);
      const Json node = body["status"].value("nominatedNodeName", Json(nullptr));
      const bool left_alone = !body["status"].contains("nominatedNodeName") && !pod.nominated_node_name.empty();
      // Nobody else writes the status of a held pod, so the write may insist on the version
      // (docs/decisions/which-write.md).
      const bool bound_to_version = body["metadata"].value("resourceVersion", "") == pod.metadata.resource_version;
      EXPECT_EQ(write.verb, is_ours() ? Verb::kMergePatch : Verb::kApply);
      EXPECT_EQ(bound_to_version, is_ours());
      return (left_alone && is_ours() ? "names, node left alone" : "names@") +
             (node.is_string() ? std::string(node) : "");
    }
    return "nothing";
  }
  // Our gate is its only one, or we nominated its node, or we will bind it.
  bool is_ours() const {
    return (binds && pod.scheduler_name == "ours" && pod.node_name.empty()) ||
           pod.scheduling_gates == std::vector<std::string>{"our-gate"} || !pod.metadata.managed_fields.empty();
  }
  // An event says why the pod waits.
  void refused() { view.emitted[{pod.metadata.uid, "FailedAllocation"}] = "no free device"; }
  void publish_names() { pod.resource_claim_statuses = {{"gpu", generated("gpu")}}; }
  void nominate(const std::string& node) {
    pod.nominated_node_name = node;
    pod.metadata.managed_fields = {{std::string(kFieldManager), "Update", "status", true}};
  }

  api::Pod pod = make_pod("p", {"gpu"});
  ReconcileResult last;
  bool binds = false;
};

TEST_F(HeldPod, APodThatWeBindGetsItsNamesByAPatchOfItsVersion) {
  Options options;
  options.scheduler_names = {"ours", "also-ours"};
  reconciler = test::WholeController(parts(options));
  binds = true;
  pod.scheduling_gates.clear();
  put_claim("gpu", "");
  for (const char* scheduler : {"ours", "default-scheduler"})
    for (const char* node : {"", "n1"}) {
      pod.scheduler_name = scheduler;
      pod.node_name = node;
      EXPECT_EQ(pass_publishes(), "names@") << scheduler << " " << node;
    }
}

TEST_F(HeldPod, GetsItsNamesWithTheNodeOfItsAllocation) {
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(writes(last).size(), 1u) << "the claim is created all the same";
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(5)));
  refused();
  put_claim("gpu", "", std::chrono::seconds(2));
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(3)));
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "names@n1");
  put_claim("gpu", "*");
  EXPECT_EQ(pass_publishes(), "names@") << "devices that several nodes reach leave the node to kube-scheduler";
}

TEST_F(HeldPod, GetsItsNamesWithoutANodeWhenNoneIsFoundInTime) {
  refused();
  put_claim("gpu", "", std::chrono::seconds(5));
  EXPECT_EQ(pass_publishes(), "names@");
  publish_names();
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_FALSE(last.requeue_after);
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "nothing") << "kube-scheduler nominates then; it is not worth a write of its own";
}

// Names that come without the node cost a write of kube-scheduler, which then nominates it: in a burst that takes
// longer than the patience these writes would make it longer still.
TEST_F(HeldPod, WaitsLongerForItsTurnThanAfterARefusal) {
  put_claim("gpu", "", std::chrono::seconds(29));
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(1)));
  put_claim("gpu", "", std::chrono::seconds(10));
  EXPECT_EQ(pass_publishes(), "nothing");
  EXPECT_EQ(last.requeue_after, Duration(std::chrono::seconds(5))) << "looks whether it was refused meanwhile";
  refused();
  EXPECT_EQ(pass_publishes(), "names@");
  view.emitted.clear();
  put_claim("gpu", "", std::chrono::seconds(30));
  EXPECT_EQ(pass_publishes(), "names@");
  put_claim("gpu", "", std::chrono::seconds(5));
  pod.pod_group_name = "group";
  EXPECT_EQ(pass_publishes(), "names@") << "the event is about another member of its group";
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
  view.emitted[{pod.metadata.uid, "Allocated"}] = "n1";
  nominate("n1");
  put_claim("gpu", "n1");
  EXPECT_EQ(pass_publishes(), "nothing");
  put_claim("gpu", "");
  EXPECT_EQ(pass_publishes(), "nothing") << "withdrawn just now, and most likely allocated anew in a moment";
  EXPECT_TRUE(last.requeue_after);
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
      EXPECT_EQ(pass_publishes(), "names, node left alone") << theirs.manager << " " << node;
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
  view.live_get({Kind::kClaim, "default", "gone", ""}, Presence::kAbsent);
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
  EXPECT_FALSE(last.requeue_after) << "its arrival brings the pod back";
  pod.resource_claim_statuses.clear();
  pod.resource_claims.push_back({"newer", std::nullopt, std::nullopt});
  EXPECT_EQ(pass_publishes(), "names@");
}

TEST_F(HeldPod, OthersGetTheirNamesAtOnce) {
  put_claim("gpu", "");
  pod.scheduling_gates = {"our-gate", "theirs"};
  EXPECT_EQ(pass_publishes(), "names@") << "not ours to ungate";
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
  EnqueueRequests enqueued;
  reconciler.on_claim(view, &before, view.claim("default/" + generated("gpu")), enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
  const api::Pod held = pod;
  pod.scheduling_gates = {};
  view.put(pod);
  enqueued = {};
  reconciler.on_claim(view, &before, view.claim("default/" + generated("gpu")), enqueued);
  EXPECT_TRUE(enqueued.keys.empty());
  reconciler.on_pod(view, &held, &pod, enqueued);
  EXPECT_EQ(enqueued.keys, std::vector<Key>{pod_key("default/p")});
}

}  // namespace dra::claimtemplate::held_pod_test
