// Workload: templates of PodGroups. The templates and its controller reference never change.
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/apiserver/kinds/described_kind.h"
#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/scheduling/kinds.h"
#include "pkg/apiserver/model/json_text.h"
#include "pkg/apiserver/model/release.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/json_read.h"

namespace dra::apiserver {

namespace {

constexpr size_t kMaxTemplates = 8;

void check_segment(FieldErrors& out, const FieldPath& path, const Json& object, const char* key) {
  const std::string& name = text_of(object, key);
  if (name.empty()) return out.push_back(required(path.child(key), ""));
  if (name == "." || name == "..") out.push_back(invalid(path.child(key), name, "may not be '" + name + "'"));
  for (const char c : {'/', '%'})
    if (name.find(c) != std::string::npos)
      out.push_back(invalid(path.child(key), name, std::string("may not contain '") + c + "'"));
}

void check_controller(FieldErrors& out, const FieldPath& path, const Json& reference) {
  if (!text_of(reference, "apiGroup").empty()) check_long_name(out, path, reference, "apiGroup");
  check_segment(out, path, reference, "kind");
  check_segment(out, path, reference, "name");
}

// Compact JSON with the members in the order of the Go struct.
std::string template_text(const Json& one) {
  std::string text;
  for (const char* key : {"name", "schedulingPolicy", "schedulingConstraints", "resourceClaims"})
    if (one.contains(key)) text += std::string(text.empty() ? "{\"" : ",\"") + key + "\":" + compact_text(one[key]);
  return text + "}";
}

void check_templates(FieldErrors& out, const FieldPath& path, const Json& templates) {
  if (templates.empty()) return out.push_back(required(path, ""));
  if (templates.size() > kMaxTemplates)
    return out.push_back(too_many(path, static_cast<int64_t>(templates.size()), kMaxTemplates));
  std::set<std::string> names;
  size_t i = 0;
  for (const Json& one : templates) {
    const FieldPath at = path.index(i++);
    if (!names.insert(text_of(one, "name")).second) out.push_back(duplicate_raw(at, template_text(one)));
  }
  i = 0;
  for (const Json& one : templates) {
    const FieldPath at = path.index(i++);
    check_short_name(out, at, one, "name");
    check_scheduling_policy(out, at.child("schedulingPolicy"), member(one, "schedulingPolicy"));
    check_scheduling_constraints(out, at.child("schedulingConstraints"), member(one, "schedulingConstraints"));
    check_group_claims(out, at, one);
    check_group_fields_of_137(out, at, one);
  }
}

// `depth`: the level of these templates, from 1.
void check_composites(FieldErrors& out, const FieldPath& path, const Json& templates, int depth) {
  if (templates.size() > kMaxTemplates)
    return out.push_back(too_many(path, static_cast<int64_t>(templates.size()), kMaxTemplates));
  std::set<std::string> names;
  size_t i = 0;
  for (const Json& one : templates) {
    const FieldPath at = path.index(i++);
    if (!names.insert(text_of(one, "name")).second) out.push_back(duplicate(at, text_of(one, "name")));
    if (depth >= kMaxTemplateDepth) {
      out.push_back(invalid(at, text_of(one, "name"), "must not exceed the maximum tree depth of 4"));
      continue;
    }
    check_short_name(out, at, one, "name");
    check_scheduling_policy(out, at.child("schedulingPolicy"), member(one, "schedulingPolicy"), "minGroupCount");
    check_scheduling_constraints(out, at.child("schedulingConstraints"), member(one, "schedulingConstraints"));
    Json own = one;  // its children are checked below
    own.erase("compositePodGroupTemplates");
    check_group_fields_of_137(out, at, own);
    const Json& groups = list_of(one, "podGroupTemplates");
    const Json& composites = list_of(one, "compositePodGroupTemplates");
    if (groups.empty() && composites.empty())
      out.push_back(invalid(at, "", "must specify at least one of: `podGroupTemplates`, `compositePodGroupTemplates`"));
    if (!groups.empty()) check_templates(out, at.child("podGroupTemplates"), groups);
    check_composites(out, at.child("compositePodGroupTemplates"), composites, depth + 1);
  }
}

void check_all_templates(FieldErrors& out, const FieldPath& path, const Json& spec) {
  if (served_release() < 37)
    return check_templates(out, path.child("podGroupTemplates"), list_of(spec, "podGroupTemplates"));
  const Json& groups = list_of(spec, "podGroupTemplates");
  const Json& composites = list_of(spec, "compositePodGroupTemplates");
  if (!composites.empty() && !serves_gate(kCompositeGate))
    return out.push_back(forbidden(path.child("compositePodGroupTemplates"), ""));
  if (!groups.empty() && !composites.empty())
    out.push_back(invalid(path, "{podGroupTemplates, compositePodGroupTemplates}",
                          "must specify exactly one of: `compositePodGroupTemplates`, `podGroupTemplates`"));
  if (groups.empty() && composites.empty())
    out.push_back(invalid(path, "", "must specify one of: `compositePodGroupTemplates`, `podGroupTemplates`"));
  if (!groups.empty()) check_templates(out, path.child("podGroupTemplates"), groups);
  check_composites(out, path.child("compositePodGroupTemplates"), composites, 1);
}

class WorkloadKind : public DescribedKind {
 public:
  using DescribedKind::DescribedKind;

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    for (const char* key : {"controllerRef", "podGroupTemplates", "compositePodGroupTemplates"})
      check_unchanged(out, FieldPath("spec").child(key), member(member(object, "spec"), key),
                      member(member(old, "spec"), key));
    return out;
  }
};

FieldErrors check_workload(const Json& object) {
  FieldErrors out;
  const FieldPath path("spec");
  const Json& spec = member(object, "spec");
  if (is_set(spec, "controllerRef")) check_controller(out, path.child("controllerRef"), member(spec, "controllerRef"));
  check_all_templates(out, path, spec);
  return out;
}

void prepare_workload(Json& object) {
  Json& spec = object_member(object, "spec");
  if (!member(spec, "podGroupTemplates").is_array()) return;
  for (Json& one : spec["podGroupTemplates"]) drop_disabled_group_fields(one, Json());
}

}  // namespace

std::unique_ptr<Kind> make_workload_kind() {
  KindDescription d;
  d.info = scheduling_kind_info("Workload", "workloads", "workload");
  d.prepare = prepare_workload;
  d.check = check_workload;
  d.columns = {described_age()};
  return std::make_unique<WorkloadKind>(std::move(d));
}

}  // namespace dra::apiserver
