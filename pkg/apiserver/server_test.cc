#include "pkg/apiserver/server.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "pkg/base/timestamp.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::server_test {

struct Answer {
  http::Response head;
  std::string stream;
  bool streaming = false;
  bool ended = false;
  std::function<void()> next;  // of when_accepted()
};

class Recorder : public http::Responder {
 public:
  explicit Recorder(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  void send(http::Response r) override {
    answer_->head = std::move(r);
    answer_->ended = true;
  }
  void begin_stream(http::Response r) override {
    answer_->head = std::move(r);
    answer_->streaming = true;
  }
  bool write(std::string_view piece) override {
    answer_->stream += piece;
    return true;
  }
  void end() override { answer_->ended = true; }
  size_t buffered() const override { return 0; }
  bool when_accepted(std::function<void()> next) override {
    answer_->next = std::move(next);
    return true;
  }
  void on_close(std::function<void()>) override {}

 private:
  std::shared_ptr<Answer> answer_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { start(false); }

  void start(bool housekeeping) {
    ServerOptions options;
    options.tokens = admin_token("t");
    options.housekeeping = housekeeping;
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    reactor_.run_until_idle();
  }

  std::shared_ptr<Answer> ask(const std::string& method, const std::string& target, const Json& body = nullptr,
                              const std::string& type = "application/json") {
    http::Request r;
    r.method = method;
    r.target = target;
    r.headers.add("Authorization", "Bearer t");
    r.headers.add("User-Agent", "test/1");
    if (!body.is_null()) {
      r.headers.add("Content-Type", type);
      r.body = body.dump();
    }
    auto answer = std::make_shared<Answer>();
    server_->handle(std::move(r), std::make_shared<Recorder>(answer));
    reactor_.run_until_idle();
    return answer;
  }

  // The peer reads on.
  void read(Answer& answer) {
    if (answer.next) std::exchange(answer.next, nullptr)();
    reactor_.run_until_idle();
  }

  // "TYPE name" for each event of a watch; the name of a bookmark is its annotation.
  static std::vector<std::string> events(const Answer& watch) {
    std::vector<std::string> found;
    for (size_t at = 0; at < watch.stream.size();) {
      const size_t end = watch.stream.find('\n', at);
      const Json event = Json::parse(watch.stream.substr(at, end - at));
      const Json& metadata = event["object"]["metadata"];
      const bool mark = event["type"] == "BOOKMARK" && metadata.contains("annotations");
      found.push_back(event["type"].get<std::string>() + " " + (mark ? "end" : metadata.value("name", "")));
      at = end + 1;
    }
    return found;
  }

  static Json config_map(const std::string& name) { return {{"metadata", {{"name", name}}}, {"data", {{"k", "v"}}}}; }
  static constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{7};
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, CreatesAndReadsBack) {
  const auto created = ask("POST", kMaps, config_map("a"));
  ASSERT_EQ(created->head.status, 201) << created->head.body;
  const auto got = ask("GET", std::string(kMaps) + "/a");
  EXPECT_EQ(got->head.status, 200);
  EXPECT_EQ(Json::parse(got->head.body), Json::parse(created->head.body));
}

TEST_F(ServerTest, RefusesWithoutToken) {
  http::Request r;
  r.method = "GET";
  r.target = kMaps;
  auto answer = std::make_shared<Answer>();
  server_->handle(std::move(r), std::make_shared<Recorder>(answer));
  EXPECT_EQ(answer->head.status, 403);
}

TEST_F(ServerTest, NoOpUpdateKeepsTheResourceVersion) {
  ask("POST", kMaps, config_map("a"));
  const Json first = Json::parse(ask("PUT", std::string(kMaps) + "/a", config_map("a"))->head.body);
  const Json second = Json::parse(ask("PUT", std::string(kMaps) + "/a", config_map("a"))->head.body);
  EXPECT_EQ(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);
}

// The answers and the sizes at which they come are those of kube-apiserver 1.36.2 with etcd 3.5.
TEST_F(ServerTest, ObjectsThatEtcdWouldRefuseAreRefused) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto create = [&](const std::string& name, size_t variables, size_t bytes) {
    Json env = Json::array();
    for (size_t i = 0; i < variables; ++i)
      env.push_back({{"name", "c" + std::to_string(100'000 + i)}, {"value", std::string(bytes, 'x')}});
    const Json container = {{"name", "c"}, {"image", "x"}, {"env", std::move(env)}};
    return ask("POST", pods, {{"metadata", {{"name", name}}}, {"spec", {{"containers", Json::array({container})}}}});
  };
  const auto managed = [](const Answer& answer) {
    return Json::parse(answer.head.body)["metadata"].contains("managedFields");
  };
  const auto message = [](const Answer& answer) { return Json::parse(answer.head.body).value("message", ""); };
  const auto large = create("large", 1, 1'400'000);
  EXPECT_EQ(large->head.status, 201);
  EXPECT_TRUE(managed(*large));
  const auto largest = create("largest", 1, 1'571'876);
  EXPECT_EQ(largest->head.status, 201);
  EXPECT_FALSE(managed(*largest)) << "it fits only without them";
  EXPECT_TRUE(managed(*create("fields", 20'900, 1)));
  EXPECT_FALSE(managed(*create("more-fields", 21'020, 1)));
  const auto too_large = create("too-large", 1, 1'573'500);
  EXPECT_EQ(too_large->head.status, 500);
  EXPECT_EQ(message(*too_large), "etcdserver: request is too large");
  const auto far_too_large = create("far-too-large", 1, 2'100'000);
  EXPECT_EQ(far_too_large->head.status, 500);
  EXPECT_EQ(message(*far_too_large).find("rpc error: code = ResourceExhausted"), 0u) << message(*far_too_large);
  EXPECT_EQ(ask("GET", pods + "/too-large")->head.status, 404);
  const auto annotate = [&](size_t bytes) {
    return ask("PATCH", pods + "/large", {{"metadata", {{"annotations", {{"a", std::string(bytes, 'x')}}}}}},
               "application/merge-patch+json");
  };
  EXPECT_TRUE(managed(*annotate(170'000)));
  EXPECT_FALSE(managed(*annotate(172'000)));
  EXPECT_EQ(annotate(173'000)->head.status, 500);
  EXPECT_EQ(
      Json::parse(ask("GET", pods + "/large")->head.body)["metadata"]["annotations"]["a"].get<std::string>().size(),
      172'000u)
      << "nothing of what was refused is stored";
}

TEST_F(ServerTest, WatchDeliversEveryChangeInOrder) {
  const auto watch = ask("GET", std::string(kMaps) + "?watch=true&resourceVersion=0");
  ASSERT_TRUE(watch->streaming);
  ask("POST", kMaps, config_map("a"));
  ask("PATCH", std::string(kMaps) + "/a", {{"data", {{"k", "2"}}}}, "application/merge-patch+json");
  ask("DELETE", std::string(kMaps) + "/a");
  std::vector<std::string> types;
  size_t at = 0;
  while (at < watch->stream.size()) {
    const size_t end = watch->stream.find('\n', at);
    types.push_back(Json::parse(watch->stream.substr(at, end - at))["type"]);
    at = end + 1;
  }
  EXPECT_EQ(types, (std::vector<std::string>{"ADDED", "MODIFIED", "DELETED"}));
}

TEST_F(ServerTest, WatchSendsALargeInitialStateInPortionsAsItIsThen) {
  std::vector<std::string> expected;
  for (int i = 100; i < 550; ++i) {
    ask("POST", kMaps, config_map("m" + std::to_string(i)));
    expected.push_back("ADDED m" + std::to_string(i));
  }
  const auto watch = ask("GET", std::string(kMaps) +
                                    "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&"
                                    "resourceVersionMatch=NotOlderThan");
  const size_t first = events(*watch).size();
  EXPECT_LE(first, 200U) << "the rest waits until the peer has read this";
  ask("POST", kMaps, config_map("new"));
  ask("DELETE", std::string(kMaps) + "/m549");
  EXPECT_EQ(events(*watch).size(), first);
  read(*watch);
  EXPECT_EQ(events(*watch).size(), 2 * first);
  read(*watch);
  expected.back() = "ADDED new";  // m549 was gone before its portion
  expected.emplace_back("BOOKMARK end");
  EXPECT_EQ(events(*watch), expected);
  ask("DELETE", std::string(kMaps) + "/new");
  EXPECT_EQ(events(*watch).back(), "DELETED new");
}

TEST_F(ServerTest, AWatchWhoseInitialStateIsOlderThanTheLogEndsWith410) {
  ServerOptions options;
  options.tokens = admin_token("t");
  options.store.max_changes = 5;
  server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
  reactor_.run_until_idle();
  for (int i = 100; i < 310; ++i) ask("POST", kMaps, config_map("m" + std::to_string(i)));
  const auto watch = ask("GET", std::string(kMaps) + "?watch=true");
  for (int i = 0; i < 20; ++i) ask("POST", kMaps, config_map("late-" + std::to_string(i)));
  read(*watch);
  EXPECT_NE(watch->stream.find("too old resource version"), std::string::npos);
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(server_->watches(), 0U);
}

TEST_F(ServerTest, WatchEndsAfterItsTime) {
  const auto watch = ask("GET", std::string(kMaps) + "?watch=true&timeoutSeconds=5");
  reactor_.advance(std::chrono::seconds(4));
  EXPECT_FALSE(watch->ended);
  reactor_.advance(std::chrono::seconds(2));
  EXPECT_TRUE(watch->ended);
  EXPECT_EQ(server_->watches(), 0U);
}

TEST_F(ServerTest, PagesShowOneSnapshot) {
  for (const char* name : {"a", "b", "c"}) ask("POST", kMaps, config_map(name));
  const Json first = Json::parse(ask("GET", std::string(kMaps) + "?limit=2")->head.body);
  ASSERT_EQ(first["items"].size(), 2U);
  ask("DELETE", std::string(kMaps) + "/c");
  const std::string token = first["metadata"]["continue"];
  const Json rest = Json::parse(ask("GET", std::string(kMaps) + "?limit=2&continue=" + token)->head.body);
  ASSERT_EQ(rest["items"].size(), 1U);
  EXPECT_EQ(rest["items"][0]["metadata"]["name"], "c");
}

TEST_F(ServerTest, DeeplyNestedBodiesAreRefused) {
  http::Request r;
  r.method = "POST";
  r.target = kMaps;
  r.headers.add("Authorization", "Bearer t");
  r.body = std::string(200'000, '[');
  auto answer = std::make_shared<Answer>();
  server_->handle(std::move(r), std::make_shared<Recorder>(answer));
  EXPECT_EQ(answer->head.status, 400);
}

TEST_F(ServerTest, ApplyConflictsNameTheOtherManager) {
  const Json a = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "a"}}}, {"data", {{"k", "1"}}}};
  Json b = a;
  b["data"]["k"] = "2";
  const std::string type = "application/apply-patch+yaml";
  ASSERT_EQ(ask("PATCH", std::string(kMaps) + "/a?fieldManager=one", a, type)->head.status, 201);
  const auto refused = ask("PATCH", std::string(kMaps) + "/a?fieldManager=two", b, type);
  EXPECT_EQ(refused->head.status, 409);
  EXPECT_NE(refused->head.body.find("conflict with \\\"one\\\": .data.k"), std::string::npos) << refused->head.body;
  EXPECT_EQ(ask("PATCH", std::string(kMaps) + "/a?fieldManager=two&force=true", b, type)->head.status, 200);
}

TEST_F(ServerTest, AnotherUidInAPatchIsRefusedForTheObjectAndForItsStatus) {
  const std::string claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
  const Json made =
      Json::parse(ask("POST", claims, {{"metadata", {{"name", "c"}}}, {"spec", Json::object()}})->head.body);
  for (const char* subresource : {"", "/status"}) {
    Json patch{{"metadata", {{"uid", "another"}}}};
    const std::string type = "application/merge-patch+json";
    const auto refused = ask("PATCH", claims + "/c" + subresource, patch, type);
    EXPECT_EQ(refused->head.status, 422) << subresource;
    EXPECT_NE(refused->head.body.find("metadata.uid: Invalid value: \\\"another\\\": field is immutable"),
              std::string::npos)
        << refused->head.body;
    patch["metadata"]["uid"] = made["metadata"]["uid"];
    EXPECT_EQ(ask("PATCH", claims + "/c" + subresource, patch, type)->head.status, 200) << subresource;
  }
}

TEST_F(ServerTest, BytesThatAreNoTextNeverReachObjectsOrWatchers) {
  const auto watch = ask("GET", std::string(kMaps) + "?watch=true&resourceVersion=0");
  Json body = config_map("a");
  http::Request r;
  r.method = "POST";
  r.target = kMaps;
  r.headers.add("Authorization", "Bearer t");
  r.headers.add("User-Agent", "\xff\x07\xc3\xa4" + std::string(200, 'x') + "/1");
  r.body = body.dump();
  auto answer = std::make_shared<Answer>();
  server_->handle(std::move(r), std::make_shared<Recorder>(answer));
  ASSERT_EQ(answer->head.status, 201) << answer->head.body;
  const auto manager_in = [](const std::string& text) {
    return Json::parse(text)["metadata"]["managedFields"][0]["manager"].get<std::string>();
  };
  EXPECT_EQ(manager_in(answer->head.body), "\xef\xbf\xbd\xc3\xa4" + std::string(123, 'x'));

  http::Request anonymous;
  anonymous.method = "POST";
  anonymous.target = std::string(kMaps) + "?dryRun=All";
  anonymous.headers.add("Authorization", "Bearer t");
  anonymous.body = config_map("without-agent").dump();
  answer = std::make_shared<Answer>();
  server_->handle(std::move(anonymous), std::make_shared<Recorder>(answer));
  ASSERT_EQ(answer->head.status, 201) << answer->head.body;
  EXPECT_EQ(manager_in(answer->head.body), "unknown") << "an entry without a name would not be read again";

  EXPECT_EQ(ask("POST", std::string(kMaps) + "?dryRun=%ff", config_map("b"))->head.status, 422);
  const auto named = ask("POST", std::string(kMaps) + "?fieldManager=a%ff", config_map("b"));
  ASSERT_EQ(named->head.status, 201);
  EXPECT_EQ(manager_in(named->head.body), "a\xef\xbf\xbd");
  const auto control = ask("POST", std::string(kMaps) + "?fieldManager=a%07", config_map("c"));
  EXPECT_EQ(control->head.status, 422);
  EXPECT_NE(control->head.body.find("invalid character U+0007 (at position 1)"), std::string::npos)
      << control->head.body;
  EXPECT_EQ(std::count(watch->stream.begin(), watch->stream.end(), '\n'), 2);
  EXPECT_FALSE(watch->ended);
}

TEST_F(ServerTest, StrictFindingsStopAtAHundred) {
  Json body = config_map("a");
  for (int i = 0; i < 100'000; ++i) body["unknown" + std::to_string(i)] = 1;
  const auto refused = ask("POST", std::string(kMaps) + "?fieldValidation=Strict", body);
  EXPECT_EQ(refused->head.status, 400);
  const std::string message = Json::parse(refused->head.body)["message"];
  size_t count = 0;
  for (size_t at = 0; (at = message.find("unknown field", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 100U);
}

TEST_F(ServerTest, LabelSelectorsAreChecked) {
  auto message = [&](const std::string& method, const std::string& selector) {
    const auto answer = ask(method, std::string(kMaps) + "?labelSelector=" + selector);
    return std::to_string(answer->head.status) + " " + Json::parse(answer->head.body).value("message", "");
  };
  for (const char* method : {"GET", "DELETE"}) {
    EXPECT_TRUE(
        message(method, "-bad-=1")
            .starts_with("400 unable to parse requirement: <nil>: Invalid value: \"-bad-\": name part must consist of"))
        << message(method, "-bad-=1");
    const std::string longest(70, 'x');
    EXPECT_EQ(message(method, "a=" + longest), "400 unable to parse requirement: values[0][a]: Invalid value: \"" +
                                                   longest + "\": must be no more than 63 bytes");
  }
  EXPECT_EQ(message("GET", "a.b/c+in+(x,,y),!z"), "200 ");
}

TEST_F(ServerTest, ApplyRefusesListKeysThatStandTwice) {
  const std::string target = "/api/v1/namespaces/default/pods/a?fieldManager=m";
  const std::string type = "application/apply-patch+yaml";
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", "a"}}},
              {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
  ASSERT_EQ(ask("PATCH", target, pod, type)->head.status, 201);
  pod["spec"]["containers"][0]["env"] = {{{"name", "A"}, {"value", "1"}}, {{"name", "A"}, {"value", "2"}}};
  const auto refused = ask("PATCH", target, pod, type);
  EXPECT_EQ(refused->head.status, 500);
  EXPECT_EQ(Json::parse(refused->head.body)["message"],
            "failed to create typed patch object (/a; /v1, Kind=Pod): .spec.containers[name=\"c\"].env: duplicate "
            "entries for key [name=\"A\"]");
  const Json map = {
      {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "c"}, {"finalizers", {"a.b/c", "a.b/c"}}}}};
  const auto twice = ask("PATCH", std::string(kMaps) + "/c?fieldManager=m", map, type);
  EXPECT_EQ(
      Json::parse(twice->head.body)["message"],
      "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for "
      "key [=\"a.b/c\"]");
}

// 2,000 entries took ten seconds when each path searched its list from the start.
TEST_F(ServerTest, ApplyOfLongListsMergesAndRemovesByKey) {
  const std::string target = "/apis/apps/v1/namespaces/default/deployments/d?force=true&fieldManager=";
  const std::string type = "application/apply-patch+yaml";
  auto deployment = [](int first, int count) {
    Json env = Json::array();
    for (int i = first; i < first + count; ++i) env.push_back({{"name", "E" + std::to_string(i)}, {"value", "v"}});
    const Json labels = {{"app", "x"}};
    const Json pod = {{"containers", {{{"name", "c"}, {"image", "i"}, {"env", env}}}}};
    return Json{
        {"apiVersion", "apps/v1"},
        {"kind", "Deployment"},
        {"metadata", {{"name", "d"}}},
        {"spec",
         {{"selector", {{"matchLabels", labels}}}, {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
  };
  auto names = [](const std::shared_ptr<Answer>& answer) {
    EXPECT_LT(answer->head.status, 300) << answer->head.body.substr(0, 500);
    const Json document = Json::parse(answer->head.body);
    std::set<std::string> out;
    for (const auto& e : document["spec"]["template"]["spec"]["containers"][0]["env"]) out.insert(e["name"]);
    return out;
  };
  EXPECT_EQ(names(ask("PATCH", target + "one", deployment(0, 2000), type)).size(), 2000U);
  EXPECT_EQ(names(ask("PATCH", target + "two", deployment(1990, 20), type)).size(), 2010U);
  EXPECT_EQ(names(ask("PATCH", target + "one", deployment(0, 5), type)).size(), 25U);
  EXPECT_EQ(names(ask("PATCH", target + "two", deployment(3, 1), type)).size(), 5U);
}

TEST_F(ServerTest, HousekeepingDeletesDependentsAndEmptiesNamespaces) {
  start(true);
  const Json owner = Json::parse(ask("POST", kMaps, config_map("owner"))->head.body);
  Json child = config_map("child");
  child["metadata"]["ownerReferences"] = {
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "owner"}, {"uid", owner["metadata"]["uid"]}}};
  ASSERT_EQ(ask("POST", kMaps, child)->head.status, 201);
  ask("DELETE", std::string(kMaps) + "/owner");
  EXPECT_EQ(ask("GET", std::string(kMaps) + "/child")->head.status, 404);

  ask("POST", "/api/v1/namespaces", {{"metadata", {{"name", "n"}}}});
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/n/serviceaccounts/default")->head.status, 200);
  ask("POST", "/api/v1/namespaces/n/configmaps", config_map("x"));
  ask("DELETE", "/api/v1/namespaces/n");
  EXPECT_EQ(ask("GET", "/api/v1/namespaces/n")->head.status, 404);
}

// The pod is marked first, which changes its version, and only if the preconditions hold.
TEST_F(ServerTest, AnEvictionHoldsToItsPreconditions) {
  const std::string pods = "/api/v1/namespaces/default/pods";
  const Json spec = {{"nodeName", "n"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}};
  ask("POST", pods, {{"metadata", {{"name", "p"}}}, {"spec", spec}});
  const Json before = Json::parse(ask("GET", pods + "/p")->head.body);
  const auto evict = [&](const std::string& uid, const std::string& version) {
    return ask("POST", pods + "/p/eviction",
               {{"apiVersion", "policy/v1"},
                {"kind", "Eviction"},
                {"metadata", {{"name", "p"}}},
                {"deleteOptions", {{"preconditions", {{"uid", uid}, {"resourceVersion", version}}}}}})
        ->head.status;
  };
  const std::string uid = before["metadata"]["uid"];
  const std::string version = before["metadata"]["resourceVersion"];
  EXPECT_EQ(evict("other", version), 409);
  EXPECT_EQ(evict(uid, "1"), 409);
  EXPECT_EQ(Json::parse(ask("GET", pods + "/p")->head.body), before);
  EXPECT_EQ(evict(uid, version), 201);
  EXPECT_TRUE(Json::parse(ask("GET", pods + "/p")->head.body)["metadata"].contains("deletionTimestamp"));
}

// A budget's status follows its pods, an eviction takes one disruption from it, and one that is not there is refused.
class BudgetTest : public ServerTest {
 protected:
  const std::string pods_ = "/api/v1/namespaces/default/pods";
  const std::string budgets_ = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

  void make_pod(const std::string& name, bool ready = true, const std::string& phase = "Running",
                const Json& owners = Json::array()) {
    Json pod = {{"metadata", {{"name", name}, {"labels", {{"app", "a"}}}, {"ownerReferences", owners}}},
                {"spec", {{"nodeName", "n"}, {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
    Json made = Json::parse(ask("POST", pods_, pod)->head.body);
    made["status"] = {{"phase", phase}, {"conditions", {{{"type", "Ready"}, {"status", ready ? "True" : "False"}}}}};
    const auto written = ask("PUT", pods_ + "/" + name + "/status", made);
    ASSERT_EQ(written->head.status, 200) << made << written->head.body;
  }
  void make_budget(const std::string& name, Json spec) {
    spec["selector"] = {{"matchLabels", {{"app", "a"}}}};
    ASSERT_EQ(ask("POST", budgets_, {{"metadata", {{"name", name}}}, {"spec", spec}})->head.status, 201);
    settle();
  }
  void settle() { reactor_.advance(std::chrono::milliseconds(100)); }
  Json status(const std::string& name) { return Json::parse(ask("GET", budgets_ + "/" + name)->head.body)["status"]; }
  std::shared_ptr<Answer> evict(const std::string& pod, const std::string& query = "") {
    return ask("POST", pods_ + "/" + pod + "/eviction" + query,
               {{"metadata", {{"name", pod}}}, {"deleteOptions", {{"gracePeriodSeconds", 0}}}});
  }
};

TEST_F(BudgetTest, AnEvictionTakesOneDisruptionAndTheNextIsRefused) {
  start(true);
  for (const char* name : {"p", "q", "r"}) make_pod(name);
  make_budget("b", {{"minAvailable", 2}});
  EXPECT_EQ(status("b")["disruptionsAllowed"], 1);
  EXPECT_EQ(status("b")["conditions"][0]["reason"], "SufficientPods");
  EXPECT_EQ(evict("p", "?dryRun=All")->head.status, 201);
  EXPECT_EQ(status("b")["disruptionsAllowed"], 1);
  EXPECT_EQ(evict("p")->head.status, 201);
  const auto refused = evict("q");
  EXPECT_EQ(refused->head.status, 429);
  const Json answer = Json::parse(refused->head.body);
  EXPECT_EQ(answer["details"]["causes"][0]["reason"], "DisruptionBudget");
  EXPECT_EQ(answer["details"].count("retryAfterSeconds"), 0U);
  EXPECT_EQ(evict("q", "?dryRun=All")->head.status, 429);
  settle();
  EXPECT_EQ(status("b")["expectedPods"], 2);
  EXPECT_EQ(status("b")["conditions"][0]["reason"], "InsufficientPods");
  EXPECT_NE(evict("q")->head.body.find("The disruption budget b needs 2 healthy pods and has 2"), std::string::npos);
  make_budget("second", {{"maxUnavailable", 1}});
  EXPECT_EQ(evict("q")->head.status, 500);
}

// A pod that was evicted and is still there counts as gone for two minutes, then again.
TEST_F(BudgetTest, AnEvictedPodThatStaysCountsAgainAfterTwoMinutes) {
  start(true);
  for (const char* name : {"p", "q"}) make_pod(name);
  make_budget("b", {{"minAvailable", 1}});
  Json budget = Json::parse(ask("GET", budgets_ + "/b")->head.body);
  budget["status"]["disruptedPods"] = {{"p", "1970-01-01T00:00:00Z"}, {"q", format_rfc3339(clock_.wall_now())}};
  ASSERT_EQ(ask("PUT", budgets_ + "/b/status", budget)->head.status, 200);
  settle();
  EXPECT_EQ(status("b")["currentHealthy"], 1) << status("b");
  EXPECT_EQ(status("b")["disruptedPods"].size(), 1U);
  reactor_.advance(std::chrono::minutes(3));
  EXPECT_EQ(status("b")["currentHealthy"], 2) << status("b");
  EXPECT_FALSE(status("b").contains("disruptedPods"));
}

TEST_F(BudgetTest, PodsThatAreNotReadyEndedOrPendingNeedNoDisruption) {
  start(true);
  make_pod("unready", false);
  make_budget("b", {{"minAvailable", 1}});
  EXPECT_EQ(evict("unready")->head.status, 429) << "it has too few healthy pods already";
  make_pod("ready");
  settle();
  EXPECT_EQ(evict("unready")->head.status, 201) << "enough are healthy without it";
  make_pod("ended", false, "Succeeded");
  make_pod("pending", false, "Pending");
  EXPECT_EQ(evict("ended")->head.status, 201);
  EXPECT_EQ(evict("pending")->head.status, 201);
  EXPECT_EQ(evict("ready")->head.status, 429);
  make_pod("other", false);
  ASSERT_EQ(ask("DELETE", budgets_ + "/b")->head.status, 200);
  make_budget("always", {{"minAvailable", 2}, {"unhealthyPodEvictionPolicy", "AlwaysAllow"}});
  EXPECT_EQ(evict("other")->head.status, 201);
}

// Percentages are of what the controllers ask for, not of the pods that are there.
TEST_F(BudgetTest, ControllersSayHowManyPodsAreExpected) {
  start(true);
  const Json labels = {{"matchLabels", {{"app", "a"}}}};
  const Json containers = {{"containers", {{{"name", "c"}, {"image", "i"}}}}};
  const Json spec = {{"replicas", 4},
                     {"selector", labels},
                     {"template", {{"metadata", {{"labels", {{"app", "a"}}}}}, {"spec", containers}}}};
  const Json set = Json::parse(
      ask("POST", "/apis/apps/v1/namespaces/default/replicasets", {{"metadata", {{"name", "s"}}}, {"spec", spec}})
          ->head.body);
  const Json owner = {{{"apiVersion", "apps/v1"},
                       {"kind", "ReplicaSet"},
                       {"name", "s"},
                       {"uid", set["metadata"]["uid"]},
                       {"controller", true}}};
  for (const char* name : {"p", "q", "r"}) make_pod(name, true, "Running", owner);
  make_budget("half", {{"maxUnavailable", "50%"}});
  EXPECT_EQ(status("half")["expectedPods"], 4);
  EXPECT_EQ(status("half")["desiredHealthy"], 2);
  EXPECT_EQ(status("half")["disruptionsAllowed"], 1);
  make_budget("third", {{"minAvailable", "30%"}});
  EXPECT_EQ(status("third")["desiredHealthy"], 2);
  const Json template_spec = {{"restartPolicy", "Never"}, {"containers", containers["containers"]}};
  const Json made =
      Json::parse(ask("POST", "/apis/batch/v1/namespaces/default/jobs",
                      {{"metadata", {{"name", "j"}}}, {"spec", {{"template", {{"spec", template_spec}}}}}})
                      ->head.body);
  const Json job = {{{"apiVersion", "batch/v1"},
                     {"kind", "Job"},
                     {"name", "j"},
                     {"uid", made["metadata"]["uid"]},
                     {"controller", true}}};
  make_pod("of-a-job", true, "Running", job);
  settle();
  EXPECT_EQ(status("half")["conditions"][0]["reason"], "SyncFailed");
  EXPECT_EQ(status("half")["conditions"][0]["message"], "jobs.batch does not implement the scale subresource");
  EXPECT_EQ(status("half")["disruptionsAllowed"], 0);
}

}  // namespace dra::apiserver::server_test
