#include "pkg/base/closest.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace dra {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

std::optional<std::string> closest(std::string_view wanted, std::span<const std::string> known) {
  constexpr size_t kLongest = 128;
  if (wanted.size() > kLongest) return std::nullopt;
  size_t least = std::min<size_t>(2, std::max<size_t>(1, wanted.size() / 2)) + 1;
  std::optional<std::string> best;
  for (const std::string& name : known) {
    if (name.size() > kLongest) continue;
    if (const size_t steps = edit_distance(wanted, name); steps < least) {
      least = steps;
      best = name;
    }
  }
  return best;
}

}  // namespace dra
