// The roles in charts/ against the manager: they match what the controllers declare, they suffice, and
// without any one of their permissions exactly the controllers that need it stay off.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "controllers/all.h"
#include "pkg/manager/permit/chart_roles.h"
#include "pkg/manager/permit/permissions.h"
#include "pkg/yaml/yaml.h"
#include "test/integration/cluster.h"
#include "test/integration/moving.h"
#include "test/integration/preempting.h"

namespace dra::integration::permissions_test {

using namespace std::chrono_literals;

constexpr const char* kChart = "charts/dra-controller-manager/";
constexpr const char* kNamespace = "dra-controller-manager";
constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";

std::vector<Json> read_yaml(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  auto parsed = yaml::parse_all(text.str());
  if (!in || !parsed) throw std::runtime_error("cannot read " + path);
  return *parsed;
}

// The chart's roles as data: name, namespace ("release": that of the release), rules.
Json roles_data() {
  return read_yaml(std::string(kChart) + "files/roles.yaml").at(0);
}

// The roles and their bindings that templates/rbac.yaml renders with every mode enabled.
std::vector<Json> role_charts() {
  std::vector<Json> all;
  for (const Json& role : roles_data()) {
    const std::string name = "dra-controller-manager:" + role["name"].get<std::string>();
    std::string ns = role.value("namespace", "");
    if (ns == "release") ns = kNamespace;
    const std::string kind = ns.empty() ? "ClusterRole" : "Role";
    Json metadata{{"name", name}};
    if (!ns.empty()) metadata["namespace"] = ns;
    const Json subject{{"kind", "ServiceAccount"}, {"name", "dra-controller-manager"}, {"namespace", kNamespace}};
    all.push_back({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                   {"kind", kind},
                   {"metadata", metadata},
                   {"rules", role.at("rules")}});
    all.push_back({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                   {"kind", kind + "Binding"},
                   {"metadata", metadata},
                   {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", name}}},
                   {"subjects", Json::array({subject})}});
  }
  return all;
}

// "verb group/resource" or "verb group/resource name", one permission each.
std::multiset<std::string> permissions_in(const Json& role) {
  std::multiset<std::string> out;
  for (const Json& rule : role.at("rules"))
    for (const Json& verb : rule.at("verbs"))
      for (const Json& group : rule.at("apiGroups"))
        for (const Json& resource : rule.at("resources"))
          for (const Json& name : rule.value("resourceNames", Json::array({""})))
            out.insert(verb.get<std::string>() + " " + group.get<std::string>() + "/" + resource.get<std::string>() +
                       " " + name.get<std::string>());
  return out;
}

std::string rule_text(const std::string& verb, const client::Permission& p) {
  return verb + " " + p.group + "/" + p.resource + (p.subresource.empty() ? "" : "/" + p.subresource) + " " + p.name;
}

manager::ManagerOptions every_mode() {
  manager::ManagerOptions options = Cluster::manager_options();
  options.settings.device_taint_eviction = manager::DeviceTaintEviction::kOwn;
  options.settings.scheduling = reconcile::Scheduling::kBind;
  options.settings.scheduler_names = {"ours"};
  options.settings.flags["recreate-pinned-pods"] = "on";
  options.settings.flags["preemption"] = "on";
  options.settings.flags["defragment"] = "on";
  options.settings.flags["recover-failed-prepares"] = "on";
  options.lease = manager::ManagerOptions::LeaseRef{kNamespace, "dra-controller-manager"};
  options.usage = manager::ManagerOptions::LeaseRef{kNamespace, "dra-controller-manager-usage"};
  return options;
}

// The controllers with a permission to write.
std::set<std::string> writers() {
  std::set<std::string> names;
  for (const reconcile::Controller* controller : dra::all_controllers())
    for (const reconcile::Role& role : controller->roles)
      for (const reconcile::PermissionRule& rule : role.rules)
        for (const std::string& verb : rule.verbs)
          if (verb != "get" && verb != "list" && verb != "watch") names.emplace(controller->name);
  return names;
}

TEST(Charts, RolesAreWhatTheTableSays) {
  std::map<std::string, std::multiset<std::string>> shipped;
  for (const Json& role : roles_data()) shipped[role.at("name")] = permissions_in(role);
  std::map<std::string, std::multiset<std::string>> needed;
  for (const manager::PermissionRole& role : manager::permission_roles()) {
    std::multiset<std::string>& texts = needed[std::string(role.name)];
    for (const client::Permission& p : permissions_of(role, every_mode())) texts.insert(rule_text(p.verb, p));
  }
  EXPECT_EQ(shipped, needed);
}

// Helm's output from the data, by charts/install.yaml: the roles of the default modes, bound in their scope.
TEST(Charts, EveryRenderedRoleIsTheDataAndBoundToTheServiceAccount) {
  std::map<std::string, std::multiset<std::string>> data, rendered;
  for (const Json& role : roles_data())
    data["dra-controller-manager:" + role["name"].get<std::string>()] = permissions_in(role);
  std::set<std::string> roles, bound;
  for (const Json& object : read_yaml("charts/install.yaml")) {
    const std::string kind = object["kind"];
    const std::string name = object["metadata"]["name"];
    if (name == "dra-controller-manager:lift" || name == "dra-controller-manager:metrics-reader" ||
        name == "dra-controller-manager:viewer")
      continue;  // for others
    if (kind == "ClusterRole" || kind == "Role") {
      roles.insert(kind + "/" + object["metadata"]["name"].get<std::string>());
      rendered[object["metadata"]["name"]] = permissions_in(object);
    } else if (kind == "ClusterRoleBinding" || kind == "RoleBinding") {
      ASSERT_EQ(object["subjects"].size(), 1u);
      EXPECT_EQ(object["subjects"][0]["name"], "dra-controller-manager");
      EXPECT_EQ(object["subjects"][0]["namespace"], kNamespace);
      EXPECT_EQ(kind, object["roleRef"]["kind"].get<std::string>() + "Binding");
      bound.insert(object["roleRef"]["kind"].get<std::string>() + "/" + object["roleRef"]["name"].get<std::string>());
    }
  }
  roles.insert("ClusterRole/system:auth-delegator");  // the API server's own: to have the tokens of scrapers reviewed
  EXPECT_EQ(roles, bound);
  std::set<std::string> by_default;
  for (const manager::PermissionRole* role : manager::needed_roles(manager::chart_defaults()))
    by_default.insert("dra-controller-manager:" + std::string(role->name));
  std::set<std::string> names;
  for (const auto& [name, permissions] : rendered) names.insert(name);
  EXPECT_EQ(names, by_default);
  for (const auto& [name, permissions] : rendered) EXPECT_EQ(permissions, data[name]) << name;
}

// A cluster with the charts' roles installed, and a manager that has only its service account's token.
class Guarded {
 public:
  Guarded() : cluster_(cluster_options()) {
    for (const Json& object : read_yaml("charts/install.yaml"))
      if (object["kind"] == "Namespace" || object["kind"] == "ServiceAccount") create(object);
  }

  // `without`: "verb group/resource name", removed from every role.
  void install_roles(const std::string& without = "") {
    for (Json& object : role_charts()) {
      if (object.contains("rules")) object["rules"] = split_rules(object, without);
      const Answer made = create(object);
      if (made.ok()) continue;
      const Answer replaced =
          cluster_.api().call("PATCH", path(object) + "/" + object["metadata"]["name"].get<std::string>(),
                              object.dump(), "application/merge-patch+json");
      ASSERT_TRUE(replaced.ok()) << replaced.body;
    }
  }

  void start(manager::ManagerOptions options) {
    const Answer token = cluster_.api().call(
        "POST", "/api/v1/namespaces/" + std::string(kNamespace) + "/serviceaccounts/dra-controller-manager/token",
        R"({"spec":{"expirationSeconds":864000}})");
    ASSERT_EQ(token.status, 201) << token.body;
    transport_ = cluster_.plane().connect(token.json()["status"]["token"].get<std::string>());
    ProcessOptions process;
    process.manager = std::move(options);
    process_ = std::make_unique<Process>(cluster_.plane().reactor(), *transport_, std::move(process));
    process_->start();
  }

  // A pod with a template and one with a handmade claim.
  void add_pods() {
    Api& api = cluster_.api();
    api.create(claim_template("one-gpu"));
    api.create(claim("by-hand"));
    api.create(pod("templated", {from_template("gpu", "one-gpu")}));
    api.create(pod("handmade", {from_claim("gpu", "by-hand")}));
  }
  bool bound(const std::string& name) {
    return !cluster_.api().get(Api::path("Pod", name))["spec"].value("nodeName", "").empty();
  }

  manager::HealthCheck permissions_check() {
    for (const manager::HealthCheck& check : process_->manager().checks())
      if (check.name == "permissions") return check;
    return {};
  }
  std::string metrics() { return process_->registry().text(); }

  Cluster& cluster() { return cluster_; }
  Process& process() { return *process_; }
  // Controllers that wrote something.
  std::set<std::string> wrote() const {
    std::set<std::string> names;
    for (const auto& [point, count] : process_->guard().seen()) names.insert(point.substr(0, point.find('/')));
    names.erase("events");
    names.erase("");  // who used what is counted by no controller
    return names;
  }

 private:
  static ClusterOptions cluster_options() {
    ClusterOptions options;
    options.nodes = 2;
    options.devices = 2;
    options.components.scheduler_allocates = false;
    return options;
  }

  static std::string path(const Json& object) {
    static const std::map<std::string, std::string> kPlurals{{"ClusterRole", "clusterroles"},
                                                             {"ClusterRoleBinding", "clusterrolebindings"},
                                                             {"Role", "roles"},
                                                             {"RoleBinding", "rolebindings"},
                                                             {"Namespace", "namespaces"},
                                                             {"ServiceAccount", "serviceaccounts"}};
    const std::string kind = object.at("kind");
    const std::string ns = object.at("metadata").value("namespace", "");
    const bool core = kind == "Namespace" || kind == "ServiceAccount";
    return (core ? std::string("/api/v1") : std::string(kRbac)) + (ns.empty() ? "" : "/namespaces/" + ns) + "/" +
           kPlurals.at(kind);
  }
  Answer create(const Json& object) { return cluster_.api().call("POST", path(object), object.dump()); }

  static Json split_rules(const Json& role, const std::string& without) {
    Json rules = Json::array();
    for (const Json& rule : role["rules"])
      for (const Json& resource : rule["resources"])
        for (const Json& verb : rule["verbs"]) {
          Json one = {{"verbs", {verb}}, {"apiGroups", rule["apiGroups"]}, {"resources", {resource}}};
          if (rule.contains("resourceNames")) one["resourceNames"] = rule["resourceNames"];
          if (!permissions_in({{"rules", {one}}}).contains(without)) rules.push_back(std::move(one));
        }
    return rules;
  }

  Cluster cluster_;
  std::unique_ptr<client::Transport> transport_;
  std::unique_ptr<Process> process_;
};

// Of two pods on two nodes with two devices one moves, so that a pod that wants two devices of one node fits.
void move_one(Cluster& cluster) {
  Api& api = cluster.api();
  const auto create = [&](const std::string& name, const char* from) {
    Json made = pod_that_may_move(name, from);
    made["spec"]["schedulerName"] = "ours";
    api.create(made);
  };
  const auto on = [&](const std::string& name) {
    const auto known = cluster.watchdog().pod("default/" + name);
    return known && !known->metadata.deleting() ? known->node_name : std::string();
  };
  for (const char* node : {"n0", "n1"})
    api.merge(Api::path("Node", node),
              {{"spec", {{"taints", {{{"key", "example.com/gpu"}, {"effect", "NoSchedule"}}}}}}});
  api.create(claim_template("two-gpu", "gpu", 2));
  std::map<std::string, std::string> left;  // one on each node
  for (const char* name : {"a", "b", "c", "d"}) create(name, "one-gpu");
  ASSERT_TRUE(
      cluster.eventually([&] { return on("a") != "" && on("b") != "" && on("c") != "" && on("d") != ""; }, 60s));
  for (const char* name : {"a", "b", "c", "d"})
    if (!left.emplace(on(name), name).second) api.remove_now(Api::path("Pod", name));
  create("wide", "two-gpu");
  std::string next;
  EXPECT_TRUE(cluster.eventually(
      [&] {
        for (const auto& [node, name] : left)
          if (next.empty() && on(name).empty()) create(next = name + "-next", "one-gpu");
        return on("wide") != "" && !next.empty() && on(next) != "";
      },
      60s));
  for (const auto& pod : api.list("Pod")) api.remove_now(Api::path("Pod", pod["metadata"]["name"]));
  for (const char* node : {"n0", "n1"}) api.merge(Api::path("Node", node), {{"spec", {{"taints", nullptr}}}});
  EXPECT_TRUE(cluster.eventually([&] { return cluster.watchdog().held_devices() == 0; }, 60s));
}

TEST(Permissions, TheShippedRolesSuffice) {
  Guarded world;
  world.install_roles();
  manager::ManagerOptions options = every_mode();
  options.settings.move_after = Duration::zero();
  world.start(options);
  world.add_pods();
  Json ours = pod("ours", {from_template("gpu", "one-gpu")});
  ours["spec"].erase("schedulingGates");
  ours["spec"]["schedulerName"] = "ours";
  world.cluster().api().create(ours);
  EXPECT_TRUE(world.cluster().eventually(
      [&] { return world.bound("templated") && world.bound("handmade") && world.bound("ours"); }, 30s));
  EXPECT_EQ(world.cluster().verdict(), "");
  EXPECT_TRUE(world.permissions_check().ok);
  EXPECT_EQ(world.permissions_check().note, "");

  for (const char* name : {"templated", "handmade", "ours"}) world.cluster().api().remove_now(Api::path("Pod", name));
  move_one(world.cluster());
  for (const char* name : {"templated", "handmade"})
    world.cluster().api().create(
        pod(name, {name[0] == 't' ? from_template("gpu", "one-gpu") : from_claim("gpu", "by-hand")}));
  world.cluster().api().create(ours);
  EXPECT_TRUE(world.cluster().eventually(
      [&] { return world.bound("templated") && world.bound("handmade") && world.bound("ours"); }, 30s));

  // A pod of high priority takes the place of one of ours.
  create_priorities(world.cluster().api());
  world.cluster().api().merge(Api::path("Namespace", "default"),
                              {{"metadata", {{"labels", {{"dra-controller-manager/preemption", "true"}}}}}});
  for (const char* name : {"low0", "high0"}) {
    Json ranked = pod_of_rank(name, {from_template("gpu", "one-gpu")});
    ranked["spec"]["schedulerName"] = "ours";
    world.cluster().api().create(ranked);
    EXPECT_TRUE(world.cluster().eventually([&] { return world.bound(name); }, 30s)) << name;
  }
  world.cluster().api().remove(Api::path("Pod", "high0"));

  // A tainted device under a running pod: the pod is evicted, and its devices are released.
  const std::string node = world.cluster().api().get(Api::path("Pod", "templated"))["spec"]["nodeName"];
  Json tainted = slice(node, 2);
  for (Json& device : tainted["spec"]["devices"])
    device["taints"] = Json::array({{{"key", "broken"}, {"effect", "NoExecute"}}});
  tainted["spec"]["pool"]["generation"] = tainted["spec"]["pool"]["generation"].get<int>() + 1;
  const std::string slice_path = Api::path("ResourceSlice", tainted["metadata"]["name"], "");
  world.cluster().api().merge(slice_path, {{"spec", tainted["spec"]}});
  EXPECT_TRUE(
      world.cluster().eventually([&] { return !world.cluster().api().exists(Api::path("Pod", "templated")); }, 60s));
  world.cluster().pass(30s);
  for (const char* name : {"templated", "handmade", "ours", "low0"})
    if (world.cluster().api().exists(Api::path("Pod", name))) world.cluster().api().remove(Api::path("Pod", name));
  EXPECT_TRUE(world.cluster().eventually([&] { return world.cluster().watchdog().held_devices() == 0; }, 60s));
  std::set<std::string> expected = writers();
  expected.erase("recovery");  // it evicts pods that kubelet cannot start, and kubelets start all here (recovery_test)
  EXPECT_EQ(world.wrote(), expected);
  // Nothing was refused, in either encoding.
  EXPECT_EQ(world.metrics().find("code=\"403\""), std::string::npos);
  EXPECT_EQ(world.metrics().find("result=\"PermissionDenied\""), std::string::npos);
}

TEST(Permissions, EachOneRemovedInTurn) {
  std::map<std::string, std::set<std::string>> needed_by;  // permission -> controllers
  std::map<std::string, std::string> shown;                // permission -> its displayed name
  for (const manager::PermissionRole& role : manager::permission_roles())
    for (const client::Permission& p : permissions_of(role, every_mode())) {
      needed_by[rule_text(p.verb, p)].insert(std::string(role.controller));
      shown[rule_text(p.verb, p)] = manager::permission_text(p);
    }
  // Noticing each takes an hour of real time in all: there only one in ten is tried, unless DRA_PERMISSION_STEP=1.
  const size_t step = from_environment("DRA_PERMISSION_STEP", Cluster({.nodes = 0}).plane().simulated() ? 1 : 10);
  size_t turn = 0;
  const std::vector<std::string> all = controller_names();
  for (const auto& [permission, controllers] : needed_by) {
    if (turn++ % step != 0) continue;
    SCOPED_TRACE(permission);
    Guarded world;
    world.install_roles(permission);
    world.start(every_mode());
    world.add_pods();
    world.cluster().pass(20s);
    const auto off = [&off = controllers](const char* controller) { return off.contains(controller); };

    // Named exactly, in the health check and as a metric.
    const manager::HealthCheck check = world.permissions_check();
    EXPECT_NE(check.message.find("missing permission: " + shown[permission] + " ("), std::string::npos)
        << check.message;
    for (const std::string& controller : all)
      EXPECT_EQ(check.message.find("controller " + controller + " is off") != std::string::npos,
                controllers.contains(controller))
          << controller << ": " << check.message;
    EXPECT_EQ(check.ok, controllers.size() < all.size()) << check.message;
    EXPECT_NE(world.metrics().find("dra_missing_permissions{permission=\"" + shown[permission].substr(0, 10)),
              std::string::npos);
    // Without its right who used what is not counted.
    EXPECT_EQ(world.metrics().find("\ndra_usage_as_of_timestamp_seconds ") == std::string::npos,
              permission.find("/configmaps") != std::string::npos);
    // Controllers that need it write nothing, the others do all their work.
    for (const std::string& controller : world.wrote()) EXPECT_FALSE(controllers.contains(controller)) << controller;
    EXPECT_EQ(world.bound("handmade"), !off("allocation"));
    EXPECT_EQ(world.bound("templated"), !off("allocation") && !off("claimtemplate"));
    const size_t claims = world.cluster().api().list("ResourceClaim").size();
    EXPECT_EQ(claims, off("claimtemplate") ? 1u : 2u);
    if (off("allocation")) {
      for (const Json& claim : world.cluster().api().list("ResourceClaim")) {
        EXPECT_FALSE(claim.value("status", Json::object()).contains("allocation")) << claim;
        EXPECT_FALSE(claim["metadata"].contains("finalizers")) << claim;
      }
    }
    // When granted later, it is noticed within a minute.
    world.install_roles();
    EXPECT_TRUE(world.cluster().eventually(
        [&] { return world.permissions_check().note.empty() && world.bound("templated") && world.bound("handmade"); },
        90s))
        << world.permissions_check().note;
    EXPECT_TRUE(world.process().manager().ready());
    EXPECT_EQ(world.metrics().find("dra_missing_permissions{"), std::string::npos);
    EXPECT_EQ(world.cluster().verdict(), "");
  }
}

// A permission revoked later: one event on the Lease when writes begin to be refused, one when they succeed again.
TEST(Permissions, RevokedAndGrantedAgainAreEventsOnTheLease) {
  Guarded world;
  world.install_roles();
  world.start(every_mode());
  world.add_pods();
  ASSERT_TRUE(world.cluster().eventually([&] { return world.bound("templated") && world.bound("handmade"); }, 30s));
  const auto events = [&](const std::string& reason, const std::string& about = "Lease/dra-controller-manager") {
    std::vector<std::string> notes;
    for (const Json& event : world.cluster().api().list("Event")) {
      const Json& object = event["regarding"];
      if (event.value("reason", "") == reason && object.value("kind", "") + "/" + object.value("name", "") == about)
        notes.push_back(event["note"]);
    }
    return notes;
  };
  EXPECT_EQ(events("RequestsFail"), std::vector<std::string>{});
  world.install_roles("patch /pods ");
  world.cluster().api().create(claim("later"));
  world.cluster().api().create(pod("later", {from_claim("gpu", "later")}));
  ASSERT_TRUE(world.cluster().eventually([&] { return !events("RequestsFail").empty(); }, 30s));
  world.cluster().pass(20s);
  ASSERT_EQ(events("RequestsFail").size(), 1u) << "one for the cause, not for each request";
  EXPECT_NE(events("RequestsFail")[0].find("patch Pod"), std::string::npos) << events("RequestsFail")[0];
  const std::vector<std::string> notified = events("RequestsFail", "Pod/later");
  ASSERT_EQ(notified.size(), 1u) << "the pod's users are notified, once";
  EXPECT_NE(notified[0].find("has not done \"patch Pod\" for 15 s"), std::string::npos) << notified[0];
  EXPECT_EQ(events("RequestsSucceed"), std::vector<std::string>{});
  EXPECT_FALSE(world.bound("later"));
  world.install_roles();
  EXPECT_TRUE(world.cluster().eventually([&] { return world.bound("later"); }, 90s));
  ASSERT_TRUE(world.cluster().eventually([&] { return !events("RequestsSucceed").empty(); }, 30s));
  EXPECT_NE(events("RequestsSucceed")[0].find("works again"), std::string::npos) << events("RequestsSucceed")[0];
}

// Missing labels of namespaces affect only pods whose affinity needs them; their event names the role.
TEST(Permissions, NamespacesAreMissingToThoseWhoSelectThem) {
  Guarded world;
  world.install_roles("list /namespaces ");
  world.start(every_mode());
  world.add_pods();
  Json choosy = pod("choosy", {from_template("gpu", "one-gpu")});
  choosy["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {{"topologyKey", "kubernetes.io/hostname"},
       {"labelSelector", {{"matchLabels", {{"app", "a"}}}}},
       {"namespaceSelector", {{"matchLabels", {{"team", "x"}}}}}}};
  world.cluster().api().create(choosy);
  EXPECT_TRUE(world.cluster().eventually([&] { return world.bound("templated") && world.bound("handmade"); }, 30s));
  const auto notified = [&] {
    for (const Json& event : world.cluster().api().list("Event"))
      if (event.dump().find("bind the ClusterRole dra-controller-manager:allocation-namespaces") != std::string::npos)
        return true;
    return false;
  };
  EXPECT_TRUE(world.cluster().eventually(notified, 30s));
  EXPECT_FALSE(world.bound("choosy"));
  world.install_roles();
  EXPECT_TRUE(world.cluster().eventually([&] { return world.bound("choosy"); }, 180s));
}

// Each storage kind, removed in turn: pods with a PersistentVolumeClaim wait and name the role, others do not.
TEST(Permissions, VolumesAreMissingToPodsWithVolumesAlone) {
  if (!Cluster({.nodes = 0}).plane().simulated()) GTEST_SKIP() << "an hour of real time";
  std::vector<std::string> permissions;
  for (const manager::PermissionRole& role : manager::permission_roles())
    if (role.name == manager::kVolumesRole)
      for (const client::Permission& p : permissions_of(role, every_mode()))
        permissions.push_back(rule_text(p.verb, p));
  EXPECT_EQ(permissions.size(), 14u) << "list and watch of seven kinds";
  for (size_t i = 0; i < permissions.size(); i += from_environment("DRA_PERMISSION_STEP", 1)) {
    const std::string& permission = permissions[i];
    SCOPED_TRACE(permission);
    Guarded world;
    world.install_roles(permission);
    world.start(every_mode());
    world.add_pods();
    Json user = pod("user", {from_template("gpu", "one-gpu")});
    user["spec"]["volumes"] = {{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}};
    world.cluster().api().create(user);
    EXPECT_TRUE(world.cluster().eventually([&] { return world.bound("templated") && world.bound("handmade"); }, 30s));
    const auto said = [&](const std::string& words) {
      for (const Json& event : world.cluster().api().list("Event"))
        if (event.dump().find(words) != std::string::npos) return true;
      return false;
    };
    EXPECT_TRUE(world.cluster().eventually(
        [&] { return said("bind the ClusterRole dra-controller-manager:allocation-volumes"); }, 30s));
    EXPECT_FALSE(world.bound("user"));
    // When it is granted later, the reason is the volume's own.
    world.install_roles();
    EXPECT_TRUE(world.cluster().eventually([&] { return said("\\\"data\\\" not found"); }, 180s));
  }
}

TEST(Permissions, AServerThatAnswersNoReviewsIsTrusted) {
  Guarded world;
  world.install_roles();
  const std::string binding = std::string(kRbac) + "/clusterrolebindings/system:basic-user";
  Json removed = world.cluster().api().get(binding);
  world.cluster().api().remove(binding);
  world.start(every_mode());
  world.add_pods();
  EXPECT_TRUE(world.cluster().eventually([&] { return world.bound("templated") && world.bound("handmade"); }, 30s));
  EXPECT_TRUE(world.permissions_check().ok);
  EXPECT_EQ(world.cluster().verdict(), "");
  // A server that outlives this test gets it back.
  for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    removed["metadata"].erase(field);
  EXPECT_TRUE(world.cluster().api().call("POST", std::string(kRbac) + "/clusterrolebindings", removed.dump()).ok());
}

}  // namespace dra::integration::permissions_test
