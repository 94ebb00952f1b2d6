#include "pkg/apiserver/kinds/core/pod_table.h"

#include <nlohmann/json.hpp>

#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

const std::string kNone = "<none>";

const std::string& or_none(const std::string& text) {
  return text.empty() ? kNone : text;
}

struct Restarts {
  int64_t count = 0;
  Timestamp last;
  bool known = false;

  void add(const Json& status) {
    count += int_of(status, "restartCount");
    Timestamp t;
    const std::string& finished = as_text(member_at(status, "lastState.terminated.finishedAt"));
    if (!finished.empty() && parse_rfc3339(finished, t) && (!known || t > last)) {
      last = t;
      known = true;
    }
  }

  std::string text(WallTime now) const {
    if (count == 0 || !known) return std::to_string(count);
    return std::to_string(count) + " (" + human_duration(seconds_between(last, now)) + " ago)";
  }
};

const Json& find_by(const Json& list, const char* key, const std::string& value) {
  static const Json none = nullptr;
  for (const auto& item : list) {
    if (text_of(item, key) == value) return item;
  }
  return none;
}

bool condition_true(const Json& status, const char* type) {
  return text_of(find_by(list_of(status, "conditions"), "type", type), "status") == "True";
}

bool sidecar(const Json& container) {
  return text_of(container, "restartPolicy") == "Always";
}

// "Error", "Signal:9" or "ExitCode:1".
std::string exit_reason(const Json& terminated) {
  const std::string& reason = text_of(terminated, "reason");
  if (!reason.empty()) return reason;
  if (int_of(terminated, "signal") != 0) return "Signal:" + std::to_string(int_of(terminated, "signal"));
  return "ExitCode:" + std::to_string(int_of(terminated, "exitCode"));
}

struct Summary {
  std::string reason;
  int64_t ready = 0;
  Restarts restarts;
  Restarts sidecar_restarts;
};

// True if an unfinished init container decides what is shown.
bool summarise_init(const Json& spec, const Json& status, Summary& out) {
  const Json& declared = list_of(spec, "initContainers");
  const Json& statuses = list_of(status, "initContainerStatuses");
  for (size_t i = 0; i < statuses.size(); ++i) {
    const Json& c = statuses[i];
    out.restarts.add(c);
    const bool restartable = sidecar(find_by(declared, "name", text_of(c, "name")));
    if (restartable) out.sidecar_restarts.add(c);
    const Json& state = member(c, "state");
    const Json& terminated = member(state, "terminated");
    if (!terminated.is_null() && int_of(terminated, "exitCode") == 0) continue;
    if (restartable && bool_of(c, "started")) {
      if (bool_of(c, "ready")) ++out.ready;
      continue;
    }
    const std::string& waiting = text_of(member(state, "waiting"), "reason");
    if (!terminated.is_null()) {
      out.reason = "Init:" + exit_reason(terminated);
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      out.reason = "Init:" + waiting;
    } else {
      out.reason = "Init:" + std::to_string(i) + "/" + std::to_string(declared.size());
    }
    return true;
  }
  return false;
}

void summarise_containers(const Json& status, Summary& out) {
  out.restarts = out.sidecar_restarts;
  bool running = false;
  const Json& statuses = list_of(status, "containerStatuses");
  for (size_t i = statuses.size(); i-- > 0;) {
    const Json& c = statuses[i];
    out.restarts.add(c);
    const Json& state = member(c, "state");
    const std::string& waiting = text_of(member(state, "waiting"), "reason");
    const Json& terminated = member(state, "terminated");
    if (!waiting.empty()) {
      out.reason = waiting;
    } else if (!terminated.is_null()) {
      out.reason = exit_reason(terminated);
    } else if (bool_of(c, "ready") && is_set(state, "running")) {
      running = true;
      ++out.ready;
    }
  }
  if (out.reason == "Completed" && running) {
    out.reason = condition_true(status, "Ready") ? "Running" : "NotReady";
  }
}

Summary summarise(const Json& pod) {
  const Json& spec = member(pod, "spec");
  const Json& status = member(pod, "status");
  const std::string& phase = text_of(status, "phase");
  Summary out;
  out.reason = text_of(status, "reason").empty() ? phase : text_of(status, "reason");
  for (const auto& c : list_of(status, "conditions")) {
    if (text_of(c, "type") == "PodScheduled" && text_of(c, "reason") == "SchedulingGated") {
      out.reason = "SchedulingGated";
    }
  }
  const bool initializing = summarise_init(spec, status, out);
  if (!initializing || condition_true(status, "Initialized")) summarise_containers(status, out);
  if (is_set(member(pod, "metadata"), "deletionTimestamp")) {
    if (text_of(status, "reason") == "NodeLost") {
      out.reason = "Unknown";
    } else if (phase != "Succeeded" && phase != "Failed") {
      out.reason = "Terminating";
    }
  }
  return out;
}

std::string readiness_gates(const Json& pod) {
  const Json& gates = list_of(member(pod, "spec"), "readinessGates");
  if (gates.empty()) return kNone;
  int met = 0;
  for (const auto& gate : gates) {
    met += condition_true(member(pod, "status"), text_of(gate, "conditionType").c_str()) ? 1 : 0;
  }
  return std::to_string(met) + "/" + std::to_string(gates.size());
}

}  // namespace

std::vector<TableColumn> pod_columns() {
  return {
      name_column(),
      {"Ready", "string", "", "The aggregate readiness state of this pod for accepting traffic.", 0},
      {"Status", "string", "", "The aggregate status of the containers in this pod.", 0},
      {"Restarts", "string", "",
       "The number of times the containers in this pod have been restarted and when the last container in this pod has "
       "restarted.",
       0},
      age_column(),
      {"IP", "string", "",
       "podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.", 1},
      {"Node", "string", "",
       "NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by "
       "the "
       "scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for "
       "the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a "
       "specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename",
       1},
      {"Nominated Node", "string", "",
       "nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right "
       "away as preemption victims receive their graceful termination periods. This field does not guarantee that the "
       "pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become "
       "available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that "
       "is "
       "created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is "
       "scheduled.",
       1},
      {"Readiness Gates", "string", "",
       "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers "
       "are ready AND all conditions specified in the readiness gates have status equal to \"True\" More info: "
       "https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates",
       1},
  };
}

Json pod_cells(const Json& pod, WallTime now) {
  const Json& meta = member(pod, "metadata");
  const Json& spec = member(pod, "spec");
  const Json& status = member(pod, "status");
  const Summary s = summarise(pod);
  size_t total = list_of(spec, "containers").size();
  for (const auto& c : list_of(spec, "initContainers")) total += sidecar(c) ? 1 : 0;
  const Json& ips = list_of(status, "podIPs");
  const std::string& ip = ips.empty() ? text_of(status, "podIP") : text_of(ips[0], "ip");
  return Json::array({text_of(meta, "name"), std::to_string(s.ready) + "/" + std::to_string(total), s.reason,
                      s.restarts.text(now), age_cell(member(meta, "creationTimestamp"), now), or_none(ip),
                      or_none(text_of(spec, "nodeName")), or_none(text_of(status, "nominatedNodeName")),
                      readiness_gates(pod)});
}

Json pod_row_conditions(const Json& pod) {
  const std::string& phase = text_of(member(pod, "status"), "phase");
  if (phase != "Succeeded" && phase != "Failed") return nullptr;
  return Json::array({{{"type", "Completed"},
                       {"status", "True"},
                       {"reason", phase},
                       {"message", phase == "Succeeded" ? "The pod has completed successfully." : "The pod failed."}}});
}

}  // namespace dra::apiserver
