// The same rails for the members of a group: named cases, and random small groups against a twin that tries everything.
// DRA_SEED picks another start, DRA_RAIL_CASES another number.
#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "pkg/alignment/rail_values.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/gang/gang.h"
#include "pkg/gang/testing/cpu_nodes.h"
#include "pkg/inventory/device_values.h"
#include "test/oracle/rails.h"
#include "test/support/environment.h"

namespace dra::gang::rails_test {
namespace {

constexpr const char* kNicDriver = "nic.example.com";
const std::vector<std::string> kAttributes = {"net.example.com/rail", "net.example.com/plane"};

// A world that the twin can read by sight: NICs by number.
struct TwinNic {
  size_t node = 0;
  std::vector<std::vector<int64_t>> values;  // by attribute; empty: it lacks it
  bool held = false;
  bool shared = false;
};
struct TwinRequest {
  std::vector<int> counts;  // by alternative; 0: all of the node
};
struct TwinMember {
  std::vector<TwinRequest> requests;
};
struct TwinRule {
  size_t attribute = 0;
  bool soft = false;
  std::vector<std::vector<size_t>> of;       // by member: requests
  std::vector<std::vector<size_t>> running;  // NICs of members that run
};
struct TwinGroup {
  size_t nodes = 0;
  std::vector<TwinNic> nics;
  std::vector<TwinMember> members;
  std::vector<TwinRule> rules;
  size_t min_count = 0;
};

oracle::RailValues values_of(const TwinNic& nic, size_t attribute) {
  oracle::RailValues out;
  for (const int64_t value : nic.values[attribute]) out.insert(std::to_string(value));
  return out;
}

// NICs by member and request; a member without requests is not placed.
using Picks = std::vector<std::vector<std::vector<size_t>>>;

bool rule_holds(const TwinGroup& group, const TwinRule& rule, const Picks& picks) {
  std::vector<oracle::RailDevices> members;
  for (const auto& nics : rule.running) {
    oracle::RailDevices& devices = members.emplace_back();
    for (const size_t nic : nics) devices.push_back(values_of(group.nics[nic], rule.attribute));
  }
  for (size_t m = 0; m < picks.size(); ++m) {
    if (picks[m].empty() || rule.of[m].empty()) continue;
    oracle::RailDevices& devices = members.emplace_back();
    for (const size_t request : rule.of[m])
      for (const size_t nic : picks[m][request]) devices.push_back(values_of(group.nics[nic], rule.attribute));
  }
  return oracle::same_rails(members);
}

class Twin {
 public:
  explicit Twin(const TwinGroup& group) : group_(group), picks_(group.members.size()), used_(group.nics.size(), 0) {}

  static constexpr uint64_t kMostSteps = 40'000;
  bool too_big() const { return steps_ > kMostSteps; }

  // By rule, whether it is met; nothing: the hard ones cannot be.
  std::optional<std::vector<bool>> solve() {
    place(0, 0);
    uint32_t goal = 0;
    for (size_t r = 0; r < group_.rules.size(); ++r)
      if (!group_.rules[r].soft) goal |= 1u << r;
    const auto possible = [&](uint32_t wanted) {
      return std::any_of(masks_.begin(), masks_.end(), [&](uint32_t mask) { return (mask & wanted) == wanted; });
    };
    if (!possible(goal)) return std::nullopt;
    for (size_t r = 0; r < group_.rules.size(); ++r) {
      if (group_.rules[r].soft || run_together(group_.rules[r])) continue;
      return std::nullopt;  // nobody can join
    }
    for (size_t r = 0; r < group_.rules.size(); ++r)
      if (run_together(group_.rules[r]) && possible(goal | 1u << r)) goal |= 1u << r;
    std::vector<bool> met;
    for (size_t r = 0; r < group_.rules.size(); ++r) met.push_back(goal >> r & 1);
    return met;
  }

 private:
  bool run_together(const TwinRule& rule) const { return rule_holds(group_, rule, Picks(group_.members.size())); }

