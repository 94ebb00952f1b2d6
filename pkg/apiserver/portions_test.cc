// What takes long is done in portions: lists, deletions of collections, housekeeping.
#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "pkg/apiserver/server.h"
#include "pkg/reactor/sim_reactor.h"

namespace dra::apiserver::portions_test {

constexpr const char* kMaps = "/api/v1/namespaces/n/configmaps";

using Steps = std::deque<std::function<void()>>;

struct Answer {
  int status = 0;
  std::string body;
};

// Whose turn comes when the test says so.
class InTurn : public http::Responder {
 public:
  InTurn(std::shared_ptr<Answer> answer, Steps& steps) : answer_(std::move(answer)), steps_(steps) {}
  void send(http::Response r) override { *answer_ = {r.status, std::move(r.body)}; }
  void begin_stream(http::Response) override {}
  bool write(std::string_view) override { return false; }
  void end() override {}
  size_t buffered() const override { return 0; }
  bool in_turn(std::function<void()> next) override {
    steps_.push_back(std::move(next));
    return true;
  }
  void on_close(std::function<void()>) override {}

 private:
  std::shared_ptr<Answer> answer_;
  Steps& steps_;
};

class PortionsTest : public ::testing::Test {
 protected:
  PortionsTest() {
    ServerOptions options;
    options.tokens = admin_token("t");
    options.housekeeping = true;
    options.in_turn = [this](std::function<void()> step) { housekeeping_.push_back(std::move(step)); };
    server_ = std::make_unique<Server>(reactor_, random_, std::move(options));
    done("POST", "/api/v1/namespaces", {{"metadata", {{"name", "n"}}}});
    run(housekeeping_);
    server_->store().listen("/configmaps", [this](const ChangePtr&) { ++changes_; });
  }

  // Runs all steps; returns how many, and keeps the most changes of config maps that one made.
  size_t run(Steps& steps) {
    size_t count = 0;
    for (; !steps.empty(); ++count) {
      changes_ = 0;
      std::exchange(steps.front(), nullptr)();  // what it held is dropped here
      steps.pop_front();
      reactor_.run_until_idle();
      most_changes_ = std::max(most_changes_, changes_);
    }
    return count;
  }

