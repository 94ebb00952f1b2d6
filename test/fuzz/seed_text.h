// A seed is one line. For targets that read several lines, \n and \r (two characters each) mean line ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#define REQUIRE(condition)                                                  \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "broken: %s (line %d)\n", #condition, __LINE__); \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

namespace dra::fuzz {

inline std::string seed_text(const uint8_t* data, size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    const char next = i + 1 < size ? static_cast<char>(data[i + 1]) : '\0';
    if (data[i] == '\\' && (next == 'n' || next == 'r')) {
      text += next == 'n' ? '\n' : '\r';
      ++i;
    } else {
      text += static_cast<char>(data[i]);
    }
  }
  return text;
}

}  // namespace dra::fuzz
