#include "client/rest/discovery.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "client/transport/in_process.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::client::discovery_test {

// Answers from a table, otherwise 404. Keeps the last body.
class Table : public RequestHandler {
 public:
  void handle(const Request& request, const std::string&, std::shared_ptr<ServerExchange> exchange) override {
    last_body = request.body;
    Response response;
    auto it = answers.find(request.target);
    response.status = it == answers.end() ? 404 : 200;
    response.body = it == answers.end() ? "404 page not found\n" : it->second;
    exchange->respond(std::move(response));
  }
  std::map<std::string, std::string> answers;
  std::string last_body;
};

struct Fixture {
  ManualClock clock;
  SimReactor reactor{clock};
  Table table;
  InProcessTransport transport{reactor, table};
  RestClient client{transport};
  Handle handle;
};

TEST(Discovery, GroupsAndTheNewestVersionWeKnow) {
  Fixture f;
  f.table.answers["/apis/resource.k8s.io"] =
      R"({"versions":[{"version":"v1"},{"version":"v1beta1"},7],"preferredVersion":{"version":"v1"}})";
  std::optional<Result<std::optional<ServedGroup>>> got;
  auto keep = [&](Result<std::optional<ServedGroup>> r) { got = std::move(r); };
  f.handle = discover_group(f.client, "resource.k8s.io", keep);
  f.reactor.run_until_idle();
  ASSERT_TRUE(got->has_value() && (**got).has_value());
  EXPECT_EQ((**got)->versions, (std::vector<std::string>{"v1", "v1beta1"}));
  EXPECT_EQ((**got)->preferred, "v1");
  EXPECT_EQ(newest_of(***got, {"v1", "v1beta2", "v1beta1"}), "v1");
  EXPECT_EQ(newest_of(***got, {"v2", "v1beta1"}), "v1beta1");
  EXPECT_EQ(newest_of(***got, {"v3"}), "");
  f.handle = discover_group(f.client, "absent.example.com", keep);
  f.reactor.run_until_idle();
  ASSERT_TRUE(got->has_value());
  EXPECT_FALSE((**got).has_value());
  f.table.answers["/apis/broken"] = "[";
  f.handle = discover_group(f.client, "broken", keep);
  f.reactor.run_until_idle();
  EXPECT_FALSE(got->has_value());
}

TEST(Discovery, Resources) {
  Fixture f;
  f.table.answers["/api/v1"] =
      R"({"resources":[{"name":"pods/binding","kind":"Binding","namespaced":true,"verbs":["create",1]}]})";
  std::optional<std::vector<ServedResource>> got;
  f.handle = discover_resources(f.client, "", "v1", [&](auto r) { got = *r; });
  f.reactor.run_until_idle();
  ASSERT_TRUE(got.has_value());
  ASSERT_EQ(got->size(), 1u);
  EXPECT_EQ((*got)[0].name, "pods/binding");
  EXPECT_TRUE((*got)[0].namespaced);
  EXPECT_EQ((*got)[0].verbs, std::vector<std::string>{"create"});
}

TEST(Discovery, TheFirstVersionThatHasTheResource) {
  Fixture f;
  std::optional<std::string> got;
  const auto ask = [&] {
    got.reset();
    f.handle = discover_version_with(f.client, "g.io", "things", [&](const std::string& version) { got = version; });
    f.reactor.run_until_idle();
    return got.value_or("no answer");
  };
  EXPECT_EQ(ask(), "") << "the group is not served";
  f.table.answers["/apis/g.io"] = R"({"versions":[{"version":"v1"},{"version":"v1beta1"},{"version":"v1alpha1"}]})";
  EXPECT_EQ(ask(), "") << "no version answers";
  f.table.answers["/apis/g.io/v1"] = R"({"resources":[{"name":"others"}]})";
  f.table.answers["/apis/g.io/v1beta1"] = R"({"resources":[{"name":"things/status"},{"name":"things"}]})";
  f.table.answers["/apis/g.io/v1alpha1"] = f.table.answers["/apis/g.io/v1beta1"];
  EXPECT_EQ(ask(), "v1beta1");
  got.reset();
  f.handle = discover_version_with(f.client, "g.io", "things", [&](const std::string& version) { got = version; });
  f.handle.cancel();
  f.reactor.run_until_idle();
  EXPECT_FALSE(got.has_value());
}

TEST(Discovery, Access) {
  Fixture f;
  std::string path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  f.table.answers[path] = R"({"status":{"allowed":true,"reason":"RBAC"}})";
  Permission permission{"patch", "resource.k8s.io", "resourceclaims", "binding", "", ""};
  std::optional<Result<AccessAnswer>> got;
  auto keep = [&](Result<AccessAnswer> r) { got = std::move(r); };
  f.handle = check_access(f.client, permission, keep);
  f.reactor.run_until_idle();
  ASSERT_TRUE(got->has_value());
  EXPECT_TRUE((**got).allowed);
  auto sent = nlohmann::json::parse(f.table.last_body);
  EXPECT_EQ(sent["spec"]["resourceAttributes"],
            nlohmann::json::parse(
                R"({"verb":"patch","group":"resource.k8s.io","resource":"resourceclaims","subresource":"binding"})"));
  f.table.answers[path] = "{}";
  f.handle = check_access(f.client, permission, keep);
  f.reactor.run_until_idle();
  EXPECT_FALSE(got->has_value());
  EXPECT_EQ(to_string(permission), "patch resourceclaims/binding in resource.k8s.io");
  EXPECT_EQ(to_string(Permission{"get", "", "pods", "", "ns", "a"}),
            "get pods \"a\" in the core group, namespace \"ns\"");
}

}  // namespace dra::client::discovery_test
