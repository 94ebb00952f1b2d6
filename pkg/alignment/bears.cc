#include "pkg/alignment/bears.h"

#include "pkg/alignment/alignment.h"

namespace dra::alignment {

std::string_view first_annotation(const api::StringMap& annotations) {
  if (annotations.empty()) return {};
  for (const std::string_view one : {kPairsAnnotation, kRailsAnnotation, kPreferredRailsAnnotation})
    if (annotations.find(one) != annotations.end()) return one;
  return {};
}

}  // namespace dra::alignment
