// top fragmentation, and so the metric, against a twin that tries every set of devices of a node, and against the
// allocator: cards of four slices as whole GPUs, halves and quarters. DRA_FRAGMENTATION_WORLDS: how many;
// DRA_FRAGMENTATION_SEED: the first.
#include "pkg/inspect/verbs/fragmentation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "pkg/base/random.h"
#include "pkg/inspect/state/objects_fixture.h"
#include "pkg/inspect/verbs/top.h"
#include "test/support/environment.h"

namespace dra::inspect::fragmentation_test {
namespace {

constexpr int kSlices = 4;

// A device is a run of slices of a card: 4 (class "whole"), 2 ("half") or 1 ("quarter").
struct Part {
  int card = 0, first = 0, size = 0;
  bool held = false;
};
struct Node {
  int cards = 0;
  std::vector<Part> parts;
};

std::vector<Node> random_nodes(SeededRandom& random) {
  std::vector<Node> nodes(1 + random.below(3));
  for (Node& node : nodes) {
    node.cards = 1 + static_cast<int>(random.below(2));
    for (int card = 0; card < node.cards; ++card) {
      std::vector<bool> used(kSlices, false);
      for (const int size : {4, 2, 1})
        for (int first = 0; first < kSlices; first += size) {
          Part part{card, first, size, false};
          bool is_free = true;
          for (int i = first; i < first + size; ++i) is_free = is_free && !used[static_cast<size_t>(i)];
          part.held = is_free && random.below(size == 4 ? 6 : 4) == 0;
          if (part.held)
            for (int i = first; i < first + size; ++i) used[static_cast<size_t>(i)] = true;
          node.parts.push_back(part);
        }
    }
  }
  return nodes;
}

// The most devices of the size that can be had together with what is held, by trying all sets.
int most_of(const Node& node, int size, bool empty) {
  int best = 0;
  std::vector<const Part*> candidates;
  for (const Part& part : node.parts)
    if (part.size == size && (empty || !part.held)) candidates.push_back(&part);
  for (unsigned set = 0; set < (1u << candidates.size()); ++set) {
    std::vector<int> uses(static_cast<size_t>(node.cards * kSlices), 0);
    const auto take = [&](const Part& part) {
      for (int i = 0; i < part.size; ++i) ++uses[static_cast<size_t>(part.card * kSlices + part.first + i)];
    };
    if (!empty)
      for (const Part& part : node.parts)
        if (part.held) take(part);
    for (size_t i = 0; i < candidates.size(); ++i)
      if ((set >> i) & 1) take(*candidates[i]);
    if (std::all_of(uses.begin(), uses.end(), [](int use) { return use <= 1; }))
      best = std::max(best, __builtin_popcount(set));
  }
  return best;
}

struct Twin {
  int largest = 0, on_empty = 0, free = 0;
};

Twin twin_of(const std::vector<Node>& nodes, int size) {
  Twin twin;
  int left = 0;
  for (const Node& node : nodes) {
    twin.largest = std::max(twin.largest, most_of(node, size, false));
    twin.on_empty = std::max(twin.on_empty, most_of(node, size, true));
    left += node.cards * kSlices;
    for (const Part& part : node.parts) left -= part.held ? part.size : 0;
  }
  twin.free = left / size;
  return twin;
}

std::string size_name(int size) {
  return size == 4 ? "whole" : size == 2 ? "half" : "quarter";
}

void add_node(Objects& objects, const Node& node, const std::string& name) {
  auto object = named_object<api::Node>("", name);
  object->allocatable = {{"pods", "10"}, {"cpu", "8"}};
  objects.nodes[name] = object;
  auto devices = named_object<api::ResourceSlice>("", name + "-devices");
  auto counters = named_object<api::ResourceSlice>("", name + "-counters");
  for (auto* slice : {devices.get(), counters.get()}) {
    slice->driver = "gpu.example.com";
    slice->pool = {name, 1, 2};
    slice->node_name = name;
  }
  for (int card = 0; card < node.cards; ++card) {
    api::CounterSet& set = counters->shared_counters.emplace_back();
    set.name = "card-" + std::to_string(card);
    for (int i = 0; i < kSlices; ++i) set.counters["slice-" + std::to_string(i)] = "1";
  }
  for (const Part& part : node.parts) {
    api::Device& device = devices->devices.emplace_back();
    device.name = size_name(part.size) + "-" + std::to_string(part.card) + "-" + std::to_string(part.first);
    device.attributes["size"] = size_name(part.size);
    api::DeviceCounterConsumption& use = device.consumes_counters.emplace_back();
    use.counter_set = "card-" + std::to_string(part.card);
    for (int i = 0; i < part.size; ++i) use.counters["slice-" + std::to_string(part.first + i)] = "1";
    if (!part.held) continue;
    auto claim = named_object<api::ResourceClaim>("ml", name + "-" + device.name);
    api::AllocationResult& allocation = claim->status.allocation.emplace();
    allocation.results.push_back({"r", "gpu.example.com", name, device.name});
    objects.claims[claim->metadata.key()] = claim;
  }
  objects.slices[devices->metadata.name] = devices;
  objects.slices[counters->metadata.name] = counters;
}

Objects objects_of(const std::vector<Node>& nodes) {
  Objects objects;
  objects.server_version = "v1.36.2";
  for (const int size : {4, 2, 1}) {
    auto one = named_object<api::DeviceClass>("", size_name(size));
    one->selectors = {"device.attributes[\"gpu.example.com\"].size == \"" + size_name(size) + "\""};
    objects.classes[size_name(size)] = one;
  }
  for (size_t i = 0; i < nodes.size(); ++i) add_node(objects, nodes[i], "n" + std::to_string(i));
  return objects;
}

TEST(Fragmentation, IsTheTwins) {
  const uint64_t worlds = test::number_from("DRA_FRAGMENTATION_WORLDS", 100),
                 first = test::number_from("DRA_FRAGMENTATION_SEED", 1);
  size_t lost = 0;
  for (uint64_t seed = first; seed < first + worlds; ++seed) {
    SeededRandom random(seed);
    const std::vector<Node> nodes = random_nodes(random);
    const Objects objects = objects_of(nodes);
    State state(objects, {});
    for (const ClassFragmentation& one : fragmentation_of(state)) {
      const int size = one.device_class == "whole" ? 4 : one.device_class == "half" ? 2 : 1;
      const Twin twin = twin_of(nodes, size);
      EXPECT_EQ(static_cast<int>(one.largest), twin.largest) << one.device_class << " DRA_FRAGMENTATION_SEED=" << seed;
      EXPECT_EQ(static_cast<int>(one.on_empty), twin.on_empty)
          << one.device_class << " DRA_FRAGMENTATION_SEED=" << seed;
      EXPECT_EQ(static_cast<int>(one.free), twin.free) << one.device_class << " DRA_FRAGMENTATION_SEED=" << seed;
      EXPECT_EQ(one.largest, largest_request(state, one.device_class).count)
          << one.device_class << " DRA_FRAGMENTATION_SEED=" << seed;
      EXPECT_EQ(static_cast<int>(one.if_packed()), std::max(twin.largest, std::min(twin.on_empty, twin.free)));
      lost += one.lost() > 0 ? 1 : 0;
    }
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  if (worlds < 100) return;
  EXPECT_GT(lost, worlds / 10);
}

}  // namespace
}  // namespace dra::inspect::fragmentation_test
