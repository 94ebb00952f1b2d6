// StatefulSet, DaemonSet and ReplicationController, validated as in kubernetes 1.36 (apis/apps/validation).
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/workload/kinds.h"
#include "pkg/apiserver/kinds/workload/template.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/strings.h"

namespace dra::apiserver {

namespace {

void check_always_restarts(FieldErrors& out, const FieldPath& path, const Json& pod_spec, const char* kind) {
  const std::string& restart = text_of(pod_spec, "restartPolicy");
  if (restart != "Always") out.push_back(not_supported(path.child("restartPolicy"), restart, {"Always"}));
  if (is_set(pod_spec, "activeDeadlineSeconds")) {
    out.push_back(forbidden(path.child("activeDeadlineSeconds"),
                            std::string("activeDeadlineSeconds in ") + kind + " is not Supported"));
  }
}

bool is_zero_amount(const Json& value) {
  return value.is_null() || value == 0 || value == "0" || value == "0%";
}

// "a=b,c=d"; "<none>" if there are none: labels.FormatLabels.
std::string labels_text(const Json& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels.items()) parts.push_back(key + "=" + as_text(value));
  return parts.empty() ? "<none>" : join(parts, ",");
}

class StatefulSetKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    if (text_of(spec, "podManagementPolicy").empty()) spec["podManagementPolicy"] = "OrderedReady";
    Json& strategy = object_member(spec, "updateStrategy");
    if (text_of(strategy, "type").empty()) {
      strategy["type"] = "RollingUpdate";
      object_member(strategy, "rollingUpdate");
    }
    if (text_of(strategy, "type") == "RollingUpdate" && is_set(strategy, "rollingUpdate"))
      set_default(strategy["rollingUpdate"], "partition", 0);
    Json& retention = object_member(spec, "persistentVolumeClaimRetentionPolicy");
    for (const char* when : {"whenDeleted", "whenScaled"})
      if (text_of(retention, when).empty()) retention[when] = "Retain";
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    default_template(object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out = check(object);
    const std::string& service = text_of(member(object, "spec"), "serviceName");
    if (!service.empty()) check_service_name(out, service);
    return out;
  }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out = check(object);
    Json kept = member(object, "spec");
    for (const char* key : {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                            "persistentVolumeClaimRetentionPolicy", "minReadySeconds"}) {
      kept[key] = member_at(old, std::string("spec.") + key);
    }
    if (!semantic_equal(kept, member(old, "spec"))) {
      out.push_back(forbidden(
          FieldPath("spec"),
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
          "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"));
    }
    return out;
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Ready", "string", "", "Number of the pod with ready state", 0},
            age_column(),
            {"Containers", "string", "", "Names of each container in the template.", 1},
            {"Images", "string", "", "Images referenced by each container in the template.", 1}};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    Json out = Json::array({text_of(meta, "name"),
                            std::to_string(int_of(member(object, "status"), "readyReplicas")) + "/" +
                                std::to_string(int_of(member(object, "spec"), "replicas")),
                            age_cell(member(meta, "creationTimestamp"), now)});
    add_template_cells(out, object);
    out.erase(out.size() - 1);  // no selector column
    return out;
  }

 private:
  static void check_service_name(FieldErrors& out, const std::string& service) {
    add_problems(out, FieldPath("spec.serviceName"), service, dns_label_problems(service));
  }

  static void check_strategy(FieldErrors& out, const Json& spec) {
    const FieldPath path("spec.updateStrategy");
    const Json& strategy = member(spec, "updateStrategy");
    const Json& rolling = member(strategy, "rollingUpdate");
    const std::string& type = text_of(strategy, "type");
    if (type == "OnDelete") {
      if (!rolling.is_null())
        out.push_back(
            invalid_value(path.child("rollingUpdate"), rolling, "only allowed for updateStrategy 'RollingUpdate'"));
    } else if (type == "RollingUpdate") {
      check_not_negative(out, path.child("rollingUpdate"), rolling, "partition");
      const Json& unavailable = member(rolling, "maxUnavailable");
      if (!unavailable.is_null() && is_zero_amount(unavailable))
        out.push_back(invalid_value(path.child("rollingUpdate").child("maxUnavailable"), unavailable, "cannot be 0"));
    } else {
      out.push_back(invalid_value(path, strategy, "must be 'RollingUpdate' or 'OnDelete'"));
    }
  }

  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    const FieldPath path("spec");
    const std::string& policy = text_of(spec, "podManagementPolicy");
    if (policy != "OrderedReady" && policy != "Parallel")
      out.push_back(invalid(path.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'"));
    check_strategy(out, spec);
    for (const char* when : {"whenDeleted", "whenScaled"}) {
      const std::string& keeps = text_of(member(spec, "persistentVolumeClaimRetentionPolicy"), when);
      if (keeps != "Retain" && keeps != "Delete")
        out.push_back(
            not_supported(path.child("persistentVolumeClaimRetentionPolicy").child(when), keeps, {"Retain", "Delete"}));
    }
    for (const char* key : {"replicas", "minReadySeconds"}) check_not_negative(out, path, spec, key);
    if (int_of(member(spec, "ordinals"), "start") < 0)
      out.push_back(invalid_value(FieldPath("spec.ordinals.start"), member_at(spec, "ordinals.start"),
                                  "must be greater than or equal to 0"));
    check_workload_selector(out, spec, "statefulset");
    check_selector_matches(out, spec);
    // The controller overwrites hostname and subdomain, and adds the volumes of the claim templates.
    Json judged = spec;
    Json& pod = object_member(object_member(judged, "template"), "spec");
    pod.erase("hostname");
    pod.erase("subdomain");
    for (const Json& claim : list_of(spec, "volumeClaimTemplates")) {
      const std::string name = text_of(member(claim, "metadata"), "name");
      Json& volumes = pod["volumes"];
      if (!volumes.is_array()) volumes = Json::array();
      std::erase_if(volumes.get_ref<Json::array_t&>(), [&](const Json& v) { return text_of(v, "name") == name; });
      volumes.push_back({{"name", name}, {"persistentVolumeClaim", {{"claimName", name}}}});
    }
    check_template(out, judged);
    check_always_restarts(out, path.child("template").child("spec"), member_at(spec, "template.spec"), "StatefulSet");
    return out;
  }
};

class DaemonSetKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    Json& strategy = object_member(spec, "updateStrategy");
    if (text_of(strategy, "type").empty()) strategy["type"] = "RollingUpdate";
    if (text_of(strategy, "type") == "RollingUpdate") {
      Json& rolling = object_member(strategy, "rollingUpdate");
      set_default(rolling, "maxUnavailable", 1);
      set_default(rolling, "maxSurge", 0);
    }
    set_default(spec, "revisionHistoryLimit", 10);
    default_template(object);
  }

  // Upstream builds rows from the internal type, which has a field for that number.
  Json table_metadata(const Json& metadata) const override {
    Json out = metadata;
    Json& annotations = object_member(out, "annotations");
    annotations.erase(kTemplateGeneration);
    if (annotations.empty()) out.erase("annotations");
    return out;
  }

  // The template's number, with which 1.36's controllers still label pods.
  void prepare_for_create(const WriteContext&, Json& object) const override {
    object_member(object_member(object, "metadata"), "annotations")[kTemplateGeneration] = "1";
  }
  void prepare_for_update(const WriteContext&, Json& object, const Json& old) const override {
    const std::string was = text_of(member_at(old, "metadata.annotations"), kTemplateGeneration);
    const bool same = semantic_equal(member_at(object, "spec.template"), member_at(old, "spec.template"));
    const bool number = !was.empty() && was.size() < 10 && was.find_first_not_of("0123456789") == std::string::npos;
    object_member(object_member(object, "metadata"), "annotations")[kTemplateGeneration] =
        std::to_string((number ? std::stol(was) : 1) + (same ? 0 : 1));
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    return check(member(object, "spec"));
  }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    check_selector_kept(out, object, old);
    add_errors(out, check(member(object, "spec")));
    return out;
  }

  std::vector<TableColumn> columns() const override {
    const std::string more = " More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/";
    std::vector<TableColumn> out = {
        name_column(),
        {"Desired", "integer", "",
         "The total number of nodes that should be running the daemon pod (including nodes correctly running the "
         "daemon pod)." +
             more,
         0},
        {"Current", "integer", "",
         "The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod." + more,
         0},
        {"Ready", "integer", "",
         "numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon "
         "pod running with a Ready Condition.",
         0},
        {"Up-to-date", "integer", "", "The total number of nodes that are running updated daemon pod", 0},
        {"Available", "integer", "",
         "The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and "
         "available (ready for at least spec.minReadySeconds)",
         0},
        {"Node Selector", "string", "",
         "NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a "
         "node's labels for the pod to be scheduled on that node. More info: "
         "https://kubernetes.io/docs/concepts/configuration/assign-pod-node/",
         0},
        age_column()};
    add_template_columns(
        out,
        "A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must "
        "match the pod template's labels. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors");
    return out;
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& status = member(object, "status");
    Json out = Json::array({text_of(meta, "name")});
    for (const char* key : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
                            "numberAvailable"}) {
      out.push_back(int_of(status, key));
    }
    out.push_back(labels_text(map_of(member_at(object, "spec.template.spec"), "nodeSelector")));
    out.push_back(age_cell(member(meta, "creationTimestamp"), now));
    add_template_cells(out, object);
    return out;
  }

 private:
  static constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

  static void check_rolling(FieldErrors& out, const FieldPath& path, const Json& rolling) {
    const Json& unavailable = member(rolling, "maxUnavailable");
    const Json& surge = member(rolling, "maxSurge");
    if (!is_zero_amount(unavailable) && !is_zero_amount(surge)) {
      out.push_back(invalid_value(path.child("maxSurge"), surge, "may not be set when maxUnavailable is non-zero"));
    } else if (is_zero_amount(unavailable) && is_zero_amount(surge)) {
      out.push_back(required(path.child("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
    }
  }

  static FieldErrors check(const Json& spec) {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& selector = member(spec, "selector");
    const Json& labels = member_at(spec, "template.metadata.labels");
    if (!selector.is_null()) check_label_selector(out, path.child("selector"), selector);
    if (selector.is_null() || !label_selector_matches(selector, labels))
      out.push_back(invalid_value(FieldPath("spec.template.metadata.labels"), labels,
                                  "`selector` does not match template `labels`"));
    if (!selector.is_null() && map_of(selector, "matchLabels").empty() && list_of(selector, "matchExpressions").empty())
      out.push_back(invalid_value(path.child("selector"), selector, "empty selector is invalid for daemonset"));
    check_template(out, spec);
    check_always_restarts(out, path.child("template").child("spec"), member_at(spec, "template.spec"), "DaemonSet");
    check_not_negative(out, path, spec, "minReadySeconds");
    const std::string& type = text_of(member(spec, "updateStrategy"), "type");
    if (type == "RollingUpdate") {
      check_rolling(out, path.child("updateStrategy").child("rollingUpdate"),
                    member_at(spec, "updateStrategy.rollingUpdate"));
    } else if (type != "OnDelete") {
      out.push_back(not_supported(path.child("updateStrategy"), type, {"RollingUpdate", "OnDelete"}));
    }
    check_not_negative(out, path, spec, "revisionHistoryLimit");
    return out;
  }
};

class ReplicationControllerKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    set_default(spec, "replicas", 1);
    if (!is_set(spec, "template")) return;
    const Json labels = member_at(spec, "template.metadata.labels");
    if (count_of(labels) > 0) {
      if (map_of(spec, "selector").empty()) spec["selector"] = labels;
      Json& metadata = object_member(object, "metadata");
      if (map_of(metadata, "labels").empty()) metadata["labels"] = labels;
    }
    default_template(object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override { return check(object); }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json&) const override {
    return check(object);
  }
  std::string default_propagation(const WriteContext&) const override { return "Orphan"; }

  std::vector<TableColumn> columns() const override {
    const std::string more =
        " More info: https://kubernetes.io/docs/concepts/workloads/controllers/"
        "replicationcontroller#what-is-a-replicationcontroller";
    std::vector<TableColumn> out = {
        name_column(),
        {"Desired", "integer", "",
         "Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and "
         "unspecified. Defaults to 1." +
             more,
         0},
        {"Current", "integer", "", "Replicas is the most recently observed number of replicas." + more, 0},
        {"Ready", "integer", "", "The number of ready replicas for this replication controller.", 0},
        age_column()};
    add_template_columns(
        out,
        "Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is "
        "defaulted to the labels present on the Pod template. Label keys and values that must match in order to be "
        "controlled by this replication controller, if empty defaulted to labels on Pod template. More info: "
        "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors");
    return out;
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& status = member(object, "status");
    Json out =
        Json::array({text_of(meta, "name"), int_of(member(object, "spec"), "replicas"), int_of(status, "replicas"),
                     int_of(status, "readyReplicas"), age_cell(member(meta, "creationTimestamp"), now)});
    add_template_cells(out, object);
    out.back() = labels_text(map_of(member(object, "spec"), "selector"));
    return out;
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"status.replicas"}; }
  std::string field_value(const Json& object, std::string_view, const GroupVersion&) const override {
    return std::to_string(int_of(member(object, "status"), "replicas"));
  }

 private:
  static FieldErrors check(const Json& object) {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& spec = member(object, "spec");
    check_not_negative(out, path, spec, "minReadySeconds");
    const Json& selector = map_of(spec, "selector");
    if (selector.empty()) out.push_back(required(path.child("selector"), ""));
    check_not_negative(out, path, spec, "replicas");
    if (!is_set(spec, "template")) {
      out.push_back(required(path.child("template"), ""));
      return out;
    }
    const Json& labels = member_at(spec, "template.metadata.labels");
    if (!selector.empty() && !label_selector_matches({{"matchLabels", selector}}, labels))
      out.push_back(invalid_value(FieldPath("spec.template.metadata.labels"), labels,
                                  "`selector` does not match template `labels`"));
    check_template(out, spec);
    check_always_restarts(out, FieldPath("spec.template.spec"), member_at(spec, "template.spec"),
                          "ReplicationController");
    return out;
  }
};

}  // namespace

std::unique_ptr<Kind> make_stateful_set_kind() {
  KindInfo info = pod_set_info(kind_info({"apps", "v1"}, "apps/v1", "StatefulSet", "statefulsets", "statefulset", true),
                               "sts", true);
  info.name_rule = NameRule::kDnsLabel;
  return std::make_unique<StatefulSetKind>(std::move(info));
}
std::unique_ptr<Kind> make_daemon_set_kind() {
  return std::make_unique<DaemonSetKind>(
      pod_set_info(kind_info({"apps", "v1"}, "apps/v1", "DaemonSet", "daemonsets", "daemonset", true), "ds", false));
}
std::unique_ptr<Kind> make_replication_controller_kind() {
  return std::make_unique<ReplicationControllerKind>(pod_set_info(
      core_kind_info("ReplicationController", "replicationcontrollers", "replicationcontroller", true), "rc", true));
}

}  // namespace dra::apiserver