  void place(size_t m, size_t placed) {
    if (++steps_ > kMostSteps || placed + group_.members.size() - m < group_.min_count) return;
    if (m == group_.members.size()) {
      uint32_t mask = 0;
      for (size_t r = 0; r < group_.rules.size(); ++r)
        if (rule_holds(group_, group_.rules[r], picks_)) mask |= 1u << r;
      masks_.insert(mask);
      return;
    }
    place(m + 1, placed);
    for (size_t node = 0; node < group_.nodes; ++node) {
      picks_[m].assign(group_.members[m].requests.size(), {});
      take(m, node, 0, placed);
    }
    picks_[m].clear();
  }

  void take(size_t m, size_t node, size_t request, size_t placed) {
    if (request == group_.members[m].requests.size()) return place(m + 1, placed + 1);
    for (const int count : group_.members[m].requests[request].counts) {
      std::vector<size_t> own;
      for (size_t n = 0; n < group_.nics.size(); ++n)
        if (group_.nics[n].node == node) own.push_back(n);
      for (uint32_t set = 1; set < 1u << own.size(); ++set) {
        const auto size = static_cast<int>(std::popcount(set));
        if (count == 0 ? set + 1 != 1u << own.size() : size != count) continue;
        std::vector<size_t> nics;
        for (size_t i = 0; i < own.size(); ++i)
          if (set >> i & 1) nics.push_back(own[i]);
        const bool free = std::all_of(nics.begin(), nics.end(), [&](size_t nic) {
          return group_.nics[nic].shared || (!group_.nics[nic].held && used_[nic] == 0);
        });
        if (!free) continue;
        for (const size_t nic : nics) ++used_[nic];
        picks_[m][request] = nics;
        take(m, node, request + 1, placed);
        picks_[m][request].clear();
        for (const size_t nic : nics) --used_[nic];
      }
    }
  }

  const TwinGroup& group_;
  Picks picks_;
  std::vector<int> used_;
  std::set<uint32_t> masks_;
  uint64_t steps_ = 0;
};

TwinGroup random_group(uint64_t seed) {
  SeededRandom random(seed);
  const auto below = [&](uint64_t n) { return random.below(n); };
  const auto one_in = [&](uint64_t n) { return random.below(n) == 0; };
  TwinGroup group;
  group.nodes = 1 + below(3);
  const uint64_t values = 2 + below(3);
  for (size_t node = 0; node < group.nodes; ++node)
    for (uint64_t i = 2 + below(3); i-- > 0;) {
      TwinNic& nic = group.nics.emplace_back();
      nic.node = node;
      nic.held = one_in(6);
      nic.shared = one_in(10);
      for (size_t a = 0; a < kAttributes.size(); ++a) {
        std::vector<int64_t>& own = nic.values.emplace_back();
        if (one_in(10)) continue;
        own.push_back(static_cast<int64_t>(below(values)));
        if (one_in(5)) own.push_back(static_cast<int64_t>(below(values)));
      }
    }
  for (uint64_t i = 1 + below(3); i-- > 0;) {
    TwinMember& member = group.members.emplace_back();
    for (uint64_t r = one_in(4) ? 2 : 1; r-- > 0;) {
      TwinRequest& request = member.requests.emplace_back();
      request.counts.push_back(one_in(12) ? 0 : static_cast<int>(1 + below(3)));
      if (one_in(5)) request.counts.push_back(static_cast<int>(1 + below(2)));
    }
    if (i > 0 && one_in(2)) group.members.push_back(member), --i;
  }
  group.min_count = group.members.size();
  if (one_in(4)) group.min_count = 1 + below(group.members.size());
  for (const bool soft : {false, true})
    for (size_t a = 0; a < kAttributes.size(); ++a) {
      if (!one_in(a == 0 ? 2 : 3) && !(a == 0 && !soft && one_in(2))) continue;
      TwinRule& rule = group.rules.emplace_back();
      rule.attribute = a;
      rule.soft = soft;
      for (const TwinMember& member : group.members) {
        std::vector<size_t>& of = rule.of.emplace_back();
        if (one_in(8)) continue;
        for (size_t r = 0; r < member.requests.size(); ++r)
          if (of.empty() || one_in(2)) of.push_back(r);
      }
      // NICs that are held by members that run.
      for (uint64_t i = one_in(3) ? 1 + below(2) : 0; i-- > 0;) {
        std::vector<size_t> nics;
        for (size_t n = 0; n < group.nics.size(); ++n)
          if (group.nics[n].held && one_in(2)) nics.push_back(n);
        if (!nics.empty()) rule.running.push_back(nics);
      }
    }
  return group;
}

// The same group on the real search.
class Scenario {
 public:
  explicit Scenario(const TwinGroup& group) : group_(group), allocator_(inventory_, {}, random_) {
    api::DeviceClass device_class;
    device_class.metadata.name = "nic";
    device_class.selectors.push_back(std::string("device.driver == \"") + kNicDriver + "\"");
    inventory_.apply_class(device_class);
    for (size_t node = 0; node < group.nodes; ++node) add_node(node);
    hold();
    for (size_t m = 0; m < group.members.size(); ++m) add_member(m);
    for (const TwinRule& rule : group.rules) add_rule(rule);
    request_.uid = request_.name = "default/group";
    request_.min_count = static_cast<uint32_t>(group.min_count);
  }

