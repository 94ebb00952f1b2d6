// The failure categories of compiling and evaluating a selector.
//
// The names (category_name) are those upstream's errors fall into: github.com/google/cel-go parser, checker and
// interpreter, and k8s.io/dynamic-resource-allocation/cel.
#pragma once

#include <cstdint>
#include <string_view>

namespace dra::cel {

enum class CompileCategory : uint8_t {
  kSyntax,              // does not follow the grammar
  kReservedIdentifier,  // a word kept for later versions of the language
  kInvalidLiteral,      // a number or escape sequence out of range
  kRecursionLimit,      // nested deeper than 250
  kSizeLimit,           // more than 100,000 code points
  kMacro,               // has(), all(), cel.bind() ... with arguments they cannot take
  kUndeclared,          // unknown identifier, function or message type
  kUndefinedField,      // `device` has no such field
  kFieldSelection,      // the type has no fields at all
  kUnresolved,          // an object type without known fields (kubernetes.Quantity)
  kNoMatchingOverload,  // no form of the function takes these types
  kTypeMismatch,        // list or map literals of mixed types, non-bool operands of && and ||
  kComprehensionRange,  // a macro over something that is neither list nor map
  kLiteralValidator,    // duration("x"), timestamp("x"), matches("[")
  kFormatValidator,     // "%d".format(["x"])
  kOutputType,          // the expression is not a predicate
  kProgram,             // a constant part cannot be evaluated (an internal error upstream)
  kPanic,               // upstream's compiler crashes here; refused with a message instead
  kUnsupported,         // part of the language that this implementation refuses (protobuf message literals)
};

enum class RuntimeCategory : uint8_t {
  kNone,
  kNoSuchOverload,
  kNoSuchKey,
  kIndex,
  kDivByZero,
  kOverflow,
  kConversion,
  kQuantityParse,
  kQuantityNotInt,
  kSemverParse,
  kNetParse,
  kUrlParse,
  kRegex,
  kTimeZone,
  kNanOrder,
  kOptionalNone,
  kEmptyList,
  kListArg,
  kDuplicateKey,
  kNotIterable,
  kFormat,
  kInvalidQualifier,
  kUnknownType,
  kNotBool,
  kAttributeValue,  // the device publishes a value no selector can be evaluated with
  kCostLimit,       // more than the allowed 1,000,000 units
  kInternal,
  kSizeLimit,    // a value grew beyond this implementation's bound
  kInterrupted,  // the caller's deadline passed
  kUnboundVariable,
};

// "no_matching_overload", "no_such_key" ...
std::string_view category_name(CompileCategory category);
std::string_view category_name(RuntimeCategory category);

}  // namespace dra::cel
