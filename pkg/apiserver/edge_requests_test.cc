// Requests at the edges of what Go's decoders take. All answers are those of kube-apiserver 1.36.2
// (test/conformance/edge_sequences.py asks both servers).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::edge_requests_test {

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
constexpr const char* kSlices = "/apis/resource.k8s.io/v1/resourceslices";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
constexpr const char* kMerge = "application/merge-patch+json";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kApply = "application/apply-patch+yaml";

class Responder : public http::Responder {
 public:
  explicit Responder(http::Response& out) : out_(out) {}
  void send(http::Response r) override { out_ = std::move(r); }
  void begin_stream(http::Response r) override { out_ = std::move(r); }
  bool write(std::string_view) override { return true; }
  void end() override {}
  size_t buffered() const override { return 0; }
  bool when_accepted(std::function<void()>) override { return true; }
  void on_close(std::function<void()>) override {}

 private:
  http::Response& out_;
};

class EdgeRequests : public testing::Test {
 protected:
  explicit EdgeRequests(bool only_stable = false) {
    ServerOptions options;
    options.tokens = admin_token("t");
    options.only_stable_versions = only_stable;
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    reactor_.run_until_idle();
  }

  http::Response ask(const std::string& method, const std::string& target, const std::string& body = "",
                     const std::string& type = "application/json", const std::string& accept = "") {
    http::Request r;
    r.method = method;
    r.target = target;
    r.headers.add("Authorization", "Bearer t");
    if (!type.empty()) r.headers.add("Content-Type", type);
    if (!accept.empty()) r.headers.add("Accept", accept);
    r.body = body;
    http::Response answer;
    server_->handle(std::move(r), std::make_shared<Responder>(answer));
    reactor_.run_until_idle();
    return answer;
  }
  int post(const std::string& target, const std::string& body, const std::string& type = "application/json") {
    return ask("POST", target, body, type).status;
  }
  Json at(const http::Response& answer, const char* pointer) {
    const Json document = Json::parse(answer.body);
    return document.value(Json::json_pointer(pointer), Json("absent"));
  }

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{7};
  std::unique_ptr<Server> server_;
};

std::string slice_with(const std::string& time) {
  return R"({"metadata":{"generateName":"s-"},"spec":{"driver":"d.example.com","nodeName":"n",
    "pool":{"name":"p","generation":1,"resourceSliceCount":1},
    "devices":[{"name":"g","taints":[{"key":"a","effect":"NoExecute","timeAdded":")" +
         time + R"("}]}]}})";
}

TEST_F(EdgeRequests, TimesOfTheWholeRangeAreKept) {
  constexpr const char* kAdded = "/spec/devices/0/taints/0/timeAdded";
  for (const char* text : {"9999-12-31T23:59:59Z", "0001-01-01T00:00:01Z", "0000-01-01T00:00:00Z",
                           "1677-09-21T00:12:43Z", "2262-04-11T23:47:17Z", "1970-01-01T00:00:00Z"})
    EXPECT_EQ(at(ask("POST", kSlices, slice_with(text)), kAdded), text);
  EXPECT_EQ(at(ask("POST", kSlices, slice_with("9999-12-31T23:59:59-01:00")), kAdded), "10000-01-01T00:59:59Z");
  for (const char* zero : {"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00", "0001-01-01T00:00:00.5Z"})
    EXPECT_EQ(at(ask("POST", kSlices, slice_with(zero)), kAdded), nullptr) << "set, so no default";
}

TEST_F(EdgeRequests, FormsOfTimes) {
  const auto lease = [](const std::string& time) {
    return R"({"metadata":{"generateName":"l-"},"spec":{"renewTime":")" + time + R"("}})";
  };
  for (const char* good : {"2026-01-01T1:00:00Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00+24:60"})
    EXPECT_EQ(post(kSlices, slice_with(good)), 201) << good;
  for (const char* bad :
       {"2026-01-01t00:00:00Z", "2026-01-01T00:00:00z", "2026-12-31T23:59:60Z", "2026-02-30T00:00:00Z",
        "10000-01-01T00:00:00Z", "2026-01-01T00:00:00+25:00", "2026-01-01T00:00:00", "", "now"})
    EXPECT_EQ(post(kSlices, slice_with(bad)), 400) << bad;
  for (const char* good : {"2026-01-01T00:00:00.123456Z", "9999-12-31T23:59:59.999999Z", "2026-01-01T00:00:00,123456Z"})
    EXPECT_EQ(post(kLeases, lease(good)), 201) << good;
  for (const char* bad : {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123Z", "2026-01-01T00:00:00.5Z",
                          "2026-01-01T00:00:00.123456789Z", "2026-01-01t00:00:00.000000Z"})
    EXPECT_EQ(post(kLeases, lease(bad)), 400) << bad;
  EXPECT_EQ(at(ask("POST", kSlices, slice_with("2026-01-01T00:00:60Z")), "/message"),
            "ResourceSlice in version \"v1\" cannot be handled as a ResourceSlice: parsing time "
            "\"2026-01-01T00:00:60Z\": second out of range");
}

