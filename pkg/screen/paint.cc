#include "pkg/screen/paint.h"

namespace dra::screen {
namespace {

const char* attributes_of(Shade shade, bool colour) {
  switch (shade) {
    case Shade::kGood:
      return colour ? "\x1b[32m" : "";
    case Shade::kWarn:
      return colour ? "\x1b[33m" : "";
    case Shade::kBad:
      return colour ? "\x1b[31m" : "\x1b[1m";
    case Shade::kDim:
      return colour ? "\x1b[2m" : "";
    case Shade::kHead:
      return "\x1b[1m";
    case Shade::kTitle:
      return "\x1b[1;4m";
    case Shade::kChosen:
      return "\x1b[7m";
    case Shade::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string paint(const std::optional<Frame>& before, const Frame& frame, bool colour) {
  std::string out;
  if (!before || before->size() != frame.size()) out += "\x1b[0m\x1b[2J";
  for (size_t at = 0; at < frame.size(); ++at) {
    if (before && before->size() == frame.size() && (*before)[at] == frame[at]) continue;
    // Erased first: after a full line the cursor stands on its last column.
    out += "\x1b[" + std::to_string(at + 1) + ";1H\x1b[K";
    for (const Span& span : frame[at]) {
      const std::string attributes = attributes_of(span.shade, colour);
      out += attributes + span.text + (attributes.empty() ? "" : "\x1b[0m");
    }
  }
  return out;
}

}  // namespace dra::screen
