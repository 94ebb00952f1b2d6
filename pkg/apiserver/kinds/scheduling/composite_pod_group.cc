// CompositePodGroup: a group of PodGroups and of such groups. Nothing of it changes but its status.
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

class CompositePodGroupKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    if (member(object, "spec").is_object()) set_default(object["spec"], "disruptionMode", {{"single", Json::object()}});
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    const FieldPath path("spec");
    const Json& spec = member(object, "spec");
    if (!is_set(spec, "workloadRef")) {
      out.push_back(required(path.child("workloadRef"), ""));
    } else {
      check_long_name(out, path.child("workloadRef"), member(spec, "workloadRef"), "workloadName");
      check_short_name(out, path.child("workloadRef"), member(spec, "workloadRef"), "templateName");
    }
    check_scheduling_policy(out, path.child("schedulingPolicy"), member(spec, "schedulingPolicy"), "minGroupCount");
    check_scheduling_constraints(out, path.child("schedulingConstraints"), member(spec, "schedulingConstraints"));
    check_group_fields_of_137(out, path, spec);
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    for (const char* key : {"parentCompositePodGroupName", "workloadRef", "schedulingPolicy", "schedulingConstraints",
                            "disruptionMode", "priorityClassName", "priority", "preemptionPolicy"})
      check_unchanged(out, FieldPath("spec").child(key), member(member(object, "spec"), key),
                      member(member(old, "spec"), key));
    return out;
  }

  FieldErrors validate_status_update(const WriteContext&, const Json& object, const Json&) const override {
    FieldErrors out;
    check_conditions(out, FieldPath("status.conditions"), member_at(object, "status.conditions"));
    return out;
  }

  StatusOr<void> admit_create(const WriteContext& ctx, Json& object) const override {
    const Json& reference = member_at(object, "spec.workloadRef");
    const std::string& workload = text_of(reference, "workloadName");
    const std::string& wanted = text_of(reference, "templateName");
    // Validation refuses an invalid name.
    if (!dns_subdomain_problems(workload).empty() || !dns_label_problems(wanted).empty() || ctx.reader == nullptr)
      return {};
    if (const auto why = why_no_template(ctx, workload, wanted, true))
      return fail_status(forbidden_status(info().group_resource(), text_of(member(object, "metadata"), "name"),
                                          "CompositePodGroup rejected: " + *why));
    return {};
  }

  std::vector<TableColumn> columns() const override { return {name_column(), age_column()}; }
  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    return Json::array({text_of(meta, "name"), age_cell(member(meta, "creationTimestamp"), now)});
  }
};

}  // namespace

std::unique_ptr<Kind> make_composite_pod_group_kind() {
  KindInfo info = kind_info({"scheduling.k8s.io", "v1alpha3"}, "scheduling/v1alpha3", "CompositePodGroup",
                            "compositepodgroups", "compositepodgroup", true);
  with_status(info);
  return std::make_unique<CompositePodGroupKind>(std::move(info));
}

}  // namespace dra::apiserver
