// OperatorEvents: events for the cluster's operator, on the Lease of the leader election. Without a Lease there are
// none: the log and the metrics say the same.
#pragma once

#include <optional>
#include <string>

#include "client/events/event_recorder.h"
#include "pkg/manager/options.h"
#include "pkg/manager/run/outages.h"
#include "pkg/reconcile/reasons.h"

namespace dra::manager {

class OperatorEvents {
 public:
  // Both must outlive this.
  OperatorEvents(client::EventRecorder& recorder, const std::optional<ManagerOptions::LeaseRef>& lease)
      : recorder_(recorder), lease_(lease) {}

  void record(bool warning, reconcile::EventReason reason, const std::string& note);
  // An outage that begins, goes on or is over.
  void record(const OutageReport& report);

 private:
  client::EventRecorder& recorder_;
  const std::optional<ManagerOptions::LeaseRef>& lease_;
};

}  // namespace dra::manager
