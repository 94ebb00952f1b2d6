#include "pkg/inspect/lint/lint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/inspect/lint/fields.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

std::string member_string(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A part of a file between lines "---", with the number of lines before it.
struct Part {
  std::string text;
  size_t lines_before = 0;
};

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts(1);
  size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    if (line == "---" || line.starts_with("--- ") || line == "---\r")
      parts.push_back({"", number});
    else
      parts.back().text += line + "\n";
  }
  return parts;
}

class DocumentLinter {
 public:
  DocumentLinter(const Objects* objects, const StateOptions& options, std::vector<Finding>& findings)
      : objects_(objects), options_(options), findings_(findings) {}

  // Counts the objects in the document: those of a List one by one.
  size_t run(const json& document, const yaml::Positions& positions, size_t lines_before) {
    positions_ = &positions;
    lines_before_ = lines_before;
    const auto items = document.is_object() ? document.find("items") : document.end();
    if (!member_string(document, "kind").ends_with("List") || items == document.end() || !items->is_array()) {
      check_object(document, "", "");
      return 1;
    }
    for (size_t i = 0; i < items->size(); ++i)
      check_object((*items)[i], "/items/" + std::to_string(i), "items[" + std::to_string(i) + "]");
    return items->size();
  }

 private:
  void add(Severity severity, const std::string& pointer, const std::string& path, std::string text) {
    if (findings_.size() >= kMaxFindings) return;
    Finding finding{0, 0, severity, path, std::move(text)};
    if (const auto place = positions_->find(pointer); place != positions_->end()) {
      finding.line = place->second.line + lines_before_;
      finding.column = place->second.column;
    }
    findings_.push_back(std::move(finding));
  }

  void check_object(const json& object, const std::string& pointer, const std::string& path) {
    const std::string version = member_string(object, "apiVersion"), kind = member_string(object, "kind");
    if (version.empty() || kind.empty())
      return add(Severity::kError, pointer, path,
                 !object.is_object() ? "no object; it needs apiVersion and kind"
                                     : std::string(version.empty() ? "apiVersion" : "kind") + " is missing");
    check_sources(object, pointer, path);
    if (version.starts_with("scheduling.k8s.io/")) check_group_claims(object, kind, pointer, path);
    if (!version.starts_with("resource.k8s.io/")) return;
    check_version(object, pointer, path);
    // Older versions have other fields; they are migrated first.
    if (version != "resource.k8s.io/v1") return;
    const std::optional<FieldTree> tree = FieldTree::of(kind);
    if (!tree) return check_kind(kind, pointer, path);
    check_fields(object, *tree, pointer, path);
    check_selectors(object, pointer, path);
  }

  // Servers drop the field without a word unless the gate is on (alpha in 1.36), and then each pod gets its own claim.
  void check_group_claims(const json& object, const std::string& kind, const std::string& pointer,
                          const std::string& path) {
    const auto report = [&](const std::string& place) {
      const json::json_pointer at(place);
      if (!object.contains(at) || !object[at].is_array() || object[at].empty()) return;
      std::string field = (path.empty() ? "" : path + ".") + place.substr(1);
      std::replace(field.begin(), field.end(), '/', '.');
      add(Severity::kWarning, pointer + place, field,
          "only servers with the feature gate DRAWorkloadResourceClaims keep it, which is off by default; all others "
          "drop "
          "it, and every pod of the group gets a claim of its own: name one ResourceClaim in the pods "
          "(resourceClaimName) to share it");
    };
    if (kind == "PodGroup") return report("/spec/resourceClaims");
    if (kind != "Workload") return;
    const json::json_pointer groups("/spec/podGroupTemplates");
    const size_t count = object.contains(groups) && object[groups].is_array() ? object[groups].size() : 0;
    for (size_t i = 0; i < count; ++i) report("/spec/podGroupTemplates/" + std::to_string(i) + "/resourceClaims");
  }

