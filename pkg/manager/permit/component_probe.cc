#include "pkg/manager/permit/component_probe.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "client/election/lease_record.h"
#include "pkg/base/strings.h"
#include "pkg/base/timestamp.h"
#include "pkg/log/log.h"

namespace dra::manager {

namespace {

constexpr int kMissedRenewals = 4;

bool binds_default_scheduler(const ManagerOptions& options) {
  const auto& names = options.settings.scheduler_names;
  return options.settings.scheduling == reconcile::Scheduling::kBind &&
         std::find(names.begin(), names.end(), "default-scheduler") != names.end();
}

}  // namespace

client::ObjectPath component_lease(const std::string& component) {
  static const client::Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
  return {kLeases, "kube-system", component, ""};
}

ComponentPresence presence_of(const Result<std::string>& lease, WallTime now) {
  if (!lease) return lease.error().http_status() == 404 ? ComponentPresence::kAbsent : ComponentPresence::kUnknown;
  const auto record = client::parse_lease(*lease);
  Timestamp renewed;
  if (!record || !parse_rfc3339(record->renew_time, renewed)) return ComponentPresence::kUnknown;
  const Duration patience = std::chrono::seconds(std::max(1, record->duration_seconds)) * kMissedRenewals;
  return !record->holder.empty() && now - renewed < patience ? ComponentPresence::kPresent : ComponentPresence::kAbsent;
}

std::vector<std::string> advice(const ControlPlane& found, const ManagerOptions& options) {
  std::vector<std::string> out;
  const bool own = options.settings.claim_templates == ClaimTemplates::kOwn;
  if (!own && found.controller_manager == ComponentPresence::kAbsent)
    out.emplace_back(
        "kube-controller-manager is not seen (no fresh lease kube-system/kube-controller-manager): with "
        "--claim-templates=observe nobody makes claims from templates; --claim-templates=own does");
  if (options.settings.device_taint_eviction == DeviceTaintEviction::kOwn &&
      found.controller_manager == ComponentPresence::kPresent)
    out.emplace_back(
        "kube-controller-manager runs: with --device-taint-eviction=own its device-taint-eviction-controller must be "
        "off (--controllers=*,-device-taint-eviction-controller)");
  if (binds_default_scheduler(options) && found.scheduler == ComponentPresence::kPresent)
    out.emplace_back(
        "kube-scheduler runs: no other scheduler may serve the names in --scheduler-names, and default-scheduler is "
        "among them; leave it out unless kube-scheduler's profiles have another name");
  if (options.settings.scheduling == reconcile::Scheduling::kGate && found.scheduler == ComponentPresence::kAbsent)
    out.emplace_back(
        "kube-scheduler is not seen (no fresh lease kube-system/kube-scheduler): with --scheduling=gate nobody binds "
        "the pods whose gate is lifted; --scheduling=bind does");
  return out;
}

void probe_components(client::RestClient& client, const Clock& clock, const ManagerOptions& options,
                      std::vector<Handle>& calls) {
  struct Search {
    ControlPlane found;
    int left = 2;
  };
  auto search = std::make_shared<Search>();
  const auto look = [&](const char* name, ComponentPresence ControlPlane::*member) {
    calls.push_back(client.get(component_lease(name), [=, &clock, &options](Result<std::string> lease) {
      search->found.*member = presence_of(lease, clock.wall_now());
      if (--search->left > 0) return;
      for (const std::string& text : advice(search->found, options)) log::info(text);
    }));
  };
  look("kube-controller-manager", &ControlPlane::controller_manager);
  look("kube-scheduler", &ControlPlane::scheduler);
}

}  // namespace dra::manager
