#include "pkg/cel/lib/regex_alphabet.h"

#include <re2/re2.h>

#include <algorithm>

#include "pkg/base/utf8.h"
#include "pkg/cel/lib/regex_syntax.h"

namespace dra::cel::lib {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr unsigned kFirstLetter = 0x80;

void append_hex(std::string& out, unsigned byte) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4 & 15];
  out += kDigits[byte & 15];
}

// The members among bytes 0 to `end` as ranges.
template <typename Member>
std::string byte_class(unsigned end, Member member) {
  std::string out = "[";
  for (unsigned first = 0; first < end; ++first) {
    if (!member(first)) continue;
    unsigned last = first;
    while (last + 1 < end && member(last + 1)) ++last;
    append_hex(out, first);
    if (last > first) {
      out += '-';
      append_hex(out, last);
    }
    first = last;
  }
  return out == "[" ? "[^\\x00-\\xff]" : out + "]";
}

re2::RE2::Options atom_options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  return options;
}

}  // namespace

// Reads a pattern and finds its classes. The bits of a class are known only when all classes are, so the pieces of the
// new pattern are kept apart until then.
class AlphabetReader {
 public:
  explicit AlphabetReader(std::string_view pattern) : pattern_(pattern) {}

  std::optional<ReducedAlphabet> run() {
    while (at_ < pattern_.size()) {
      if (!step()) return std::nullopt;
    }
    ReducedAlphabet out;
    for (const Piece& piece : pieces_) out.pattern_ += piece.atom < 0 ? piece.text : emitted(piece.atom);
    for (Atom& atom : atoms_) out.classes_.push_back(std::move(atom.matcher));
    return out;
  }

 private:
  struct Atom {
    std::string source;
    std::unique_ptr<const re2::RE2> matcher;
  };
  struct Piece {
    std::string text;
    int atom = -1;
  };

  void pass(size_t bytes) {
    pieces_.push_back({std::string(pattern_.substr(at_, bytes)), -1});
    at_ += bytes;
  }

  // The next bytes match one code point, which may lie beyond ASCII. False: there are too many of these.
  bool atom(size_t bytes) {
    std::string source = (fold_ ? "(?is)" : "(?s)") + std::string(pattern_.substr(at_, bytes));
    at_ += bytes;
    for (size_t i = 0; i < atoms_.size(); ++i) {
      if (atoms_[i].source != source) continue;
      pieces_.push_back({"", static_cast<int>(i)});
      return true;
    }
    if (atoms_.size() == ReducedAlphabet::kMaxClasses) return false;
    auto matcher = std::make_unique<const re2::RE2>(source, atom_options());
    if (!matcher->ok()) return false;
    pieces_.push_back({"", static_cast<int>(atoms_.size())});
    atoms_.push_back({std::move(source), std::move(matcher)});
    return true;
  }

  bool step() {
    const char c = pattern_[at_];
    switch (c) {
      case '\\':
        return escape();
      case '[':
        return bracket();
      case '(':
        return open();
      case ')':
        if (!outer_.empty()) {
          fold_ = outer_.back();
          outer_.pop_back();
        }
        pass(1);
        return true;
      default:
        break;
    }
    const size_t length = utf8_length(pattern_, at_);
    if (length == 0) return false;
    if (length > 1 || (fold_ && folds_beyond_ascii(c))) return atom(length);
    pass(1);
    return true;
  }

  // The Kelvin sign is a k, and the long s an s.
  static bool folds_beyond_ascii(char c) { return c == 'k' || c == 'K' || c == 's' || c == 'S'; }

  bool escape() {
    if (at_ + 1 >= pattern_.size()) return false;
    const char letter = pattern_[at_ + 1];
    switch (letter) {
      case 'p':
      case 'P': {
        const bool braces = at_ + 2 < pattern_.size() && pattern_[at_ + 2] == '{';
        const size_t close = pattern_.find('}', at_);
        if (braces && close == std::string_view::npos) return false;
        if (!braces && (at_ + 2 >= pattern_.size() || utf8_length(pattern_, at_ + 2) != 1)) return false;
        return atom(braces ? close + 1 - at_ : 3);
      }
      case 'w':
      case 'W':
        if (fold_) return atom(2);
        pass(2);
        return true;
      case 'x':
      case 'Q':  // rare in such patterns
        return false;
      default:
        if (letter >= '0' && letter <= '9') return false;
        if (utf8_length(pattern_, at_ + 1) != 1 ||
            (fold_ && folds_beyond_ascii(letter) && letter != 's' && letter != 'S'))
          return false;
        pass(2);
        return true;
    }
  }

