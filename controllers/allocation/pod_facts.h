// PodFacts: what the objects say about a pod that is not kNone to us: its state in the protocol (protocol.h), and its
// extended resources. A reconcile derives it first, and takes its steps with a context that refers to it
// (pod/context.h). Groups keep it from one reconcile to the next (kept/kept_members.h). A plain value; pure.
#pragma once

#include <optional>
#include <vector>

#include "controllers/allocation/options.h"
#include "controllers/allocation/protocol.h"
#include "pkg/api/core.h"
#include "pkg/protocol/extended.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

struct PodFacts {
  Role role = Role::kNone;
  std::vector<protocol::ExtendedResource> extended;  // that the pod requests and a DeviceClass provides
  PodState state;
  // Of `extended`: what the claim for it serves, and device plugins need not. None while there is no such claim.
  // Nothing (not even an empty list): no node is chosen for the pod by its extended resources.
  std::optional<std::vector<protocol::ExtendedResource>> claimed;
};

// Before an uninstall the gate is lifted in any case, with or without claims, devices and a node for the pod, once our
// allocations are proven or withdrawn.
bool is_releasing(Role role, const Options& options);
// Devices of a claim may serve the pod's extended resources: bind mode, now or once its gate is lifted.
bool is_served_by_claim(const api::Pod& pod, Role role, const std::vector<protocol::ExtendedResource>& extended,
                        const Options& options);

PodFacts derive_facts(const reconcile::View& view, const api::Pod& pod, const Options& options);

}  // namespace dra::allocation
