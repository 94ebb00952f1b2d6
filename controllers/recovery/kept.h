// Which pods are not made anew although their devices cannot be prepared, and the words for it. Pure.
#pragma once

#include <string>

#include "controllers/recovery/failures.h"
#include "pkg/api/core.h"
#include "pkg/reconcile/view.h"

namespace dra::recovery {

// A clause that names the object and what to do; empty: the pod may be made anew.
std::string why_kept(const reconcile::View& view, const api::Pod& pod, const Failures& failures);

}  // namespace dra::recovery
