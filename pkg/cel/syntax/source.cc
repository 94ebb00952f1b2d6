#include "pkg/cel/syntax/source.h"

#include <algorithm>

#include "pkg/base/utf8.h"

namespace dra::cel {

Position position_of(std::string_view source, int32_t offset) {
  if (offset < 0) return {};
  Position p{1, 1};
  size_t end = std::min(static_cast<size_t>(offset), source.size());
  for (size_t i = 0; i < end; ++i) {
    auto c = static_cast<unsigned char>(source[i]);
    if (c == '\n') {
      ++p.line;
      p.column = 1;
    } else if ((c & 0xC0) != 0x80) {
      ++p.column;
    }
  }
  return p;
}

void Issues::add(CompileCategory category, int32_t offset, std::string message) {
  if (full()) return;
  issues_.push_back({category, offset, std::move(message)});
}

std::vector<Issue> Issues::sorted() const {
  std::vector<Issue> out = issues_;
  std::stable_sort(out.begin(), out.end(), [](const Issue& a, const Issue& b) { return a.offset < b.offset; });
  return out;
}

std::string Issues::render(const std::vector<Issue>& issues, std::string_view source) {
  std::string out;
  for (const Issue& issue : issues) {
    if (!out.empty()) out += '\n';
    Position p = position_of(source, issue.offset);
    if (source.empty()) p.column = 0;  // cel-go has no line to point at
    out += "ERROR: <input>:" + std::to_string(p.line) + ":" + std::to_string(p.column) + ": " + issue.message;
    if (issue.offset < 0 || source.empty()) continue;
    size_t at = std::min(static_cast<size_t>(issue.offset), source.size());
    size_t begin = source.rfind('\n', at == 0 ? std::string_view::npos : at - 1);
    begin = at == 0 || begin == std::string_view::npos ? 0 : begin + 1;
    size_t end = source.find('\n', at);
    if (end == std::string_view::npos) end = source.size();
    std::string line(source.substr(begin, end - begin));
    std::replace(line.begin(), line.end(), '\t', ' ');
    std::string dots;
    std::string caret = "^";
    // Wide characters take a wide dot (cel-go common/error.go: those whose UTF-8 form is longer than one byte).
    for (size_t i = begin; i < at;) {
      size_t n = std::max<size_t>(utf8_length(source, i), 1);
      dots += n > 1 ? "\xEF\xBC\x8E" : ".";
      i += n;
    }
    if (at < end && utf8_length(source, at) > 1) caret = "\xEF\xBC\xBE";
    out += "\n | " + line + "\n | " + dots + caret;
  }
  return out;
}

}  // namespace dra::cel
