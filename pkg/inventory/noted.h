// Noted: what is remembered of the devices of an allocation, so that they count when their driver withdraws them
// (docs/design/identity.md, rule 7). Allocations of this manager have entries of their own; those of other programs get
// an annotation on their claim, of the same form, while --identity-annotations is on.
//
//   inventory.apply_claim(claim);                                    // reads both
//   std::string value = identities_to_note(index, claim);            // what the annotation is to be
//   if (value != annotation) ... write it, with the claim's resourceVersion as precondition
//
// Whoever computes it from the same objects gets the same text. Pure.
#pragma once

#include <string>

#include "pkg/api/resource.h"
#include "pkg/identity/record.h"
#include "pkg/inventory/device_index.h"

namespace dra::inventory {

// Nothing if annotations do not count, the claim has no allocation, or the text is not of this form.
identity::Records noted_on(const DeviceIndex& index, const api::ResourceClaim& claim);

// The value that kIdentitiesAnnotation of the claim should have; empty: none. For each device that the claim holds, and
// of which the allocation records nothing: what the annotation says, else what is published now. A device that is not
// published, or without values, is left out, and adminAccess. At most kMaxAnnotationBytes: the last devices by name are
// left out, too.
std::string identities_to_note(const DeviceIndex& index, const api::ResourceClaim& claim);

}  // namespace dra::inventory
