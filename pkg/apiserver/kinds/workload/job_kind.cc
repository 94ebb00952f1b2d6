#include <limits>
#include <nlohmann/json.hpp>

#include "pkg/apiserver/kinds/kind_info.h"
#include "pkg/apiserver/kinds/workload/kinds.h"
#include "pkg/apiserver/kinds/workload/template.h"
#include "pkg/apiserver/validation/content.h"
#include "pkg/apiserver/validation/go_render.h"
#include "pkg/apiserver/validation/json_read.h"
#include "pkg/base/timestamp.h"

namespace dra::apiserver {

namespace {

constexpr const char* kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr const char* kJobName = "batch.kubernetes.io/job-name";

Json& template_labels(Json& job) {
  return object_member(object_member(object_member(object_member(job, "spec"), "template"), "metadata"), "labels");
}

// A job without labels gets those of its template.
void copy_template_labels(Json& job) {
  const Json& labels = member_at(job, "spec.template.metadata.labels");
  if (count_of(labels) == 0 || count_of(member_at(job, "metadata.labels")) > 0) return;
  const Json copy = labels;
  object_member(job, "metadata")["labels"] = copy;
}

// A selector that no other job can have: the job's own uid, as a label on its pods.
void generate_selector(Json& job) {
  const Json meta = member(job, "metadata");
  Json& labels = template_labels(job);
  for (const char* key : {kControllerUid, "controller-uid"}) set_default(labels, key, text_of(meta, "uid"));
  for (const char* key : {kJobName, "job-name"}) set_default(labels, key, text_of(meta, "name"));
  Json& match = object_member(object_member(object_member(job, "spec"), "selector"), "matchLabels");
  set_default(match, kControllerUid, text_of(meta, "uid"));
}

void check_generated_selector(FieldErrors& out, const Json& job) {
  const Json& spec = member(job, "spec");
  if (bool_of(spec, "manualSelector")) return;
  const Json& meta = member(job, "metadata");
  const Json& labels = member_at(spec, "template.metadata.labels");
  const Json expected = {{kControllerUid, text_of(meta, "uid")}, {kJobName, text_of(meta, "name")}};
  const Json& selector = member(spec, "selector");
  if (selector.is_null()) return;
  for (const auto& [key, value] : expected.items()) {
    const FieldPath path = FieldPath("spec.template.metadata.labels").key(key);
    if (!is_set(labels, key)) {
      out.push_back(required(FieldPath("spec.template.metadata.labels"), "must be '" + as_text(value) + "'"));
    } else if (labels.at(key) != value) {
      out.push_back(invalid_value(path, labels, "must be '" + as_text(value) + "'"));
    }
  }
  if (!label_selector_matches(selector, expected)) {
    out.push_back(invalid_value(FieldPath("spec.selector"), selector, "`selector` not auto-generated"));
  }
}

void check_job_spec(FieldErrors& out, const Json& spec) {
  const FieldPath path("spec");
  for (const char* key : {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
                          "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    check_not_negative(out, path, spec, key);
  }
  const std::string& mode = text_of(spec, "completionMode");
  if (mode != "NonIndexed" && mode != "Indexed" && !mode.empty()) {
    out.push_back(not_supported(path.child("completionMode"), mode, {"NonIndexed", "Indexed"}));
  }
  if (mode == "Indexed" && !is_set(spec, "completions")) {
    out.push_back(required(path.child("completions"), "when completion mode is Indexed"));
  }
  const std::string& replacement = text_of(spec, "podReplacementPolicy");
  if (!replacement.empty() && replacement != "Failed" && replacement != "TerminatingOrFailed") {
    out.push_back(not_supported(path.child("podReplacementPolicy"), replacement, {"Failed", "TerminatingOrFailed"}));
  } else if (replacement == "TerminatingOrFailed" && is_set(spec, "podFailurePolicy")) {
    out.push_back(not_supported(path.child("podReplacementPolicy"), replacement, {"Failed"}));
  }
  if (!is_set(spec, "selector")) {
    out.push_back(required(path.child("selector"), ""));
  } else {
    check_label_selector(out, path.child("selector"), member(spec, "selector"));
  }
  check_selector_matches(out, spec);
  check_template(out, spec);
  const std::string& restart = text_of(member_at(spec, "template.spec"), "restartPolicy");
  if (restart == "Always") {
    out.push_back(required(path.child("template").child("spec").child("restartPolicy"),
                           "valid values: \"OnFailure\", \"Never\""));
  }
}

// An indexed job may grow or shrink if parallelism changes with it.
void check_completions_kept(FieldErrors& out, const Json& spec, const Json& old) {
  const FieldPath path("spec.completions");
  const Json& completions = member(spec, "completions");
  if (completions == member(old, "completions")) return;
  if (text_of(spec, "completionMode") != "Indexed") {
    out.push_back(invalid_value(path, completions, "field is immutable"));
  } else if (completions != member(spec, "parallelism")) {
    out.push_back(invalid_value(path, completions, "can only be modified in tandem with spec.parallelism"));
  }
}

// While a job that never started is suspended, its template's labels, annotations and scheduling fields may change.
Json unsteered(Json pod_template) {
  Json& meta = object_member(pod_template, "metadata");
  meta.erase("labels");
  meta.erase("annotations");
  Json& spec = object_member(pod_template, "spec");
  for (const char* key : {"nodeSelector", "tolerations", "schedulingGates"}) spec.erase(key);
  Json& affinity = object_member(spec, "affinity");
  affinity.erase("nodeAffinity");
  if (affinity.empty()) spec.erase("affinity");
  return pod_template;
}

void check_template_kept(FieldErrors& out, const Json& job, const Json& old) {
  const Json& now = member_at(job, "spec.template");
  const Json& before = member_at(old, "spec.template");
  const bool steerable = bool_of(member(old, "spec"), "suspend") && !is_set(member(old, "status"), "startTime");
  const bool same = steerable ? semantic_equal(unsteered(now), unsteered(before)) : semantic_equal(now, before);
  if (same) return;
  Json shown = now;
  Json& spec = object_member(shown, "spec");
  Json& context = object_member(spec, "securityContext");
  for (const char* key : {"hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"}) {
    if (is_set(spec, key)) context[key] = member(spec, key);
  }
  out.push_back(invalid_raw(FieldPath("spec.template"), render_go("PodTemplateSpec", shown), "field is immutable"));
}

std::string job_status(const Json& job) {
  for (const char* type : {"Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    const bool waits = type == std::string_view("FailureTarget") || type == std::string_view("SuccessCriteriaMet");
    if (waits && is_set(member(job, "metadata"), "deletionTimestamp")) return "Terminating";
    for (const auto& c : list_of(member(job, "status"), "conditions")) {
      if (text_of(c, "type") == type && text_of(c, "status") == "True") return type;
    }
  }
  return is_set(member(job, "metadata"), "deletionTimestamp") ? "Terminating" : "Running";
}

std::string job_completions(const Json& job) {
  const Json& spec = member(job, "spec");
  const std::string done = std::to_string(int_of(member(job, "status"), "succeeded"));
  if (is_set(spec, "completions")) return done + "/" + std::to_string(int_of(spec, "completions"));
  const int64_t parallelism = int_of(spec, "parallelism");
  return parallelism > 1 ? done + "/1 of " + std::to_string(parallelism) : done + "/1";
}

std::string job_duration(const Json& job, WallTime now) {
  const Json& status = member(job, "status");
  Timestamp start;
  Timestamp end = now;
  if (!is_set(status, "startTime") || !parse_rfc3339(text_of(status, "startTime"), start)) return "";
  if (is_set(status, "completionTime")) parse_rfc3339(text_of(status, "completionTime"), end);
  return human_duration(seconds_between(start, end));
}

class JobKind : public Kind {
 public:
  using Kind::Kind;

  void set_defaults(Json& object) const override {
    Json& spec = object_member(object, "spec");
    if (!is_set(spec, "completions") && !is_set(spec, "parallelism")) spec["completions"] = 1;
    set_default(spec, "parallelism", 1);
    set_default(spec, "backoffLimit", is_set(spec, "backoffLimitPerIndex") ? std::numeric_limits<int32_t>::max() : 6);
    if (text_of(spec, "completionMode").empty()) spec["completionMode"] = "NonIndexed";
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    set_default(spec, "podReplacementPolicy", is_set(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
    copy_template_labels(object);
    default_template(object);
  }

  void prepare_for_create(const WriteContext&, Json& object) const override {
    if (!bool_of(member(object, "spec"), "manualSelector")) generate_selector(object);
    copy_template_labels(object);
  }

  // Labels missing in a write come from the template, which is already the stored one here.
  void prepare_for_update(const WriteContext&, Json& object, const Json&) const override {
    copy_template_labels(object);
  }
  void prepare_for_status_update(const WriteContext&, Json& object, const Json&) const override {
    copy_template_labels(object);
  }

  FieldErrors validate_create(const WriteContext&, const Json& object) const override {
    FieldErrors out;
    check_generated_selector(out, object);
    check_job_spec(out, member(object, "spec"));
    return out;
  }

  FieldErrors validate_update(const WriteContext&, const Json& object, const Json& old) const override {
    FieldErrors out;
    const Json& spec = member(object, "spec");
    check_job_spec(out, spec);
    check_job_spec(out, spec);  // upstream checks twice and reports twice
    check_completions_kept(out, spec, member(old, "spec"));
    if (!semantic_equal(member(spec, "selector"), member_at(old, "spec.selector"))) {
      out.push_back(invalid_value(FieldPath("spec.selector"), member(spec, "selector"), "field is immutable"));
    }
    check_template_kept(out, object, old);
    if (text_of(spec, "completionMode") != text_of(member(old, "spec"), "completionMode")) {
      out.push_back(invalid(FieldPath("spec.completionMode"), text_of(spec, "completionMode"), "field is immutable"));
    }
    return out;
  }

  std::string default_propagation(const WriteContext& ctx) const override {
    ctx.warn(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
        "set propagationPolicy=Orphan to suppress this warning");
    return "Orphan";
  }

  std::vector<TableColumn> columns() const override {
    std::vector<TableColumn> out = {
        name_column(),
        {"Status", "string", "", "Status of the job.", 0},
        {"Completions", "string", "",
         "The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. "
         "However, it may decrease in reaction to scale down of elastic indexed jobs.",
         0},
        {"Duration", "string", "", "Time required to complete the job.", 0},
        age_column()};
    add_template_columns(out,
                         "A label query over pods that should match the pod count. Normally, the system sets this "
                         "field for you. More info: "
                         "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors");
    return out;
  }

  Json cells(const Json& object, WallTime now) const override {
    const Json& meta = member(object, "metadata");
    Json out = Json::array({text_of(meta, "name"), job_status(object), job_completions(object),
                            job_duration(object, now), age_cell(member(meta, "creationTimestamp"), now)});
    add_template_cells(out, object);
    return out;
  }

  std::vector<std::string> field_labels(const GroupVersion&) const override { return {"status.successful"}; }
  std::string field_value(const Json& object, std::string_view, const GroupVersion&) const override {
    return std::to_string(int_of(member(object, "status"), "succeeded"));
  }
  std::string unknown_field_label(std::string_view label, const GroupVersion&) const override {
    return "field label " + std::string("\"") + std::string(label) + "\" not supported for batchv1.Job";
  }
};

}  // namespace

std::unique_ptr<Kind> make_job_kind() {
  KindInfo info = kind_info({"batch", "v1"}, "batch/v1", "Job", "jobs", "job", true);
  info.categories = {"all"};
  info.has_generation = true;
  info.status_keeps_labels = false;
  info.status_keeps_finalizers = false;
  with_status(info);
  return std::make_unique<JobKind>(std::move(info));
}

}  // namespace dra::apiserver
