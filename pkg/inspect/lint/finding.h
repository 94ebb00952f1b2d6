// Finding: what lint has to say about one place of a file, and FindingList, which collects them with their positions.
//
//   FindingList findings;
//   findings.begin(positions, lines_before);            // of the document that is looked at
//   const Place spec = Place().child("spec");
//   findings.error(spec.child("count"), LintCode::kServerRefuses, "must be more than 0");
//
// Plain values; not thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/yaml/yaml.h"

namespace dra::inspect {

// kNote: something that was not looked at; it is never a reason to fail.
enum class Severity : uint8_t { kError, kWarning, kNote };

// What is wrong. Names of codes are part of the interface: -o json prints them, and docs/answers.schema.json lists
// them.
enum class LintCode : uint8_t {
  kUnreadable,  // the document is no YAML, or an object cannot be decoded
  kTooManyDocuments,
  kNoObject,     // the file has none
  kNotAnObject,  // without apiVersion or kind
  kNotLookedAt,
  kOldVersion,  // of the API
  kUnknownKind,
  kUnknownField,
  kFieldNeedsGate,  // servers drop the field unless a feature gate is on
  kOldForm,         // resourceClaims[].source
  kServerRefuses,
  kDoesNotCompile,  // a selector
  kBadVersion,      // semver() of what is no version
  kUnknownName,     // an attribute or a domain that no device has
  kSelectorFails,   // on some devices
  kSelectsNothing,
  kClassMissing,
  kHasNoEffect,  // tolerationSeconds of another effect
  kAlignsNothing,
  kBadParameters,   // the driver refuses them
  kClaimNotNamed,   // a container's claim that the pod has not
  kRequestMissing,  // a container's request that its claim has not
  kClaimUnused,
  kResourceNotOffered,
  kHalfTaint,
  kReferenceMissing,  // a claim or a template that is neither in the file nor in the cluster
  kNeverFits,
  kBadAnnotation,  // of ours: no such name, or a value that is refused or ignored
};
inline constexpr int kLintCodes = static_cast<int>(LintCode::kBadAnnotation) + 1;
std::string_view lint_code_name(LintCode code);  // "ServerRefuses"

struct Finding {
  size_t line = 0;  // from 1; 0: unknown
  size_t column = 0;
  Severity severity = Severity::kError;
  LintCode code = LintCode::kServerRefuses;
  std::string path;  // "spec.devices.requests[0].exactly"
  std::string text;
};

inline constexpr size_t kMaxFindings = 1000;

// A value of a document, by its JSON pointer (RFC 6901), and as users read it. The default is the document itself.
struct Place {
  std::string pointer;  // "/spec/devices/requests/0"
  std::string path;     // "spec.devices.requests[0]"
  Place child(std::string_view key) const;
  Place index(size_t i) const;
};

// The place below `base`, whose value is `object`, that a path in an API server's words ("a.b[0].c[key]") means. The
// pointer is that of the deepest value on the way that exists, so that a missing field is reported where it should be.
// Steps that only newer versions of an API have ("exactly") are left out where the object does without them, those that
// only older ones have ("basic") are put in.
Place place_of(const nlohmann::json& object, const Place& base, std::string_view field);

// The place below `base`, whose value is `object`, of a JSON pointer that exists there.
Place place_at(const nlohmann::json& object, const Place& base, const std::string& pointer);

class FindingList {
 public:
  // The following places are of this document. `positions` must outlive them.
  void begin(const yaml::Positions& positions, size_t lines_before);
  void add(Severity severity, const Place& place, LintCode code, std::string text);
  void error(const Place& place, LintCode code, std::string text) {
    add(Severity::kError, place, code, std::move(text));
  }
  void warn(const Place& place, LintCode code, std::string text) {
    add(Severity::kWarning, place, code, std::move(text));
  }
  // Without a place in a document. Beyond kMaxFindings nothing is added.
  void add(Finding finding);

  bool full() const { return all_.size() >= kMaxFindings; }
  size_t errors() const;
  std::vector<Finding>& all() { return all_; }

 private:
  std::vector<Finding> all_;
  const yaml::Positions* positions_ = nullptr;
  size_t lines_before_ = 0;
};

}  // namespace dra::inspect
