// Pods whose node depends on other pods, in gate mode: none is ungated towards a node that kube-scheduler would refuse.
#include "test/integration/world.h"

namespace dra::integration::placement_test {

using namespace std::chrono_literals;

class Placement : public World {
 protected:
  Placement() { nodes_ = 4; }
  // A gated pod of app "a" with one device.
  Json member(const std::string& name) {
    Json object = pod(name, {from_template("gpu", "one-gpu")}, {.run_seconds = 1000});
    object["metadata"]["labels"] = {{"app", "a"}};
    return object;
  }
  static Json apart(const Json& more = Json::object()) {
    Json term = {{"topologyKey", "kubernetes.io/hostname"}, {"labelSelector", {{"matchLabels", {{"app", "a"}}}}}};
    term.update(more);
    return {{"podAntiAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}}}};
  }
  std::set<std::string> nodes_of(const std::vector<std::string>& pods) {
    std::set<std::string> out;
    for (const std::string& name : pods) out.insert(node_of(name));
    return out;
  }
  bool said(const std::string& words) {
    for (const Json& event : api().list("Event"))
      if (event.dump().find(words) != std::string::npos) return true;
    return false;
  }
};

TEST_F(Placement, PodsThatKeepApartGetNodesApart) {
  begin();
  const std::vector<std::string> names = {"p0", "p1", "p2", "p3"};  // as many as nodes
  for (const std::string& name : names) {
    Json object = member(name);
    object["spec"]["affinity"] = apart();
    api().create(object);
  }
  EXPECT_TRUE(
      soon([&] { return std::all_of(names.begin(), names.end(), [&](const auto& n) { return bound(n); }); }, 30s));
  EXPECT_EQ(nodes_of(names).size(), 4u);
  Json fifth = member("p4");
  fifth["spec"]["affinity"] = apart();
  api().create(fifth);
  EXPECT_TRUE(soon([&] { return said("didn't match pod anti-affinity rules"); }));
  EXPECT_TRUE(gated("p4"));
  EXPECT_EQ(cluster().watchdog().held_devices(), 4u) << "nothing is held by a pod that fits nowhere";
  api().remove(Api::path("Pod", "p2"));
  EXPECT_TRUE(soon([&] { return bound("p4"); }, 30s));
  EXPECT_EQ(cluster().verdict(), "");
}

TEST_F(Placement, TheWishOfAPodThatIsThereCounts) {
  begin();
  Json loner = member("loner");
  loner["spec"]["affinity"] = apart();
  api().create(loner);
  EXPECT_TRUE(soon([&] { return bound("loner"); }, 30s));
  for (const char* name : {"p0", "p1", "p2"}) api().create(member(name));
  EXPECT_TRUE(soon([&] { return bound("p0") && bound("p1") && bound("p2"); }, 30s));
  EXPECT_FALSE(nodes_of({"p0", "p1", "p2"}).contains(node_of("loner")));
}

TEST_F(Placement, PodsAreSpread) {
  begin();
  const std::vector<std::string> names = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};  // two a node
  for (const std::string& name : names) {
    Json object = member(name);
    object["spec"]["topologySpreadConstraints"] = {{{"maxSkew", 1},
                                                    {"topologyKey", "kubernetes.io/hostname"},
                                                    {"whenUnsatisfiable", "DoNotSchedule"},
                                                    {"labelSelector", {{"matchLabels", {{"app", "a"}}}}}}};
    api().create(object);
  }
  EXPECT_TRUE(
      soon([&] { return std::all_of(names.begin(), names.end(), [&](const auto& n) { return bound(n); }); }, 30s));
  std::map<std::string, int> count;
  for (const std::string& name : names) ++count[node_of(name)];
  for (const auto& [node, pods] : count) EXPECT_EQ(pods, 2) << node;
}

TEST_F(Placement, PortsOfDifferentProtocolsDoNotMeet) {
  begin();
  const auto listening = [&](const std::string& name, const char* protocol) {
    Json object = member(name);
    object["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n0"}};
    object["spec"]["containers"][0]["ports"] = {{{"containerPort", 53}, {"hostPort", 53}, {"protocol", protocol}}};
    api().create(object);
  };
  listening("udp", "UDP");
  listening("tcp", "TCP");
  EXPECT_TRUE(soon([&] { return bound("udp") && bound("tcp"); }, 30s));
  listening("second", "UDP");
  EXPECT_TRUE(soon([&] { return said("host port 53/UDP is taken"); }));
  EXPECT_TRUE(gated("second"));
}

TEST_F(Placement, APodWithoutClaimsThatGoesMakesRoom) {
  begin();
  for (const char* name : {"first", "second"}) {
    Json object = pod(name, {}, {.gated = false, .run_seconds = 1000});
    object["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", "n0"}};
    object["spec"]["containers"][0]["ports"] = {{{"containerPort", 53}, {"hostPort", 53}}};
    api().create(object);
    EXPECT_TRUE(name == std::string("second") || soon([&] { return bound(name); }));
  }
  EXPECT_TRUE(never([&] { return bound("second"); }, 10s));
  api().remove(Api::path("Pod", "first"));
  EXPECT_TRUE(soon([&] { return bound("second"); }, 60s));
}

// Labels of namespaces are watched once the first pod needs them.
TEST_F(Placement, NamespacesAreSelectedByLabel) {
  begin();
  api().merge(Api::path("Namespace", "default"), {{"metadata", {{"labels", {{"team", "x"}}}}}});
  api().create(member("plain"));
  EXPECT_TRUE(soon([&] { return bound("plain"); }, 30s));
  const auto choosing = [&](const std::string& name, const char* team) {
    Json object = member(name);
    object["spec"]["affinity"] = apart({{"namespaceSelector", {{"matchLabels", {{"team", team}}}}}});
    object["metadata"]["labels"]["app"] = "b";
    object["spec"]["nodeSelector"] = {{"kubernetes.io/hostname", node_of("plain")}};
    api().create(object);
  };
  choosing("other", "y");
  EXPECT_TRUE(soon([&] { return bound("other"); }, 30s)) << "pods of that team are elsewhere";
  choosing("same", "x");
  EXPECT_TRUE(soon([&] { return said("didn't match pod anti-affinity rules"); }, 30s));
  EXPECT_TRUE(gated("same"));
}

}  // namespace dra::integration::placement_test
