// Controller: how a controller describes itself. From this description alone the manager creates and runs it and asks
// for its permissions; the flags, the roles in charts/ and the docs are generated from it or compared with it by tests.
//
// A controller is a folder of controllers/ with a function `const reconcile::Controller& describe()` in its namespace,
// and one line in controllers/list.inc (docs/contributor/a-new-controller.md). Plain data; safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/reconcile/key.h"
#include "pkg/reconcile/reconciler.h"

namespace dra::inventory {
class Inventory;
}
namespace dra::allocator {
class Allocator;
}
namespace dra::allocation {
class NodeChooser;
}

namespace dra::reconcile {

enum class Scheduling {
  kObserve,  // explain only: no writes
  kGate,     // lift our scheduling gate
  kBind,     // and bind pods
};

// What the operator chose, as far as controllers need it.
struct Settings {
  std::vector<std::string> controllers;  // the chosen ones, by name
  Scheduling scheduling = Scheduling::kGate;
  std::vector<std::string> scheduler_names;
  bool release_gates = false;
  bool own_claim_templates = false;                       // kube-controller-manager's resourceclaim-controller is off
  bool own_taint_eviction = false;                        // its device-taint-eviction-controller is off
  double taint_eviction_rate = 0;                         // pods a second; 0: no limit
  uint64_t max_evictions_per_rule = 0;                    // a DeviceTaintRule beyond it waits for approval; 0: no limit
  bool device_taints = true;                              // the feature gate
  Duration gang_hold_timeout = std::chrono::seconds(30);  // --gang-hold-timeout
  Duration gang_starvation_after = std::chrono::minutes(5);  // --gang-starvation-after
  std::vector<std::string> topology_levels;                  // --topology-levels
  std::map<std::string, std::string> flags;                  // the controllers' own flags, by name: Controller::flags
};

// One permission and its verbs, as in a Kubernetes role.
struct PermissionRule {
  std::string group;     // "" is core
  std::string resource;  // with its subresource: "resourceclaims/status"
  std::vector<std::string> verbs;
  // Only this object; empty: every object. "$lease" represents the lease of the leader election.
  std::string name;
};

// A ClusterRole in charts/: "dra-controller-manager:<name>".
struct Role {
  std::string_view name;
  // What does not work without it, in words for the operator. Without it the controller stays off in any case.
  std::string_view without;
  // The controller watches the kinds that have the verb "watch" here.
  std::vector<PermissionRule> rules;
  bool (*needed)(const Settings&) = nullptr;      // null: always
  bool (*reads_only)(const Settings&) = nullptr;  // true: verbs that write are not requested
};

// The words of a flag that switches something on or off.
inline constexpr std::array<std::string_view, 4> kSwitchWords{"off", "on", "false", "true"};

// A command line flag of one controller: "--name=value". Every other value than one of its words is refused.
struct Flag {
  std::string_view name;           // without dashes
  std::string_view default_value;  // one of the words
  std::string_view help;
  std::vector<std::string_view> words{kSwitchWords.begin(), kSwitchWords.end()};
};

// Whether the switch of this name is on. What reads a switch (controller, roles, permissions) reads it here.
bool switched_on(const std::map<std::string, std::string>& flags, std::string_view name);
inline bool switched_on(const Settings& settings, std::string_view name) {
  return switched_on(settings.flags, name);
}

// What a controller may keep a reference to. All outlive it.
struct Tools {
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  allocation::NodeChooser& nodes;
};

struct Controller {
  std::string_view name;                  // of its folder, its queue, and in --controllers
  std::vector<std::string_view> aliases;  // other names for it in --controllers
  std::string_view does;                  // one sentence for --help and docs
  std::vector<Role> roles;
  std::vector<Flag> flags;
  // The controller does not run while an object of one of these kinds cannot be read.
  std::vector<Kind> must_read_all_of;
  bool (*runs)(const Settings&) = nullptr;  // whether it runs once chosen; null: always
  std::unique_ptr<Reconciler> (*make)(const Settings&, const Tools&) = nullptr;
};

}  // namespace dra::reconcile
