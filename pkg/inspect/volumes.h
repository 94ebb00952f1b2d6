// Volumes: whether those of a pod can be judged from what was read, and their place among placement's facts.
//
// The kinds of storage are optional: who may not list them gets answers that leave volumes out and say so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/manifest.h"
#include "pkg/inspect/objects.h"
#include "pkg/placement/storage_facts.h"

namespace dra::inspect {

// A kind by its plural: claims, volumes, classes and what CSI drivers report.
bool is_of_storage(std::string_view plural);
// The pod uses PersistentVolumeClaims.
bool has_volume_claims(const api::Pod& pod);
void add_storage(const Objects& objects, placement::StorageFacts& facts);
// Why volumes are not judged: "persistentvolumes are not visible (you may not list them)"; empty: they are.
std::string why_volumes_are_not_judged(const Objects& objects);
// The same of a workload of a file: also where its claims are still to be made.
std::string why_volumes_are_not_judged(const Objects& objects, const Manifest& manifest, const Workload& workload);
// The claims of the file that are not in the cluster, as the server would store them.
void add_volume_claims(Objects& objects, const Manifest& manifest);

// What keeps claims of the pod from being bound, where no node is to blame: "PersistentVolumeClaim data names
// StorageClass fast, which does not exist". One text a claim; none where volumes are not judged.
std::vector<std::string> trouble_of_volumes(const Objects& objects, const api::Pod& pod);

}  // namespace dra::inspect
