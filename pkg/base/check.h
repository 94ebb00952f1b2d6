// DRA_CHECK(condition): an assertion that stays on in release builds. A failure is a bug: it throws CheckFailed, which
// only the edges that ARCHITECTURE.md lists catch.
#pragma once

#include <stdexcept>
#include <string>

namespace dra {

class CheckFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* file, int line, const char* what) {
  throw CheckFailed(std::string(file) + ":" + std::to_string(line) + ": check failed: " + what);
}

}  // namespace dra

#define DRA_CHECK(condition)                                               \
  do {                                                                     \
    if (!(condition)) ::dra::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)
