// Controller: how a controller describes itself. From this description alone the manager creates and runs it and asks
// for its permissions; the flags, the roles in charts/ and the docs are generated from it or compared with it by tests.
//
// A controller is a folder of controllers/ with a function `const reconcile::Controller& describe()` in its namespace,
// and one line in controllers/list.inc (docs/contributor/a-new-controller.md). Plain data; safe from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/reconcile/key.h"
#include "pkg/reconcile/parts.h"
#include "pkg/reconcile/settings.h"

namespace dra::inventory {
class Inventory;
}
namespace dra::allocator {
class Allocator;
}
namespace dra::nodes {
class NodeChooser;
}

namespace dra::reconcile {

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

// A command line flag of one controller: "--name=value". Every other value than one of its words is refused.
struct Flag {
  std::string_view name;           // without dashes
  std::string_view default_value;  // one of the words
  std::string_view help;
  std::vector<std::string_view> words{kSwitchWords.begin(), kSwitchWords.end()};
};

// What a controller may keep a reference to. All outlive it.
struct Tools {
  inventory::Inventory& inventory;
  allocator::Allocator& allocator;
  nodes::NodeChooser& nodes;
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
  Parts (*make)(const Settings&, const Tools&) = nullptr;
};

}  // namespace dra::reconcile
