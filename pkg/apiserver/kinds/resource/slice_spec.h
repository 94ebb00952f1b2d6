// ResourceSliceSpec: conversion of v1beta1's `basic`, dropping of fields behind gates that are off in 1.36, validation.
#pragma once

#include <string>

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

void slice_spec_from_v1beta1(Json& spec);
void slice_spec_to_v1beta1(Json& spec);

// Drops list attributes (gate DRAListTypeAttributes) and node allocatable mappings (DRANodeAllocatableResources) unless
// the stored object uses them. `old_spec` is null on create.
void drop_disabled_slice_fields(Json& spec, const Json& old_spec);

// Taints without timeAdded get `now` (RFC 3339, seconds): on every decode, so an update that omits it gets a new time.
void default_taint_times(Json& spec, const std::string& now);

// `old_spec` is null on create.
void check_slice_spec(FieldErrors& out, const FieldPath& path, const Json& spec, const Json& old_spec);

// Rules of one device (slice_device.cc).
void check_device(FieldErrors& out, const FieldPath& path, const Json& device, const Json& old_device,
                  bool per_device_node_selection);

}  // namespace dra::apiserver
