// What drivers refuse, on the tables and on random objects.
#include "pkg/parameters/check.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "pkg/base/random.h"
#include "pkg/parameters/tables.h"

namespace dra::parameters::check_test {
namespace {

using nlohmann::json;

json gpu_config(const std::string& rest = "") {
  return json::parse(R"({"apiVersion":"resource.nvidia.com/v1beta1","kind":"GpuConfig")" + rest + "}");
}

// "PATH: TEXT", and " [GATE]" where it depends on one.
std::vector<std::string> problems(const json& parameters, const std::string& driver = "gpu.nvidia.com") {
  std::vector<std::string> all;
  for (const ParameterProblem& one : check_parameters(driver, parameters))
    all.push_back(path_text(one) + ": " + one.text + (one.gate.empty() ? "" : " [" + one.gate + "]"));
  return all;
}

TEST(Parameters, WhatIsRightHasNoProblems) {
  EXPECT_EQ(problems(gpu_config()), std::vector<std::string>{});
  EXPECT_EQ(problems(gpu_config(), "other.test"), std::vector<std::string>{});
  EXPECT_EQ(problems(json{{"anything", 1}}, "other.test"), std::vector<std::string>{}) << "no table, no guess";
  EXPECT_TRUE(check_parameters_text("gpu.nvidia.com", "no json").empty()) << "the API server refuses that";
}

TEST(Parameters, AProblemHasItsPathAndSaysWhatToWrite) {
  EXPECT_EQ(problems(gpu_config(R"(,"sharng":{})")),
            std::vector<std::string>{"sharng: unknown field \"sharng\"; did you mean \"sharing\"?"});
  EXPECT_EQ(problems(gpu_config(R"(,"sharing":{"strategy":"Exclusive"})")),
            std::vector<std::string>{"sharing.strategy: strategy is \"Exclusive\"; it is one of TimeSlicing, MPS"});
  const auto gated = problems(gpu_config(R"(,"sharing":{"strategy":"MPS"})"));
  ASSERT_EQ(gated.size(), 1u);
  EXPECT_NE(gated[0].find("[MPSSupport]"), std::string::npos) << gated[0];
}

// Long and odd texts of users are cut, and there is a limit of problems.
TEST(Parameters, AreBounded) {
  json wide = gpu_config();
  for (int i = 0; i < 3000; ++i) wide["field" + std::to_string(i)] = i;
  EXPECT_EQ(check_parameters("gpu.nvidia.com", wide).size(), kMaxProblems);
  json odd = gpu_config();
  odd[std::string(9000, 'x')] = 1;
  odd["kind"] = std::string(63, 'k') + "\xc3\xa4" + std::string(9000, 'k');
  for (const ParameterProblem& one : check_parameters("gpu.nvidia.com", odd)) {
    EXPECT_LT(one.text.size(), 400u);
    EXPECT_NO_THROW(json(one.text).dump()) << "a letter was cut in two";
  }
}

// Each table stands: a kind has a name, choices have values, objects have fields.
TEST(Parameters, TablesAreWhole) {
  const std::function<void(const ParameterFields&)> check = [&](const ParameterFields& fields) {
    for (const ParameterField& field : fields.fields) {
      EXPECT_FALSE(field.name.empty());
      EXPECT_EQ(field.type == ParameterType::kObject, field.fields != nullptr) << field.name;
      EXPECT_LE(field.least, field.most) << field.name;
      for (const ParameterChoice& choice : field.choices) EXPECT_FALSE(choice.value.empty()) << field.name;
      if (field.fields != nullptr) check(*field.fields);
    }
  };
  for (const DriverParameters& table : parameter_tables()) {
    EXPECT_FALSE(table.drivers.empty());
    EXPECT_FALSE(table.source.empty());
    EXPECT_NE(table.api_version.find('/'), std::string::npos);
    for (const ParameterKind& kind : table.kinds) check(kind.fields);
  }
}

// A value of the type that the table says, and with `wrong` of another.
json value_of(const ParameterField& field, bool wrong) {
  switch (field.type) {
    case ParameterType::kText:
      if (wrong) return 5;
      return field.choices.empty() ? json("text") : json(field.choices.front().value);
    case ParameterType::kNumber:
      return wrong ? json("five") : json(field.most);
    case ParameterType::kBool:
      return wrong ? json("yes") : json(true);
    case ParameterType::kQuantity:
      return wrong ? json("many") : json("4Gi");
    case ParameterType::kQuantities:
      return wrong ? json(5) : json{{"0", "4Gi"}};
    case ParameterType::kObject:
      break;
  }
  return wrong ? json::array() : json::object();
}

// What the tables say is right has no problem, but those of gates; one mistake at a random place is found there.
TEST(Parameters, OneMistakeIsFoundWhereItIs) {
  SeededRandom random(7);
  size_t mistakes = 0;
  std::function<json(const ParameterFields&)> right = [&](const ParameterFields& fields) {
    json object = json::object();
    for (const ParameterField& field : fields.fields) {
      if (!field.required && random.below(2) == 0) continue;
      object[field.name] = field.fields != nullptr ? right(*field.fields) : value_of(field, false);
    }
    for (const auto& [strategy, excluded] : fields.excluded)
      if (object.value("strategy", "") == strategy) object.erase(excluded);
    return object;
  };
  const auto definite = [](const std::string& driver, const json& object) {
    std::vector<std::string> paths;
    for (const ParameterProblem& one : check_parameters(driver, object))
      if (one.gate.empty()) paths.push_back(path_text(one));
    return paths;
  };
  for (int i = 0; i < 500; ++i) {
    const DriverParameters& table = parameter_tables()[random.below(parameter_tables().size())];
    const ParameterKind& kind = table.kinds[random.below(table.kinds.size())];
    const std::string& driver = table.drivers[random.below(table.drivers.size())];
    json object = right(kind.fields);
    object["apiVersion"] = table.api_version;
    object["kind"] = kind.kind;
    ASSERT_EQ(definite(driver, object), std::vector<std::string>{}) << object.dump();
    const ParameterFields* at = &kind.fields;
    json* holder = &object;
    std::string path;
    while (!at->fields.empty()) {
      const ParameterField& field = at->fields[random.below(at->fields.size())];
      if (!holder->contains(field.name)) break;
      path += (path.empty() ? "" : ".") + field.name;
      if (field.fields != nullptr && random.below(2) == 0) {
        at = field.fields;
        holder = &(*holder)[field.name];
        continue;
      }
      (*holder)[field.name] = value_of(field, true);
      ++mistakes;
      EXPECT_EQ(definite(driver, object), std::vector<std::string>{path}) << object.dump();
      break;
    }
  }
  EXPECT_GT(mistakes, 100u);
}

}  // namespace
}  // namespace dra::parameters::check_test
