// Random clusters: every number and every list of names in a sentence and on a page is what a slow twin counts, which
// knows the cluster as plain structs. Numbers that no rule here explains fail the test.
// DRA_SEED picks another start, DRA_NUMBER_CASES another number of clusters (2000).
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "pkg/api/quantity.h"
#include "pkg/base/random.h"
#include "pkg/verdict/verdict.h"
#include "test/support/environment.h"

namespace dra::verdict::numbers_test {
namespace {

struct Gpu {
  std::string product, memory;
  bool held = false;
};
struct Machine {
  std::string name;
  bool cordoned = false, tainted = false;
  int cpu = 8;
  std::vector<Gpu> gpus;
};
enum class Selects : uint8_t { kAll, kProduct, kMemory };
struct Fleet {
  std::vector<Machine> machines;
  int wanted = 1, cpu = 1;
  Selects selects = Selects::kAll;
  std::string constant;  // of the selector
};

// ---- the twin

constexpr const char* kCordoned = "cordoned";
constexpr const char* kTainted = "taint away=yes:NoSchedule is not tolerated";
constexpr const char* kCpu = "asks";

std::string refusal_of(const Fleet& fleet, const Machine& machine) {
  if (machine.cordoned) return kCordoned;
  if (machine.tainted) return kTainted;
  return machine.cpu < fleet.cpu ? kCpu : "";
}
bool is_selected(const Fleet& fleet, const Gpu& gpu) {
  if (fleet.selects == Selects::kProduct) return gpu.product == fleet.constant;
  if (fleet.selects == Selects::kMemory)
    return *api::Quantity::parse(gpu.memory) >= *api::Quantity::parse(fleet.constant);
  return true;
}
bool is_usable(const Fleet& fleet, const Gpu& gpu) {
  return is_selected(fleet, gpu) && !gpu.held;
}
int count_on(const Machine& machine, const std::function<bool(const Gpu&)>& which) {
  return static_cast<int>(std::count_if(machine.gpus.begin(), machine.gpus.end(), which));
}
int usable_on(const Fleet& fleet, const Machine& machine) {
  return count_on(machine, [&](const Gpu& gpu) { return is_usable(fleet, gpu); });
}

// The sum and the most of one node, over the nodes for which `where` holds.
struct Sum {
  int all = 0, most = 0;
};
Sum sum_of(const Fleet& fleet, const std::function<bool(const Machine&)>& where,
           const std::function<bool(const Gpu&)>& which) {
  Sum sum;
  for (const Machine& machine : fleet.machines) {
    if (!where(machine)) continue;
    const int here = count_on(machine, which);
    sum.all += here;
    sum.most = std::max(sum.most, here);
  }
  return sum;
}
bool is_there(const Machine&) {
  return true;
}

// Nodes without a GPU are in no list, unless no node has one.
bool is_of_class(const Fleet& fleet, const Machine& machine) {
  return !machine.gpus.empty() ||
         std::all_of(fleet.machines.begin(), fleet.machines.end(), [](const Machine& one) { return one.gpus.empty(); });
}

// The nodes refused for a reason; `able`: only those with enough usable devices.
std::set<std::string> refused(const Fleet& fleet, const std::string& reason, bool able) {
  std::set<std::string> names;
  for (const Machine& machine : fleet.machines)
    if (refusal_of(fleet, machine) == reason && is_of_class(fleet, machine) &&
        (!able || usable_on(fleet, machine) >= fleet.wanted))
      names.insert(machine.name);
  return names;
}

// ---- the cluster as objects

class Cluster {
 public:
  explicit Cluster(const Fleet& fleet) {
    for (const Machine& machine : fleet.machines) add(machine);
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    gpu.selectors = {"device.driver == \"gpu.example.com\""};
    inventory_.apply_class(gpu);
    pod_.metadata.name = "p";
    pod_.metadata.ns = "ns";
    pod_.metadata.uid = "p-uid";
    pod_.containers.emplace_back().requests["cpu"] = std::to_string(fleet.cpu);
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "ns";
    claim->metadata.name = claim->metadata.uid = "c";
    api::DeviceRequest& request = claim->spec.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu";
    request.exactly->count = fleet.wanted;
    if (fleet.selects != Selects::kAll) request.exactly->selectors = {selector_of(fleet)};
    question_.pod = &pod_;
    question_.claims = {claim};
  }
  static std::string selector_of(const Fleet& fleet) {
    return fleet.selects == Selects::kProduct
               ? "device.attributes[\"gpu.example.com\"].productName == \"" + fleet.constant + "\""
               : "device.capacity[\"gpu.example.com\"].memory.compareTo(quantity(\"" + fleet.constant + "\")) >= 0";
  }
  Verdict judge() { return verdict::judge({cluster_, inventory_, allocator_, {}}, question_); }

