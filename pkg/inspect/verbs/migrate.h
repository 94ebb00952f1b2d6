// migrate: converts objects of older versions of resource.k8s.io to v1.
//
// If only the version's name changes (v1beta2), the text is kept with its comments; otherwise the document is rewritten
// below its leading comments. Fields without a counterpart in v1 are reported and left out. Documents that need no
// change are kept as they are. Rules: k8s.io/api/resource of 1.26 (v1alpha1, v1alpha2), 1.31 (v1alpha3), 1.32
// (v1beta1), 1.33 (v1beta2); core/v1 Pods before 1.31 (resourceClaims[].source). Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"

namespace dra::inspect {

struct Migrated {
  std::string text;               // all documents
  size_t changed = 0;             // number of changed documents
  std::vector<std::string> lost;  // "ResourceClaim a: spec.parametersRef has no counterpart ..."
};
Result<Migrated> migrate(std::string_view text);

// Moves the fields of a flat request, as v1beta1 has them, under `exactly`. False: there was nothing to move.
bool put_under_exactly(nlohmann::json& request);

// The object of a version that is still served (v1beta1, v1beta2) as v1 has it; others as they are.
nlohmann::json as_newest(nlohmann::json object);

// The text on standard output, lost fields as notes. Status: kNo if something was lost.
Answer migrate_answer(Migrated migrated);

}  // namespace dra::inspect
