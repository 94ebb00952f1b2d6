// Which pods a budget selects; how much memory of devices each pod has.
#include "pkg/preempt/facts.h"

#include <gtest/gtest.h>

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
  const PodsByNamespace pods(world);
  api::PodDisruptionBudget budget;
  budget.metadata.ns = "a";
  budget.selector.emplace().match_labels["app"] = "web";
  budget.disrupted_pods = {"four"};
  const Budget read = budget_of(world, pods, budget);
  EXPECT_EQ(read.covers, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(read.pods, (std::vector<uint32_t>{0})) << "four is being evicted already";
  budget.metadata.ns = "nobody's";
  EXPECT_EQ(budget_of(world, pods, budget).covers, std::vector<uint32_t>{});
  budget.metadata.ns = "a";
  budget.selector = api::LabelSelector();
  EXPECT_EQ(budget_of(world, pods, budget).covers, std::vector<uint32_t>{}) << "an empty selector matches nothing";
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
