// ResourceQuota: counts what objects of a namespace use, and refuses objects that would exceed it.
//
//   if (auto ok = admit_by_quota(ctx, kind->info(), object); !ok) return fail_status(ok.error());
//
// Usage is counted from the stored objects at every question, so a new quota counts at once, and `status` is only a
// report for readers (pkg/apiserver/quota_keeper.h). As in the evaluators of 1.36, these count:
//   pods          pods, cpu, memory, ephemeral-storage, requests.*, limits.*, hugepages-*, extended resources
//   claims        <class>.deviceclass.resource.k8s.io/devices: exactCount its count, All 32, firstAvailable the largest
//                 alternative of each class; extended resource names of the class, less what the claim's own pod pays
//   any kind      count/<plural>.<group>, and the old names of core kinds
// Scopes: Terminating, NotTerminating, BestEffort, NotBestEffort and PriorityClass, for pods. Only creations are
// judged: the usage of a claim or pod does not grow later except by resizing, which this server does not offer.
//
// Source: the admission plug-in ResourceQuota and the evaluators of kubernetes 1.36 (quota/v1). Pure except for what
// the reader returns.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "pkg/api/quantity.h"
#include "pkg/apiserver/model/kind.h"

namespace dra::apiserver {

using QuotaUsage = std::map<std::string, api::Quantity>;  // by resource name, as in quotas

// What one object uses. `reader` finds the classes and pods behind claims.
QuotaUsage quota_usage(const ObjectReader& reader, const KindInfo& info, const Json& object);

// 403 with the real server's message if the object, not stored yet, would exceed a quota of its namespace.
StatusOr<void> admit_by_quota(const WriteContext& ctx, const KindInfo& info, const Json& object);

// The status of a quota: `hard` from its spec, and what is used of it now. `kinds`: everything that may be counted.
Json quota_status(const ObjectReader& reader, const KindRegistry& kinds, const Json& quota);

}  // namespace dra::apiserver
