// Pairs on one server: by annotation, and by hand with constraints; bounds; how many groups are free.
#include "pkg/allocator/pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "pkg/allocator/allocator.h"

namespace dra::allocator::pairs_test {
namespace {

using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
constexpr const char* kRoot = "resource.kubernetes.io/pcieRoot";
constexpr const char* kNuma = "resource.kubernetes.io/numaNode";

using Values = std::vector<int>;  // of the attribute; several: a list

// Nodes with devices of class gpu, nic and cpu. A device's NUMA node is half of its first root.
class Server {
 public:
  explicit Server(Options options = {}) : options_(std::move(options)), random_(1) {
    inventory::Features features;
    features.list_attributes = features.derived_attributes = true;
    inventory_ = std::make_unique<inventory::Inventory>(features);
    for (const char* kind : {"gpu", "nic", "cpu"}) {
      api::DeviceClass device_class;
      device_class.metadata.name = kind;
      device_class.selectors = {"device.driver == \"" + std::string(kind) + ".example.com\""};
      inventory_->apply_class(device_class);
    }
    allocator_ = std::make_unique<Allocator>(*inventory_, options_, random_);
  }

  void add(const std::string& node, const std::string& kind, const std::vector<Values>& roots) {
    const NodeId id = inventory_->apply_node(node, {});
    if (std::find(nodes_.begin(), nodes_.end(), id) == nodes_.end()) nodes_.push_back(id);
    api::ResourceSlice slice;
    slice.metadata.name = kind + "-" + node;
    slice.driver = kind + ".example.com";
    slice.pool = {node, 1, 1};
    slice.node_name = node;
    for (const Values& values : roots) {
      api::Device& device = slice.devices.emplace_back();
      device.name = kind + "-" + std::to_string(slice.devices.size() - 1);
      std::vector<std::string> texts;
      for (const int value : values) texts.push_back("pci" + std::to_string(value));
      if (texts.size() == 1) device.attributes[kRoot] = texts.front();
      if (texts.size() > 1) device.attributes[kRoot] = texts;
      if (!values.empty()) device.attributes[kNuma] = int64_t{values.front() / 4};
    }
    inventory_->apply_slice(slice);
  }
  void add(const std::string& node, const std::string& kind, std::initializer_list<int> roots) {
    std::vector<Values> values;
    for (const int root : roots) values.push_back({root});
    add(node, kind, values);
  }

