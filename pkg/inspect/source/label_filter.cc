#include "pkg/inspect/source/label_filter.h"

#include <algorithm>
#include <cctype>

#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"

namespace dra::inspect {
namespace {

// Splits at commas outside of parentheses.
std::vector<std::string> requirements_in(std::string_view text) {
  std::vector<std::string> parts(1);
  bool inside = false;
  for (const char c : text) {
    if (c == '(') inside = true;
    if (c == ')') inside = false;
    if (c == ',' && !inside)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

api::LabelSelectorRequirement requirement_of(const std::string& part) {
  const auto key_of = [](std::string_view key) { return std::string(trim(key)); };
  for (const auto& [word, op] : {std::pair{" notin (", "NotIn"}, std::pair{" in (", "In"}}) {
    const size_t at = part.find(word);
    if (at == std::string::npos || part.back() != ')') continue;
    const size_t begin = at + std::string_view(word).size();
    api::LabelSelectorRequirement found{key_of(part.substr(0, at)), op, {}};
    for (const std::string& value : split(std::string_view(part).substr(begin, part.size() - begin - 1), ','))
      found.values.push_back(key_of(value));
    return found;
  }
  if (const size_t at = part.find("!="); at != std::string::npos)
    return {key_of(part.substr(0, at)), "NotIn", {key_of(part.substr(at + 2))}};
  if (const size_t at = part.find('='); at != std::string::npos) {
    const size_t value = part.compare(at, 2, "==") == 0 ? at + 2 : at + 1;
    return {key_of(part.substr(0, at)), "In", {key_of(part.substr(value))}};
  }
  if (part.front() == '!') return {key_of(part.substr(1)), "DoesNotExist", {}};
  return {part, "Exists", {}};
}

// Letters, digits and "-_./": what else is in a key is a mistake in the selector, not the name of a label.
bool may_be_key(const std::string& key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

}  // namespace

Result<api::LabelSelector> parse_label_selector(std::string_view text) {
  api::LabelSelector selector;
  if (trim(text).empty()) return selector;
  for (const std::string& raw : requirements_in(text)) {
    const std::string part(trim(raw));
    if (part.empty()) return fail(Code::kInvalidArgument, "-l " + quote(text) + " has an empty part");
    selector.match_expressions.push_back(requirement_of(part));
    const api::LabelSelector one{{}, {selector.match_expressions.back()}};
    if (!api::well_formed(one) || !may_be_key(selector.match_expressions.back().key))
      return fail(Code::kInvalidArgument, "-l " + quote(text) + ": " + quote(part) +
                                              " cannot be read; write key=value, key!=value, key in (a,b) or key");
  }
  return selector;
}

}  // namespace dra::inspect
