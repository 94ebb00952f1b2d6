// The order of rows: names as people count them, and --sort-by. Pure.
#pragma once

#include <string_view>

#include "pkg/inspect/answer/answer.h"

namespace dra::inspect {

// "tpu-2" before "tpu-15": digits compare as numbers, of any length. A strict weak order; equal only for equal texts.
bool natural_less(std::string_view a, std::string_view b);

// Sorts the rows of each table that has the column, named by its head or its key, in any case. Numbers: the largest
// first, as kubectl top does; texts in natural order. Cells without a number come after those with one; equal rows keep
// their order. Errors: no table has such a column; the message names the nearest, or lists all.
Result<void> sort_rows(Answer& answer, std::string_view column);

}  // namespace dra::inspect
