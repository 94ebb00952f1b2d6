#include "pkg/cel/syntax/parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "pkg/cel/syntax/lexer.h"
#include "pkg/cel/syntax/macros.h"

namespace dra::cel {
namespace {

constexpr std::string_view kReserved[] = {"as",       "break",  "const",  "continue", "else", "for",
                                          "function", "if",     "import", "let",      "loop", "namespace",
                                          "package",  "return", "var",    "void",     "while"};

bool is_reserved(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

std::string_view relation_function(Token token) {
  switch (token) {
    case Token::kEqual:
      return op::kEquals;
    case Token::kNotEqual:
      return op::kNotEquals;
    case Token::kLess:
      return op::kLess;
    case Token::kLessEqual:
      return op::kLessEquals;
    case Token::kGreater:
      return op::kGreater;
    case Token::kGreaterEqual:
      return op::kGreaterEquals;
    case Token::kIn:
      return op::kIn;
    default:
      return {};
  }
}

std::string_view calc_function(Token token) {
  return token == Token::kPlus ? op::kAdd : token == Token::kMinus ? op::kSubtract : std::string_view{};
}

std::string_view term_function(Token token) {
  switch (token) {
    case Token::kStar:
      return op::kMultiply;
    case Token::kSlash:
      return op::kDivide;
    case Token::kPercent:
      return op::kModulo;
    default:
      return {};
  }
}

// As cel-go's parser lists what an expression may begin with.
constexpr std::string_view kStartsOfAnExpression =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

class Parser {
 public:
  Parser(std::string_view source, const ParseOptions& options, AstBuilder& ast, Issues& issues)
      : source_(source), options_(options), ast_(ast), issues_(issues), tokens_(lex(source, issues)) {}

  Expr* run() {
    Expr* e = expr();
    if (!failed_ && now().token != Token::kEnd) unexpected("<EOF>");
    return failed_ ? nullptr : e;
  }

 private:
  using Rule = Expr* (Parser::*)();

  const Lexeme& now() const { return tokens_[at_]; }
  const Lexeme& ahead(size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  std::string_view text(const Lexeme& l) const { return source_.substr(l.offset, l.length); }
  static int32_t offset(const Lexeme& l) { return static_cast<int32_t>(l.offset); }

  Lexeme take() {
    Lexeme l = now();
    if (l.token != Token::kEnd) ++at_;
    return l;
  }
  bool accept(Token token) {
    if (now().token != token) return false;
    take();
    return true;
  }

  Expr* bad() { return ast_.node(ExprKind::kBad, offset(now())); }

  // Ends parsing: the rest of the text has no meaning any more.
  Expr* unexpected(std::string_view expected) {
    if (!failed_) {
      std::string shown = now().token == Token::kEnd ? "<EOF>" : std::string(text(now()));
      issues_.add(CompileCategory::kSyntax, offset(now()),
                  "Syntax error: mismatched input '" + shown + "' expecting " + std::string(expected));
    }
    return fail();
  }
  Expr* fail() {
    failed_ = true;
    at_ = tokens_.size() - 1;
    return bad();
  }
  bool expect(Token token, std::string_view shown) {
    if (failed_) return false;
    if (accept(token)) return true;
    unexpected(shown);
    return false;
  }

  Expr* too_deep(std::string message) {
    if (!failed_) issues_.add(CompileCategory::kRecursionLimit, -1, std::move(message));
    return fail();
  }

  static uint16_t deepest(std::initializer_list<const Expr*> parts) {
    uint16_t depth = 0;
    for (const Expr* p : parts) {
      if (p != nullptr) depth = std::max(depth, p->parse_depth);
    }
    return depth;
  }
  // Sets the depth of a node and enforces the limit on it.
  Expr* counted(Expr* e, int depth) {
    if (depth > kMaxNesting) return too_deep("max recursion depth exceeded");
    e->parse_depth = static_cast<uint16_t>(depth);
    return e;
  }

  Expr* expr() {
    if (++nesting_ > kMaxNesting) {
      return too_deep("expression recursion limit exceeded: " + std::to_string(kMaxNesting));
    }
    Expr* e = conditional();
    --nesting_;
    return e;
  }

  Expr* conditional() {
    Expr* condition = logical(Token::kOr, op::kOr);
    if (failed_ || now().token != Token::kQuestion) return condition;
    int32_t at = offset(take());
    Expr* yes = logical(Token::kOr, op::kOr);
    if (!expect(Token::kColon, "':'")) return bad();
    Expr* no = expr();
    if (failed_) return bad();
    return counted(ast_.call(at, op::kConditional, {condition, yes, no}), deepest({condition, yes, no}) + 1);
  }

  // Chains of && and || become balanced trees, as cel-go's parser makes them.
  Expr* logical(Token token, std::string_view function) {
    auto operand = [&] { return token == Token::kOr ? logical(Token::kAnd, op::kAnd) : relation(); };
    Expr* first = operand();
    if (failed_ || now().token != token) return first;
    std::vector<Expr*> terms{first};
    std::vector<int32_t> at;
    while (!failed_ && now().token == token) {
      at.push_back(offset(take()));
      terms.push_back(operand());
    }
    return failed_ ? bad() : balanced(function, terms, at, 0, at.size() - 1);
  }

  Expr* balanced(std::string_view function, const std::vector<Expr*>& terms, const std::vector<int32_t>& at, size_t lo,
                 size_t hi) {
    size_t mid = (lo + hi + 1) / 2;
    Expr* left = mid == lo ? terms[mid] : balanced(function, terms, at, lo, mid - 1);
    Expr* right = mid == hi ? terms[mid + 1] : balanced(function, terms, at, mid + 1, hi);
    return counted(ast_.call(at[mid], function, {left, right}), deepest({left, right}));
  }

  Expr* left_associative(std::string_view (*function_of)(Token), Rule operand) {
    Expr* left = (this->*operand)();
    while (!failed_) {
      std::string_view function = function_of(now().token);
      if (function.empty()) break;
      int32_t at = offset(take());
      Expr* right = (this->*operand)();
      if (failed_) return bad();
      left = counted(ast_.call(at, function, {left, right}), deepest({left, right}) + 1);
    }
    return left;
  }

  Expr* relation() { return left_associative(relation_function, &Parser::calc); }
  Expr* calc() { return left_associative(calc_function, &Parser::term); }
  Expr* term() { return left_associative(term_function, &Parser::unary); }

  // An even number of the same operators cancels; a single '-' in front of a number belongs to the literal.
  Expr* unary() {
    Token token = now().token;
    bool number_follows = ahead(1).token == Token::kInt || ahead(1).token == Token::kDouble;
    if ((token != Token::kNot && token != Token::kMinus) || (token == Token::kMinus && number_follows)) return member();
    int32_t at = offset(now());
    size_t count = 0;
    while (accept(token)) ++count;
    Expr* operand = member();
    if (failed_ || count % 2 == 0) return operand;
    return counted(ast_.call(at, token == Token::kNot ? op::kNot : op::kNegate, {operand}), operand->parse_depth);
  }

  Expr* member() {
    Expr* e = primary();
    while (!failed_) {
      if (now().token == Token::kDot) {
        e = dotted(e);
      } else if (now().token == Token::kLeftBracket) {
        e = indexed(e);
      } else {
        break;
      }
    }
    return e;
  }

  Expr* dotted(Expr* operand) {
    int32_t at = offset(take());
    bool optional = accept(Token::kQuestion);
    Lexeme field = now();
    if (field.token == Token::kEscapedIdent) {
      if (!options_.escaped_identifiers) {
        issues_.add(CompileCategory::kSyntax, offset(field), "unsupported syntax: '`'");
      }
    } else if (field.token != Token::kIdent) {
      issues_.add(CompileCategory::kSyntax, offset(field),
                  "Syntax error: no viable alternative at input '." + std::string(text(field)) + "'");
      // A word that cannot be a field name is skipped, so that a surrounding has() is still checked.
      if (field.token == Token::kIn || field.token == Token::kTrue || field.token == Token::kFalse ||
          field.token == Token::kNull) {
        take();
        return operand;
      }
      return fail();
    }
    take();
    std::string_view name = text(field);
    if (field.token == Token::kEscapedIdent) name = name.substr(1, name.size() - 2);
    if (!optional && field.token == Token::kIdent && now().token == Token::kLeftParen) {
      return call(name, operand);
    }
    if (optional) {
      Expr* field_name = ast_.constant(offset(field), Value::of_scanned_string(name));
      return counted(ast_.call(at, op::kOptSelect, {operand, field_name}), operand->parse_depth + 1);
    }
    return counted(ast_.select(at, operand, name), operand->parse_depth + 1);
  }

  Expr* indexed(Expr* operand) {
    int32_t at = offset(take());
    bool optional = accept(Token::kQuestion);
    Expr* index = expr();
    if (!expect(Token::kRightBracket, "']'")) return bad();
    return counted(ast_.call(at, optional ? op::kOptIndex : op::kIndex, {operand, index}),
                   deepest({operand, index}) + 1);
  }

  // At the '(' of a call.
  Expr* call(std::string_view name, Expr* target) {
    int32_t at = offset(take());
    std::vector<Expr*> args;
    uint16_t depth = target == nullptr ? 0 : target->parse_depth;
    if (now().token != Token::kRightParen) {
      do {
        args.push_back(expr());
        if (failed_) return bad();
        depth = std::max(depth, args.back()->parse_depth);
      } while (accept(Token::kComma));
    }
    if (!expect(Token::kRightParen, "')'")) return bad();
    Expr* e = expand_macro(ast_, issues_, at, name, target, args);
    if (e == nullptr) e = ast_.call(at, name, args.data(), args.size(), target);
    return counted(e, target == nullptr ? depth : depth + 1);
  }

  Expr* primary() {
    switch (now().token) {
      case Token::kLeftParen: {
        take();
        Expr* e = expr();
        return expect(Token::kRightParen, "')'") ? e : bad();
      }
      case Token::kLeftBracket:
        return list();
      case Token::kLeftBrace:
        return map();
      case Token::kDot:
      case Token::kIdent:
        return named();
      default:
        return literal();
    }
  }

  // An identifier, a global call or a message literal.
  Expr* named() {
    bool leading_dot = accept(Token::kDot);
    Lexeme word = now();
    if (word.token != Token::kIdent) return unexpected("IDENTIFIER");
    if (is_message_literal()) return message(leading_dot);
    take();
    std::string_view name = text(word);
    if (is_reserved(name)) {
      issues_.add(CompileCategory::kReservedIdentifier, offset(word), "reserved identifier: " + std::string(name));
      if (now().token != Token::kLeftParen) return ast_.node(ExprKind::kBad, offset(word));
    }
    std::string_view shown = leading_dot ? ast_.arena().copy("." + std::string(name)) : name;
    if (now().token == Token::kLeftParen) return call(name, nullptr);
    Expr* e = ast_.ident(offset(word), shown);
    e->leading_dot = leading_dot;
    return e;
  }

  bool is_message_literal() const {
    size_t n = 1;
    while (ahead(n).token == Token::kDot && ahead(n + 1).token == Token::kIdent) n += 2;
    return ahead(n).token == Token::kLeftBrace;
  }

  Expr* message(bool) {
    std::string name(text(take()));
    while (accept(Token::kDot)) name += "." + std::string(text(take()));
    Expr* e = ast_.node(ExprKind::kMessage, offset(take()));
    e->name = ast_.arena().copy(name);
    std::vector<Expr*> values;
    std::vector<uint8_t> optional;
    std::vector<std::string_view> names;
    std::vector<int32_t> offsets;
    uint16_t depth = 0;
    while (!failed_ && now().token != Token::kRightBrace && now().token != Token::kComma) {
      optional.push_back(accept(Token::kQuestion) ? 1 : 0);
      if (now().token != Token::kIdent) return unexpected("IDENTIFIER");
      names.push_back(ast_.arena().copy(text(take())));
      offsets.push_back(offset(now()));
      if (!expect(Token::kColon, "':'")) return bad();
      values.push_back(expr());
      depth = std::max(depth, values.back()->parse_depth);
      if (now().token != Token::kComma) break;
      take();
    }
    if (values.empty()) accept(Token::kComma);
    if (!expect(Token::kRightBrace, "'}'")) return bad();
    adopt(e, values, optional);
    e->fields = ast_.arena().array<std::string_view>(names.size());
    std::copy(names.begin(), names.end(), e->fields);
    e->field_offsets = ast_.arena().array<int32_t>(offsets.size());
    std::copy(offsets.begin(), offsets.end(), e->field_offsets);
    return counted(e, depth);
  }

  void adopt(Expr* e, const std::vector<Expr*>& parts, const std::vector<uint8_t>& optional) {
    Expr** copy = ast_.arena().array<Expr*>(parts.size());
    std::copy(parts.begin(), parts.end(), copy);
    e->args = copy;
    e->arg_count = static_cast<uint32_t>(parts.size());
    if (std::find(optional.begin(), optional.end(), 1) != optional.end()) {
      e->optional = ast_.arena().array<uint8_t>(optional.size());
      std::copy(optional.begin(), optional.end(), e->optional);
    }
  }

  Expr* list() {
    Expr* e = ast_.node(ExprKind::kList, offset(take()));
    std::vector<Expr*> elements;
    std::vector<uint8_t> optional;
    uint16_t depth = 0;
    while (!failed_ && now().token != Token::kRightBracket && now().token != Token::kComma) {
      optional.push_back(accept(Token::kQuestion));
      elements.push_back(expr());
      depth = std::max(depth, elements.back()->parse_depth);
      if (now().token != Token::kComma) break;
      take();
    }
    if (elements.empty()) accept(Token::kComma);
    if (!expect(Token::kRightBracket, "']'")) return bad();
    adopt(e, elements, optional);
    return counted(e, depth);
  }

  Expr* map() {
    Expr* e = ast_.node(ExprKind::kMap, offset(take()));
    std::vector<Expr*> parts;
    std::vector<uint8_t> optional;
    uint16_t depth = 0;
    while (!failed_ && now().token != Token::kRightBrace && now().token != Token::kComma) {
      optional.push_back(accept(Token::kQuestion));
      parts.push_back(expr());
      if (!expect(Token::kColon, "':'")) return bad();
      parts.push_back(expr());
      depth = std::max({depth, parts.back()->parse_depth, parts[parts.size() - 2]->parse_depth});
      if (now().token != Token::kComma) break;
      take();
    }
    if (parts.empty()) accept(Token::kComma);
    if (!expect(Token::kRightBrace, "'}'")) return bad();
    adopt(e, parts, optional);
    return counted(e, depth);
  }

  Expr* literal() {
    Lexeme first = now();
    bool negative = first.token == Token::kMinus;
    if (negative && ahead(1).token != Token::kInt && ahead(1).token != Token::kDouble) {
      return unexpected(kStartsOfAnExpression);
    }
    if (negative) take();
    Lexeme l = now();
    int32_t at = offset(first);
    switch (l.token) {
      case Token::kInt:
        take();
        return integer(at, text(l), negative);
      case Token::kUint:
        take();
        return unsigned_integer(at, text(l));
      case Token::kDouble:
        take();
        return floating(at, text(l), negative);
      case Token::kString:
        take();
        return quoted(at, text(l), false);
      case Token::kBytes:
        take();
        return quoted(at, text(l), true);
      case Token::kTrue:
        take();
        return ast_.constant(at, Value::of_bool(true));
      case Token::kFalse:
        take();
        return ast_.constant(at, Value::of_bool(false));
      case Token::kNull:
        take();
        return ast_.constant(at, Value::null());
      default:
        return unexpected(kStartsOfAnExpression);
    }
  }

  Expr* invalid(int32_t at, std::string message) {
    issues_.add(CompileCategory::kInvalidLiteral, at, std::move(message));
    return ast_.node(ExprKind::kBad, at);
  }

  static bool parse_magnitude(std::string_view digits, uint64_t& out) {
    int base = 10;
    if (digits.size() > 2 && digits[1] == 'x') {
      base = 16;
      digits.remove_prefix(2);
    }
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out, base);
    return error == std::errc() && end == digits.data() + digits.size();
  }

  Expr* integer(int32_t at, std::string_view digits, bool negative) {
    uint64_t magnitude = 0;
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    if (!parse_magnitude(digits, magnitude) || magnitude > kLimit || (magnitude == kLimit && !negative)) {
      return invalid(at, "invalid int literal");
    }
    return ast_.constant(at, Value::of_int(static_cast<int64_t>(negative ? 0 - magnitude : magnitude)));
  }

  Expr* unsigned_integer(int32_t at, std::string_view digits) {
    uint64_t value = 0;
    digits.remove_suffix(1);
    if (!parse_magnitude(digits, value)) return invalid(at, "invalid uint literal");
    return ast_.constant(at, Value::of_uint(value));
  }

  Expr* floating(int32_t at, std::string_view digits, bool negative) {
    double value = 0;
    std::string with_zero = digits[0] == '.' ? "0" + std::string(digits) : std::string(digits);
    auto [end, error] = std::from_chars(with_zero.data(), with_zero.data() + with_zero.size(), value);
    if (error == std::errc::result_out_of_range) {
      // Too small reads as zero, too large is an error (Go strconv.ParseFloat).
      size_t e = with_zero.find_first_of("eE");
      if (e == std::string::npos || with_zero[e + 1] != '-') return invalid(at, "invalid double literal");
      value = 0;
    } else if (error != std::errc()) {
      return invalid(at, "invalid double literal");
    }
    return ast_.constant(at, Value::of_double(negative ? -value : value));
  }

  Expr* quoted(int32_t at, std::string_view raw, bool bytes) {
    std::string value;
    std::string problem;
    if (!unescape_literal(raw, bytes, value, problem)) return invalid(at, problem);
    std::string_view kept = ast_.arena().copy(value);
    return ast_.constant(at, bytes ? Value::of_bytes(kept) : Value::of_scanned_string(kept));
  }

  std::string_view source_;
  const ParseOptions& options_;
  AstBuilder& ast_;
  Issues& issues_;
  std::vector<Lexeme> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  bool failed_ = false;
};

}  // namespace

Expr* parse(std::string_view source, const ParseOptions& options, AstBuilder& ast, Issues& issues) {
  size_t size = code_points(source);
  if (size > kMaxCodePoints) {
    issues.add(CompileCategory::kSizeLimit, -1,
               "expression code point size exceeds limit: size: " + std::to_string(size) + ", limit " +
                   std::to_string(kMaxCodePoints));
    return nullptr;
  }
  return Parser(source, options, ast, issues).run();
}

}  // namespace dra::cel
