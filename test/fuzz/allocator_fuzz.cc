// libFuzzer: lines of allocator case files (seeds: dra-conformance allocator --write-worlds).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "test/allocharness/judge.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string broken = dra::allocharness::fuzz_one({reinterpret_cast<const char*>(data), size});
  if (broken.empty()) return 0;
  std::fprintf(stderr, "%s\n", broken.c_str());
  std::abort();
}
