// Authorization through the whole server: roles, bindings, reviews, escalation, and who may write a claim's status.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/rbac/rules.h"
#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::rbac_test {

struct Answer {
  int code = 0;
  Json body;
  std::string message() const { return body.value("message", ""); }
};

class OneAnswer : public http::Responder {
 public:
  explicit OneAnswer(Answer& answer) : answer_(answer) {}
  void send(http::Response r) override {
    answer_.code = r.status;
    answer_.body = Json::parse(r.body, nullptr, false);
  }
  void begin_stream(http::Response) override {}
  bool write(std::string_view) override { return true; }
  void end() override {}
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()>) override {}

 private:
  Answer& answer_;
};

constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

class RbacTest : public ::testing::Test {
 protected:
  RbacTest() { start(AuthorizationMode::kRbac); }

  void start(AuthorizationMode mode) {
    ServerOptions options;
    options.authorization = mode;
    options.tokens = admin_token("admin");
    options.tokens["alice"] = {"alice", "2", {"devs"}, {}};
    options.tokens["driver"] = {"system:serviceaccount:default:driver",
                                "3",
                                {"system:serviceaccounts"},
                                {{"authentication.kubernetes.io/node-name", {"n1"}}}};
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
  }

  Answer ask(const std::string& token, const std::string& method, const std::string& target,
             const Json& body = nullptr) {
    http::Request r;
    r.method = method;
    r.target = target;
    if (!token.empty()) r.headers.add("Authorization", "Bearer " + token);
    if (!body.is_null()) {
      r.headers.add("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
      r.body = body.dump();
    }
    Answer answer;
    server_->handle(std::move(r), std::make_shared<OneAnswer>(answer));
    reactor_.run_until_idle();
    return answer;
  }

  void role(const std::string& name, const Json& rules) {
    ask("admin", "DELETE", std::string(kRbac) + "/clusterroles/" + name);
    const Answer made =
        ask("admin", "POST", std::string(kRbac) + "/clusterroles", {{"metadata", {{"name", name}}}, {"rules", rules}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  // Binds it in the whole cluster, or in `ns`.
  void bind(const std::string& role_name, const Json& subject, const std::string& ns = "") {
    const std::string path =
        kRbac + (ns.empty() ? std::string("/clusterrolebindings") : "/namespaces/" + ns + "/rolebindings");
    const Answer made = ask("admin", "POST", path,
                            {{"metadata", {{"generateName", "b-"}}},
                             {"subjects", Json::array({subject})},
                             {"roleRef", {{"kind", "ClusterRole"}, {"name", role_name}}}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  static Json user(const std::string& name) { return {{"kind", "User"}, {"name", name}}; }
  static Json rule(const std::vector<std::string>& verbs, const std::string& group,
                   const std::vector<std::string>& resources, const std::vector<std::string>& names = {}) {
    Json r = {{"verbs", verbs}, {"apiGroups", {group}}, {"resources", resources}};
    if (!names.empty()) r["resourceNames"] = names;
    return r;
  }

  void make_claim() {
    const Answer made =
        ask("admin", "POST", kClaims,
            {{"metadata", {{"name", "c"}}},
             {"spec", {{"devices", {{"requests", {{{"name", "r"}, {"exactly", {{"deviceClassName", "gpu"}}}}}}}}}}});
    ASSERT_EQ(made.code, 201) << made.body;
  }
  static Json allocation(const std::string& node) {
    return {
        {"devices", {{"results", {{{"request", "r"}, {"driver", "d.example.com"}, {"pool", "p"}, {"device", "x"}}}}}},
        {"nodeSelector",
         {{"nodeSelectorTerms",
           {{{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}}}}}};
  }
  static Json device_status() {
    return Json::array({{{"driver", "d.example.com"}, {"pool", "p"}, {"device", "x"}, {"data", {{"a", 1}}}}});
  }
  Answer patch_status(const std::string& token, const Json& status) {
    return ask(token, "PATCH", std::string(kClaims) + "/c/status", {{"status", status}});
  }

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{11};
  std::unique_ptr<Server> server_;
};

TEST_F(RbacTest, RefusesInUpstreamsWords) {
  EXPECT_EQ(ask("alice", "GET", "/api/v1/namespaces/default/pods/p").message(),
            "pods \"p\" is forbidden: User \"alice\" cannot get resource \"pods\" in API group \"\" in the namespace "
            "\"default\"");
  EXPECT_EQ(
      ask("alice", "GET", "/apis/resource.k8s.io/v1/resourceclaims").message(),
      "resourceclaims.resource.k8s.io is forbidden: User \"alice\" cannot list resource \"resourceclaims\" in API "
      "group \"resource.k8s.io\" at the cluster scope");
  EXPECT_EQ(ask("alice", "PATCH", std::string(kClaims) + "/c/status", Json::object()).message(),
            "resourceclaims.resource.k8s.io \"c\" is forbidden: User \"alice\" cannot patch resource "
            "\"resourceclaims/status\" in API group \"resource.k8s.io\" in the namespace \"default\"");
  EXPECT_EQ(ask("", "GET", "/apis").message(), "forbidden: User \"system:anonymous\" cannot get path \"/apis\"");
  EXPECT_EQ(ask("", "GET", "/version").code, 200);
  EXPECT_EQ(ask("alice", "GET", "/apis").code, 200);
}

TEST_F(RbacTest, BindingsGrantInTheirScopeUntilTheyGo) {
  role("reader", Json::array({rule({"get", "list"}, "", {"pods"})}));
  bind("reader", user("alice"), "default");
  EXPECT_EQ(ask("alice", "GET", "/api/v1/namespaces/default/pods").code, 200);
  EXPECT_EQ(ask("alice", "GET", "/api/v1/namespaces/kube-system/pods").code, 403);
  EXPECT_EQ(ask("alice", "GET", "/api/v1/pods").code, 403);
  EXPECT_EQ(ask("alice", "DELETE", "/api/v1/namespaces/default/pods/p").code, 403);
  bind("reader", {{"kind", "Group"}, {"name", "devs"}});
  EXPECT_EQ(ask("alice", "GET", "/api/v1/pods").code, 200);
  ask("admin", "DELETE", std::string(kRbac) + "/clusterroles/reader");
  EXPECT_EQ(ask("alice", "GET", "/api/v1/pods").message(),
            "pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" at the cluster scope: "
            "RBAC: clusterrole.rbac.authorization.k8s.io \"reader\" not found");
}

TEST_F(RbacTest, AlwaysAllowAsksNobody) {
  start(AuthorizationMode::kAlwaysAllow);
  EXPECT_EQ(ask("alice", "GET", "/api/v1/pods").code, 200);
  EXPECT_EQ(ask("", "GET", "/api/v1/pods").code, 200);
  EXPECT_EQ(ask("wrong", "GET", "/api/v1/pods").code, 401);
}

TEST_F(RbacTest, ReviewsAnswerAsRequestsDo) {
  role("leaser", Json::array({rule({"get", "update"}, "coordination.k8s.io", {"leases"}, {"mine"})}));
  bind("leaser", user("alice"), "kube-system");
  auto may = [&](const std::string& verb, const std::string& name, const std::string& ns) {
    const Answer review = ask("alice", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                              {{"spec",
                                {{"resourceAttributes",
                                  {{"verb", verb},
                                   {"group", "coordination.k8s.io"},
                                   {"resource", "leases"},
                                   {"name", name},
                                   {"namespace", ns}}}}}});
    EXPECT_EQ(review.code, 201);
    return review.body["status"];
  };
  const Json allowed = may("update", "mine", "kube-system");
  EXPECT_EQ(allowed["allowed"], true);
  EXPECT_NE(allowed["reason"].get<std::string>().find("of ClusterRole \"leaser\" to User \"alice\""), std::string::npos)
      << allowed;
  EXPECT_EQ(may("update", "other", "kube-system")["allowed"], false);
  EXPECT_EQ(may("update", "", "kube-system")["allowed"], false);
  EXPECT_EQ(may("create", "mine", "kube-system")["allowed"], false);
  EXPECT_EQ(may("update", "mine", "default")["allowed"], false);
}

TEST_F(RbacTest, NobodyGrantsWhatHeDoesNotHold) {
  role("granter",
       Json::array({rule({"create", "update"}, "rbac.authorization.k8s.io", {"clusterroles", "clusterrolebindings"}),
                    rule({"get"}, "", {"pods"})}));
  bind("granter", user("alice"));
  const std::string roles = std::string(kRbac) + "/clusterroles";
  const Json held = {{"metadata", {{"name", "held"}}}, {"rules", {rule({"get"}, "", {"pods"}, {"p"})}}};
  EXPECT_EQ(ask("alice", "POST", roles, held).code, 201);
  const Json more = {{"metadata", {{"name", "more"}}}, {"rules", {rule({"get", "*"}, "", {"pods"})}}};
  const Answer refused = ask("alice", "POST", roles, more);
  EXPECT_EQ(refused.code, 403);
  EXPECT_NE(refused.message().find("permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"]"),
            std::string::npos)
      << refused.message();
  EXPECT_EQ(ask("alice", "POST", std::string(kRbac) + "/clusterrolebindings",
                {{"metadata", {{"name", "b"}}},
                 {"subjects", {user("alice")}},
                 {"roleRef", {{"kind", "ClusterRole"}, {"name", "cluster-admin"}}}})
                .code,
            403);
}

TEST_F(RbacTest, BadRolesAndBindings) {
  const Answer bad_role =
      ask("admin", "POST", std::string(kRbac) + "/namespaces/default/roles",
          {{"metadata", {{"name", "r"}}},
           {"rules",
            {{{"verbs", Json::array()}}, {{"verbs", {"get"}}, {"nonResourceURLs", {"/x"}}, {"resources", {"pods"}}}}}});
  EXPECT_EQ(bad_role.code, 422);
  std::vector<std::string> fields;
  for (const auto& cause : bad_role.body["details"]["causes"]) fields.push_back(cause["field"]);
  EXPECT_EQ(fields, (std::vector<std::string>{"rules[0].verbs", "rules[0].apiGroups", "rules[0].resources",
                                              "rules[1].nonResourceURLs", "rules[1].nonResourceURLs"}));
  role("reader", Json::array({rule({"get"}, "", {"pods"})}));
  const std::string bindings = std::string(kRbac) + "/clusterrolebindings";
  const Json binding = {{"metadata", {{"name", "b"}}},
                        {"subjects", {user("alice")}},
                        {"roleRef", {{"kind", "ClusterRole"}, {"name", "reader"}}}};
  const Answer made = ask("admin", "POST", bindings, binding);
  ASSERT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(made.body["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
  const Answer changed = ask("admin", "PATCH", bindings + "/b", {{"roleRef", {{"name", "view"}}}});
  EXPECT_EQ(changed.code, 422);
  EXPECT_NE(changed.message().find("cannot change roleRef"), std::string::npos);
  Json account = binding;
  account["metadata"]["name"] = "c";
  account["subjects"] = {{{"kind", "ServiceAccount"}, {"name", "s"}}};
  const Answer homeless = ask("admin", "POST", bindings, account);
  EXPECT_EQ(homeless.code, 422);
  EXPECT_EQ(homeless.body["details"]["causes"][0]["field"], "subjects[0].namespace");
}

TEST_F(RbacTest, AllocationsNeedTheBindingPermissionInTheWholeCluster) {
  make_claim();
  role("status", Json::array({rule({"patch"}, "resource.k8s.io", {"resourceclaims/status"})}));
  bind("status", user("alice"));
  const Answer refused = patch_status("alice", {{"allocation", allocation("n1")}});
  EXPECT_EQ(refused.code, 422);
  EXPECT_EQ(
      refused.message(),
      "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing status.allocation or "
      "status.reservedFor requires resource=\"resourceclaims/binding\", verb=\"patch\" permission: "
      "resourceclaims.resource.k8s.io is forbidden: User \"alice\" cannot patch resource "
      "\"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope");
  EXPECT_EQ(refused.body["details"]["causes"][0]["reason"], "FieldValueForbidden");
  role("binder", Json::array({rule({"patch"}, "resource.k8s.io", {"resourceclaims/binding"})}));
  bind("binder", user("alice"), "default");
  EXPECT_EQ(patch_status("alice", {{"allocation", allocation("n1")}}).code, 422);
  bind("binder", user("alice"));
  EXPECT_EQ(patch_status("alice", {{"allocation", allocation("n1")}}).code, 200);
  // Unchanged parts need no permission.
  role("binder", Json::array());
  EXPECT_EQ(patch_status("alice", {{"allocation", allocation("n1")}}).code, 200);
  EXPECT_EQ(patch_status("alice", {{"allocation", nullptr}}).code, 422);
}

TEST_F(RbacTest, DeviceStatusNeedsThePermissionOfItsDriver) {
  make_claim();
  ASSERT_EQ(patch_status("admin", {{"allocation", allocation("n1")}}).code, 200);
  role("status", Json::array({rule({"patch"}, "resource.k8s.io", {"resourceclaims/status"})}));
  bind("status", user("system:serviceaccount:default:driver"));
  role("driver",
       Json::array({rule({"arbitrary-node:patch"}, "resource.k8s.io", {"resourceclaims/driver"}, {"other"})}));
  bind("driver", {{"kind", "ServiceAccount"}, {"name", "driver"}, {"namespace", "default"}});
  const Answer refused = patch_status("driver", {{"devices", device_status()}});
  EXPECT_EQ(refused.code, 422);
  EXPECT_NE(refused.message().find("status.devices: Forbidden: changing status.devices requires "
                                   "resource=\"resourceclaims/driver\", verb=\"[associated-node:patch "
                                   "arbitrary-node:patch]\" permission: "),
            std::string::npos)
      << refused.message();
  role("driver",
       Json::array({rule({"associated-node:patch"}, "resource.k8s.io", {"resourceclaims/driver"}, {"d.example.com"})}));
  EXPECT_EQ(patch_status("driver", {{"devices", device_status()}}).code, 200);
  // Deallocation removes the entries and needs only the other permission.
  role("binder", Json::array({rule({"patch"}, "resource.k8s.io", {"resourceclaims/binding"})}));
  bind("binder", user("alice"));
  bind("status", user("alice"));
  EXPECT_EQ(patch_status("alice", {{"allocation", nullptr}}).code, 200);
}

TEST_F(RbacTest, TokensOfPodsCarryTheirNodeAndDieWithThePod) {
  ask("admin", "POST", "/api/v1/namespaces/default/serviceaccounts", {{"metadata", {{"name", "s"}}}});
  ask("admin", "POST", "/api/v1/nodes", {{"metadata", {{"name", "n1"}}}});
  const Answer pod = ask("admin", "POST", "/api/v1/namespaces/default/pods",
                         {{"metadata", {{"name", "p"}}},
                          {"spec", {{"nodeName", "n1"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}});
  ASSERT_EQ(pod.code, 201) << pod.body;
  const Answer made = ask("admin", "POST", "/api/v1/namespaces/default/serviceaccounts/s/token",
                          {{"spec", {{"boundObjectRef", {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", "p"}}}}}});
  ASSERT_EQ(made.code, 201) << made.body;
  const std::string token = made.body["status"]["token"];
  const Answer who = ask(token, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", Json::object());
  ASSERT_EQ(who.code, 201) << who.body;
  EXPECT_EQ(who.body["status"]["userInfo"]["extra"]["authentication.kubernetes.io/node-name"], Json::array({"n1"}));
  ask("admin", "DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0");
  EXPECT_EQ(ask(token, "GET", "/apis").code, 401);
}

TEST(RbacRules, Wildcards) {
  const PolicyRule any_scale{{"*"}, {"*"}, {"*/scale"}, {}, {}};
  EXPECT_TRUE(any_scale.allows({"get", {"apps", "deployments"}, "scale", "ns", "d", ""}));
  EXPECT_FALSE(any_scale.allows({"get", {"apps", "deployments"}, "status", "ns", "d", ""}));
  EXPECT_FALSE(any_scale.allows({"get", {"apps", "deployments"}, "", "ns", "d", ""}));
  const PolicyRule pods{{"get"}, {""}, {"pods"}, {}, {}};
  EXPECT_FALSE(pods.allows({"get", {"", "pods"}, "status", "", "", ""}));
  EXPECT_FALSE(pods.allows({"get", {"metrics.k8s.io", "pods"}, "", "", "", ""}));
  const PolicyRule paths{{"get"}, {}, {}, {}, {"/apis/*", "/healthz"}};
  EXPECT_TRUE(paths.allows({"get", {}, "", "", "", "/apis/x"}));
  EXPECT_FALSE(paths.allows({"get", {}, "", "", "", "/healthz/ping"}));
  EXPECT_FALSE(paths.allows({"get", {"", "pods"}, "", "", "", ""}));
}

}  // namespace dra::apiserver::rbac_test
