// What was promised to waiting pods (state/promises.h), as explain and who show it: what is kept for whom. Pure over
// Objects.
#pragma once

#include <map>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/promises.h"
#include "pkg/inspect/state/state.h"
#include "pkg/inventory/device.h"

namespace dra::inspect {

// By device: the first promise that has it.
std::map<inventory::DeviceName, const Promised*> promised_devices(const std::vector<Promised>& all);

// Says what the pod, or its group, was promised, and who goes for it; nothing if it has no promise.
void say_promise(Answer& answer, const Objects& objects, const api::Pod& pod);

// The devices that nobody holds and that are promised to other pods, whose priority is not lower. Says so; false: none.
bool say_kept_from(Answer& answer, const State& state, const api::Pod& pod);

// A note that decisions keep what the manager promised to pods, and to which; false: it promised nothing.
bool note_promises(Answer& answer, const Objects& objects);

}  // namespace dra::inspect
