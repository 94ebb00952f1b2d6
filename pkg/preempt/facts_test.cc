// Which pods a budget selects; how much memory of devices each pod has.
#include "pkg/preempt/facts.h"

#include <gtest/gtest.h>

#include "pkg/api/selectors.h"
#include "pkg/base/random.h"

namespace dra::preempt::facts_test {

std::shared_ptr<const api::Pod> pod_of(const std::string& ns, const std::string& name, const std::string& app) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.ns = ns;
  pod->metadata.name = name;
  pod->metadata.uid = "uid-" + ns + "-" + name;
  pod->metadata.labels["app"] = app;
  return pod;
}

TEST(Budgets, SelectPodsOfTheirNamespaceByLabel) {
  inventory::Inventory inventory;
  placement::Cluster cluster;
  SeededRandom random(1);
  allocator::Allocator allocator(inventory, {}, random);
  World world{inventory, allocator, cluster, {}, {}, {}, {}, {}, {}, {}};
  for (const auto& pod : {pod_of("a", "one", "web"), pod_of("b", "two", "web"), pod_of("a", "three", "db"),
                          pod_of("a", "four", "web"), pod_of("", "five", "web")})
    world.pods.emplace_back().object = pod;
  api::PodDisruptionBudget budget;
  budget.metadata.ns = "a";
  budget.selector.emplace().match_labels["app"] = "web";
  budget.disrupted_pods = {"four"};
  const auto read = [&world](const api::PodDisruptionBudget& source) {
    world.budgets.clear();
    const std::vector all{std::make_shared<const api::PodDisruptionBudget>(source)};
    add_budgets(world, all);
    return world.budgets.at(0);
  };
  EXPECT_EQ(read(budget).covers, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(read(budget).pods, (std::vector<uint32_t>{0})) << "four is being evicted already";
  budget.metadata.ns = "nobody's";
  EXPECT_EQ(read(budget).covers, std::vector<uint32_t>{});
  budget.metadata.ns = "a";
  budget.selector = api::LabelSelector();
  EXPECT_EQ(read(budget).covers, std::vector<uint32_t>{}) << "an empty selector matches nothing";
}

// Whatever they ask for, they select what their selectors match.
TEST(Budgets, SelectWhatTheirSelectorsMatch) {
  SeededRandom random(2);
  const auto word = [&random](const char* of) { return std::string(of) + std::to_string(random.below(3)); };
  for (int round = 0; round < 200; ++round) {
    inventory::Inventory inventory;
    placement::Cluster cluster;
    allocator::Allocator allocator(inventory, {}, random);
    World world{inventory, allocator, cluster, {}, {}, {}, {}, {}, {}, {}};
    for (int i = 0; i < 12; ++i) {
      auto pod = std::make_shared<api::Pod>();
      pod->metadata.ns = word("ns");
      pod->metadata.name = std::to_string(i);
      for (uint64_t labels = random.below(4); labels > 0; --labels) pod->metadata.labels[word("key")] = word("value");
      world.pods.emplace_back().object = std::move(pod);
    }
    std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;
    for (int i = 0; i < 6; ++i) {
      auto budget = std::make_shared<api::PodDisruptionBudget>();
      budget->metadata.ns = word("ns");
      budget->selector.emplace();
      for (uint64_t labels = random.below(3); labels > 0; --labels)
        budget->selector->match_labels[word("key")] = word("value");
      static constexpr const char* kOperators[] = {"In", "NotIn"};
      if (random.below(2) == 0)
        budget->selector->match_expressions.push_back({word("key"), kOperators[random.below(2)], {word("value")}});
      budgets.push_back(std::move(budget));
    }
    add_budgets(world, budgets);
    for (size_t i = 0; i < budgets.size(); ++i) {
      const api::LabelSelector& selector = *budgets[i]->selector;
      const bool empty = selector.match_labels.empty() && selector.match_expressions.empty();
      std::vector<uint32_t> expected;
      for (uint32_t pod = 0; pod < world.pods.size(); ++pod)
        if (const api::ObjectMeta& meta = world.pods[pod].object->metadata;
            !empty && meta.ns == budgets[i]->metadata.ns && api::matches(selector, meta.labels))
          expected.push_back(pod);
      ASSERT_EQ(world.budgets.at(i).covers, expected) << "round " << round << ", budget " << i;
    }
  }
}

TEST(Memory, OfAClaimIsSharedByItsPodsAndByNobodyElse) {
  inventory::Inventory inventory;
  placement::Cluster cluster;
  SeededRandom random(1);
  allocator::Allocator allocator(inventory, {}, random);
  World world{inventory, allocator, cluster, {}, {}, {}, {}, {}, {}, {}};
  for (const auto& pod : {pod_of("a", "one", "vm"), pod_of("a", "two", "vm")}) world.pods.emplace_back().object = pod;
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->status.allocation.emplace().results.emplace_back().device = "gpu-0";
  claim->status.reserved_for = {
      {"", "pods", "one", "uid-a-one"}, {"", "pods", "two", "uid-a-two"}, {"example.com", "others", "x", "uid-a-x"}};
  world.claims.push_back(claim);
  measure(world, [](const api::DeviceRequestAllocationResult&) { return 80.0; });
  EXPECT_EQ(world.pods[0].gib, 40);
  EXPECT_EQ(world.pods[1].gib, 40);
}

}  // namespace dra::preempt::facts_test
