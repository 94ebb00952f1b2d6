// Before an object is kept: its lists become one with those of equal objects (shared_list.h). Call it on the thread
// that has the object alone.
#pragma once

#include "pkg/api/core.h"
#include "pkg/api/resource.h"

namespace dra::api {

void share_lists(ObjectMeta& metadata);
void share_lists(Pod& pod);
void share_lists(ResourceClaim& claim);

}  // namespace dra::api
