// Owners of pods, as users name them: "deploy/web", "sts/db", "jobset/train", "rayclusters.ray.io/a". Pure.
//
// Owners are not read. A pod names its owners itself (metadata.ownerReferences), so any kind works. Where the owner
// made another object that made the pod, its name follows from that one's (a Deployment, a CronJob), or a label of the
// pod has it (a JobSet, a LeaderWorkerSet).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

// The kind in lower case: "deploy", "Deployments", "deployments.apps" -> "deployment". Short names are kubectl's. A
// kind that is not known here stays, in lower case and without its API group.
std::string owner_kind(std::string_view word);

// Whether the word is a kind: one known here, or one that owns a pod.
bool names_a_kind(const Objects& objects, std::string_view word);

// Pods that have not ended first, and else in the order of their names. Empty: the owner has none.
std::vector<const api::Pod*> pods_of_owner(const Objects& objects, const std::string& ns, const std::string& kind,
                                           const std::string& name);

// The error if there is none: the kind is a misspelt one, or the owner has no pods; it names owners that have some.
Error why_no_owner(const Objects& objects, const std::string& ns, const std::string& kind, const std::string& name);

}  // namespace dra::inspect
