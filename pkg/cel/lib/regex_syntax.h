// What the readers of patterns share. Internal to pkg/cel/lib.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace dra::cel::lib {

// Where the character class that starts at `at` ends (behind its ']').
inline size_t class_end(std::string_view pattern, size_t at) {
  size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == '^') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  while (i < pattern.size() && pattern[i] != ']') {
    if (pattern[i] == '\\') {
      i += 2;
    } else if (pattern.substr(i, 2) == "[:") {
      const size_t close = pattern.find(":]", i + 2);
      i = close == std::string_view::npos ? i + 1 : close + 2;
    } else {
      ++i;
    }
  }
  return std::min(i + 1, pattern.size());
}

}  // namespace dra::cel::lib
