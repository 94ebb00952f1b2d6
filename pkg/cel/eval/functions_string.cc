// Functions on strings: the standard library, cel-go ext/strings.go (version 2) and Kubernetes' regex library.
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/eval/function_support.h"
#include "pkg/cel/lib/regex.h"
#include "pkg/cel/lib/text.h"
#include "pkg/cel/value/format.h"

namespace dra::cel {
namespace {

Value text_or_error(EvalContext& c, const lib::Outcome<std::string_view>& v) {
  return v ? Value::of_string(*v) : failed(c, v.error());
}
// A text that was built in the arena: building it is work as well.
Value made_text(EvalContext& c, const lib::Budget& left, const lib::Outcome<std::string_view>& v) {
  c.settle(left);
  if (!v) return failed(c, v.error());
  return c.spend(v->size() / 16) ? Value::of_string(*v) : aborted(c);
}
Value int_or_error(EvalContext& c, const lib::Outcome<int64_t>& v) {
  return v ? Value::of_int(*v) : failed(c, v.error());
}

Value texts(EvalContext& c, const std::vector<std::string_view>& parts) {
  Value* items = new_items(c, parts.size());
  if (items == nullptr) return aborted(c);
  for (size_t i = 0; i < parts.size(); ++i) items[i] = Value::of_string(parts[i]);
  return list_of(c, items, parts.size());
}

Value contains(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].str().find(a[1].str()) != std::string_view::npos);
}
Value starts_with(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].str().substr(0, a[1].length) == a[1].str());
}
Value ends_with(EvalContext&, const Value* a) {
  return Value::of_bool(a[0].length >= a[1].length && a[0].str().substr(a[0].length - a[1].length) == a[1].str());
}
// Patterns known only at run time. Compiling them takes far longer than the cost model assumes.
lib::Outcome<std::shared_ptr<const lib::Regex>> dynamic_regex(EvalContext& c, std::string_view pattern) {
  constexpr uint64_t kEach = 2000;
  constexpr uint64_t kInstruction = 80;
  const size_t weight = lib::Regex::weight(pattern);
  if (!c.spend(kEach + kInstruction * weight))
    return tl::make_unexpected(lib::Failure{RuntimeCategory::kSizeLimit, "too many regular expressions"});
  auto regex = lib::Regex::compile(pattern);
  if (regex && (*regex)->size() > weight) c.spend(kInstruction * ((*regex)->size() - weight));
  return regex;
}

Value matches(EvalContext& c, const Value* a) {
  auto regex = dynamic_regex(c, a[1].str());
  if (!regex) return failed(c, regex.error());
  return c.spend((*regex)->steps(a[0].length)) ? Value::of_bool((*regex)->matches(a[0].str())) : aborted(c);
}

Value illegal_regex(EvalContext& c, const lib::Failure& failure) {
  return c.fail_copy(failure.category, "Illegal regex: " + failure.message);
}
Value find(EvalContext& c, const Value* a) {
  auto regex = dynamic_regex(c, a[1].str());
  if (!regex) return illegal_regex(c, regex.error());
  return c.spend((*regex)->steps(a[0].length)) ? Value::of_string((*regex)->find(a[0].str())) : aborted(c);
}
Value find_all_n(EvalContext& c, const Value* a, int64_t count) {
  auto regex = dynamic_regex(c, a[1].str());
  if (!regex) return illegal_regex(c, regex.error());
  lib::Budget budget = c.budget();
  auto found = (*regex)->find_all(a[0].str(), count, budget);
  c.settle(budget);
  return found ? texts(c, *found) : failed(c, found.error());
}
Value find_all(EvalContext& c, const Value* a) {
  return find_all_n(c, a, -1);
}
Value find_all_count(EvalContext& c, const Value* a) {
  return find_all_n(c, a, a[2].i);
}

Value char_at(EvalContext& c, const Value* a) {
  return text_or_error(c, lib::char_at(a[0].str(), a[1].i));
}
Value substring_from(EvalContext& c, const Value* a) {
  return text_or_error(c, lib::substring(a[0].str(), a[1].i));
}
Value substring(EvalContext& c, const Value* a) {
  return text_or_error(c, lib::substring(a[0].str(), a[1].i, a[2].i));
}
Value index_of(EvalContext&, const Value* a) {
  return Value::of_int(lib::index_of(a[0].str(), a[1].str()));
}
Value last_index_of(EvalContext&, const Value* a) {
  return Value::of_int(lib::last_index_of(a[0].str(), a[1].str()));
}
template <lib::OffsetRules kRules>
Value index_of_from(EvalContext& c, const Value* a) {
  return int_or_error(c, lib::index_of(a[0].str(), a[1].str(), a[2].i, kRules));
}
template <lib::OffsetRules kRules>
Value last_index_of_from(EvalContext& c, const Value* a) {
  return int_or_error(c, lib::last_index_of(a[0].str(), a[1].str(), a[2].i, kRules));
}
Value lower_ascii(EvalContext& c, const Value* a) {
  return c.reserve_text(a[0].length) ? Value::of_string(lib::lower_ascii(c.arena, a[0].str())) : aborted(c);
}
Value upper_ascii(EvalContext& c, const Value* a) {
  return c.reserve_text(a[0].length) ? Value::of_string(lib::upper_ascii(c.arena, a[0].str())) : aborted(c);
}
Value trim(EvalContext&, const Value* a) {
  return Value::of_string(lib::trim(a[0].str()));
}
Value replace_n(EvalContext& c, const Value* a, int64_t count) {
  lib::Budget budget = c.budget();
  auto replaced = lib::replace(c.arena, budget, a[0].str(), a[1].str(), a[2].str(), count);
  return made_text(c, budget, replaced);
}
Value replace(EvalContext& c, const Value* a) {
  return replace_n(c, a, -1);
}
Value replace_count(EvalContext& c, const Value* a) {
  return replace_n(c, a, a[3].i);
}
Value split_n(EvalContext& c, const Value* a, int64_t count) {
  lib::Budget budget = c.budget();
  auto parts = lib::split(budget, a[0].str(), a[1].str(), count);
  c.settle(budget);
  return parts ? texts(c, *parts) : failed(c, parts.error());
}
Value split(EvalContext& c, const Value* a) {
  return split_n(c, a, -1);
}
Value split_count(EvalContext& c, const Value* a) {
  return split_n(c, a, a[2].i);
}

