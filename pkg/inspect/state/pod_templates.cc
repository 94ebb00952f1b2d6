#include "pkg/inspect/state/pod_templates.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dra::inspect {
namespace {

using nlohmann::json;

bool has_pod_spec(const json& object) {
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return false;
  const auto containers = spec->find("containers"), claims = spec->find("resourceClaims");
  if (containers != spec->end() && containers->is_array()) return true;
  return claims != spec->end() && claims->is_array() && !claims->empty() &&
         std::all_of(claims->begin(), claims->end(),
                     [](const json& claim) { return claim.is_object() && claim.contains("name"); });
}

std::string escaped_step(const std::string& key) {
  std::string step = "/";
  for (const char c : key) step += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return step;
}

uint64_t copies_in(const json& object, uint64_t before) {
  uint64_t copies = before;
  for (const char* key : {"replicas", "parallelism"}) {
    const auto count = object.find(key);
    if (count == object.end() || !count->is_number_integer()) continue;
    copies *= static_cast<uint64_t>(std::clamp<int64_t>(count->get<int64_t>(), 0, int64_t{kMaxTemplateCopies}));
    copies = std::min(copies, kMaxTemplateCopies);
  }
  return copies;
}

std::string innermost_name(const json& object, const std::string& otherwise) {
  for (const char* key : {"name", "groupName"}) {
    const auto name = object.find(key);
    if (name != object.end() && name->is_string()) return name->get<std::string>();
  }
  return otherwise;
}

// The depth is that of the document, which the parser bounds.
void collect_templates(const json& value, const PodTemplate& way, bool top, std::vector<PodTemplate>& found) {
  if (found.size() >= kMaxPodTemplates) return;
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      collect_templates(value[i], {way.pointer + "/" + std::to_string(i), way.part, way.copies}, false, found);
    return;
  }
  if (!value.is_object()) return;
  PodTemplate here = way;
  here.copies = copies_in(value, way.copies);
  if (!top) here.part = innermost_name(value, way.part);
  if (has_pod_spec(value)) {
    found.push_back(here);
    return;
  }
  for (const auto& [key, element] : value.items()) {
    if (!element.is_structured() || (top && (key == "metadata" || key == "status"))) continue;
    const bool plain = key == "spec" || key == "template" || element.is_array();
    collect_templates(element, {here.pointer + escaped_step(key), plain ? here.part : key, here.copies}, false, found);
  }
}

}  // namespace

std::vector<PodTemplate> pod_templates_of(const json& object) {
  std::vector<PodTemplate> found;
  if (!object.is_object()) return found;
  const auto version = object.find("apiVersion");
  if (version != object.end() && version->is_string() &&
      version->get_ref<const std::string&>().starts_with("scheduling.k8s.io/"))
    return found;
  collect_templates(object, {}, true, found);
  if (found.size() == 1) found.front().part.clear();
  return found;
}

}  // namespace dra::inspect
