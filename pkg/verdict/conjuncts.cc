#include "pkg/verdict/conjuncts.h"

#include "pkg/base/strings.h"

namespace dra::verdict {

std::vector<std::string> conjuncts(std::string_view expression) {
  const std::vector<std::string> whole{std::string(trim(expression))};
  std::vector<std::string> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < expression.size(); ++at) {
    const char c = expression[at];
    // Triple quotes and raw strings are rare: such an expression stays whole.
    if (c == '"' || c == '\'') {
      if (expression.substr(at, 3) == std::string(3, c) || (at > 0 && (expression[at - 1] | 0x20) == 'r')) return whole;
      for (++at; at < expression.size() && expression[at] != c; ++at)
        if (expression[at] == '\\') ++at;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && (expression.substr(at, 2) == "||" || c == '?' || expression.substr(at, 2) == "//")) {
      return whole;
    } else if (depth == 0 && expression.substr(at, 2) == "&&") {
      parts.emplace_back(trim(expression.substr(begin, at - begin)));
      begin = ++at + 1;
    }
  }
  parts.emplace_back(trim(expression.substr(std::min(begin, expression.size()))));
  return parts;
}

}  // namespace dra::verdict
