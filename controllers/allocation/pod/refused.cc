#include "controllers/allocation/pod/refused.h"

#include <algorithm>

#include "controllers/allocation/protocol.h"
#include "pkg/base/utf8.h"
#include "pkg/protocol/writes.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

namespace {

constexpr size_t kMostOfAMessage = 512;  // bytes of the kubelet's message

// Somebody else used the node's capacity that was meant for the pod.
bool is_lost_race(std::string_view reason) {
  return reason.starts_with("OutOf") || reason == "NodePorts";
}

}  // namespace

const std::vector<std::string>& refusal_reasons() {
  static const std::vector<std::string> reasons{"OutOfcpu",
                                                "OutOfmemory",
                                                "OutOfephemeral-storage",
                                                "OutOfpods",
                                                "OutOf",
                                                "NodeAffinity",
                                                "NodeName",
                                                "NodePorts",
                                                "NodeShutdown",
                                                "TaintToleration",
                                                "TopologyAffinityError",
                                                "UnexpectedAdmissionError",
                                                "Evicted",
                                                "PodOSNotSupported",
                                                "other"};
  return reasons;
}

std::string refusal_label(std::string_view reason) {
  const std::vector<std::string>& known = refusal_reasons();
  if (std::find(known.begin(), known.end(), reason) != known.end()) return std::string(reason);
  return reason.starts_with("OutOf") ? "OutOf" : "other";
}

bool is_refused_binding(const api::Pod& pod, const Options& options) {
  return options.mode == Mode::kBind && pod.refusal && !pod.node_name.empty() && is_ours_to_bind(pod, options);
}

ReconcileResult reconcile_refused(const View& view, const api::Pod& pod) {
  ReconcileResult outcome;
  if (view.last_event(pod.metadata.uid, "BindingRefused")) return outcome;
  std::string note = "bound to node " + pod.node_name + ", whose kubelet refused the pod: " + pod.refusal->reason +
                     ": " + std::string(utf8_prefix(pod.refusal->message, kMostOfAMessage));
  if (is_lost_race(pod.refusal->reason))
    note += "; somebody else uses the node, too: dedicate it to one scheduler by a taint";
  outcome.add(Event{ref_of(pod), true, "BindingRefused", "Binding", std::move(note), ""});
  outcome.add(Metric{Metric::Type::kCounter,
                     "dra_bindings_refused_by_kubelet_total",
                     {{"reason", refusal_label(pod.refusal->reason)}},
                     1});
  return outcome;
}

}  // namespace dra::allocation
