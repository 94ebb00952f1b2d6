#include "pkg/inspect/lint/fix.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/inspect/lint/fields.h"
#include "pkg/inspect/lint/known.h"
#include "pkg/inspect/lint/selectors.h"
#include "pkg/inspect/state/document_text.h"
#include "pkg/inspect/state/manifest.h"
#include "pkg/inspect/state/pod_templates.h"
#include "pkg/inspect/verbs/migrate.h"
#include "pkg/yaml/yaml.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

std::string text_value(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The list below the keys, or null.
json* list_below(json& object, std::initializer_list<const char*> keys) {
  json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &(*at)[key];
  }
  return at->is_array() ? at : nullptr;
}

class Fixer {
 public:
  Fixer(const Known& known, std::vector<std::string>& done) : known_(known), done_(done) {}

  void object(json& object) {
    if (!object.is_object()) return;
    const json metadata = object.value("metadata", json::object());
    what_ = text_value(object, "kind") + " " + text_value(metadata, "name");
    if (text_value(object, "apiVersion") == "resource.k8s.io/v1") device_object(object);
    const std::string ns = known_.namespace_of(object);
    for (const PodTemplate& one : pod_templates_of(object)) pod(object[json::json_pointer(one.pointer)]["spec"], ns);
  }

 private:
  void note(const std::string& text) { done_.push_back(what_ + ": " + text); }

  void device_object(json& object) {
    static const std::vector<std::string> kKinds{"DeviceClass", "ResourceClaim", "ResourceClaimTemplate",
                                                 "ResourceSlice"};
    const std::string kind = text_value(object, "kind");
    const std::string near = std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end() ? nearest(kind, kKinds) : "";
    if (!near.empty()) {
      object["kind"] = near;
      note("kind " + quote(kind) + " is now " + near);
    }
    json* requests = list_below(object, {"spec", "devices", "requests"});
    if (requests == nullptr) requests = list_below(object, {"spec", "spec", "devices", "requests"});
    for (size_t i = 0; requests != nullptr && i < requests->size(); ++i)
      if (put_under_exactly((*requests)[i]))
        note("request " + quote(text_value((*requests)[i], "name")) + ": its fields are under exactly now");
    if (const std::optional<FieldTree> tree = FieldTree::of(text_value(object, "kind"))) fields(object, *tree);
    versions(object);
  }

  // Misspelt fields.
  void fields(json& value, const FieldTree& tree) {
    if (value.is_array()) {
      for (json& element : value) fields(element, tree);
      return;
    }
    if (!value.is_object() || tree.open()) return;
    std::vector<std::string> unknown;
    for (const auto& [key, element] : value.items())
      if (!tree.child(key)) unknown.push_back(key);
    for (const std::string& key : unknown) {
      const std::string near = tree.places_of(key).empty() ? nearest(key, tree.children()) : "";
      if (near.empty() || value.contains(near)) continue;
      value[near] = value[key];
      value.erase(key);
      note("field " + quote(key) + " is now " + near);
    }
    for (auto& [key, element] : value.items())
      if (const std::optional<FieldTree> child = tree.child(key)) fields(element, *child);
  }

  // Texts of semver() that are no versions.
  void versions(json& value) {
    if (value.is_array()) {
      for (json& element : value) versions(element);
    } else if (value.is_object()) {
      for (auto& [key, element] : value.items()) {
        if (key == "expression" && element.is_string())
          expression(element);
        else if (key != "parameters")
          versions(element);
      }
    }
  }

