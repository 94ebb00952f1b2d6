// Between the proof and the binding (bind mode), or the lifting of gates: nodes and devices change while the server
// refuses what starts the pods. They end elsewhere within 10 s, groups whole, each pod bound once.
#include "test/integration/held.h"

namespace dra::integration::bound_leaving_test {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class NodeChanges : public Held, public testing::WithParamInterface<NodeChange> {};

TEST_P(NodeChanges, ASinglePodIsBoundElsewhere) {
  begin_bind(2);
  hold(true);
  api().create(asking(pod("p", {from_template("gpu", "one-gpu")}, ours())));
  ASSERT_TRUE(soon([&] { return proven({"p"}); }));
  const std::string lost = devices_node("p");
  GetParam().apply(api(), lost);
  hold(false);
  expect_bound_together({"p"}, 10s);
  EXPECT_NE(node_of("p"), lost);
  EXPECT_EQ(devices_node("p"), node_of("p"));
  EXPECT_TRUE(soon([&] { return consumers(generated("p")) == Names{"p"}; }));
  EXPECT_EQ(cluster().verdict({.may_wait = {"default/filler-" + lost}}), "");
}

// Two of the three stay where they are.
TEST_P(NodeChanges, AGroupIsBoundTogetherElsewhere) {
  begin_bind(3);
  hold(true);
  const Names members{"g0", "g1", "g2"};
  for (const std::string& name : members)
    api().create(asking(member_of_job(pod(name, {from_template("gpu", "two-gpus")}, ours()), "train", 3)));
  ASSERT_TRUE(soon([&] { return proven(members); }));
  const std::string lost = devices_node("g2");
  GetParam().apply(api(), lost);
  hold(false);
  expect_bound_together(members, 10s);
  for (const std::string& name : members) {
    EXPECT_NE(node_of(name), lost);
    EXPECT_EQ(devices_node(name), node_of(name));
  }
  EXPECT_EQ(cluster().verdict({.may_wait = {"default/filler-" + lost}}), "");
}

// One of a shared claim's consumers runs; the other one, proven with a claim of its own too, leaves both.
TEST_P(NodeChanges, AConsumerOfASharedClaimLeavesItToTheOthers) {
  begin_bind(2);
  api().create(claim("shared"));
  api().create(asking(pod("first", {from_claim("gpu", "shared")}, ours())));
  ASSERT_TRUE(soon([&] { return bound("first"); }));
  hold(true);
  api().create(asking(pod("second", {from_template("own", "one-gpu"), from_claim("gpu", "shared")}, ours())));
  ASSERT_TRUE(soon([&] { return consumers("shared").size() == 2; }));
  GetParam().apply(api(), node_of("first"));
  hold(false);
  EXPECT_TRUE(
      soon([&] { return consumers("shared") == Names{"first"} && !allocated(generated("second", "own")); }, 20s));
  EXPECT_FALSE(bound("second"));
  api().remove_now(Api::path("Pod", "first"));
  EXPECT_TRUE(soon([&] { return bound("second"); }, 30s));
}

INSTANTIATE_TEST_SUITE_P(Each, NodeChanges, testing::ValuesIn(node_changes()),
                         [](const auto& param) { return std::string(param.param.name); });

class Leaving : public Held {};

// kube-scheduler binds such a pod, too.
TEST_F(Leaving, DevicesThatAreRenamedDoNotKeepAPodFromItsNode) {
  begin_bind(2);
  hold(true);
  api().create(asking(pod("p", {from_template("gpu", "one-gpu")}, ours())));
  ASSERT_TRUE(soon([&] { return proven({"p"}); }));
  const std::string node = devices_node("p");
  Json renamed = slice(node, 4);
  for (Json& device : renamed["spec"]["devices"]) device["name"] = "other-" + device["name"].get<std::string>();
  renamed["spec"]["pool"]["generation"] = 2;
  api().merge(Api::path("ResourceSlice", node + "-" + kDriver), {{"spec", renamed["spec"]}});
  hold(false);
  expect_bound_together({"p"}, 10s);
}

// Somebody else binds the pod after it announced: its devices are not freed, and it gets its reservation back.
TEST_F(Leaving, APodThatOthersBindMeanwhileKeepsItsDevices) {
  begin_bind(2);
  hold(true);
  api().create(asking(pod("p", {from_template("gpu", "one-gpu")}, ours())));
  ASSERT_TRUE(soon([&] { return proven({"p"}); }));
  const std::string node = devices_node("p"), claim_name = generated("p");
  const std::string uid = get_claim(claim_name)->metadata.uid;
  // The manager sees pods late: it goes on leaving after the pod is bound.
  manager().network().set_plan([](const client::Request& request, bool streamed) {
    client::Fault fault;
    if (streamed && request.target.find("/pods?") != std::string::npos) fault.delay_answer = 5s;
    if (starts_pod(request)) fault.kind = client::Fault::Kind::kRefuse;
    return fault;
  });
  manager().network().cut_all_streams();
  pass(6s);
  api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
  ASSERT_TRUE(soon(
      [&] {
        const auto known = get_pod("p");
        return known && known->metadata.annotations.contains("dra-controller-manager/leaving");
      },
      30s));
  const Json binding{{"apiVersion", "v1"},
                     {"kind", "Binding"},
                     {"metadata", {{"name", "p"}}},
                     {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  ASSERT_TRUE(api().call("POST", Api::path("Pod", "p") + "/binding", binding.dump()).ok());
  EXPECT_TRUE(soon([&] { return bound("p"); }));
  EXPECT_TRUE(never([&] { return !allocated(claim_name); }, 30s)) << "kubelet may have prepared them";
  EXPECT_EQ(consumers(claim_name), Names{"p"});
  EXPECT_EQ(get_claim(claim_name)->metadata.uid, uid);
}

TEST_F(Leaving, MembersAreBoundOnce) {
  begin_bind(5);
  Names members;
  for (int round = 0; round < 3; ++round) {
    const std::string group = "g" + std::to_string(round);
    for (int i = 0; i < 6; ++i) {
      members.push_back(group + "-" + std::to_string(i));
      api().create(asking(member_of_job(pod(members.back(), {from_template("gpu", "one-gpu")}, ours()), group, 6)));
    }
  }
  ASSERT_TRUE(soon([&] { return all_bound(members); }, 30s));
  pass(10s);
  expect_each_bound_once(members);
}

// What leaving needs costs a pod nothing that does not leave (docs/write-points.md, "Requests per pod").
TEST_F(Leaving, APodThatStaysCostsFiveWritesAndNoRead) {
  begin_bind(3);
  const auto reads = std::make_shared<size_t>(0);
  manager().network().set_plan([reads](const client::Request& request, bool streamed) {
    const bool of_one = request.target.find("/pods/") != std::string::npos ||
                        request.target.find("/resourceclaims/") != std::string::npos;
    if (!streamed && request.method == "GET" && of_one) ++*reads;
    return client::Fault{};
  });
  Names pods;
  for (int i = 0; i < 10; ++i) {
    pods.push_back("p" + std::to_string(i));
    api().create(asking(pod(pods.back(), {from_template("gpu", "one-gpu")}, ours())));
  }
  ASSERT_TRUE(soon([&] { return all_bound(pods); }));
  pass(5s);
  std::map<std::string, size_t> seen = manager().guard().seen();
  std::erase_if(
      seen, [](const auto& point) { return point.first.starts_with("events/") || point.first.starts_with("lease/"); });
  const std::map<std::string, size_t> expected{{"claimtemplate/create-claim", 10},
                                               {"claimtemplate/publish-claim-names", 10},
                                               {"allocation/allocate", 10},
                                               {"allocation/prove", 10},
                                               {"allocation/bind", 10}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(*reads, 0u);
}

// A rack of two nodes, and a larger one. A node of the first moves while the group is held.
class Racks : public Held, public testing::WithParamInterface<const char*> {
 protected:
  void put_in_rack(const std::string& node, const std::string& rack) {
    api().merge(Api::path("Node", node), {{"metadata", {{"labels", {{"rack", rack}}}}}});
  }
  std::string rack_of(const std::string& node) {
    return api().get(Api::path("Node", node))["metadata"]["labels"]["rack"].get<std::string>();
  }
};

TEST_P(Racks, AGroupThatMustBeInOneRackStartsInOne) {
  const bool gated = GetParam() == std::string("gate");
  if (gated) {
    nodes_ = 4;
    begin();
    label_usable(api(), 4);
  } else {
    begin_bind(4);
  }
  for (int i = 0; i < 4; ++i) put_in_rack(node_name(i), i < 2 ? "a" : "b");
  hold(true);
  PodOptions options = ours();
  if (gated) options = {.run_seconds = 100'000};
  Names members;
  for (int i = 0; i < 4; ++i) {
    members.push_back("m" + std::to_string(i));
    Json member = member_of_job(pod(members.back(), {from_template("gpu", "two-gpus")}, options), "train", 4);
    member["metadata"]["annotations"]["dra-controller-manager/topology-required"] = "rack";
    api().create(asking(member));
  }
  ASSERT_TRUE(soon([&] { return proven(members); }));
  const std::string moved = devices_node("m3"), rack = rack_of(moved);
  put_in_rack(moved, rack == "a" ? "b" : "a");
  hold(false);
  // No place is left in the old rack: all leave after 5 s and start over in the other one.
  EXPECT_TRUE(soon([&] { return all_bound(members); }, 30s)) << cluster().verdict();
  std::set<std::string> racks;
  for (const std::string& name : members) racks.insert(rack_of(node_of(name)));
  EXPECT_EQ(racks.size(), 1u) << *racks.begin() << " and " << *racks.rbegin();
  EXPECT_EQ(cluster().verdict(), "");
}

INSTANTIATE_TEST_SUITE_P(Modes, Racks, testing::Values("gate", "bind"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace dra::integration::bound_leaving_test