Value join_with(EvalContext& c, const ListRep& list, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (uint32_t i = 0; i < list.size; ++i) {
    if (list.items[i].kind != Kind::kString) {
      return c.fail_copy(RuntimeCategory::kListArg, "join: invalid input: " + debug_text(list.items[i]));
    }
    parts.push_back(list.items[i].str());
  }
  const lib::Budget budget = c.budget();
  return made_text(c, budget, lib::join(c.arena, budget, parts, separator));
}
Value join(EvalContext& c, const Value* a) {
  return join_with(c, *a[0].list, "");
}
Value join_separator(EvalContext& c, const Value* a) {
  return join_with(c, *a[0].list, a[1].str());
}

Value format(EvalContext& c, const Value* a) {
  lib::Budget budget = c.budget();
  auto text = lib::format_text(a[0].str(), *a[1].list, budget);
  c.settle(budget);
  return text ? c.string(*text) : failed(c, text.error());
}
Value quote(EvalContext& c, const Value* a) {
  if (!c.spend(a[0].length)) return aborted(c);  // byte by byte
  const lib::Budget budget = c.budget();
  return made_text(c, budget, lib::quote(c.arena, budget, a[0].str()));
}

}  // namespace

void add_string_specs(SpecList& out) {
  using lib::OffsetRules;
  const OverloadSpec specs[] = {
      {"contains", "contains_string", "string.(string) bool", contains, CostRule::kContains},
      {"startsWith", "starts_with_string", "string.(string) bool", starts_with, CostRule::kStringTenth},
      {"endsWith", "ends_with_string", "string.(string) bool", ends_with, CostRule::kStringTenth},
      {"matches", "matches", "(string, string) bool", matches},
      {"matches", "matches_string", "string.(string) bool", matches, CostRule::kMatches},
      {"find", "string_find_string", "string.(string) string", find, CostRule::kFind},
      {"findAll", "string_find_all_string", "string.(string) list(string)", find_all, CostRule::kFind},
      {"findAll", "string_find_all_string_int", "string.(string, int) list(string)", find_all_count, CostRule::kFind},
      {"charAt", "string_char_at_int", "string.(int) string", char_at},
      {"indexOf", "string_index_of_string", "string.(string) int", index_of, CostRule::kTraverse},
      {"indexOf", "string_index_of_string_int", "string.(string, int) int", index_of_from<OffsetRules::k136>,
       CostRule::kTraverse, kOnly136},
      {"indexOf", "string_index_of_string_int", "string.(string, int) int", index_of_from<OffsetRules::k137>,
       CostRule::kTraverse, kOnly137},
      {"lastIndexOf", "string_last_index_of_string", "string.(string) int", last_index_of, CostRule::kTraverse},
      {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) int",
       last_index_of_from<OffsetRules::k136>, CostRule::kTraverse, kOnly136},
      {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) int",
       last_index_of_from<OffsetRules::k137>, CostRule::kTraverse, kOnly137},
      {"lowerAscii", "string_lower_ascii", "string.() string", lower_ascii, CostRule::kStringPass},
      {"upperAscii", "string_upper_ascii", "string.() string", upper_ascii, CostRule::kStringPass},
      {"trim", "string_trim", "string.() string", trim, CostRule::kStringPass},
      {"substring", "string_substring_int", "string.(int) string", substring_from, CostRule::kStringPass},
      {"substring", "string_substring_int_int", "string.(int, int) string", substring, CostRule::kStringPass},
      {"replace", "string_replace_string_string", "string.(string, string) string", replace, CostRule::kReplace},
      {"replace", "string_replace_string_string_int", "string.(string, string, int) string", replace_count,
       CostRule::kReplace},
      {"split", "string_split_string", "string.(string) list(string)", split, CostRule::kSplit},
      {"split", "string_split_string_int", "string.(string, int) list(string)", split_count, CostRule::kSplit},
      {"join", "list_join", "list(string).() string", join, CostRule::kJoin},
      {"join", "list_join_string", "list(string).(string) string", join_separator, CostRule::kJoin},
      {"format", "string_format", "string.(list(dyn)) string", format, CostRule::kStringTenth},
      {"strings.quote", "strings_quote", "(string) string", quote, CostRule::kStringTenth},
  };
  out.insert(out.end(), std::begin(specs), std::end(specs));
}

}  // namespace dra::cel