  bool bracket() {
    const size_t end = class_end(pattern_, at_);
    const std::string_view text = pattern_.substr(at_, end - at_);
    const bool ascii =
        std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    bool plain = ascii && !fold_;
    for (size_t i = 0; plain && i + 1 < text.size(); ++i) {
      if (text[i] != '\\') continue;
      ++i;
      // Escapes of single characters and of ASCII classes; \x and octal numbers may lie beyond.
      plain = text[i] != 'p' && text[i] != 'P' && text[i] != 'x' && !(text[i] >= '0' && text[i] <= '9');
    }
    if (!plain) return atom(end - at_);
    pass(end - at_);
    return true;
  }

  // A group, perhaps with flags, or flags for the rest of the group that they stand in.
  bool open() {
    if (pattern_.substr(at_, 2) != "(?") {
      outer_.push_back(fold_);
      pass(1);
      return true;
    }
    if (pattern_.substr(at_, 4) == "(?P<") {
      const size_t close = pattern_.find('>', at_);
      if (close == std::string_view::npos) return false;
      outer_.push_back(fold_);
      pass(close + 1 - at_);
      return true;
    }
    bool fold = fold_;
    bool on = true;
    size_t i = at_ + 2;
    for (; i < pattern_.size() && pattern_[i] != ')' && pattern_[i] != ':'; ++i) {
      if (pattern_[i] == '-') {
        on = false;
      } else if (pattern_[i] == 'i') {
        fold = on;
      } else if (pattern_[i] != 's' && pattern_[i] != 'm' && pattern_[i] != 'U') {
        return false;
      }
    }
    if (i >= pattern_.size()) return false;
    if (pattern_[i] == ':') outer_.push_back(fold_);
    fold_ = fold;
    pass(i + 1 - at_);
    return true;
  }

  std::string emitted(int index) const {
    const auto bit = static_cast<unsigned>(index);
    const re2::RE2& matcher = *atoms_[bit].matcher;
    const unsigned letters = 1U << atoms_.size();
    return byte_class(kFirstLetter + letters, [&](unsigned byte) {
      if (byte >= kFirstLetter) return ((byte - kFirstLetter) >> bit & 1) != 0;
      const char c = static_cast<char>(byte);
      return re2::RE2::FullMatch(re2::StringPiece(&c, 1), matcher);
    });
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool fold_ = false;
  std::vector<bool> outer_;  // fold_ around each open group
  std::vector<Piece> pieces_;
  std::vector<Atom> atoms_;
};

ReducedAlphabet::ReducedAlphabet() = default;
ReducedAlphabet::ReducedAlphabet(ReducedAlphabet&&) noexcept = default;
ReducedAlphabet& ReducedAlphabet::operator=(ReducedAlphabet&&) noexcept = default;
ReducedAlphabet::~ReducedAlphabet() = default;

std::optional<ReducedAlphabet> ReducedAlphabet::reduce(std::string_view pattern) {
  return AlphabetReader(pattern).run();
}

size_t ReducedAlphabet::size() const {
  size_t sum = 0;
  for (const auto& matcher : classes_) sum += static_cast<size_t>(std::max(matcher->ProgramSize(), 0));
  return sum;
}

char ReducedAlphabet::letter(std::string_view code_point) const {
  unsigned bits = 0;
  for (size_t i = 0; i < classes_.size(); ++i) {
    const re2::StringPiece text(code_point.data(), code_point.size());
    if (re2::RE2::FullMatch(text, *classes_[i])) bits |= 1U << i;
  }
  return static_cast<char>(kFirstLetter + bits);
}

std::string ReducedAlphabet::encode(std::string_view text, std::vector<uint32_t>* offsets) const {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (offsets != nullptr) offsets->push_back(static_cast<uint32_t>(at));
    const size_t length = utf8_length(text, at);
    if (length == 1) {
      out += text[at];
    } else {
      out += letter(length == 0 ? kReplacement : text.substr(at, length));
    }
    at += std::max<size_t>(length, 1);
  }
  if (offsets != nullptr) offsets->push_back(static_cast<uint32_t>(text.size()));
  return out;
}

}  // namespace dra::cel::lib
