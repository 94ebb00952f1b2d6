// Objects for this package's tests.
#pragma once

#include <memory>
#include <string>

namespace dra::inspect {

// An object with this name, a uid made of it, and an hour's age for tests that take place on 2026-03-01 at noon.
template <class T>
std::shared_ptr<T> named_object(const std::string& ns, const std::string& name) {
  auto object = std::make_shared<T>();
  object->metadata.ns = ns;
  object->metadata.name = name;
  object->metadata.uid = "uid-" + name;
  object->metadata.creation_timestamp = "2026-03-01T11:00:00Z";
  return object;
}

}  // namespace dra::inspect
