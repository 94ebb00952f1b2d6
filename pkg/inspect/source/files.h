// Files named on a command line: whole and bounded, "-" is standard input. Errors name the path and what to do.
#pragma once

#include <string>
#include <string_view>

#include "pkg/base/error.h"

namespace dra::inspect {

Result<std::string> read_file(const std::string& path, size_t max_bytes);
// Atomic: writes a temporary file beside it and renames that. Readable by its owner alone.
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace dra::inspect
