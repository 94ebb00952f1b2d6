// Component probe: looks for kube-controller-manager and kube-scheduler, as far
// as the chosen modes depend on them, by their leases in kube-system. A lease
// does not show which controllers of a component are on, so this only advises.
//
// advice() is pure; probe_components() belongs to the reactor's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/base/clock.h"
#include "pkg/manager/options.h"

namespace dra::manager {

enum class ComponentPresence { kUnknown, kAbsent, kPresent };

// From the answer to GET of a component's lease: present means held and renewed within four times its duration.
ComponentPresence presence_of(const Result<std::string>& lease, WallTime now);

// The path of the lease of a control-plane component, in kube-system.
client::ObjectPath component_lease(const std::string& component);

struct ControlPlane {
  ComponentPresence controller_manager = ComponentPresence::kUnknown;
  ComponentPresence scheduler = ComponentPresence::kUnknown;
};
// What the operator should know about modes that do not fit; one sentence each.
std::vector<std::string> advice(const ControlPlane& found, const ManagerOptions& options);

// Reads both leases and logs the advice. The handles live in `calls`.
void probe_components(client::RestClient& client, const Clock& clock, const ManagerOptions& options,
                      std::vector<Handle>& calls);

}  // namespace dra::manager
