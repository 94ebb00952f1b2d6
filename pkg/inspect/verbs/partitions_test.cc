// One card by many names: taint, whatif taint, doctor and top on GPUs with partitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "pkg/api/decode/decode.h"
#include "pkg/base/random.h"
#include "pkg/inspect/lint/lint.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/state/shapes.h"
#include "pkg/inspect/state/silicon.h"
#include "pkg/inspect/verbs/doctor.h"
#include "pkg/inspect/verbs/taint.h"
#include "pkg/inspect/verbs/top.h"
#include "pkg/inspect/verbs/whatif.h"

namespace dra::inspect::partitions_test {

using Texts = std::vector<std::string>;

// Node n has GPUs with four memory slices each: gpu-I, and its partitions gpu-I-SIZE-START.
struct Gpus {
  Objects objects;
  std::shared_ptr<api::ResourceSlice> counters = named_object<api::ResourceSlice>("", "n-0");
  std::shared_ptr<api::ResourceSlice> devices = named_object<api::ResourceSlice>("", "n-1");

  explicit Gpus(int count, bool shared = false) {
    parse_rfc3339("2026-03-01T12:00:00Z", objects.taken);
    objects.server_version = "v1.36.2";
    objects.dra_versions = {"v1", "v1beta2"};
    objects.taint_rules_served = true;
    auto node = named_object<api::Node>("", "n");
    node->allocatable = {{"pods", "110"}, {"cpu", "8"}};
    objects.nodes["n"] = node;
    for (const auto& slice : {counters, devices}) {
      slice->driver = "d";
      slice->pool = {"n", 1, 2};
      slice->node_name = "n";
      objects.slices[slice->metadata.name] = slice;
    }
    for (int gpu = 0; gpu < count; ++gpu) {
      const std::string name = "gpu-" + std::to_string(gpu);
      counters->shared_counters.push_back(
          {name, {{"engines", "4"}, {"m0", "1"}, {"m1", "1"}, {"m2", "1"}, {"m3", "1"}, {"encoders", "0"}}});
      for (const int size : {4, 2, 1})
        for (int start = 0; start + size <= 4; start += size)
          add(name, size == 4 ? name : name + "-" + std::to_string(size) + "-" + std::to_string(start), start, size,
              shared);
    }
    auto device_class = named_object<api::DeviceClass>("", "gpu");
    device_class->selectors = {"device.driver == \"d\""};
    objects.classes["gpu"] = device_class;
  }

  void add(const std::string& set, const std::string& name, int start, int size, bool shared) {
    api::Device device;
    device.name = name;
    device.attributes["profile"] = std::to_string(size) + "g";
    device.allow_multiple_allocations = shared;
    device.capacity["memory"].value = std::to_string(size * 20) + "Gi";
    api::DeviceCounterConsumption use{set, {{"engines", std::to_string(size)}, {"encoders", "0"}}};
    for (int i = start; i < start + size; ++i) use.counters["m" + std::to_string(i)] = "1";
    device.consumes_counters.push_back(use);
    devices->devices.push_back(std::move(device));
  }

  // A pod without an owner, whose claim holds the device.
  void hold(const std::string& device) {
    auto pod = named_object<api::Pod>("ml", "on-" + device);
    pod->node_name = "n";
    pod->phase = "Running";
    pod->resource_claims.push_back({"g", "claim-" + device, std::nullopt});
    auto claim = named_object<api::ResourceClaim>("ml", "claim-" + device);
    auto& allocation = claim->status.allocation.emplace();
    allocation.results.push_back({"r", "d", "n", device});
    allocation.node_selector = api::NodeSelector{{{{}, {{"metadata.name", "In", {"n"}}}}}};
    claim->status.reserved_for.push_back({"", "pods", pod->metadata.name, pod->metadata.uid});
    objects.pods[pod->metadata.key()] = pod;
    objects.claims[claim->metadata.key()] = claim;
    objects.claim_by_uid[claim->metadata.uid] = claim;
  }

