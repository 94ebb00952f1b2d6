// Audit: looks for devices, counters and capacities that are handed out more often than they exist, and for derived
// state that differs from the same state rebuilt. It reports and never repairs: who has to give way is not its to say.
//
// One audit recomputes all use from tables and holders, compares the holders with the claims of the stream in both
// directions (a holder without a claim is a ghost that blocks its device), and builds kPoolsARound pools anew from
// their slices, other ones each time. A claim that gets an allocation in the stream is checked at once.
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
  static constexpr size_t kPoolsARound = 16;

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
  // Reports a claim whose allocation was replaced under its proof.
  void check_mark(const api::ResourceClaim& claim);
  void report(const std::vector<inventory::AuditFinding>& findings);
  size_t differences_to_claims() const;
  size_t differences_to_slices();

  Reactor& reactor_;
  const inventory::Inventory& inventory_;
  const Stores& stores_;
  Instruments& instruments_;
  EventSink& events_;
  std::string next_pool_;  // where the next round of rebuilding begins
  Handle timer_;
  Duration period_{};
  bool reporting_ = false;
  std::map<std::string, bool> reported_;  // findings that were told and still stand
};

}  // namespace dra::manager
