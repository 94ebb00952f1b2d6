// The mistakes that lint finds most often, mended: old versions and `source` (migrate.h), requests without `exactly`,
// misspelt fields and kinds, versions in selectors with leading zeros, a claim that the pod's only container does not
// use, a claim that a container misspells, and a request that the claim lacks where it has only one.
//
// Documents that need no change keep their text; a changed one is written anew, below the comments at its beginning.
// Nothing is guessed: where two things could be meant, nothing is changed, and lint says what is wrong. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

struct FixedManifest {
  std::string text;               // all documents
  std::vector<std::string> done;  // "ResourceClaim a: request gpu: put deviceClassName under exactly"
  std::vector<std::string> lost;  // what could not be kept: comments, and what migrate.h names
};

// `cluster`: null if there is none. Errors name the line of a document that cannot be read.
Result<FixedManifest> fix_manifest(std::string_view text, const Objects* cluster, const std::string& ns);

// The text on standard output; what was done and what is `left` as notes. Status: kNo if there are errors left.
Answer fix_answer(FixedManifest fixed, const std::vector<Finding>& left);

}  // namespace dra::inspect
