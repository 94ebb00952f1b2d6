// lint: what is wrong with a manifest before it is applied, with the position in the file.
//
// Checks what an API server refuses (server_rules.h), old versions and fields out of place (forms.h), selectors and
// classes (selectors.h), opaque parameters (parameters.h), annotations with our prefix (annotations.h, pairs.h), how
// pods use their claims (pods.h), and requests that this fleet could not meet even if it were empty. Objects of kinds
// that none of these knows are named in notes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/state/state.h"

namespace dra::inspect {

// `objects`: the cluster, or null if there is none: then selectors are only compiled. Findings come in the order of the
// file, at most kMaxFindings.
Result<std::vector<Finding>> lint(std::string_view text, const Objects* objects, const StateOptions& options,
                                  const std::string& ns);

// Status: kNo if there is an error or, with `strict`, a warning.
Answer lint_answer(const std::vector<Finding>& findings, const std::string& file, bool strict);

}  // namespace dra::inspect
