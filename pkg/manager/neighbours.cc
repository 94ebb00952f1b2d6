#include "pkg/manager/neighbours.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/election/lease_record.h"
#include "pkg/base/strings.h"
#include "pkg/log/log.h"

namespace dra::manager {

namespace {

constexpr int kMissedRenewals = 4;

struct Gate {
  const char* name;
  bool inventory::Features::*member;
  int on_since;  // minor version of Kubernetes; 0: off in all that are known
};
constexpr Gate kGates[] = {{"DRAAdminAccess", &inventory::Features::admin_access, 34},
                           {"DRAPrioritizedList", &inventory::Features::prioritized_list, 34},
                           {"DRADeviceTaints", &inventory::Features::device_taints, 36},
                           {"DRAPartitionableDevices", &inventory::Features::partitionable, 36},
                           {"DRAConsumableCapacity", &inventory::Features::consumable, 36},
                           {"DRADeviceBindingConditions", &inventory::Features::binding_conditions, 36},
                           {"DRAListTypeAttributes", &inventory::Features::list_attributes, 0}};

// "36" of {"major":"1","minor":"36+"}; 0 when there is none.
int minor_version(std::string_view version_json) {
  const auto document = nlohmann::json::parse(version_json, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("minor") || !document["minor"].is_string()) return 0;
  int minor = 0;
  for (char c : document["minor"].get<std::string>()) {
    if (c < '0' || c > '9' || minor > 1000) break;
    minor = minor * 10 + (c - '0');
  }
  return minor;
}

bool binds_default_scheduler(const ManagerOptions& options) {
  const auto& names = options.allocation.scheduler_names;
  return options.allocation.mode == allocation::Mode::kBind &&
         std::find(names.begin(), names.end(), "default-scheduler") != names.end();
}

}  // namespace

client::ObjectPath component_lease(const std::string& component) {
  static const client::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
  return {kLeases, "kube-system", component, ""};
}

Neighbour presence_of(const Result<std::string>& lease, WallTime now) {
  if (!lease) return lease.error().http_status() == 404 ? Neighbour::kAbsent : Neighbour::kUnknown;
  const auto record = client::parse_lease(*lease);
  WallTime renewed;
  if (!record || !parse_rfc3339(record->renew_time, renewed)) return Neighbour::kUnknown;
  const Duration patience = std::chrono::seconds(std::max(1, record->duration_seconds)) * kMissedRenewals;
  return !record->holder.empty() && now - renewed < patience ? Neighbour::kPresent : Neighbour::kAbsent;
}

std::vector<std::string> advice(const Neighbours& found, const ManagerOptions& options) {
  std::vector<std::string> out;
  const bool own = options.claim_templates == ClaimTemplates::kOwn;
  if (!own && found.controller_manager == Neighbour::kAbsent)
    out.emplace_back(
        "kube-controller-manager is not seen (no fresh lease kube-system/kube-controller-manager): with "
        "--claim-templates=observe nobody makes claims from templates; --claim-templates=own does");
  if (options.device_taint_eviction == DeviceTaintEviction::kOwn && found.controller_manager == Neighbour::kPresent)
    out.emplace_back(
        "kube-controller-manager runs: with --device-taint-eviction=own its device-taint-eviction-controller must be "
        "off (--controllers=*,-device-taint-eviction-controller)");
  if (binds_default_scheduler(options) && found.scheduler == Neighbour::kPresent)
    out.emplace_back(
        "kube-scheduler runs: no other scheduler may serve the names in --scheduler-names, and default-scheduler is "
        "among them; leave it out unless kube-scheduler's profiles have another name");
  if (options.allocation.mode == allocation::Mode::kGate && found.scheduler == Neighbour::kAbsent)
    out.emplace_back(
        "kube-scheduler is not seen (no fresh lease kube-system/kube-scheduler): with --scheduling=gate nobody binds "
        "the pods whose gate is lifted; --scheduling=bind does");
  return out;
}

std::string gate_advice(std::string_view version_json, const inventory::Features& features) {
  const int minor = minor_version(version_json);
  if (minor == 0) return "";
  std::vector<std::string> differing;
  for (const Gate& gate : kGates) {
    const bool on_there = gate.on_since != 0 && minor >= gate.on_since;
    if (features.*gate.member != on_there)
      differing.push_back(std::string(gate.name) + (on_there ? "=true" : "=false"));
  }
  if (differing.empty()) return "";
  return "Kubernetes 1." + std::to_string(minor) +
         " has other feature gates by default than this manager; unless the " +
         "cluster sets them, start with --feature-gates=" + join(differing, ",");
}

void look_at_neighbours(client::RestClient& client, const Clock& clock, const ManagerOptions& options,
                        std::vector<Handle>& calls) {
  struct Search {
    Neighbours found;
    int left = 2;
  };
  auto search = std::make_shared<Search>();
  const auto look = [&](const char* name, Neighbour Neighbours::*member) {
    calls.push_back(client.get(component_lease(name), [=, &clock, &options](Result<std::string> lease) {
      search->found.*member = presence_of(lease, clock.wall_now());
      if (--search->left > 0) return;
      for (const std::string& text : advice(search->found, options)) log::info(text);
    }));
  };
  look("kube-controller-manager", &Neighbours::controller_manager);
  look("kube-scheduler", &Neighbours::scheduler);
  calls.push_back(client.get_raw("/version", [&options](Result<std::string> version) {
    const std::string text = version ? gate_advice(*version, options.features) : "";
    if (!text.empty()) log::info(text);
  }));
}

}  // namespace dra::manager
