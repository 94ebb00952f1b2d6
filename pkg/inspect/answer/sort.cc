#include "pkg/inspect/answer/sort.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

uint64_t number_in(const Cell& cell) {
  uint64_t number = 0;
  std::from_chars(cell.text.data(), cell.text.data() + cell.text.size(), number);
  return number;
}

bool comes_first(const Cell& a, const Cell& b) {
  if (a.is_number != b.is_number) return a.is_number;
  return a.is_number ? number_in(a) > number_in(b) : natural_less(a.text, b.text);
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto digits = [&](std::string_view text, size_t from) {
    size_t end = from;
    while (end < text.size() && is_digit(text[end])) ++end;
    while (from + 1 < end && text[from] == '0') ++from;
    return std::pair{text.substr(from, end - from), end};
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto [one, after_one] = digits(a, i);
      const auto [other, after_other] = digits(b, j);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
      i = after_one;
      j = after_other;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // they differ in leading zeros, if at all
}

Result<void> sort_rows(Answer& answer, std::string_view column) {
  std::vector<std::string> keys;
  bool sorted = false;
  for (Table& table : answer.tables) {
    const auto named = [&](const Column& one) { return same_word(one.key, column) || same_word(one.head, column); };
    const auto found = std::find_if(table.columns.begin(), table.columns.end(), named);
    for (const Column& one : table.columns) keys.push_back(one.key);
    if (found == table.columns.end()) continue;
    sorted = true;
    const auto at = static_cast<size_t>(found - table.columns.begin());
    std::stable_sort(table.rows.begin(), table.rows.end(),
                     [&](const Row& a, const Row& b) { return comes_first(a.cells.at(at), b.cells.at(at)); });
  }
  if (sorted) return {};
  const std::string near = nearest(column, keys);
  std::string instead = "this answer has no table to sort";
  if (!near.empty())
    instead = "did you mean " + quote(near) + "?";
  else if (!keys.empty())
    instead = "use one of " + join(keys, ", ");
  return fail(Code::kInvalidArgument, "--sort-by " + quote(column) + ": there is no such column; " + instead);
}

}  // namespace dra::inspect
