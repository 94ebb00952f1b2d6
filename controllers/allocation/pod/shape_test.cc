#include "pkg/nodes/shape.h"

#include <functional>
#include <memory>

#include "controllers/allocation/allocation_fixture.h"

// Which waiting pods have one shape and are tried as one.
namespace dra::allocation::shape_test {

class Shape : public AllocationTest {
 protected:
  // The shape of a pod with one claim from a template.
  std::string shape(const std::string& name, const std::function<void(api::Pod&, api::ResourceClaim&)>& change = {},
                    bool depends_on_pods = false) {
    api::Pod pod = make_pod(name, {"c"});
    pod.metadata.labels["job"] = "train";
    pod.containers.emplace_back();
    pod.containers.back().requests["cpu"] = "1";
    auto claim = std::make_shared<api::ResourceClaim>(make_claim(name + "-c"));
    claim->metadata.owner_references.push_back({"v1", "Pod", name, name + "-uid", true});
    if (change) change(pod, *claim);
    protocol::ClaimState state;
    state.claim = claim;
    return nodes::shape_of(pod, nodes::node_shape(pod), {state}, depends_on_pods);
  }
};

TEST_F(Shape, PodsOfOneTemplateAreAlike) {
  EXPECT_FALSE(shape("a").empty());
  EXPECT_EQ(shape("a"), shape("b"));
}

// The API server and the controllers of Jobs and StatefulSets label each pod with its name or index.
TEST_F(Shape, LabelsTellPodsApartOnlyWhereOtherPodsMeanThemByTheirs) {
  const auto labelled = [](api::Pod& p, api::ResourceClaim&) {
    p.metadata.labels["apps.kubernetes.io/pod-index"] = p.metadata.name;
  };
  EXPECT_EQ(shape("a", labelled), shape("b", labelled));
  EXPECT_NE(shape("a", labelled, true), shape("b", labelled, true));
  EXPECT_NE(shape("a", {}, true), shape("a", {}, false));
}

TEST_F(Shape, WhateverANodeOrADeviceIsAskedForTellsThemApart) {
  const std::function<void(api::Pod&, api::ResourceClaim&)> changes[] = {
      [](api::Pod& p, api::ResourceClaim&) { p.containers[0].requests["cpu"] = "2"; },
      [](api::Pod& p, api::ResourceClaim&) {
        p.containers[0].host_ports = {{80, "", ""}};
      },
      [](api::Pod& p, api::ResourceClaim&) {
        p.containers[0].host_ports = {{80, "UDP", ""}};
      },
      [](api::Pod& p, api::ResourceClaim&) { p.init_containers.push_back(p.containers[0]); },
      [](api::Pod& p, api::ResourceClaim&) { p.overhead["memory"] = "1Gi"; },
      [](api::Pod& p, api::ResourceClaim&) { p.pod_requests = api::ResourceList{}; },
      [](api::Pod& p, api::ResourceClaim&) { p.node_selector["zone"] = "a"; },
      [](api::Pod& p, api::ResourceClaim&) {
        p.tolerations.push_back({"key", "Exists", "", "", std::nullopt});
      },
      [](api::Pod& p, api::ResourceClaim&) {
        p.node_affinity.emplace();
        p.node_affinity->required = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n1"}}}}}};
      },
      [](api::Pod& p, api::ResourceClaim&) { p.scheduler_name = "ours"; },
      [](api::Pod&, api::ResourceClaim& c) { c.spec.requests[0].exactly->count = 2; },
      [](api::Pod&, api::ResourceClaim& c) { c.spec.requests[0].exactly->selectors = {"true"}; },
  };
  std::set<std::string> seen{shape("a")};
  for (const auto& change : changes) EXPECT_TRUE(seen.insert(shape("a", change)).second) << seen.size();
}

TEST_F(Shape, PodsThatCompareAsEqualHaveOneText) {
  const std::function<void(api::Pod&)> changes[] = {
      [](api::Pod& p) { p.metadata.ns = "other"; },
      [](api::Pod& p) { p.containers.emplace_back(); },
      [](api::Pod& p) { p.init_containers.emplace_back(); },
      [](api::Pod& p) { p.overhead["memory"] = "1Gi"; },
      [](api::Pod& p) { p.pod_requests = api::ResourceList{}; },
      [](api::Pod& p) { p.node_selector["zone"] = "a"; },
      [](api::Pod& p) { p.tolerations.resize(1); },
      [](api::Pod& p) { p.node_affinity.emplace(); },
      [](api::Pod& p) { p.pod_affinity.required.resize(1); },
      [](api::Pod& p) { p.pod_anti_affinity.preferred.resize(1); },
      [](api::Pod& p) { p.topology_spread.resize(1); },
      [](api::Pod& p) { p.volumes.resize(1); },
  };
  const api::Pod one = make_pod("a", {"c"});
  for (const auto& change : changes) {
    api::Pod other = make_pod("b", {"d"});
    EXPECT_TRUE(nodes::has_same_node_shape(one, other));
    EXPECT_EQ(nodes::node_shape(one), nodes::node_shape(other));
    change(other);
    EXPECT_FALSE(nodes::has_same_node_shape(one, other)) << &change - changes;
  }
}

TEST_F(Shape, MembersAreToldApartByWhatIsStillToBeDecided) {
  const auto of = [&](const std::string& name, const std::function<void(api::Pod&, api::ResourceClaim&)>& change = {}) {
    api::Pod pod = make_pod(name, {"c"});
    auto claim = std::make_shared<api::ResourceClaim>(make_claim(name + "-c"));
    if (change) change(pod, *claim);
    protocol::ClaimState state;
    state.claim = claim;
    return nodes::shape_of_member(pod, nodes::node_shape(pod), {state});
  };
  const auto allocated = [&](api::Pod&, api::ResourceClaim& c) { c.status.allocation = on("n1", "gpu-0"); };
  EXPECT_EQ(of("a"), of("b")) << "claims without an owner";
  EXPECT_EQ(of("a"), of("b",
                        [](api::Pod& p, api::ResourceClaim& c) {
                          c.metadata.owner_references.push_back({"v1", "Pod", "b", p.metadata.uid, true});
                        }))
      << "whoever made them";
  EXPECT_NE(of("a"), of("b", [](api::Pod&, api::ResourceClaim& c) {
              c.metadata.annotations["dra-controller-manager/prefer"] = "same:a/b";
            }));
  EXPECT_NE(of("a"), of("a", allocated));
  EXPECT_EQ(of("a", allocated), of("b", allocated)) << "the search tells allocated claims apart";
  EXPECT_NE(of("a"), of("a", [](api::Pod& p, api::ResourceClaim&) { p.priority = 7; }));
  EXPECT_NE(of("a"), of("a", [](api::Pod&, api::ResourceClaim& c) { c.spec.requests[0].exactly->count = 2; }));
  EXPECT_EQ(of("a", [](api::Pod& p, api::ResourceClaim&) { p.topology_spread.resize(1); }), "");
}

TEST_F(Shape, PodsThatAreBoundToSomethingOfTheirOwnAreLikeNoOther) {
  EXPECT_EQ(shape("a", [](api::Pod& p, api::ResourceClaim&) { p.node_name = "n1"; }), "");
  EXPECT_EQ(shape("a", [](api::Pod&, api::ResourceClaim& c) { c.metadata.owner_references.clear(); }), "") << "shared";
  EXPECT_EQ(shape("a", [](api::Pod& p, api::ResourceClaim&) { p.pod_anti_affinity.required.resize(1); }), "");
  EXPECT_EQ(shape("a", [](api::Pod& p, api::ResourceClaim&) { p.topology_spread.resize(1); }), "");
  EXPECT_EQ(shape("a", [&](api::Pod&, api::ResourceClaim& c) { c.status.allocation = on("n1", "gpu-0"); }), "");
  EXPECT_EQ(nodes::shape_of(make_pod("a", {}), nodes.shape(make_pod("a", {})), {}, false), "")
      << "placement does not say";
}

}  // namespace dra::allocation::shape_test
