#include "pkg/sandbox/step.h"

#include <nlohmann/json.hpp>

namespace dra::sandbox {
namespace {

const Json* find_at(const Json& object, const char* pointer) {
  const Json::json_pointer at(pointer);
  return object.contains(at) ? &object[at] : nullptr;
}

}  // namespace

std::string object_key(const Json& object) {
  return text_at(object, "/metadata/namespace") + "/" + text_at(object, "/metadata/name");
}

std::string text_at(const Json& object, const char* pointer, std::string_view fallback) {
  const Json* value = find_at(object, pointer);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string(fallback);
}

int64_t number_at(const Json& object, const char* pointer, int64_t fallback) {
  const Json* value = find_at(object, pointer);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : fallback;
}

bool controlled_by(const Json& object, std::string_view uid) {
  const Json* owners = find_at(object, "/metadata/ownerReferences");
  if (owners == nullptr || !owners->is_array()) return false;
  for (const Json& owner : *owners) {
    if (owner.value("controller", false) && owner.value("uid", "") == uid) return true;
  }
  return false;
}

}  // namespace dra::sandbox
