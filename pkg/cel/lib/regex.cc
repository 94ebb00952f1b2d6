#include "pkg/cel/lib/regex.h"

#include <re2/re2.h>

#include <algorithm>

#include "pkg/base/utf8.h"
#include "pkg/cel/lib/regex_alphabet.h"
#include "pkg/cel/lib/regex_syntax.h"

namespace dra::cel::lib {

namespace {

// RE2 gives an automaton that is being built a sixth of this (16 bytes an instruction, before it is laid out flat).
constexpr int64_t kMaxRegexMemory = 5 << 18;
// Simplifying repetitions and merging classes takes time even where few instructions come out.
constexpr size_t kMaxWeight = 2 * Regex::kMaxProgram;
// Heavier patterns are compiled over a reduced alphabet where that is possible.
constexpr size_t kReduceAbove = 4'000;

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

// Instructions that these make, as measured: a class of Unicode, any code point, and a single byte.
struct AtomWeights {
  size_t unicode_class;
  size_t any;
};
constexpr AtomWeights kPlainWeights{250, 8};
constexpr AtomWeights kReducedWeights{10, 2};
// Optional copies nest, and take longer to lay out.
constexpr size_t kOptionalWeight = 4;

// Adds up a pattern, atom by atom.
class WeightScan {
 public:
  WeightScan(std::string_view pattern, AtomWeights weights) : pattern_(pattern), weights_(weights) {}

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
        atom(weights_.any);
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
    atom(unicode ? weights_.unicode_class : negated ? weights_.any : 1);
    const bool braces = unicode && at + 2 < pattern_.size() && pattern_[at + 2] == '{';
    if (!braces) return std::min(at + (unicode ? 3 : 2), pattern_.size());  // \pL, \d
    return std::min(pattern_.find('}', at), pattern_.size() - 1) + 1;
  }

  size_t class_weight(std::string_view text) const {
    size_t weight = 2 + text.size() / 3;
    if (text.size() > 1 && text[1] == '^') weight += weights_.any;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] == '\\' && (text[i + 1] == 'p' || text[i + 1] == 'P')) weight += weights_.unicode_class;
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
  AtomWeights weights_;
  size_t sum_ = 0;
  size_t last_ = 0;
  std::vector<size_t> groups_;  // the weight before each open group
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

RE2::Options regex_options(bool bytes) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxRegexMemory);
  if (bytes) options.set_encoding(RE2::Options::EncodingLatin1);
  return options;
}

size_t instructions(const RE2& re) {
  return static_cast<size_t>(std::max(re.ProgramSize(), 0));
}

}  // namespace

struct Regex::Impl {
  explicit Impl(const std::string& pattern) : re(pattern, regex_options(false)) {}
  explicit Impl(ReducedAlphabet reduced) : alphabet(std::move(reduced)), re(alphabet->pattern(), regex_options(true)) {}

  // Whether `text` holds a match from byte `from` on, and where. `match` may be null.
  bool search(std::string_view text, size_t from, std::string_view* match) const;

  std::optional<ReducedAlphabet> alphabet;
  RE2 re;
};

bool Regex::Impl::search(std::string_view text, size_t from, std::string_view* match) const {
  re2::StringPiece found;
  const int wanted = match == nullptr ? 0 : 1;
  if (!alphabet) {
    if (!re.Match(text, from, text.size(), RE2::UNANCHORED, &found, wanted)) return false;
    if (match != nullptr) *match = {found.data(), found.size()};
    return true;
  }
  std::vector<uint32_t> offsets;
  const std::string letters = alphabet->encode(text, &offsets);
  const auto start = static_cast<size_t>(std::lower_bound(offsets.begin(), offsets.end(), from) - offsets.begin());
  if (!re.Match(letters, start, letters.size(), RE2::UNANCHORED, &found, wanted)) return false;
  if (match != nullptr) {
    const auto first = static_cast<size_t>(found.data() - letters.data());
    *match = text.substr(offsets[first], offsets[first + found.size()] - offsets[first]);
  }
  return true;
}

