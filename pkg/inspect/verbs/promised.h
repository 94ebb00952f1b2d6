// Promises that the manager gave to waiting pods (--preemption=on), as explain and who show them: what is kept for
// whom. Pure over Objects.
//
// Whether a promise stands is the manager's judgement (docs/design/preemption.md); it withdraws the others within
// seconds. Here those are left out that cannot stand: of pods that do not wait, of another pod, unreadable ones (of
// redacted snapshots, too), and those of namespaces that an administrator did not label, where Namespaces are visible.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inventory/device.h"
#include "pkg/protocol/promise.h"

namespace dra::inspect {

struct Promised {
  const api::Pod* pod = nullptr;  // of the Objects
  protocol::Promise promise;
};

// In the order of the pods' names.
std::vector<Promised> promised_pods(const Objects& objects);

// By device: the first of the pods to which it was promised.
std::map<inventory::DeviceName, const api::Pod*> promised_devices(const std::vector<Promised>& all);

// Says what the pod was promised, and who goes for it; nothing if it has no promise.
void say_promise(Answer& answer, const Objects& objects, const api::Pod& pod);

// The devices that nobody holds and that are promised to other pods, whose priority is not lower. Says so; false: none.
bool say_kept_from(Answer& answer, const State& state, const api::Pod& pod);

}  // namespace dra::inspect