  TaintPlan plan(const std::string& target, const std::string& effect, uint32_t most = 0, bool alone = false) const {
    const TaintQuestion question{target, false, {"ecc", "bad", effect, ""}, most, false, false, alone};
    auto plan = plan_taint(objects, question, {});
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message());
    return plan ? std::move(*plan) : TaintPlan{};
  }
  // Writes the plan's rules, as the program does.
  void write(const TaintPlan& plan) {
    for (size_t i = 0; i < plan.rules.size(); ++i) {
      auto rule = api::decode<api::DeviceTaintRule>(plan.rules[i]);
      ASSERT_TRUE(rule) << rule.error().message();
      objects.taint_rules[plan.names[i]] = std::make_shared<const api::DeviceTaintRule>(std::move(*rule));
    }
  }
  std::string doctor() const {
    const State state(objects, {});
    std::string text;
    for (const Diagnosis& one : diagnose(state))
      if (one.check == "taint rules" && one.health != Health::kFine) text += one.finding + " -> " + one.to_do + "\n";
    return text;
  }
  // "TOTAL WHOLE CUT FREE BAD" of node n.
  Texts top() {
    State state(objects, {});
    const std::vector<Cell> cells = top_nodes(state, {}).tables.at(0).rows.at(0).cells;
    Texts texts;
    for (size_t i = 2; i < 7; ++i) texts.push_back(cells.at(i).text);
    return texts;
  }
  std::string shared_left() {
    State state(objects, {});
    return top_nodes(state, {}).tables.at(0).rows.at(0).cells.at(8).text;
  }
};

std::set<std::string> unavailable(const Objects& objects) {
  const State state(objects, {});
  std::set<std::string> names;
  for (const inventory::DeviceInfo& device : state.inventory.devices(state.inventory.pool("d", "n")->id))
    if (!device.available) names.insert(device.name.device);
  return names;
}

// The inventory as the oracle: a device is on the same silicon if it is available until the other one is held.
TEST(Silicon, IsWhatCannotBeInUseTogether) {
  const Gpus idle(2);
  ASSERT_TRUE(unavailable(idle.objects).empty());
  for (const api::Device& device : idle.devices->devices) {
    Gpus held(2);
    held.hold(device.name);
    std::set<std::string> expected = unavailable(held.objects);
    expected.erase(device.name);
    const Texts got = on_same_silicon(idle.objects, "d", "n", device.name);
    EXPECT_EQ(std::set<std::string>(got.begin(), got.end()), expected) << device.name;
    EXPECT_EQ(got.size(), expected.size()) << device.name;
  }
  EXPECT_EQ(on_same_silicon(idle.objects, "d", "n", "none"), Texts{});
  EXPECT_EQ(on_same_silicon(idle.objects, "d", "none", "gpu-0"), Texts{});
  const Silicon silicon(slices_by_pool(idle.objects).at({"d", "n"}));
  EXPECT_EQ(silicon.parts_of("gpu-0").size(), 6u);
  EXPECT_EQ(silicon.parts_of("gpu-0-2-2"), (Texts{"gpu-0-1-2", "gpu-0-1-3"}));
  EXPECT_EQ(silicon.parts_of("gpu-0-1-0"), Texts{});
}

TEST(TaintOfACard, ReachesItsPartitionsAndCountsTheirPodsTogether) {
  Gpus world(2);
  for (const char* held : {"gpu-0-1-0", "gpu-0-2-2", "gpu-1-1-0"}) world.hold(held);
  TaintPlan plan = world.plan("n/gpu-0", "NoExecute");
  EXPECT_EQ(plan.names.size(), 7u);
  EXPECT_EQ(plan.devices.front(), "d/n/gpu-0");
  EXPECT_EQ(plan.evicted.size(), 2u);
  EXPECT_EQ(plan.refusal, "2 pods would be evicted; allow that with --max-evictions 2");
  plan = world.plan("n/gpu-0", "NoExecute", 2);
  EXPECT_EQ(plan.refusal, "");
  const std::string said = render(taint_answer(plan, false), {});
  EXPECT_NE(said.find("7 devices: d/n/gpu-0 and 6 devices on the same silicon"), std::string::npos) << said;
  EXPECT_NE(said.find("dra-controller-manager/tainted-with=gpu-0"), std::string::npos) << said;
  const auto fates = whatif(world.objects, {Change::Kind::kTaint, "n/gpu-0", {"ecc", "bad", "NoExecute", ""}}, {}, "");
  ASSERT_TRUE(fates);
  EXPECT_EQ(fates->size(), 2u);
  EXPECT_NE(taint_reaches(world.objects, {Change::Kind::kTaint, "n/gpu-0", {}}).find("6 devices on the same silicon"),
            std::string::npos);
  world.write(plan);
  EXPECT_EQ(world.doctor(), "");
  // Nothing of the card can be had, and all of the other one that was.
  const State state(world.objects, {});
  for (const inventory::DeviceInfo& device : state.inventory.devices(state.inventory.pool("d", "n")->id))
    EXPECT_EQ(device.taints.empty(), !device.name.device.starts_with("gpu-0")) << device.name.device;
}

