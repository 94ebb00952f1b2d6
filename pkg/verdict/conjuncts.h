// conjuncts(): the parts of a CEL expression that its outermost && join. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dra::verdict {

// A single part if nothing is joined, or if the expression has || or ?: at the same level, which bind less tightly.
std::vector<std::string> conjuncts(std::string_view expression);

}  // namespace dra::verdict
