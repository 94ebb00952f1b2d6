// Pods that we bound (bind mode) and that the kubelet of their node did not admit: somebody else took the same CPU, or
// the node changed meanwhile. Each gets one event and is counted; its controller makes another. Pure.
//
// A kubelet that does not admit a pod writes phase Failed and a message that begins with "Pod was rejected" (rejectPod,
// 1.36). Pods that failed in another way are not counted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/allocation/options.h"
#include "pkg/reconcile/effect.h"
#include "pkg/reconcile/view.h"

namespace dra::allocation {

// The label values of dra_bindings_refused_by_kubelet_total: the known reasons of the kubelet, "OutOf" for other
// resources (their names are an open set), and "other".
const std::vector<std::string>& refusal_reasons();
// The label value for this status.reason.
std::string refusal_label(std::string_view reason);

// The pod was bound to its node under one of our scheduler names, and the kubelet refused it.
bool is_refused_binding(const api::Pod& pod, const Options& options);
// One reconcile of such a pod: does nothing when its event was recorded before.
reconcile::ReconcileResult reconcile_refused(const reconcile::View& view, const api::Pod& pod);

}  // namespace dra::allocation