 private:
  void add(const Machine& machine) {
    auto node = std::make_shared<api::Node>();
    node->metadata.name = machine.name;
    node->allocatable = {{"cpu", std::to_string(machine.cpu)}, {"pods", "110"}};
    node->unschedulable = machine.cordoned;
    if (machine.tainted) node->taints.push_back({"away", "yes", "NoSchedule", ""});
    inventory_.apply_node(machine.name, {});
    cluster_.set_node(std::move(node));
    if (machine.gpus.empty()) return;
    api::ResourceSlice slice;
    slice.metadata.name = "gpus-" + machine.name;
    slice.driver = "gpu.example.com";
    slice.pool = {machine.name, 1, 1};
    slice.node_name = machine.name;
    for (size_t i = 0; i < machine.gpus.size(); ++i) {
      api::Device& device = slice.devices.emplace_back();
      device.name = "gpu-" + std::to_string(i);
      device.attributes["productName"] = machine.gpus[i].product;
      device.capacity["memory"].value = machine.gpus[i].memory;
    }
    inventory_.apply_slice(slice);
    for (size_t i = 0; i < machine.gpus.size(); ++i)
      if (machine.gpus[i].held) hold(machine.name, "gpu-" + std::to_string(i));
  }
  void hold(const std::string& pool, const std::string& device) {
    api::ResourceClaim claim;
    claim.metadata.ns = "other";
    claim.metadata.name = claim.metadata.uid = pool + "-" + device;
    api::DeviceRequestAllocationResult& result = claim.status.allocation.emplace().results.emplace_back();
    result.driver = "gpu.example.com";
    result.pool = pool;
    result.device = device;
    inventory_.apply_claim(claim);
  }

  placement::Cluster cluster_;
  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_{inventory_, {}, random_};
  api::Pod pod_;
  Question question_;
};

Fleet random_fleet(uint64_t seed) {
  SeededRandom random(seed);
  static const std::vector<std::string> kProducts{"Alpha", "Beta", "Gamma", "Delta", "Omega"};
  static const std::vector<std::string> kMemories{"40Gi", "80Gi", "81559Mi", "96Gi"};
  Fleet fleet;
  const bool uniform = random.below(2) == 0;
  for (size_t i = 0, nodes = 1 + random.below(7); i < nodes; ++i) {
    Machine& machine = fleet.machines.emplace_back();
    machine.name = std::string("node-") + static_cast<char>('a' + i);
    machine.cordoned = random.below(5) == 0;
    machine.tainted = random.below(6) == 0;
    machine.cpu = static_cast<int>(4 << random.below(3));
    const size_t gpus = random.below(6);
    for (size_t g = 0; g < gpus; ++g)
      machine.gpus.push_back({kProducts[random.below(uniform ? 1 : kProducts.size())],
                              kMemories[random.below(uniform ? 2 : kMemories.size())], random.below(3) == 0});
  }
  fleet.wanted = static_cast<int>(1 + random.below(7));
  fleet.cpu = random.below(3) == 0 ? static_cast<int>(1 + random.below(20)) : 1;
  fleet.selects = static_cast<Selects>(random.below(3));
  if (fleet.selects == Selects::kProduct) fleet.constant = random.below(2) == 0 ? "Nothing" : "Alpha";
  if (fleet.selects == Selects::kMemory) fleet.constant = random.below(2) == 0 ? "100Gi" : "80Gi";
  return fleet;
}

// ---- the rules: each part of a text that they explain is taken out of it

// Compiling an expression takes longer than most searches.
const std::regex& regex_of(const std::string& pattern) {
  static std::map<std::string, std::regex> known;
  return known.try_emplace(pattern, pattern).first->second;
}

class Reader {
 public:
  Reader(const Fleet& fleet, std::string text) : fleet_(fleet), text_(std::move(text)) {
    // The selector is quoted, with its digits.
    if (fleet.selects == Selects::kAll) return;
    const std::string selector = Cluster::selector_of(fleet);
    for (size_t at; (at = text_.find(selector)) != std::string::npos;) text_.replace(at, selector.size(), "SELECTOR");
  }

