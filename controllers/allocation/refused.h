// Pods that were bound here (bind mode) and that the kubelet of their node did not admit: somebody else gave away the
// same CPU, or the node changed meanwhile. Each is told once and counted; its controller makes another. Pure.
//
// A refusal is what a kubelet writes when it does not admit a pod: phase Failed and a message that begins with "Pod was
// rejected" (rejectPod, 1.36). Pods that failed in another way are nobody's lost binding.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/allocation.h"

namespace dra::allocation {

// The label values of dra_bindings_refused_by_kubelet_total: the kubelet's reasons that are known, "OutOf" for other
// resources (their names are an open set) and "other".
const std::vector<std::string>& refusal_reasons();
// The one of them that stands for status.reason.
std::string refusal_label(std::string_view reason);

// The pod was bound to its node under one of our scheduler names, and refused there.
bool is_refused_binding(const api::Pod& pod, const Options& options);
// One run for such a pod: nothing when it was told before.
reconcile::Outcome look_at_refused(const reconcile::View& view, const api::Pod& pod);

}  // namespace dra::allocation
