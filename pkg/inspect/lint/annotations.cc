#include "pkg/inspect/lint/annotations.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/allocator/decision.h"
#include "pkg/allocator/locality.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/pod_templates.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/topology.h"
#include "pkg/sharing/policy.h"

namespace dra::inspect {
namespace {

using nlohmann::json;
using protocol::AnnotationPlace;

const json& field_of(const json& object, const char* key) {
  static const json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

std::string word_of(const json& object, const char* key) {
  const json& value = field_of(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<AnnotationPlace> place_of_kind(const std::string& version, const std::string& kind) {
  if (kind == "Pod" && version == "v1") return AnnotationPlace::kPod;
  if (kind == "Namespace" && version == "v1") return AnnotationPlace::kNamespace;
  if (version.starts_with("resource.k8s.io/")) {
    if (kind == "ResourceClaim") return AnnotationPlace::kResourceClaim;
    if (kind == "DeviceClass") return AnnotationPlace::kDeviceClass;
    if (kind == "DeviceTaintRule") return AnnotationPlace::kDeviceTaintRule;
  }
  if (kind == "PodGroup") return AnnotationPlace::kPodGroup;
  return std::nullopt;
}

// "on ResourceClaim (in a ResourceClaimTemplate: in spec.metadata.annotations)"
std::string where_read(const protocol::UserAnnotation& one) {
  std::vector<std::string> places;
  for (const std::string& kind : one.kinds())
    places.push_back(kind == "Pod"             ? "a Pod (of a workload: in its template)"
                     : kind == "ResourceClaim" ? "a ResourceClaim (of a template: in spec.metadata.annotations)"
                                               : "a " + kind);
  return join(places, " or ");
}

// What is wrong with the value; empty: nothing. Pairs and rails are looked at with the requests that they name.
std::string why_ignored(const std::string& name, const std::string& text) {
  if (name == allocator::kPreferAnnotation) return join(allocator::parse_prefer(text).ignored, "; ");
  if (name == allocator::kStrategyAnnotation && !allocator::parse_strategy(text))
    return quote(text) + " is not a strategy; write first-fit, best-fit, pack or spread";
  if (name == protocol::kTopologyRequiredAnnotation || name == protocol::kTopologyPreferredAnnotation)
    return protocol::topology_wish({{name, text}}).ignored;
  if (name == protocol::kDoNotMoveAnnotation && text != "true")
    return quote(text) + " is not true, in lower case; leave the annotation out if the pod may be moved";
  if (name == protocol::kMovesPerHourAnnotation && !protocol::read_moves_per_hour(text))
    return quote(text) + " is not a number from 0 to " + std::to_string(protocol::kMostMovesPerHour) +
           " without a leading zero, and counts as 0";
  if (name == protocol::kDefragmentAnnotation && !protocol::read_defragment(text))
    return quote(text) + " is not off, advice or on, and counts as off";
  if (name == protocol::kKeepAnnotation) return protocol::why_not_kept(text);
  if (name == protocol::kPreemptionAnnotation && text != "never")
    return quote(text) + " is not never; leave the annotation out if pods of the class may preempt and be victims";
  const bool digits =
      !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (name == protocol::kGroupAnnotation && (!digits || text.find_first_not_of('0') == std::string::npos ||
                                             text.size() > 4 || std::stoul(text) > protocol::kMaxGroupMembers))
    return quote(text) + " is not a number of pods from 1 to " + std::to_string(protocol::kMaxGroupMembers);
  return "";
}

void lint_one(const AnnotatedPart& part, const std::string& name, const json& value, FindingList& findings) {
  const Place at = part.place.child("annotations").child(name);
  const protocol::UserAnnotation* known = protocol::find_user_annotation(name);
  if (known == nullptr) {
    const auto marks = protocol::manager_marks();
    if (std::find(marks.begin(), marks.end(), name) != marks.end())
      return findings.warn(at, LintCode::kHasNoEffect,
                           name + " is written by dra-controller-manager alone; leave it out");
    std::vector<std::string> names;
    for (const protocol::UserAnnotation& one : protocol::user_annotations()) names.emplace_back(one.name);
    const std::string near = nearest(name, names);
    return findings.error(at, LintCode::kBadAnnotation,
                          "there is no annotation " + name + ": nobody reads it, and the chart's policy refuses it; " +
                              (near.empty() ? "docs/user/reference.md lists them" : "did you mean " + near + "?"));
  }
  if (!part.read_as || !known->stands_on(*part.read_as))
    return findings.warn(at, LintCode::kHasNoEffect,
                         "has no effect here: " + name + " is read on " + where_read(*known));
  if (!value.is_string()) return;  // the server's rules say it
  if (sharing::Policy policy; name == sharing::kSharesAnnotation) {
    if (const auto wrong = sharing::parse_policy(value.get<std::string>(), policy))
      findings.error(at, LintCode::kBadAnnotation,
                     "cannot be read, so the class gives no shares of devices: " + *wrong);
    return;
  }
  if (const std::string why = why_ignored(name, value.get<std::string>()); !why.empty())
    findings.warn(at, LintCode::kBadAnnotation, "is ignored: " + why);
}

}  // namespace

void each_annotated_part(const json& object, const Place& place,
                         const std::function<void(const AnnotatedPart&)>& call) {
  const std::string version = word_of(object, "apiVersion"), kind = word_of(object, "kind");
  const auto part = [&](const json& of, const Place& at, std::optional<AnnotationPlace> read_as,
                        const std::string& pointer) {
    const json& metadata = field_of(of, "metadata");
    const json& annotations = field_of(metadata, "annotations");
    if (annotations.is_object() && !annotations.empty()) call({metadata, at.child("metadata"), read_as, pointer});
  };
  part(object, place, place_of_kind(version, kind), "");
  if (kind == "ResourceClaimTemplate" && version.starts_with("resource.k8s.io/"))
    part(field_of(object, "spec"), place.child("spec"), AnnotationPlace::kResourceClaim, "/spec");
  for (const PodTemplate& one : pod_templates_of(object))
    if (!one.pointer.empty())
      part(object[json::json_pointer(one.pointer)], place_at(object, place, one.pointer), AnnotationPlace::kPod,
           one.pointer);
}

void lint_annotations(const json& object, const Place& place, FindingList& findings) {
  if (word_of(object, "kind") == "Lease") return;  // the manager's own has more
  each_annotated_part(object, place, [&](const AnnotatedPart& part) {
    for (const auto& [name, value] : part.metadata["annotations"].items())
      if (name.starts_with(protocol::kAnnotationPrefix)) lint_one(part, name, value, findings);
  });
}

}  // namespace dra::inspect
