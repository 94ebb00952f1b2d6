// What a checker looks names up in. Internal to pkg/cel.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/cel/check/environment.h"
#include "pkg/cel/check/overloads.h"
#include "pkg/cel/value/types.h"

namespace dra::cel {

inline constexpr std::string_view kDeviceVariable = "device";
inline constexpr std::string_view kDeviceType = "kubernetes.DRADevice";

struct Environment::Rep {
  template <typename T>
  using NameMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

  struct Variable {
    const Type* type;
    uint32_t index;  // into the bindings of a generic evaluation
  };

  EnvironmentOptions options;
  bool device = true;  // `device` is declared and the output type is checked
  std::string container;
  const Type* attribute_type = nullptr;  // any or dyn
  NameMap<std::vector<const Overload*>> functions;
  NameMap<Variable> variables;
  std::vector<std::string> variable_names;  // by index
  std::vector<std::unique_ptr<Overload>> declared;
  Arena arena;

  const std::vector<const Overload*>* find_function(std::string_view name) const;
  const Variable* find_variable(std::string_view name) const;
  // The type of a field of `device`, or null.
  const Type* device_field(std::string_view name) const;
  bool list_attributes() const { return options.list_attributes || options.release == Release::k137; }

  NameMap<const Type*> device_fields;
};

// The type that a type's name denotes in an expression (type(int)), or null. `exists`: whether evaluation knows it.
const Type* type_name_type(std::string_view name, bool& exists);
// Whether `T{...}` names a message type.
bool is_message_type(std::string_view name);

}  // namespace dra::cel
