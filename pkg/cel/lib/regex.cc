#include "pkg/cel/lib/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "pkg/cel/utf8.h"

namespace dra::cel::lib {

namespace {

constexpr int64_t kMaxRegexMemory = 8 << 20;

tl::unexpected<Failure> regex_error(std::string_view what, std::string_view where) {
  std::string message = "error parsing regexp: ";
  message += what;
  message += ": `";
  message += where;
  return failure(RuntimeCategory::kRegex, message + "`");
}

// Go's names for the faults.
std::string_view go_fault(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

// Where the character class that starts at `at` ends (behind its ']').
size_t class_end(std::string_view pattern, size_t at) {
  size_t i = at + 1;
  if (i < pattern.size() && pattern[i] == '^') ++i;
  if (i < pattern.size() && pattern[i] == ']') ++i;
  while (i < pattern.size() && pattern[i] != ']') {
    if (pattern[i] == '\\') {
      i += 2;
    } else if (pattern.substr(i, 2) == "[:") {
      const size_t close = pattern.find(":]", i + 2);
      i = close == std::string_view::npos ? i + 1 : close + 2;
    } else {
      ++i;
    }
  }
  return std::min(i + 1, pattern.size());
}

// The pattern in the syntax of this RE2: (?<name>...) becomes (?P<name>...).
Outcome<std::string> translate(std::string_view pattern) {
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    size_t end = i + 1;
    if (pattern.substr(i, 2) == "\\Q") {
      const size_t close = pattern.find("\\E", i + 2);
      end = close == std::string_view::npos ? pattern.size() : close + 2;
    } else if (pattern[i] == '\\') {
      if (pattern.substr(i, 2) == "\\C") return regex_error("invalid escape sequence", "\\C");
      end = std::min(i + 2, pattern.size());
    } else if (pattern[i] == '[') {
      end = class_end(pattern, i);
    } else if (pattern.substr(i, 4) == "(?P<" || pattern.substr(i, 3) == "(?<") {
      const size_t begin = pattern.find('<', i) + 1;
      const bool look_behind = begin < pattern.size() && (pattern[begin] == '=' || pattern[begin] == '!');
      const size_t close = pattern.find('>', begin);
      if (!look_behind && close != std::string_view::npos) {
        out += "(?P<";
        i = begin;
        end = close + 1;
      }
    }
    out += pattern.substr(i, end - i);
    i = end;
  }
  return out;
}

RE2::Options regex_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxRegexMemory);
  return options;
}

}  // namespace

struct Regex::Impl {
  explicit Impl(const std::string& pattern) : re(pattern, regex_options()) {}
  RE2 re;
};

Regex::Regex(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Regex::~Regex() = default;

Outcome<std::shared_ptr<const Regex>> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPattern) return regex_error("expression too large", pattern.substr(0, 64));
  if (!is_valid_utf8(pattern)) return regex_error("invalid UTF-8", pattern.substr(0, 64));
  const auto translated = translate(pattern);
  if (!translated) return tl::unexpected<Failure>(translated.error());
  auto impl = std::make_unique<const Impl>(*translated);
  if (!impl->re.ok()) {
    const std::string& where = impl->re.error_arg();
    return regex_error(go_fault(impl->re.error_code()), where.empty() ? pattern.substr(0, 64) : where);
  }
  return std::shared_ptr<const Regex>(new Regex(std::move(impl)));
}

size_t Regex::size() const {
  return static_cast<size_t>(std::max(impl_->re.ProgramSize(), 0));
}

bool Regex::matches(std::string_view text) const {
  return impl_->re.Match(text, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
}

std::string_view Regex::find(std::string_view text) const {
  re2::StringPiece match;
  if (!impl_->re.Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) return text.substr(0, 0);
  return {match.data(), match.size()};
}

Outcome<std::vector<std::string_view>> Regex::find_all(std::string_view text, int64_t count) const {
  std::vector<std::string_view> matches;
  if (count < 0) count = INT64_MAX;
  size_t position = 0;
  size_t previous_end = std::string_view::npos;
  size_t work = 0;
  while (position <= text.size() && static_cast<int64_t>(matches.size()) < count) {
    work += text.size() - position + 1;
    if (work > kMaxWork)
      return failure(RuntimeCategory::kSizeLimit,
                     "findAll: too many matches in a text of " + std::to_string(text.size()) + " bytes");
    re2::StringPiece match;
    if (!impl_->re.Match(text, position, text.size(), RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<size_t>(match.data() - text.data());
    const size_t end = begin + match.size();
    const bool empty_behind_match = end == position && begin == previous_end;
    if (!empty_behind_match) matches.push_back(text.substr(begin, match.size()));
    if (end == position)  // nothing was consumed: go on behind the next code point
      position += end < text.size() ? std::max<size_t>(utf8_length(text, end), 1) : 1;
    else
      position = end;
    previous_end = end;
  }
  return matches;
}

}  // namespace dra::cel::lib
