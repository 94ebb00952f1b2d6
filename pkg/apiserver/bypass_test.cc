// Requests that resemble something their user may do. Each must be refused and change nothing, whatever its method,
// path and selector. test/hostile/authorization_test.py compares such requests with kube-apiserver's answers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/rest/request.h"
#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::bypass_test {

constexpr const char* kHidden = "not-for-alice";
constexpr const char* kHiddenBase64 = "bm90LWZvci1hbGljZQ";  // as Secrets show it

struct Seen {
  int code = 0;
  std::string text;
};

class Keep : public http::Responder {
 public:
  explicit Keep(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  void send(http::Response r) override {
    seen_->code = r.status;
    seen_->text = r.body;
  }
  void begin_stream(http::Response r) override { seen_->code = r.status; }
  bool write(std::string_view piece) override {
    seen_->text += piece;
    return true;
  }
  void end() override {}
  size_t buffered() const override { return 0; }
  void on_close(std::function<void()>) override {}

 private:
  std::shared_ptr<Seen> seen_;
};

class BypassTest : public ::testing::Test {
 protected:
  BypassTest() {
    ServerOptions options;
    options.tokens = admin_token("admin");
    options.tokens["alice"] = {"alice", "2", {}, {}};
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    const Json pod = {
        {"metadata", {{"name", "p"}}},
        {"spec", {{"schedulingGates", {{{"name", "a.b/c"}}}}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
    must("POST", "/api/v1/namespaces/default/pods", pod);
    must("POST", kSecrets, {{"metadata", {{"name", "mine"}}}, {"stringData", {{"k", "mine"}}}});
    must("POST", kSecrets, {{"metadata", {{"name", "other"}}}, {"stringData", {{"k", kHidden}}}});
    must("POST", kMaps, {{"metadata", {{"name", "m"}}}, {"data", {{"k", "v"}}}});
    const Json labels = {{"app", "x"}};
    must("POST", "/apis/apps/v1/namespaces/default/deployments",
         {{"metadata", {{"name", "d"}}},
          {"spec",
           {{"selector", {{"matchLabels", labels}}},
            {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod["spec"]}}}}}});
    grant(Json::array({
        rule({"get"}, "", {"pods", "pods/status", "pods/log"}),
        rule({"get"}, "apps", {"deployments/scale", "deployments/status"}),
        rule({"get", "list", "watch", "deletecollection"}, "", {"secrets"}, {"mine"}),
        rule({"patch", "update", "get"}, "", {"configmaps"}),
        rule({"update", "patch"}, "coordination.k8s.io", {"leases"}),
        {{"verbs", {"get"}}, {"nonResourceURLs", {"/api/v1/*", "/openapi"}}},
    }));
  }

  std::shared_ptr<Seen> ask(const std::string& token, const std::string& method, const std::string& target,
                            const std::string& body = "", const std::string& type = "application/json") {
    http::Request r;
    r.method = method;
    r.target = target;
    r.headers.add("Authorization", "Bearer " + token);
    if (!body.empty()) r.headers.add("Content-Type", type);
    r.body = body;
    auto seen = std::make_shared<Seen>();
    server_->handle(std::move(r), std::make_shared<Keep>(seen));
    reactor_.run_until_idle();
    return seen;
  }
  void must(const std::string& method, const std::string& target, const Json& body) {
    const auto seen = ask("admin", method, target, body.dump());
    ASSERT_LT(seen->code, 300) << method << " " << target << " " << seen->text;
  }
  static Json rule(const std::vector<std::string>& verbs, const std::string& group,
                   const std::vector<std::string>& resources, const std::vector<std::string>& names = {}) {
    Json r = {{"verbs", verbs}, {"apiGroups", {group}}, {"resources", resources}};
    if (!names.empty()) r["resourceNames"] = names;
    return r;
  }
  void grant(const Json& rules) {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";
    must("POST", rbac + "/clusterroles", {{"metadata", {{"name", "r"}}}, {"rules", rules}});
    must("POST", rbac + "/clusterrolebindings",
         {{"metadata", {{"name", "b"}}},
          {"subjects", {{{"kind", "User"}, {"name", "alice"}}}},
          {"roleRef", {{"kind", "ClusterRole"}, {"name", "r"}}}});
  }

  // Alice's request is refused and writes nothing.
  void refused(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& type = "application/json") {
    ++tried_;
    const uint64_t before = server_->store().revision();
    const auto seen = ask("alice", method, target, body, type);
    EXPECT_GE(seen->code, 400) << method << " " << target << " " << seen->text;
    EXPECT_EQ(server_->store().revision(), before) << method << " " << target << " " << seen->text;
    EXPECT_EQ(seen->text.find(kHiddenBase64), std::string::npos) << method << " " << target << " " << seen->text;
    EXPECT_EQ(server_->watches(), 0U) << method << " " << target;
  }

  static constexpr const char* kSecrets = "/api/v1/namespaces/default/secrets";
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{3};
  std::unique_ptr<Server> server_;
  int tried_ = 0;
};

// A user with get on a subresource could patch it with HEAD, or with "Get".
TEST_F(BypassTest, MethodsThatAreNotWhatWasAuthorized) {
  const std::string patch = R"({"metadata":{"labels":{"x":"y"}},"status":{"phase":"Failed"},"spec":{"replicas":7}})";
  const char* methods[] = {"HEAD",     "Get",  "get",  "gET",    "Head",   "Patch",   "patch",  "Put",
                           "put",      "Post", "post", "DELETE", "Delete", "OPTIONS", "TRACE",  "CONNECT",
                           "PROPFIND", "LIST", "list", "watch",  "WATCH",  "update",  "create", "deletecollection",
                           "GET\t",    "",     "*"};
  for (const char* method : methods) {
    for (const char* target :
         {"/api/v1/namespaces/default/pods/p/status", "/apis/apps/v1/namespaces/default/deployments/d/scale",
          "/apis/apps/v1/namespaces/default/deployments/d/status"}) {
      refused(method, target, patch, "application/merge-patch+json");
    }
    refused(method, kSecrets);
    refused(method, std::string(kSecrets) + "/other");
  }
  EXPECT_GE(tried_, 100);
  EXPECT_EQ(ask("alice", "GET", "/api/v1/namespaces/default/pods/p/status")->code, 200);
  EXPECT_EQ(
      ask("admin", "HEAD", "/api/v1/namespaces/default/pods/p/status", patch, "application/merge-patch+json")->code,
      405);
}

// A backslash hid a comma from the check but not from the list.
TEST_F(BypassTest, SelectorsThatShowMoreThanTheNameThatWasAuthorized) {
  const char* selectors[] = {"metadata.name!=x%5C,metadata.name=mine",
                             "metadata.namespace=default%5C,metadata.name=mine",
                             "metadata.name!=mine",
                             "metadata.name%5C=mine",
                             "metadata.name=%5Cmine",
                             "metadata.name=mine%5C",
                             "metadata.name=mine%5C,",
                             "metadata.name=mi%5Cne",
                             "metadata.name=",
                             "metadata.name==",
                             "metadata.name",
                             "=mine",
                             "!=mine",
                             "metadata.name===mine",
                             "metadata.name=!=mine",
                             "metadata.name!==mine",
                             "metadata.name=other",
                             "metadata.name=other,metadata.name=mine",
                             "Metadata.Name=mine",
                             "%20metadata.name=mine",
                             "metadata.name=mine%00",
                             "metadata.name=mine/",
                             "metadata.name=..",
                             "metadata.namespace=default,metadata.name!=x%5C%5C%5C,metadata.name=mine",
                             "",
                             ","};
  for (const char* selector : selectors) {
    for (const char* more : {"", "&watch=true&resourceVersion=0", "&watch=1&resourceVersion=0&timeoutSeconds=1"}) {
      refused("GET", std::string(kSecrets) + "?fieldSelector=" + selector + more);
      refused("GET", "/api/v1/secrets?fieldSelector=" + std::string(selector) + more);
    }
    refused("DELETE", std::string(kSecrets) + "?fieldSelector=" + selector);
    refused("GET", "/api/v1/watch/namespaces/default/secrets?fieldSelector=" + std::string(selector));
  }
  refused("DELETE", std::string(kSecrets) + "?fieldSelector=metadata.name=mine");
  refused("GET", "/api/v1/watch/namespaces/default/secrets?fieldSelector=metadata.name=mine");
  refused("GET", std::string(kSecrets) + "?x;fieldSelector=metadata.name=mine");
  EXPECT_GE(tried_, 100);
  const auto one = ask("alice", "GET", std::string(kSecrets) + "?fieldSelector=metadata.name=mine");
  EXPECT_EQ(one->code, 200) << one->text;
  EXPECT_EQ(Json::parse(one->text)["items"].size(), 1U);
  // Both must hold, so the result has at most what one of them allows.
  const auto none =
      ask("alice", "GET", std::string(kSecrets) + "?fieldSelector=metadata.name=mine,metadata.name=other");
  EXPECT_EQ(none->code, 200) << none->text;
  EXPECT_EQ(Json::parse(none->text)["items"].size(), 0U);
}

// Apply and PUT create; permission to patch or update does not suffice for that.
TEST_F(BypassTest, WritesThatCreateNeedTheRightToCreate) {
  const std::string map = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}})";
  refused("PATCH", std::string(kMaps) + "/new?fieldManager=a", map, "application/apply-patch+yaml");
  const std::string lease =
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","namespace":"default"}})";
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
  refused("PUT", leases, lease);
  refused("PATCH", leases + "?fieldManager=a", lease, "application/apply-patch+yaml");
  EXPECT_EQ(ask("alice", "PUT", leases, lease)->code, 403);
  EXPECT_EQ(ask("admin", "PUT", leases, lease)->code, 201);
  EXPECT_EQ(ask("alice", "PATCH", std::string(kMaps) + "/m?fieldManager=a",
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"n":"1"}})",
                "application/apply-patch+yaml")
                ->code,
            200);
}

