// What is read from a server whose APIs differ from those of the release that the program was written for.
#include "pkg/inspect/source/server_source.h"

#include <gtest/gtest.h>

#include <map>

#include "client/transport/in_process.h"

namespace dra::inspect {
namespace {

// Answers from a table by path, otherwise 404.
class Table : public client::RequestHandler {
 public:
  void handle(const client::Request& request, const std::string&,
              std::shared_ptr<client::ServerExchange> exchange) override {
    const auto known = answers.find(request.target.substr(0, request.target.find('?')));
    client::Response response;
    response.status = known == answers.end() ? 404 : 200;
    if (const auto needed = needs.find(request.target.substr(0, request.target.find('?')));
        needed != needs.end() && request.target.find(needed->second) == std::string::npos)
      response.status = 403;
    if (known == answers.end() && all_else_forbidden) response.status = 403;
    response.body = known == answers.end() ? "404 page not found\n" : known->second;
    exchange->respond(std::move(response));
  }
  std::map<std::string, std::string> answers;
  bool all_else_forbidden = false;
  std::map<std::string, std::string> needs;  // forbidden without this in the request
};

Result<Objects> load(Table& table) {
  SystemClock clock;
  AsioReactor reactor(clock);
  client::InProcessTransport transport(reactor, table);
  ServerOptions options;
  options.server = "https://test";
  options.ns = "ml";
  return load_from_server(reactor, transport, options);
}

// A server with a pod that names a PodGroup of each API, which it serves in these versions.
Table with_groups(const std::string& core, const std::string& plugins) {
  Table table;
  table.answers["/version"] = R"({"gitVersion":"v1.37.0"})";
  table.answers["/apis/resource.k8s.io"] = R"({"versions":[{"version":"v1"}]})";
  table.answers["/api/v1/pods"] =
      R"({"items":[{"metadata":{"name":"p","namespace":"ml"},"spec":{"schedulingGroup":{"podGroupName":"g"}}},)"
      R"({"metadata":{"name":"q","namespace":"ml","labels":{"scheduling.x-k8s.io/pod-group":"h"}}}]})";
  const auto serve = [&](const std::string& group, const std::string& version, const std::string& items) {
    const std::string path = "/apis/" + group;
    table.answers[path] = R"({"versions":[{"version":"v1"},{"version":")" + version + R"("}]})";
    table.answers[path + "/v1"] = R"({"resources":[{"name":"priorityclasses"}]})";
    table.answers[path + "/" + version] = R"({"resources":[{"name":"podgroups"}]})";
    table.answers[path + "/" + version + "/podgroups"] = R"({"items":[)" + items + "]}";
  };
  serve("scheduling.k8s.io", core,
        R"({"metadata":{"name":"g","namespace":"ml"},"spec":{"schedulingPolicy":{"gang":{"minCount":3}}}})");
  serve("scheduling.x-k8s.io", plugins, R"({"metadata":{"name":"h","namespace":"ml"},"spec":{"minMember":2}})");
  return table;
}

// 1.36 serves v1 without them, 1.37 with them.
TEST(ServerSource, TaintRulesAreReadInTheNewestVersionThatHasThem) {
  for (const std::string of : {"v1", "v1beta2", "v1alpha3"}) {
    Table table;
    table.answers["/version"] = R"({"gitVersion":"v1.37.0"})";
    const std::string path = "/apis/resource.k8s.io";
    table.answers[path] = R"({"versions":[{"version":"v1alpha3"},{"version":"v1beta2"},{"version":"v1"}]})";
    for (const char* version : {"v1", "v1beta2", "v1alpha3"})
      table.answers[path + "/" + version] = R"({"resources":[{"name":"resourceslices"}]})";
    table.answers[path + "/" + of] = R"({"resources":[{"name":"devicetaintrules"}]})";
    table.answers["/api/v1/pods"] = R"({"items":[]})";
    table.answers[path + "/" + of + "/devicetaintrules"] =
        R"({"items":[{"metadata":{"name":"r"},"spec":{"deviceSelector":{},"taint":{"key":"k","effect":"NoSchedule"}}}]})";
    const auto objects = load(table);
    ASSERT_TRUE(objects) << of << ": " << objects.error().message();
    EXPECT_TRUE(objects->taint_rules_served) << of;
    EXPECT_EQ(objects->taint_rule_version, of);
    EXPECT_EQ(objects->taint_rules.size(), 1u) << of;
  }
}

// The chart's role for viewers allows the one Lease by its name.
TEST(ServerSource, TheManagersLeaseIsReadByLabelOrByItsName) {
  const std::string path = "/apis/coordination.k8s.io/v1/leases";
  Table table;
  table.answers["/version"] = R"({"gitVersion":"v1.36.2"})";
  table.answers["/apis/resource.k8s.io"] = R"({"versions":[{"version":"v1"}]})";
  table.answers["/api/v1/pods"] = R"({"items":[]})";
  table.answers[path] =
      R"({"items":[{"metadata":{"name":"dra-controller-manager","namespace":"dra","annotations":{"dra-controller-manager/mode":"gate"}},)"
      R"("spec":{"holderIdentity":"a"}}]})";
  for (const char* needed : {"labelSelector=app.kubernetes.io", "fieldSelector=metadata.name", "no such request"}) {
    SCOPED_TRACE(needed);
    table.needs[path] = needed;
    const auto objects = load(table);
    ASSERT_TRUE(objects) << objects.error().message();
    EXPECT_TRUE(objects->managers.asked);
    const bool allowed = std::string(needed) != "no such request";
    EXPECT_EQ(objects->managers.why_hidden, allowed ? "" : "you may not read it");
    ASSERT_EQ(objects->managers.leases.size(), allowed ? 1u : 0u);
    if (allowed) {
      EXPECT_EQ(objects->managers.leases.at("dra/dra-controller-manager")
                    ->metadata.annotations.at("dra-controller-manager/mode"),
                "gate");
    }
    EXPECT_TRUE(objects->hidden.empty() || objects->hidden.front().what != "leases") << "it decides nothing";
  }
}

// Quotas decide whether claims are made, and answers are possible without them.
TEST(ServerSource, QuotasAreReadWhereTheyMayBe) {
  const std::string everywhere = "/api/v1/resourcequotas", in_ns = "/api/v1/namespaces/ml/resourcequotas";
  Table table;
  table.answers["/version"] = R"({"gitVersion":"v1.36.2"})";
  table.answers["/apis/resource.k8s.io"] = R"({"versions":[{"version":"v1"}]})";
  table.answers["/api/v1/pods"] = R"({"items":[]})";
  for (const std::string& path : {everywhere, in_ns})
    table.answers[path] =
        R"({"items":[{"metadata":{"name":"q","namespace":"ml"},"spec":{"hard":{"pods":"9"},"scopes":["BestEffort"]},)"
        R"("status":{"hard":{"pods":"8"},"used":{"pods":"1"}}}]})";
  const auto whole = load(table);
  ASSERT_TRUE(whole) << whole.error().message();
  ASSERT_TRUE(whole->quotas.all.contains("ml/q"));
  const api::ResourceQuota& quota = *whole->quotas.all.at("ml/q");
  EXPECT_EQ(quota.hard, (api::StringMap{{"pods", "9"}}));
  EXPECT_EQ(quota.enforced_hard, (api::StringMap{{"pods", "8"}}));
  EXPECT_EQ(quota.used, (api::StringMap{{"pods", "1"}}));
  EXPECT_TRUE(quota.has_scopes);
  EXPECT_TRUE(whole->quotas.asked && !whole->quotas.hides_in("ml"));

  table.needs[everywhere] = "no such request";
  const auto narrowed = load(table);
  ASSERT_TRUE(narrowed) << narrowed.error().message();
  EXPECT_TRUE(narrowed->quotas.all.contains("ml/q"));
  EXPECT_TRUE(narrowed->quotas.hides_in("other") && !narrowed->quotas.hides_in("ml"));

  table.needs[in_ns] = "no such request";
  const auto none = load(table);
  ASSERT_TRUE(none) << none.error().message();
  EXPECT_TRUE(none->quotas.asked && none->quotas.hides_in("ml"));
  EXPECT_EQ(none->hidden.size(), whole->hidden.size()) << "answers do without them";
}

TEST(ServerSource, WhoMayListNothingHearsWhatToAskFor) {
  Table table;
  table.answers["/version"] = R"({"gitVersion":"v1.36.2"})";
  table.answers["/apis/resource.k8s.io"] = R"({"versions":[{"version":"v1"}]})";
  table.all_else_forbidden = true;
  const auto objects = load(table);
  ASSERT_FALSE(objects);
  EXPECT_EQ(objects.error().code(), Code::kPermissionDenied);
  for (const char* said : {"allows none of the lists", "ClusterRole dra-controller-manager:viewer", "-n NAMESPACE"})
    EXPECT_NE(objects.error().message().find(said), std::string::npos) << objects.error().message();
}

TEST(ServerSource, PodGroupsAreReadInTheVersionThatHasThem) {
  for (const auto& [core, plugins] : {std::pair("v1alpha2", "v1alpha1"), std::pair("v1beta1", "v1")}) {
    SCOPED_TRACE(core);
    Table table = with_groups(core, plugins);
    const auto objects = load(table);
    ASSERT_TRUE(objects) << objects.error().message();
    using reconcile::GroupApi;
    ASSERT_TRUE(objects->pod_groups.contains(GroupApi::kCore) && objects->pod_groups.contains(GroupApi::kPlugins));
    const auto& of_core = objects->pod_groups.at(GroupApi::kCore);
    const auto& of_plugins = objects->pod_groups.at(GroupApi::kPlugins);
    ASSERT_TRUE(of_core.contains("ml/g") && of_plugins.contains("ml/h"));
    EXPECT_EQ(of_core.at("ml/g")->min_count, 3);
    EXPECT_EQ(of_plugins.at("ml/h")->min_count, 2);
  }
}

TEST(ServerSource, AServerThatDoesNotSayItsVersionsIsAskedForTheUsualOnes) {
  Table table = with_groups("v1alpha2", "v1alpha1");
  for (const char* path : {"/apis/scheduling.k8s.io", "/apis/scheduling.x-k8s.io"}) table.answers.erase(path);
  const auto objects = load(table);
  ASSERT_TRUE(objects) << objects.error().message();
  EXPECT_EQ(objects->pod_groups.size(), 2u);
}

}  // namespace
}  // namespace dra::inspect
