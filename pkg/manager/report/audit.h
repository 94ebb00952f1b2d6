// Audit: looks for over-committed devices, counters and capacities, and for derived state that differs from the same
// state rebuilt. It reports and never repairs: it cannot say who must give way.
//
// One audit is a cycle of pieces, each a task of a few milliseconds at most, with other tasks in between: it recomputes
// all uses from tables and holders; compares the holders with the claims of the stream in both directions (a holder
// without a claim is a ghost that blocks its device); and compares the tables of slices with the slices, kDevicesACycle
// devices per cycle and others each time. The next cycle begins one period after the last one began, or at once if that
// took longer. A claim that gets an allocation in the stream is checked at once.
//
// Belongs to the reactor's thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/inventory/inventory.h"
#include "pkg/manager/report/instruments.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/manager/run/store_view.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

class Audit {
 public:
  static constexpr size_t kWorkAPiece = 4'000;  // devices and holders; a few hundred nanoseconds each
  static constexpr size_t kClaimsAPiece = 500;
  static constexpr size_t kDevicesAPiece = 500;    // of slices read anew; a few microseconds each
  static constexpr size_t kDevicesACycle = 5'000;  // of slices read anew
  static constexpr size_t kMostNotified = 16;      // claims that get an event about one finding

  // Everything must outlive the audit.
  Audit(Reactor& reactor, const inventory::Inventory& inventory, const Stores& stores, Instruments& instruments,
        EventSink& events)
      : reactor_(reactor), inventory_(inventory), stores_(stores), instruments_(instruments), events_(events) {}

  void start(Duration period);
  void stop();
  // A claim in the stream got an allocation: reports its conflicts.
  void check(const api::ResourceClaim& claim);
  // One whole audit without pauses; returns the number of findings.
  size_t run();

 private:
  // Reports a claim whose allocation was replaced under its proof.
  void check_mark(const api::ResourceClaim& claim);
  enum class Part : uint8_t { kUse, kClaims, kGhosts, kSlices, kDone };
  struct Cycle {
    Part part = Part::kUse;
    MonoTime begun{};
    Duration longest{};  // of its pieces
    size_t pieces = 0;
    inventory::Inventory::AuditPlace place;
    uint64_t version = 0;         // of the inventory when the comparison with claims began
    std::string claim;            // the last claim compared
    std::vector<bool> in_stream;  // by number: claims of the inventory that the stream has
    uint32_t ghost = 0;           // the next number to look at
    size_t devices_left = kDevicesACycle;
    size_t slices_left = 0;
    size_t differences = 0;
    std::map<std::string, bool> standing;  // findings
  };

  void begin();
  // True when the cycle is over.
  bool piece();
  void end();
  void next_piece();
  void compare_claims();
  void compare_claim(const api::ResourceClaim& claim);
  void look_for_ghosts();
  void compare_slices();
  // A finding is logged when it is new, and when another claim is notified of it: at most kMostNotified claims are,
  // each by one event.
  void report(const std::vector<inventory::AuditFinding>& findings);
  using Notified = std::vector<uint64_t>;                                                // hashes of uids
  using ToNotify = std::vector<std::pair<std::string, const inventory::AuditFinding*>>;  // uid of a claim, its finding
  static bool add_to_notify(const inventory::AuditFinding& finding, Notified& notified, ToNotify& to_notify);

  Reactor& reactor_;
  const inventory::Inventory& inventory_;
  const Stores& stores_;
  Instruments& instruments_;
  EventSink& events_;
  Cycle cycle_;
  std::string next_slice_;  // the next comparison of slices continues after this one
  Handle timer_;
  Duration period_{};
  bool reporting_ = false;
  std::map<std::string, Notified> reported_;  // findings that were reported and still stand
};

}  // namespace dra::manager