TEST_F(EdgeRequests, WholeFloatsAreNoIntegers) {
  const auto claim = [](const std::string& name, const std::string& count) {
    return R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":")" + name +
           R"("},"spec":{"devices":{"requests":[{"name":"g","exactly":{"deviceClassName":"c","count":)" + count +
           "}}]}}}";
  };
  EXPECT_EQ(post(kClaims, claim("c", "1")), 201);
  for (const char* text : {"1.0", "1e0", "10e-1", "1.5", "-0.0", "9223372036854775808"}) {
    EXPECT_EQ(post(kClaims, claim("d", text)), 400) << text;
    EXPECT_EQ(ask("PATCH", std::string(kClaims) + "/c", claim("c", text), kMerge).status, 422) << text;
  }
  const auto pod = [](const std::string& port) {
    return R"({"metadata":{"generateName":"p-"},"spec":{"containers":[{"name":"c","image":"i","livenessProbe":)"
           R"({"httpGet":{"port":)" +
           port + "}}}]}}";
  };
  EXPECT_EQ(post(kPods, pod("80")), 201);
  for (const char* text : {"80.0", "8000000000", "true"}) EXPECT_EQ(post(kPods, pod(text)), 400) << text;
  for (const char* text : {"0", "70000"}) EXPECT_EQ(post(kPods, pod(text)), 422) << text;
}

TEST_F(EdgeRequests, Bodies) {
  const auto map = [](const std::string& name, const std::string& value) {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"("},"data":{"a":")" + value +
           "\"}}";
  };
  for (const char* nothing : {"null", " null \n", "{}"}) EXPECT_EQ(post(kMaps, nothing), 422) << nothing;
  EXPECT_EQ(post(kMaps, ""), 400);
  EXPECT_EQ(post(kMaps, "\xEF\xBB\xBF" + map("a", "b")), 400) << "a byte order mark";
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(at(ask("POST", kMaps, map("b", "\\ud800")), "/data/a"), replaced);
  EXPECT_EQ(at(ask("POST", kMaps, map("c", "\xff\xfe")), "/data/a"), replaced + replaced);
  EXPECT_EQ(at(ask("POST", kMaps, map("d", "\\ud83d\\ude00")), "/data/a"), "\xF0\x9F\x98\x80");
  constexpr const char* kYaml = "application/yaml";
  const std::string one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\n";
  EXPECT_EQ(post(kMaps, one + "---\nother: [\n", kYaml), 201) << "only the first document is read";
  EXPECT_EQ(post(kMaps, "\xEF\xBB\xBF" + one, kYaml), 409);
  for (const char* nothing : {"", "---\n", "# nothing\n", "---\n---\nkind: ConfigMap\n"})
    EXPECT_EQ(post(kMaps, nothing, kYaml), 422) << nothing;
  EXPECT_EQ(ask("PATCH", std::string(kMaps) + "/e", "null", kMerge).status, 400);
  EXPECT_EQ(ask("PATCH", std::string(kMaps) + "/e", "null", kStrategic).status, 200);
}

TEST_F(EdgeRequests, MediaTypesOfAnswers) {
  const auto status = [&](const char* accept) { return ask("GET", kMaps, "", "", accept).status; };
  for (const char* accept : {"*/*", "application/json", "text/html,*/*;q=0.1"})
    EXPECT_EQ(status(accept), 200) << accept;
  for (const char* accept : {"application/*", "APPLICATION/JSON", "*"}) EXPECT_EQ(status(accept), 406) << accept;
  const http::Response root = ask("GET", "/");
  EXPECT_EQ(root.status, 200);
  EXPECT_NE(root.body.find("\"/apis/resource.k8s.io/v1\""), std::string::npos);
}

TEST_F(EdgeRequests, PatchesOfTheTypeOfAnObject) {
  ask("POST", kMaps, R"({"metadata":{"name":"c"}})");
  const auto patch = [&](const char* body, const char* type) {
    return ask("PATCH", std::string(kMaps) + "/c", body, type).status;
  };
  for (const char* body : {R"({"kind":"Secret"})", R"({"kind":"Nothing"})", R"({"kind":7})", R"({"apiVersion":"v2"})",
                           R"({"apiVersion":"apps/v1","kind":"Deployment"})"})
    EXPECT_EQ(patch(body, kMerge), 422) << body;
  for (const char* body : {R"({"kind":null})", R"({"kind":""})"}) EXPECT_EQ(patch(body, kMerge), 200) << body;
  EXPECT_EQ(patch(R"({"apiVersion":null})", kMerge), 400);
  EXPECT_EQ(patch(R"({"kind":"Secret"})", kStrategic), 200);
  EXPECT_EQ(patch(R"({"kind":7})", kStrategic), 422);
  ask("POST", kClaims, R"({"metadata":{"name":"c"}})");
  const std::string claim = std::string(kClaims) + "/c";
  EXPECT_EQ(ask("PATCH", claim, R"({"apiVersion":"resource.k8s.io/v1beta2"})", kMerge).status, 200);
}

TEST_F(EdgeRequests, ApplyThatCreates) {
  const auto apply = [&](const std::string& name, const std::string& metadata) {
    return ask("PATCH", std::string(kMaps) + "/" + name + "?fieldManager=m",
               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"," + metadata + "}}", kApply)
        .status;
  };
  EXPECT_EQ(apply("a", R"("resourceVersion":"1")"), 201);
  EXPECT_EQ(apply("a", R"("resourceVersion":"1")"), 409);
  EXPECT_EQ(apply("b", R"("uid":"11111111-1111-4111-8111-111111111111")"), 409);
  EXPECT_EQ(apply("c", R"("resourceVersion":"abc")"), 500);
}

TEST_F(EdgeRequests, TemplatesRefuseMetadataThatIsSetToNothing) {
  const std::string templates = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";
  const auto status = [&](const std::string& metadata) {
    return post(templates, R"({"metadata":{"generateName":"t-"},"spec":{"metadata":{)" + metadata + R"(},"spec":{}}})");
  };
  for (const char* refused : {R"("ownerReferences":[])", R"("finalizers":[])", R"("managedFields":[])",
                              R"("deletionTimestamp":"0001-01-01T00:00:00Z")", R"("deletionGracePeriodSeconds":0)"})
    EXPECT_EQ(status(refused), 422) << refused;
  for (const char* taken : {R"("labels":{})", R"("name":"")", R"("generation":0)", R"("ownerReferences":null)"})
    EXPECT_EQ(status(taken), 201) << taken;
}

TEST_F(EdgeRequests, ResourcesOfAPodAsAWhole) {
  const auto pod = [&](const std::string& resources, const std::string& of_container = "{}") {
    return ask("POST", kPods,
               R"({"metadata":{"generateName":"p-"},"spec":{"resources":)" + resources +
                   R"(,"containers":[{"name":"c","image":"i","resources":)" + of_container + "}]}}");
  };
  const http::Response limits = pod(R"({"limits":{"cpu":"100","memory":"1Gi"}})");
  EXPECT_EQ(at(limits, "/spec/resources/requests"), Json({{"cpu", "100"}, {"memory", "1Gi"}}));
  EXPECT_EQ(at(limits, "/status/qosClass"), "Guaranteed");
  const http::Response both = pod(R"({"limits":{"cpu":"2"}})", R"({"requests":{"cpu":"500m","memory":"1Mi"}})");
  EXPECT_EQ(at(both, "/spec/resources/requests"), Json({{"cpu", "500m"}, {"memory", "1Mi"}}));
  EXPECT_EQ(at(pod(R"({"requests":{"cpu":"1"}})"), "/spec/resources/requests"), Json({{"cpu", "1"}}));
  const http::Response huge = pod(R"({"limits":{"cpu":"1"}})", R"({"limits":{"hugepages-2Mi":"4Mi","memory":"1Mi"}})");
  EXPECT_EQ(at(huge, "/spec/resources/limits/hugepages-2Mi"), "4Mi");
  EXPECT_EQ(
      at(pod(R"({"limits":{"cpu":"1"}})", R"({"requests":{"cpu":"2"}})"), "/message").get<std::string>().substr(24),
      ": spec.resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1");
  for (const char* refused : {R"({"limits":{"example.com/gpu":"1"}})", R"({"limits":{"hugepages-2Mi":"4Mi"}})",
                              R"({"claims":[{"name":"c"}]})", R"({"limits":{"cpu":"-1"}})"})
    EXPECT_EQ(pod(refused).status, 422) << refused;
}

TEST_F(EdgeRequests, ACustomResourceDefinitionIsRefusedForWhatItIs) {
  const http::Response answer =
      ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict",
          R"({"metadata":{"name":"a.b"},"spec":{"group":"b","versions":[{"name":"v1"}]},"status":{}})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_NE(answer.body.find("this server serves no custom resources"), std::string::npos) << answer.body;
}

class DefaultCluster : public EdgeRequests {
 protected:
  DefaultCluster() : EdgeRequests(true) {}
};

TEST_F(DefaultCluster, ServesStableVersionsOnly) {
  const std::string root = ask("GET", "/").body;
  EXPECT_NE(root.find("\"/apis/resource.k8s.io/v1\""), std::string::npos);
  EXPECT_EQ(root.find("alpha"), std::string::npos) << root;
  EXPECT_EQ(root.find("beta"), std::string::npos) << root;
  EXPECT_EQ(ask("GET", "/apis/resource.k8s.io/v1beta2/resourceslices").status, 404);
  EXPECT_EQ(ask("GET", kSlices).status, 200);
}

}  // namespace dra::apiserver::edge_requests_test