TEST(TaintOfACard, IsTakenAwayAsAWhole) {
  Gpus world(2);
  world.write(world.plan("n/gpu-0-1-3", "NoSchedule", 0, true));
  world.write(world.plan("n/gpu-1", "NoSchedule"));
  TaintPlan plan = world.plan("n/gpu-0", "NoSchedule");
  EXPECT_EQ(plan.there.size(), 1u) << "the partition's own rule stays";
  const auto own = world.objects.taint_rules;
  world.write(plan);
  for (const auto& [name, rule] : own) world.objects.taint_rules[name] = rule;
  const Texts removed = rules_to_remove(world.objects, "n/gpu-0", "ecc", "");
  EXPECT_EQ(removed.size(), 6u);
  for (const std::string& name : removed) world.objects.taint_rules.erase(name);
  EXPECT_EQ(world.objects.taint_rules.size(), own.size()) << "what was there before";
  EXPECT_EQ(rules_to_remove(world.objects, "n/gpu-1", "ecc", "").size(), 7u);
  EXPECT_EQ(rules_to_remove(world.objects, "n/gpu-1", "ecc", "NoExecute"), Texts{});
}

TEST(TaintOfACard, DoctorNamesWhatARuleLeavesUsable) {
  Gpus world(1);
  world.write(world.plan("n/gpu-0", "NoSchedule", 0, true));
  const std::string of_one = world.doctor();
  EXPECT_NE(of_one.find("taints device d/n/gpu-0, but not 6 devices cut from it"), std::string::npos) << of_one;
  EXPECT_NE(of_one.find("-> kubectl dra taint n/gpu-0 ecc=bad:NoSchedule"), std::string::npos) << of_one;
  EXPECT_NE(taint_reaches(world.objects, {Change::Kind::kTaint, "n/gpu-0", {}, 1, false, true}).find("stay usable"),
            std::string::npos);
  world.write(world.plan("n/gpu-0", "NoSchedule"));
  EXPECT_EQ(world.doctor(), "");
  world.add("gpu-0", "gpu-0-1-0-me", 0, 1, false);
  const std::string later = world.doctor();
  EXPECT_NE(later.find("1 device cut from it (gpu-0-1-0-me)"), std::string::npos) << later;
  EXPECT_EQ(std::count(later.begin(), later.end(), '\n'), 1) << later;
  // A rule for the whole pool reaches everything.
  auto wide = named_object<api::DeviceTaintRule>("", "wide");
  wide->has_selector = true;
  wide->pool = "n";
  wide->taint = {"ecc", "bad", "NoExecute", ""};
  world.objects.taint_rules["wide"] = wide;
  EXPECT_EQ(world.doctor(), "");
}

