#include "pkg/inspect/verbs/taint.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/api/encode.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/state/unseen.h"

namespace dra::inspect {
namespace {

// "v1.36.2" -> 36 and 2; nullopt for an unreadable version.
std::optional<std::pair<int, int>> minor_and_patch(const std::string& version) {
  int minor = 0, patch = 0;
  if (std::sscanf(version.c_str(), "v1.%d.%d", &minor, &patch) != 2) return std::nullopt;
  return std::pair{minor, patch};
}

std::string rule_name(const std::string& driver, const std::string& pool, const std::string& device,
                      const api::DeviceTaint& taint) {
  // One rule name per device, key and effect: a second apply finds the first one's rule.
  uint64_t hash = 14695981039346656037u;
  for (const std::string* part : {&driver, &pool, &device, &taint.key, &taint.effect}) {
    for (const char c : *part) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    hash = (hash ^ 0xff) * 1099511628211u;
  }
  char text[64];
  std::snprintf(text, sizeof text, "kubectl-dra-%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Aim {
  std::string driver, pool, device;  // empty: any
  std::string with;                  // not empty: the device that this one shares silicon with
};

// The pools of the node and, if named, the device. An empty name matches nothing: "$NODE" may be unset.
std::vector<Aim> aims_at(const Objects& objects, const std::string& target) {
  if (target.empty()) return {};
  const size_t slash = target.find('/');
  const std::string node = target.substr(0, slash), device = slash == std::string::npos ? "" : target.substr(slash + 1);
  std::set<std::tuple<std::string, std::string>> pools;
  for (const auto& [name, slice] : objects.slices) {
    if (slice->node_name != node) continue;
    for (const api::Device& one : slice->devices)
      if (device.empty() || one.name == device) pools.emplace(slice->driver, slice->pool.name);
  }
  std::vector<Aim> aims;
  for (const auto& [driver, pool] : pools) aims.push_back({driver, pool, device, ""});
  return aims;
}

// What draws on the same silicon as the devices that are aimed at.
void add_silicon(const Objects& objects, std::vector<Aim>& aims) {
  const size_t named = aims.size();
  for (size_t i = 0; i < named; ++i) {
    const Aim aim = aims[i];
    if (aim.device.empty()) continue;
    for (std::string& other : on_same_silicon(objects, aim.driver, aim.pool, aim.device))
      aims.push_back({aim.driver, aim.pool, std::move(other), aim.device});
  }
}

void add_rule(TaintPlan& plan, const Aim& aim, const api::DeviceTaint& taint, const std::string& version) {
  nlohmann::json selector = nlohmann::json::object();
  if (!aim.driver.empty()) selector = {{"driver", aim.driver}, {"pool", aim.pool}};
  if (!aim.device.empty()) selector["device"] = aim.device;
  nlohmann::json of{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) of["value"] = taint.value;
  const std::string name = rule_name(aim.driver, aim.pool, aim.device, taint);
  nlohmann::json metadata{{"name", name}};
  if (!aim.with.empty()) metadata["labels"][std::string(kTaintedWith)] = aim.with;
  const nlohmann::json rule{{"apiVersion", "resource.k8s.io/" + version},
                            {"kind", "DeviceTaintRule"},
                            {"metadata", metadata},
                            {"spec", {{"deviceSelector", selector}, {"taint", of}}}};
  plan.rules.push_back(rule.dump());
  plan.names.push_back(name);
}

// The devices that get the taint, in the order of the aims.
void list_devices(const Objects& objects, const std::vector<Aim>& aims, TaintPlan& plan) {
  for (const Aim& aim : aims)
    for (const auto& [name, slice] : objects.slices) {
      if (!aim.driver.empty() && (aim.driver != slice->driver || aim.pool != slice->pool.name)) continue;
      for (const api::Device& device : slice->devices)
        if (aim.device.empty() || aim.device == device.name)
          plan.devices.push_back(slice->driver + "/" + slice->pool.name + "/" + device.name);
    }
}

std::string refusal_of(const Objects& objects, const TaintQuestion& question, const TaintPlan& plan) {
  if (!objects.taint_rules_served)
    return "the server does not serve DeviceTaintRule; Kubernetes 1.37 and newer do; 1.36 needs "
           "--runtime-config=resource.k8s.io/v1beta2=true and the gate DRADeviceTaintRules";
  const auto version = minor_and_patch(objects.server_version);
  const bool risky = !version || (version->first == 36 && version->second <= 2);
  if (risky && question.scheduler_runs.value_or(true) && !question.scheduler_is_safe)
    return "kube-scheduler of " + (objects.server_version.empty() ? "an unknown version" : objects.server_version) +
           (question.scheduler_runs ? " runs here" : " may run here (its Lease cannot be read)") +
           ": up to 1.36.2, with its gate DRADeviceTaintRules on, it ignores rules and panics at the next new slice "
           "(upstream 139651); if that gate is off there, say --scheduler-gate-is-off";
  for (const std::string& name : plan.names)
    if (const auto rule = objects.taint_rules.find(name);
        rule != objects.taint_rules.end() && rule->second->taint.value != question.taint.value)
      return "devicetaintrule/" + name + " gives this taint the value " + quote(rule->second->taint.value) +
             " already; kubectl dra untaint removes it";
  if (plan.evicted.size() > question.max_evictions)
    return counted(plan.evicted.size(), "pod") + " would be evicted; allow that with --max-evictions " +
           std::to_string(plan.evicted.size());
  return "";
}

}  // namespace

Result<TaintPlan> plan_taint(const Objects& objects, const TaintQuestion& question, const StateOptions& options) {
  TaintPlan plan;
  std::vector<Aim> aims = question.all ? std::vector<Aim>{Aim{}} : aims_at(objects, question.target);
  if (question.target.ends_with('/'))
    return fail(Code::kInvalidArgument, quote(question.target) + " names no device; NODE alone is all of its devices");
  if (aims.empty() && objects.hides("resourceslices"))
    return fail(not_known(objects, "resourceslices", "", "device " + quote(question.target)));
  if (aims.empty())
    return fail(Code::kNotFound,
                "no device " + quote(question.target) + " is published; kubectl dra who NODE lists them");
  if (!question.alone) add_silicon(objects, aims);
  for (const Aim& aim : aims) {
    add_rule(plan, aim, question.taint, objects.taint_rule_version);
    if (!aim.with.empty()) plan.tainted_with = aim.with;
  }
  for (const std::string& name : plan.names)
    if (objects.taint_rules.contains(name)) plan.there.insert(name);
  list_devices(objects, aims, plan);
  if (question.taint.effect == "NoExecute") {
    auto fates = whatif(
        objects, {Change::Kind::kTaint, question.target, question.taint, 1, question.all, question.alone}, options, "");
    if (!fates) return fail(fates.error());
    for (PodFate& fate : *fates)
      if (is_of_leaving(fate.fate)) plan.evicted.push_back(std::move(fate));
  }
  plan.honoured.push_back(
      "dra-controller-manager: new allocations avoid the device" +
      std::string(question.taint.effect == "NoExecute" ? "; with --device-taint-eviction=own it evicts" : ""));
  if (question.taint.effect == "NoExecute")
    plan.honoured.push_back("kube-controller-manager: evicts, with its gate DRADeviceTaintRules on");
  plan.honoured.push_back(
      "kube-scheduler: from 1.36.3 on; an older one ignores the rule, so its pods may still get the device");
  plan.refusal = refusal_of(objects, question, plan);
  return plan;
}

std::vector<std::string> rules_to_remove(const Objects& objects, const std::optional<std::string>& target,
                                         const std::string& key, const std::string& effect) {
  const std::vector<Aim> aims = target ? aims_at(objects, *target) : std::vector<Aim>{Aim{}};
  std::vector<std::string> names;
  for (const auto& [name, rule] : objects.taint_rules)
    for (const Aim& aim : aims) {
      const auto with = rule->metadata.labels.find(std::string(kTaintedWith));
      const bool together = !aim.device.empty() && with != rule->metadata.labels.end() && with->second == aim.device;
      const bool same = rule->has_selector && rule->driver.value_or("") == aim.driver &&
                        rule->pool.value_or("") == aim.pool && (together || rule->device.value_or("") == aim.device);
      if (same && rule->taint.key == key && (effect.empty() || rule->taint.effect == effect)) names.push_back(name);
    }
  return names;
}

Answer taint_answer(const TaintPlan& plan, bool written) {
  Answer answer{"DRATaint"};
  const bool several = !plan.tainted_with.empty() && plan.devices.size() > 1;
  Statement reach{"Devices", counted(plan.devices.size(), "device")};
  if (several)
    reach.message += ": " + plan.devices.front() + " and " + counted(plan.devices.size() - 1, "device") +
                     " on the same silicon" +
                     (plan.devices.size() <= 4 ? ": " + join({plan.devices.begin() + 1, plan.devices.end()}, ", ")
                                               : ", from " + plan.devices[1] + " to " + plan.devices.back());
  else if (plan.devices.size() <= 4)
    reach.message += ": " + join(plan.devices, ", ");
  reach.counts.emplace_back("devices", plan.devices.size());
  reach.names.emplace_back("devices", plan.devices);
  answer.say(std::move(reach));
  for (const std::string& who : plan.honoured) answer.say("HonouredBy", "honoured by " + who);
  Table table{"", "evicted", {{"POD", "pod"}, {"NODE", "node"}, {"THEN", "then"}}, {}};
  for (const PodFate& fate : plan.evicted)
    table.rows.push_back(
        {"pod/" + fate.pod.substr(fate.pod.find('/') + 1), {fate.pod, fate.before, std::string(fate_name(fate.fate))}});
  if (!plan.evicted.empty()) answer.lines.push_back("pods that would go:");
  answer.tables.push_back(std::move(table));
  if (!plan.refusal.empty()) {
    answer.say_after({"NothingWritten", "Nothing was written: " + plan.refusal});
    answer.status = Status::kNo;
    return answer;
  }
  for (const std::string& name : plan.names)
    answer.say_after({plan.there.contains(name) ? "RuleThere"
                      : written                 ? "RuleCreated"
                                                : "RuleWouldBeCreated",
                      plan.there.contains(name) ? "devicetaintrule/" + name + " is there already"
                      : written                 ? "created devicetaintrule/" + name
                                                : "would create devicetaintrule/" + name,
                      {"DeviceTaintRule", "", name}});
  if (several)
    answer.after.push_back("Those after the first have the label " + std::string(kTaintedWith) + "=" +
                           plan.tainted_with + ". kubectl dra untaint of " + plan.tainted_with +
                           " removes them all. Partitions that are published later are not tainted: kubectl dra "
                           "doctor names them.");
  return answer;
}

}  // namespace dra::inspect
