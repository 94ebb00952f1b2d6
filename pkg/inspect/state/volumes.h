// Volumes: whether a pod's volumes can be judged from what was read, and how placement gets them.
//
// The storage kinds are optional: a user who may not list them gets answers that leave volumes out and say so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/placement/storage_facts.h"

namespace dra::inspect {

// Whether this plural is a storage kind: claims, volumes, classes and what CSI drivers report.
bool is_of_storage(std::string_view plural);
// The pod uses PersistentVolumeClaims.
bool has_volume_claims(const api::Pod& pod);
void add_storage(const Objects& objects, placement::StorageFacts& facts);
// Why volumes are not judged: "persistentvolumes are not visible (you may not list them)"; empty: they are.
std::string why_volumes_are_not_judged(const Objects& objects);
// As above for a workload of a file, also if its claims do not exist yet.
std::string why_volumes_are_not_judged(const Objects& objects, const Manifest& manifest, const Workload& workload);
// The claims of the file that are not in the cluster, as the server would store them.
void add_volume_claims(Objects& objects, const Manifest& manifest);

// Why claims of the pod cannot be bound, if no node is to blame: "PersistentVolumeClaim data names StorageClass fast,
// which does not exist". One text per claim; none if volumes are not judged.
std::vector<std::string> trouble_of_volumes(const Objects& objects, const api::Pod& pod);

}  // namespace dra::inspect
