// The annotations that decisions read: each has names in a form of its own.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "pkg/alignment/alignment.h"
#include "pkg/allocator/locality.h"
#include "pkg/api/resource.h"
#include "pkg/api/semver.h"
#include "pkg/api/topology_level.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/source/redact.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/leaving.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/topology.h"

namespace dra::inspect {
namespace {

bool consists_of(std::string_view text, int (*allowed)(int)) {
  return std::all_of(text.begin(), text.end(), [allowed](unsigned char c) { return allowed(c) != 0; });
}

// The text before and after the last separator; without one, all of it is before.
std::pair<std::string, std::string> cut_last(const std::string& text, char separator) {
  const size_t at = text.rfind(separator);
  return at == std::string::npos ? std::pair{text, std::string()} : std::pair{text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

void Redactor::annotations(nlohmann::json& value) {
  nlohmann::json out = nlohmann::json::object();
  if (value.is_object())
    for (auto& [key, one] : value.items())
      out[text(Word::kKey, key, "")] =
          one.is_string() ? annotation(key, one.get<std::string>()) : std::string(kLeftOut);
  value = std::move(out);
}

std::string Redactor::annotation(const std::string& key, const std::string& old) {
  if (key == protocol::kProofAnnotation) {
    const auto [uid, hash] = cut_last(old, '/');
    return name(Word::kUid, uid) + "/" + (consists_of(hash, &std::isxdigit) ? hash : std::string(kLeftOut));
  }
  if (key == protocol::kProvenForAnnotation) return users(old);
  if (key == protocol::kLeavingAnnotation) {
    std::vector<std::string> parts;
    for (const std::string& part : split(old, ',')) {
      const auto [uid, version] = cut_last(part, '@');
      parts.push_back(name(Word::kUid, uid) + "@" + (consists_of(version, &std::isdigit) ? version : "0"));
    }
    return join(parts, ",");
  }
  if (key == protocol::kAvoidedDevices || key == "dra-controller-manager/quarantine") return avoided(old);
  if (key == protocol::kTopologyRequiredAnnotation || key == protocol::kTopologyPreferredAnnotation)
    return topology(old);
  if (key == allocator::kPreferAnnotation) return preference(old);
  if (key == alignment::kPairsAnnotation || key == alignment::kRailsAnnotation ||
      key == alignment::kPreferredRailsAnnotation)
    return alignment(key, old);
  if (key == api::kPodClaimNameAnnotation) return name(Word::kEntry, old);
  if (key == "dra-controller-manager/version")
    return api::Semver::parse(old) || old == "sandbox" ? old : std::string(kLeftOut);
  if (key == "dra-controller-manager/scheduler-names") return names(Word::kScheduler, old);
  if (key == "dra-controller-manager/exclusive-drivers" || key == "dra-controller-manager/shared-drivers")
    return names(Word::kDriver, old);
  return is_api_word(old) || consists_of(old, &std::isdigit) ? old : std::string(kLeftOut);
}

std::string Redactor::names(Word word, const std::string& old) {
  std::vector<std::string> parts;
  for (const std::string& part : split(old, ',')) parts.push_back(text(word, part, ""));
  return join(parts, ",");
}

// "<name>/<uid>[,...]", where "~" before the uid says that the pod left.
std::string Redactor::users(const std::string& old) {
  std::vector<std::string> parts;
  for (const std::string& part : split(old, ',')) {
    auto [pod, uid] = cut_last(part, '/');
    const bool left = uid.starts_with('~');
    if (left) uid.erase(0, 1);
    parts.push_back(name(Word::kPod, pod) + "/" + (left ? "~" : "") + name(Word::kUid, uid));
  }
  return join(parts, ",");
}

// "driver/pool/device=<seconds>[ ...]".
std::string Redactor::avoided(const std::string& old) {
  std::vector<std::string> parts;
  for (const std::string& part : split(old, ' ')) {
    const auto [device, until] = cut_last(part, '=');
    const std::vector<std::string> names = split(device, '/');
    if (names.size() != 3 || !consists_of(until, &std::isdigit)) continue;
    parts.push_back(published(Word::kDriver, names[0]) + "/" + name(Word::kPool, names[1]) + "/" +
                    published(Word::kDevice, names[2]) + "=" + until);
  }
  return join(parts, " ");
}

std::string Redactor::topology(const std::string& old) {
  if (!old.starts_with(api::kAttributeLevel)) return text(Word::kKey, old, "");
  return std::string(api::kAttributeLevel) + qualified(Word::kAttribute, old.substr(api::kAttributeLevel.size()));
}

// Written anew from what was understood.
std::string Redactor::preference(const std::string& old) {
  std::vector<std::string> parts;
  for (const allocator::PreferText::One& one : allocator::parse_prefer(old).preferences)
    parts.push_back("same:" + qualified(Word::kAttribute, one.attribute) + "=" + std::to_string(one.weight));
  return join(parts, ",");
}

// Written anew from what was understood. A text that is refused stays one that is refused.
std::string Redactor::alignment(std::string_view key, const std::string& old) {
  for (const alignment::Place place : {alignment::Place::kClaim, alignment::Place::kPod}) {
    const alignment::Reading reading = alignment::read_entries(key, old, place);
    if (reading.refusal) continue;
    std::vector<std::string> parts;
    for (const alignment::Entry& entry : reading.entries) {
      std::vector<std::string> terms;
      for (const alignment::Term& term : entry.terms)
        terms.push_back((term.claim.empty() ? "" : name(Word::kEntry, term.claim) + "/") +
                        name(Word::kRequest, term.request) +
                        (term.number == 1 ? "" : "*" + std::to_string(term.number)));
      parts.push_back(join(terms, "+") + " by " + qualified(Word::kAttribute, entry.attribute));
    }
    return join(parts, ",");
  }
  return std::string(kLeftOut);
}

}  // namespace dra::inspect
