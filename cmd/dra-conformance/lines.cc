#include "cmd/dra-conformance/lines.h"

#include <zlib.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "pkg/base/strings.h"
#include "test/support/conformance_data.h"

namespace dra::conformance {

std::string locate(const std::string& path) {
  if (path.find('/') != std::string::npos || std::ifstream(path).good()) return path;
  return test::conformance_data().file(path);
}

int cannot_read(const char* command, const std::string& path) {
  const std::string looked =
      path.find('/') != std::string::npos ? "" : ", here or in " + test::conformance_data().folder;
  std::fprintf(stderr, "dra-conformance %s: --in: cannot read %s%s\n", command, quote(path).c_str(), looked.c_str());
  return 2;
}

int cannot_write(const char* command, const std::string& path) {
  std::fprintf(stderr, "dra-conformance %s: --out: cannot write %s\n", command, quote(path).c_str());
  return 2;
}

// zlib also reads files that are not compressed.
bool each_line(const std::string& path, const std::function<void(const std::string&)>& use) {
  size_t number = 0;
  const auto f = [&](const std::string& text) {
    try {
      use(text);
    } catch (const std::exception& e) {
      throw std::runtime_error("line " + std::to_string(number) + " of " + path + ": " + e.what());
    }
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return false;
  std::string line;
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    const int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (got < 0) return false;
    for (int i = 0; i < got; ++i) {
      if (buffer[static_cast<size_t>(i)] != '\n') {
        line += buffer[static_cast<size_t>(i)];
        continue;
      }
      ++number;
      if (!line.empty()) f(line);
      line.clear();
    }
    if (got == 0) break;
  }
  ++number;
  if (!line.empty()) f(line);
  return true;
}

}  // namespace dra::conformance
