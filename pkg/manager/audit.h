// Audit: looks for devices, counters and capacities that are handed out more often than they exist, and for derived
// state that differs from the same state rebuilt. It reports and never repairs: who has to give way is not its to say.
//
// Belongs to the reactor's thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/inventory/inventory.h"
#include "pkg/manager/instruments.h"
#include "pkg/manager/ports.h"
#include "pkg/manager/store_view.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class Audit {
 public:
  // Everything must outlive the audit.
  Audit(Reactor& reactor, const inventory::Inventory& inventory, const Stores& stores, Instruments& instruments,
        EventSink& events)
      : reactor_(reactor), inventory_(inventory), stores_(stores), instruments_(instruments), events_(events) {}

  void start(Duration period);
  void stop();
  // A claim in the stream got an allocation: is it free of conflicts?
  void check(const api::ResourceClaim& claim);
  // One whole audit; the number of findings.
  size_t run();

 private:
  void report(const std::vector<inventory::AuditFinding>& findings);
  size_t differences_to_rebuilt() const;

  Reactor& reactor_;
  const inventory::Inventory& inventory_;
  const Stores& stores_;
  Instruments& instruments_;
  EventSink& events_;
  Handle timer_;
  Duration period_{};
  bool reporting_ = false;
  std::map<std::string, bool> reported_;  // findings that were told and still stand
};

}  // namespace dra::manager
