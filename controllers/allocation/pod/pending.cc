// What dra_pending_pods counts: the pod waits, for devices of a class, for a cause. The manager keeps the entry until
// the pod no longer waits (pkg/manager/report/pending_pods.h).
#include "controllers/allocation/causes.h"
#include "controllers/allocation/pod/report.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// One label for the classes of the claims still to be allocated. A name without a DeviceClass comes from a tenant, so
// it gets no series of its own.
std::string class_label(const View& view, const std::vector<protocol::ClaimState>& claims) {
  std::set<std::string> names;
  for (const protocol::ClaimState& claim : claims)
    if (!claim.allocated()) names.merge(classes_of(claim.claim->spec));
  if (names.empty()) return "";
  if (names.size() > 1) return "(several)";
  return view.device_class(*names.begin()) ? *names.begin() : "(missing)";
}

}  // namespace

void count_pending(const PodContext& context, const std::string& cause, ReconcileResult& out) {
  Metric waits{Metric::Type::kCounter, "dra_pending_pods", {}, 1};
  waits.labels = {{"pod", context.pod.metadata.key()},
                  {"uid", context.pod.metadata.uid},
                  {"gated", context.pod.scheduling_gates.empty() ? "false" : "true"},
                  {"class", class_label(context.view, context.state.claims)},
                  {"cause", cause}};
  out.add(std::move(waits));
}

}  // namespace dra::allocation