  // Until Kubernetes 1.30, pods named their claims one level deeper (resource.k8s.io/v1alpha2).
  void check_sources(const json& object, const std::string& pointer, const std::string& path) {
    for (const std::string place : {"spec", "spec/template/spec", "spec/jobTemplate/spec/template/spec"}) {
      const json::json_pointer at("/" + place + "/resourceClaims");
      if (!object.contains(at) || !object[at].is_array()) continue;
      const json& entries = object[at];
      std::string field = (path.empty() ? "" : path + ".") + at.to_string().substr(1);
      std::replace(field.begin(), field.end(), '/', '.');
      for (size_t i = 0; i < entries.size(); ++i)
        if (entries[i].is_object() && entries[i].contains("source"))
          add(Severity::kError, pointer + at.to_string() + "/" + std::to_string(i) + "/source",
              field + "[" + std::to_string(i) + "].source", advice_for_source(entries[i]["source"]));
    }
  }

  static std::string advice_for_source(const json& source) {
    std::string instead = "resourceClaimName or resourceClaimTemplateName";
    for (const char* key : {"resourceClaimName", "resourceClaimTemplateName"})
      if (const std::string name = member_string(source, key); !name.empty()) instead = std::string(key) + ": " + name;
    return "Kubernetes 1.31 and newer have no source; write " + instead +
           " in its place (kubectl dra migrate -f FILE does)";
  }

  void check_kind(const std::string& kind, const std::string& pointer, const std::string& path) {
    static const std::vector<std::string> kKinds{"DeviceClass", "ResourceClaim", "ResourceClaimTemplate",
                                                 "ResourceSlice"};
    if (std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end()) return;
    const std::string near = nearest(kind, kKinds);
    add(Severity::kError, pointer + "/kind", path.empty() ? "kind" : path + ".kind",
        "resource.k8s.io/v1 has no kind " + quote(kind) +
            (near.empty() ? "; it has " + join(kKinds, ", ") : "; did you mean " + quote(near) + "?"));
  }

  void check_version(const json& document, const std::string& pointer, const std::string& path) {
    const std::string version = member_string(document, "apiVersion");
    const std::string kind = member_string(document, "kind");
    if (version == "resource.k8s.io/v1" || kind == "DeviceTaintRule") return;
    const bool gone = version == "resource.k8s.io/v1alpha2" || version == "resource.k8s.io/v1alpha3" ||
                      version == "resource.k8s.io/v1alpha1";
    const bool known = gone || version == "resource.k8s.io/v1beta1" || version == "resource.k8s.io/v1beta2";
    add(gone || !known ? Severity::kError : Severity::kWarning, pointer + "/apiVersion",
        path.empty() ? "apiVersion" : path + ".apiVersion",
        !known ? version + " is not known; use resource.k8s.io/v1"
        : gone ? version + " is no longer served; kubectl dra migrate -f FILE makes v1 of it"
               : version + " is off by default on new servers; kubectl dra migrate -f FILE makes v1 of it");
  }

  void check_fields(const json& value, const FieldTree& tree, const std::string& pointer, const std::string& path) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i)
        check_fields(value[i], tree, pointer + "/" + std::to_string(i), path + "[" + std::to_string(i) + "]");
      return;
    }
    if (!value.is_object() || tree.open()) return;
    for (const auto& [key, element] : value.items()) {
      const std::string below = pointer + "/" + key, field = path.empty() ? key : path + "." + key;
      if (const std::optional<FieldTree> child = tree.child(key))
        check_fields(element, *child, below, field);
      else
        add(Severity::kError, below, field, "unknown field " + quote(key) + advice(tree, key));
    }
  }

  // Where the field belongs: below here, or a field with a similar spelling.
  static std::string advice(const FieldTree& tree, const std::string& field) {
    const std::vector<std::string> places = tree.places_of(field);
    if (!places.empty()) return "; put " + field + " under " + places.front();
    const std::string near = nearest(field, tree.children());
    return near.empty() ? "" : "; did you mean " + quote(near) + "?";
  }

  void check_selectors(const json& value, const std::string& pointer, const std::string& path) {
    if (value.is_array()) {
      for (size_t i = 0; i < value.size(); ++i)
        check_selectors(value[i], pointer + "/" + std::to_string(i), path + "[" + std::to_string(i) + "]");
    } else if (value.is_object()) {
      for (const auto& [key, element] : value.items()) {
        const std::string below = pointer + "/" + key, field = path.empty() ? key : path + "." + key;
        if (key == "expression" && element.is_string() && pointer.ends_with("/cel"))
          check_selector(element.get<std::string>(), below, field);
        else if (key != "parameters")
          check_selectors(element, below, field);
      }
    }
  }

  void check_selector(const std::string& expression, const std::string& pointer, const std::string& path) {
    static const Objects kNothing;
    const SelectorTrial trial = try_selector(objects_ ? *objects_ : kNothing, expression, options_.features);
    const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
    if (!trial.compile_error.empty())
      return add(Severity::kError, pointer, path,
                 first_line(trial.compile_error) + (trial.hint.empty() ? "" : "; " + trial.hint));
    if (objects_ == nullptr || trial.devices == 0) return;
    for (const std::string& unknown : trial.unknown_names) add(Severity::kWarning, pointer, path, unknown);
    if (trial.failed > 0)
      add(Severity::kWarning, pointer, path,
          "fails on " + std::to_string(trial.failed) + " of " + counted(trial.devices, "device") + ", first on " +
              trial.first_failed + ": " + first_line(trial.first_error) +
              (trial.hint.empty() ? "" : "; " + trial.hint));
    if (trial.matched == 0)
      add(Severity::kWarning, pointer, path, "matches none of " + counted(trial.devices, "device"));
  }

  const Objects* objects_;
  const StateOptions& options_;
  std::vector<Finding>& findings_;
  const yaml::Positions* positions_ = nullptr;
  size_t lines_before_ = 0;
};

