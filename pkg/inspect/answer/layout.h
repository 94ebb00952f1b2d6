// Lays out tables and text on a page of a given width. Pure.
//
// A table that is too wide for the page gets narrower columns, with cells broken after blanks and commas; if even that
// does not fit, it is printed row by row with one line per cell. Words are never broken: names stay fit for copying.
#pragma once

#include <string>
#include <string_view>

#include "pkg/inspect/answer/answer.h"

namespace dra::inspect {

// RenderOptions::table_width is the width of the page.
void append_table(std::string& out, const Table& table, const RenderOptions& options);
// Text in lines of at most `width` columns, broken between words; continuations of indented lines keep the indent.
std::string wrapped(std::string_view text, size_t width);

}  // namespace dra::inspect
