// release(): empties a string or a container and frees its memory, which an assignment of an empty one may keep.
#pragma once

#include <utility>

namespace dra::api {

template <class T>
void release(T& value) {
  T empty;
  std::swap(value, empty);
}

}  // namespace dra::api
