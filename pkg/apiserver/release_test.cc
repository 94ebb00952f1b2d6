// The releases that the server serves: what differs from 1.36, each row of release_rows().
#include "pkg/apiserver/model/release.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::release_test {
namespace {

class Reply : public http::Responder {
 public:
  explicit Reply(http::Response& out) : out_(out) {}
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

class Release : public ::testing::Test {
 protected:
  ~Release() override { EXPECT_TRUE(serve_release("")); }

  void start(const std::string& version, const std::string& gates = "") {
    const auto served = serve_release(version, gates);
    ASSERT_TRUE(served) << served.error().message();
    ServerOptions options;
    options.tokens = admin_token("t");
    options.pod_groups = true;
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    reactor_.run_until_idle();
  }

  int ask(const std::string& method, const std::string& target, const Json& body = nullptr) {
    http::Request r;
    r.method = method;
    r.target = target;
    r.headers.add("Authorization", "Bearer t");
    if (!body.is_null()) {
      r.headers.add("Content-Type", "application/json");
      r.body = body.dump();
    }
    http::Response response;
    server_->handle(std::move(r), std::make_shared<Reply>(response));
    reactor_.run_until_idle();
    answer_ = Json::parse(response.body, nullptr, false);
    return response.status;
  }

  static Json slice(const std::string& name) {
    return {
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", "ResourceSlice"},
        {"metadata", {{"name", name}}},
        {"spec",
         {{"driver", "d.example.com"},
          {"nodeName", "n"},
          {"pool", {{"name", "p"}, {"generation", 1}, {"resourceSliceCount", 1}}},
          {"devices",
           {{{"name", "a"},
             {"consumesCounters",
              {{{"counterSet", "s"}, {"counters", {{"m", {{"value", "1"}}}}}, {"compatibilityGroups", {"mig"}}}}}}}},
          {"skipNodeOperations", {"*"}}}}};
  }

  static Json claim(const std::string& expression) {
    return {{"apiVersion", "resource.k8s.io/v1"},
            {"kind", "ResourceClaim"},
            {"metadata", {{"generateName", "c-"}, {"namespace", "default"}}},
            {"spec",
             {{"devices",
               {{"requests",
                 {{{"name", "r"},
                   {"exactly",
                    {{"deviceClassName", "x"},
                     {"derivedAttributes", {{{"name", "derived/x"}, {"expression", expression}}}}}}}}},
                {"constraints", {{{"matchAttribute", "derived/x"}}}}}}}}};
  }

