#include "pkg/inspect/lint/selectors.h"

#include <nlohmann/json.hpp>

#include "pkg/api/semver.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/verbs/cel_query.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr size_t kMostClassesNamed = 5;

std::string member_text(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json* list_member(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? &*found : nullptr;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// "gpu.example.com, nic.example.com and 3 more"
std::string some_of(const std::vector<std::string>& names) {
  return join_some(names, kMostClassesNamed);
}

class SelectorLinter {
 public:
  SelectorLinter(const Known& known, const inventory::FeatureChoice& features, FindingList& findings,
                 SelectorFindings& found)
      : known_(known), features_(features), findings_(findings), found_(found) {}

  // `whose`: " of class x", for texts. `tried`: on the cluster's devices, not only compiled.
  void list(const json& selectors, const Place& place, std::vector<std::string> before, const std::string& whose,
            bool tried) {
    for (size_t i = 0; i < selectors.size(); ++i) {
      const auto cel = selectors[i].is_object() ? selectors[i].find("cel") : selectors[i].end();
      if (!selectors[i].is_object() || cel == selectors[i].end() || !cel->is_object()) continue;
      const std::string expression = member_text(*cel, "expression");
      if (expression.empty()) continue;  // the server's rules say that it is missing
      const bool after_others = i > 0 && tried;
      one(expression, place.index(i).child("cel").child("expression"), before,
          whose + (after_others ? " that the selectors before it match" : ""), tried);
      before.push_back(expression);
    }
  }

  // `exactly` of a request, or one of its alternatives.
  void request(const json& request, const Place& place) {
    if (!request.is_object()) return;
    const std::string name = member_text(request, "deviceClassName");
    std::optional<std::vector<std::string>> of_class = known_.class_selectors(name);
    if (!name.empty() && !of_class && known_.shows("deviceclasses")) missing(name, place.child("deviceClassName"));
    if (const json* selectors = list_member(request, "selectors"))
      list(*selectors, place.child("selectors"), of_class.value_or(std::vector<std::string>()),
           " of class " + quote(name), of_class.has_value());
    const json* tolerations = list_member(request, "tolerations");
    for (size_t i = 0; tolerations != nullptr && i < tolerations->size(); ++i)
      toleration((*tolerations)[i], place.child("tolerations").index(i));
  }

  void requests(const json& devices, const Place& place) {
    const json* all = list_member(devices, "requests");
    for (size_t i = 0; all != nullptr && i < all->size(); ++i) {
      const json& one = (*all)[i];
      const Place at = place.child("requests").index(i);
      if (one.is_object() && one.contains("exactly")) request(one["exactly"], at.child("exactly"));
      const json* alternatives = list_member(one, "firstAvailable");
      for (size_t k = 0; alternatives != nullptr && k < alternatives->size(); ++k)
        request((*alternatives)[k], at.child("firstAvailable").index(k));
    }
  }

 private:
  void missing(const std::string& name, const Place& place) {
    found_.missing_classes.insert(name);
    const std::vector<std::string> names = known_.class_names();
    const std::string near = nearest(name, names);
    findings_.error(place, LintCode::kClassMissing,
                    "device class " + quote(name) + " does not exist" +
                        (!near.empty()   ? "; did you mean " + quote(near) + "?"
                         : names.empty() ? "; the cluster has no device class: is the driver installed?"
                                         : "; there are " + some_of(names)));
  }

  // Kubernetes counts the time of a toleration only for NoExecute, which "no effect" includes.
  void toleration(const json& toleration, const Place& place) {
    const std::string effect = member_text(toleration, "effect");
    if (!toleration.is_object() || !toleration.contains("tolerationSeconds") || effect.empty() || effect == "NoExecute")
      return;
    findings_.warn(place.child("tolerationSeconds"), LintCode::kHasNoEffect,
                   "counts only for the effect NoExecute, and this toleration is for " + effect +
                       ": it has no effect; leave it out, or write effect: NoExecute");
  }

  void one(const std::string& expression, const Place& place, const std::vector<std::string>& before,
           const std::string& whose, bool tried) {
    static const Objects kNothing;
    const Objects* cluster = tried ? known_.cluster() : nullptr;
    const SelectorTrial trial = try_selector(cluster != nullptr ? *cluster : kNothing, expression, features_, before);
    if (!trial.compile_error.empty()) {
      found_.uncompilable = true;
      findings_.error(place, LintCode::kDoesNotCompile,
                      words_of_compile_error(trial.compile_error) + (trial.hint.empty() ? "" : "; " + trial.hint));
      return;
    }
    const std::vector<BadVersion> versions = bad_versions(expression);
    for (const BadVersion& version : versions)
      findings_.error(
          place, LintCode::kBadVersion,
          "semver(" + quote(version.text) + ") compiles and fails on every device, because " + quote(version.text) +
              " is not a semantic version (" + version.why + "); " +
              (version.instead.empty() ? "a version is MAJOR.MINOR.PATCH, three numbers without leading zeros"
                                       : "write semver(" + quote(version.instead) + ")"));
    if (cluster == nullptr || trial.devices == 0 || !versions.empty()) return;
    for (const std::string& unknown : trial.unknown_names) findings_.warn(place, LintCode::kUnknownName, unknown);
    const std::string devices = counted(trial.devices, "device") + whose;
    if (trial.failed > 0)
      findings_.warn(place, LintCode::kSelectorFails,
                     "fails on " + std::to_string(trial.failed) + " of " + devices + ", first on " +
                         trial.first_failed + ": " + first_line(trial.first_error) +
                         (trial.hint.empty() ? "" : "; " + trial.hint));
    if (trial.matched == 0)
      findings_.warn(
          place, LintCode::kSelectsNothing,
          "matches none of " + devices + (trial.values.empty() ? "" : "; they have " + join(trial.values, "; ")));
  }

  const Known& known_;
  const inventory::FeatureChoice& features_;
  FindingList& findings_;
  SelectorFindings& found_;
};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

size_t after_spaces(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) ++at;
  return at;
}

// The end of the text literal that begins at `at` with a quotation mark; npos if it has none.
size_t literal_end(std::string_view text, size_t at) {
  const char mark = text[at];
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == mark)
      return i;
  }
  return std::string_view::npos;
}

}  // namespace

