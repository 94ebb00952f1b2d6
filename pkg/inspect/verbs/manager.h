// Who leads: what the Lease of the manager's leader election says, for doctor and explain. Pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

// The gate that the manager lifts (controllers/allocation/options.h).
inline constexpr std::string_view kManagerGate = "dra-controller-manager/allocation";

enum class ManagerHealth : uint8_t {
  kUnknown,  // the Lease was not asked for, or may not be read
  kServes,   // a manager leads that serves the pods which wait for one
  kNobody,   // no manager leads
  kIdle,     // one leads that does not serve these pods (mode observe), or several lead
};

struct ManagerSight {
  ManagerHealth health = ManagerHealth::kUnknown;
  std::string text;   // a sentence without its full stop: who leads since when, or since when nobody does
  std::string to_do;  // empty: nothing
  std::vector<std::string> waiting;  // keys of pods that wait for a manager
};
ManagerSight manager_sight(const Objects& objects);

// Whether the pod waits for the manager: at its gate, or as one of a scheduler name that a Lease mentions.
bool waits_for_manager(const Objects& objects, const api::Pod& pod);

// Lines for a pod that waits for the manager, and the status: kNo if nobody serves it, kUnknown if that cannot be seen
// and nothing else is wrong.
void say_manager(Answer& answer, const Objects& objects, const api::Pod& pod);

}  // namespace dra::inspect
