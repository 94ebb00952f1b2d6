// Random worlds: verdicts count right, and their suggestions make the claim fit, according to the exhaustive search.
// DRA_SEED picks another start, DRA_CASES another number of worlds (300; the long form is 2000).
#include <gtest/gtest.h>

#include <bit>
#include <iostream>

#include "pkg/verdict/causes.h"
#include "pkg/verdict/conjuncts.h"
#include "pkg/verdict/would_fit.h"
#include "test/allocharness/contest.h"
#include "test/oracle/exhaustive.h"
#include "test/oracle/generator.h"
#include "test/support/environment.h"

namespace dra::verdict::property_test {
namespace {

using oracle::World;

// Another claim, and the world without it.
struct Held {
  std::shared_ptr<const api::ResourceClaim> claim;
  std::function<void(World&)> release;
};

// As Contest numbers them.
std::vector<Held> holders_of(const World& world) {
  std::vector<Held> all;
  const auto add = [&](const oracle::DeviceName& name, std::optional<std::string> share,
                       std::function<void(World&)> release) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "held";
    claim->metadata.name = claim->metadata.uid = "holder-" + std::to_string(all.size());
    api::DeviceRequestAllocationResult& result = claim->status.allocation.emplace().results.emplace_back();
    result.request = "held";
    result.driver = name.driver;
    result.pool = name.pool;
    result.device = name.device;
    result.share_id = std::move(share);
    all.push_back({std::move(claim), std::move(release)});
  };
  for (const oracle::DeviceName& name : world.allocated)
    add(name, std::nullopt, [name](World& w) { w.allocated.erase(name); });
  return all;
}

struct Scene {
  std::unique_ptr<allocharness::Contest> contest;
  placement::Cluster cluster;
  Question question;
  std::vector<Held> held;
  Facts facts() { return {cluster, contest->inventory(), contest->allocator(), {}}; }
};

// Null: in this world other claims cannot be distinguished.
std::unique_ptr<Scene> scene_of(const World& world) {
  auto scene = std::make_unique<Scene>();
  auto contest = allocharness::Contest::make(world);
  if (!contest || !world.allocated_shares.empty() || !world.consumed.empty()) return nullptr;
  scene->contest = std::move(*contest);
  for (const api::Node& node : world.nodes) scene->question.nodes.push_back(node.metadata.name);
  scene->question.claims = scene->contest->request().claims;
  scene->held = holders_of(world);
  return scene;
}

// More devices are held than the generator holds, so that there is something to release.
World crowded_world(uint64_t seed) {
  oracle::Ingredients ingredients;
  ingredients.selector_errors = false;
  ingredients.limits = false;
  ingredients.gates_off = false;
  ingredients.max_devices = 6;
  World world = oracle::random_world(seed, ingredients);
  SeededRandom random(seed);
  for (const api::ResourceSlice& slice : world.slices)
    for (const api::Device& device : slice.devices)
      if (!device.allow_multiple_allocations && random.below(3) == 0)
        world.allocated.insert({slice.driver, slice.pool.name, device.name});
  return world;
}

bool solved(const World& world) {
  return oracle::solve(world).answer == oracle::Answer::kFeasible;
}

World with_claims(World world, const Question& question) {
  for (size_t i = 0; i < question.claims.size(); ++i) world.claims[i] = *question.claims[i];
  return world;
}

World without(World world, const std::vector<Held>& held, const std::vector<std::string>& names) {
  for (const Held& one : held)
    if (std::find(names.begin(), names.end(), one.claim->metadata.key()) != names.end()) one.release(world);
  return world;
}

void check_release(const World& world, const Scene& scene, const Suggestion& suggestion) {
  ASSERT_TRUE(solved(without(world, scene.held, suggestion.names)));
  if (!suggestion.smallest || scene.held.size() > 10) return;
  for (uint32_t set = 0; set < uint32_t{1} << scene.held.size(); ++set) {
    if (static_cast<size_t>(std::popcount(set)) >= suggestion.names.size()) continue;
    World fewer = world;
    for (size_t i = 0; i < scene.held.size(); ++i)
      if (set >> i & 1) scene.held[i].release(fewer);
    EXPECT_FALSE(solved(fewer)) << "a smaller set of " << std::popcount(set) << " claims does, too";
  }
}

void check_fewer(const World& world, const Scene& scene, const Suggestion& suggestion) {
  const api::DeviceRequest& request = world.claims[suggestion.claim].spec.requests[suggestion.request];
  const int64_t asked = suggestion.alternative < 0
                            ? request.exactly->count
                            : request.first_available[static_cast<size_t>(suggestion.alternative)].count;
  for (Suggestion more = suggestion; ++more.amount < asked;)
    EXPECT_FALSE(solved(with_claims(world, apply_to_question(scene.question, more)->question))) << more.amount;
}

TEST(WouldFit, EverySuggestionMakesItFitAndNoneSmallerDoes) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_CASES", 300);
  std::map<std::string_view, size_t> suggested;
  size_t worlds = 0, none = 0, unjudged = 0;
  for (uint64_t seed = first; worlds < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const World world = crowded_world(seed);
    const std::unique_ptr<Scene> scene = scene_of(world);
    if (!scene || oracle::solve(world).answer != oracle::Answer::kInfeasible) continue;
    ++worlds;
    std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
    for (const Held& one : scene->held) claims.push_back(one.claim);
    const Facts facts = scene->facts();
    const WouldFit would = would_fit(facts, scene->question, {claims, {}});
    EXPECT_FALSE(fits_on(facts, scene->question)) << "what was tried is put back";
    EXPECT_TRUE(would.complete);
    none += would.suggestions.empty();
    for (const Suggestion& suggestion : would.suggestions) {
      SCOPED_TRACE(suggestion.text);
      ++suggested[change_kind_name(suggestion.kind)];
      if (suggestion.kind == ChangeKind::kRelease) {
        check_release(world, *scene, suggestion);
        continue;
      }
      const World changed = with_claims(world, apply_to_question(scene->question, suggestion)->question);
      const oracle::Solution verdict = oracle::solve(changed);
      // The oracle cannot judge parts of selectors.
      if (verdict.answer == oracle::Answer::kError || verdict.answer == oracle::Answer::kTooBig) {
        ++unjudged;
        continue;
      }
      EXPECT_EQ(verdict.answer, oracle::Answer::kFeasible);
      if (suggestion.kind == ChangeKind::kFewerDevices) check_fewer(world, *scene, suggestion);
    }
    if (testing::Test::HasFailure()) return;
  }
  std::cout << worlds << " worlds from seed " << first << ", " << none << " without a suggestion, " << unjudged
            << " suggestions not judged";
  for (const auto& [kind, count] : suggested) std::cout << ", " << count << " " << kind;
  std::cout << "\n";
  EXPECT_GT(suggested["Release"], worlds / 50);
}