// Requests that even an empty fleet could not meet.
void check_feasible(std::string_view text, const Objects& objects, const StateOptions& options, const std::string& ns,
                    std::vector<Finding>& findings) {
  const auto manifest = read_manifest(text, ns);
  if (!manifest) {
    findings.push_back({0, 0, Severity::kError, "", manifest.error().message()});
    return;
  }
  FitsOptions asked;
  asked.state = options;
  asked.on_empty = true;
  asked.copies = 1;
  asked.count_more = false;
  const auto answers = fits(objects, *manifest, asked);
  if (!answers) {
    findings.push_back({0, 0, Severity::kError, "", answers.error().message()});
    return;
  }
  for (const FitAnswer& answer : *answers)
    if (answer.fit == Fit::kNever)
      findings.push_back(
          {0, 0, Severity::kError, answer.what, "would not fit even if the cluster were empty: " + answer.why});
}

}  // namespace

Result<std::vector<Finding>> lint(std::string_view text, const Objects* objects, const StateOptions& options,
                                  const std::string& ns) {
  if (text.size() > kMaxManifest)
    return fail(Code::kResourceExhausted, "the file is larger than " + std::to_string(kMaxManifest) + " bytes");
  std::vector<Finding> findings;
  DocumentLinter linter(objects, options, findings);
  bool readable = true;
  size_t objects_read = 0;
  for (const Part& part : parts_of(text)) {
    yaml::Positions positions;
    const auto document = yaml::parse_with_positions(part.text, positions);
    if (!document) {
      readable = false;
      findings.push_back({part.lines_before + 1, 1, Severity::kError, "", document.error().message()});
    } else if (!document->is_null()) {
      objects_read += linter.run(*document, positions, part.lines_before);
    }
    if (findings.size() >= kMaxFindings) break;
  }
  if (readable && objects_read == 0) findings.push_back({0, 0, Severity::kWarning, "", "the file has no object in it"});
  // Values that are not objects have been reported already.
  readable = readable && std::none_of(findings.begin(), findings.end(), [](const Finding& one) {
               return one.text == "no object; it needs apiVersion and kind";
             });
  if (readable && objects != nullptr) check_feasible(text, *objects, options, ns, findings);
  return findings;
}

Answer lint_answer(const std::vector<Finding>& findings, const std::string& file, bool strict) {
  Answer answer{"DRALint"};
  Table table{
      "", "findings", {{"PLACE", "place"}, {"SEVERITY", "severity"}, {"FIELD", "field"}, {"FINDING", "finding"}}, {}};
  for (const Finding& finding : findings) {
    const bool error = finding.severity == Severity::kError;
    if (error || strict) answer.status = Status::kNo;
    table.rows.push_back(
        {"",
         {finding.line > 0 ? file + ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column) : file,
          error ? Cell("error", Tone::kBad) : Cell("warning", Tone::kWarn), finding.path, finding.text}});
  }
  if (findings.empty()) answer.lines.push_back(file + ": nothing to complain about");
  answer.tables.push_back(std::move(table));
  return answer;
}

}  // namespace dra::inspect
