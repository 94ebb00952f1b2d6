// The table of functions: names, overloads, signatures, implementations and cost rules. Internal to pkg/cel.
//
// Sources: cel-go v0.26 common/stdlib, cel/library.go (optional types), ext/{strings,sets,lists,comprehensions}.go;
// k8s.io/apiserver/pkg/cel/library (lists, regex, urls, ip, cidr, quantity, semver, format, authz);
// k8s.io/dynamic-resource-allocation/cel (includes).
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/cel/lib/arena.h"
#include "pkg/cel/value/types.h"
#include "pkg/cel/value/value.h"

namespace dra::cel {

struct EvalContext;  // eval/eval_context.h

// An implementation gets arguments that fit the overload's guards and are not errors. Receivers come first.
using Function = Value (*)(EvalContext&, const Value* args);

// How a call is charged. Rules are looked up by overload id, then by function name, then by overload id again (cel-go
// interpreter/runtimecost.go, apiserver library/cost.go); the first and the last need a single matching overload.
enum class CostRule : uint8_t {
  kOne,
  // extension libraries of cel-go, by overload id
  kSetsContains,
  kSetsEquivalent,
  kSlice,
  kRange,
  kReverse,
  kFlatten,
  kFlattenSaturating,  // from 1.37 on
  kQuadratic,          // distinct, sort, sortBy
  // Kubernetes libraries, by function name
  kNamedOne,
  kTraverse,    // isSorted, sum, min, max, indexOf, lastIndexOf
  kStringPass,  // lowerAscii, upperAscii, substring, trim, url
  kReplace,
  kSplit,
  kJoin,
  kFind,
  kParse,  // quantity, semver, ip, cidr ... of a text
  kCanonical,
  kContainsIp,
  kContainsCidr,
  kValidate,
  kAuthzCheck,
  kIncludes,
  // standard library, by overload id
  kStringTenth,  // startsWith, endsWith, conversions, quote, format
  kInList,
  kCompare,  // ordering of strings and bytes, equality
  kConcat,   // + of strings and bytes
  kMatches,
  kContains,
};
bool by_function_name(CostRule rule);

// Which environments know an overload.
enum EnvironmentMask : uint8_t {
  kOnly136 = 1,
  kOnly137 = 2,
  kEverywhere = kOnly136 | kOnly137,
  kQuantityExtension = 4,
};

// Which values a parameter takes when the overload is chosen at run time.
struct Guard {
  uint32_t kinds = ~0u;        // bit per Kind
  uint32_t first = ~0u;        // lists: kinds of the first element; maps: of the first key
  uint32_t first_value = ~0u;  // maps: kinds of the first value
  bool accepts(const Value& v) const;
};

struct Overload {
  std::string_view function;
  std::string_view id;
  bool receiver = false;
  std::vector<const Type*> params;  // receiver first
  const Type* result = nullptr;
  uint32_t type_params = 0;
  Function implementation = nullptr;  // null: an operator, a macro's helper, or declared only
  CostRule cost = CostRule::kOne;
  uint8_t environments = kEverywhere;
  std::vector<Guard> guards;
};

struct OverloadSpec {
  std::string_view function;
  std::string_view id;
  std::string_view signature;  // "(int, int) list(int)" or "string.(string) bool"
  Function implementation;
  CostRule cost = CostRule::kOne;
  uint8_t environments = kEverywhere;
};

// The tables, one per library file.
using SpecList = std::vector<OverloadSpec>;
void add_operator_specs(SpecList& out);
void add_conversion_specs(SpecList& out);
void add_string_specs(SpecList& out);
void add_time_specs(SpecList& out);
void add_optional_specs(SpecList& out);
void add_list_specs(SpecList& out);
void add_kubernetes_specs(SpecList& out);
void add_net_specs(SpecList& out);
void add_authz_specs(SpecList& out);

// False when the signature is malformed.
bool fill_overload(Arena& arena, const OverloadSpec& spec, Overload& out);

// Every overload of the tables, made once; never changes.
const std::vector<Overload>& all_overloads();

}  // namespace dra::cel