  Decision decide(uint64_t slice_steps) {
    ManualClock clock;
    Options options;
    if (slice_steps > 0) options.slice = {slice_steps, std::chrono::milliseconds(5), &clock};
    Gangs gangs(inventory_, allocator_, options);
    CpuNodes nodes(nodes_, std::vector<int64_t>(request_.members.size(), 0));
    Decision decision;
    do decision = gangs.decide(request_, nodes);
    while (decision.outcome == Outcome::kUnfinished && ++slices_ < 10'000);
    EXPECT_EQ(nodes.placed(), 0u);
    return decision;
  }

  // NICs of the decision; what is not as it should be is `why`.
  Picks picks(const Decision& decision, std::string& why) const {
    Picks out(group_.members.size());
    for (const Placed& placed : decision.members) {
      out[placed.member].resize(group_.members[placed.member].requests.size());
      for (const ClaimResult& one : decision.claims) {
        if (one.claim->metadata.uid != "claim-" + std::to_string(placed.member)) continue;
        for (const api::DeviceRequestAllocationResult& device : one.result.results) {
          const auto request = static_cast<size_t>(device.request[1] - '0');
          const size_t nic = std::stoul(device.device.substr(4));
          if (inventory_.node_name(placed.node) != node_name(group_.nics[nic].node)) why += "a NIC of another node; ";
          out[placed.member][request].push_back(nic);
        }
      }
    }
    std::vector<int> used(group_.nics.size(), 0);
    for (const auto& member : out)
      for (const auto& nics : member)
        for (const size_t nic : nics)
          if (!group_.nics[nic].shared && (group_.nics[nic].held || ++used[nic] > 1)) why += "a NIC twice; ";
    return out;
  }

  const std::vector<RailRule>& rails() const { return request_.rails; }
  int slices() const { return slices_; }

 private:
  static std::string node_name(size_t node) { return "n" + std::to_string(node); }

  void add_node(size_t node) {
    nodes_.push_back({inventory_.apply_node(node_name(node), {}), 1000, {}});
    api::ResourceSlice slice;
    slice.metadata.name = slice.node_name = node_name(node);
    slice.driver = kNicDriver;
    slice.pool = {node_name(node), 1, 1};
    for (size_t n = 0; n < group_.nics.size(); ++n) {
      if (group_.nics[n].node != node) continue;
      api::Device& device = slice.devices.emplace_back();
      device.name = "nic-" + std::to_string(n);
      device.allow_multiple_allocations = group_.nics[n].shared;
      for (size_t a = 0; a < kAttributes.size(); ++a) {
        const std::vector<int64_t>& values = group_.nics[n].values[a];
        if (values.size() == 1) device.attributes[kAttributes[a]] = values[0];
        if (values.size() > 1) device.attributes[kAttributes[a]] = values;
      }
    }
    inventory_.apply_slice(slice);
  }

  void hold() {
    for (size_t n = 0; n < group_.nics.size(); ++n) {
      if (!group_.nics[n].held || group_.nics[n].shared) continue;
      api::AllocationResult result;
      api::DeviceRequestAllocationResult& device = result.results.emplace_back();
      device.request = "held";
      device.driver = kNicDriver;
      device.pool = node_name(group_.nics[n].node);
      device.device = "nic-" + std::to_string(n);
      inventory_.apply_allocation("holder-" + std::to_string(n), result);
    }
  }

  static api::DeviceSubRequest wants(int count) {
    api::DeviceSubRequest body;
    body.device_class_name = "nic";
    body.allocation_mode = count == 0 ? "All" : "ExactCount";
    body.count = count;
    return body;
  }

  void add_member(size_t m) {
    Member& member = request_.members.emplace_back();
    member.name = member.uid = "pod-" + std::to_string(m);
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = claim->metadata.uid = "claim-" + std::to_string(m);
    claim->metadata.ns = "default";
    for (size_t r = 0; r < group_.members[m].requests.size(); ++r) {
      const std::vector<int>& counts = group_.members[m].requests[r].counts;
      api::DeviceRequest& request = claim->spec.requests.emplace_back();
      request.name = "r" + std::to_string(r);
      if (counts.size() == 1) request.exactly = wants(counts[0]);
      for (size_t i = 0; counts.size() > 1 && i < counts.size(); ++i) {
        request.first_available.push_back(wants(counts[i]));
        request.first_available.back().name = "s" + std::to_string(i);
      }
      for (const int count : counts) member.shape += std::to_string(count) + ' ';
      member.shape += ';';
    }
    member.claims.push_back(std::move(claim));
  }

  void add_rule(const TwinRule& rule) {
    RailRule& made = request_.rails.emplace_back();
    made.attribute = kAttributes[rule.attribute];
    made.soft = rule.soft;
    for (const auto& requests : rule.of) {
      RailRule::Of& of = made.of.emplace_back();
      for (const size_t r : requests) of.requests.emplace_back(0, "r" + std::to_string(r));
    }
    for (const auto& nics : rule.running) {
      auto& [name, devices] = made.running.emplace_back();
      name = "running-" + std::to_string(made.running.size());
      for (const size_t nic : nics)
        devices.push_back(*inventory::device_values(inventory_.device_index(), kNicDriver,
                                                    node_name(group_.nics[nic].node), "nic-" + std::to_string(nic),
                                                    made.attribute));
    }
  }

  const TwinGroup& group_;
  inventory::Inventory inventory_{inventory::Features::all()};
  SeededRandom random_{1};
  allocator::Allocator allocator_;
  std::vector<CpuNodes::Node> nodes_;
  GangRequest request_;
  int slices_ = 0;
};

std::string shown(const TwinGroup& group) {
  std::string text;
  for (size_t n = 0; n < group.nics.size(); ++n) {
    const TwinNic& nic = group.nics[n];
    text += "nic " + std::to_string(n) + " on n" + std::to_string(nic.node) + (nic.held ? " held" : "") +
            (nic.shared ? " shared" : "") + ":";
    for (const auto& values : nic.values) {
      text += " {";
      for (const int64_t value : values) text += ' ' + std::to_string(value);
      text += " }";
    }
    text += '\n';
  }
  for (const TwinMember& member : group.members) {
    text += "member:";
    for (const TwinRequest& request : member.requests) {
      text += " (";
      for (const int count : request.counts) text += ' ' + std::to_string(count);
      text += " )";
    }
    text += '\n';
  }
  for (const TwinRule& rule : group.rules) {
    text += kAttributes[rule.attribute] + (rule.soft ? " soft" : " hard") + ":";
    for (const auto& of : rule.of) {
      text += " [";
      for (const size_t r : of) text += ' ' + std::to_string(r);
      text += " ]";
    }
    for (const auto& nics : rule.running) {
      text += " running";
      for (const size_t nic : nics) text += ' ' + std::to_string(nic);
    }
    text += '\n';
  }
  return text + "min " + std::to_string(group.min_count);
}

// How the decision differs from the twin's; "" if it does not.
std::string difference(const TwinGroup& group, const Scenario& scenario, const Decision& decision,
                       const std::optional<std::vector<bool>>& expected) {
  if (decision.outcome == Outcome::kError) return "error: " + decision.error->message();
  if (decision.outcome == Outcome::kBudgetSpent) return "undecided: " + decision.reason;
  if (decision.outcome == Outcome::kUnfinished) return "never finished";
  if (decision.outcome == Outcome::kInfeasible)
    return expected ? "said to be impossible: " + decision.reason : std::string();
  if (!expected) return "found, but the twin says there is none";
  std::string why;
  const Picks picks = scenario.picks(decision, why);
  if (decision.members.size() < group.min_count) why += "too few members; ";
  for (size_t r = 0; r < group.rules.size(); ++r) {
    if (decision.rails_met[r] != (*expected)[r])
      why += "rule " + std::to_string(r) + ((*expected)[r] ? " could be met; " : " is said to be met; ");
    if (decision.rails_met[r] && !rule_holds(group, group.rules[r], picks))
      why += "rule " + std::to_string(r) + " does not hold; ";
  }
  return why;
}

TEST(Rails, AgreeWithATwinThatTriesEverything) {
  const uint64_t first = test::number_from("DRA_SEED", 1);
  const uint64_t cases = test::number_from("DRA_RAIL_CASES", 2'000);
  std::cout << "random groups from seed " << first << ", " << cases << " of them\n";
  uint64_t found = 0, impossible = 0, too_big = 0, unmet = 0, slices = 0;
  int failures = 0;
  for (uint64_t seed = first; seed < first + cases && failures < 5; ++seed) {
    const TwinGroup group = random_group(seed);
    Twin twin(group);
    const std::optional<std::vector<bool>> expected = twin.solve();
    if (twin.too_big()) {
      ++too_big;
      continue;
    }
    Scenario scenario(group);
    const Decision decision = scenario.decide(seed % 3 == 0 ? 40 : 0);
    const std::string why = difference(group, scenario, decision, expected);
    if (!why.empty()) {
      ADD_FAILURE() << "seed " << seed << ": " << why << "\n" << shown(group);
      ++failures;
    }
    found += decision.outcome == Outcome::kFeasible;
    impossible += decision.outcome == Outcome::kInfeasible;
    slices += static_cast<uint64_t>(scenario.slices());
    if (expected) unmet += std::count(expected->begin(), expected->end(), false) > 0;
  }
  std::cout << found << " found (" << unmet << " with an unmet soft rule), " << impossible << " impossible, " << too_big
            << " too big for the twin, " << slices << " slices\n";
  EXPECT_GT(found, cases / 10);
  EXPECT_GT(impossible, cases / 10);
  EXPECT_LT(too_big, cases / 5 + 1);
}

// The check before marks, against trying every list.
TEST(Rails, AgreementIsWhatTryingEveryListSays) {
  SeededRandom random(test::number_from("DRA_SEED", 1));
  uint64_t agreed = 0;
  constexpr uint64_t kCases = 5'000;
  for (uint64_t i = 0; i < kCases; ++i) {
    std::vector<alignment::MemberRails> members;
    std::vector<oracle::RailDevices> twins;
    const uint64_t values = 2 + random.below(4);
    for (uint64_t m = random.below(4); m-- > 0;) {
      alignment::MemberRails& member = members.emplace_back();
      oracle::RailDevices& twin = twins.emplace_back();
      for (uint64_t d = 1 + random.below(3); d-- > 0;) {
        oracle::RailValues& own = twin.emplace_back();
        for (uint64_t v = random.below(12) == 0 ? 0 : 1 + random.below(random.below(3) == 0 ? 3 : 1); v-- > 0;)
          own.insert("i" + std::to_string(random.below(values)));
        member.emplace_back(own.begin(), own.end());
      }
    }
    const alignment::Agreement agreement = alignment::agree(members);
    ASSERT_NE(agreement, alignment::Agreement::kUndecided);
    const bool expected = oracle::same_rails(twins);
    ASSERT_EQ(agreement == alignment::Agreement::kAgree, expected) << "case " << i;
    agreed += expected ? 1 : 0;
  }
  EXPECT_GT(agreed, kCases / 10);
  EXPECT_LT(agreed, kCases - kCases / 10);
}

// 32 devices a member with 64 values each: comparing them ends, with the answer that nobody knows.
TEST(Rails, TheWorstListsEndWithinTheSteps) {
  std::vector<alignment::MemberRails> members(3);
  for (size_t m = 0; m < members.size(); ++m)
    for (size_t d = 0; d < 32; ++d) {
      alignment::DeviceRails& device = members[m].emplace_back();
      for (size_t v = 0; v < 64; ++v) device.push_back("s" + std::to_string(100 + v + (m == 2 ? 40 : 0)));
      if (m == 2 && d < 10) device = {"s999"};
    }
  EXPECT_NE(alignment::agree(members), alignment::Agreement::kAgree);
}

// ---- named cases

TwinGroup two_nodes(const std::vector<int64_t>& a, const std::vector<int64_t>& b, std::vector<TwinMember> members) {
  TwinGroup group;
  group.nodes = 2;
  for (const auto& [node, rails] : {std::pair(size_t{0}, a), std::pair(size_t{1}, b)})
    for (const int64_t rail : rails) {
      TwinNic& nic = group.nics.emplace_back();
      nic.node = node;
      nic.values = {{rail}, {}};
    }
  group.members = std::move(members);
  group.min_count = group.members.size();
  TwinRule& rule = group.rules.emplace_back();
  rule.of.assign(group.members.size(), {0});
  return group;
}

std::multiset<int64_t> rails_of(const TwinGroup& group, const std::vector<size_t>& nics) {
  std::multiset<int64_t> out;
  for (const size_t nic : nics) out.insert(group.nics[nic].values[0][0]);
  return out;
}

TEST(Rails, TwoMembersTakeTheRailsThatBothHave) {
  const TwinGroup group = two_nodes({0, 1, 3, 6}, {2, 3, 4, 6}, {{{{{2}}}}, {{{{2}}}}});
  Scenario scenario(group);
  const Decision decision = scenario.decide(0);
  ASSERT_EQ(decision.outcome, Outcome::kFeasible);
  std::string why;
  const Picks picks = scenario.picks(decision, why);
  EXPECT_EQ(why, "");
  for (const auto& member : picks) EXPECT_EQ(rails_of(group, member[0]), (std::multiset<int64_t>{3, 6}));
}

TEST(Rails, TheReasonNamesTheBestChoice) {
  const TwinGroup group = two_nodes({0, 1, 2, 3, 4}, {2, 3, 4, 5, 6}, {{{{{4}}}}, {{{{4}}}}});
  Scenario scenario(group);
  const Decision decision = scenario.decide(0);
  EXPECT_EQ(decision.outcome, Outcome::kInfeasible);
  EXPECT_NE(decision.reason.find("no values of net.example.com/rail are free for 2 members together"),
            std::string::npos)
      << decision.reason;
  EXPECT_FALSE(decision.never);
}

// A member with fewer devices is on some of the rails of the one with the most.
TEST(Rails, PrefillIsOnRailsOfDecode) {
  TwinGroup group = two_nodes({1, 5, 6}, {2, 3, 4, 5, 6}, {{{{{1}}}}, {{{{1}}}}, {{{{4}}}}});
  Scenario scenario(group);
  const Decision decision = scenario.decide(0);
  ASSERT_EQ(decision.outcome, Outcome::kFeasible);
  std::string why;
  const Picks picks = scenario.picks(decision, why);
  std::multiset<int64_t> prefill = rails_of(group, picks[0][0]);
  prefill.merge(rails_of(group, picks[1][0]));
  EXPECT_EQ(prefill, (std::multiset<int64_t>{5, 6}));
}

TEST(Rails, ShortSlicesGiveTheSameAnswer) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const TwinGroup group = random_group(seed);
    Scenario whole(group), sliced(group);
    const Decision expected = whole.decide(0), decision = sliced.decide(10);
    EXPECT_EQ(decision.outcome, expected.outcome) << "seed " << seed;
  }
}

// 70 choices of rails are equally good: which one is taken must not depend on how busy the machine is. Nodes with one
// rail each make the choosing longer than a slice.
TEST(Rails, ShortSlicesGiveTheSameDevices) {
  TwinGroup group = two_nodes({0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {{{{{2}}}}, {{{{4}}}}});
  for (; group.nodes < 80; ++group.nodes) {
    TwinNic& nic = group.nics.emplace_back();
    nic.node = group.nodes;
    nic.values = {{static_cast<int64_t>(group.nodes + 100)}, {}};
  }
  Scenario whole(group);
  std::string why;
  const Picks expected = whole.picks(whole.decide(0), why);
  for (uint64_t steps = 1; steps < 400; steps += 50) {
    Scenario sliced(group);
    const Picks picks = sliced.picks(sliced.decide(steps), why);
    EXPECT_GT(sliced.slices(), 1);
    EXPECT_EQ(picks, expected) << steps << " steps a slice";
  }
  EXPECT_EQ(why, "");
}

}  // namespace
}  // namespace dra::gang::rails_test