TEST_F(BypassTest, PathsThatAreNotWhatWasAuthorized) {
  for (const char* target : {"/api/v1/namespaces/default/secrets/mine/../other",
                             "/api/v1/namespaces/default/secrets/mine%2f..%2fother",
                             "/api/v1/namespaces/default/secrets//other",
                             "/api/v1/namespaces//default/secrets/other",
                             "/api/v1//namespaces/default/secrets/other",
                             "//api/v1/namespaces/default/secrets/other",
                             "/api/v1/namespaces/default/secrets/other/mine",
                             "/api/v1/namespaces/default/secrets/%6fther",
                             "/api/v1/./namespaces/default/secrets/other",
                             "/api/v1/namespaces/default/pods/../secrets/other",
                             "/api/v1/watch/namespaces/default/secrets/other",
                             "/api/v1/watch/watch/secrets",
                             "/api/v1/watch/secrets/mine/x",
                             "/api/v1/proxy/namespaces/default/secrets/other",
                             "/api/v1/namespaces/default/secrets/other?fieldSelector=metadata.name=mine",
                             "/api/v1/%2e%2e/../openapi/v2",
                             "http://x/api/v1/secrets",
                             "/api/v1/secrets#?x",
                             "/api/v1/namespaces/default/secrets/mine%00",
                             "/API/v1/secrets",
                             "/api/V1/secrets"}) {
    refused("GET", target);
    refused("HEAD", target);
  }
}