void lint_selectors(const json& object, const Place& place, const Known& known,
                    const inventory::FeatureChoice& features, FindingList& findings, SelectorFindings& found) {
  SelectorLinter linter(known, features, findings, found);
  const std::string kind = member_text(object, "kind");
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  const Place at = place.child("spec");
  if (kind == "DeviceClass") {
    if (const json* selectors = list_member(*spec, "selectors"))
      linter.list(*selectors, at.child("selectors"), {}, "", true);
  } else if (kind == "ResourceClaim" && spec->contains("devices")) {
    linter.requests((*spec)["devices"], at.child("devices"));
  } else if (kind == "ResourceClaimTemplate") {
    const auto inner = spec->find("spec");
    if (inner != spec->end() && inner->is_object() && inner->contains("devices"))
      linter.requests((*inner)["devices"], at.child("spec").child("devices"));
  }
}

std::string words_of_compile_error(std::string_view error) {
  constexpr std::string_view kFailed = "compilation failed: ", kAt = "ERROR: <input>:", kExpecting = " expecting ";
  constexpr std::string_view kEnd = "mismatched input '<EOF>'";
  if (error.starts_with(kFailed)) error.remove_prefix(kFailed.size());
  std::string text(error.substr(0, error.find('\n')));
  const size_t line_end = text.find(':', kAt.size());
  const size_t column_end = line_end == std::string::npos ? line_end : text.find(':', line_end + 1);
  if (!text.starts_with(kAt) || column_end == std::string::npos) return text;
  const std::string line = text.substr(kAt.size(), line_end - kAt.size());
  const std::string column = text.substr(line_end + 1, column_end - line_end - 1);
  std::string why = text.substr(std::min(text.size(), column_end + 2));
  why.resize(std::min(why.size(), why.find(kExpecting)));
  if (const size_t at = why.find(kEnd); at != std::string::npos)
    why.replace(at, kEnd.size(), "the expression ends too early");
  return "does not compile, at character " + column + (line == "1" ? "" : " of line " + line) + ": " + why;
}

std::vector<BadVersion> bad_versions(std::string_view expression) {
  std::vector<BadVersion> bad;
  for (size_t at = 0; at < expression.size();) {
    const char c = expression[at];
    if (c == '"' || c == '\'') {  // what is inside of a text is no call
      const size_t end = literal_end(expression, at);
      if (end == std::string_view::npos) break;
      at = end + 1;
      continue;
    }
    if (!is_word(c)) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < expression.size() && is_word(expression[at])) ++at;
    if (expression.substr(begin, at - begin) != "semver" || (begin > 0 && expression[begin - 1] == '.')) continue;
    size_t open = after_spaces(expression, at);
    if (open >= expression.size() || expression[open] != '(') continue;
    open = after_spaces(expression, open + 1);
    if (open >= expression.size() || (expression[open] != '"' && expression[open] != '\'')) continue;
    const size_t end = literal_end(expression, open);
    if (end == std::string_view::npos) break;
    const std::string text(expression.substr(open + 1, end - open - 1));
    at = after_spaces(expression, end + 1);
    // semver(text, normalize)
    const bool normalizes = at < expression.size() && expression[at] == ',' &&
                            expression.substr(after_spaces(expression, at + 1)).starts_with("true");
    const auto strict = normalizes ? api::Semver::parse_normalized(text) : api::Semver::parse(text);
    if (strict || text.find('\\') != std::string::npos) continue;
    const auto lenient = api::Semver::parse_normalized(text);
    bad.push_back({text, strict.error().message(), lenient ? lenient->to_string() : ""});
  }
  return bad;
}

}  // namespace dra::inspect
