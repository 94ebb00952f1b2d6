#include "pkg/inspect/lint/lint.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/inspect/lint/alignment.h"
#include "pkg/inspect/lint/annotations.h"
#include "pkg/inspect/lint/forms.h"
#include "pkg/inspect/lint/known.h"
#include "pkg/inspect/lint/pairs.h"
#include "pkg/inspect/lint/parameters.h"
#include "pkg/inspect/lint/pods.h"
#include "pkg/inspect/lint/selectors.h"
#include "pkg/inspect/lint/server_rules.h"
#include "pkg/inspect/lint/shares.h"
#include "pkg/inspect/lint/taint_rules.h"
#include "pkg/inspect/state/document_text.h"
#include "pkg/inspect/verbs/fits.h"
#include "pkg/inspect/verbs/migrate.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

std::string member_string(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A document that could be read.
struct ReadDocument {
  std::string text;
  json value;
  yaml::Positions positions;
  size_t lines_before = 0;
};

// The objects of a document with their places: those of a List one by one.
std::vector<std::pair<const json*, Place>> objects_in(const json& document) {
  const auto items = document.is_object() ? document.find("items") : document.end();
  if (!document.is_object() || !member_string(document, "kind").ends_with("List") || items == document.end() ||
      !items->is_array())
    return {{&document, Place()}};
  std::vector<std::pair<const json*, Place>> objects;
  for (size_t i = 0; i < items->size(); ++i) objects.push_back({&(*items)[i], Place().child("items").index(i)});
  return objects;
}

// Whether one path is the other, or leads to it.
bool one_way(const std::string& a, const std::string& b) {
  const std::string& longer = a.size() < b.size() ? b : a;
  const std::string& shorter = a.size() < b.size() ? a : b;
  return longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.' || longer[shorter.size()] == '[');
}

class FileLinter {
 public:
  FileLinter(const Objects* cluster, const StateOptions& options, const std::string& ns)
      : options_(options),
        known_(cluster, ns),
        features_(options.features.on(cluster ? cluster->server_version : "")) {}

  // Reads all documents before any is judged: they refer to each other.
  void read(std::string_view text) {
    for (const DocumentText& part : documents_of(text)) {
      ReadDocument document;
      document.lines_before = part.lines_before;
      auto value = yaml::parse_with_positions(part.text, document.positions);
      if (!value) {
        all_read_ = false;
        findings_.add({part.lines_before + 1, 1, Severity::kError, LintCode::kUnreadable, "", value.error().message()});
      } else if (!value->is_null()) {
        document.text = part.text;
        document.value = std::move(*value);
        documents_.push_back(std::move(document));
      }
      if (findings_.full()) break;
      if (documents_.size() > kMaxDocuments) {
        all_read_ = false;
        findings_.add({part.lines_before + 1, 1, Severity::kError, LintCode::kTooManyDocuments, "",
                       "the file has more than " + std::to_string(kMaxDocuments) +
                           " documents, and the rest is not looked at; split it"});
        break;
      }
    }
    for (const ReadDocument& document : documents_)
      for (const auto& [object, place] : objects_in(document.value)) known_.add(*object);
  }

  void judge() {
    size_t objects = 0;
    for (const ReadDocument& document : documents_) {
      findings_.begin(document.positions, document.lines_before);
      for (const auto& [object, place] : objects_in(document.value)) {
        if (findings_.full()) break;
        ++objects;
        const size_t before = findings_.errors();
        judge_object(*object, place);
        if (object->is_object()) has_errors_.push_back(findings_.errors() > before);
      }
      if (findings_.full()) return;
    }
    if (all_read_ && objects == 0)
      findings_.add({0, 0, Severity::kWarning, LintCode::kNoObject, "", "the file has no object in it"});
    if (known_.cluster() != nullptr) check_feasible();
  }

  // Errors of a document before those of the next; what has no place comes last.
  std::vector<Finding> take() {
    std::vector<Finding>& all = findings_.all();
    std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
      return (a.line == 0 ? SIZE_MAX : a.line) < (b.line == 0 ? SIZE_MAX : b.line);
    });
    return std::move(all);
  }

 private:
  void judge_object(const json& object, const Place& place) {
    const std::string version = member_string(object, "apiVersion"), kind = member_string(object, "kind");
    if (version.empty() || kind.empty()) {
      return findings_.error(place, LintCode::kNotAnObject,
                             !object.is_object()
                                 ? "this is not an object, which has apiVersion and kind"
                                 : std::string(version.empty() ? "apiVersion" : "kind") + " is missing");
    }
    const size_t before = findings_.all().size();
    lint_forms(object, place, features_, findings_);
    if (version == "resource.k8s.io/v1") judge_devices(object, place, findings_);
    if (version == "resource.k8s.io/v1beta1" || version == "resource.k8s.io/v1beta2") judge_as_newest(object, place);
    if (kind == "DeviceTaintRule") lint_taint_rule(object, place, known_, findings_);
    lint_annotations(object, place, findings_);
    lint_pairs(object, place, known_, options_.features, findings_);
    ServerRules rules;
    rules.ns = known_.ns();
    rules.admin_access = [this](const std::string& ns) { return known_.admin_access(ns); };
    const ServerVerdict verdict = refused_by_server(object, rules);
    const bool pods = lint_pods(object, place, known_, verdict.known, findings_);
    for (size_t i = 0; i < verdict.refusals.size() && i < kMaxFindings; ++i)
      if (!version.starts_with("resource.k8s.io/v1") || !is_compiled(verdict.refusals[i]))
        add_refusal(object, place, verdict.refusals[i], before);
    if (!verdict.known && !pods && !version.starts_with("resource.k8s.io/") && kind != "PodGroup")
      findings_.add(Severity::kNote, place, LintCode::kNotLookedAt,
                    "not looked at: " + name_of(object) + ", as kind " + kind + " of " + version +
                        " is not known here, and no template of a pod is in it");
  }

  void judge_devices(const json& object, const Place& place, FindingList& findings) {
    lint_selectors(object, place, known_, options_.features, findings, selectors_);
    lint_parameters(object, place, findings);
    lint_shares(object, place, findings);
    lint_alignment(object, place, known_, findings);
  }

  // The API server stores older versions as v1: what is wrong with that is reported where the file has it.
  void judge_as_newest(const json& object, const Place& place) {
    FindingList newest;
    judge_devices(as_newest(object), Place(), newest);
    for (const Finding& one : newest.all())
      findings_.add(one.severity, place_of(object, place, one.path), one.code, one.text);
  }

  // Whether it is about an expression that lint_selectors() compiled, by the rules of the cluster's release and
  // not 1.36.
  static bool is_compiled(const ServerRefusal& refusal) {
    return refusal.field.ends_with(".cel.expression") && !refusal.mistyped &&
           !refusal.why.starts_with("Required value");
  }

  // What other checks said about the same place, or about one on the way, is not said a second time.
  void add_refusal(const json& object, const Place& place, const ServerRefusal& refusal, size_t before) {
    const Place at = place_of(object, place, refusal.field);
    const std::vector<Finding>& all = findings_.all();
    for (size_t i = before; i < all.size(); ++i)
      if (!refusal.field.empty() && ((all[i].severity == Severity::kError && one_way(all[i].path, at.path)) ||
                                     (refusal.unknown && all[i].path == at.path)))
        return;
    const std::string name = refusal.field.substr(refusal.field.rfind('.') + 1);
    // Servers of 1.37 write it into results; the rules asked here are those of 1.36.
    if (refusal.unknown && name == "skipNodeOperations") return;
    if (const size_t failed = refusal.why.find("compilation failed: ");
        refusal.field.ends_with(".cel.expression") && failed != std::string::npos)
      return findings_.error(at, LintCode::kDoesNotCompile,
                             words_of_compile_error(std::string_view(refusal.why).substr(failed)));
    findings_.error(at, refusal.unknown ? LintCode::kUnknownField : LintCode::kServerRefuses,
                    refusal.unknown ? "unknown field " + quote(name)
                                    : "the API server refuses " + name_of(object) + ": " + refusal.why);
  }

  static std::string name_of(const json& object) {
    const auto metadata = object.find("metadata");
    std::string name = metadata == object.end() ? "" : member_string(*metadata, "name");
    if (name.empty() && metadata != object.end())
      if (const std::string prefix = member_string(*metadata, "generateName"); !prefix.empty()) name = prefix + "*";
    return member_string(object, "kind") + (name.empty() ? "" : " " + name);
  }

  // Requests that even an empty fleet could not meet. Of each object that can be read, whatever is wrong with others.
  void check_feasible() {
    std::string text;
    for (const ReadDocument& document : documents_)
      if (document.value.is_object()) text += document.text + "\n---\n";
    const auto report = [this](const Error& error) {
      findings_.add({0, 0, Severity::kError, LintCode::kUnreadable, "", error.message()});
    };
    const auto manifest = read_manifest(text, known_.ns());
    if (!manifest) {
      // What is wrong with an object has been said with its place.
      if (findings_.errors() == 0) report(manifest.error());
      return;
    }
    for (const auto& [number, error] : manifest->broken)
      if (number >= has_errors_.size() || !has_errors_[number]) report(error);
    FitsOptions asked;
    asked.state = options_;
    asked.on_empty = true;
    asked.copies = 1;
    asked.count_more = false;
    const auto answers = fits(*known_.cluster(), *manifest, asked);
    if (!answers) return report(answers.error());
    for (const FitAnswer& answer : *answers) {
      if (answer.fit == Fit::kBroken)
        findings_.add({0, 0, Severity::kError, LintCode::kReferenceMissing, answer.what, answer.why});
      if (answer.fit == Fit::kNever && !names_missing_class(answer.why) && !is_uncompilable(answer.why))
        findings_.add({0, 0, Severity::kError, LintCode::kNeverFits, answer.what,
                       "would not fit even if the cluster were empty: " + answer.why});
    }
  }

  // Said at the selector.
  bool is_uncompilable(const std::string& why) const {
    return selectors_.uncompilable && why.find("compil") != std::string::npos;
  }
  bool names_missing_class(const std::string& why) const {
    return std::any_of(selectors_.missing_classes.begin(), selectors_.missing_classes.end(),
                       [&](const std::string& name) { return why.find(quote(name)) != std::string::npos; });
  }

  const StateOptions& options_;
  Known known_;
  inventory::Features features_;
  FindingList findings_;
  SelectorFindings selectors_;
  std::vector<ReadDocument> documents_;
  std::vector<bool> has_errors_;  // by object of the file
  bool all_read_ = true;
};

}  // namespace