// Against a count by hand: a card is whole if gpu-I is held, else cut if a partition is.
TEST(TopOfCards, EachCardIsInOneColumn) {
  std::set<Texts> seen;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    const int gpus = 1 + static_cast<int>(random.below(4));
    Gpus world(gpus);
    int whole = 0, cut = 0, bad = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const std::string name = "gpu-" + std::to_string(gpu);
      switch (random.below(4)) {
        case 0:
          world.hold(name);
          ++whole;
          break;
        case 1:
          for (const char* part : {"-1-0", "-1-1", "-2-2"})
            if (random.below(2) == 0 || part == std::string("-2-2")) world.hold(name + part);
          ++cut;
          break;
        case 2:
          world.write(world.plan("n/" + name, "NoSchedule"));
          ++bad;
          break;
        default:
          break;
      }
    }
    const Texts expected{std::to_string(gpus), std::to_string(whole), std::to_string(cut),
                         std::to_string(gpus - whole - cut - bad), std::to_string(bad)};
    EXPECT_EQ(world.top(), expected) << "seed " << seed;
    seen.insert(expected);
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST(TopOfCards, NodesInNaturalOrderWithASum) {
  Gpus world(1);
  for (const char* name : {"n-2", "n-15", "n-015", "n-1", "m", "n-2-b", "n-2-10"}) {
    auto slice = named_object<api::ResourceSlice>("", std::string("s-") + name);
    slice->driver = "d";
    slice->pool = {name, 1, 1};
    slice->node_name = name;
    slice->devices.emplace_back().name = "gpu";
    world.objects.slices[slice->metadata.name] = slice;
  }
  State state(world.objects, {});
  const Answer all = top_nodes(state, {});
  Texts nodes;
  for (const Row& row : all.tables.at(0).rows) nodes.push_back(row.cells.at(0).text);
  EXPECT_EQ(nodes, (Texts{"m", "n", "n-1", "n-2", "n-2-10", "n-2-b", "n-015", "n-15"}));
  EXPECT_EQ(all.after, Texts{"d: 8 cards, 0 whole, 0 cut, 8 free, 0 bad"});
  const Answer one = top_nodes(state, {"", {}, "n-15"});
  ASSERT_EQ(one.tables.at(0).rows.size(), 1u);
  EXPECT_EQ(one.tables[0].rows[0].cells[0].text, "n-15");
  EXPECT_EQ(one.after, Texts{});
}

TEST(TopOfCards, TroubleNamesTheTaintsOfBadCards) {
  const auto trouble = [](const Gpus& world, const StateOptions& options) {
    State state(world.objects, options);
    return top_nodes(state, {}).tables.at(0).rows.at(0).cells.back().text;
  };
  Gpus world(2);
  EXPECT_EQ(trouble(world, {}), "-");
  world.write(world.plan("n/gpu-1", "NoSchedule", 0, true));
  EXPECT_EQ(trouble(world, {}), "1 device tainted ecc=bad:NoSchedule");
  world.write(world.plan("n/gpu-1", "NoSchedule"));
  EXPECT_EQ(trouble(world, {}), "7 devices tainted ecc=bad:NoSchedule");
  StateOptions ignores;
  ignores.ignored_taints = {"ecc"};
  EXPECT_EQ(trouble(world, ignores), "-");
}

TEST(TopOfCards, ClaimsAreSelectedByTheirLabels) {
  Objects objects;
  ASSERT_TRUE(add_page(objects, "resourceclaims", R"({"items": [
      {"metadata": {"name": "a", "namespace": "ml", "labels": {"app": "train"}}},
      {"metadata": {"name": "b", "namespace": "ml", "labels": {"app": "web"}}},
      {"metadata": {"name": "c", "namespace": "ml"}}]})"));
  const State state(objects, {});
  Scope scope;
  scope.labels.match_expressions.push_back({"app", "In", {"train"}});
  const Answer answer = top_claims(state, scope);
  ASSERT_EQ(answer.tables.at(0).rows.size(), 1u);
  EXPECT_EQ(answer.tables[0].rows[0].name, "resourceclaim/a");
  scope.labels.match_expressions = {{"app", "NotIn", {"train"}}};
  EXPECT_EQ(top_claims(state, scope).tables.at(0).rows.size(), 2u);
}

TEST(TopOfCards, ACutGpuOfAClassIsInAColumn) {
  Gpus world(5);
  auto whole = std::make_shared<api::DeviceClass>(*world.objects.classes.at("gpu"));
  whole->selectors.push_back("device.attributes['d'].profile == '4g'");
  world.objects.classes["gpu"] = whole;
  world.hold("gpu-0");
  world.hold("gpu-1-1-0");
  world.hold("gpu-2-2-2");
  world.write(world.plan("n/gpu-3", "NoSchedule"));
  State state(world.objects, {});
  const std::vector<Cell> cells = top_classes(state).tables.at(0).rows.at(0).cells;
  Texts texts;
  for (size_t i = 1; i < 6; ++i) texts.push_back(cells.at(i).text);
  EXPECT_EQ(texts, (Texts{"5", "1", "2", "1", "1"})) << "total, used, cut, free, bad";
}

