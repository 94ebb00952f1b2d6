// lint: what is wrong with a manifest before it is applied, with the position in the file.
//
// Checks for old API versions, fields that resource.k8s.io/v1 does not know (and where they belong), selectors (tried
// on every device of the cluster), and requests that this fleet could not meet even if it were empty. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

enum class Severity : uint8_t { kError, kWarning };

struct Finding {
  size_t line = 0;  // from 1; 0: unknown
  size_t column = 0;
  Severity severity = Severity::kError;
  std::string path;  // "spec.devices.requests[0].exactly"
  std::string text;
};

// `objects`: the cluster, or null if there is none: then selectors are only compiled. Findings come in the order of the
// file, at most kMaxFindings.
inline constexpr size_t kMaxFindings = 1000;
Result<std::vector<Finding>> lint(std::string_view text, const Objects* objects, const StateOptions& options,
                                  const std::string& ns);

// Status: kNo if there is an error or, with `strict`, any finding.
Answer lint_answer(const std::vector<Finding>& findings, const std::string& file, bool strict);

}  // namespace dra::inspect
