// What is kept of the parts of a pod whose size only the API server's limit of an object bounds: scheduling rules,
// labels, and the lists of containers, volumes and claims.
//
// Every node is compared with every rule of a pod, so a pod with thousands of rules would delay the decisions of all
// other pods by a second; and all of it takes memory for every pod of the cluster. A pod beyond a limit is refused with
// a reason that says what is too much. Such a pod may run nevertheless, bound by others: then what it takes of its node
// is kept exactly, and rules of other pods treat its labels as unknown (pkg/placement/pod_counts.h).
#pragma once

#include <cstddef>

#include "pkg/api/core.h"
#include "pkg/base/error.h"

namespace dra::api {

// A value in a list counts as one part, and takes some 40 bytes. A pod may name 2,000 nodes by names of 30 letters.
inline constexpr size_t kMaxSchedulingParts = 4096;
// A node selector term, a requirement, a label with its value, a toleration.
inline constexpr size_t kPartsOfAnEntry = 4;
// One term of pod affinity or one spread constraint: each is compared with groups of pods on each node.
inline constexpr size_t kPartsOfAPodTerm = 16;
// So many bytes of text count as one more part.
inline constexpr size_t kBytesOfAPart = 16;

inline constexpr size_t kMaxLabels = 128;
inline constexpr size_t kMaxLabelBytes = size_t{16} << 10;

// Memory for containers, volumes, resourceClaims, gates and other lists; 64 KiB are about 150 containers.
inline constexpr size_t kMaxListBytes = size_t{64} << 10;
// What is kept of a pod with more: resource names (those without a domain first), host ports, volumes and claims.
inline constexpr size_t kMaxResourceNames = 64;
inline constexpr size_t kMaxKeptEntries = 128;
// And of claims that it names, while it has no node or has ended: it is refused, and holds nothing. Of entries with
// templates as many as of others: whoever places it needs all of their claims.
inline constexpr size_t kMaxClaimsOfRefused = 8;
// Longer references of images are cut: no node lists such a name.
inline constexpr size_t kMaxImageText = 1024;

// The selector of a Service or workload that has more labels than a pod may have matches no pod whose labels are kept,
// so it is dropped: it selects nothing. One of a PersistentVolumeClaim, with more parts than the rules of a pod may
// have, is replaced by one that matches no volume.
void drop_beyond_bounds(StringMap& selector);
void drop_beyond_bounds(std::optional<LabelSelector>& selector);

// Counts the rules of the pod as it was decoded, even if drop_beyond_bounds() has cleared them.
size_t scheduling_parts(const Pod& pod);
// Clears what is above a limit, and records how much it was. Of the containers of a bound pod one container and one
// sidecar remain, which together request what all containers did.
void drop_beyond_bounds(Pod& pod);
// Entries of spec.resourceClaims may be missing: the pod may use claims of its namespace that it does not name here.
bool may_have_more_claims(const Pod& pod);
// Fails with kResourceExhausted, the number and the limit, if the pod is above a limit.
Result<void> check_bounds(const Pod& pod);

}  // namespace dra::api
