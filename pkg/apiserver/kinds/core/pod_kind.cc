#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/core/kinds.h"
#include "pkg/apiserver/kinds/core/pod_spec.h"
#include "pkg/apiserver/kinds/core/pod_table.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr int kDefaultTolerationSeconds = 300;
constexpr int64_t kDefaultGraceSeconds = 30;

// Admission plug-in DefaultTolerationSeconds: pods stay 300 s on a node that is not ready or unreachable.
void add_default_tolerations(Json& spec) {
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool tolerated = false;
    for (const auto& t : list_of(spec, "tolerations")) {
      const std::string& k = text_of(t, "key");
      const std::string& effect = text_of(t, "effect");
      tolerated = tolerated || ((k == key || k.empty()) && (effect == "NoExecute" || effect.empty()));
    }
    if (tolerated) continue;
    Json& tolerations = spec["tolerations"];
    if (!tolerations.is_array()) tolerations = Json::array();
    tolerations.push_back({{"key", key},
                           {"operator", "Exists"},
                           {"effect", "NoExecute"},
                           {"tolerationSeconds", kDefaultTolerationSeconds}});
  }
}

struct PriorityChoice {
  std::string class_name;
  int64_t value = 0;
  std::string preemption = "PreemptLowerPriority";
};

PriorityChoice of_class(const Json& priority_class) {
  PriorityChoice out{text_of(member(priority_class, "metadata"), "name"), int_of(priority_class, "value"), {}};
  const std::string& policy = text_of(priority_class, "preemptionPolicy");
  out.preemption = policy.empty() ? "PreemptLowerPriority" : policy;
  return out;
}

// Admission plug-in Priority; nothing if the named class does not exist.
std::optional<PriorityChoice> find_priority(const WriteContext& ctx, const std::string& name) {
  if (name.empty()) {
    PriorityChoice out;
    bool found = false;
    if (ctx.reader == nullptr) return out;
    ctx.reader->for_each("scheduling.k8s.io", "priorityclasses", "", [&](const Json& c) {
      if (!bool_of(c, "globalDefault") || (found && int_of(c, "value") >= out.value)) return;
      out = of_class(c);
      found = true;
    });
    return out;
  }
  if (ctx.reader != nullptr) {
    if (auto c = ctx.reader->find("scheduling.k8s.io", "priorityclasses", "", name)) return of_class(*c);
  }
  return std::nullopt;
}

Json gated_condition(const WriteContext& ctx) {
  Json c = {{"type", "PodScheduled"},      {"status", "False"},
            {"lastProbeTime", nullptr},    {"lastTransitionTime", nullptr},
            {"reason", "SchedulingGated"}, {"message", "Scheduling is blocked due to non-empty scheduling gates"}};
  if (ctx.clock != nullptr) c["lastTransitionTime"] = format_rfc3339(ctx.clock->wall_now());
  return c;
}

// Fields of gates that are off in 1.36: GenericWorkload (except with ServerOptions::pod_groups),
// DRANodeAllocatableResources.
void drop_disabled_fields(const WriteContext& ctx, Json& pod, const Json& old) {
  if (!ctx.pod_groups && pod.contains("spec") && pod["spec"].is_object() &&
      !is_set(member(old, "spec"), "schedulingGroup")) {
    pod["spec"].erase("schedulingGroup");
  }
  constexpr const char* kAllocatable = "nodeAllocatableResourceClaimStatuses";
  if (pod.contains("status") && pod["status"].is_object() && !is_set(member(old, "status"), kAllocatable)) {
    pod["status"].erase(kAllocatable);
  }
}

void check_group(FieldErrors& out, const FieldPath& path, const Json& spec) {
  const Json& name = member(member(spec, "schedulingGroup"), "podGroupName");
  if (name.is_null()) return out.push_back(invalid_value(path, nullptr, "must specify one of: `podGroupName`"));
  add_problems(out, path, as_text(name), dns_subdomain_problems(as_text(name)));
}

void clamp_grace(Json& spec) {
  if (int_of(spec, "terminationGracePeriodSeconds") < 0) spec["terminationGracePeriodSeconds"] = 1;
}

// As the conversion of PodStatus: podIP is the first of podIPs. If they differ, podIP wins, as an old kubelet knows
// only that.
void join_addresses(Json& status) {
  const std::string ip = text_of(status, "podIP");
  const Json& ips = list_of(status, "podIPs");
  if (ip.empty()) {
    if (!ips.empty()) status["podIP"] = text_of(ips[0], "ip");
  } else if (ips.empty() || text_of(ips[0], "ip") != ip) {
    status["podIPs"] = Json::array({{{"ip", ip}}});
  }
}

class PodKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (auto status = object.find("status"); status != object.end()) join_addresses(*status);
    auto spec = object.find("spec");
    if (spec == object.end()) return;
    default_pod_spec(*spec);
    default_pod_only(*spec);
  }

  void prepare_for_create(const WriteContext& ctx, Json& object) const override {
    Json& spec = object_member(object, "spec");
    drop_disabled_fields(ctx, object, nullptr);
    clamp_grace(spec);
    object["status"] = {{"phase", "Pending"}, {"qosClass", qos_class(spec)}};
    if (!list_of(spec, "schedulingGates").empty()) {
      object["status"]["conditions"] = Json::array({gated_condition(ctx)});
    }
  }

  // Includes what the admission plug-ins Priority and DefaultTolerationSeconds do to updates: their additions must be
  // present before generation is counted, so that a PUT of the manifest alone changes nothing.
  void prepare_for_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    drop_disabled_fields(ctx, object, old);
    Json& spec = object_member(object, "spec");
    clamp_grace(spec);
    if (!ctx.subresource.empty()) return;
    for (const char* key : {"priority", "preemptionPolicy"}) {
      if (!is_set(spec, key) && is_set(member(old, "spec"), key)) spec[key] = member(member(old, "spec"), key);
    }
    add_default_tolerations(spec);
  }

  void prepare_for_status_update(const WriteContext& ctx, Json& object, const Json& old) const override {
    drop_disabled_fields(ctx, object, old);
    const std::string& qos = text_of(member(old, "status"), "qosClass");
    Json& status = object_member(object, "status");
    if (text_of(status, "qosClass").empty() && !qos.empty()) status["qosClass"] = qos;
  }

  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    Json& spec = object_member(object, "spec");
    const std::string& pod = text_of(member(object, "metadata"), "name");
    const auto priority = find_priority(ctx, text_of(spec, "priorityClassName"));
    if (!priority) {
      return fail_status(
          forbidden_status(info().group_resource(), pod,
                           "no PriorityClass with name " + text_of(spec, "priorityClassName") + " was found"));
    }
    if (is_set(spec, "priority") && int_of(spec, "priority") != priority->value) {
      return fail_status(
          forbidden_status(info().group_resource(), pod,
                           "the integer value of priority (" + std::to_string(int_of(spec, "priority")) +
                               ") must not be provided in pod spec; priority admission controller computed " +
                               std::to_string(priority->value) + " from the given PriorityClass name"));
    }
    if (is_set(spec, "preemptionPolicy") && text_of(spec, "preemptionPolicy") != priority->preemption) {
      return fail_status(
          forbidden_status(info().group_resource(), pod,
                           "the string value of PreemptionPolicy (" + text_of(spec, "preemptionPolicy") +
                               ") must not be provided in pod spec; priority admission controller computed " +
                               priority->preemption + " from the given PriorityClass name"));
    }
    if (!priority->class_name.empty()) spec["priorityClassName"] = priority->class_name;
    spec["priority"] = priority->value;
    set_default(spec, "preemptionPolicy", priority->preemption);
    add_default_tolerations(spec);
    return {};
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    check_pod_spec(out, FieldPath("spec"), spec);
    if (!text_of(spec, "nodeName").empty() && !list_of(spec, "schedulingGates").empty()) {
      out.push_back(forbidden(FieldPath("spec.nodeName"), "cannot be set until all schedulingGates have been cleared"));
    }
    if (is_set(spec, "schedulingGroup")) check_group(out, FieldPath("spec.schedulingGroup.podGroupName"), spec);
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_pod_spec(out, FieldPath("spec"), member(object, "spec"));
    check_pod_update(out, object, old);
    return out;
  }

  FieldErrors validate_status_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_nominated_node(out, object, old);
    check_pod_status(out, object);
    return out;
  }

  std::vector<TableColumn> columns() const override { return pod_columns(); }
  Json cells(const Json& object, WallTime now) const override { return pod_cells(object, now); }
  Json row_conditions(const Json& object) const override { return pod_row_conditions(object); }

  std::vector<std::string> field_labels(const GroupVersion&) const override {
    return {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
            "status.phase",  "status.podIP",       "status.podIPs",      "status.nominatedNodeName"};
  }

  std::string field_value(const Json& object, std::string_view label, const GroupVersion&) const override {
    if (label == "spec.hostNetwork") return bool_of(member(object, "spec"), "hostNetwork") ? "true" : "false";
    if (label == "status.podIPs" || label == "status.podIP") {
      return text_of(member(object, "status"), "podIP");
    }
    return as_text(member_at(object, label));
  }

  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label not supported: " + std::string(label);
  }

  // Scheduled pods that have not ended stay for their grace period; then the kubelet deletes them for good.
  DeleteDecision decide_delete(const Json& object, std::optional<int64_t> grace_period) const override {
    const Json& spec = member(object, "spec");
    const std::string& phase = text_of(member(object, "status"), "phase");
    int64_t seconds = kDefaultGraceSeconds;
    if (is_set(spec, "terminationGracePeriodSeconds")) seconds = int_of(spec, "terminationGracePeriodSeconds");
    if (grace_period) seconds = *grace_period;
    if (seconds < 0) seconds = 1;
    if (text_of(spec, "nodeName").empty() || phase == "Succeeded" || phase == "Failed") seconds = 0;
    DeleteDecision out;
    out.grace_seconds = seconds;
    out.graceful = seconds > 0;
    out.mark_first = seconds == 0;
    return out;
  }
};

}  // namespace

KindInfo pod_info() {
  KindInfo i = core_kind_info("Pod", "pods", "pod", true);
  i.short_names = {"po"};
  i.categories = {"all"};
  i.has_generation = true;
  i.delete_returns_object = true;
  i.status_keeps_labels = false;
  i.status_keeps_finalizers = false;
  i.subresources = {{"attach", {}, "PodAttachOptions", {"create", "get"}},
                    {"binding", {}, "Binding", {"create"}},
                    {"ephemeralcontainers", {}, "Pod", {"get", "patch", "update"}},
                    {"eviction", {"policy", "v1"}, "Eviction", {"create"}},
                    {"exec", {}, "PodExecOptions", {"create", "get"}},
                    {"log", {}, "Pod", {"get"}},
                    {"portforward", {}, "PodPortForwardOptions", {"create", "get"}},
                    proxy_subresource("PodProxyOptions"),
                    {"resize", {}, "Pod", {"get", "patch", "update"}}};
  with_status(i);
  return i;
}

std::unique_ptr<Kind> make_pod_kind() {
  return std::make_unique<PodKind>(pod_info());
}

}  // namespace dra::apiserver
