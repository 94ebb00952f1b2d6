// Rollout: a new pod of a Deployment that waits for devices which older pods of the same Deployment hold. With fewer
// than four replicas, the default maxUnavailable of 25% is rounded down to none, so that no older pod leaves before a
// new one runs: the update never ends. Pure over Objects.
#pragma once

#include <optional>
#include <string>

#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct BlockedRollout {
  std::string deployment;  // "ml/serve"
  std::string waiting;     // the key of a pod of the newer ReplicaSet
  std::string holder;      // the key of an older pod that would make way
  bool all = false;        // only all older pods together would
};

// Whether the pod, which waits, would fit without an older pod of its Deployment, or without all of them. Decides at
// most twice. Nothing for pods that are not a Deployment's, and where no older pod holds devices.
std::optional<BlockedRollout> blocked_rollout(const Objects& objects, const StateOptions& options,
                                              const api::Pod& waiting);

// "older pods of Deployment ml/serve hold what its new pod ml/serve-2-x waits for", and what lets it proceed.
std::string words_of(const BlockedRollout& blocked);
std::string remedy_of(const BlockedRollout& blocked);

// The name of the Deployment of a pod, by its ReplicaSet, whose name is the Deployment's with a hash; empty: of none.
std::string deployment_of(const api::Pod& pod);

}  // namespace dra::inspect
