// taint: DeviceTaintRules for devices of a node, after a preview of their effect. Pure; the program writes
// them.
//
// Kubernetes taints only the device that a rule selects by name. So a taint of a GPU leaves its partitions usable, and
// the broken card in use. Here a taint of one device is a rule for it and one for each device that draws on the same
// silicon (silicon.h), each with the label kTaintedWith, by which untaint takes them away together.
//
// Rules (resource.k8s.io/v1beta2 in 1.36): kube-scheduler 1.36.0 to 1.36.2 with its gate on ignores them and panics at
// the next new slice (upstream issue 139651, fixed by 139681 after 1.36.2). Its gates cannot be read from outside, so
// rules are refused beside a kube-scheduler of such a version.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/verbs/whatif.h"

namespace dra::inspect {

struct TaintQuestion {
  std::string target;  // "NODE" or "NODE/DEVICE"
  bool all = false;    // instead of a target: every device of the cluster
  api::DeviceTaint taint;
  uint32_t max_evictions = 0;
  // Whether a kube-scheduler leads: the holder of its Lease; nullopt: unknown.
  std::optional<bool> scheduler_runs;
  bool scheduler_is_safe = false;  // the user says that its gate DRADeviceTaintRules is off
  bool alone = false;              // the device of the target alone, not what draws on the same silicon
};

// The label of rules for devices on the same silicon as the tainted one: its name.
inline constexpr std::string_view kTaintedWith = "dra-controller-manager/tainted-with";

struct TaintPlan {
  std::vector<std::string> rules;  // JSON of the objects to create, with their names
  std::vector<std::string> names;
  std::set<std::string> there;        // of the names: existing rules with equal contents
  std::vector<std::string> devices;   // driver/pool/device of the devices that get the taint; the target's first
  std::string tainted_with;           // not empty: the device that the others share silicon with
  std::vector<PodFate> evicted;       // NoExecute: pods that would be evicted
  std::vector<std::string> honoured;  // the components here that honour the rule
  std::string refusal;                // not empty: nothing may be written
};
// Errors: nothing is published under the target's name.
Result<TaintPlan> plan_taint(const Objects& objects, const TaintQuestion& question, const StateOptions& options);

// Names of rules that give exactly these devices a taint with the key (and the effect, if given), and of those that
// were written with them for devices on the same silicon. No target: those whose selector is empty.
std::vector<std::string> rules_to_remove(const Objects& objects, const std::optional<std::string>& target,
                                         const std::string& key, const std::string& effect);

Answer taint_answer(const TaintPlan& plan, bool written);

}  // namespace dra::inspect
