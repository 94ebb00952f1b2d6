// How placing a pod may affect the other members of its group, from its rules.
#pragma once

#include "pkg/api/core.h"
#include "pkg/gang/request.h"

namespace dra::gang {

Nodes::Influence influence_of(const api::Pod& pod);

}  // namespace dra::gang
