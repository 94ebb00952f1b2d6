// A cluster from what `kubectl get nodes,deviceclasses,resourceslices,resourceclaims,pods -A -o yaml` (or json)
// printed: what people attach to a bug report, in place of a snapshot (snapshot.h).
//
//   Result<Objects> objects = read_object_list(bytes, path);
//
// Lists, and documents with one object each, are both read; objects of other kinds are ignored. Such a file does not
// say when it was written: the "now" of answers is the latest time in its objects. A kind that the file must have and
// does not have is hidden, not absent. Errors: the text is too large, cannot be parsed, or has no object of a kind that
// is read. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/error.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

inline constexpr size_t kMaxObjectList = size_t{256} << 20;  // bytes

// Whether the bytes are, or begin like, gzip, as a snapshot is.
bool is_gzip(std::string_view bytes);
// `name` is for messages and becomes the origin. `on_page` gets each page of a list that was added, by its kind.
Result<Objects> read_object_list(std::string_view text, const std::string& name, const OnPage& on_page = nullptr);

}  // namespace dra::inspect