  void check() {
    const auto passes = [this](const Machine& machine) { return refusal_of(fleet_, machine).empty(); };
    const auto is_refused = [&](const Machine& machine) { return !passes(machine); };
    const auto selected = [this](const Gpu& gpu) { return is_selected(fleet_, gpu); };
    const auto usable = [this](const Gpu& gpu) { return is_usable(fleet_, gpu); };
    const int all = static_cast<int>(fleet_.machines.size());
    const int passed = static_cast<int>(std::count_if(fleet_.machines.begin(), fleet_.machines.end(), passes));
    values();
    take("0/(\\d+) nodes are available", {all});
    take("(\\d+)/(\\d+) nodes are unavailable", {all - passed, all});
    take("; (\\d+) nodes? without the devices", {passed});
    take("(?:no node has|no node that takes the pod has) more than (\\d+) of the (\\d+) devices? of class gpu",
         {sum_of(fleet_, passes, selected).most, sum_of(fleet_, is_there, selected).all});
    take("(\\d+) +(?:devices? )?usable, but at most (\\d+) on one node",
         {sum_of(fleet_, passes, usable).all, sum_of(fleet_, passes, usable).most});
    take("(\\d+) +(?:devices? )?usable", {sum_of(fleet_, passes, usable).all});
    take("(\\d+) +(?:devices? )?free on nodes that the pod cannot use", {sum_of(fleet_, is_refused, usable).all});
    take("(\\d+) +(?:devices? )?in use",
         {sum_of(fleet_, is_there, [&](const Gpu& gpu) { return selected(gpu) && gpu.held; }).all});
    take("(\\d+) +(?:devices? )?rejected by the request's selector",
         {sum_of(fleet_, is_there, [&](const Gpu& gpu) { return !selected(gpu); }).all});
    const auto without = [&](const Machine& machine) { return !passes(machine) && !is_of_class(fleet_, machine); };
    take("(\\d+)(?: nodes?)?  ?without a device of class gpu",
         {static_cast<int>(std::count_if(fleet_.machines.begin(), fleet_.machines.end(), without))});
    take("(\\d+) x gpu", {fleet_.wanted});
    for (const char* reason : {kCordoned, kTainted, kCpu}) nodes(reason);
    // On the page.
    take("Nodes \\((\\d+)\\)", {all});
    take("(\\d+)  would do, but for the devices", {passed});
    for (const char* reason : {kCordoned, kTainted, kCpu}) lines(reason);
    EXPECT_EQ(text_.find_first_of("0123456789"), std::string::npos) << "not explained: " << text_;
  }

