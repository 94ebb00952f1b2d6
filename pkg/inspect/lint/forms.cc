#include "pkg/inspect/lint/forms.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/base/strings.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/lint/fields.h"
#include "pkg/inspect/state/pod_templates.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr std::string_view kV1 = "resource.k8s.io/v1";

std::string form_text(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The field of a claim that servers before 1.37 do not have.
constexpr std::string_view kDerivedAttributes = "derivedAttributes";

class FormLinter {
 public:
  FormLinter(const inventory::Features& rules, FindingList& findings) : rules_(rules), findings_(findings) {}

  void version(const json& object, const Place& place) {
    const std::string version = form_text(object, "apiVersion");
    if (version == kV1 || form_text(object, "kind") == "DeviceTaintRule") return;
    const bool gone = version == "resource.k8s.io/v1alpha2" || version == "resource.k8s.io/v1alpha3" ||
                      version == "resource.k8s.io/v1alpha1";
    const bool known = gone || version == "resource.k8s.io/v1beta1" || version == "resource.k8s.io/v1beta2";
    findings_.add(gone || !known ? Severity::kError : Severity::kWarning, place.child("apiVersion"),
                  LintCode::kOldVersion,
                  !known ? version + " is not known; use resource.k8s.io/v1"
                  : gone ? version + " is no longer served; kubectl dra migrate -f FILE makes v1 of it"
                         : version + " is off by default on new servers; kubectl dra migrate -f FILE makes v1 of it");
  }

  void kind(const std::string& kind, const Place& place) {
    static const std::vector<std::string> kKinds{"DeviceClass", "ResourceClaim", "ResourceClaimTemplate",
                                                 "ResourceSlice"};
    if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) return;
    const std::string near = nearest(kind, kKinds);
    findings_.error(place.child("kind"), LintCode::kUnknownKind,
                    "resource.k8s.io/v1 has no kind " + quote(kind) +
                        (near.empty() ? "; it has " + join(kKinds, ", ") : "; did you mean " + quote(near) + "?"));
  }

  void fields(const json& value, const FieldTree& tree, const Place& place) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i) fields(value[i], tree, place.index(i));
      return;
    }
    if (!value.is_object() || tree.open()) return;
    for (const auto& [key, element] : value.items()) {
      const std::optional<FieldTree> child = tree.child(key);
      if (child && key == kDerivedAttributes) derived_attributes(place.child(key));
      if (child)
        fields(element, *child, place.child(key));
      else
        unknown(tree, key, place.child(key));
    }
  }

  // Servers drop the field without a word unless the gate is on (alpha in 1.36), and then each pod gets its own claim.
  void group_claims(const json& object, const std::string& kind, const Place& place) {
    const auto report = [&](const json& holder, const Place& at) {
      const auto claims = holder.is_object() ? holder.find("resourceClaims") : holder.end();
      if (!holder.is_object() || claims == holder.end() || !claims->is_array() || claims->empty()) return;
      findings_.warn(at.child("resourceClaims"), LintCode::kFieldNeedsGate,
                     "only servers with the feature gate DRAWorkloadResourceClaims keep it, which is off by default; "
                     "all others drop it, and every pod of the group gets a claim of its own: name one ResourceClaim "
                     "in the pods (resourceClaimName) to share it");
    };
    const auto spec = object.find("spec");
    if (spec == object.end() || !spec->is_object()) return;
    if (kind == "PodGroup") return report(*spec, place.child("spec"));
    const auto groups = spec->find("podGroupTemplates");
    if (kind != "Workload" || groups == spec->end() || !groups->is_array()) return;
    for (size_t i = 0; i < groups->size(); ++i)
      report((*groups)[i], place.child("spec").child("podGroupTemplates").index(i));
  }

  // Until Kubernetes 1.30, pods named their claims one level deeper (resource.k8s.io/v1alpha2).
  void sources(const json& object, const Place& place) {
    for (const PodTemplate& one : pod_templates_of(object)) {
      const json& spec = object[json::json_pointer(one.pointer)]["spec"];
      const auto claims = spec.find("resourceClaims");
      if (claims == spec.end() || !claims->is_array()) continue;
      for (size_t i = 0; i < claims->size(); ++i) {
        if (!(*claims)[i].is_object() || !(*claims)[i].contains("source")) continue;
        const std::string field = path_of(one.pointer) + "spec.resourceClaims[" + std::to_string(i) + "].source";
        findings_.error(place_of(object, place, field), LintCode::kOldForm, advice_for_source((*claims)[i]["source"]));
      }
    }
  }

 private:
  // "/spec/jobs/0/template" as "spec.jobs[0].template."
  static std::string path_of(const std::string& pointer) {
    std::string path;
    const std::vector<std::string> steps = split(pointer, '/');
    for (size_t i = 1; i < steps.size(); ++i) {
      const bool number = !steps[i].empty() && steps[i].find_first_not_of("0123456789") == std::string::npos;
      path += number ? "[" + steps[i] + "]" : (path.empty() ? "" : ".") + steps[i];
    }
    return path.empty() ? "" : path + ".";
  }

  void derived_attributes(const Place& place) {
    if (rules_.derived_attributes) return;
    if (!rules_.selectors_of_137)
      return findings_.error(place, LintCode::kUnknownField,
                             "field " + quote(kDerivedAttributes) +
                                 " is not known before Kubernetes 1.37; leave it out, or say "
                                 "--kubernetes-version=1.37");
    findings_.warn(place, LintCode::kFieldNeedsGate,
                   "only servers of 1.37 with the feature gate DRADerivedAttributes keep it, which is off by "
                   "default; without it the claim is refused");
  }

  void unknown(const FieldTree& tree, const std::string& key, const Place& place) {
    findings_.error(place, LintCode::kUnknownField, "unknown field " + quote(key) + advice(tree, key));
  }

  // Where the field belongs: below here, or a field with a similar spelling.
  static std::string advice(const FieldTree& tree, const std::string& field) {
    const std::vector<std::string> places = tree.places_of(field);
    if (!places.empty()) return "; put " + field + " under " + places.front();
    const std::string near = nearest(field, tree.children());
    return near.empty() ? "" : "; did you mean " + quote(near) + "?";
  }

  static std::string advice_for_source(const json& source) {
    std::string instead = "resourceClaimName or resourceClaimTemplateName";
    for (const char* key : {"resourceClaimName", "resourceClaimTemplateName"})
      if (const std::string name = form_text(source, key); !name.empty()) instead = std::string(key) + ": " + name;
    return "Kubernetes 1.31 and newer have no source; write " + instead +
           " in its place (kubectl dra migrate -f FILE does)";
  }

  const inventory::Features& rules_;
  FindingList& findings_;
};

}  // namespace

void lint_forms(const json& object, const Place& place, const inventory::Features& rules, FindingList& findings) {
  FormLinter linter(rules, findings);
  const std::string version = form_text(object, "apiVersion"), kind = form_text(object, "kind");
  linter.sources(object, place);
  if (version.starts_with("scheduling.k8s.io/")) linter.group_claims(object, kind, place);
  if (!version.starts_with("resource.k8s.io/")) return;
  linter.version(object, place);
  // Older versions have other fields; they are migrated first.
  if (version != kV1) return;
  if (const std::optional<FieldTree> tree = FieldTree::of(kind))
    linter.fields(object, *tree, place);
  else
    linter.kind(kind, place);
}

}  // namespace dra::inspect
