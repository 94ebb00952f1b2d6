// As bound_leaving_test.cc, for pods that are not the usual: extended resources, groups larger than one list of
// Bindings, members without devices of one node, an outage that lasts.
#include "test/integration/feature_scenarios.h"
#include "test/integration/held.h"

namespace dra::integration::bound_edges_test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class Edges : public Held {
 protected:
  void cordon(const std::string& node) { api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}}); }
  std::shared_ptr<const api::ResourceClaim> only_claim() {
    const auto all = cluster().watchdog().all_claims();
    return all.size() == 1 ? all.front() : nullptr;
  }
};

TEST_F(Edges, APodWithExtendedResourcesIsBoundElsewhere) {
  begin_bind(2);
  api().merge(Api::path("DeviceClass", "gpu"), {{"spec", {{"extendedResourceName", kExtendedResource}}}});
  hold(true);
  api().create(extended_pod("p", 2));
  ASSERT_TRUE(soon([&] { return only_claim() && protocol::is_proven(*only_claim()); }));
  const std::string lost = only_claim()->status.allocation->results.front().pool;
  cordon(lost);
  hold(false);
  expect_bound_together({"p"}, 10s);
  EXPECT_NE(node_of("p"), lost);
  ASSERT_TRUE(only_claim());
  EXPECT_EQ(only_claim()->status.allocation->results.front().pool, node_of("p"));
  EXPECT_EQ(get_pod("p")->extended_resource_claim_status->resource_claim_name, only_claim()->metadata.name);
  EXPECT_EQ(cluster().verdict(), "");
}

// A pod with our gate and our scheduler name: its gate is lifted before the node is lost, and does not pin it there.
TEST_F(Edges, APodThatHadTheGateIsBoundElsewhere) {
  begin_bind(2);
  manager().network().set_plan([](const client::Request& request, bool) {
    client::Fault fault;
    if (request.method == "POST" && starts_pod(request)) fault.kind = client::Fault::Kind::kRefuse;
    return fault;
  });
  PodOptions both = ours();
  both.gated = true;
  api().create(asking(pod("p", {from_template("gpu", "one-gpu")}, both)));
  ASSERT_TRUE(soon([&] { return proven({"p"}) && !gated("p"); }));
  const std::string lost = devices_node("p");
  cordon(lost);
  hold(false);
  expect_bound_together({"p"}, 10s);
  EXPECT_NE(node_of("p"), lost);
  EXPECT_EQ(cluster().verdict(), "");
}

// More members than are bound in one list of writes.
TEST_F(Edges, ALargeGroupIsBoundTogetherElsewhere) {
  begin_bind(8);
  hold(true);
  Names members;
  for (int i = 0; i < 24; ++i) {
    members.push_back("g" + std::to_string(i));
    api().create(asking(member_of_job(pod(members.back(), {from_template("gpu", "one-gpu")}, ours()), "train", 24)));
  }
  ASSERT_TRUE(soon([&] { return proven(members); }, 20s));
  const std::string lost = devices_node("g23");
  cordon(lost);
  hold(false);
  expect_bound_together(members, 10s);
  for (const std::string& name : members) EXPECT_NE(node_of(name), lost);
  pass(5s);
  EXPECT_EQ(cluster().verdict(), "");
}

// The group fits on no two nodes that are left: it holds nothing, and goes when there is a node for it.
TEST_F(Edges, AGroupThatFitsNowhereAnyMoreHoldsNothing) {
  begin_bind(2);
  hold(true);
  const Names members{"g0", "g1", "g2", "g3"};
  for (const std::string& name : members)
    api().create(asking(member_of_job(pod(name, {from_template("gpu", "two-gpus")}, ours()), "train", 4)));
  ASSERT_TRUE(soon([&] { return proven(members); }));
  cordon("n1");
  hold(false);
  EXPECT_TRUE(within(10s, [&] { return cluster().watchdog().held_devices() == 0; }));
  EXPECT_TRUE(never([&] { return bound("g0") || bound("g1") || bound("g2") || bound("g3"); }, 15s));
  api().merge(Api::path("Node", "n1"), {{"spec", {{"unschedulable", nullptr}}}});
  expect_bound_together(members, 10s);
  EXPECT_EQ(cluster().verdict(), "");
}

// Pods wait for the server at different paces by then; none is bound where it may not run when it works again.
TEST_F(Edges, PodsThatWaitedForTheServerForLongAreBoundElsewhere) {
  begin_bind(4);
  hold(true);
  Names pods;
  for (int i = 0; i < 12; ++i) {
    pods.push_back("p" + std::to_string(i));
    api().create(asking(pod(pods.back(), {from_template("gpu", "one-gpu")}, ours())));
  }
  ASSERT_TRUE(soon([&] { return proven(pods); }));
  pass(60s);
  const std::string lost = devices_node("p0");
  cordon(lost);
  pass(5s);
  hold(false);
  EXPECT_TRUE(within(10s, [&] { return all_bound(pods); }));
  for (const std::string& name : pods) {
    EXPECT_NE(node_of(name), lost);
    EXPECT_EQ(devices_node(name), node_of(name));
  }
  EXPECT_EQ(cluster().verdict(), "");
}

// Members without devices find their nodes in the group's domain, too.
TEST_F(Edges, MembersWithoutDevicesStayInTheRequiredDomain) {
  begin_bind(4);
  for (int i = 0; i < 4; ++i)
    api().merge(Api::path("Node", node_name(i)), {{"metadata", {{"labels", {{"rack", i < 2 ? "a" : "b"}}}}}});
  Names members;
  for (int i = 0; i < 4; ++i) {
    members.push_back("m" + std::to_string(i));
    Json member = member_of_job(asking(pod(members.back(), {}, ours())), "train", 4);
    member["spec"]["containers"][0]["resources"]["requests"] = {{"cpu", "30"}};
    member["metadata"]["annotations"]["dra-controller-manager/topology-required"] = "rack";
    api().create(member);
  }
  EXPECT_TRUE(soon([&] { return all_bound(members); }, 30s)) << cluster().verdict();
  std::set<std::string> racks;
  for (const std::string& name : members)
    racks.insert(api().get(Api::path("Node", node_of(name)))["metadata"]["labels"]["rack"].get<std::string>());
  EXPECT_EQ(racks.size(), 1u);
}

}  // namespace dra::integration::bound_edges_test
