// The vectors of other implementations (cel_dra.json, cel_spec.json), where they are available. Intended deviations are
// listed in docs/cel-deviations.json. DRA_CEL_VERBOSE=1 prints every difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/cel/cel.h"
#include "pkg/cel/lib/number.h"
#include "pkg/cel/lib/time.h"
#include "test/support/conformance_data.h"

namespace dra::cel::conformance_test {
namespace {

using nlohmann::json;

json read_vectors(const std::string& name) {
  std::ifstream in(test::conformance_data().file(name));
  return json::parse(in);
}

std::set<std::string> deviations() {
  std::set<std::string> ids;
  std::ifstream in("docs/cel-deviations.json");
  if (!in) return ids;
  json known = json::parse(in);
  for (const auto& [id, reason] : known.items()) ids.insert(id);
  return ids;
}

// A member object, or an empty one.
const json& member(const json& of, const char* name) {
  static const json kEmpty = json::object();
  return of.contains(name) ? of[name] : kEmpty;
}

template <typename T>
std::vector<T> many(const json& list) {
  return list.get<std::vector<T>>();
}

DeviceInput make_device(const json& d) {
  DeviceInputBuilder b(d.at("driver").get<std::string>(), d.value("allowMultipleAllocations", false));
  for (const auto& [name, a] : member(d, "attributes").items()) {
    if (a.contains("bool"))
      b.add_bool(name, a["bool"].get<bool>());
    else if (a.contains("int"))
      b.add_int(name, a["int"].get<int64_t>());
    else if (a.contains("string"))
      b.add_string(name, a["string"].get<std::string>());
    else if (a.contains("version"))
      b.add_version(name, a["version"].get<std::string>());
    else if (a.contains("bools"))
      b.add_bools(name, many<bool>(a["bools"]));
    else if (a.contains("ints"))
      b.add_ints(name, many<int64_t>(a["ints"]));
    else if (a.contains("strings"))
      b.add_strings(name, many<std::string>(a["strings"]));
    else if (a.contains("versions"))
      b.add_versions(name, many<std::string>(a["versions"]));
    else
      b.add_empty(name);
  }
  for (const auto& [name, c] : member(d, "capacity").items()) {
    b.add_capacity_text(name, c.at("value").get<std::string>());
  }
  return b.build();
}

uint64_t as_cost(const json& v) {
  return v.is_string() ? std::stoull(v.get<std::string>()) : v.get<uint64_t>();
}

class Judge {
 public:
  void expect(const std::string& what, const std::string& want, const std::string& got) {
    if (want != got) problems += " " + what + ": want " + want + ", got " + got + ";";
  }
  std::string problems;
};

// Categories that are a compile error in both, though named differently on purpose.
std::string judge(const json& want, const std::string& expression, const Environment& env, const DeviceInput& device) {
  Judge j;
  CompileResult r = compile(expression, env);
  std::string compiled = r.ok() ? "ok" : std::string(category_name(r.error->category));
  j.expect("compile", want["compile"] == "ok" ? "ok" : want["category"].get<std::string>(), compiled);
  if (!r.ok()) {
    static const std::set<std::string> kStable = {
        "undeclared",          "no_matching_overload", "output_type", "undefined_field",   "recursion_limit",
        "comprehension_range", "type_mismatch",        "program",     "literal_validator", "macro",
        "format_validator",    "reserved_identifier"};
    if (j.problems.empty() && kStable.count(compiled) != 0 && want["message"].get<std::string>().size() < 600 &&
        want["message"].get<std::string>().find("Syntax") == std::string::npos) {
      j.expect("message", want["message"].get<std::string>(), r.error->message);
    }
    return j.problems;
  }
  if (!j.problems.empty()) return j.problems;
  j.expect("type", want["type"].get<std::string>(), r.type);
  j.expect("estimate", std::to_string(as_cost(want["estCost"])), std::to_string(r.estimated_cost));
  EvalResult e = r.program->evaluate(device);
  std::string result = e.ok() ? (e.value ? "true" : "false") : std::string(category_name(e.error));
  std::string wanted = want.contains("result") ? (want["result"].get<bool>() ? "true" : "false")
                                               : want["runtimeError"].get<std::string>();
  j.expect("result", wanted, result + (result != wanted ? " (" + e.message + ")" : ""));
  if (want.contains("cost")) j.expect("cost", std::to_string(as_cost(want["cost"])), std::to_string(e.cost));
  if (want.contains("costRange")) {
    uint64_t low = as_cost(want["costRange"][0]);
    uint64_t high = as_cost(want["costRange"][1]);
    if (e.cost < low || e.cost > high) j.expect("cost", want["costRange"].dump(), std::to_string(e.cost));
  }
  return j.problems;
}

struct Totals {
  int passed = 0;
  int failed = 0;
  void add(const std::string& id, const std::string& expression, const std::string& problems) {
    if (problems.empty()) {
      ++passed;
      return;
    }
    ++failed;
    if (std::getenv("DRA_CEL_VERBOSE") != nullptr) {
      std::cout << id << " | " << expression.substr(0, 160) << " |" << problems.substr(0, 500) << "\n";
    }
  }
};

EnvironmentOptions options(Release release, bool lists, bool fresh) {
  EnvironmentOptions o;
  o.release = release;
  o.list_attributes = lists;
  o.new_expressions = fresh;
  return o;
}

// Why the gate need not be known (pkg/inventory/features.h): without lists in a device, what compiles without the gate
// has the same outcome with it.
TEST(ListAttributes, MakeNoDifferenceWhereNoDeviceHasAny) {
  json file = read_vectors("cel_dra.json");
  std::map<std::string, DeviceInput> devices;
  for (const auto& [name, d] : file["devices"].items()) {
    const std::string text = d.value("attributes", json::object()).dump();
    bool lists = false;
    for (const char* member : {"\"ints\":", "\"bools\":", "\"strings\":", "\"versions\":"})
      lists = lists || text.find(member) != std::string::npos;
    if (!lists) devices.emplace(name, make_device(d));
  }
  int compared = 0;
  for (const Release release : {Release::k136, Release::k137}) {
    const Environment off(options(release, false, false)), on(options(release, true, false));
    for (const json& v : file["vectors"]) {
      const auto device = devices.find(v["device"].get<std::string>());
      const std::string expression = v["expr"];
      const CompileResult without = compile(expression, off), with = compile(expression, on);
      if (device == devices.end() || !without.ok()) continue;
      ASSERT_TRUE(with.ok()) << v["id"] << ": " << with.error->message;
      const EvalResult a = without.program->evaluate(device->second), b = with.program->evaluate(device->second);
      EXPECT_EQ(a.ok(), b.ok()) << v["id"];
      EXPECT_EQ(a.error, b.error) << v["id"];
      EXPECT_EQ(a.ok() && a.value, b.ok() && b.value) << v["id"];
      ++compared;
    }
  }
  EXPECT_TRUE(test::conformance_data().at_least(2400, 270, compared, "selectors compared"));
}

TEST(Conformance, DraVectors) {
  json file = read_vectors("cel_dra.json");
  std::map<std::string, DeviceInput> devices;
  for (const auto& [name, d] : file["devices"].items()) devices.emplace(name, make_device(d));
  std::set<std::string> known = deviations();
  Environment v136(options(Release::k136, false, false));
  Environment new136(options(Release::k136, false, true));
  Environment lists136(options(Release::k136, true, false));
  Environment v137(options(Release::k137, false, false));
  Totals t136;
  Totals t137;
  Totals others;
  for (const json& v : file["vectors"]) {
    std::string id = v["id"];
    if (known.count(id) != 0) continue;
    std::string expression = v["expr"];
    const DeviceInput& device = devices.at(v["device"].get<std::string>());
    t136.add(id + " v136", expression, judge(v["v136"], expression, v136, device));
    if (v.contains("lists136"))
      others.add(id + " lists136", expression, judge(v["lists136"], expression, lists136, device));
    if (v.contains("new136")) others.add(id + " new136", expression, judge(v["new136"], expression, new136, device));
    std::string verdict(verdict_name(api_verdict(expression, compile(expression, new136))));
    std::string wanted = v["api136"] == "panic" ? "invalid" : v["api136"].get<std::string>();
    others.add(id + " api136", expression, verdict == wanted ? "" : " api: want " + wanted + ", got " + verdict);
    t137.add(id + " v137", expression, judge(v.contains("v137") ? v["v137"] : v["v136"], expression, v137, device));
  }
  std::cout << "v136: " << t136.passed << " passed, " << t136.failed << " failed; v137: " << t137.passed << " passed, "
            << t137.failed << " failed; new, lists, api: " << others.passed << " passed, " << others.failed
            << " failed\n";
  EXPECT_EQ(t136.failed, 0);
  EXPECT_EQ(others.failed, 0);
  EXPECT_EQ(t137.failed, 0);
}

// ---- cel_spec.json

Value decode(const json& v, Arena& arena) {
  const std::string tag = v.begin().key();
  const json& x = v.begin().value();
  if (tag == "null") return Value::null();
  if (tag == "bool") return Value::of_bool(x.get<bool>());
  if (tag == "int") return Value::of_int(std::stoll(x.get<std::string>()));
  if (tag == "uint") return Value::of_uint(std::stoull(x.get<std::string>()));
  if (tag == "double") return Value::of_double(*lib::parse_double(x.get<std::string>()));
  if (tag == "string") return Value::of_string(arena.copy(x.get<std::string>()));
  if (tag == "type") return Value::of_type(arena.copy(x.get<std::string>()));
  if (tag == "duration") return Value::of_duration(*lib::parse_duration(x.get<std::string>()));
  if (tag == "timestamp") {
    auto t = lib::parse_timestamp(x.get<std::string>());
    return Value::of_timestamp(t->seconds, t->nanos, t->offset_minutes);
  }
  if (tag == "bytes") {
    std::string bytes;
    base64_decode(x.get<std::string>(), bytes);
    return Value::of_bytes(arena.copy(bytes));
  }
  if (tag == "list") {
    Value* items = arena.array<Value>(x.size());
    for (size_t i = 0; i < x.size(); ++i) items[i] = decode(x[i], arena);
    auto* list = arena.make<ListRep>();
    list->items = items;
    list->size = static_cast<uint32_t>(x.size());
    return Value::of_list(list);
  }
  if (tag == "map") {
    auto* entries = arena.array<MapEntry>(x.size());
    for (size_t i = 0; i < x.size(); ++i) entries[i] = {decode(x[i][0], arena), decode(x[i][1], arena)};
    return Value::of_map(make_map(arena, entries, x.size()));
  }
  auto* error = arena.make<ErrorRep>();
  error->message = arena.copy(x.dump());
  return Value::of_error(error);
}

// Values of one kind, all the way down; NaN is NaN.
bool identical(const Value& a, const Value& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kDouble) return a.d == b.d || (a.d != a.d && b.d != b.d);
  if (a.kind == Kind::kList) {
    if (a.list->size != b.list->size) return false;
    for (uint32_t i = 0; i < a.list->size; ++i) {
      if (!identical(a.list->items[i], b.list->items[i])) return false;
    }
    return true;
  }
  if (a.kind == Kind::kMap) {
    if (a.map->size != b.map->size) return false;
    for (uint32_t i = 0; i < a.map->size; ++i) {
      const Value* other = find_key(*b.map, a.map->entries[i].key);
      if (other == nullptr || !identical(a.map->entries[i].value, *other)) return false;
    }
    return true;
  }
  return equal(a, b) == Equality::kTrue;
}

Environment spec_environment(const json& test) {
  std::vector<VariableDecl> variables;
  std::vector<FunctionDecl> functions;
  std::set<std::string> declared;
  for (const json& d : test.value("typeEnv", json::array())) {
    declared.insert(d["name"].get<std::string>());
    if (d.contains("type")) variables.push_back({d["name"], d["type"]});
    for (const json& f : d.value("function", json::array())) {
      functions.push_back({d["name"], f["id"], f["member"], f["params"], f["result"]});
    }
  }
  for (const auto& [name, value] : member(test, "bindings").items()) {
    if (declared.count(name) == 0) variables.push_back({name, "dyn"});
  }
  return Environment::generic({}, test.value("container", ""), variables, functions);
}

std::string judge_spec(const json& test) {
  CompileResult r = compile(test["expr"].get<std::string>(), spec_environment(test));
  bool wants_error = test.contains("error");
  if (!r.ok()) return wants_error ? "" : " compile: " + r.error->message;
  if (test.contains("type") && test["type"] != r.type) {
    return " type: want " + test["type"].get<std::string>() + ", got " + r.type;
  }
  if (test.value("checkOnly", false)) return "";
  Arena arena;
  std::vector<Binding> bindings;
  for (const auto& [name, value] : member(test, "bindings").items()) {
    bindings.push_back({name, decode(value, arena)});
  }
  Value v = r.program->evaluate_value(bindings, arena);
  if (wants_error) return v.is_error() ? "" : " want an error, got " + debug_text(v);
  return identical(decode(test["value"], arena), v) ? "" : " want " + test["value"].dump() + ", got " + debug_text(v);
}

TEST(Conformance, SpecTests) {
  json file = read_vectors("cel_spec.json");
  Totals totals;
  for (const json& test : file["tests"]) {
    if (test["dra"] != "pass") continue;
    totals.add("spec " + std::to_string(test["n"].get<int>()), test["expr"], judge_spec(test));
  }
  std::cout << "spec: " << totals.passed << " passed, " << totals.failed << " failed\n";
  EXPECT_EQ(totals.failed, 0);
}

}  // namespace
}  // namespace dra::cel::conformance_test
