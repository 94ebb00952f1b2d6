// Any bytes as a selector: compiled in several environments and evaluated on several devices. Beyond not crashing, it
// must hold that
//  - compiling and evaluating twice gives the same result,
//  - a refusal says why,
//  - an evaluation stops near its cost limit,
//  - attributes and capacities that Program::reads() does not name have no influence.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/cel/cel.h"

namespace {

using dra::cel::CompileResult;
using dra::cel::DeviceInput;
using dra::cel::DeviceInputBuilder;
using dra::cel::Environment;
using dra::cel::EnvironmentOptions;
using dra::cel::EvalResult;
using Names = std::vector<std::pair<std::string, std::string>>;

#define REQUIRE(condition)                                                  \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "broken: %s (line %d)\n", #condition, __LINE__); \
      std::abort();                                                         \
    }                                                                       \
  } while (false)

// One attribute or capacity: its name, and how to add it to a device.
struct Entry {
  const char* name;
  bool capacity;
  void (*add)(DeviceInputBuilder&, std::string_view name);
};

struct Fleet {
  const char* driver;
  bool shared;
  std::vector<Entry> entries;
};

const std::vector<Fleet>& fleets() {
  static const std::vector<Fleet> all = {
      {"gpu.example.com",
       false,
       {{"model", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_string(n, "a100-80"); }},
        {"index", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_int(n, 3); }},
        {"healthy", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_bool(n, true); }},
        {"version", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_version(n, "1.2.3-rc.1+b"); }},
        {"numa.example.org/node", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_int(n, -1); }},
        {"memory", true, [](DeviceInputBuilder& b, std::string_view n) { b.add_capacity_text(n, "80Gi"); }},
        {"big", true, [](DeviceInputBuilder& b, std::string_view n) { b.add_capacity_text(n, "1e400"); }}}},
      {"gpu.example.com",
       true,
       {{"ids", false,
         [](DeviceInputBuilder& b, std::string_view n) {
           b.add_ints(n, {3, 1, 2});
         }},
        {"names", false,
         [](DeviceInputBuilder& b, std::string_view n) {
           b.add_strings(n, {"\xC3\xBC", "b"});
         }},
        {"memory", true, [](DeviceInputBuilder& b, std::string_view n) { b.add_capacity_text(n, "1500m"); }}}},
      {"", false, {}},
      {"bad.example.com",
       false,
       {{"version", false, [](DeviceInputBuilder& b, std::string_view n) { b.add_version(n, "v1"); }}}},
  };
  return all;
}

bool names_it(const Names& names, const std::string& driver, const std::string& name) {
  const size_t slash = name.find('/');
  const std::pair<std::string, std::string> key =
      slash == std::string::npos ? std::pair(driver, name) : std::pair(name.substr(0, slash), name.substr(slash + 1));
  return std::find(names.begin(), names.end(), key) != names.end();
}

// The device with all entries, or only with those that an expression reads.
DeviceInput make_device(const Fleet& fleet, const dra::cel::Reads* only) {
  DeviceInputBuilder builder(fleet.driver, fleet.shared);
  for (const Entry& entry : fleet.entries) {
    const bool all = only == nullptr || (entry.capacity ? only->all_capacities : only->all_attributes);
    if (all || names_it(entry.capacity ? only->capacities : only->attributes, fleet.driver, entry.name))
      entry.add(builder, entry.name);
  }
  return builder.build();
}

const std::vector<Environment>& environments() {
  static const std::vector<Environment> all = [] {
    EnvironmentOptions next;
    next.release = dra::cel::Release::k137;
    next.list_attributes = true;
    next.quantity_operators = true;
    return std::vector<Environment>{Environment(), Environment(next)};
  }();
  return all;
}

bool same(const EvalResult& a, const EvalResult& b) {
  return a.error == b.error && (!a.ok() || a.value == b.value);
}

void evaluate(const dra::cel::Program& program, const Environment& environment) {
  const bool lists = environment.options().list_attributes || environment.options().release == dra::cel::Release::k137;
  dra::cel::EvalLimits limits;
  limits.cost = 200'000;  // a fifth of the usual limit: more inputs in the same time
  for (const Fleet& fleet : fleets()) {
    const DeviceInput device = make_device(fleet, nullptr);
    const EvalResult first = program.evaluate(device, limits);
    const EvalResult again = program.evaluate(device, limits);
    REQUIRE(same(first, again) && first.cost == again.cost && first.message == again.message);
    REQUIRE(first.ok() || !first.message.empty());
    if (!device.spoiled(lists).empty()) {
      REQUIRE(first.error == dra::cel::RuntimeCategory::kAttributeValue);
      continue;
    }
    const EvalResult reduced = program.evaluate(make_device(fleet, &program.reads()), limits);
    REQUIRE(same(first, reduced));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const Environment& environment : environments()) {
    const CompileResult compiled = dra::cel::compile(text, environment);
    const dra::cel::ApiVerdict verdict = dra::cel::api_verdict(text, compiled);
    REQUIRE(text.size() <= dra::cel::kMaxExpressionBytes || verdict == dra::cel::ApiVerdict::kTooLong);
    const CompileResult again = dra::cel::compile(text, environment);
    REQUIRE(compiled.ok() == again.ok() && compiled.estimated_cost == again.estimated_cost);
    if (!compiled.ok()) {
      REQUIRE(compiled.error.has_value() && !compiled.error->message.empty());
      REQUIRE(compiled.error->message == again.error->message);
      REQUIRE(verdict != dra::cel::ApiVerdict::kAccepted);
      continue;
    }
    evaluate(*compiled.program, environment);
  }
  return 0;
}
