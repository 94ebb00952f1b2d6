#include "controllers/allocation/pod/rails_report.h"

#include <string>

#include "controllers/allocation/pod/report.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

// Whose annotation it is, unless it is this pod's own: "of pod ml/a: ".
std::string whose(const PodContext& context, const PodRails& rails, std::optional<uint32_t> member) {
  if (!member) return "of its PodGroup: ";
  const api::Pod& pod = *rails.pods[*member].pod;
  return pod.metadata.uid == context.pod.metadata.uid ? "" : "of member " + pod.metadata.key() + ": ";
}

}  // namespace

bool report_rails(const PodContext& context, const PodRails& rails, ReconcileResult& out) {
  for (const auto& [member, refusal] : rails.read.ignored) {
    if (member && rails.pods[*member].pod->metadata.uid != context.pod.metadata.uid) continue;  // its own event
    const std::string text = whose(context, rails, member) + refusal.message;
    complain(context, {"PreferenceIgnored", text + "; it is ignored", text}, out);
  }
  if (!rails.read.refusal) return true;
  const std::string text = whose(context, rails, rails.read.refused_member) + rails.read.refusal->message;
  say_waiting(context, {"FailedAllocation", text, text}, Fit::kNowhere, out);
  count_failure(context, "GroupWaits", out);
  return false;
}

}  // namespace dra::allocation
