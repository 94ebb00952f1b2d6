// Finds what this build does not know of an object, by the schema tables. Internal to pkg/api.
//
// Called only where something was noticed: decoding counts unread members (Trouble::unread()), protobuf notes unknown
// numbers, and values of enumerations are compared when they are read (Trouble::strange()). So an object without
// anything unknown costs next to nothing.
#pragma once

#include "pkg/api/decode/read_fields.h"
#include "pkg/api/rare.h"
#include "pkg/api/resource.h"
#include "pkg/api/scheduling.h"
#include "pkg/api/unknown_fields.h"

namespace dra::api::detail {

// Each records in the object what is unknown of it; `v` is the object that `out` was read from with `t`. In protobuf
// what is recorded names a number instead of a place and concerns the whole object: its JSON says more.
void note_unknown(const WireValue& v, const Trouble& t, ResourceSlice& out);
void note_unknown(const WireValue& v, const Trouble& t, ResourceClaim& out);
void note_unknown(const WireValue& v, const Trouble& t, DeviceClass& out);
void note_unknown(const WireValue& v, const Trouble& t, PodGroup& out);
// `spec`: spec.spec of the template. The places are those of the claims that will be made from it.
// `unread`: of these members.
void note_unknown_of_template(const WireValue& spec, const Trouble& t, int64_t unread, ResourceClaimTemplate& out);

}  // namespace dra::api::detail
