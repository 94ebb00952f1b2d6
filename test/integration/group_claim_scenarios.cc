#include "test/integration/group_claim_scenarios.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/model/release.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/proof.h"
#include "test/integration/objects.h"

namespace dra::integration {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGroups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups";

// The API server of this process keeps spec.resourceClaims of PodGroups.
class GroupClaimsServed {
 public:
  GroupClaimsServed() { serve("DRAWorkloadResourceClaims=true"); }
  ~GroupClaimsServed() { serve(""); }
  GroupClaimsServed(const GroupClaimsServed&) = delete;
  GroupClaimsServed& operator=(const GroupClaimsServed&) = delete;

 private:
  static void serve(const char* gates) {
    if (!apiserver::serve_release("", gates)) throw std::runtime_error(std::string("not a gate: ") + gates);
  }
};

void create_group(Stage& s, const std::string& name, const Json& policy) {
  const Json made{
      {"apiVersion", "scheduling.k8s.io/v1alpha2"},
      {"kind", "PodGroup"},
      {"metadata", {{"name", name}}},
      {"spec",
       {{"schedulingPolicy", policy}, {"resourceClaims", {{{"name", "gpu"}, {"resourceClaimName", "of-" + name}}}}}}};
  const Answer answer = s.api().call("POST", kGroups, made.dump());
  if (answer.status != 201) throw std::runtime_error(answer.body);
}

// kube-controller-manager, once the PodGroup is gone: it takes the PodGroup out of the reservations of its claim, and
// that frees the claim.
void free_claim_of(Stage& s, const std::string& group) {
  const std::string claim = Api::path("ResourceClaim", "of-" + group);
  s.api().merge(claim + "/status", {{"status", {{"reservedFor", nullptr}, {"allocation", nullptr}}}});
  s.api().merge(claim, {{"metadata", {{"finalizers", nullptr}}}});
}

// It looks again at each change: a manager whose watches are silent, for 90 s at most, may still place members that are
// gone.
void end_groups(Stage& s, const std::vector<std::string>& groups) {
  for (const std::string& group : groups) s.api().call("DELETE", kGroups + ("/" + group));
  constexpr int kQuiet = 50, kMost = 500;  // times two seconds
  int quiet = 0;
  for (int i = 0; i < kMost && quiet < kQuiet; ++i, ++quiet) {
    for (const std::string& group : groups) {
      const auto claim = s.watchdog().claim("default/of-" + group);
      if (!claim || (!claim->status.allocation && claim->status.reserved_for.empty())) continue;
      free_claim_of(s, group);
      quiet = 0;
    }
    s.cluster().pass(2s);
  }
}

bool reserved_for_group(Stage& s, const std::string& name) {
  const auto claim = s.watchdog().claim("default/of-" + name);
  return claim && claim->status.reserved_for.size() == 1 &&
         protocol::is_group_reference(claim->status.reserved_for.front()) && protocol::is_proven(*claim);
}

// A gang and a group without a minimum, each on one claim; members that come later; a node that is closed between the
// proof and the start of the gang.
void play(Stage& s, const PodOptions& options) {
  const GroupClaimsServed served;
  for (const char* group : {"gang", "basic"}) s.api().create(claim(std::string("of-") + group));
  create_group(s, "gang", {{"gang", {{"minCount", 3}}}});
  create_group(s, "basic", {{"basic", Json::object()}});
  s.delay_claims(400ms);
  s.begin();
  std::vector<std::string> pods;
  const auto add = [&](const std::string& name, const std::string& group) {
    Json made = pod(name, {from_claim("gpu", "of-" + group)}, options);
    made["spec"]["schedulingGroup"] = {{"podGroupName", group}};
    s.api().create(made);
    pods.push_back(name);
  };
  for (const char* name : {"g0", "g1", "g2"}) add(name, "gang");
  s.await("the gang's claim allocated", [&] { return s.watchdog().held_devices() > 0; });
  const std::string node = [&] {
    const auto held = s.watchdog().claim("default/of-gang");
    return held && held->status.allocation ? held->status.allocation->results.front().pool : std::string("n0");
  }();
  s.api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", true}}}});
  s.cluster().pass(2s);
  s.api().merge(Api::path("Node", node), {{"spec", {{"unschedulable", nullptr}}}});
  for (const char* name : {"b0", "b1"}) add(name, "basic");
  s.await("all bound", [&] { return s.all_bound(pods); });
  for (const char* group : {"gang", "basic"})
    s.await(std::string(group) + "'s claim reserved for it alone", [&] { return reserved_for_group(s, group); });
  for (const char* name : {"g3", "b2"}) add(name, name[0] == 'g' ? "gang" : "basic");
  s.await("the later ones bound", [&] { return s.all_bound(pods); });
  s.check();
  for (const std::string& name : pods) s.api().remove(Api::path("Pod", name));
  s.await("the pods gone", [&] { return s.watchdog().pods() == 0; });
  s.cluster().pass(2s);
  for (const char* group : {"gang", "basic"})
    if (!reserved_for_group(s, group)) throw std::runtime_error(std::string(group) + ": freed before its PodGroup");
  end_groups(s, {"gang", "basic"});
  s.end({}, {"default/of-gang", "default/of-basic"});
}

}  // namespace

std::vector<Scenario> group_claim_scenarios() {
  ClusterOptions small;
  small.embedded = small.pod_groups = true;
  small.components.scheduler_allocates = false;
  PodOptions ours;
  ours.gated = false;
  ours.scheduler = "dra";
  const auto bind_mode = [](ProcessOptions& process) {
    process.manager.settings.scheduling = reconcile::Scheduling::kBind;
    process.manager.settings.scheduler_names = {"dra"};
  };
  return {{"groupclaims", small, nullptr, [](Stage& s) { play(s, {}); }},
          {"boundgroupclaims", small, bind_mode, [ours](Stage& s) { play(s, ours); }}};
}

}  // namespace dra::integration
