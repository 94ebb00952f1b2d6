// The text of a file with several documents, as its parts between lines "---". Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dra::inspect {

struct DocumentText {
  std::string separator;    // the line "---" before it, with what follows there; empty for the first
  std::string text;         // every line ends with a line feed
  size_t lines_before = 0;  // in the file
};
// At least one, which may be empty.
std::vector<DocumentText> documents_of(std::string_view text);

// The comments before the first line of the document itself; blank lines are left out.
std::string leading_comments(const std::string& text);
// Whether it has comments after that, which are lost if it is written anew.
bool has_inner_comments(const std::string& text);

}  // namespace dra::inspect
