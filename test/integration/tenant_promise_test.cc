// --preemption=on and a tenant with the ClusterRole edit in a namespace that no administrator labelled: every
// PriorityClass, every annotation of the tables, and promises written in each way that the API has. Nobody goes for it,
// and nothing is kept.
#include <gtest/gtest.h>

#include "pkg/protocol/annotations.h"
#include "pkg/protocol/promise.h"
#include "test/integration/preempting.h"

namespace dra::integration::tenant_promise_test {

using namespace std::chrono_literals;

constexpr const char* kTenants = "tenants";

class TenantPromise : public Preempting {
 protected:
  void begin_with_a_tenant(const Names& running) {
    begin_preempting(1);
    fill(running);
    api().create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", kTenants}}}});
    Json made = claim_template("one-gpu");
    made["metadata"]["namespace"] = kTenants;
    api().create(made);
    const std::string account = std::string("/api/v1/namespaces/") + kTenants + "/serviceaccounts";
    api().call("POST", account, R"({"metadata":{"name":"tenant"}})");
    const Answer bound_to = api().call(
        "POST", std::string("/apis/rbac.authorization.k8s.io/v1/namespaces/") + kTenants + "/rolebindings",
        Json{{"metadata", {{"name", "tenant"}}},
             {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "edit"}}},
             {"subjects", {{{"kind", "ServiceAccount"}, {"name", "tenant"}, {"namespace", kTenants}}}}}
            .dump());
    ASSERT_TRUE(bound_to.ok()) << bound_to.body;
    const Answer token = api().call("POST", account + "/tenant/token", R"({"spec":{"expirationSeconds":864000}})");
    ASSERT_EQ(token.status, 201) << token.body;
    transport_ = cluster().plane().connect(token.json()["status"]["token"].get<std::string>());
    tenant_ = std::make_unique<Api>(cluster().plane(), *transport_);
  }
  void TearDown() override { transport_.reset(); }

  static Json of_tenant(const std::string& name) {
    Json made = pod_of_rank(name, {from_template("gpu", "one-gpu")});
    made["metadata"]["namespace"] = kTenants;
    return made;
  }
  static std::string path(const std::string& name) { return Api::path("Pod", name, kTenants); }
  // A promise that claims the first device and the oldest pod, and says that it is proven.
  Json forged(const std::string& pod, const std::string& victim) {
    const Json seen = tenant_->get(path(pod));
    const Json record{
        {"pod", seen["metadata"]["uid"]},
        {"node", "n0"},
        {"since", "2000-01-01T00:00:00Z"},
        {"victims", {"default/" + victim + "/" + get_pod(victim)->metadata.uid}},
        {"victimClaims", Json::array()},
        {"allocations",
         {{kTenants + std::string("/") + pod + "-gpu",
           {{"devices",
             {{"results", {{{"request", "gpu"}, {"driver", kDriver}, {"pool", "n0"}, {"device", "gpu-0"}}}}}}}}}}};
    return {{"conditions",
             {{{"type", std::string(protocol::kPromiseCondition)},
               {"status", "True"},
               {"reason", "Promised"},
               {"lastTransitionTime", "2000-01-01T00:00:00Z"},
               {"message", record.dump()}}}},
            {"nominatedNodeName", "n0"}};
  }
  bool has_forged(const std::string& pod) {
    const Json status = tenant_->get(path(pod)).value("status", Json::object());
    return status.contains("nominatedNodeName") || status.dump().find("Promise") != std::string::npos;
  }

  const Names running_{"mid0", "mid1", "mid2", "mid3"};
  std::unique_ptr<client::Transport> transport_;
  std::unique_ptr<Api> tenant_;
};

