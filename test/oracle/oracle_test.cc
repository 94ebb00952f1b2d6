// Judges the judges: solver and checker agree, the checker detects each broken rule, generators make worlds worth
// judging.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/oracle/checker.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/oracle/pairs.h"
#include "test/oracle/shrink.h"

namespace dra::oracle::oracle_test {
namespace {

TEST(Amount, SuffixesAndRounding) {
  EXPECT_EQ(parse_amount("1"), kOne);
  EXPECT_EQ(parse_amount("1.5"), kOne * 3 / 2);
  EXPECT_EQ(parse_amount("100m"), kOne / 10);
  EXPECT_EQ(parse_amount("2Ki"), kOne * 2048);
  EXPECT_EQ(parse_amount("-1k"), kOne * -1000);
  EXPECT_EQ(parse_amount("1e3"), kOne * 1000);
  EXPECT_EQ(parse_amount("1E"), kOne * 1'000'000'000'000'000'000);
  EXPECT_EQ(parse_amount("5e-1"), kOne / 2);
  EXPECT_EQ(parse_amount("0.0000000001"), 1);
  for (const char* bad : {"", "x", "1x", "1 ", "--1", "1e", "1KI", "."})
    EXPECT_EQ(parse_amount(bad), std::nullopt) << bad;
  EXPECT_EQ(whole(kOne + 1), 2);
  EXPECT_EQ(whole(-kOne - 1), -1);
}

// Two ways to count groups agree: by value with a matching, and by trying everything.
TEST(Groups, AreCountedInTwoWays) {
  SeededRandom random(21);
  uint64_t sum = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<uint32_t> numbers;
    for (uint64_t sides = 1 + random.below(3); sides > 0; --sides)
      numbers.push_back(static_cast<uint32_t>(1 + random.below(2)));
    std::vector<GroupUnit> units(1 + random.below(6));
    for (GroupUnit& unit : units) {
      unit.sides = {random.below(numbers.size())};
      if (random.below(4) == 0 && numbers.size() > 1) unit.sides = {0, 1};
      for (uint64_t values = random.below(3); values > 0; --values)
        unit.values.insert(std::string(1, static_cast<char>('a' + random.below(3))));
    }
    const uint64_t most = most_groups_by_trial(numbers, units);
    ASSERT_EQ(most_groups(numbers, units, 100), most) << "round " << round;
    sum += most;
  }
  EXPECT_GT(sum, 200u);
}

TEST(Selectors, Forms) {
  api::Device device;
  device.attributes["model"] = std::string("x");
  device.attributes["index"] = int64_t{3};
  device.attributes["d/flag"] = true;
  device.attributes["version"] = api::VersionText{"1.10.0"};
  device.capacity["memory"].value = "20Gi";
  auto judge = [&](const std::string& expression) { return judge_selector(expression, "d", device); };
  for (const char* yes :
       {R"(device.driver == "d")", R"(device.attributes["d"].model == "x")", R"(device.attributes["d"].index > 2)",
        R"(device.attributes["d"].index % 2 == 1)", R"(device.attributes["d"].model in ["y", "x"])",
        R"(device.attributes["d"].version.isGreaterThan(semver("1.9.0")))", R"(device.attributes["d"].flag)",
        R"(device.capacity["d"].memory.compareTo(quantity("20Gi")) >= 0)", R"("flag" in device.attributes["d"])",
        R"(!device.attributes["d"].?none.orValue(false))", R"(device.allowMultipleAllocations == false)"})
    EXPECT_EQ(judge(yes), Truth::kTrue) << yes;
  for (const char* no : {R"(device.driver == "e")", R"(device.attributes["d"].model == 1)",
                         R"(device.attributes["d"].none == 1 && device.driver == "e")",
                         R"(!device.attributes["d"].?flag.orValue(false))", R"("flag" in device.attributes["e"])"})
    EXPECT_EQ(judge(no), Truth::kFalse) << no;
  for (const char* error : {R"(device.attributes["d"].none == 1)", R"(device.attributes["e"].model == "x")",
                            R"(device.attributes["d"].model > 1)", R"(device.attributes["d"].model)"})
    EXPECT_EQ(judge(error), Truth::kError) << error;
  EXPECT_EQ(judge("1 == 1"), Truth::kUnknownForm);
}

// The search's solution in the form that an allocator writes.
std::vector<api::AllocationResult> results_of(const World& world, const Solution& verdict) {
  const auto node = std::find_if(world.nodes.begin(), world.nodes.end(),
                                 [&](const api::Node& n) { return n.metadata.name == verdict.node; });
  const Scene scene = build_scene(world, *node);
  std::vector<api::AllocationResult> out(world.claims.size());
  SeededRandom random(1);
  for (const auto& [where, device_name] : verdict.picks) {
    for (const SceneRequest& request : scene.requests)
      for (const SceneOption& option : request.options) {
        if (world.claims[option.claim].metadata.name + ":" + option.result_name != where) continue;
        for (const SceneDevice& device : scene.devices) {
          if (device.name.text() != device_name) continue;
          api::DeviceRequestAllocationResult entry;
          entry.request = option.result_name;
          entry.driver = device.name.driver;
          entry.pool = device.name.pool;
          entry.device = device.name.device;
          entry.admin_access = option.spec->admin_access;
          entry.tolerations = option.spec->tolerations;
          entry.binding_conditions = device.device->binding_conditions;
          entry.binding_failure_conditions = device.device->binding_failure_conditions;
          if (device.shared) {
            entry.share_id = random.uuid();
            const auto amounts = amounts_taken(*option.spec, *device.device);
            for (const auto& [name, amount] : *amounts)
              entry.consumed_capacity[name] = std::to_string(static_cast<int64_t>(amount / (kOne / 1000))) + "m";
          }
          out[option.claim].results.push_back(entry);
        }
      }
  }
  return out;
}

TEST(Checker, AcceptsWhatTheSearchFindsUpToItsWrapping) {
  int feasible = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const World world = random_world(seed);
    const Solution verdict = solve(world, 100'000);
    if (verdict.answer != Answer::kFeasible) continue;
    ++feasible;
    const std::string broken = broken_rule(world, verdict.node, results_of(world, verdict));
    // The conversion above omits configuration and node selector, which are checked after everything else.
    EXPECT_TRUE(broken.empty() || broken.find("configurations") != std::string::npos ||
                broken.find("nodeSelector") != std::string::npos)
        << "seed " << seed << ": " << broken;
  }
  EXPECT_GT(feasible, 600);
}

World plain_world() {
  World world = small_world(0);
  world.allocated.clear();
  api::ResourceSlice& slice = world.slices[0];
  slice.devices.assign(3, api::Device{});
  for (size_t d = 0; d < 3; ++d) {
    slice.devices[d].name = "d" + std::to_string(d);
    slice.devices[d].attributes["p"] = std::string(d < 2 ? "x" : "y");
    slice.devices[d].consumes_counters = {{"set", {{"slots", "1"}}}};
  }
  world.slices[1].shared_counters[0].counters["slots"] = "2";
  world.claims[0].spec = {};
  api::DeviceRequest& request = world.claims[0].spec.requests.emplace_back();
  request.name = "r";
  request.exactly = api::DeviceSubRequest{};
  request.exactly->device_class_name = "any";
  request.exactly->allocation_mode = "ExactCount";
  request.exactly->count = 2;
  return world;
}

api::AllocationResult plain_result(const std::vector<std::string>& devices) {
  api::AllocationResult out;
  for (const std::string& device : devices) {
    out.results.emplace_back();
    out.results.back().request = "r";
    out.results.back().driver = "d.example.com";
    out.results.back().pool = "p";
    out.results.back().device = device;
  }
  out.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n0"}}}}}};
  return out;
}

TEST(Checker, NamesTheBrokenRule) {
  const World world = plain_world();
  auto broken = [](const World& w, const api::AllocationResult& result) { return broken_rule(w, "n0", {result}); };
  EXPECT_EQ(broken(world, plain_result({"d0", "d1"})), "");
  EXPECT_NE(broken(world, plain_result({"d0"})).find("1 devices instead of 2"), std::string::npos);
  EXPECT_NE(broken(world, plain_result({"d0", "d0"})).find("twice"), std::string::npos);
  EXPECT_NE(broken(world, plain_result({"d0", "d9"})).find("does not exist"), std::string::npos);
  EXPECT_NE(broken_rule(world, "n7", {plain_result({"d0", "d1"})}).find("no node"), std::string::npos);
  EXPECT_NE(broken_rule(world, "n0", {}).find("0 results"), std::string::npos);

  World held = world;
  held.allocated.insert({"d.example.com", "p", "d1"});
  EXPECT_NE(broken(held, plain_result({"d0", "d1"})).find("in use"), std::string::npos);
  World scarce = world;
  scarce.slices[1].shared_counters[0].counters["slots"] = "1";
  EXPECT_NE(broken(scarce, plain_result({"d0", "d1"})).find("counter set/slots"), std::string::npos);
  World matching = world;
  matching.claims[0].spec.constraints.push_back({{}, "d.example.com/p", std::nullopt});
  EXPECT_EQ(broken(matching, plain_result({"d0", "d1"})), "");
  EXPECT_NE(broken(matching, plain_result({"d0", "d2"})).find("matchAttribute"), std::string::npos);
  World distinct = world;
  distinct.claims[0].spec.constraints.push_back({{}, std::nullopt, "d.example.com/p"});
  EXPECT_NE(broken(distinct, plain_result({"d0", "d1"})).find("distinctAttribute"), std::string::npos);
  EXPECT_EQ(broken(distinct, plain_result({"d0", "d2"})), "");
  World tainted = world;
  tainted.slices[0].devices[1].taints.push_back({"k", "", "NoSchedule", ""});
  EXPECT_NE(broken(tainted, plain_result({"d0", "d1"})).find("taint"), std::string::npos);
  World configured = world;
  configured.claims[0].spec.config.push_back({{"r"}, api::OpaqueConfig{"d", "{}"}});
  EXPECT_NE(broken(configured, plain_result({"d0", "d1"})).find("configurations"), std::string::npos);
  api::AllocationResult anywhere = plain_result({"d0", "d1"});
  anywhere.node_selector.reset();
  EXPECT_NE(broken(world, anywhere).find("nodeSelector"), std::string::npos);
  api::AllocationResult shared = plain_result({"d0", "d1"});
  shared.results[0].share_id = "x";
  EXPECT_NE(broken(world, shared).find("shareID"), std::string::npos);
}

TEST(Generator, WorldsAreVariedAndSmall) {
  int feasible = 0, infeasible = 0, error = 0, too_big = 0, claims = 0, nodes = 0, shares = 0;
  constexpr int kWorlds = 4000;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    const World world = random_world(seed);
    claims += world.claims.size() > 1;
    nodes += world.nodes.size() > 1;
    shares += !world.consumed.empty();
    switch (solve(world, 100'000).answer) {
      case Answer::kFeasible:
        ++feasible;
        break;
      case Answer::kInfeasible:
        ++infeasible;
        break;
      case Answer::kError:
        error += world.gates == all_gates();  // without a gate some requests are errors
        break;
      case Answer::kTooBig:
        ++too_big;
    }
  }
  RecordProperty("feasible", feasible);
  RecordProperty("too_big", too_big);
  EXPECT_GT(feasible, kWorlds / 5);
  EXPECT_GT(infeasible, kWorlds / 5);
  EXPECT_EQ(error, 0);
  EXPECT_LT(too_big, kWorlds / 50);
  EXPECT_GT(claims, kWorlds / 5);
  EXPECT_GT(nodes, kWorlds / 5);
  EXPECT_GT(shares, kWorlds / 50);
}

TEST(Generator, TextFormKeepsTheWorld) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const World world = random_world(seed);
    const std::string text = write_case(world, true);
    Result<Case> again = read_case(text);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(write_case(again->world, again->expect.feasible), text) << "seed " << seed;
    EXPECT_EQ(solve(again->world, 100'000).answer, solve(world, 100'000).answer) << "seed " << seed;
  }
}

