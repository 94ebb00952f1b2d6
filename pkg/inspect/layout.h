// How tables and text are put on a page of a given width. Pure.
//
// A table that is too wide for the page is printed in narrower columns, with cells broken behind blanks and commas;
// where even that does not fit, row by row with a line a cell. A word is never broken: names stay fit for copying.
#pragma once

#include <string>
#include <string_view>

#include "pkg/inspect/answer.h"

namespace dra::inspect {

// RenderOptions::table_width is the width of the page.
void append_table(std::string& out, const Table& table, const RenderOptions& options);
// Text in lines of at most `width` columns, broken between words; indented lines go on with the same indent.
std::string wrapped(std::string_view text, size_t width);

}  // namespace dra::inspect
