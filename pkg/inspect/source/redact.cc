#include "pkg/inspect/source/redact.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace dra::inspect {
namespace {

using nlohmann::json;

const json* member(const json& object, std::initializer_list<const char*> path) {
  const json* at = &object;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

// Whether a text under `key`, in an object (or list) under `parent`, may be the name of an object.
bool names_object(std::string_view key, std::string_view parent) {
  using Words = std::set<std::string_view>;
  static const Words kNames{
      "namespace",         "nodeName", "pool",  "resourceClaimName", "resourceClaimTemplateName", "claimName", "image",
      "nominatedNodeName", "values",   "names", "podGroupName"};
  static const Words kOwners{"metadata", "ownerReferences", "reservedFor", "pool"};
  static const Words kMaps{"labels", "matchLabels", "nodeSelector", "annotations"};
  return kNames.contains(key) || kMaps.contains(parent) || (key == "name" && kOwners.contains(parent));
}

}  // namespace

void Redactor::note(const char* kind, const json& object, const char* key) {
  if (!object.is_object()) return;
  const auto found = object.find(key);
  if (found != object.end() && found->is_string() && !found->get_ref<const std::string&>().empty())
    names_[kind].insert(found->get<std::string>());
}

void Redactor::learn(std::string_view plural, const json& object) {
  static const std::map<std::string_view, const char*> kKinds{
      {"namespaces", "ns"},         {"nodes", "node"},      {"resourceslices", "slice"},
      {"resourceclaims", "claim"},  {"pods", "pod"},        {"resourceclaimtemplates", "template"},
      {"devicetaintrules", "rule"}, {"podgroups", "group"}, {"podgroups.scheduling.x-k8s.io", "group"}};
  const auto kind = kKinds.find(plural);
  const json* metadata = member(object, {"metadata"});
  if (metadata == nullptr || !metadata->is_object()) return;
  if (kind != kKinds.end()) note(kind->second, *metadata, "name");
  note("ns", *metadata, "namespace");
  if (const json* owners = member(*metadata, {"ownerReferences"}); owners && owners->is_array())
    for (const json& owner : *owners) note("owner", owner, "name");
  if (const json* images = member(object, {"status", "images"}); images && images->is_array())
    for (const json& image : *images)
      if (const json* all = member(image, {"names"}); all && all->is_array())
        for (const json& name : *all)
          if (name.is_string()) names_["image"].insert(name.get<std::string>());
  if (const json* labels = member(*metadata, {"labels"})) note("group", *labels, "scheduling.x-k8s.io/pod-group");
  if (const json* group = member(object, {"spec", "schedulingGroup"})) note("group", *group, "podGroupName");
  if (const json* pool = member(object, {"spec", "pool"})) note("pool", *pool, "name");
  if (const json* spec = member(object, {"spec"})) note("node", *spec, "nodeName");
  for (const char* list : {"containers", "initContainers"})
    if (const json* containers = member(object, {"spec", list}); containers && containers->is_array())
      for (const json& container : *containers) note("image", container, "image");
  if (const json* entries = member(object, {"spec", "resourceClaims"}); entries && entries->is_array())
    for (const json& entry : *entries) {
      note("claim", entry, "resourceClaimName");
      note("template", entry, "resourceClaimTemplateName");
    }
}

void Redactor::settle() {
  for (const auto& [kind, names] : names_) {
    size_t number = 0;
    for (const std::string& name : names) {
      char text[64];
      std::snprintf(text, sizeof text, "%s-%06zu", kind.c_str(), ++number);
      renamed_.try_emplace(name, text);
    }
  }
}

std::string Redactor::renamed(const std::string& text) const {
  if (const auto found = renamed_.find(text); found != renamed_.end()) return found->second;
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return text;
  const auto ns = renamed_.find(std::string_view(text).substr(0, slash));
  const auto name = renamed_.find(std::string_view(text).substr(slash + 1));
  return ns != renamed_.end() && name != renamed_.end() ? ns->second + "/" + name->second : text;
}

void Redactor::apply(json& value, std::string_view key, std::string_view parent) const {
  if (value.is_array()) {
    // Elements of a list have the list's key; for objects it is also the parent's key.
    for (json& element : value) apply(element, key, element.is_string() ? parent : key);
  } else if (value.is_string()) {
    if (key == "message")
      value = "";
    else if (names_object(key, parent))
      value = renamed(value.get<std::string>());
  } else if (value.is_object()) {
    for (auto& [name, element] : value.items())
      apply(element, name, element.is_string() ? key : std::string_view(name));
  }
}

}  // namespace dra::inspect