  void expression(json& value) {
    std::string text = value.get<std::string>();
    for (const BadVersion& bad : bad_versions(text)) {
      if (bad.instead.empty()) continue;
      bool changed = false;
      for (const char mark : {'"', '\''}) {
        const std::string old = mark + bad.text + mark, better = mark + bad.instead + mark;
        for (size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + better.size())) {
          text.replace(at, old.size(), better);
          changed = true;
        }
      }
      if (changed) note("semver(" + quote(bad.text) + ") is now semver(" + quote(bad.instead) + ")");
    }
    value = text;
  }

  void pod(json& spec, const std::string& ns) {
    json* claims = list_below(spec, {"resourceClaims"});
    json* containers = list_below(spec, {"containers"});
    if (claims == nullptr || containers == nullptr) return;
    const bool all_named = name_claims(spec, *claims);
    for (const json& claim : *claims) {
      const std::string name = text_value(claim, "name");
      if (name.empty()) continue;
      bool used = false;
      each_container(spec, [&](json& container) { used = uses(container, claim, ns) || used; });
      // A container that names a claim which the pod has not may mean this one.
      if (used || !all_named || containers->size() != 1 || !(*containers)[0].is_object()) continue;
      json& resources = (*containers)[0]["resources"];
      if (!resources.is_object()) resources = json::object();
      if (!resources.contains("claims") || !resources["claims"].is_array()) resources["claims"] = json::array();
      resources["claims"].push_back({{"name", name}});
      note("container " + quote(text_value((*containers)[0], "name")) + " uses claim " + quote(name) + " now");
    }
  }

  static void each_container(json& spec, const std::function<void(json&)>& then) {
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"})
      if (json* all = list_below(spec, {list}))
        for (json& container : *all) then(container);
  }

  // Claims that containers name and the pod has not: each becomes the claim with a similar name that nothing uses.
  // False: one is left.
  bool name_claims(json& spec, const json& claims) {
    std::set<std::string> unused;
    for (const json& claim : claims) unused.insert(text_value(claim, "name"));
    const std::set<std::string> known = unused;
    std::vector<std::pair<json*, json*>> unknown;  // the container, and its entry
    each_container(spec, [&](json& container) {
      json* entries = list_below(container, {"resources", "claims"});
      for (size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
        const std::string name = text_value((*entries)[i], "name");
        unused.erase(name);
        if (!name.empty() && !known.contains(name)) unknown.emplace_back(&container, &(*entries)[i]);
      }
    });
    bool all_named = true;
    for (const auto& [container, entry] : unknown) {
      const std::string name = text_value(*entry, "name");
      const std::string near = nearest(name, {unused.begin(), unused.end()});
      all_named = all_named && !near.empty();
      if (near.empty()) continue;
      (*entry)["name"] = near;
      note("container " + quote(text_value(*container, "name")) + ": claim " + quote(name) + " is now " + quote(near));
    }
    return all_named;
  }

  // Whether the container uses the claim. A request that the claim lacks becomes its only one.
  bool uses(json& container, const json& claim, const std::string& ns) {
    json* entries = list_below(container, {"resources", "claims"});
    const std::string name = text_value(claim, "name");
    bool found = false;
    for (size_t i = 0; entries != nullptr && i < entries->size(); ++i) {
      json& entry = (*entries)[i];
      if (text_value(entry, "name") != name) continue;
      found = true;
      const std::string request = text_value(entry, "request");
      const std::optional<std::vector<std::string>> requests = requests_of(claim, ns);
      if (request.empty() || !requests || requests->size() != 1 || requests->front() == request) continue;
      entry["request"] = requests->front();
      note("container " + quote(text_value(container, "name")) + ": request " + quote(request) + " of claim " +
           quote(name) + " is now " + quote(requests->front()) + ", the only one that the claim has");
    }
    return found;
  }

  std::optional<std::vector<std::string>> requests_of(const json& claim, const std::string& ns) const {
    if (const std::string name = text_value(claim, "resourceClaimName"); !name.empty())
      return known_.requests_of_claim(ns, name);
    return known_.requests_of_template(ns, text_value(claim, "resourceClaimTemplateName"));
  }

  const Known& known_;
  std::vector<std::string>& done_;
  std::string what_;
};

// The objects in a document, which may be a List.
std::vector<json*> objects_of(json& document) {
  if (!document.is_object()) return {};
  const auto items = document.find("items");
  if (!text_value(document, "kind").ends_with("List") || items == document.end() || !items->is_array())
    return {&document};
  std::vector<json*> objects;
  for (json& item : *items) objects.push_back(&item);
  return objects;
}

}  // namespace

Result<FixedManifest> fix_manifest(std::string_view text, const Objects* cluster, const std::string& ns) {
  auto migrated = migrate(text);
  if (!migrated) return fail(migrated.error());
  FixedManifest fixed;
  fixed.lost = std::move(migrated->lost);
  if (migrated->changed > 0) fixed.done.push_back(counted(migrated->changed, "document") + " migrated to new versions");
  std::vector<DocumentText> parts = documents_of(migrated->text);
  if (parts.size() > kMaxDocuments)
    return fail(Code::kResourceExhausted, "the file has more than " + std::to_string(kMaxDocuments) + " documents");
  std::vector<json> documents;
  for (const DocumentText& part : parts) {
    auto read = yaml::parse(part.text);
    if (!read) return fail(read.error().wrap("the document at line " + std::to_string(part.lines_before + 1)));
    documents.push_back(std::move(*read));
  }
  std::vector<json> before = documents;  // Known reads these, which nobody changes
  Known known(cluster, ns);
  for (json& document : before)
    for (const json* object : objects_of(document)) known.add(*object);
  Fixer fixer(known, fixed.done);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (json* object : objects_of(documents[i])) fixer.object(*object);
    if (i > 0) fixed.text += parts[i].separator + "\n";
    if (documents[i] == before[i]) {
      fixed.text += parts[i].text;
      continue;
    }
    fixed.text += leading_comments(parts[i].text) + yaml::emit(documents[i]);
    if (has_inner_comments(parts[i].text))
      fixed.lost.push_back("comments inside of the document at line " + std::to_string(parts[i].lines_before + 1));
  }
  return fixed;
}

Answer fix_answer(FixedManifest fixed, const std::vector<Finding>& left) {
  Answer answer{"DRALintFix"};
  answer.document = std::move(fixed.text);
  for (const std::string& done : fixed.done) answer.notes.push_back("mended: " + done);
  if (fixed.done.empty()) answer.notes.push_back("nothing that could be mended");
  for (const std::string& lost : fixed.lost) answer.notes.push_back("not kept: " + lost);
  for (const Finding& finding : left) {
    if (finding.severity == Severity::kNote) continue;
    if (finding.severity == Severity::kError) answer.status = Status::kNo;
    answer.notes.push_back(
        (finding.line == 0 ? std::string("left: ") : "left, at line " + std::to_string(finding.line) + ": ") +
        (finding.path.empty() ? "" : finding.path + ": ") + finding.text);
  }
  return answer;
}

}  // namespace dra::inspect
