#include "pkg/protocol/leaving_writes.h"

#include <algorithm>

#include "pkg/protocol/keep.h"
#include "pkg/protocol/writes.h"

namespace dra::protocol {

using namespace reconcile;
namespace {

std::string leaving_value(const Leaving& all) {
  std::string text;
  for (const auto& [uid, version] : all) text += (text.empty() ? "" : ",") + uid + "@" + std::to_string(version);
  return text;
}

}  // namespace

std::optional<Write> write_leaving(const api::Pod& pod, const Leaving& added) {
  Leaving all = leaving_of(pod);
  for (const auto& [uid, version] : added) all[uid] = std::max(all[uid], version);
  if (all.size() > kMaxLeaving) return std::nullopt;
  return write_pod_annotation(pod, kLeavingAnnotation, leaving_value(all),
                              pod.scheduling_gates.empty() ? "announce-unbound" : "announce-leaving");
}

Write write_void_removed(const api::Pod& pod, const std::set<std::string>& claim_uids) {
  Leaving all = leaving_of(pod);
  std::erase_if(all, [&](const auto& entry) { return claim_uids.contains(entry.first); });
  return write_pod_annotation(pod, kLeavingAnnotation, leaving_value(all), "remove-void-leaving");
}

Write write_left(const api::Pod& pod, const api::ResourceClaim& claim, bool keep_allocation) {
  std::vector<api::ResourceClaimConsumerReference> rest = claim.status.reserved_for;
  std::erase_if(rest, [&](const auto& consumer) { return consumer.uid == pod.metadata.uid; });
  // What a pod leaves before it began is of no use to the next one: kept devices end with it, too.
  const bool nobody = std::all_of(rest.begin(), rest.end(), is_keep_reference);
  Write write =
      nobody && !keep_allocation ? write_deallocation(claim, "leave") : write_reservations(claim, rest, "leave");
  write.release_pod = pod.metadata.uid;
  return write;
}

Write write_left_unbound(const api::Pod& pod, const api::ResourceClaim& claim) {
  Write write = write_left(pod, claim, true);
  write.purpose = "leave-unbound";
  return write;
}

Write write_freed_unbound(const api::Pod& pod, const api::ResourceClaim& claim) {
  Write write = write_deallocation(claim, "free-unbound");
  write.release_pod = pod.metadata.uid;
  return write;
}

}  // namespace dra::protocol
