#include "pkg/cel/lib/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "pkg/cel/utf8.h"

namespace dra::cel::lib {

namespace {

// RE2 gives an automaton that is being built a sixth of this (16 bytes an instruction, before it is laid out flat).
constexpr int64_t kMaxRegexMemory = 5 << 18;
// Simplifying repetitions and merging classes takes time even where few instructions come out.
constexpr size_t kMaxWeight = 2 * Regex::kMaxProgram;

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

// Instructions that these make, as measured: a class of Unicode, any code point, and a single byte.
constexpr size_t kUnicodeClassWeight = 250;
constexpr size_t kAnyWeight = 8;
// Copies that may be absent nest, and take the longer to lay out.
constexpr size_t kOptionalWeight = 4;

// Adds up a pattern, atom by atom.
class WeightScan {
 public:
  explicit WeightScan(std::string_view pattern) : pattern_(pattern) {}

  size_t run() {
    for (size_t i = 0; i < pattern_.size();) i = step(i);
    while (!groups_.empty()) close();
    return sum_;
  }

 private:
  static constexpr size_t kCeiling = size_t{1} << 30;

  void atom(size_t weight) {
    last_ = std::min(weight, kCeiling);
    sum_ = std::min(sum_ + last_, kCeiling);
  }
  void close() {
    const size_t inner = sum_ + 2;
    sum_ = groups_.back();
    groups_.pop_back();
    atom(inner);
  }

  // Where the next atom begins.
  size_t step(size_t at) {
    switch (pattern_[at]) {
      case '\\':
        return escape(at);
      case '[': {
        const size_t end = class_end(pattern_, at);
        atom(class_weight(pattern_.substr(at, end - at)));
        return end;
      }
      case '(':
        groups_.push_back(sum_);
        sum_ = last_ = 0;
        return at + 1;
      case ')':
        if (!groups_.empty()) close();
        return at + 1;
      case '{':
        return repetition(at);
      case '.':
        atom(kAnyWeight);
        return at + 1;
      case '*':
      case '+':
      case '?':
        sum_ = std::min(sum_ + 1, kCeiling);  // of the same atom
        return at + 1;
      default:
        atom(1);
        return at + 1;
    }
  }

  size_t escape(size_t at) {
    const char letter = at + 1 < pattern_.size() ? pattern_[at + 1] : '\0';
    if (letter == 'Q') {
      const size_t close = std::min(pattern_.find("\\E", at + 2), pattern_.size());
      atom(close - at);
      last_ = 1;
      return std::min(close + 2, pattern_.size());
    }
    const bool unicode = letter == 'p' || letter == 'P';
    const bool negated = letter == 'D' || letter == 'S' || letter == 'W';
    atom(unicode ? kUnicodeClassWeight : negated ? kAnyWeight : 1);
    const bool braces = unicode && at + 2 < pattern_.size() && pattern_[at + 2] == '{';
    if (!braces) return std::min(at + (unicode ? 3 : 2), pattern_.size());  // \pL, \d
    return std::min(pattern_.find('}', at), pattern_.size() - 1) + 1;
  }

  static size_t class_weight(std::string_view text) {
    size_t weight = 2 + text.size() / 3;
    if (text.size() > 1 && text[1] == '^') weight += kAnyWeight;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] == '\\' && (text[i + 1] == 'p' || text[i + 1] == 'P')) weight += kUnicodeClassWeight;
    }
    return weight;
  }

  // {n}, {n,} or {n,m} copies the atom; anything else in braces is text.
  size_t repetition(size_t at) {
    size_t counts[2] = {0, 0};
    size_t which = 0;
    size_t i = at + 1;
    for (; i < pattern_.size() && pattern_[i] != '}'; ++i) {
      if (pattern_[i] == ',' && which == 0) {
        which = 1;
      } else if (pattern_[i] >= '0' && pattern_[i] <= '9') {
        counts[which] = std::min<size_t>(counts[which] * 10 + static_cast<size_t>(pattern_[i] - '0'), 1000);
      } else {
        break;
      }
    }
    if (i >= pattern_.size() || pattern_[i] != '}') {
      atom(1);
      return at + 1;
    }
    const size_t copies = std::max<size_t>({counts[0], counts[1], 1});
    const size_t optional = counts[1] > counts[0] ? counts[1] - counts[0] : 0;
    const size_t repeated = std::min(last_ * copies + optional * kOptionalWeight, kCeiling);
    sum_ = std::min(sum_ - last_ + repeated, kCeiling);
    last_ = repeated;
    return i + 1;
  }

  std::string_view pattern_;
  size_t sum_ = 0;
  size_t last_ = 0;
  std::vector<size_t> groups_;  // what stands before each open group
};

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
  if (weight(pattern) > kMaxWeight) return regex_error("expression too large", pattern.substr(0, 64));
  if (!is_valid_utf8(pattern)) return regex_error("invalid UTF-8", pattern.substr(0, 64));
  const auto translated = translate(pattern);
  if (!translated) return tl::unexpected<Failure>(translated.error());
  auto impl = std::make_unique<const Impl>(*translated);
  if (!impl->re.ok()) {
    const std::string& where = impl->re.error_arg();
    return regex_error(go_fault(impl->re.error_code()), where.empty() ? pattern.substr(0, 64) : where);
  }
  std::shared_ptr<const Regex> regex(new Regex(std::move(impl)));
  if (regex->size() > kMaxProgram) return regex_error("expression too large", pattern.substr(0, 64));
  return regex;
}

size_t Regex::weight(std::string_view pattern) {
  return WeightScan(pattern).run();
}

Outcome<std::shared_ptr<const Regex>> RegexPool::compile(std::string_view pattern) {
  for (const auto& [text, regex] : compiled_) {
    if (text == pattern) return regex;
  }
  static constexpr size_t kEach = 20;  // what even an empty pattern costs
  const size_t weight = Regex::weight(pattern);
  const auto refuse = [&] {
    exhausted_ = true;
    return regex_error("too many or too large expressions together", pattern.substr(0, 64));
  };
  // Half: weights of classes are upper bounds.
  if (exhausted_ || (spent_ > 0 && spent_ + weight / 2 > Regex::kMaxProgram)) return refuse();
  auto regex = Regex::compile(pattern);
  spent_ += kEach + (regex ? std::max((*regex)->size(), weight / 2) : weight);
  if (!regex) return regex;
  if (spent_ > Regex::kMaxProgram + kEach) return refuse();
  compiled_.emplace_back(pattern, *regex);
  return regex;
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
