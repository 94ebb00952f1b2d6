#include "pkg/inspect/state/document_text.h"

#include "pkg/base/strings.h"

namespace dra::inspect {

std::vector<DocumentText> documents_of(std::string_view text) {
  std::vector<DocumentText> documents(1);
  size_t number = 0;
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (const std::string& line : lines) {
    ++number;
    if (line == "---" || line.starts_with("--- ") || line == "---\r")
      documents.push_back({line, "", number});
    else
      documents.back().text += line + "\n";
  }
  return documents;
}

std::string leading_comments(const std::string& text) {
  std::string comments;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view bare = trim(line);
    if (!bare.empty() && bare.front() != '#') break;
    if (!bare.empty()) comments += line + "\n";
  }
  return comments;
}

bool has_inner_comments(const std::string& text) {
  bool begun = false;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view bare = trim(line);
    const bool comment = !bare.empty() && bare.front() == '#';
    begun = begun || (!bare.empty() && !comment);
    // " #" may also be inside of a text: then the warning is one too many.
    if (begun && (comment || line.find(" #") != std::string::npos)) return true;
  }
  return false;
}

}  // namespace dra::inspect
