// Scene: a World seen from one node, with every rule about one device or one request already evaluated, and conflict():
// whether a set of picks breaks a rule about several. Both the exhaustive search and the checker use it. Written to be
// checked by eye against the documented rules, not for speed.
//
// Sources of the rules: the API types' comments (resource.k8s.io/v1) and KEPs 4381, 4815, 4816, 4817, 5004, 5007, 5018,
// 5055, 5075, 5491.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "test/oracle/amount.h"
#include "test/oracle/selectors.h"
#include "test/oracle/silicon.h"
#include "test/oracle/world.h"

namespace dra::oracle {

using CounterKey = std::pair<std::string, std::string>;  // counter set, counter

// In front of what conflict() says of a derived attribute that fails: it ends the decision.
inline constexpr std::string_view kDerivedFails = "derived attribute fails: ";

struct ScenePool {
  std::string driver;
  std::string name;
  bool incomplete = false;                // some slices of its generation are missing
  bool invalid = false;                   // duplicate names or unknown counters
  bool conditional = false;               // a slice relevant to the node has a device with binding conditions
  std::map<CounterKey, Amount> counters;  // what current holders leave
  // The compatibility groups of each current holder, by counter set.
  std::map<std::string, std::vector<std::set<std::string>>> groups_in_use;
};

struct SceneDevice {
  DeviceName name;
  size_t pool = 0;
  const api::ResourceSlice* slice = nullptr;
  const api::Device* device = nullptr;
  bool shared = false;                     // allowMultipleAllocations
  bool held = false;                       // exclusively allocated to another claim
  bool shares_held = false;                // another claim holds a share: its counters are paid for
  std::map<std::string, Amount> consumed;  // of each capacity, by current shares
  std::string silicon;      // why nobody but adminAccess gets it: "plugin", or "NAME (VALUE)" of what is held
  std::set<size_t> rivals;  // devices that are the same silicon
};

// `exactly` of a request, or one alternative of firstAvailable.
struct SceneOption {
  size_t claim = 0;
  size_t request = 0;
  int alternative = -1;
  std::string result_name;  // "req" or "req/sub"
  const api::DeviceSubRequest* spec = nullptr;
  bool all = false;
  int64_t count = 1;               // for ExactCount
  std::vector<size_t> candidates;  // devices that pass selectors, gates and requested sizes, in pool order
  std::vector<bool> tolerated;     // by candidate position: every taint is tolerated
  bool exempt = false;             // neither excludes other names of its devices nor is excluded by them
  bool impossible = false;         // All while a pool is incomplete or invalid
};

struct SceneRequest {
  size_t claim = 0;
  size_t request = 0;
  std::vector<SceneOption> options;  // exactly one must be satisfied
};

struct Pick {
  const SceneOption* option = nullptr;
  size_t device = 0;
};

struct Scene {
  const World* world = nullptr;
  const api::Node* node = nullptr;
  std::vector<ScenePool> pools;
  std::vector<SceneDevice> devices;    // of usable pools, those that this node may use
  std::vector<SceneDevice> withheld;   // of the others: nobody gets them, who has them keeps what they publish
  std::vector<SceneRequest> requests;  // of all claims, in order
  // A problem that makes every decision an error: a class that does not exist, a selector of unknown form.
  std::string error;
  std::optional<SiliconOracle> silicon;
  // Some selector failed at run time on some device; that device counted as not matching.
  bool selector_errors = false;
};

Scene build_scene(const World& world, const api::Node& node, const SelectorJudge& judge = judge_selector);

// The rule that `picks` break, as a text; "" if they break none. A broken rule stays broken when picks are added. Does
// not check whether requests got enough devices.
std::string conflict(const Scene& scene, const std::vector<Pick>& picks);

// The amount of each of the device's capacities that `spec` takes; nullopt if it cannot be had whatever else is
// allocated (a capacity the device lacks, or a value above the largest admitted one).
// `either_name_of`: requests name capacities with or without this driver's domain; empty: as they are published.
std::optional<std::map<std::string, Amount>> amounts_taken(const api::DeviceSubRequest& spec, const api::Device& device,
                                                           const std::string& either_name_of = "");
std::optional<std::map<std::string, Amount>> amounts_taken(const World& world, const api::DeviceSubRequest& spec,
                                                           const SceneDevice& device);

bool is_list(const api::DeviceAttribute& attribute);
// An attribute by its fully qualified name: the exact key, or the bare id in the driver's own domain.
const api::DeviceAttribute* find_attribute(const SceneDevice& device, const std::string& name);

// Whether an expression of a request can be evaluated on the device: without its gate none can where there is a list.
bool is_readable(const World& world, const api::Device& device);

bool node_matches(const api::NodeSelector& selector, const api::Node& node);
bool tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint);

}  // namespace dra::oracle
