// What PersistentVolumes and their claims have in common. Internal to this folder. Pure.
#pragma once

#include <string>

#include "pkg/apiserver/model/field_error.h"

namespace dra::apiserver {

// accessModes: only known ones; ReadWriteOncePod must be alone.
void check_access_modes(FieldErrors& out, const FieldPath& path, const Json& modes);
void check_volume_mode(FieldErrors& out, const FieldPath& path, const Json& spec);
// A class name, if set, must be a DNS subdomain.
void check_volume_class_name(FieldErrors& out, const FieldPath& path, const std::string& name);
// An amount of storage: more than zero.
void check_storage(FieldErrors& out, const FieldPath& path, const Json& amount);
// A CSI driver's name, as upstream's ValidateCSIDriverName.
void check_csi_driver_name(FieldErrors& out, const FieldPath& path, const std::string& name);

// Cells: "RWO,ROX"; "<unset>" for a null pointer; the class, by its annotation or by name.
std::string access_modes_text(const Json& modes);
std::string or_unset(const Json& object, const char* key);
std::string class_of(const Json& object);
// "Terminating" or the phase.
std::string phase_text(const Json& object);

}  // namespace dra::apiserver
