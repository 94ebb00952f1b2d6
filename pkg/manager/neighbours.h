// Neighbours: what else runs in the cluster, as far as it concerns the chosen modes. kube-controller-manager and
// kube-scheduler are known by their leases in kube-system; which of their controllers are on cannot be read from there,
// so this only advises.
//
// advice() is pure; look() belongs to the reactor's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/rest/rest_client.h"
#include "pkg/base/clock.h"
#include "pkg/manager/manager.h"

namespace dra::manager {

enum class Neighbour { kUnknown, kAbsent, kPresent };

// From the answer to GET of a component's lease: held and renewed within four of its durations means present.
Neighbour presence_of(const Result<std::string>& lease, WallTime now);

// Where the lease of a component of the control plane is: in kube-system.
client::ObjectPath component_lease(const std::string& component);

struct Neighbours {
  Neighbour controller_manager = Neighbour::kUnknown;
  Neighbour scheduler = Neighbour::kUnknown;
};
// What the operator has to know about modes that do not fit; one sentence each.
std::vector<std::string> advice(const Neighbours& found, const ManagerOptions& options);

// Asks for both leases, and logs what comes of it. The handles live in `calls`.
void look_at_neighbours(client::RestClient& client, const Clock& clock, const ManagerOptions& options,
                        std::vector<Handle>& calls);

}  // namespace dra::manager
