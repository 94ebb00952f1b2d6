// Reads files of cases line by line, compressed or not.
#pragma once

#include <functional>
#include <string>

namespace dra::conformance {

// A name without a folder that does not exist here is looked up where the files of cases are kept:
// test/support/conformance_data.h.
std::string locate(const std::string& path);

// Calls f for every line that is not empty. False when the file cannot be read. What f throws is thrown again with the
// number of the line.
bool each_line(const std::string& path, const std::function<void(const std::string&)>& f);

// Says on standard error that the file of `--in` or `--out`, as it was typed, cannot be read or written; returns the
// exit status.
int cannot_read(const char* command, const std::string& path);
int cannot_write(const char* command, const std::string& path);

}  // namespace dra::conformance