// The same whether devices are counted pool by pool for these nodes or from the fleet's device counts; both after
// changes.
TEST(Verdict, AgreesWithTheOracleAndItsCountsAddUp) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_CASES", 300);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const World world = oracle::random_world(seed);
    const oracle::Solution expected = oracle::solve(world, 200'000);
    auto contest = allocharness::Contest::make(world);
    ASSERT_TRUE(contest);
    placement::Cluster cluster;
    Question question;
    question.claims = (*contest)->request().claims;
    const Facts facts{cluster, (*contest)->inventory(), (*contest)->allocator(), {}};
    for (const bool named : {true, false}) {
      question.nodes.clear();
      for (const api::Node& node : world.nodes)
        if (named) question.nodes.push_back(node.metadata.name);
      for (int round = 0; round < 2; ++round) {
        const Verdict verdict = judge(facts, question);
        if (expected.answer == oracle::Answer::kFeasible || expected.answer == oracle::Answer::kInfeasible) {
          EXPECT_EQ(verdict.answer == Answer::kFits, expected.answer == oracle::Answer::kFeasible);
        }
        for (const RequestVerdict& request : verdict.requests) {
          uint64_t sum = request.not_selected;
          for (const DeviceGroup& group : request.groups) sum += group.devices;
          EXPECT_EQ(sum, request.examined) << request.request;
          EXPECT_EQ(request.examined, request.asked) << request.request;
        }
        EXPECT_LE(sentence(verdict).size(), kMaxSentence);
        (*contest)->disturb(inventory::kNone);
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Conjuncts, AreSplitAtTheOutermostLevelOnly) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(conjuncts("a && b"), (Parts{"a", "b"}));
  EXPECT_EQ(conjuncts("(a && b) && \"x && y\" == c"), (Parts{"(a && b)", "\"x && y\" == c"}));
  EXPECT_EQ(conjuncts("a && b || c"), (Parts{"a && b || c"}));
  EXPECT_EQ(conjuncts("a ? b && c : d"), (Parts{"a ? b && c : d"}));
  EXPECT_EQ(conjuncts("a && r'\\' && b"), (Parts{"a && r'\\' && b"}));
  EXPECT_EQ(conjuncts(""), (Parts{""}));
  EXPECT_EQ(conjuncts("&&"), (Parts{"", ""}));
}

}  // namespace
}  // namespace dra::verdict::property_test
