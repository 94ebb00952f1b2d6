// Finds the test data with known answers: $DRA_CONFORMANCE_DIR, or ../shared/conformance, or else the small copy in
// test/data/conformance, so that no suite ever lacks data. Paths are relative to the top of the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace dra::test {

struct ConformanceData {
  std::string folder;
  bool whole = true;  // false: the small copy

  std::string file(const std::string& name) const { return folder + "/" + name; }
  // A minimum number of cases: `of_all` for the whole set, one for the small copy.
  int at_least(int of_all) const { return whole ? of_all : 1; }
};

inline ConformanceData conformance_data() {
  if (const char* const said = std::getenv("DRA_CONFORMANCE_DIR")) return {said, true};
  const std::string shared = "../shared/conformance";
  if (std::filesystem::is_directory(shared)) return {shared, true};
  return {"test/data/conformance", false};
}

}  // namespace dra::test
