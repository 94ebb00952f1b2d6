#include "pkg/inspect/lint/alignment.h"

#include <nlohmann/json.hpp>

#include "pkg/allocator/locality.h"
#include "pkg/inspect/state/alignment.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

const json& part_of(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

void check_constraints(const json& devices, const Place& place, const std::vector<SilentAttribute>& silent,
                       FindingList& findings) {
  const json& constraints = part_of(devices, "constraints");
  for (size_t i = 0; constraints.is_array() && i < constraints.size(); ++i) {
    const json& wanted = part_of(constraints[i], "matchAttribute");
    for (const SilentAttribute& one : silent)
      if (wanted.is_string() && is_about(one, wanted.get<std::string>()))
        findings.warn(place.child("constraints").index(i).child("matchAttribute"), LintCode::kAlignsNothing,
                      "aligns nothing on some nodes: of " + one.attribute + ", " + words_of(one) +
                          "; any devices of such a node meet the constraint");
  }
}

void check_preferences(const json& metadata, const Place& place, const std::vector<SilentAttribute>& silent,
                       FindingList& findings) {
  const std::string key(allocator::kPreferAnnotation);
  const json& text = part_of(part_of(metadata, "annotations"), key.c_str());
  if (!text.is_string()) return;
  for (const allocator::PreferText::One& wanted : allocator::parse_prefer(text.get<std::string>()).preferences)
    for (const SilentAttribute& one : silent)
      if (is_about(one, wanted.attribute))
        findings.warn(place.child("annotations").child(key), LintCode::kAlignsNothing,
                      "same:" + wanted.attribute + " is not met on some nodes: " + words_of(one) +
                          ", which says nothing about where a device is");
}

}  // namespace

void lint_alignment(const json& object, const Place& place, const Known& known, FindingList& findings) {
  if (known.cluster() == nullptr) return;
  const json& kind = part_of(object, "kind");
  const bool from_template = kind == "ResourceClaimTemplate";
  if (!from_template && kind != "ResourceClaim") return;
  const std::vector<SilentAttribute> silent = silent_attributes(*known.cluster());
  if (silent.empty()) return;
  const json& claim = from_template ? part_of(object, "spec") : object;
  const Place at = from_template ? place.child("spec") : place;
  check_constraints(part_of(part_of(claim, "spec"), "devices"), at.child("spec").child("devices"), silent, findings);
  check_preferences(part_of(claim, "metadata"), at.child("metadata"), silent, findings);
}

}  // namespace dra::inspect
