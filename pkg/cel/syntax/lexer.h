// Tokens of the language (cel-spec "Lexis", cel-go parser/gen/CEL.g4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/syntax/source.h"

namespace dra::cel {

enum class Token : uint8_t {
  kEnd,
  kIdent,
  kEscapedIdent,  // `a-b`
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
  kIn,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kDot,
  kComma,
  kMinus,
  kNot,
  kQuestion,
  kColon,
  kPlus,
  kStar,
  kSlash,
  kPercent,
};

struct Lexeme {
  Token token = Token::kEnd;
  uint32_t offset = 0;
  uint32_t length = 0;
};

// Splits valid UTF-8. Text that is not a token becomes an issue and is skipped. The last lexeme is kEnd.
std::vector<Lexeme> lex(std::string_view source, Issues& issues);

// The value of a string or bytes literal, prefix and quotes included in `literal`. False: `problem` says why.
bool unescape_literal(std::string_view literal, bool bytes, std::string& out, std::string& problem);

}  // namespace dra::cel
