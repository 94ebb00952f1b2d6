// Finds the test data with known answers: $DRA_CONFORMANCE_DIR, or ../shared/conformance, or else the small copy in
// test/data/conformance, so that no suite ever lacks data. Paths are relative to the top of the source tree.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace dra::test {

struct ConformanceData {
  std::string folder;
  bool whole = true;  // false: the small copy

  std::string file(const std::string& name) const { return folder + "/" + name; }
  // True if a test saw as many cases as its data has: `of_all` in the whole set, `of_sample` in the small copy. Prints
  // how many it saw.
  bool at_least(int of_all, int of_sample, int seen, const char* what) const {
    const int expected = whole ? of_all : of_sample;
    std::printf("%d %s, at least %d expected\n", seen, what, expected);
    return seen >= expected;
  }
};

inline ConformanceData conformance_data() {
  if (const char* const said = std::getenv("DRA_CONFORMANCE_DIR")) return {said, true};
  const std::string shared = "../shared/conformance";
  if (std::filesystem::is_directory(shared)) return {shared, true};
  return {"test/data/conformance", false};
}

}  // namespace dra::test