 private:
  // All matches: their groups are these numbers.
  void take(const std::string& pattern, const std::vector<int>& numbers) {
    const std::regex& expression = regex_of(pattern);
    for (std::smatch match; std::regex_search(text_, match, expression);) {
      for (size_t i = 0; i < numbers.size(); ++i)
        EXPECT_EQ(match.str(i + 1), std::to_string(numbers[i])) << pattern << " in: " << match.str();
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
  }

  // "memory >= 100Gi: the largest has 96Gi", "productName == "Nothing": there are Alpha (3), Beta (1)".
  void values() {
    std::map<std::string, int> products;
    std::string largest;
    bool passed = false;
    for (const Machine& machine : fleet_.machines)
      for (const Gpu& gpu : machine.gpus) {
        passed = passed || is_selected(fleet_, gpu);
        ++products[gpu.product];
        if (largest.empty() || *api::Quantity::parse(gpu.memory) > *api::Quantity::parse(largest)) largest = gpu.memory;
      }
    const std::regex& memory = regex_of("\\(memory >= (\\w+): the largest has (\\w+)\\)");
    const std::regex& product =
        regex_of("\\(productName == \"(\\w+)\": there are (?:(?:, )?\\w+ \\(\\d+\\))+(?: and \\d+ more values)?\\)");
    for (std::smatch match; std::regex_search(text_, match, memory);) {
      EXPECT_FALSE(passed);
      EXPECT_EQ(match.str(1), fleet_.constant);
      EXPECT_EQ(match.str(2), largest);
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
    for (std::smatch match; std::regex_search(text_, match, product);) {
      EXPECT_FALSE(passed);
      EXPECT_EQ(match.str(1), fleet_.constant);
      const std::string said = match.str();
      const std::regex& one = regex_of("(\\w+) \\((\\d+)\\)");
      size_t shown = 0;
      for (auto at = std::sregex_iterator(said.begin(), said.end(), one); at != std::sregex_iterator(); ++at, ++shown)
        EXPECT_EQ(std::to_string(products[(*at)[1]]), (*at)[2].str()) << said;
      EXPECT_EQ(shown, std::min<size_t>(3, products.size())) << said;
      if (products.size() > 3) {
        EXPECT_NE(said.find("and " + std::to_string(products.size() - 3) + " more values"), std::string::npos) << said;
      }
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
  }

  std::string pattern_of(const std::string& reason) const {
    return reason == kCpu ? "asks (\\d+) cpu, node has (?:at most )?(\\d+)" : reason + "()()";
  }
  void check_cpu(const std::string& reason, const std::string& asked, const std::string& most) const {
    if (reason != kCpu) return;
    int best = 0;
    for (const Machine& machine : fleet_.machines)
      if (refusal_of(fleet_, machine) == kCpu) best = std::max(best, machine.cpu);
    EXPECT_EQ(asked, std::to_string(fleet_.cpu));
    EXPECT_EQ(most, std::to_string(best));
  }
  // Names of these nodes, `most` at most, each once.
  static void check_names(const std::vector<std::string>& said, const std::set<std::string>& nodes, size_t most) {
    EXPECT_EQ(said.size(), std::min(most, nodes.size()));
    EXPECT_EQ(std::set<std::string>(said.begin(), said.end()).size(), said.size()) << "each once";
    for (const std::string& name : said) EXPECT_TRUE(nodes.contains(name)) << name;
  }
  static std::vector<std::string> names_in(const std::string& list) {
    std::vector<std::string> names;
    const std::regex& name = regex_of("node-[a-z]");
    for (auto at = std::sregex_iterator(list.begin(), list.end(), name); at != std::sregex_iterator(); ++at)
      names.push_back(at->str());
    return names;
  }

  // In a sentence: "3 nodes (2 with the devices: node-a, node-b): cordoned", "node-a (has the devices): cordoned".
  void nodes(const std::string& reason) {
    const std::set<std::string> there = refused(fleet_, reason, false), able = refused(fleet_, reason, true);
    const std::regex& several =
        regex_of("(\\d+) nodes(?: \\(((?:(\\d+|all) with the devices: )?)([^)]*)\\))?: " + pattern_of(reason));
    for (std::smatch match; std::regex_search(text_, match, several);) {
      EXPECT_EQ(match.str(1), std::to_string(there.size())) << match.str();
      const std::string with = able.empty() ? "" : able.size() == there.size() ? "all" : std::to_string(able.size());
      EXPECT_EQ(match.str(3), with) << match.str();
      const std::set<std::string>& named = able.empty() ? there : able;
      check_names(names_in(match.str(4)), named, 3);
      EXPECT_EQ(match.str(4).ends_with("..."), named.size() > 3) << match.str();
      check_cpu(reason, match.str(5), match.str(6));
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
    const std::regex& single = regex_of("(node-[a-z])( \\(has the devices\\))?: " + pattern_of(reason));
    for (std::smatch match; std::regex_search(text_, match, single);) {
      EXPECT_EQ(there, std::set<std::string>{match.str(1)}) << match.str();
      EXPECT_EQ(able.empty(), match.str(2).empty()) << match.str();
      check_cpu(reason, match.str(3), match.str(4));
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
  }

  // On the page: "3  cordoned - 2 have the devices (node-a, node-b)"; and the headline.
  void lines(const std::string& reason) {
    const std::set<std::string> there = refused(fleet_, reason, false), able = refused(fleet_, reason, true);
    const std::regex& line =
        regex_of("(\\d+)  " + pattern_of(reason) +
                 "(?: - (?:(\\d+) ha(?:s|ve) the devices|has the devices))?(?: \\(([^)]*?)(?: and (\\d+) more)?\\))?");
    for (std::smatch match; std::regex_search(text_, match, line);) {
      EXPECT_EQ(match.str(1), std::to_string(there.size())) << match.str();
      const bool some = !able.empty() && able.size() < there.size();
      EXPECT_EQ(match.str(4), some ? std::to_string(able.size()) : "") << match.str();
      const std::set<std::string>& named = able.empty() ? there : able;
      check_names(names_in(match.str(5)), named, 3);
      EXPECT_EQ(match.str(6), named.size() > 3 ? std::to_string(named.size() - 3) : "") << match.str();
      check_cpu(reason, match.str(2), match.str(3));
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
    const std::regex& alone = regex_of(pattern_of(reason));
    for (std::smatch match; reason == kCpu && std::regex_search(text_, match, alone);) {
      check_cpu(reason, match.str(1), match.str(2));
      text_ = match.prefix().str() + "_" + match.suffix().str();
    }
  }

  const Fleet& fleet_;
  std::string text_;
};

bool does_fit(const Fleet& fleet) {
  return std::any_of(fleet.machines.begin(), fleet.machines.end(), [&](const Machine& machine) {
    return refusal_of(fleet, machine).empty() && usable_on(fleet, machine) >= fleet.wanted;
  });
}

// Nothing that ends helps: then it comes before everything else.
bool is_never(const Fleet& fleet) {
  return std::all_of(fleet.machines.begin(), fleet.machines.end(), [&](const Machine& machine) {
    return refusal_of(fleet, machine).empty() &&
           count_on(machine, [&](const Gpu& gpu) { return is_selected(fleet, gpu); }) < fleet.wanted;
  });
}

TEST(Numbers, AreThoseOfASlowTwin) {
  const uint64_t first = test::number_from("DRA_SEED", 1), cases = test::number_from("DRA_NUMBER_CASES", 2000);
  size_t refusals = 0, never = 0, numbers = 0;
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE("DRA_SEED=" + std::to_string(seed));
    const Fleet fleet = random_fleet(seed);
    Cluster cluster(fleet);
    const Verdict verdict = cluster.judge();
    ASSERT_EQ(verdict.answer == Answer::kFits, does_fit(fleet)) << sentence(verdict);
    if (verdict.answer == Answer::kFits) continue;
    ++refusals;
    const std::string said = sentence(verdict), page = text(verdict, {10'000, false});
    SCOPED_TRACE(said + "\n" + page);
    for (const char c : said + page) numbers += c >= '0' && c <= '9';
    Reader(fleet, said).check();
    Reader(fleet, page).check();
    const Sum selected = sum_of(fleet, is_there, [&](const Gpu& gpu) { return is_selected(fleet, gpu); });
    if (fleet.wanted > 1 && is_never(fleet) && selected.all >= fleet.wanted) {
      ++never;
      EXPECT_EQ(said.find("no node can provide " + std::to_string(fleet.wanted) + " x gpu: never fits, as no node has"),
                0u);
      EXPECT_TRUE(page.starts_with("Does not fit, and never will: no node has more than "));
    }
    if (testing::Test::HasFailure()) return;
  }
  std::cout << refusals << " refusals of " << cases << " questions, " << numbers << " digits, " << never
            << " never fit\n";
}

}  // namespace
}  // namespace dra::verdict::numbers_test
