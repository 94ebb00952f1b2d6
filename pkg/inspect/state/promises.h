// Promises that the manager gave to waiting pods and groups (--preemption=on, --defragment=on): which there are, and
// what of them a decision about another pod counts as held.
//
// Whether a promise stands is the manager's judgement (docs/design/preemption.md); it withdraws the others within
// seconds. Here those are left out that cannot stand: of pods that do not wait, of another pod, unreadable ones (of
// redacted snapshots, too), and those of namespaces that an administrator did not label, where Namespaces are visible.
// Pure over Objects.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/state/objects.h"
#include "pkg/protocol/promise.h"

namespace dra::inspect {

class State;

struct Promised {
  const api::Pod* pod = nullptr;  // of the Objects: the one that has the record, perhaps for its group
  protocol::Promise promise;
  // The pod is who was promised it: the one with the record, one that gets a place, or a member of the same group.
  bool is_for(const api::Pod& other) const;
  // Of the claims in it: those of pods that move. What they get is for the next pods of their controllers.
  bool is_of_a_move(const std::string& claim) const;
};
// "ml/p", or "group ml/train"; and in a sentence: "pod ml/p".
std::string owner_name(const Promised& one);
std::string owner_of(const Promised& one);

// In the order of the pods' names; at most protocol::kMostPromises.
std::vector<Promised> promised_pods(const Objects& objects);
// Those of them that the manager proved: others it may still withdraw before anybody goes.
std::vector<Promised> proven_promises(const Objects& objects);

// As whose the devices count for a decision that must leave them; not the uid of a claim.
inline constexpr std::string_view kPromisedToPods = "devices-promised-to-pods";

// While this lives, `state` counts as held what was promised to other pods than `pods`, of a priority that is not lower
// than the lowest of theirs: the devices that nobody holds, and CPU, memory and a place on the promised node. Claims
// without a pod have no priority: every promise binds them. Within another one this does nothing. The rule is that of
// controllers/allocation/kept/promised_devices.h.
class KeptPromises {
 public:
  KeptPromises(State& state, std::span<const api::Pod* const> pods);
  ~KeptPromises();
  KeptPromises(const KeptPromises&) = delete;
  KeptPromises& operator=(const KeptPromises&) = delete;

 private:
  State& state_;
  bool outermost_ = false;
  bool devices_ = false;
  std::vector<std::string> placed_;  // uids under which pods count on nodes
};

}  // namespace dra::inspect
