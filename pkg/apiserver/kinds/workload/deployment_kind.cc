// Deployment and ReplicaSet.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/workload/kinds.h"
#include "pkg/apiserver/kinds/workload/template.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

// Both are judged alike, by upstream too: what it says of a ReplicaSet's selector has the word "deployment" in it.
class ReplicatedKind : public Kind {
 public:
  using Kind::Kind;

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    return check(member(object, "spec"));
  }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out = check(member(object, "spec"));
    check_selector_kept(out, object, old);
    return out;
  }

 private:
  static FieldErrors check(const Json& spec) {
    FieldErrors out;
    check_not_negative(out, FieldPath("spec"), spec, "replicas");
    check_workload_selector(out, spec, "deployment");
    check_selector_matches(out, spec);
    check_template(out, spec);
    const std::string& restart = text_of(member_at(spec, "template.spec"), "restartPolicy");
    if (restart == "OnFailure" || restart == "Never") {
      out.push_back(not_supported(FieldPath("spec.template.spec.restartPolicy"), restart, {"Always"}));
    }
    for (const char* key : {"minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}) {
      check_not_negative(out, FieldPath("spec"), spec, key);
    }
    return out;
  }
};

class DeploymentKind : public ReplicatedKind {
 public:
  using ReplicatedKind::ReplicatedKind;

  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    set_default(spec, "replicas", 1);
    Json& strategy = object_member(spec, "strategy");
    if (text_of(strategy, "type").empty()) strategy["type"] = "RollingUpdate";
    if (text_of(strategy, "type") == "RollingUpdate") {
      Json& rolling = object_member(strategy, "rollingUpdate");
      set_default(rolling, "maxUnavailable", "25%");
      set_default(rolling, "maxSurge", "25%");
    }
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    default_template(object);
  }

  // Annotations also count: the deployment controller copies them to its replica sets.
  bool bumps_generation(const Json& object, const Json& old) const override {
    return !semantic_equal(member(object, "spec"), member(old, "spec")) ||
           !semantic_equal(member_at(object, "metadata.annotations"), member_at(old, "metadata.annotations"));
  }

  std::vector<TableColumn> columns() const override {
    std::vector<TableColumn> out = {
        name_column(),
        {"Ready", "string", "", "Number of the pod with ready state", 0},
        {"Up-to-date", "string", "",
         "Total number of non-terminating pods targeted by this deployment that have the desired template spec.", 0},
        {"Available", "string", "",
         "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this "
         "deployment.",
         0},
        age_column()};
    add_template_columns(out,
                         "Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the "
                         "ones affected by this deployment. It must match the pod template's labels.");
    return out;
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& status = member(object, "status");
    Json out = Json::array({text_of(meta, "name"),
                            std::to_string(int_of(status, "readyReplicas")) + "/" +
                                std::to_string(int_of(member(object, "spec"), "replicas")),
                            int_of(status, "updatedReplicas"), int_of(status, "availableReplicas"),
                            age_cell(member(meta, "creationTimestamp"), now)});
    add_template_cells(out, object);
    return out;
  }
};

class ReplicaSetKind : public ReplicatedKind {
 public:
  using ReplicatedKind::ReplicatedKind;

  void set_defaults(Json& object) const override {
    set_default(object_member(object, "spec"), "replicas", 1);
    default_template(object);
  }

  std::vector<TableColumn> columns() const override {
    std::vector<TableColumn> out = {
        name_column(),
        {"Desired", "integer", "",
         "Replicas is the number of desired pods. This is a pointer to distinguish between "
         "explicit zero and unspecified. Defaults to 1. More info: "
         "https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
         0},
        {"Current", "integer", "",
         "Replicas is the most recently observed number of non-terminating pods. More info: "
         "https://kubernetes.io/docs/concepts/workloads/controllers/replicaset",
         0},
        {"Ready", "integer", "",
         "The number of non-terminating pods targeted by this ReplicaSet with a Ready "
         "Condition.",
         0},
        age_column()};
    add_template_columns(
        out,
        "Selector is a label query over pods that should match the replica count. Label keys and values that must "
        "match in order to be controlled by this replica set. It must match the pod template's labels. More info: "
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
    return out;
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"status.replicas"}; }
  std::string field_value(const Json& object, std::string_view, const GroupVersion&) const override {
    return std::to_string(int_of(member(object, "status"), "replicas"));
  }
};

}  // namespace

std::unique_ptr<Kind> make_deployment_kind() {
  KindInfo info = pod_set_info(kind_info({"apps", "v1"}, "apps/v1", "Deployment", "deployments", "deployment", true),
                               "deploy", true);
  info.status_keeps_finalizers = false;
  return std::make_unique<DeploymentKind>(std::move(info));
}
std::unique_ptr<Kind> make_replica_set_kind() {
  return std::make_unique<ReplicaSetKind>(
      pod_set_info(kind_info({"apps", "v1"}, "apps/v1", "ReplicaSet", "replicasets", "replicaset", true), "rs", true));
}

}  // namespace dra::apiserver
