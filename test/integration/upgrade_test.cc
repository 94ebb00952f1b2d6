// An upgrade from Kubernetes 1.36 to 1.37: scheduling.k8s.io/v1alpha2 ends, so that its PodGroups are deleted before
// and made anew in v1beta1 after it, with other uids, under running and waiting members.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/integration/cluster.h"

namespace dra::integration::upgrade_test {

using namespace std::chrono_literals;

// The server of 1.36; once it is upgraded, PodGroups are served in v1beta1 alone.
class Upgrading : public client::Transport {
 public:
  explicit Upgrading(client::Transport& server) : server_(server) {}

  Handle send(client::Request request, Done done) override {
    if (!upgraded) return server_.send(std::move(request), std::move(done));
    if (request.target.find(kOld) != std::string::npos) request.target = "/apis/scheduling.k8s.io/v0";  // 404
    request.target = renamed(request.target, "/v1beta1", "/v1alpha2");
    return server_.send(std::move(request), [done = std::move(done)](Result<client::Response> answer) {
      if (answer) answer->body = renamed(answer->body, "v1alpha2", "v1beta1");
      done(std::move(answer));
    });
  }
  Handle stream(client::Request request, client::StreamCallbacks callbacks) override {
    if (upgraded && request.target.find(kOld) != std::string::npos) request.target = "/apis/scheduling.k8s.io/v0";
    if (upgraded) request.target = renamed(request.target, "/v1beta1", "/v1alpha2");
    return server_.stream(std::move(request), std::move(callbacks));
  }
  bool upgraded = false;

