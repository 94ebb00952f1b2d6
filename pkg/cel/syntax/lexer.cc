#include "pkg/cel/syntax/lexer.h"

#include <algorithm>

#include "pkg/base/utf8.h"

namespace dra::cel {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
uint32_t hex_value(char c) {
  return static_cast<uint32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
}

// How many characters follow the backslash of an escape sequence that the grammar knows, or 0.
size_t escape_length(std::string_view s, size_t at) {
  if (at >= s.size()) return 0;
  auto hex_run = [&](size_t count) -> size_t {
    for (size_t i = 1; i <= count; ++i) {
      if (at + i >= s.size() || !is_hex(s[at + i])) return 0;
    }
    return count + 1;
  };
  char c = s[at];
  if (std::string_view("abfnrtv\"'\\?`").find(c) != std::string_view::npos) return 1;
  if (c == 'x' || c == 'X') return hex_run(2);
  if (c == 'u') return hex_run(4);
  if (c == 'U') return hex_run(8);
  if (c >= '0' && c <= '3') {
    auto octal = [&](size_t i) { return at + i < s.size() && s[at + i] >= '0' && s[at + i] <= '7'; };
    return octal(1) && octal(2) ? 3 : 0;
  }
  return 0;
}

class Lexer {
 public:
  Lexer(std::string_view source, Issues& issues) : s_(source), issues_(issues) {}

  std::vector<Lexeme> run() {
    out_.reserve(s_.size() / 3 + 2);
    while (true) {
      skip_space();
      if (at_ >= s_.size()) break;
      if (!next()) bad_token();
    }
    push(Token::kEnd, 0);
    return std::move(out_);
  }

 private:
  char peek(size_t i = 0) const { return at_ + i < s_.size() ? s_[at_ + i] : '\0'; }

  void push(Token token, size_t length) {
    out_.push_back({token, static_cast<uint32_t>(at_), static_cast<uint32_t>(length)});
    at_ += length;
  }