  const std::string slices_ = "/apis/resource.k8s.io/v1/resourceslices";
  const std::string claims_ = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{1};
  std::unique_ptr<Server> server_;
  Json answer_;
};

TEST_F(Release, SaysWhichItIs) {
  for (const auto& [version, git] : {std::pair("", "v1.36.2"), std::pair("1.36", "v1.36.2"),
                                     std::pair("1.37", "v1.37.0"), std::pair("1.38", "v1.38.0-alpha.2")}) {
    start(version);
    EXPECT_EQ(ask("GET", "/version"), 200);
    EXPECT_EQ(answer_["gitVersion"], git);
  }
  EXPECT_FALSE(serve_release("1.39"));
  EXPECT_FALSE(serve_release("1.36", "DRADerivedAttributes=true"));
  EXPECT_FALSE(serve_release("1.37", "DRADerivedAttributes"));
  EXPECT_FALSE(serve_release("1.37", "DRANonsense=true"));
  EXPECT_TRUE(serve_release("1.37", "DRAFractionalCapacityRange=true, DRADerivedAttributes=false"));
  EXPECT_EQ(gates_of_manager("CompositePodGroup=true,DRADerivedAttributes=true, DRAResourcePoolStatus=true"),
            "DRADerivedAttributes=true");
  for (const ReleaseRow& row : release_rows()) EXPECT_FALSE(row.source.empty()) << row.what;
}

TEST_F(Release, KindsAndVersions) {
  const Json rule = {
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "DeviceTaintRule"},
      {"metadata", {{"name", "r"}}},
      {"spec", {{"deviceSelector", Json::object()}, {"taint", {{"key", "k"}, {"effect", "NoSchedule"}}}}}};
  start("1.36");
  EXPECT_EQ(ask("POST", "/apis/resource.k8s.io/v1/devicetaintrules", rule), 404);
  EXPECT_EQ(ask("GET", "/apis/resource.k8s.io/v1beta1/resourceslices"), 200);
  EXPECT_EQ(ask("GET", "/apis/scheduling.k8s.io/v1alpha2/podgroups"), 200);
  EXPECT_EQ(ask("GET", "/apis/scheduling.k8s.io/v1beta1/podgroups"), 404);
  for (const char* version : {"1.37", "1.38"}) {
    start(version);
    EXPECT_EQ(ask("POST", "/apis/resource.k8s.io/v1/devicetaintrules", rule), 201) << answer_.dump();
    EXPECT_EQ(ask("GET", "/apis/resource.k8s.io/v1beta2/devicetaintrules/r"), 200);
    EXPECT_EQ(answer_["apiVersion"], "resource.k8s.io/v1beta2");
    EXPECT_EQ(ask("GET", "/apis/scheduling.k8s.io/v1alpha2/podgroups"), 404);
    EXPECT_EQ(ask("GET", "/apis/scheduling.k8s.io/v1beta1/podgroups"), 200);
    EXPECT_EQ(ask("GET", "/apis/resource.k8s.io/v1beta1/resourceslices"), version == std::string("1.37") ? 200 : 404);
  }
}

TEST_F(Release, PodGroupsOf137) {
  start("1.37");
  const std::string path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/";
  const Json policy = {{"gang", {{"minCount", 2}}}};
  const Json workload = {{"apiVersion", "scheduling.k8s.io/v1beta1"},
                         {"kind", "Workload"},
                         {"metadata", {{"name", "w"}}},
                         {"spec", {{"podGroupTemplates", {{{"name", "t"}, {"schedulingPolicy", policy}}}}}}};
  EXPECT_EQ(ask("POST", path + "workloads", workload), 201) << answer_.dump();
  Json group = {
      {"apiVersion", "scheduling.k8s.io/v1beta1"},
      {"kind", "PodGroup"},
      {"metadata", {{"name", "g"}}},
      {"spec", {{"workloadRef", {{"workloadName", "w"}, {"templateName", "other"}}}, {"schedulingPolicy", policy}}}};
  EXPECT_EQ(ask("POST", path + "podgroups", group), 403) << answer_.dump();
  group["spec"]["workloadRef"]["templateName"] = "t";
  ASSERT_EQ(ask("POST", path + "podgroups", group), 201) << answer_.dump();
  EXPECT_EQ(answer_["spec"]["workloadRef"]["templateName"], "t");
  Json changed = answer_;
  changed["spec"]["schedulingPolicy"]["gang"]["minCount"] = 3;
  EXPECT_EQ(ask("PUT", path + "podgroups/g", changed), 200) << answer_.dump();
  changed["spec"]["workloadRef"]["templateName"] = "u";
  changed["metadata"].erase("resourceVersion");
  EXPECT_EQ(ask("PUT", path + "podgroups/g", changed), 422) << answer_.dump();
}

TEST_F(Release, RequestsForThePoolsStatus) {
  const std::string path = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests";
  Json request = {{"apiVersion", "resource.k8s.io/v1alpha3"},
                  {"kind", "ResourcePoolStatusRequest"},
                  {"metadata", {{"name", "q"}}},
                  {"spec", {{"driver", "D.example.com"}}}};
  start("1.36");
  EXPECT_EQ(ask("POST", path, request), 404);
  Json typed = request;
  typed["spec"]["defaultPartitionTypeAttribute"] = "d.example.com/profile";
  start("1.36", "DRAResourcePoolStatus=true");
  EXPECT_EQ(ask("POST", path + "?fieldValidation=Strict", typed), 400) << "a field of 1.37";
  start("1.37", "DRAResourcePoolStatus=true");
  EXPECT_EQ(ask("POST", path, typed), 422);
  start("1.37", "DRAResourcePoolStatus=true,DRAPartitionableDevicesType=true");
  EXPECT_EQ(ask("POST", path, typed), 201) << answer_.dump();
  for (const char* version : {"1.36", "1.37"}) {
    start(version, "DRAResourcePoolStatus=true");
    for (const int limit : {0, 1001}) {
      Json wrong = request;
      wrong["spec"]["limit"] = limit;
      EXPECT_EQ(ask("POST", path, wrong), 422) << limit;
    }
    ASSERT_EQ(ask("POST", path, request), 201) << answer_.dump();
    EXPECT_EQ(answer_["spec"]["limit"], 100);
    EXPECT_FALSE(answer_.contains("status"));
    Json changed = answer_;
    changed["spec"]["limit"] = 5;
    EXPECT_EQ(ask("PUT", path + "/q", changed), 422);
    Json answered = changed;
    answered["spec"]["limit"] = 100;
    answered["status"] = {{"pools", {{{"driver", "d.example.com"}, {"poolName", "p"}, {"generation", 1}}}}};
    EXPECT_EQ(ask("PUT", path + "/q/status", answered), 422) << "poolCount is required";
    answered["status"]["poolCount"] = 1;
    ASSERT_EQ(ask("PUT", path + "/q/status", answered), 200) << answer_.dump();
    answered = answer_;
    answered["status"]["poolCount"] = 2;
    EXPECT_EQ(ask("PUT", path + "/q/status", answered), 422) << "it is answered once";
    answered["metadata"].erase("resourceVersion");
    EXPECT_EQ(ask("PUT", path + "/q", answered), 422) << "not without a resourceVersion";
  }
}

TEST_F(Release, GroupsOfGroupsWithTheirGate) {
  const std::string beta = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/";
  const std::string alpha = "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/";
  const Json leaf = {{"name", "leaf"}, {"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}};
  const auto over = [](const std::string& name, const Json& children, const char* field) {
    return Json{{"name", name}, {"schedulingPolicy", {{"gang", {{"minGroupCount", 1}}}}}, {field, {children}}};
  };
  Json workload = {{"apiVersion", "scheduling.k8s.io/v1beta1"},
                   {"kind", "Workload"},
                   {"metadata", {{"name", "w"}}},
                   {"spec", {{"compositePodGroupTemplates", {over("top", leaf, "podGroupTemplates")}}}}};
  Json whole = {{"apiVersion", "scheduling.k8s.io/v1alpha3"},
                {"kind", "CompositePodGroup"},
                {"metadata", {{"name", "c"}}},
                {"spec",
                 {{"workloadRef", {{"workloadName", "w"}, {"templateName", "top"}}},
                  {"schedulingPolicy", {{"gang", {{"minGroupCount", 2}}}}}}}};
  Json part = {{"apiVersion", "scheduling.k8s.io/v1beta1"},
               {"kind", "PodGroup"},
               {"metadata", {{"name", "g"}}},
               {"spec",
                {{"parentCompositePodGroupName", "c"},
                 {"workloadRef", {{"workloadName", "w"}, {"templateName", "leaf"}}},
                 {"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}}}};
  start("1.37");
  EXPECT_EQ(ask("POST", beta + "workloads", workload), 422) << "forbidden without the gate";
  EXPECT_EQ(ask("POST", alpha + "compositepodgroups", whole), 404);
  part["spec"].erase("workloadRef");
  EXPECT_EQ(ask("POST", beta + "podgroups", part), 422);
  part["spec"]["workloadRef"] = {{"workloadName", "w"}, {"templateName", "leaf"}};
  start("1.38", "CompositePodGroup=true");
  EXPECT_EQ(ask("POST", alpha + "compositepodgroups", whole), 403) << "its Workload is not there";
  ASSERT_EQ(ask("POST", beta + "workloads", workload), 201) << answer_.dump();
  ASSERT_EQ(ask("POST", alpha + "compositepodgroups", whole), 201) << answer_.dump();
  EXPECT_EQ(answer_["spec"]["disruptionMode"], Json({{"single", Json::object()}}));
  Json changed = answer_;
  changed["spec"]["schedulingPolicy"]["gang"]["minGroupCount"] = 1;
  EXPECT_EQ(ask("PUT", alpha + "compositepodgroups/c", changed), 422);
  // Its status has conditions, which kube-scheduler writes; the object itself does not change them.
  ASSERT_EQ(ask("GET", alpha + "compositepodgroups/c"), 200);
  const Json bare = answer_;
  Json placed = bare;
  placed["status"]["conditions"] = {{{"type", "CompositePodGroupInitiallyScheduled"},
                                     {"status", "True"},
                                     {"reason", "Scheduled"},
                                     {"message", ""},
                                     {"lastTransitionTime", "2026-01-01T00:00:00Z"}}};
  ASSERT_EQ(ask("PUT", alpha + "compositepodgroups/c/status", placed), 200) << answer_.dump();
  EXPECT_EQ(answer_["status"], placed["status"]);
  Json labelled = answer_;
  labelled["metadata"]["labels"] = {{"a", "b"}};
  labelled["status"] = Json::object();
  ASSERT_EQ(ask("PUT", alpha + "compositepodgroups/c", labelled), 200) << answer_.dump();
  EXPECT_EQ(answer_["status"], placed["status"]);
  placed["status"]["conditions"][0]["status"] = "Perhaps";
  placed["metadata"].erase("resourceVersion");
  EXPECT_EQ(ask("PUT", alpha + "compositepodgroups/c/status", placed), 422);
  ASSERT_EQ(ask("POST", beta + "podgroups", part), 201) << answer_.dump();
  EXPECT_EQ(ask("GET", alpha + "podgroups/g"), 200) << "v1alpha3 has all three";
  EXPECT_EQ(answer_["apiVersion"], "scheduling.k8s.io/v1alpha3");
  Json none = whole;
  none["metadata"]["name"] = "none";
  none["spec"]["schedulingPolicy"]["gang"]["minGroupCount"] = 0;
  EXPECT_EQ(ask("POST", alpha + "compositepodgroups", none), 422);
  // Four levels with the PodGroups, not five; both lists; neither.
  Json deep = over("l3", leaf, "podGroupTemplates");
  deep = over("l2", deep, "compositePodGroupTemplates");
  workload["metadata"]["name"] = "deep";
  workload["spec"]["compositePodGroupTemplates"] = Json::array({over("l1", deep, "compositePodGroupTemplates")});
  EXPECT_EQ(ask("POST", beta + "workloads", workload), 201) << answer_.dump();
  workload["metadata"]["name"] = "deeper";
  workload["spec"]["compositePodGroupTemplates"] =
      Json::array({over("l0", over("l1", deep, "compositePodGroupTemplates"), "compositePodGroupTemplates")});
  EXPECT_EQ(ask("POST", beta + "workloads", workload), 422);
  workload["spec"] = {{"compositePodGroupTemplates", {over("top", leaf, "podGroupTemplates")}},
                      {"podGroupTemplates", {leaf}}};
  EXPECT_EQ(ask("POST", beta + "workloads", workload), 422);
  workload["spec"] = Json::object();
  EXPECT_EQ(ask("POST", beta + "workloads", workload), 422);
}

TEST_F(Release, DisruptionAndPriorityOfGroupsFrom137On) {
  start("1.37");
  const std::string path = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
  Json group = {{"apiVersion", "scheduling.k8s.io/v1beta1"},
                {"kind", "PodGroup"},
                {"metadata", {{"name", "g"}}},
                {"spec",
                 {{"schedulingPolicy", {{"basic", Json::object()}}},
                  {"priority", 7},
                  {"disruptionMode", {{"all", Json::object()}}}}}};
  ASSERT_EQ(ask("POST", path, group), 201) << answer_.dump();
  EXPECT_EQ(answer_["spec"]["priority"], 7);
  EXPECT_EQ(answer_["spec"]["disruptionMode"], Json({{"all", Json::object()}}));
  for (const auto& [field, value] : std::initializer_list<std::pair<const char*, Json>>{
           {"priority", 1000000001},
           {"preemptionPolicy", "Never"},
           {"disruptionMode", {{"all", Json::object()}, {"single", Json::object()}}}}) {
    Json wrong = group;
    wrong["metadata"]["name"] = "wrong";
    wrong["spec"][field] = value;
    EXPECT_EQ(ask("POST", path, wrong), 422) << field;
  }
}

TEST_F(Release, PodGroupsOfAnotherReleaseAreNotReadFromTheDataDirectory) {
  const std::string folder = ::testing::TempDir() + "releases_" + std::to_string(::getpid());
  const auto open = [&](const std::string& version) {
    EXPECT_TRUE(serve_release(version));
    server_.reset();
    ServerOptions options;
    options.tokens = admin_token("t");
    options.pod_groups = true;
    options.data_dir = folder;
    auto made = Server::create(reactor_, random_, std::move(options));
    if (!made) return made.error().message();
    server_ = std::move(*made);
    return std::string();
  };
  ASSERT_EQ(open("1.36"), "");
  const Json group = {{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                      {"kind", "PodGroup"},
                      {"metadata", {{"name", "g"}}},
                      {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}}}};
  const std::string path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";
  ASSERT_EQ(ask("POST", path, group), 201) << answer_.dump();
  EXPECT_NE(open("1.37").find("PodGroup default/g in the data directory is of another version"), std::string::npos);
  ASSERT_EQ(open("1.36"), "");
  EXPECT_EQ(ask("DELETE", path + "/g"), 200);
  EXPECT_EQ(open("1.37"), "");
  server_.reset();
  std::filesystem::remove_all(folder);
}

TEST_F(Release, FieldsOf137FollowTheirGates) {
  start("1.36");
  EXPECT_EQ(ask("POST", slices_ + "?fieldValidation=Strict", slice("s")), 400);
  start("1.37");
  ASSERT_EQ(ask("POST", slices_ + "?fieldValidation=Strict", slice("s")), 201) << answer_.dump();
  EXPECT_FALSE(answer_["spec"].contains("skipNodeOperations"));
  EXPECT_FALSE(answer_["spec"]["devices"][0]["consumesCounters"][0].contains("compatibilityGroups"));
  ASSERT_EQ(ask("POST", claims_, claim("1")), 201) << answer_.dump();
  EXPECT_FALSE(answer_["spec"]["devices"]["requests"][0]["exactly"].contains("derivedAttributes"));
  Json typed = slice("t");
  typed["spec"]["partitionTypeAttribute"] = "d.example.com/profile";
  EXPECT_EQ(ask("POST", slices_, typed), 422);
  start("1.37",
        "DRADeviceCompatibilityGroups=true,DRADerivedAttributes=true,DRAOptionalNodeOperations=true,"
        "DRAPartitionableDevicesType=true");
  ASSERT_EQ(ask("POST", slices_, slice("s")), 201) << answer_.dump();
  EXPECT_EQ(answer_["spec"]["skipNodeOperations"], Json::array({"*"}));
  EXPECT_EQ(answer_["spec"]["devices"][0]["consumesCounters"][0]["compatibilityGroups"], Json::array({"mig"}));
  EXPECT_EQ(ask("POST", slices_, typed), 201) << answer_.dump();
  ASSERT_EQ(ask("POST", claims_, claim("device.driver")), 201) << answer_.dump();
  EXPECT_EQ(answer_["spec"]["devices"]["requests"][0]["exactly"]["derivedAttributes"][0]["name"], "derived/x");
  for (const char* wrong : {"", "1.5", "device.nothing", "{'a': 1}"})
    EXPECT_EQ(ask("POST", claims_, claim(wrong)), 422) << wrong;
  Json unread = claim("1");
  unread["spec"]["devices"]["constraints"][0]["matchAttribute"] = "other/x";
  EXPECT_EQ(ask("POST", claims_, unread), 422);
  EXPECT_NE(answer_["message"].get<std::string>().find("must be referenced by at least one"), std::string::npos);
  Json many = slice("many");
  many["spec"]["devices"][0]["consumesCounters"][0]["compatibilityGroups"] = {"a", "b", "c"};
  EXPECT_EQ(ask("POST", slices_, many), 422);
  Json prepare = slice("prepare");
  prepare["spec"]["skipNodeOperations"] = {"NodePrepareResources"};
  EXPECT_EQ(ask("POST", slices_, prepare), 422);
}

TEST_F(Release, WhatIsStoredBefore138StaysValid) {
  for (const char* version : {"1.37", "1.38"}) {
    start(version);
    const bool refused = version == std::string("1.38");
    Json one = slice("s");
    one["spec"]["devices"] = {{{"name", "a"}, {"attributes", {{"a/b/c", {{"int", 1}}}}}}};
    EXPECT_EQ(ask("POST", slices_, one), refused ? 422 : 201) << answer_.dump();
    Json terms = slice("t");
    terms["spec"].erase("nodeName");
    terms["spec"]["perDeviceNodeSelection"] = true;
    const Json term = {{"matchExpressions", {{{"key", "k"}, {"operator", "Exists"}}}}};
    terms["spec"]["devices"] = {{{"name", "a"}, {"nodeSelector", {{"nodeSelectorTerms", {term, term}}}}}};
    EXPECT_EQ(ask("POST", slices_, terms), refused ? 422 : 201) << answer_.dump();
  }
  // Stored by a 1.37 server, changed in another place after its upgrade.
  start("1.37");
  Json one = slice("s");
  one["spec"]["devices"] = {{{"name", "a"}, {"attributes", {{"a/b/c", {{"int", 1}}}}}}};
  ASSERT_EQ(ask("POST", slices_, one), 201);
  ASSERT_TRUE(serve_release("1.38"));
  one["spec"]["pool"]["generation"] = 2;
  EXPECT_EQ(ask("PUT", slices_ + "/s", one), 200) << answer_.dump();
  one["spec"]["devices"][0]["attributes"]["x/y/z"]["int"] = 1;
  EXPECT_EQ(ask("PUT", slices_ + "/s", one), 422);
}

}  // namespace
}  // namespace dra::apiserver::release_test
