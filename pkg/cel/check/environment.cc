#include "pkg/cel/check/environment_rep.h"

#include <algorithm>

#include "pkg/base/check.h"

namespace dra::cel {
namespace {

// Whether an overload is part of an environment (cel-go extensions of Kubernetes 1.36, new and stored expressions).
bool included(const Overload& overload, const EnvironmentOptions& options) {
  if (overload.environments == kQuantityExtension) return options.quantity_operators;
  if (overload.function == "includes" && options.new_expressions && !options.list_attributes) return false;
  return (overload.environments & (options.release == Release::k137 ? kOnly137 : kOnly136)) != 0;
}

void add_overloads(Environment::Rep& rep) {
  rep.functions.reserve(256);
  for (const Overload& o : all_overloads()) {
    if (!included(o, rep.options)) continue;
    auto it = rep.functions.find(o.function);
    if (it == rep.functions.end()) it = rep.functions.emplace(std::string(o.function), 0).first;
    it->second.push_back(&o);
  }
}

// 1.36: any, with list attributes dyn. 1.37: dyn for stored expressions, by gate for new ones.
const Type* attribute_type(const EnvironmentOptions& o) {
  bool dynamic = o.list_attributes || (o.release == Release::k137 && !o.new_expressions);
  return simple_type(dynamic ? TypeKind::kDyn : TypeKind::kAny);
}

void add_device(Environment::Rep& rep) {
  Arena& a = rep.arena;
  const Type* text = simple_type(TypeKind::kString);
  const Type* attributes = make_map_type(a, text, make_map_type(a, text, rep.attribute_type));
  const Type* quantities = make_map_type(a, text, make_object(a, "kubernetes.Quantity"));
  rep.device_fields = {{"driver", text},
                       {"attributes", attributes},
                       {"capacity", make_map_type(a, text, quantities)},
                       {"allowMultipleAllocations", simple_type(TypeKind::kBool)}};
  rep.variables.emplace(kDeviceVariable, Environment::Rep::Variable{make_object(a, kDeviceType), 0});
}

struct TypeName {
  std::string_view name;
  std::string_view spelling;
  bool exists;
};

constexpr TypeName kTypeNames[] = {
    {"bool", "bool", true},
    {"bytes", "bytes", true},
    {"double", "double", true},
    {"int", "int", true},
    {"uint", "uint", true},
    {"string", "string", true},
    {"list", "list(dyn)", true},
    {"map", "map(dyn, dyn)", true},
    {"null_type", "null_type", true},
    {"type", "type", true},
    {"google.protobuf.Duration", "duration", true},
    {"google.protobuf.Timestamp", "timestamp", true},
    {"optional_type", "optional(dyn)", true},
    {"net.IP", "net.IP", true},
    {"net.CIDR", "net.CIDR", true},
    // Known to the checker, unknown to the evaluator.
    {"duration", "duration", false},
    {"timestamp", "timestamp", false},
    {"dyn", "dyn", false},
    {"google.protobuf.Any", "any", false},
    {"google.protobuf.Value", "dyn", false},
    {"google.protobuf.Struct", "map(string, dyn)", false},
    {"google.protobuf.ListValue", "list(dyn)", false},
};

}  // namespace

const std::vector<const Overload*>* Environment::Rep::find_function(std::string_view name) const {
  auto it = functions.find(name);
  return it == functions.end() ? nullptr : &it->second;
}

const Environment::Rep::Variable* Environment::Rep::find_variable(std::string_view name) const {
  auto it = variables.find(name);
  return it == variables.end() ? nullptr : &it->second;
}

const Type* Environment::Rep::device_field(std::string_view name) const {
  auto it = device_fields.find(name);
  return it == device_fields.end() ? nullptr : it->second;
}

const Type* type_name_type(std::string_view name, bool& exists) {
  static Arena arena;
  static const std::vector<const Type*> types = [] {
    std::vector<const Type*> out;
    for (const TypeName& t : kTypeNames) {
      std::vector<std::string> names;
      const Type* of = parse_type(arena, t.spelling, names);
      DRA_CHECK(of != nullptr);
      out.push_back(make_type_type(arena, of));
    }
    return out;
  }();
  for (size_t i = 0; i < types.size(); ++i) {
    if (kTypeNames[i].name == name) {
      exists = kTypeNames[i].exists;
      return types[i];
    }
  }
  return nullptr;
}

bool is_message_type(std::string_view name) {
  return name == kDeviceType || name.substr(0, 16) == "google.protobuf.";
}

Environment::Environment(const EnvironmentOptions& options) {
  auto rep = std::make_shared<Rep>();
  rep->options = options;
  rep->attribute_type = attribute_type(options);
  add_overloads(*rep);
  add_device(*rep);
  rep_ = std::move(rep);
}

Environment Environment::generic(const EnvironmentOptions& options, std::string container,
                                 const std::vector<VariableDecl>& variables,
                                 const std::vector<FunctionDecl>& functions) {
  auto rep = std::make_shared<Rep>();
  rep->options = options;
  rep->device = false;
  rep->container = std::move(container);
  rep->attribute_type = attribute_type(options);
  add_overloads(*rep);
  for (const VariableDecl& v : variables) {
    std::vector<std::string> names;
    const Type* type = parse_type(rep->arena, v.type, names);
    if (type == nullptr) type = simple_type(TypeKind::kDyn);
    rep->variables.emplace(v.name, Rep::Variable{type, static_cast<uint32_t>(rep->variable_names.size())});
    rep->variable_names.push_back(v.name);
  }
  for (const FunctionDecl& f : functions) {
    std::string signature;
    for (size_t i = 0; i < f.params.size(); ++i) {
      bool is_receiver = f.receiver && i == 0;
      signature += is_receiver ? f.params[i] + ".(" : (signature.empty() ? "(" : "") + f.params[i];
      if (!is_receiver && i + 1 < f.params.size()) signature += ", ";
    }
    if (signature.empty()) signature = "(";
    auto overload = std::make_unique<Overload>();
    OverloadSpec spec{rep->arena.copy(f.name), rep->arena.copy(f.overload_id),
                      rep->arena.copy(signature + ") " + f.result), nullptr};
    if (!fill_overload(rep->arena, spec, *overload)) continue;
    rep->functions[f.name].push_back(overload.get());
    rep->declared.push_back(std::move(overload));
  }
  return Environment(std::shared_ptr<const Rep>(std::move(rep)));
}

const EnvironmentOptions& Environment::options() const {
  return rep_->options;
}

}  // namespace dra::cel
