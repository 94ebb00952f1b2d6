// The world that is made from what was read gives the answers of the world that pkg/preempt tests with: random small
// clusters. DRA_EVICTION_WORLDS: how many; DRA_EVICTION_SEED: the first.
#include "pkg/inspect/state/evictions.h"

#include <gtest/gtest.h>

#include "pkg/base/timestamp.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/preempt/preempt.h"
#include "pkg/preempt/testing/build.h"
#include "test/support/environment.h"

namespace dra::inspect::evictions_test {
namespace {

using preempt::testing::Built;
using preempt::testing::Model;

void add_pods(Objects& objects, const Model& model, Built& built) {
  for (size_t i = 0; i < model.pods.size(); ++i) {
    auto pod = std::make_shared<api::Pod>(*built.world().pods[i].object);
    if (model.pods[i].foreign) pod->scheduler_name = "other";
    auto facts = std::make_shared<api::PodEvictionFacts>();
    facts->start_time = format_rfc3339(Timestamp().plus_seconds(model.pods[i].start));
    if (model.pods[i].never_preempts) facts->preemption_policy = "Never";
    objects.evictions.pods[pod->metadata.key()] = std::move(facts);
    objects.pods[pod->metadata.key()] = std::move(pod);
  }
}

// As a server would send it: groups, budgets and the manager's Lease, too.
Objects objects_of(const Model& model, Built& built) {
  Objects objects;
  objects.evictions.asked = true;
  objects.server_version = "v1.36.2";
  for (const auto& node : built.nodes()) objects.nodes[node->metadata.name] = node;
  for (const auto& one : built.classes()) objects.classes[one.metadata.name] = std::make_shared<api::DeviceClass>(one);
  for (const auto& one : built.slices()) objects.slices[one.metadata.name] = std::make_shared<api::ResourceSlice>(one);
  for (const auto& claim : built.world().claims) {
    objects.claims[claim->metadata.key()] = claim;
    objects.claim_by_uid[claim->metadata.uid] = claim;
  }
  add_pods(objects, model, built);
  auto& groups = objects.pod_groups[reconcile::GroupApi::kCore];
  auto& modes = objects.evictions.groups[reconcile::GroupApi::kCore];
  for (size_t i = 0; i < model.groups.size(); ++i) {
    auto group = named_object<api::PodGroup>("ns", "g" + std::to_string(i));
    group->min_count = model.groups[i].min_count;
    auto mode = named_object<api::PodGroupEvictionFacts>("ns", "g" + std::to_string(i));
    mode->whole = model.groups[i].whole;
    groups[group->metadata.key()] = std::move(group);
    modes[mode->metadata.key()] = std::move(mode);
  }
  for (size_t i = 0; i < model.budgets.size(); ++i) {
    auto budget = named_object<api::PodDisruptionBudget>("ns", "b" + std::to_string(i));
    budget->selector.emplace().match_labels["app"] = std::to_string(model.budgets[i].app);
    budget->disruptions_allowed = model.budgets[i].allowed;
    budget->always_allow = true;
    objects.evictions.budgets[budget->metadata.key()] = std::move(budget);
  }
  auto lease = named_object<api::Lease>("kube-system", "manager");
  lease->metadata.annotations = {{"dra-controller-manager/mode", "bind"},
                                 {"dra-controller-manager/scheduler-names", "default-scheduler"}};
  objects.managers.leases["kube-system/manager"] = lease;
  return objects;
}

std::string text_of(const preempt::Answer& answer) {
  const preempt::Harm& harm = answer.harm;
  std::string text = std::to_string(static_cast<int>(answer.verdict));
  if (answer.verdict != preempt::Verdict::kEvict) return text;
  for (const int64_t one : {harm.violations, harm.highest, harm.sum, harm.number, harm.start})
    text += " " + std::to_string(one);
  return text + " " + std::to_string(harm.gib);
}

TEST(EvictionWorlds, TheAnswerIsThatOfTheSearchItself) {
  const uint64_t worlds = test::number_from("DRA_EVICTION_WORLDS", 200),
                 first = test::number_from("DRA_EVICTION_SEED", 1);
  size_t evicting = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    Model model = preempt::testing::random_model(seed);
    model.promises.clear();  // nobody writes any yet
    Built built(model);
    const Objects objects = objects_of(model, built);
    State state(objects, {});
    EvictionWorld evictions(state, model.kind, {}, {});
    preempt::World& world = evictions.world();
    const std::string refused = evictions.ask_for("ns/p" + std::to_string(model.pending.front()));
    ASSERT_EQ(refused, "") << "DRA_EVICTION_SEED=" << seed;
    EXPECT_EQ(world.pending.size(), model.pending.size()) << "DRA_EVICTION_SEED=" << seed;
    if (model.max_moves >= 0) world.max_moves = static_cast<uint32_t>(model.max_moves);
    const bool moves = model.kind == preempt::Kind::kMoves;
    const preempt::Answer own = moves ? preempt::who_must_move(built.world()) : preempt::who_must_go(built.world());
    const preempt::Answer read = moves ? preempt::who_must_move(world) : preempt::who_must_go(world);
    ASSERT_EQ(text_of(read), text_of(own)) << "DRA_EVICTION_SEED=" << seed;
    evicting += own.verdict == preempt::Verdict::kEvict ? 1 : 0;
    ASSERT_TRUE(state.inventory.audit().empty()) << "DRA_EVICTION_SEED=" << seed;
  }
  if (worlds < 200) return;
  EXPECT_GT(evicting, worlds / 10);
}

}  // namespace
}  // namespace dra::inspect::evictions_test
