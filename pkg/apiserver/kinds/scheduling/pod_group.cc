// PodGroup: its policy, constraints and reference never change; kube-scheduler owns its status.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

KindInfo pod_group_info() {
  KindInfo info = scheduling_kind_info("PodGroup", "podgroups", "podgroup");
  with_status(info);
  return info;
}

// Where the template comes from: the same two names in v1alpha2 and, from 1.37 on, v1beta1.
struct TemplateReference {
  const char* field = "podGroupTemplateRef";
  const char* workload = "workloadName";
  const char* name = "podGroupTemplateName";
};
bool has_workload_ref() {
  return served_release() >= 37;
}
TemplateReference reference_names() {
  return has_workload_ref() ? TemplateReference{"workloadRef", "workloadName", "templateName"} : TemplateReference{};
}
const Json& reference_of(const Json& spec) {
  return has_workload_ref() ? member(spec, "workloadRef") : member_at(spec, "podGroupTemplateRef.workload");
}

std::string policy_word(const Json& spec) {
  return is_set(member(spec, "schedulingPolicy"), "gang") ? "Gang" : "Basic";
}

std::string status_word(const Json& object) {
  std::string word = "Pending", disrupted;
  for (const Json& condition : list_of(member(object, "status"), "conditions")) {
    if (text_of(condition, "type") == (has_workload_ref() ? "PodGroupInitiallyScheduled" : "PodGroupScheduled"))
      word = text_of(condition, "status") == "True" ? "Scheduled" : "Unschedulable";
    if (text_of(condition, "type") == "DisruptionTarget") disrupted = text_of(condition, "reason");
  }
  return disrupted.empty() ? word : disrupted;
}

class PodGroupKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (has_workload_ref() && member(object, "spec").is_object())
      set_default(object["spec"], "disruptionMode", {{"single", Json::object()}});
  }
  void prepare_for_create(const WriteContext&, Json& object) const override {
    Json& spec = object_member(object, "spec");
    drop_disabled_group_fields(spec, Json());
    if (!has_workload_ref()) spec["disruptionMode"] = "Pod";  // the default, which answers contain anyway
  }
  void prepare_for_update(const WriteContext&, Json& object, const Json& old) const override {
    Json& spec = object_member(object, "spec");
    const Json mode = member(spec, "disruptionMode");
    drop_disabled_group_fields(spec, member(old, "spec"));
    if (!has_workload_ref()) spec["disruptionMode"] = mode;
  }
  void prepare_for_status_update(const WriteContext&, Json& object, const Json& old) const override {
    if (!serves_gate(kGroupClaimsGate) && list_of(member(old, "status"), "resourceClaimStatuses").empty())
      object_member(object, "status").erase("resourceClaimStatuses");
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& spec = member(object, "spec");
    const char* field = reference_names().field;
    if (is_set(spec, field)) check_reference(out, path.child(field), spec);
    check_scheduling_policy(out, path.child("schedulingPolicy"), member(spec, "schedulingPolicy"));
    check_scheduling_constraints(out, path.child("schedulingConstraints"), member(spec, "schedulingConstraints"));
    check_group_claims(out, path, spec);
    check_group_fields_of_137(out, path, spec);
    return out;
  }
  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& spec = member(object, "spec");
    const Json& before = member(old, "spec");
    for (const char* key : {reference_names().field, "schedulingPolicy", "schedulingConstraints", "resourceClaims"}) {
      // minCount may change from 1.37 on.
      if (has_workload_ref() && key == std::string_view("schedulingPolicy") &&
          policy_word(spec) == policy_word(before)) {
        check_scheduling_policy(out, path.child(key), member(spec, key));
        continue;
      }
      check_unchanged(out, path.child(key), member(spec, key), member(before, key));
    }
    if (has_workload_ref()) {
      for (const char* key : {"disruptionMode", "priorityClassName", "priority", "parentCompositePodGroupName"})
        check_unchanged(out, path.child(key), member(spec, key), member(before, key));
    } else if (text_of(spec, "disruptionMode") != text_of(before, "disruptionMode")) {
      out.push_back(forbidden(path.child("disruptionMode"), ""));
    }
    return out;
  }
  FieldErrors validate_status_update(const WriteContext&, const Json& object, const Json&) const override {
    FieldErrors out;
    check_conditions(out, FieldPath("status.conditions"), member_at(object, "status.conditions"));
    const Json& entries = list_of(member(object, "spec"), "resourceClaims");
    const FieldPath statuses("status.resourceClaimStatuses");
    size_t i = 0;
    for (const Json& status : list_of(member(object, "status"), "resourceClaimStatuses")) {
      const FieldPath at = statuses.index(i++);
      const std::string& name = text_of(status, "name");
      if (std::none_of(entries.begin(), entries.end(), [&](const Json& one) { return text_of(one, "name") == name; }))
        out.push_back(invalid(at.child("name"), name, "must match the name of an entry in `spec.resourceClaims`"));
      if (is_set(status, "resourceClaimName"))
        add_problems(out, at.child("resourceClaimName"), text_of(status, "resourceClaimName"),
                     dns_subdomain_problems(text_of(status, "resourceClaimName")));
    }
    return out;
  }

  // The referenced Workload must exist and have the template.
  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    const Json& reference = reference_of(member(object, "spec"));
    const std::string& workload = text_of(reference, reference_names().workload);
    const std::string& wanted = text_of(reference, reference_names().name);
    // Validation refuses an invalid name.
    if (!dns_subdomain_problems(workload).empty() || !dns_label_problems(wanted).empty() || ctx.reader == nullptr)
      return {};
    if (const auto why = why_no_template(ctx, workload, wanted, false))
      return fail_status(forbidden_status(info().group_resource(), text_of(member(object, "metadata"), "name"),
                                          "PodGroup rejected: " + *why));
    return {};
  }

  std::vector<TableColumn> columns() const override {
    return {name_column(),
            {"Policy", "string", "",
             "SchedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are "
             "expected to fill this field by copying it from a PodGroupTemplate. This field is immutable.",
             0},
            {"Workload", "string", "", "Name of the referenced Workload object", 0},
            {"Status", "string", "", "Status of the PodGroup", 0},
            age_column()};
  }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    const Json& spec = member(object, "spec");
    const std::string& workload = text_of(reference_of(spec), "workloadName");
    return Json::array({text_of(meta, "name"), policy_word(spec), workload.empty() ? "<none>" : workload,
                        status_word(object), age_cell(member(meta, "creationTimestamp"), now)});
  }

 private:
  static void check_reference(FieldErrors& out, const FieldPath& path, const Json& spec) {
    if (has_workload_ref()) {
      check_long_name(out, path, member(spec, "workloadRef"), "workloadName");
      check_short_name(out, path, member(spec, "workloadRef"), "templateName");
      return;
    }
    const Json& reference = member(spec, "podGroupTemplateRef");
    if (!is_set(reference, "workload")) return out.push_back(invalid(path, "", "must specify one of: `workload`"));
    const FieldPath at = path.child("workload");
    check_long_name(out, at, member(reference, "workload"), "workloadName");
    check_short_name(out, at, member(reference, "workload"), "podGroupTemplateName");
  }
};

}  // namespace

std::unique_ptr<Kind> make_pod_group_kind() {
  return std::make_unique<PodGroupKind>(pod_group_info());
}

}  // namespace dra::apiserver
