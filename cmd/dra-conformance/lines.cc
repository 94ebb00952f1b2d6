#include "cmd/dra-conformance/lines.h"

#include <zlib.h>

#include <array>
#include <fstream>
#include <memory>

#include "test/support/conformance_data.h"

namespace dra::conformance {

std::string locate(const std::string& path) {
  if (path.find('/') != std::string::npos || std::ifstream(path).good()) return path;
  return test::conformance_data().file(path);
}

// zlib also reads files that are not compressed.
bool each_line(const std::string& path, const std::function<void(const std::string&)>& f) {
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
      if (!line.empty()) f(line);
      line.clear();
    }
    if (got == 0) break;
  }
  if (!line.empty()) f(line);
  return true;
}

}  // namespace dra::conformance
