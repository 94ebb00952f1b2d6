#include "pkg/cel/lib/errors.h"

namespace dra::cel {

std::string_view category_name(CompileCategory category) {
  switch (category) {
    case CompileCategory::kSyntax:
      return "syntax";
    case CompileCategory::kReservedIdentifier:
      return "reserved_identifier";
    case CompileCategory::kInvalidLiteral:
      return "invalid_literal";
    case CompileCategory::kRecursionLimit:
      return "recursion_limit";
    case CompileCategory::kSizeLimit:
      return "size_limit";
    case CompileCategory::kMacro:
      return "macro";
    case CompileCategory::kUndeclared:
      return "undeclared";
    case CompileCategory::kUndefinedField:
      return "undefined_field";
    case CompileCategory::kFieldSelection:
      return "field_selection";
    case CompileCategory::kUnresolved:
      return "unresolved";
    case CompileCategory::kNoMatchingOverload:
      return "no_matching_overload";
    case CompileCategory::kTypeMismatch:
      return "type_mismatch";
    case CompileCategory::kComprehensionRange:
      return "comprehension_range";
    case CompileCategory::kLiteralValidator:
      return "literal_validator";
    case CompileCategory::kFormatValidator:
      return "format_validator";
    case CompileCategory::kOutputType:
      return "output_type";
    case CompileCategory::kProgram:
      return "program";
    case CompileCategory::kPanic:
      return "panic";
    case CompileCategory::kUnsupported:
      return "unsupported";
  }
  return "";
}

std::string_view category_name(RuntimeCategory category) {
  switch (category) {
    case RuntimeCategory::kNone:
      return "";
    case RuntimeCategory::kNoSuchOverload:
      return "no_such_overload";
    case RuntimeCategory::kNoSuchKey:
      return "no_such_key";
    case RuntimeCategory::kIndex:
      return "index";
    case RuntimeCategory::kDivByZero:
      return "div_by_zero";
    case RuntimeCategory::kOverflow:
      return "overflow";
    case RuntimeCategory::kConversion:
      return "conversion";
    case RuntimeCategory::kQuantityParse:
      return "quantity_parse";
    case RuntimeCategory::kQuantityNotInt:
      return "quantity_not_int";
    case RuntimeCategory::kSemverParse:
      return "semver_parse";
    case RuntimeCategory::kNetParse:
      return "net_parse";
    case RuntimeCategory::kUrlParse:
      return "url_parse";
    case RuntimeCategory::kRegex:
      return "regex";
    case RuntimeCategory::kTimeZone:
      return "time_zone";
    case RuntimeCategory::kNanOrder:
      return "nan_order";
    case RuntimeCategory::kOptionalNone:
      return "optional_none";
    case RuntimeCategory::kEmptyList:
      return "empty_list";
    case RuntimeCategory::kListArg:
      return "list_arg";
    case RuntimeCategory::kDuplicateKey:
      return "duplicate_key";
    case RuntimeCategory::kNotIterable:
      return "not_iterable";
    case RuntimeCategory::kFormat:
      return "format";
    case RuntimeCategory::kInvalidQualifier:
      return "invalid_qualifier";
    case RuntimeCategory::kUnknownType:
      return "unknown_type";
    case RuntimeCategory::kNotBool:
      return "not_bool";
    case RuntimeCategory::kAttributeValue:
      return "attribute_value";
    case RuntimeCategory::kCostLimit:
      return "cost_limit";
    case RuntimeCategory::kInternal:
      return "internal";
    case RuntimeCategory::kSizeLimit:
      return "size_limit";
    case RuntimeCategory::kInterrupted:
      return "interrupted";
    case RuntimeCategory::kUnboundVariable:
      return "unbound_variable";
  }
  return "";
}

}  // namespace dra::cel
