// The pod that comes again: what the manager wrote is gone, whatever terms the author wrote; templates win.
#include "pkg/inspect/state/successor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/api/decode/decode.h"
#include "pkg/base/random.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/state/state.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/writes.h"

namespace dra::inspect {
namespace {

using Json = nlohmann::json;

api::NodeSelectorTerm random_term(Random& random) {
  static const std::vector<api::NodeSelectorRequirement> kOwn{
      {"zone", "In", {"a", "b"}}, {"disk", "Exists", {}}, {"rack", "NotIn", {"r9"}}, {"rack", "In", {"r1", "r2"}}};
  api::NodeSelectorTerm term;
  for (const auto& one : kOwn)
    if (random.below(3) == 0) term.match_expressions.push_back(one);
  return term;
}

// The pod after the manager lifted its gate: the requirements of its own write.
api::Pod ungated(api::Pod pod, const api::NodeSelectorTerm& pin) {
  const reconcile::Write write = protocol::write_ungated(pod, kOurGate, pin);
  Json patch = Json::parse(write.body);
  const Json as_pod{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "x"}}}, {"spec", patch["spec"]}};
  const auto read = api::decode<api::Pod>(as_pod.dump());
  EXPECT_TRUE(read);
  if (!pod.node_affinity) pod.node_affinity = api::NodeAffinity();
  pod.node_affinity->required = read->node_affinity->required;
  std::erase(pod.scheduling_gates, kOurGate);
  return pod;
}

Claim allocated_with(const api::NodeSelectorTerm& term) {
  auto claim = named_object<api::ResourceClaim>("ml", "p-g");
  claim->status.allocation.emplace().node_selector = api::NodeSelector{{term}};
  return claim;
}

TEST(Successor, IsThePodBeforeTheGateWasLifted) {
  const std::vector<api::NodeSelectorTerm> pins{{{}, {{"metadata.name", "In", {"n1"}}}},
                                                {{{"rack", "In", {"r7"}}}, {}},
                                                {{{"rack", "In", {"r7"}}, {"row", "In", {"x"}}}, {}}};
  SeededRandom random(1);
  for (int round = 0; round < 2000; ++round) {
    api::Pod pod = *named_object<api::Pod>("ml", "p");
    pod.scheduling_gates = {std::string(kOurGate)};
    if (random.below(4) > 0) {
      api::NodeAffinity affinity;
      if (random.below(3) > 0) {
        affinity.required.emplace();
        for (size_t terms = 1 + random.below(3); terms > 0; --terms)
          affinity.required->terms.push_back(random_term(random));
      }
      if (!affinity.required || random.below(2) == 0) affinity.preferred.push_back({1, random_term(random)});
      pod.node_affinity = affinity;
    }
    const api::NodeSelectorTerm& pin = pins[random.below(pins.size())];
    api::Pod pinned = ungated(pod, pin);
    pinned.node_name = "n1";
    EXPECT_TRUE(pinned.node_affinity && pinned.node_affinity->required);
    const api::Pod next = successor_of(pinned, {allocated_with(pin)}, nullptr);
    EXPECT_EQ(next.node_affinity, pod.node_affinity) << "round " << round;
    EXPECT_TRUE(next.node_name.empty());
    EXPECT_TRUE(next.scheduling_gates.empty());
  }
}

TEST(Successor, LosesStatusAndMarksAndKeepsWhatItsAuthorWrote) {
  api::Pod pod = *named_object<api::Pod>("ml", "p");
  pod.metadata.annotations = {
      {std::string(protocol::kAvoidedDevices), "d/p/x=1"}, {"dra-controller-manager/group", "2"}, {"mine", "too"}};
  pod.phase = "Running";
  pod.nominated_node_name = "n1";
  pod.extended_resource_claim_status = api::PodExtendedResourceClaimStatus{"p-extended", {}};
  pod.scheduling_gates = {"other/gate", std::string(kOurGate)};
  const api::Pod next = successor_of(pod, {}, nullptr);
  EXPECT_EQ(next.metadata.annotations, (api::StringMap{{"dra-controller-manager/group", "2"}, {"mine", "too"}}));
  EXPECT_EQ(next.phase, "Pending");
  EXPECT_TRUE(next.nominated_node_name.empty());
  EXPECT_FALSE(next.extended_resource_claim_status);
  EXPECT_EQ(next.scheduling_gates, std::vector<std::string>{"other/gate"});
}

