#include "pkg/cel/value/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "pkg/base/utf8.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/time.h"

namespace dra::cel::lib {

namespace {

constexpr int kDefaultDecimals = 6;
constexpr int kMaxNesting = 100;

struct Clause {
  char verb = 0;  // '%' for a literal percent sign
  std::optional<int> precision;
};

tl::unexpected<Failure> format_failure(std::string message) {
  return failure(RuntimeCategory::kFormat, std::move(message));
}

tl::unexpected<Failure> unrecognized(std::string_view rest, size_t length) {
  return format_failure("could not parse formatting clause: unrecognized formatting clause \"" +
                        std::string(rest.substr(0, length)) + "\"");
}

// The clause behind a '%', which is taken off `rest`. ".N" is allowed in front of every verb.
Outcome<Clause> take_clause(std::string_view& rest) {
  static const char kEnd[] = "unexpected end of string";
  Clause clause;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    int precision = 0;
    const auto result = std::from_chars(rest.data(), rest.data() + digits, precision);
    if (digits == rest.size()) return format_failure("could not find end of precision specifier");
    if (digits > 0 && result.ec != std::errc())
      return format_failure("error while converting precision to integer: strconv.Atoi: parsing \"" +
                            std::string(rest.substr(0, digits)) + "\": value out of range");
    clause.precision = precision;
    rest.remove_prefix(digits);
  }
  if (rest.empty()) return format_failure(kEnd);
  const size_t length = std::max<size_t>(utf8_length(rest, 0), 1);
  const std::string_view verbs = clause.precision ? "sdfeboxX" : "%sdfeboxX";
  if (length > 1 || verbs.find(rest.front()) == std::string_view::npos) return unrecognized(rest, length);
  clause.verb = rest.front();
  rest.remove_prefix(1);
  return clause;
}

std::string digits_in_base(uint64_t value, int base, bool upper) {
  char buffer[72];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, base);
  std::string text(buffer, result.ptr);
  if (upper)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

std::string integer_in_base(const Value& v, int base, bool upper = false) {
  if (v.kind == Kind::kUint) return digits_in_base(v.u, base, upper);
  const uint64_t magnitude = v.i < 0 ? 0 - static_cast<uint64_t>(v.i) : static_cast<uint64_t>(v.i);
  return (v.i < 0 ? "-" : "") + digits_in_base(magnitude, base, upper);
}

std::string hex_bytes(std::string_view bytes, bool upper) {
  const char* const digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += digits[static_cast<unsigned char>(c) >> 4];
    text += digits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

bool is_integer(const Value& v) {
  return v.kind == Kind::kInt || v.kind == Kind::kUint;
}

std::optional<double> float_argument(const Value& v) {
  if (v.kind == Kind::kDouble) return v.d;
  if (v.kind != Kind::kString) return std::nullopt;
  if (v.str() == "NaN") return std::nan("");
  if (v.str() == "Infinity") return HUGE_VAL;
  if (v.str() == "-Infinity") return -HUGE_VAL;
  return std::nullopt;
}

// Pieces are made apart and then put together, once a level of nesting.
constexpr uint64_t kStepsOfPiece = 4;
// Digits of doubles are worked out exactly.
constexpr uint64_t kStepsOfDouble = 100;

tl::unexpected<Failure> too_much_formatting() {
  return failure(RuntimeCategory::kSizeLimit,
                 "operation cancelled: formatting takes more work than this evaluator allows");
}

// "1234567.5" -> "1,234,567.5"
std::string group_thousands(std::string text) {
  const size_t begin = text.starts_with('-') ? 1 : 0;
  for (size_t i = std::min(text.find('.'), text.size()); i > begin + 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string special_double(double value) {
  if (std::isnan(value)) return "NaN";
  return value < 0 ? "-\xE2\x88\x9E" : "\xE2\x88\x9E";
}

std::string format_fixed_clause(double value, int decimals) {
  if (!std::isfinite(value)) return special_double(value);
  return group_thousands(format_fixed(value, decimals));
}

// d.dddddd and the power of ten in superscript digits, at least two. The precision only widens.
std::string format_scientific_clause(double value, int width) {
  std::string text;
  if (std::isfinite(value)) {
    static constexpr std::string_view kSuperscript[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",
                                                        "\xE2\x81\xB4", "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7",
                                                        "\xE2\x81\xB8", "\xE2\x81\xB9"};
    char buffer[40];
    const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, 6);
    const std::string_view plain(buffer, static_cast<size_t>(result.ptr - buffer));
    const size_t e = plain.find('e');
    text = std::string(plain.substr(0, e)) + "\xC3\x97" + "10";
    if (plain[e + 1] == '-') text += "\xE2\x81\xBB";
    for (const char c : plain.substr(e + 2)) text += kSuperscript[c - '0'];
  } else {
    text = special_double(value);
  }
  const auto points = static_cast<int64_t>(code_points(text));
  if (points < width) text.insert(0, static_cast<size_t>(width - points), ' ');
  return text;
}

// Go's %q as formatting has it inside lists and maps: quotes and backslashes escaped.
std::string quoted_text(std::string_view text) {
  static constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  static constexpr std::string_view kLetters = "abfnrtv\\\"";
  std::string out = "\"";
  for (const char c : text) {
    const size_t special = kSpecial.find(c);
    if (special != std::string_view::npos) {
      out += '\\';
      out += kLetters[special];
    } else {
      out += c;
    }
  }
  return out + '"';
}

// Texts that grow only up to a limit, taking steps of a budget as they do.
class LimitedText {
 public:
  LimitedText(size_t limit, Budget& budget) : limit_(limit), steps_(budget) {}
  Outcome<void> add(std::string_view text) {
    if (!steps_.take(kStepsOfPiece + text.size() / 4)) return too_much_formatting();
    if (text.size() > limit_ - text_.size())
      return failure(RuntimeCategory::kSizeLimit,
                     "formatted string would be longer than " + std::to_string(limit_) + " bytes");
    text_ += text;
    return {};
  }
  size_t left() const { return limit_ - text_.size(); }
  std::string take() { return std::move(text_); }

 private:
  size_t limit_;
  Budget& steps_;
  std::string text_;
};

Outcome<std::string> string_clause(const Value& v, size_t limit, Budget& budget, int depth);

Outcome<std::string> list_clause(const ListRep& list, size_t limit, Budget& budget, int depth) {
  LimitedText out(limit, budget);
  if (auto added = out.add("["); !added) return tl::unexpected<Failure>(added.error());
  for (uint32_t i = 0; i < list.size; ++i) {
    auto item = string_clause(list.items[i], out.left(), budget, depth + 1);
    if (!item) return item;
    if (auto added = out.add((i == 0 ? "" : ", ") + *item); !added) return tl::unexpected<Failure>(added.error());
  }
  if (auto added = out.add("]"); !added) return tl::unexpected<Failure>(added.error());
  return out.take();
}

Outcome<std::string> map_clause(const MapRep& map, size_t limit, Budget& budget, int depth) {
  std::vector<std::pair<std::string, std::string>> entries;
  size_t size = 2;
  for (uint32_t i = 0; i < map.size; ++i) {
    auto key = string_clause(map.entries[i].key, limit, budget, depth + 1);
    if (!key) return key;
    auto value = string_clause(map.entries[i].value, limit, budget, depth + 1);
    if (!value) return value;
    size += key->size() + value->size() + 3;
    if (!budget.take(2 * kStepsOfPiece + (key->size() + value->size()) / 4)) return too_much_formatting();
    if (size > limit + 2)
      return failure(RuntimeCategory::kSizeLimit,
                     "formatted string would be longer than " + std::to_string(limit) + " bytes");
    entries.emplace_back(std::move(*key), std::move(*value));
  }
  std::sort(entries.begin(), entries.end());
  std::string out = "{";
  for (const auto& [key, value] : entries) out += (out.size() == 1 ? "" : ", ") + key + ":" + value;
  return out + "}";
}

Outcome<std::string> bytes_text(const Value& v) {
  if (is_valid_utf8(v.str())) return std::string(v.str());
  return failure(RuntimeCategory::kConversion,
                 "error during formatting: could not convert argument \"invalid UTF-8 in bytes, cannot convert to "
                 "string\" to string");
}

// depth 0: an argument itself; deeper: inside a list or map, where texts are quoted.
Outcome<std::string> string_clause(const Value& v, size_t limit, Budget& budget, int depth) {
  if (depth > kMaxNesting)
    return format_failure("error during formatting: lists and maps nest deeper than " + std::to_string(kMaxNesting));
  const bool inside = depth > 0;
  switch (v.kind) {
    case Kind::kNull:
      return std::string("null");
    case Kind::kBool:
      return std::string(v.b ? "true" : "false");
    case Kind::kInt:
      return std::to_string(v.i);
    case Kind::kUint:
      return std::to_string(v.u);
    case Kind::kDouble:
      if (!inside) return format_double(v.d);
      return std::isfinite(v.d) ? format_fixed(v.d, kDefaultDecimals) : "\"" + format_double(v.d) + "\"";
    case Kind::kString:
      return inside ? quoted_text(v.str()) : std::string(v.str());
    case Kind::kBytes: {
      auto text = bytes_text(v);
      if (text && inside) return "b" + quoted_text(*text);
      return text;
    }
    case Kind::kDuration: {
      const std::string text = format_duration(v.i);
      return inside ? "duration(\"" + text + "\")" : text;
    }
    case Kind::kTimestamp: {
      const std::string text = format_timestamp({v.i, v.length, v.offset_minutes});
      return inside ? "timestamp(\"" + text + "\")" : text;
    }
    case Kind::kType:
      return std::string(v.str());
    case Kind::kList:
      return list_clause(*v.list, limit, budget, depth);
    case Kind::kMap:
      return map_clause(*v.map, limit, budget, depth);
    default:
      return format_failure(format_type_error('s', type_name(v)));
  }
}

Outcome<std::string> apply_clause(const Clause& clause, const Value& v, size_t limit, Budget& budget) {
  const auto unsuitable = [&] { return format_failure(format_type_error(clause.verb, type_name(v))); };
  const int precision = clause.precision.value_or(kDefaultDecimals);
  const bool upper = clause.verb == 'X';
  switch (clause.verb) {
    case 's':
      return string_clause(v, limit, budget, 0);
    case 'd':
      if (!is_integer(v)) return unsuitable();
      return integer_in_base(v, 10);
    case 'o':
      if (!is_integer(v)) return unsuitable();
      return integer_in_base(v, 8);
    case 'b':
      if (v.kind == Kind::kBool) return std::string(v.b ? "1" : "0");
      if (!is_integer(v)) return unsuitable();
      return integer_in_base(v, 2);
    case 'x':
    case 'X':
      if (is_integer(v)) return integer_in_base(v, 16, upper);
      if (v.kind == Kind::kString || v.kind == Kind::kBytes) return hex_bytes(v.str(), upper);
      return unsuitable();
    default:
      break;
  }
  const std::optional<double> number = float_argument(v);
  if (!number) return unsuitable();
  if (static_cast<size_t>(precision) > limit)
    return failure(RuntimeCategory::kSizeLimit, "precision " + std::to_string(precision) + " is too large");
  if (!budget.take(kStepsOfDouble + static_cast<uint64_t>(precision) / 2)) return too_much_formatting();
  return clause.verb == 'f' ? format_fixed_clause(*number, precision) : format_scientific_clause(*number, precision);
}

}  // namespace

std::string format_type_error(char verb, std::string_view type) {
  const char* what = "";
  switch (verb) {
    case 's':
      what =
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
          "timestamps";
      break;
    case 'd':
      what = "decimal clause can only be used on integers";
      break;
    case 'o':
      what = "octal clause can only be used on integers";
      break;
    case 'f':
      what = "fixed-point clause can only be used on doubles";
      break;
    case 'e':
      what = "scientific clause can only be used on doubles";
      break;
    case 'b':
      what = "only integers and bools can be formatted as binary";
      break;
    default:
      what = "only integers, byte buffers, and strings can be formatted as hex";
      break;
  }
  return std::string("error during formatting: ") + what + ", was given " + std::string(type);
}

Outcome<std::vector<char>> format_verbs(std::string_view format) {
  std::vector<char> verbs;
  while (!format.empty()) {
    const size_t percent = format.find('%');
    if (percent == std::string_view::npos) break;
    format.remove_prefix(percent + 1);
    const auto clause = take_clause(format);
    if (!clause) return tl::unexpected<Failure>(clause.error());
    if (clause->verb != '%') verbs.push_back(clause->verb);
  }
  return verbs;
}

std::string check_format_arguments(size_t verbs, size_t arguments) {
  if (arguments < verbs) return "index " + std::to_string(arguments) + " out of range";
  if (arguments > verbs)
    return "too many arguments supplied to string.format (expected " + std::to_string(verbs) + ", got " +
           std::to_string(arguments) + ")";
  return "";
}

Outcome<std::string> format_text(std::string_view format, const ListRep& arguments, Budget& budget) {
  LimitedText out(budget.bytes, budget);
  uint32_t used = 0;
  while (!format.empty()) {
    const size_t percent = std::min(format.find('%'), format.size());
    if (auto added = out.add(format.substr(0, percent)); !added) return tl::unexpected<Failure>(added.error());
    format.remove_prefix(percent);
    if (format.empty()) break;
    format.remove_prefix(1);
    const auto clause = take_clause(format);
    if (!clause) return tl::unexpected<Failure>(clause.error());
    std::string piece = "%";
    if (clause->verb != '%') {
      if (used >= arguments.size) return format_failure(check_format_arguments(used + size_t{1}, used));
      auto applied = apply_clause(*clause, arguments.items[used++], out.left(), budget);
      if (!applied) return applied;
      piece = std::move(*applied);
    }
    if (auto added = out.add(piece); !added) return tl::unexpected<Failure>(added.error());
  }
  if (used < arguments.size) return format_failure(check_format_arguments(used, arguments.size));
  return out.take();
}

}  // namespace dra::cel::lib
