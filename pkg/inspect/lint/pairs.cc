#include "pkg/inspect/lint/pairs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/alignment/alignment.h"
#include "pkg/api/decode/decode.h"
#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/lint/annotations.h"
#include "pkg/inspect/state/alignment.h"
#include "pkg/inspect/state/pod_templates.h"
#include "pkg/inspect/verbs/cel_query.h"
#include "pkg/protocol/groups.h"

namespace dra::inspect {
namespace {

using nlohmann::json;

constexpr std::string_view kTexts[] = {alignment::kPairsAnnotation, alignment::kRailsAnnotation,
                                       alignment::kPreferredRailsAnnotation};

const json& below(const json& object, std::string_view key) {
  static const json kNothing;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNothing;
}

std::string text_below(const json& object, std::string_view key) {
  const json& value = below(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// A claim under the name that a pod gives it; null: it is not known. On a claim it is that claim, without a name.
struct KnownClaim {
  std::string name;
  std::shared_ptr<const api::ResourceClaim> claim;
};

std::vector<KnownClaim> claims_of_pod(const json& pod, const Known& known, const std::string& ns) {
  std::vector<KnownClaim> claims;
  const json& entries = below(below(pod, "spec"), "resourceClaims");
  if (!entries.is_array()) return claims;
  for (const json& entry : entries) {
    KnownClaim one{text_below(entry, "name"), nullptr};
    if (const std::string name = text_below(entry, "resourceClaimName"); !name.empty())
      one.claim = known.claim(ns, name);
    else if (const std::string made = text_below(entry, "resourceClaimTemplateName"); !made.empty())
      one.claim = known.claim_of_template(ns, made);
    claims.push_back(std::move(one));
  }
  return claims;
}

// The claim that the object is or, of a template, gives.
std::vector<KnownClaim> claim_itself(const json& object) {
  const std::string text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  auto claim = std::make_shared<api::ResourceClaim>();
  if (text_below(object, "kind") == "ResourceClaimTemplate") {
    auto read = api::decode<api::ResourceClaimTemplate>(text);
    if (!read) return {{"", nullptr}};
    claim->spec = std::move(read->spec);
  } else {
    auto read = api::decode<api::ResourceClaim>(text);
    if (!read) return {{"", nullptr}};
    claim->spec = std::move(read->spec);
  }
  return {{"", std::move(claim)}};
}

bool names_group(const json& pod) {
  const json& metadata = below(pod, "metadata");
  return !text_below(below(below(pod, "spec"), "schedulingGroup"), "podGroupName").empty() ||
         below(metadata, "labels").contains(std::string(protocol::kGroupLabel)) ||
         below(metadata, "annotations").contains(std::string(protocol::kGroupAnnotation));
}

std::string term_text(const alignment::Term& term, bool number) {
  return (term.claim.empty() ? "" : term.claim + "/") + term.request +
         (number && term.number > 1 ? "*" + std::to_string(term.number) : "");
}

// The most devices that the request can take; nothing: all that there are.
std::optional<uint64_t> most_devices(const api::DeviceRequest& request) {
  uint64_t most = 0;
  const auto add = [&](const api::DeviceSubRequest& one) {
    if (one.allocation_mode == "All") return false;
    most = std::max(most, static_cast<uint64_t>(std::max<int64_t>(one.count, 1)));
    return true;
  };
  if (request.exactly && !add(*request.exactly)) return std::nullopt;
  for (const api::DeviceSubRequest& one : request.first_available)
    if (!add(one)) return std::nullopt;
  return most;
}

class TextLinter {
 public:
  TextLinter(const Known& known, const inventory::FeatureChoice& features, std::vector<KnownClaim> claims,
             alignment::Place where, FindingList& findings)
      : known_(known), features_(features), claims_(std::move(claims)), where_(where), findings_(findings) {}

  void text(std::string_view annotation, const std::string& text, const Place& place) {
    const alignment::Reading reading =
        alignment::read_entries(annotation, text, where_, annotation == alignment::kPairsAnnotation ? before() : 0);
    if (reading.refusal) return refused(*reading.refusal, place);
    for (const alignment::Entry& one : reading.entries) entry(annotation, one, place);
  }

  // An entry whose names are looked up by the caller.
  void members(const std::vector<std::vector<KnownClaim>>& members, const std::string& text,
               std::string_view annotation, const Place& place) {
    const alignment::Reading reading = alignment::read_entries(annotation, text, where_);
    if (reading.refusal) return refused(*reading.refusal, place);
    for (const alignment::Entry& one : reading.entries) {
      if (const auto refusal = alignment::check_attribute(annotation, one)) refused(*refusal, place);
      for (const alignment::Term& term : one.terms)
        if (!members.empty() &&
            std::none_of(members.begin(), members.end(), [&](const auto& claims) { return has(claims, term); }))
          findings_.warn(place, LintCode::kUnknownName,
                         "unknown: " + quote(one.text) + " names " + quote(term_text(term, false)) +
                             ", and no pod of the group in this file has such a claim and request");
    }
  }

 private:
  static bool has(const std::vector<KnownClaim>& claims, const alignment::Term& term) {
    return std::any_of(claims.begin(), claims.end(), [&](const KnownClaim& one) {
      return one.name == term.claim && (one.claim == nullptr || find(*one.claim, term.request) != nullptr);
    });
  }
  static const api::DeviceRequest* find(const api::ResourceClaim& claim, const std::string& name) {
    for (const api::DeviceRequest& one : claim.spec.requests)
      if (one.name == name) return &one;
    return nullptr;
  }

  // Entries of the pod's claims: each claim once.
  size_t before() const {
    size_t entries = 0;
    std::set<const api::ResourceClaim*> seen;
    if (where_ == alignment::Place::kClaim) return 0;
    for (const KnownClaim& one : claims_) {
      if (one.claim == nullptr || !seen.insert(one.claim.get()).second) continue;
      const auto& annotations = one.claim->metadata.annotations;
      const auto found = annotations.find(std::string(alignment::kPairsAnnotation));
      if (found == annotations.end()) continue;
      entries += alignment::read_entries(found->first, found->second, alignment::Place::kClaim).entries.size();
    }
    return entries;
  }

  void refused(const alignment::Refusal& refusal, const Place& place) {
    const bool soft = refusal.annotation == alignment::kPreferredRailsAnnotation;
    findings_.add(soft ? Severity::kWarning : Severity::kError, place, LintCode::kBadAnnotation,
                  std::string(alignment::kind_name(refusal.kind)) + ": " + refusal.message +
                      (soft ? "; it is ignored as a whole" : "; the pod waits until it is mended"));
  }

  void entry(std::string_view annotation, const alignment::Entry& entry, const Place& place) {
    // Requests of claims that are not known are not judged.
    static const api::ResourceClaim kUnknownClaim;
    std::vector<alignment::NamedClaim> named;
    alignment::Entry judged = entry;
    for (const KnownClaim& one : claims_) {
      named.push_back({one.name, one.claim ? one.claim.get() : &kUnknownClaim});
      if (one.claim == nullptr)
        std::erase_if(judged.terms, [&](const alignment::Term& term) { return term.claim == one.name; });
    }
    const alignment::Resolved resolved = alignment::resolve(annotation, judged, where_, named);
    if (resolved.refusal) return refused(*resolved.refusal, place);
    for (size_t i = 0; i < resolved.terms.size(); ++i) {
      const alignment::ResolvedTerm& term = resolved.terms[i];
      const api::ResourceClaimSpec& spec = claims_[term.claim].claim->spec;
      group_size(spec.requests[term.request], judged.terms[i], place);
      if (!spec.unknown) attribute(spec.requests[term.request], judged.terms[i], entry, place);
    }
    silent(entry, place);
  }

  void group_size(const api::DeviceRequest& request, const alignment::Term& term, const Place& place) {
    const std::optional<uint64_t> most = most_devices(request);
    if (most && *most < term.number)
      findings_.error(place, LintCode::kNeverFits,
                      term_text(term, false) + " takes " + counted(*most, "device") + ", a group of " +
                          term_text(term, true) + " needs " + std::to_string(term.number) + ": this never fits");
  }

  // The selectors of the class and of the request; nothing: the class is not known.
  std::optional<std::vector<std::string>> selectors_of(const api::DeviceSubRequest& one) const {
    auto selectors = known_.class_selectors(one.device_class_name);
    if (selectors) selectors->insert(selectors->end(), one.selectors.begin(), one.selectors.end());
    return selectors;
  }

  void attribute(const api::DeviceRequest& request, const alignment::Term& term, const alignment::Entry& entry,
                 const Place& place) {
    if (known_.cluster() == nullptr || !known_.shows("resourceslices")) return;
    std::vector<const api::DeviceSubRequest*> ways;
    if (request.exactly) ways.push_back(&*request.exactly);
    for (const api::DeviceSubRequest& one : request.first_available) ways.push_back(&one);
    AttributeTrial all;
    for (const api::DeviceSubRequest* way : ways) {
      const auto selectors = selectors_of(*way);
      if (!selectors) return;
      const AttributeTrial trial = try_attribute(*known_.cluster(), entry.attribute, *selectors, features_);
      if (trial.with > 0) return;
      all.devices += trial.devices;
      all.names.insert(all.names.end(), trial.names.begin(), trial.names.end());
    }
    if (all.devices == 0) return;  // what the selectors match has been said
    const std::string near = nearest(entry.attribute, all.names);
    findings_.warn(place, LintCode::kUnknownName,
                   "none of the " + counted(all.devices, "device") + " that " + quote(term_text(term, false)) +
                       " can take has " + entry.attribute + ", so that none is in a group" +
                       (near.empty() ? "" : "; did you mean " + near + "?"));
  }

  void silent(const alignment::Entry& entry, const Place& place) {
    if (known_.cluster() == nullptr) return;
    for (const SilentAttribute& one : silent_attributes(*known_.cluster()))
      if (is_about(one, entry.attribute))
        findings_.warn(place, LintCode::kAlignsNothing,
                       "aligns nothing on some nodes: of " + one.attribute + ", " + words_of(one) +
                           "; any devices of such a node share the value");
  }

  const Known& known_;
  const inventory::FeatureChoice& features_;
  const std::vector<KnownClaim> claims_;
  const alignment::Place where_;
  FindingList& findings_;
};

class PartLinter {
 public:
  PartLinter(const json& object, const Known& known, const inventory::FeatureChoice& features, FindingList& findings)
      : object_(object), known_(known), features_(features), findings_(findings) {}

  void part(const AnnotatedPart& part) {
    if (!part.read_as) return;
    const json& annotations = part.metadata["annotations"];
    for (const std::string_view annotation : kTexts) {
      const json& text = below(annotations, annotation);
      const protocol::UserAnnotation* row = protocol::find_user_annotation(annotation);
      if (!text.is_string() || row == nullptr || !row->stands_on(*part.read_as)) continue;
      one(part, annotation, text.get<std::string>(), part.place.child("annotations").child(annotation));
    }
  }

 private:
  void one(const AnnotatedPart& part, std::string_view annotation, const std::string& text, const Place& place) {
    using protocol::AnnotationPlace;
    const std::string ns = known_.namespace_of(object_);
    if (*part.read_as == AnnotationPlace::kResourceClaim)
      return linter(claim_itself(object_), alignment::Place::kClaim).text(annotation, text, place);
    if (*part.read_as == AnnotationPlace::kPodGroup) {
      std::vector<std::vector<KnownClaim>> members;
      const std::string name = text_below(part.metadata, "name");
      for (const json* pod : known_.members_of(ns, name)) members.push_back(claims_of_pod(*pod, known_, ns));
      if (has_members_in_cluster(ns, name)) members.clear();
      return linter({}, alignment::Place::kPodGroup).members(members, text, annotation, place);
    }
    const json& pod = object_[json::json_pointer(part.pointer)];
    linter(claims_of_pod(pod, known_, ns), alignment::Place::kPod).text(annotation, text, place);
    if (annotation != alignment::kPairsAnnotation && !names_group(pod))
      findings_.warn(place, LintCode::kHasNoEffect,
                     "the pod is in no group, so that this asks only for devices that have the attribute; "
                     "docs/user/groups.md says how pods name their group");
  }

  TextLinter linter(std::vector<KnownClaim> claims, alignment::Place where) {
    return {known_, features_, std::move(claims), where, findings_};
  }

  bool has_members_in_cluster(const std::string& ns, const std::string& group) const {
    if (known_.cluster() == nullptr) return false;
    const auto& pods = known_.cluster()->pods;
    return std::any_of(pods.begin(), pods.end(), [&](const auto& one) {
      const auto ref = protocol::group_of(*one.second);
      return ref && ref->ns == ns && ref->name == group;
    });
  }

  const json& object_;
  const Known& known_;
  const inventory::FeatureChoice& features_;
  FindingList& findings_;
};

}  // namespace

void lint_pairs(const json& object, const Place& place, const Known& known, const inventory::FeatureChoice& features,
                FindingList& findings) {
  PartLinter linter(object, known, features, findings);
  each_annotated_part(object, place, [&](const AnnotatedPart& part) { linter.part(part); });
}

}  // namespace dra::inspect
