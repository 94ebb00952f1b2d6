// string.format: cel-go ext/formatting.go, version 2 (with Kubernetes' en-US printer): "%f" groups thousands, "%e"
// always has six decimals and a superscript exponent.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/lib/outcome.h"
#include "pkg/cel/value/value.h"

namespace dra::cel::lib {

// Upstream's words for a value (or static type) that a clause cannot take: "error during formatting: decimal clause can
// only be used on integers, was given string". `verb` is one of s d f e b o x X.
std::string format_type_error(char verb, std::string_view type);

// The verbs of a format in order, each consuming one argument ("%%" consumes none). Fails with the texts "unexpected
// end of string" and `could not parse formatting clause: unrecognized formatting clause "z"`. `arguments` as in
// check_format_arguments.
Outcome<std::vector<char>> format_verbs(std::string_view format);

// "index N out of range" or "too many arguments supplied to string.format (expected N, got M)", or empty.
std::string check_format_arguments(size_t verbs, size_t arguments);

// The result has at most the budget's bytes; uses its steps.
Outcome<std::string> format_text(std::string_view format, const ListRep& arguments, Budget& budget);

}  // namespace dra::cel::lib
