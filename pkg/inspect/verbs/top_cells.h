// What the tables of top share. Internal to top.
#pragma once

#include <string>

#include "pkg/inspect/answer/answer.h"
#include "pkg/inspect/state/objects.h"

namespace dra::inspect {

// "-" for an empty text.
Cell some_or_dash(std::string text);
// A number that is marked unless it is 0.
Cell bad_cell(uint32_t bad);
// Held devices may seem free, or some are not seen at all.
bool devices_are_uncertain(const Objects& objects);
void note_hidden(Answer& answer, const Objects& objects);

}  // namespace dra::inspect