  FoundNodes find(const Request& request) { return allocator_->find_nodes(request, nodes_, 1); }
  Allocator& allocator() { return *allocator_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  std::string name(NodeId node) const { return inventory_->node_name(node); }

 private:
  Options options_;
  SeededRandom random_;
  std::unique_ptr<inventory::Inventory> inventory_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<NodeId> nodes_;
};

api::DeviceRequest exactly(const std::string& name, const std::string& device_class, int64_t count) {
  api::DeviceRequest request;
  request.name = name;
  request.exactly.emplace();
  request.exactly->device_class_name = device_class;
  request.exactly->count = count;
  return request;
}

std::shared_ptr<api::ResourceClaim> claim_of(std::vector<api::DeviceRequest> requests) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = "ns";
  claim->metadata.name = claim->metadata.uid = "c";
  claim->spec.requests = std::move(requests);
  return claim;
}

// Requests of one claim, and an entry on it.
Request asking(std::vector<api::DeviceRequest> requests, const std::string& pairs) {
  auto claim = claim_of(std::move(requests));
  claim->metadata.annotations[std::string(alignment::kPairsAnnotation)] = pairs;
  Request request;
  request.claims = {claim};
  const api::ResourceClaim* pointer = claim.get();
  const alignment::PodPairs read = alignment::read_pod_pairs({}, {&pointer, 1}, {});
  EXPECT_FALSE(read.refusal) << read.refusal->message;
  request.pairs = pair_rules(read.entries, request.claims);
  return request;
}

// The same as `groups` GPUs with `nics` NICs each, by requests of one group each and a constraint for each.
Request by_hand(int groups, int nics, const std::string& also_match = "") {
  auto claim = claim_of({});
  for (int g = 0; g < groups; ++g) {
    const std::string number = std::to_string(g);
    claim->spec.requests.push_back(exactly("gpu-" + number, "gpu", 1));
    claim->spec.requests.push_back(exactly("nic-" + number, "nic", nics));
    claim->spec.constraints.push_back({{"gpu-" + number, "nic-" + number}, kRoot, std::nullopt});
  }
  if (!also_match.empty()) claim->spec.constraints.push_back({{}, also_match, std::nullopt});
  Request request;
  request.claims = {claim};
  return request;
}

TEST(Pairs, ByHandIsRefutedByCountingOneShort) {
  Server server;
  server.add("a", "gpu", {0, 1, 2, 3, 4, 5, 6, 7});
  server.add("a", "nic", {0, 1, 2, 3, 4, 5, 6, 6});  // none on root 7
  const FoundNodes none = server.find(by_hand(8, 1));
  EXPECT_EQ(none.outcome, Outcome::kInfeasible);
  EXPECT_LT(none.steps, 500u);
  EXPECT_EQ(server.find(by_hand(7, 1)).outcome, Outcome::kFeasible);
  // Of 16 with 32: 3 NICs are near the four GPUs of two roots.
  Server large;
  large.add("a", "gpu", {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7});
  large.add("a", "nic", {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7});
  const FoundNodes short_by_one = large.find(by_hand(16, 1));
  EXPECT_EQ(short_by_one.outcome, Outcome::kInfeasible);
  EXPECT_LT(short_by_one.steps, 1000u);
}

TEST(Pairs, ByHandBesideAnotherConstraint) {
  Server server;  // three pairs on each NUMA node
  server.add("a", "gpu", {0, 1, 2, 3, 4, 5, 6, 7});
  server.add("a", "nic", {0, 1, 2, 2, 4, 5, 6, 6});
  const FoundNodes none = server.find(by_hand(4, 1, kNuma));
  EXPECT_EQ(none.outcome, Outcome::kInfeasible);
  EXPECT_LT(none.steps, 1000u);
  EXPECT_EQ(server.find(by_hand(3, 1, kNuma)).outcome, Outcome::kFeasible);
}

// What is asked by an annotation and by hand is one thing, but that by hand a group is a group of requests.
TEST(Pairs, ByHandAndByAnnotationAgree) {
  SeededRandom random(5);
  int feasible = 0, infeasible = 0;
  for (int round = 0; round < 300; ++round) {
    const bool lists = round % 2 == 0;
    const auto values = [&] {
      Values out{static_cast<int>(random.below(6))};
      if (lists && random.below(2) == 0) out.push_back(static_cast<int>(6 + random.below(2)));
      return out;
    };
    Server server;
    std::vector<Values> gpus, nics;
    for (uint64_t i = 4 + random.below(5); i > 0; --i) gpus.push_back(values());
    for (uint64_t i = 5 + random.below(8); i > 0; --i) nics.push_back(values());
    server.add("a", "gpu", gpus);
    server.add("a", "nic", nics);
    const int groups = 2 + static_cast<int>(random.below(5)), each = 1 + static_cast<int>(random.below(2));
    const FoundNodes hand = server.find(by_hand(groups, each));
    const FoundNodes annotated =
        server.find(asking({exactly("gpu", "gpu", groups), exactly("nic", "nic", groups * each)},
                           "gpu+nic" + std::string(each == 2 ? "*2" : "") + " by " + kRoot));
    ASSERT_EQ(hand.outcome, annotated.outcome) << "round " << round << ": " << outcome_name(annotated.outcome);
    (hand.outcome == Outcome::kFeasible ? feasible : infeasible) += 1;
  }
  EXPECT_GT(feasible, 30);
  EXPECT_GT(infeasible, 30);
}

TEST(Pairs, ReasonsHaveTheNumbers) {
  Server server;
  server.add("a", "gpu", {0, 1, 2, 3, 4, 5, 6, 7});
  server.add("a", "nic", {0, 1, 2, 3, 4, 5, 0, 0});
  const Request request =
      asking({exactly("gpu", "gpu", 8), exactly("nic", "nic", 8)}, std::string("gpu+nic by ") + kRoot);
  EXPECT_EQ(server.find(request).outcome, Outcome::kInfeasible);
  const Reasons reasons = server.allocator().explain(request, server.nodes());
  ASSERT_EQ(reasons.short_of_pairs.size(), 1u);
  EXPECT_EQ(reasons.short_of_pairs[0], (PairShort{server.nodes()[0], 0, 6, 8}));
  EXPECT_EQ(short_sentence("a", reasons.pair_texts.at(0), 6, 8),
            "node a has 6 such pairs (gpu+nic by resource.kubernetes.io/pcieRoot), 8 are asked");
  const std::vector<GroupsOnNode> free = server.allocator().count_groups(request, 0, server.nodes(), 100);
  ASSERT_EQ(free.size(), 1u);
  EXPECT_EQ(free[0].has, 6u);
}

TEST(Pairs, ARequestSmallerThanAGroupNeverFits) {
  Server server;
  server.add("a", "gpu", {0, 0, 0});
  const Request request = asking({exactly("gpu", "gpu", 1)}, std::string("gpu*2 by ") + kRoot);
  const FoundNodes found = server.find(request);
  EXPECT_EQ(found.outcome, Outcome::kInfeasible);
  const Reasons reasons = server.allocator().explain(request, server.nodes());
  EXPECT_EQ(reasons.proof, "gpu takes 1 device, a group of gpu*2 needs 2: this never fits");
  EXPECT_TRUE(reasons.short_of_pairs.empty());
}

// Rules across requests read the devices' own attributes: by another one they would form other groups than were asked.
TEST(Pairs, ByADerivedAttributeAreRefusedByName) {
  Server server;
  server.add("a", "gpu", {0, 1});
  server.add("a", "nic", {0, 1});
  std::vector<api::DeviceRequest> requests{exactly("gpu", "gpu", 2), exactly("nic", "nic", 2)};
  const auto derive = [&](const std::string& attribute) {
    requests[1].exactly->derived_attributes = std::vector<api::DerivedAttribute>{{attribute, "'a'"}};
    return asking(requests, std::string("gpu+nic by ") + kRoot);
  };
  EXPECT_EQ(server.find(derive("example.com/other")).outcome, Outcome::kFeasible);
  const Request request = derive(kRoot);
  EXPECT_EQ(server.find(request).outcome, Outcome::kInfeasible);
  EXPECT_EQ(
      server.allocator().explain(request, server.nodes()).proof,
      "request nic derives resource.kubernetes.io/pcieRoot (derivedAttributes), by which this version forms no groups: "
      "name an attribute of the devices");
}

TEST(Pairs, PreferencesComeAfterThem) {
  for (const Strategy strategy : {Strategy::kFirstFit, Strategy::kBestFit}) {
    Options options;
    options.strategy = strategy;
    Server server(options);
    server.add("a", "gpu", {0, 4});  // one NUMA node for all, but no pair of it
    server.add("a", "nic", {1, 4});
    server.add("b", "gpu", {0, 1, 5});
    server.add("b", "nic", {0, 5, 6});
    Request request = asking({exactly("gpu", "gpu", 1), exactly("nic", "nic", 1)}, std::string("gpu+nic by ") + kRoot);
    request.preferences.push_back({kNuma, 1, {0}, {}});
    EXPECT_EQ(server.find(request).outcome, Outcome::kFeasible);
    request = asking({exactly("gpu", "gpu", 2), exactly("nic", "nic", 2)}, std::string("gpu+nic by ") + kRoot);
    request.preferences.push_back({kNuma, 1, {0}, {}});
    const FoundNodes found = server.find(request);
    ASSERT_EQ(found.outcome, Outcome::kFeasible);
    EXPECT_EQ(server.name(found.decisions[0].node), "b");
    EXPECT_EQ(found.decisions[0].met, 0u);  // b's pairs are on two NUMA nodes
  }
}

// 8 terms of 32 devices with 64 values each: decided or given up within the budget of steps.
TEST(Pairs, TheWorstAnnotationEndsWithItsBudget) {
  Options options;
  options.slice.steps = 20'000;
  Server server(options);
  SeededRandom random(3);
  std::vector<Values> devices;
  for (int d = 0; d < 32; ++d) {
    Values& values = devices.emplace_back();
    std::set<int> set;
    while (set.size() < 64) set.insert(static_cast<int>(random.below(512)));
    values.assign(set.begin(), set.end());
  }
  server.add("a", "gpu", devices);
  std::vector<api::DeviceRequest> requests;
  std::string entry;
  for (int t = 0; t < 8; ++t) {
    requests.push_back(exactly("r" + std::to_string(t), "gpu", 4));
    entry += (t == 0 ? "r" : "+r") + std::to_string(t) + (t % 2 == 0 ? "*2" : "");
  }
  const Request request = asking(requests, entry + " by " + kRoot + ", " + entry + " by " + kNuma);
  FoundNodes found;
  int slices = 0;
  do {
    found = server.find(request);
    ASSERT_LT(++slices, 10'000);
  } while (found.outcome == Outcome::kUnfinished);
  std::cout << outcome_name(found.outcome) << " after " << slices << " slices, " << found.steps << " steps\n";
  server.allocator().explain(request, server.nodes());
}

}  // namespace
}  // namespace dra::allocator::pairs_test
