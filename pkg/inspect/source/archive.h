// gzip, and tar archives of small files (POSIX ustar). Pure.
#pragma once

#include <string>
#include <vector>

namespace dra::inspect {

std::string gzip(const std::string& text);

struct ArchivedFile {
  std::string name;  // at most 99 bytes
  std::string bytes;
};
// Readable by its owner alone; all files have the time `seconds` (since 1970).
std::string tar(const std::vector<ArchivedFile>& files, int64_t seconds);

}  // namespace dra::inspect
