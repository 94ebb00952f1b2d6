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

// To whom a device is promised.
struct PromisedTo {
  const Promised* promise = nullptr;
  // Not to its own pods, but to the next one of the controller of this pod, which moves for them.
  const protocol::Promise::Move* move = nullptr;
};
// "ml/p", or "next of ml/left"; and in a sentence: "pod ml/p".
std::string shown(const PromisedTo& to);
std::string in_words(const PromisedTo& to);

// By device: the first promise that has it. `all` must outlive the answer.
std::map<inventory::DeviceName, PromisedTo> promised_devices(const std::vector<Promised>& all);

// Says what the pod, or its group, was promised, and who goes for it; nothing if it has no promise.
void say_promise(Answer& answer, const Objects& objects, const api::Pod& pod);

// The devices that nobody holds and that are promised to other pods, whose priority is not lower. Says so; false: none.
bool say_kept_from(Answer& answer, const State& state, const api::Pod& pod);

// A note that decisions keep what the manager promised to pods, and to which; false: it promised nothing.
bool note_promises(Answer& answer, const Objects& objects);

}  // namespace dra::inspect