  std::shared_ptr<Answer> begin(const std::string& method, const std::string& target, const Json& body = nullptr,
                                const std::string& accept = "application/json") {
    http::Request r;
    r.method = method;
    r.target = target;
    r.headers.add("Authorization", "Bearer t");
    r.headers.add("Accept", accept);
    r.headers.add("Content-Type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    if (!body.is_null()) r.body = body.dump();
    auto answer = std::make_shared<Answer>();
    server_->handle(std::move(r), std::make_shared<InTurn>(answer, turns_));
    reactor_.run_until_idle();
    return answer;
  }

  // With all its turns, before any housekeeping.
  Answer done(const std::string& method, const std::string& target, const Json& body = nullptr) {
    const auto answer = begin(method, target, body);
    run(turns_);
    return *answer;
  }

  void make_map(const std::string& name, size_t bytes, const Json& metadata = Json::object()) {
    Json map = {{"metadata", metadata}, {"data", {{"k", std::string(bytes, 'x')}}}};
    map["metadata"]["name"] = name;
    ASSERT_EQ(done("POST", kMaps, map).status, 201);
    run(housekeeping_);
  }

  Json owner(const std::string& name, bool blocks = true) {
    const std::string uid = Json::parse(done("GET", std::string(kMaps) + "/" + name).body)["metadata"]["uid"];
    return {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", name}, {"uid", uid}, {"blockOwnerDeletion", blocks}};
  }
  bool exists(const std::string& name) { return done("GET", std::string(kMaps) + "/" + name).status == 200; }
  void drop_finalizers(const std::string& name) {
    done("PATCH", std::string(kMaps) + "/" + name, {{"metadata", {{"finalizers", nullptr}}}});
    run(housekeeping_);
  }
  void erase(const std::string& name, const std::string& policy) {
    done("DELETE", std::string(kMaps) + "/" + name, {{"propagationPolicy", policy}});
    run(housekeeping_);
  }

  static size_t items(const Answer& answer) { return Json::parse(answer.body)["items"].size(); }

  ManualClock clock_;
  SimReactor reactor_{clock_};
  SeededRandom random_{7};
  Steps turns_, housekeeping_;
  size_t changes_ = 0, most_changes_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(PortionsTest, AListIsWhatItWasAtItsBeginning) {
  for (int i = 0; i < 10; ++i) make_map("m" + std::to_string(i), 50'000);
  for (const std::string& accept :
       {std::string("application/json"), std::string("application/json;as=Table;v=v1;g=meta.k8s.io"),
        std::string("application/vnd.kubernetes.protobuf")}) {
    const bool is_table = accept.find("Table") != std::string::npos;
    const std::string query = is_table ? "?includeObject=Object" : "";
    const auto answer = begin("GET", kMaps + query, nullptr, accept);
    EXPECT_EQ(answer->status, 0);
    EXPECT_EQ(begin("DELETE", std::string(kMaps) + "/m3")->status, 200);
    EXPECT_GT(run(turns_), 3U) << accept;
    EXPECT_EQ(answer->status, 200);
    size_t found = 0;
    for (size_t at = 0; (at = answer->body.find(std::string(50'000, 'x'), at)) != std::string::npos; ++at) {
      at += 50'000 - 1;
      ++found;
    }
    EXPECT_EQ(found, 10U) << accept;
    if (is_table) {
      EXPECT_EQ(Json::parse(answer->body)["rows"].size(), 10U);
    }
    make_map("m3", 50'000);
  }
}

TEST_F(PortionsTest, TheSelectorsOfAListAreAppliedInPortions) {
  for (int i = 0; i < 8; ++i) make_map("m" + std::to_string(i), 600'000, {{"labels", {{"i", std::to_string(i)}}}});
  const auto none = begin("GET", std::string(kMaps) + "?labelSelector=i=x");
  EXPECT_GT(run(turns_), 3U);
  EXPECT_EQ(items(*none), 0U);
  const auto one = begin("GET", std::string(kMaps) + "?labelSelector=i=5");
  run(turns_);
  EXPECT_EQ(items(*one), 1U);
}

// Otherwise each would keep its copy of the namespace meanwhile.
TEST_F(PortionsTest, LargeRequestsOfANamespaceComeOneAfterTheOther) {
  for (int i = 0; i < 10; ++i) make_map("m" + std::to_string(i), 50'000);
  const auto first = begin("GET", kMaps);
  const auto second = begin("GET", kMaps);
  EXPECT_EQ(turns_.size(), 1U);
  const auto of_all = begin("GET", "/api/v1/configmaps");
  EXPECT_EQ(turns_.size(), 2U) << "another flow";
  const auto deletion = begin("DELETE", kMaps);
  EXPECT_EQ(begin("DELETE", std::string(kMaps) + "/m3")->status, 200);
  std::vector<std::shared_ptr<Answer>> waiting;
  for (int i = 0; i < 62; ++i) waiting.push_back(begin("GET", kMaps));
  EXPECT_EQ(waiting.back()->status, 0);
  const auto refused = begin("GET", kMaps);
  EXPECT_EQ(refused->status, 429);
  EXPECT_NE(refused->body.find("namespace \\\"n\\\""), std::string::npos) << refused->body;
  EXPECT_EQ(begin("GET", std::string(kMaps) + "/m4")->status, 200);
  run(turns_);
  EXPECT_EQ(items(*first), 10U);
  EXPECT_EQ(items(*of_all), 10U);
  EXPECT_EQ(items(*second), 9U) << "it had read nothing before its turn";
  EXPECT_EQ(items(*deletion), 9U);
  for (const auto& answer : waiting) EXPECT_EQ(items(*answer), 0U);
}

// The collection is small by now, but what was deleted is kept for such lists.
TEST_F(PortionsTest, ListsOfAnEarlierStateComeOneAfterTheOther) {
  for (int i = 0; i < 10; ++i) make_map("m" + std::to_string(i), 50'000);
  const Json page = Json::parse(done("GET", std::string(kMaps) + "?limit=1").body);
  const std::string rest = std::string(kMaps) + "?continue=" + page["metadata"]["continue"].get<std::string>();
  ASSERT_EQ(done("DELETE", kMaps).status, 200);
  const auto first = begin("GET", rest);
  const auto second = begin("GET", rest);
  EXPECT_EQ(turns_.size(), 1U);
  run(turns_);
  EXPECT_EQ(items(*first), 9U);
  EXPECT_EQ(items(*second), 9U);
}

TEST_F(PortionsTest, WhoGoesAwayLetsTheNextBegin) {
  for (int i = 0; i < 10; ++i) make_map("m" + std::to_string(i), 50'000);
  begin("GET", kMaps);
  const auto second = begin("GET", kMaps);
  turns_.clear();
  reactor_.run_until_idle();
  run(turns_);
  EXPECT_EQ(items(*second), 10U);
}

TEST_F(PortionsTest, OneObjectOfACollectionIsDeletedInATurn) {
  for (int i = 0; i < 20; ++i) make_map("m" + std::to_string(i), 10);
  most_changes_ = 0;
  const auto answer = begin("DELETE", kMaps);
  EXPECT_TRUE(exists("m9"));
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(items(*answer), 20U);
  EXPECT_EQ(most_changes_, 1U);
  EXPECT_EQ(items(done("GET", kMaps)), 0U);
}

// Its objects go one by one, and each that goes later is not a reason to look at all the others again.
TEST_F(PortionsTest, ANamespaceIsEmptiedObjectByObject) {
  constexpr int kObjects = 40;
  for (int i = 0; i < kObjects; ++i)
    make_map("m" + std::to_string(i), 10, i % 2 == 0 ? Json{{"finalizers", {"example.com/f"}}} : Json::object());
  most_changes_ = 0;
  done("DELETE", "/api/v1/namespaces/n");
  EXPECT_LT(run(housekeeping_), 4U * kObjects);
  EXPECT_EQ(most_changes_, 1U);
  EXPECT_EQ(items(done("GET", kMaps)), kObjects / 2U);
  size_t steps = 0;
  for (int i = 0; i < kObjects; i += 2) {
    EXPECT_EQ(done("GET", "/api/v1/namespaces/n").status, 200);
    done("PATCH", std::string(kMaps) + "/m" + std::to_string(i), {{"metadata", {{"finalizers", nullptr}}}});
    steps += run(housekeeping_);
  }
  EXPECT_LT(steps, 3U * kObjects);
  EXPECT_EQ(done("GET", "/api/v1/namespaces/n").status, 404);
}

TEST_F(PortionsTest, AnOwnerWaitsForThoseThatBlockItsDeletion) {
  make_map("owner", 10);
  make_map("other", 10);
  make_map("held", 10, {{"ownerReferences", {owner("owner")}}, {"finalizers", {"example.com/f"}}});
  make_map("blocks", 10, {{"ownerReferences", {owner("owner")}}});
  make_map("does-not", 10, {{"ownerReferences", {owner("owner", false)}}, {"finalizers", {"example.com/f"}}});
  make_map("of-two", 10, {{"ownerReferences", {owner("owner"), owner("other")}}});
  erase("owner", "Foreground");
  EXPECT_TRUE(exists("owner"));
  EXPECT_TRUE(exists("held"));
  EXPECT_FALSE(exists("blocks"));
  const Json of_two = Json::parse(done("GET", std::string(kMaps) + "/of-two").body)["metadata"];
  EXPECT_EQ(of_two["ownerReferences"], Json::array({owner("other")}));
  drop_finalizers("held");
  EXPECT_FALSE(exists("owner"));
  EXPECT_TRUE(exists("does-not"));
}

TEST_F(PortionsTest, AnOwnerThatOrphansLeavesAllItsDependents) {
  make_map("owner", 10);
  for (int i = 0; i < 5; ++i) make_map("m" + std::to_string(i), 10, {{"ownerReferences", {owner("owner")}}});
  erase("owner", "Orphan");
  EXPECT_FALSE(exists("owner"));
  for (int i = 0; i < 5; ++i) {
    const Answer got = done("GET", std::string(kMaps) + "/m" + std::to_string(i));
    ASSERT_EQ(got.status, 200);
    EXPECT_FALSE(Json::parse(got.body)["metadata"].contains("ownerReferences"));
  }
}

TEST_F(PortionsTest, DependentsOfADependentGoFirst) {
  make_map("owner", 10);
  make_map("child", 10, {{"ownerReferences", {owner("owner")}}});
  make_map("grandchild", 10, {{"ownerReferences", {owner("child")}}, {"finalizers", {"example.com/f"}}});
  erase("owner", "Foreground");
  EXPECT_TRUE(exists("owner"));
  EXPECT_TRUE(exists("child"));
  drop_finalizers("grandchild");
  for (const char* name : {"owner", "child", "grandchild"}) EXPECT_FALSE(exists(name)) << name;
}

}  // namespace dra::apiserver::portions_test
