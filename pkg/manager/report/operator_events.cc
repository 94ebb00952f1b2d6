#include "pkg/manager/report/operator_events.h"

namespace dra::manager {

void OperatorEvents::record(bool warning, reconcile::EventReason reason, const std::string& note) {
  if (!lease_) return;
  client::EventRequest event;
  event.regarding = {"coordination.k8s.io/v1", "Lease", lease_->ns, lease_->name, "", ""};
  event.warning = warning;
  event.reason = reason.str();
  event.note = note;
  recorder_.record(event);
}

void OperatorEvents::record(const OutageReport& report) {
  const reconcile::Ref& first = report.failure.object;
  const std::string what = report.failure.what + ", first for " + first.store_key();
  if (report.over)
    return record(false, "RequestsSucceed",
                  what + ": works again after " + std::to_string(report.refused) + " failures");
  record(true, "RequestsFail", what + ": " + to_string(report.failure.error));
}

}  // namespace dra::manager