 private:
  static constexpr const char* kOld = "/apis/scheduling.k8s.io/v1alpha2";
  // In texts about scheduling.k8s.io alone.
  static std::string renamed(std::string text, const std::string& from, const std::string& to) {
    if (text.find("scheduling.k8s.io/v1") == std::string::npos) return text;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  }
  client::Transport& server_;
};

class Upgrade : public testing::Test {
 protected:
  Upgrade() : plane_(sim_options()), api_(plane_, plane_.transport()), between_(plane_.transport()) {
    api_.create(node("n0"));
    api_.create(device_class());
    api_.create(slice("n0", 8));
    api_.create(claim_template("one-gpu"));
    ProcessOptions options;
    options.manager = Cluster::manager_options();
    options.manager.settings.scheduling = reconcile::Scheduling::kBind;
    options.manager.settings.scheduler_names = {"dra"};
    process_ = std::make_unique<Process>(plane_.reactor(), between_, std::move(options));
    process_->start();
  }
  static SimOptions sim_options() {
    SimOptions options;
    options.pod_groups = true;
    return options;
  }
  void add_group(const std::string& name) {
    const Json made{{"apiVersion", "scheduling.k8s.io/v1alpha2"},
                    {"kind", "PodGroup"},
                    {"metadata", {{"name", name}}},
                    {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", 2}}}}}}}};
    const Answer answer = api_.call("POST", kGroups, made.dump());
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  void remove_group(const std::string& name) { api_.call("DELETE", std::string(kGroups) + "/" + name); }
  void add_member(const std::string& name, const std::string& group) {
    Json made = pod(name, {from_template("gpu", "one-gpu")}, {.gated = false, .scheduler = "dra"});
    made["spec"]["schedulingGroup"] = {{"podGroupName", group}};
    api_.create(made);
  }
  Json pod_named(const std::string& name) { return api_.get("/api/v1/namespaces/default/pods/" + name); }
  bool bound(const std::string& name) { return pod_named(name)["spec"].contains("nodeName"); }
  void run(const std::string& name) {
    api_.call("PATCH", "/api/v1/namespaces/default/pods/" + name + "/status", R"({"status": {"phase": "Running"}})",
              "application/merge-patch+json");
  }
  std::string why(const std::string& name) {
    std::string text;
    for (const Json& condition : pod_named(name)["status"].value("conditions", Json::array()))
      text += condition.value("message", "") + "\n";
    return text;
  }
  // Of the claims that running pods use.
  std::map<std::string, Json> held() {
    std::map<std::string, Json> all;
    for (const Json& claim : api_.list("ResourceClaim"))
      if (claim["status"].contains("reservedFor"))
        all[claim["metadata"]["name"].get<std::string>()] = {claim["status"]["allocation"],
                                                             claim["status"]["reservedFor"]};
    return all;
  }

  static constexpr const char* kGroups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";
  SimControlPlane plane_;
  Api api_;
  Upgrading between_;
  std::unique_ptr<Process> process_;
};

TEST_F(Upgrade, GroupsAreMadeAnewUnderRunningAndWaitingMembers) {
  add_group("runs");
  add_group("waits");
  for (const char* name : {"r0", "r1"}) add_member(name, "runs");
  add_member("w0", "waits");
  plane_.pass(1min);
  ASSERT_TRUE(bound("r0") && bound("r1"));
  ASSERT_FALSE(bound("w0"));
  for (const char* name : {"r0", "r1"}) run(name);
  const std::map<std::string, Json> before = held();
  ASSERT_EQ(before.size(), 2u);

  // Before the upgrade the administrator deletes what v1alpha2 has; members come meanwhile.
  for (const char* name : {"runs", "waits"}) remove_group(name);
  add_member("w1", "waits");
  plane_.pass(5min);
  EXPECT_EQ(held(), before) << "nothing is freed under a running pod";
  EXPECT_FALSE(bound("w0") || bound("w1")) << "a member whose group is gone is no single pod";
  for (const char* name : {"w0", "w1"})
    EXPECT_NE(why(name).find("PodGroup default/waits does not exist"), std::string::npos) << why(name);

  between_.upgraded = true;
  process_->network().cut_all_streams();
  plane_.pass(5min);
  EXPECT_EQ(held(), before);
  EXPECT_FALSE(bound("w0") || bound("w1"));
  EXPECT_NE(why("w0").find("PodGroup default/waits does not exist"), std::string::npos) << why("w0");

  // A member of the running group comes while its group is missing, and joins once it is there.
  add_member("r2", "runs");
  plane_.pass(1min);
  EXPECT_FALSE(bound("r2"));
  for (const char* name : {"runs", "waits"}) add_group(name);
  plane_.pass(3min);
  EXPECT_TRUE(bound("w0") && bound("w1"));
  EXPECT_TRUE(bound("r2"));
  const std::map<std::string, Json> after = held();
  for (const auto& [name, status] : before) EXPECT_EQ(after.at(name), status) << name;
  EXPECT_EQ(after.size(), 5u);
}

// The manager stops before the upgrade and a new one starts after it, while the groups are still missing.
TEST_F(Upgrade, ANewManagerSeesMembersOfGroupsThatAreNotMadeYet) {
  add_group("runs");
  for (const char* name : {"r0", "r1"}) add_member(name, "runs");
  plane_.pass(1min);
  ASSERT_TRUE(bound("r0") && bound("r1"));
  for (const char* name : {"r0", "r1"}) run(name);
  const std::map<std::string, Json> before = held();
  process_.reset();
  remove_group("runs");
  between_.upgraded = true;
  add_member("r2", "runs");
  ProcessOptions options;
  options.manager = Cluster::manager_options();
  options.manager.settings.scheduling = reconcile::Scheduling::kBind;
  options.manager.settings.scheduler_names = {"dra"};
  process_ = std::make_unique<Process>(plane_.reactor(), between_, std::move(options));
  process_->start();
  plane_.pass(5min);
  EXPECT_EQ(held(), before);
  EXPECT_FALSE(bound("r2"));
  EXPECT_NE(why("r2").find("PodGroup default/runs does not exist"), std::string::npos) << why("r2");
  add_group("runs");
  plane_.pass(3min);
  EXPECT_TRUE(bound("r2"));
}

}  // namespace dra::integration::upgrade_test