// The manager did not write these pods: their node is their author's or their controller's choice.
TEST(Successor, KeepsANodeThatOthersChose) {
  api::Pod pod = *named_object<api::Pod>("ml", "p");
  pod.node_affinity = api::NodeAffinity{api::NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}}, {}};
  api::Pod others = pod;
  others.metadata.managed_fields = {{"kubectl", "Update", "", false},
                                    {"dra-controller-manager", "Apply", "status", false}};
  EXPECT_EQ(successor_of(others, {}, nullptr).node_affinity, pod.node_affinity);
  others.metadata.managed_fields.push_back({"dra-controller-manager", "Update", "", false});
  EXPECT_FALSE(successor_of(others, {}, nullptr).node_affinity);
  others.metadata.owner_references = {{"apps/v1", "DaemonSet", "d", "uid-d", true}};
  EXPECT_EQ(successor_of(others, {}, nullptr).node_affinity, pod.node_affinity);
  // One of two terms is the pin alone: the author wrote it, and the pin is in both.
  api::Pod either = pod;
  either.node_affinity->required->terms.push_back({{{"zone", "In", {"a"}}}, {{"metadata.name", "In", {"n1"}}}});
  const api::Pod next = successor_of(either, {}, nullptr);
  ASSERT_TRUE(next.node_affinity && next.node_affinity->required);
  EXPECT_EQ(next.node_affinity->required->terms[0], pod.node_affinity->required->terms[0]);
  EXPECT_TRUE(next.node_affinity->required->terms[1].match_fields.empty());
}

constexpr const char* kSet = R"({"apiVersion": "apps/v1", "kind": "StatefulSet",
  "metadata": {"name": "web", "namespace": "ml", "uid": "uid-web"},
  "spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}, "template": {
    "metadata": {"labels": {"app": "web", "v": "2"}},
    "spec": {"nodeSelector": {"zone": "b"}, "schedulingGates": [{"name": "dra-controller-manager/allocation"}],
             "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "new"}],
             "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}, "claims": [{"name": "g"}]}}]}}}})";

TEST(Successor, TheTemplateOfItsOwnerWins) {
  Objects objects;
  api::Pod pod = *named_object<api::Pod>("ml", "web-2");
  pod.metadata.owner_references = {{"apps/v1", "StatefulSet", "web", "uid-web", true}};
  pod.metadata.labels = {{"app", "web"}, {"v", "1"}, {"injected", "yes"}};
  pod.node_affinity = api::NodeAffinity{api::NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}}, {}};
  pod.node_selector = {{"zone", "a"}};
  pod.tolerations.push_back({"node.kubernetes.io/not-ready", "Exists", "", "NoExecute", 300});
  pod.priority = 7;
  pod.resource_claims.push_back({"g", std::nullopt, "old"});
  pod.containers = {{"main", "", {{"cpu", "1"}, {"memory", "1Gi"}}, {}, {}, "", {}},
                    {"sidecar", "", {}, {}, {}, "", {}}};
  const OwnerToRead owner{pod.metadata.owner_references.front(), "ml"};
  ASSERT_NE(owner_kind_of(owner.owner), nullptr);
  ASSERT_TRUE(add_owner(objects, owner, kSet));
  const OwnerTemplate* from = template_for(objects, pod);
  ASSERT_NE(from, nullptr);
  const api::Pod next = successor_of(pod, {}, from);
  EXPECT_EQ(next.metadata.labels, (api::StringMap{{"app", "web"}, {"v", "2"}, {"injected", "yes"}}));
  EXPECT_FALSE(next.node_affinity);
  EXPECT_EQ(next.node_selector, (api::StringMap{{"zone", "b"}}));
  EXPECT_EQ(next.tolerations, pod.tolerations) << "admission added it";
  EXPECT_EQ(next.priority, 7) << "admission set it";
  ASSERT_EQ(next.resource_claims.size(), 1u);
  EXPECT_EQ(next.resource_claims[0].resource_claim_template_name, "new");
  ASSERT_EQ(next.containers.size(), 2u);
  EXPECT_EQ(next.containers[0].requests, (api::ResourceList{{"cpu", "2"}, {"memory", "1Gi"}}));
  EXPECT_TRUE(next.scheduling_gates.empty());
  // A StatefulSet's pods below the partition come from its older template.
  pod.metadata.name = "web-1";
  EXPECT_EQ(template_for(objects, pod), nullptr);
}

TEST(Successor, RefusesAnOwnerThatIsAnotherObject) {
  Objects objects;
  const api::OwnerReference owner{"apps/v1", "StatefulSet", "web", "another-uid", true};
  const auto added = add_owner(objects, {owner, "ml"}, kSet);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message(),
            "StatefulSet ml/web is another object than the owner of the pods: its uid differs");
  EXPECT_FALSE(add_owner(objects, {owner, "ml"}, "no object"));
  EXPECT_FALSE(add_owner(objects, {owner, "ml"}, R"({"metadata": {"uid": "another-uid"}, "spec": 3, "kind": 4})"));
  EXPECT_TRUE(objects.owner_templates.empty());
  EXPECT_EQ(owner_kind_of({"jobset.x-k8s.io/v1alpha2", "JobSet", "j", "u", true}), nullptr);
  EXPECT_EQ(owner_kind_of({"apps/v1", "DaemonSet", "j", "u", true}), nullptr);
}

}  // namespace
}  // namespace dra::inspect