  void skip_space() {
    while (at_ < s_.size()) {
      char c = s_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < s_.size() && s_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  void bad_token() {
    size_t n = std::max<size_t>(utf8_length(s_, at_), 1);
    if (bad_length_ > n) n = bad_length_;
    bad_length_ = 0;
    issues_.add(CompileCategory::kSyntax, static_cast<int32_t>(at_),
                "Syntax error: token recognition error at: '" + std::string(s_.substr(at_, n)) + "'");
    at_ += n;
  }

  bool next() {
    char c = peek();
    if (is_letter(c)) return string_with_prefix() || word();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (c == '"' || c == '\'') return string(0, false, false);
    if (c == '`') return escaped_identifier();
    return symbol();
  }

  bool word() {
    size_t n = 0;
    while (is_letter(peek(n)) || is_digit(peek(n))) ++n;
    std::string_view text = s_.substr(at_, n);
    Token token = text == "true"    ? Token::kTrue
                  : text == "false" ? Token::kFalse
                  : text == "null"  ? Token::kNull
                  : text == "in"    ? Token::kIn
                                    : Token::kIdent;
    push(token, n);
    return true;
  }

  bool escaped_identifier() {
    size_t n = 1;
    while (is_letter(peek(n)) || is_digit(peek(n)) ||
           (peek(n) != '\0' && std::string_view(".-/ ").find(peek(n)) != std::string_view::npos))
      ++n;
    if (n == 1 || peek(n) != '`') return false;
    push(Token::kEscapedIdent, n + 1);
    return true;
  }

  bool number() {
    size_t n = 0;
    if (peek() == '0' && peek(1) == 'x' && is_hex(peek(2))) {
      n = 2;
      while (is_hex(peek(n))) ++n;
      return integer(n);
    }
    while (is_digit(peek(n))) ++n;
    bool fraction = false;
    if (peek(n) == '.' && is_digit(peek(n + 1))) {
      fraction = true;
      ++n;
      while (is_digit(peek(n))) ++n;
    }
    size_t e = n;
    if (peek(e) == 'e' || peek(e) == 'E') {
      ++e;
      if (peek(e) == '+' || peek(e) == '-') ++e;
      if (is_digit(peek(e))) {
        while (is_digit(peek(e))) ++e;
        push(Token::kDouble, e);
        return true;
      }
    }
    if (fraction) {
      push(Token::kDouble, n);
      return true;
    }
    return integer(n);
  }

  bool integer(size_t n) {
    bool is_unsigned = peek(n) == 'u' || peek(n) == 'U';
    push(is_unsigned ? Token::kUint : Token::kInt, is_unsigned ? n + 1 : n);
    return true;
  }

  // A quote after the prefixes r, R, b, B, br ...
  bool string_with_prefix() {
    char c = peek() | 0x20;
    size_t n = 0;
    bool bytes = false;
    bool raw = false;
    if (c == 'b') {
      bytes = true;
      n = 1;
    }
    if ((peek(n) | 0x20) == 'r') {
      raw = true;
      ++n;
    }
    if (n == 0 || (peek(n) != '"' && peek(n) != '\'')) return false;
    return string(n, bytes, raw);
  }

  bool string(size_t prefix, bool bytes, bool raw) {
    char q = peek(prefix);
    bool triple = peek(prefix + 1) == q && peek(prefix + 2) == q && closes_triple(prefix + 3, q, raw);
    size_t n = prefix + (triple ? 3 : 1);
    while (at_ + n < s_.size()) {
      char c = peek(n);
      if (c == q && (!triple || (peek(n + 1) == q && peek(n + 2) == q))) {
        push(bytes ? Token::kBytes : Token::kString, n + (triple ? 3 : 1));
        return true;
      }
      if (!triple && (c == '\n' || c == '\r')) break;
      if (c == '\\' && !raw) {
        size_t escape = escape_length(s_, at_ + n + 1);
        if (escape == 0) {
          bad_length_ = std::min(n + 2, s_.size() - at_);
          return recover_prefix(prefix);
        }
        n += escape;
      }
      ++n;
    }
    bad_length_ = n;
    return recover_prefix(prefix);
  }

  // A prefix before something that is not a string is a word of its own.
  bool recover_prefix(size_t prefix) {
    if (prefix == 0) return false;
    bad_length_ = 0;
    return word();
  }

  // Whether a triple quote opened before `n` is closed again; otherwise """ is an empty string and a quote.
  bool closes_triple(size_t n, char q, bool raw) const {
    while (at_ + n < s_.size()) {
      if (peek(n) == q && peek(n + 1) == q && peek(n + 2) == q) return true;
      if (peek(n) == '\\' && !raw) ++n;
      ++n;
    }
    return false;
  }

  bool symbol() {
    char c = peek();
    char d = peek(1);
    auto two = [&](Token token) {
      push(token, 2);
      return true;
    };
    auto one = [&](Token token) {
      push(token, 1);
      return true;
    };
    switch (c) {
      case '=':
        return d == '=' ? two(Token::kEqual) : false;
      case '!':
        return d == '=' ? two(Token::kNotEqual) : one(Token::kNot);
      case '<':
        return d == '=' ? two(Token::kLessEqual) : one(Token::kLess);
      case '>':
        return d == '=' ? two(Token::kGreaterEqual) : one(Token::kGreater);
      case '&':
        return d == '&' ? two(Token::kAnd) : false;
      case '|':
        return d == '|' ? two(Token::kOr) : false;
      case '[':
        return one(Token::kLeftBracket);
      case ']':
        return one(Token::kRightBracket);
      case '{':
        return one(Token::kLeftBrace);
      case '}':
        return one(Token::kRightBrace);
      case '(':
        return one(Token::kLeftParen);
      case ')':
        return one(Token::kRightParen);
      case '.':
        return one(Token::kDot);
      case ',':
        return one(Token::kComma);
      case '-':
        return one(Token::kMinus);
      case '?':
        return one(Token::kQuestion);
      case ':':
        return one(Token::kColon);
      case '+':
        return one(Token::kPlus);
      case '*':
        return one(Token::kStar);
      case '/':
        return one(Token::kSlash);
      case '%':
        return one(Token::kPercent);
      default:
        return false;
    }
  }

  std::string_view s_;
  Issues& issues_;
  std::vector<Lexeme> out_;
  size_t at_ = 0;
  size_t bad_length_ = 0;
};

// One escape sequence behind a backslash at `at`; appends its value and moves `at` behind it.
bool unescape_one(std::string_view s, size_t& at, bool bytes, std::string& out, std::string& problem) {
  size_t length = escape_length(s, at);
  if (length == 0) {
    problem = "unable to unescape string";
    return false;
  }
  char c = s[at];
  uint32_t value = 0;
  if (c == 'x' || c == 'X' || c == 'u' || c == 'U') {
    if (bytes && (c == 'u' || c == 'U')) {
      problem = "unable to unescape string";
      return false;
    }
    for (size_t i = 1; i < length; ++i) value = value << 4 | hex_value(s[at + i]);
    if (!bytes && (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))) {
      problem = "invalid unicode code point";
      return false;
    }
  } else if (c >= '0' && c <= '3') {
    for (size_t i = 0; i < 3; ++i) value = value << 3 | static_cast<uint32_t>(s[at + i] - '0');
  } else {
    static constexpr std::string_view kFrom = "abfnrtv";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v";
    size_t i = kFrom.find(c);
    value = static_cast<unsigned char>(i == std::string_view::npos ? c : kTo[i]);
  }
  at += length;
  if (bytes) {
    out += static_cast<char>(value);
  } else {
    append_utf8(out, value);
  }
  return true;
}

}  // namespace

std::vector<Lexeme> lex(std::string_view source, Issues& issues) {
  return Lexer(source, issues).run();
}

bool unescape_literal(std::string_view literal, bool bytes, std::string& out, std::string& problem) {
  bool raw = false;
  while (!literal.empty() && literal[0] != '"' && literal[0] != '\'') {
    raw = raw || (literal[0] | 0x20) == 'r';
    literal.remove_prefix(1);
  }
  bool triple = literal.size() >= 6 && literal[0] == literal[1] && literal[1] == literal[2];
  size_t quote = triple ? 3 : 1;
  std::string_view body = literal.substr(quote, literal.size() - 2 * quote);
  out.clear();
  for (size_t i = 0; i < body.size();) {
    if (body[i] == '\\' && !raw) {
      ++i;
      if (!unescape_one(body, i, bytes, out, problem)) return false;
    } else if (body[i] == '\r') {
      out += '\n';
      i += i + 1 < body.size() && body[i + 1] == '\n' ? 2 : 1;
    } else {
      out += body[i++];
    }
  }
  return true;
}

}  // namespace dra::cel