TEST_F(TenantPromise, IsRefusedByTheServerOrDropped) {
  begin_with_a_tenant(running_);
  // It fits nowhere, so a promise is all that could keep a device for it.
  Json made = of_tenant("high0");
  made["spec"]["nodeSelector"] = {{"no", "where"}};
  tenant_->create(made);
  pass(3s);
  const Json status = forged("high0", "mid0");
  for (const char* verb : {"PUT", "PATCH", "APPLY"}) {
    const bool apply = std::string(verb) == "APPLY";
    Json body{{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "high0"}, {"namespace", kTenants}}}};
    if (std::string(verb) == "PUT") body = tenant_->get(path("high0"));
    body["status"] = status;
    const std::string query = std::string("?fieldManager=") + std::string(protocol::kPromiseManager);
    const std::string type = apply                          ? "application/apply-patch+yaml"
                             : std::string(verb) == "PATCH" ? "application/merge-patch+json"
                                                            : "application/json";
    const std::string method = apply ? "PATCH" : verb;
    const Answer refused =
        tenant_->call(method, path("high0") + "/status" + query + (apply ? "&force=true" : ""), body.dump(), type);
    EXPECT_EQ(refused.status, 403) << verb << " " << refused.body;
    // The pod itself may be written; its status is not part of that.
    const Answer written =
        tenant_->call(method, path("high0") + query + (apply ? "&force=true" : ""), body.dump(), type);
    EXPECT_TRUE(written.ok()) << verb << " " << written.body;
    EXPECT_FALSE(has_forged("high0")) << verb;
  }
  Json born = of_tenant("high1");
  born["spec"]["nodeSelector"] = {{"no", "where"}};
  born["status"] = status;
  born["metadata"]["annotations"] = {{std::string(protocol::kPromiseCondition), status["conditions"][0]["message"]}};
  tenant_->create(born);
  EXPECT_FALSE(tenant_->get(path("high1"))["status"].contains("nominatedNodeName"));
  EXPECT_EQ(tenant_->get(path("high1"))["status"].dump().find("gpu-0"), std::string::npos);
  EXPECT_FALSE(tenant_
                   ->call("PATCH", "/api/v1/namespaces/tenants",
                          R"({"metadata":{"labels":{"dra-controller-manager/preemption":"true"}}})",
                          "application/merge-patch+json")
                   .ok())
      << "the label is an administrator's";
  EXPECT_TRUE(never([&] { return !gone(running_).empty(); }, 60s));
  // What becomes free is kept for nobody.
  create("mid4");
  api().remove_now(Api::path("Pod", "mid0"));
  EXPECT_TRUE(within(20s, [&] { return bound("mid4"); })) << cluster().verdict();
  EXPECT_EQ(writes("preemption/promise") + writes("preemption/preempt"), 0u);
}

// What the next test shows does not happen happens as soon as an administrator sets the label.
TEST_F(TenantPromise, WithTheLabelSomebodyGoes) {
  begin_with_a_tenant(running_);
  tenant_->create(of_tenant("high0"));
  EXPECT_TRUE(never([&] { return !gone(running_).empty(); }, 20s));
  api().merge(Api::path("Namespace", kTenants),
              {{"metadata", {{"labels", {{"dra-controller-manager/preemption", "true"}}}}}});
  EXPECT_TRUE(within(60s, [&] { return gone(running_).size() == 1; }));
}

// One pod for each annotation of the tables of users' and the manager's own, all of the highest class that there is.
TEST_F(TenantPromise, NoAnnotationAndNoPriorityEvictsAnybody) {
  begin_with_a_tenant(running_);
  Names names{"dra-controller-manager/promise", "dra-controller-manager/Promise"};
  for (const protocol::UserAnnotation& one : protocol::user_annotations()) names.emplace_back(one.name);
  for (const std::string_view one : protocol::manager_marks()) names.emplace_back(one);
  size_t made = 0;
  for (const std::string& name : names)
    for (const char* value : {"true", "1000", "n0"}) {
      Json one = of_tenant("high" + std::to_string(made++));
      one["metadata"]["annotations"] = {{name, value}};
      one["metadata"]["labels"] = {{"dra-controller-manager/preemption", "true"}};
      tenant_->create(one);
    }
  EXPECT_TRUE(never([&] { return !gone(running_).empty(); }, 90s));
  EXPECT_EQ(writes("preemption/promise") + writes("preemption/preempt"), 0u);
  for (size_t i = 0; i < made; ++i) tenant_->remove_now(path("high" + std::to_string(i)));
  create("mid4");
  api().remove_now(Api::path("Pod", "mid0"));
  EXPECT_TRUE(within(20s, [&] { return bound("mid4"); })) << cluster().verdict();
}

}  // namespace dra::integration::tenant_promise_test