TEST(TopOfCards, SharedPartitionsThatOverlapAreNotAddedUp) {
  Gpus world(1, true);
  EXPECT_EQ(world.shared_left(), "memory 80Gi") << "not the sum of seven devices";
  world.hold("gpu-0-2-2");
  EXPECT_EQ(world.shared_left(), "memory 40Gi") << "of the one in use";
  Gpus whole(1, true);
  for (api::Device& device : whole.devices->devices)
    if (device.name == "gpu-0") device.allow_multiple_allocations = false;
  whole.hold("gpu-0");
  EXPECT_EQ(whole.shared_left(), "-");
}

// Before a rule is applied: what it leaves usable. The rules of the file and of the cluster count together.
TEST(HalfTaints, LintWarnsOfARuleThatLeavesPartitionsUsable) {
  Gpus gpus(2);
  const auto said = [&](const std::string& file) {
    const auto findings = lint(file, &gpus.objects, {}, "ml");
    EXPECT_TRUE(findings) << file;
    std::string text;
    if (findings)
      for (const Finding& one : *findings) text += one.path + ": " + one.text + "\n";
    return text;
  };
  const std::string one =
      "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: bad}\nspec:\n  deviceSelector: "
      "{driver: d, pool: \"n\", device: gpu-0}\n  taint: {key: ecc, value: bad, effect: NoExecute}\n";
  EXPECT_EQ(
      said(one),
      "spec.deviceSelector.device: taints device d/n/gpu-0, but not 6 devices cut from it (gpu-0-2-0 to gpu-0-1-3), "
      "which can still be allocated: Kubernetes taints only the device that a rule names; write a rule for each of "
      "them, or let kubectl dra taint n/gpu-0 ecc=bad:NoExecute do it\n");
  EXPECT_EQ(lint(one, nullptr, {}, "ml")->size(), 0u) << "no cluster, no devices";
  const TaintPlan whole = gpus.plan("n/gpu-0", "NoExecute");
  EXPECT_EQ(said(one + "---\n" + join(whole.rules, "\n---\n")), "");
  gpus.write(whole);
  EXPECT_EQ(said(one), "") << "the cluster's rules taint the rest";
}

// One row for a taint, however many rules it takes, and none for what only informs.
TEST(TaintedDevices, DoctorCountsThemByWhoTaintsThem) {
  Gpus gpus(2);
  const auto rows = [&] {
    const State state(gpus.objects, {});
    std::string text;
    for (const Diagnosis& one : diagnose(state))
      if (one.check == "tainted devices")
        text += (one.health == Health::kFine ? "fine: " : "warning: ") + one.finding +
                (one.to_do.empty() ? "" : " -> " + one.to_do) + "\n";
    return text;
  };
  EXPECT_EQ(rows(), "fine: no device is tainted\n");
  for (api::Device& device : gpus.devices->devices) device.taints.push_back({"note", "", "None", ""});
  EXPECT_EQ(rows(), "fine: no device is tainted\n");
  for (api::Device& device : gpus.devices->devices) device.taints.push_back({"own", "", "NoSchedule", ""});
  EXPECT_EQ(rows(), "fine: 14 devices have the taint own:NoSchedule from driver d (first d/n/gpu-0)\n");
  gpus.write(gpus.plan("n/gpu-1", "NoExecute", 0, true));
  const std::string rule = gpus.objects.taint_rules.begin()->first;
  EXPECT_EQ(rows(), "warning: 1 device has the taint ecc=bad:NoExecute from DeviceTaintRule " + rule +
                        " (d/n/gpu-1) -> once it is well: kubectl delete devicetaintrule " + rule +
                        "\nfine: 14 devices have the taint own:NoSchedule from driver d (first d/n/gpu-0)\n");
  gpus.write(gpus.plan("n/gpu-1", "NoExecute"));
  EXPECT_NE(rows().find("warning: 7 devices have the taint ecc=bad:NoExecute from DeviceTaintRules "),
            std::string::npos)
      << rows();
  EXPECT_NE(rows().find(" and 4 more (first d/n/gpu-1)"), std::string::npos) << rows();
}

}  // namespace dra::inspect::partitions_test
