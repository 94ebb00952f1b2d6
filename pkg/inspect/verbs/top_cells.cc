#include "pkg/inspect/verbs/top_cells.h"

#include "pkg/inspect/state/unseen.h"

namespace dra::inspect {

Cell some_or_dash(std::string text) {
  return text.empty() ? Cell("-", Tone::kDim) : Cell(std::move(text));
}

Cell bad_cell(uint32_t bad) {
  Cell cell(bad);
  if (bad > 0) cell.tone = Tone::kBad;
  return cell;
}

bool devices_are_uncertain(const Objects& objects) {
  return objects.hides("resourceslices") || objects.hides("resourceclaims");
}

void note_hidden(Answer& answer, const Objects& objects) {
  for (std::string& note : hidden_notes(objects, "; figures leave them out")) answer.notes.push_back(std::move(note));
}

}  // namespace dra::inspect
