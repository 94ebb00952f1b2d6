#include "pkg/protocol/moves.h"

#include <algorithm>

namespace dra::protocol {

std::optional<uint32_t> read_moves_per_hour(std::string_view text) {
  const bool digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text.empty() || text.size() > 4 || !digits || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  uint32_t number = 0;
  for (const char digit : text) number = number * 10 + static_cast<uint32_t>(digit - '0');
  if (number > kMostMovesPerHour) return std::nullopt;
  return number;
}

}  // namespace dra::protocol