TEST(Generator, SmallWorldsAreAllDifferent) {
  std::set<std::string> seen;
  const uint64_t stride = small_world_count() / 997;
  for (uint64_t i = 0; i < small_world_count(); i += stride) {
    World world = small_world(i);
    world.id.clear();
    EXPECT_TRUE(seen.insert(write_case(world)).second) << i;
  }
}

TEST(Shrink, KeepsTheFailureAndDropsTheRest) {
  // "Fails" if some device is held and some claim has a constraint: one of each must remain.
  auto fails = [](const World& world) { return !world.allocated.empty() && !world.claims[0].spec.constraints.empty(); };
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    World world = random_world(seed);
    if (!fails(world)) continue;
    ++shrunk;
    const World small = shrink(world, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_EQ(small.allocated.size(), 1u);
    EXPECT_EQ(small.claims.size(), 1u);
    EXPECT_EQ(small.claims[0].spec.constraints.size(), 1u);
    EXPECT_EQ(small.claims[0].spec.requests.size(), 1u);
    EXPECT_TRUE(small.slices.empty());
  }
  EXPECT_GT(shrunk, 5);
}

TEST(ReadCase, BadTextIsRefusedByName) {
  EXPECT_FALSE(read_case("[]"));
  EXPECT_FALSE(read_case("{"));
  EXPECT_NE(read_case(R"({"claims": {}})").error().message().find("claims"), std::string::npos);
  EXPECT_FALSE(read_case(R"({"allocatedDevices": ["x"]})"));
  EXPECT_FALSE(read_case(R"({"id": 7})"));
}

}  // namespace
}  // namespace dra::oracle::oracle_test
