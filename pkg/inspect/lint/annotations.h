// The annotations with our prefix, wherever an object has some: names that nobody reads, names at places where nobody
// reads them, marks that the manager alone writes, and values that would be ignored. Pairs and rails: pairs.h.
//
// Rules: pkg/protocol/annotations.h (the table), and the parsers of the values. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "pkg/inspect/lint/finding.h"
#include "pkg/inspect/lint/known.h"
#include "pkg/protocol/annotations.h"

namespace dra::inspect {

// The annotations of an object, of the claims of a template, or of a pod template.
struct AnnotatedPart {
  const nlohmann::json& metadata;
  Place place;  // of the metadata
  // Which annotations are read there; none: no annotation is.
  std::optional<protocol::AnnotationPlace> read_as;
  std::string pointer;  // of the object that has the metadata, for pods and claims; "" is the document's object
};
// Calls it for each part of the object that has annotations.
void each_annotated_part(const nlohmann::json& object, const Place& place,
                         const std::function<void(const AnnotatedPart&)>& call);

void lint_annotations(const nlohmann::json& object, const Place& place, FindingList& findings);

}  // namespace dra::inspect
