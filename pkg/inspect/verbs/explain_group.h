// explain's statement about a group of pods that waits: the group is placed together or not at all, so it is judged,
// not its pods one by one. Pure over a State.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pkg/inspect/state/groups.h"
#include "pkg/inspect/verbs/judge.h"

namespace dra::inspect {

// Judges one pod as if it were in no group.
using JudgeAlone = std::function<JudgedPod(const api::Pod& pod)>;

// The group of `asked`, a waiting member that has no started sibling. The lines say how many members must be placed
// together, what the search found for them, and, if a member does not even fit alone, why.
JudgedPod judge_group(State& state, const reconcile::View& view, const protocol::Membership& member,
                      const api::Pod& asked, const JudgeAlone& alone);

// A pod that is judged alone and fits: whether it does on the rails that its group asks for (joining()).
void judge_rails(JudgedPod& judged, State& state, const GroupQuestion& question);

// The members of the PodGroup of this name, by key; those that have ended are left out.
std::vector<const api::Pod*> pods_of_pod_group(const Objects& objects, const std::string& ns, const std::string& name);

}  // namespace dra::inspect