Regex::Regex(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Regex::~Regex() = default;

Outcome<std::shared_ptr<const Regex>> Regex::compile(std::string_view pattern) {
  const size_t heavy = weight(pattern);
  if (pattern.size() > kMaxPattern) return regex_error("expression too large", pattern.substr(0, 64));
  if (!is_valid_utf8(pattern)) return regex_error("invalid UTF-8", pattern.substr(0, 64));
  const auto translated = translate(pattern);
  if (!translated) return tl::unexpected<Failure>(translated.error());
  if (heavy > kReduceAbove && reduced_weight(pattern) <= kMaxWeight) {
    if (auto regex = compile_reduced(*translated)) return regex;
  }
  if (heavy > kMaxWeight) return regex_error("expression too large", pattern.substr(0, 64));
  auto impl = std::make_unique<const Impl>(*translated);
  if (!impl->re.ok()) {
    const std::string& where = impl->re.error_arg();
    return regex_error(go_fault(impl->re.error_code()), where.empty() ? pattern.substr(0, 64) : where);
  }
  std::shared_ptr<const Regex> regex(new Regex(std::move(impl)));
  if (regex->size() > kMaxProgram) return regex_error("expression too large", pattern.substr(0, 64));
  return regex;
}

// Null where that is not possible or no better; what is wrong with a pattern is then found out without it.
std::shared_ptr<const Regex> Regex::compile_reduced(std::string_view pattern) {
  auto alphabet = ReducedAlphabet::reduce(pattern);
  if (!alphabet || weight(alphabet->pattern()) > kMaxWeight) return nullptr;
  auto impl = std::make_unique<const Impl>(std::move(*alphabet));
  if (!impl->re.ok()) return nullptr;
  std::shared_ptr<const Regex> regex(new Regex(std::move(impl)));
  return regex->size() > kMaxProgram ? nullptr : regex;
}

size_t Regex::weight(std::string_view pattern) {
  return WeightScan(pattern, kPlainWeights).run();
}

size_t Regex::reduced_weight(std::string_view pattern) {
  const size_t plain = weight(pattern);
  return plain <= kReduceAbove ? plain : WeightScan(pattern, kReducedWeights).run();
}

Outcome<std::shared_ptr<const Regex>> RegexPool::compile(std::string_view pattern) {
  for (const auto& [text, regex] : compiled_) {
    if (text == pattern) return regex;
  }
  static constexpr size_t kEach = 20;  // what even an empty pattern costs
  const size_t weight = Regex::reduced_weight(pattern);
  const auto refuse = [&] {
    exhausted_ = true;
    return regex_error("too many or too large expressions together", pattern.substr(0, 64));
  };
  // Half: weights of classes are upper bounds.
  if (exhausted_ || (spent_ > 0 && spent_ + weight / 2 > Regex::kMaxProgram)) return refuse();
  auto regex = Regex::compile(pattern);
  spent_ += kEach + (regex ? std::max((*regex)->size(), weight / 2) : Regex::weight(pattern));
  if (!regex) return regex;
  if (spent_ > Regex::kMaxProgram + kEach) return refuse();
  compiled_.emplace_back(pattern, *regex);
  return regex;
}

size_t Regex::size() const {
  // Classes are compiled, and asked for their ASCII members.
  return instructions(impl_->re) + (impl_->alphabet ? impl_->alphabet->size() * 3 / 2 : 0);
}

bool Regex::matches(std::string_view text) const {
  return impl_->search(text, 0, nullptr);
}

std::string_view Regex::find(std::string_view text) const {
  std::string_view match;
  return impl_->search(text, 0, &match) ? match : text.substr(0, 0);
}

uint64_t Regex::steps(size_t bytes) const {
  constexpr uint64_t kEach = 10;
  // Measured: with large automata the cache hardly ever suffices.
  constexpr size_t kLarge = 1000;
  const size_t automaton = instructions(impl_->re);
  const uint64_t states = static_cast<uint64_t>(bytes) * std::min(bytes, automaton);
  const uint64_t encoding = impl_->alphabet ? 4 * (1 + impl_->alphabet->classes()) * static_cast<uint64_t>(bytes) : 0;
  return kEach + encoding + (automaton < kLarge ? states / 8 : states * 3);
}

Outcome<std::vector<std::string_view>> Regex::find_all(std::string_view text, int64_t count, Budget& budget) const {
  std::vector<std::string_view> matches;
  if (count < 0) count = INT64_MAX;
  size_t position = 0;
  size_t previous_end = std::string_view::npos;
  while (position <= text.size() && static_cast<int64_t>(matches.size()) < count) {
    // Over a reduced alphabet every search translates the whole text.
    if (!budget.take(steps(impl_->alphabet ? text.size() : text.size() - position)))
      return failure(RuntimeCategory::kSizeLimit,
                     "findAll: too many matches in a text of " + std::to_string(text.size()) + " bytes");
    std::string_view match;
    if (!impl_->search(text, position, &match)) break;
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
