#include "controllers/allocation/pod/report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/kept/promised_devices.h"
#include "controllers/allocation/pod/condition.h"
#include "controllers/allocation/pod/node_takes.h"
#include "controllers/allocation/pod/why_here.h"
#include "pkg/base/timestamp.h"
#include "pkg/nodes/shape.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/promise.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

void complain(const PodContext& context, const Complaint& complaint, ReconcileResult& out) {
  complain_of(context, ref_of(context.pod), complaint, out);
}

void complain_of(const PodContext& context, const Ref& object, const Complaint& complaint, ReconcileResult& out) {
  constexpr Duration kAgain = std::chrono::minutes(30);  // API servers delete events after an hour
  const auto& [reason, note, signature, warning] = complaint;
  const std::optional<View::Noted> said = context.view.note(object.uid, "said/" + reason);
  if (context.view.last_event(object.uid, reason) == signature && !(said && said->age >= kAgain)) return;
  out.add(Event{object, warning, reason, "Allocate", note, signature});
}

void complain_of_claim(const PodContext& context, const api::ResourceClaim& claim, const std::string& note,
                       const std::string& signature, ReconcileResult& out) {
  if (claim.metadata.resource_version.empty()) return;  // supposed: the claim does not exist yet
  for (const api::Pod* pod : context.view.pods_of_claim(claim.metadata.key())) {
    if (role_of(*pod, context.tools.options) == Role::kNone) continue;
    if (pod->metadata.uid != context.pod.metadata.uid) return;
    break;
  }
  complain_of(context, ref_of(claim), {"FailedAllocation", note, signature}, out);
}

void say_waiting(const PodContext& context, const Complaint& why, Fit fit, ReconcileResult& out) {
  out.decided = Decided{false, "", "", why.note};
  complain(context, why, out);
  show_waiting(context, why.note, why.signature, fit, out);
}

void count_failure(const PodContext& context, const std::string& cause, ReconcileResult& out) {
  out.add(Metric{Metric::Type::kCounter, "dra_allocation_failures_total", {{"cause", cause}}, 1});
  count_pending(context, cause, out);
}

std::set<Cause> causes_of(const PodContext& context, const allocator::Request& request) {
  std::set<Cause> causes{std::string(kNodesCause)};
  for (const auto& claim : request.claims)
    for (const std::string& name : classes_of(claim->spec)) {
      causes.insert(class_cause(name));
      // New devices of one driver do not concern a pod that requests those of another.
      const api::DeviceClass* known = context.view.device_class(name);
      const std::optional<std::string> driver = known ? only_driver(*known) : std::nullopt;
      causes.insert(driver ? driver_cause(*driver) : std::string(kSlicesCause));
    }
  // A bad pool of any driver rules mode All out on its nodes.
  for (const auto& claim : request.claims)
    if (asks_for_all(claim->spec)) causes.insert(std::string(kSlicesCause));
  return causes;
}

void park_pod(const PodContext& context, const std::set<Cause>& causes, const Obstacles& obstacles,
              ReconcileResult& out) {
  std::vector<Cause> all(causes.begin(), causes.end());
  if (obstacles.on_capacity) all.emplace_back(kCapacityCause);
  if (obstacles.on_pods) all.emplace_back(kPodsCause);
  if (!volume_claim_keys_of(context.pod).empty()) all.emplace_back(kVolumesCause);
  out.park = Park{std::move(all), context.pod.priority, waits_since(context.view, context.pod),
                  // What was promised fits this pod alone, whatever others like it are told; and what it avoids may
                  // fit others.
                  (context.tools.options.promises && has_promise(context.pod)) ||
                          context.tools.promised.keeps_for_next(context.pod) ||
                          !own_avoided_devices(context.view, context.pod).empty() || is_refused_takes(context)
                      ? std::string()
                      : nodes::shape_of(context.pod, context.tools.nodes.shape(context.pod), context.state.claims,
                                        obstacles.on_pods)};
  // What is in quarantine comes back without a change of any object.
  Duration retry = context.tools.options.retry_parked;
  for (const AvoidedDevice& one : quarantined_devices(context.view))
    retry = std::min(retry, one.until - Timestamp(context.view.now()));
  out.requeue_in(retry);
}

std::string what_pins(const PodContext& context) {
  std::string text;
  // The node was never ours to choose.
  if (context.role == Role::kExplain || context.role == Role::kBoundBare) return text;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (const std::string why = why_pinned(context.pod, claim); !why.empty()) text += "; " + why;
  return text;
}

std::string devices_words(const PodState& state) {
  std::vector<api::AllocationResult> allocations;
  for (const protocol::ClaimState& claim : state.claims)
    if (claim.allocated()) allocations.push_back(*claim.claim->status.allocation);
  const std::string devices = devices_of(allocations);
  return devices.empty() ? "allocated claims that ask for no device" : "allocated " + devices;
}

Event allocated_event(const PodContext& context) {
  std::string where;
  for (const protocol::ClaimState& claim : context.state.claims)
    if (const std::string* node = claim.allocated() ? api::only_node(*claim.claim->status.allocation) : nullptr)
      where = " on node " + *node;
  return {ref_of(context.pod),
          false,
          "Allocated",
          "Allocate",
          devices_words(context.state) + where + context.tools.why_here.clause(context.pod.metadata.uid),
          ""};
}

}  // namespace dra::allocation