TEST_F(BypassTest, NobodyIsImpersonatedByHalf) {
  for (const char* header : {"Impersonate-Group", "Impersonate-Uid", "Impersonate-Extra-Scopes"}) {
    http::Request r;
    r.method = "GET";
    r.target = kSecrets;
    r.headers.add("Authorization", "Bearer admin");
    r.headers.add(header, "x");
    auto seen = std::make_shared<Seen>();
    server_->handle(std::move(r), std::make_shared<Keep>(seen));
    EXPECT_EQ(seen->code, 400) << header;
  }
}

// The key that signs tokens must not be derivable from uids, which everybody sees.
TEST_F(BypassTest, TheKeyOfTokensIsItsOwn) {
  auto token_of = [](const std::string& key) {
    ManualClock clock;
    SimReactor reactor(clock);
    SeededRandom random(3);
    ServerOptions options;
    options.tokens = admin_token("admin");
    options.token_key = key;
    Server server(reactor, random, std::move(options));
    auto seen = std::make_shared<Seen>();
    for (const auto& [target, body] : {std::pair<std::string, std::string>{"/api/v1/namespaces/default/serviceaccounts",
                                                                           R"({"metadata":{"name":"a"}})"},
                                       {"/api/v1/namespaces/default/serviceaccounts/a/token", R"({"spec":{}})"}}) {
      http::Request r;
      r.method = "POST";
      r.target = target;
      r.headers.add("Authorization", "Bearer admin");
      r.body = body;
      server.handle(std::move(r), std::make_shared<Keep>(seen));
    }
    const std::string token = Json::parse(seen->text)["status"]["token"];
    return token.substr(token.rfind('.'));
  };
  EXPECT_EQ(token_of(""), token_of(""));
  EXPECT_EQ(token_of("k1"), token_of("k1"));
  EXPECT_NE(token_of("k1"), token_of("k2"));
}

// Time is shared by namespace: another spelling of the path is the same flow.
TEST(FlowOfARequest, IsItsNamespaceHoweverItIsWritten) {
  for (const char* target : {"/api/v1/namespaces/tenant/pods", "/api/v1/namespaces/tenant/pods/p/status?dryRun=All",
                             "/api/v1/namespaces/tenant", "/api/v1/namespaces/t%65nant/pods",
                             "/api/v1//namespaces/tenant//pods", "/api/v1/watch/namespaces/tenant/pods",
                             "/apis/resource.k8s.io/v1/namespaces/tenant/resourceclaims?x=/namespaces/other/"}) {
    EXPECT_EQ(flow_of(target), "tenant") << target;
  }
  for (const char* target : {"/api/v1/pods", "/livez", "/api/v1/namespaces", "/api/v1/nodes/namespaces", "/%zz", ""}) {
    EXPECT_EQ(flow_of(target), "") << target;
  }
}

}  // namespace dra::apiserver::bypass_test