Result<std::vector<Finding>> lint(std::string_view text, const Objects* objects, const StateOptions& options,
                                  const std::string& ns) {
  if (text.size() > kMaxManifest)
    return fail(Code::kResourceExhausted, "the file is larger than " + std::to_string(kMaxManifest) + " bytes");
  FileLinter linter(objects, options, ns);
  linter.read(text);
  linter.judge();
  return linter.take();
}

Answer lint_answer(const std::vector<Finding>& findings, const std::string& file, bool strict) {
  Answer answer{"DRALint"};
  Table table{"",
              "findings",
              {{"PLACE", "place"},
               {"SEVERITY", "severity"},
               {"CODE", "code", true},
               {"FIELD", "field"},
               {"FINDING", "finding"}},
              {}};
  bool clean = true;
  for (const Finding& finding : findings) {
    const bool error = finding.severity == Severity::kError, note = finding.severity == Severity::kNote;
    clean = clean && note;
    if (error || (strict && !note)) answer.status = Status::kNo;
    table.rows.push_back(
        {"",
         {finding.line > 0 ? file + ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column) : file,
          error  ? Cell("error", Tone::kBad)
          : note ? Cell("note", Tone::kDim)
                 : Cell("warning", Tone::kWarn),
          std::string(lint_code_name(finding.code)), finding.path, finding.text}});
  }
  if (clean)
    answer.say("NothingWrong",
               file + ": nothing to complain about" + (findings.empty() ? "" : " in what was looked at"));
  answer.tables.push_back(std::move(table));
  return answer;
}

}  // namespace dra::inspect
