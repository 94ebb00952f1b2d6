// Selectors of classes and claims, tried on the devices on which the allocator would try them: those that the class of
// the request admits, and the selectors before it. And the classes themselves, which must exist. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

struct SelectorFindings {
  bool uncompilable = false;              // some selector does not compile
  std::set<std::string> missing_classes;  // named, and not there
};

// Of a DeviceClass, ResourceClaim or ResourceClaimTemplate of resource.k8s.io/v1; nothing for other kinds.
void lint_selectors(const nlohmann::json& object, const Place& place, const Known& known,
                    const inventory::FeatureChoice& features, FindingList& findings, SelectorFindings& found);

// The texts in semver("...") of an expression that are no semantic versions, so that the function fails on every
// device though the expression compiles.
struct BadVersion {
  std::string text;     // "580.159.04"
  std::string why;      // in the words of the evaluation
  std::string instead;  // "580.159.4"; empty: nothing like it is a version
};
std::vector<BadVersion> bad_versions(std::string_view expression);

// "does not compile, at character 18: Syntax error: the expression ends too early": of a compiler's message
// ("compilation failed: ERROR: <input>:1:18: ..."), its first error without what the parser expected. Other texts:
// their first line.
std::string words_of_compile_error(std::string_view error);

}  // namespace dra::inspect
