#include "test/oracle/groups.h"

#include <algorithm>
#include <functional>
#include <set>

#include "test/oracle/generator_dice.h"
#include "test/oracle/scene.h"

namespace dra::oracle {
namespace {

std::string text_of(Amount amount) {
  std::string fraction = std::to_string(static_cast<int64_t>(amount % kOne));
  return std::to_string(static_cast<int64_t>(amount / kOne)) + "." + std::string(9 - fraction.size(), '0') + fraction;
}

// From now on the devices are held, each share under its own number.
void hold(World& world, const Scene& scene, const std::vector<Pick>& picks) {
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    const api::DeviceRequest& request = scene.world->claims[pick.option->claim].spec.requests[pick.option->request];
    if (request.exactly && request.exactly->admin_access) continue;
    if (!device.shared) {
      world.allocated.insert(device.name);
      continue;
    }
    world.allocated_shares.insert({device.name, "group-" + std::to_string(world.allocated_shares.size())});
    const auto amounts = amounts_taken(*pick.option->spec, *device.device);
    if (!amounts) continue;
    for (const auto& [name, amount] : *amounts) {
      std::string& consumed = world.consumed[device.name][name];
      consumed = text_of(amount + (consumed.empty() ? 0 : parse_amount(consumed).value_or(0)));
    }
  }
}

// Where an allocation of these devices, made for the scene's node, can be used (see Checker::check_node_selector).
std::optional<api::NodeSelector> selector_of(const Scene& scene, const std::vector<Pick>& picks) {
  api::NodeSelectorTerm merged;
  for (const Pick& pick : picks) {
    const SceneDevice& device = scene.devices[pick.device];
    const bool own = device.slice->per_device_node_selection;
    const std::string& node_name = own ? device.device->node_name : device.slice->node_name;
    if (!node_name.empty() || (device.device->binds_to_node && scene.world->on("DRADeviceBindingConditions")))
      return api::NodeSelector{{{{}, {{"metadata.name", "In", {scene.node->metadata.name}}}}}};
    const auto& selector = own ? device.device->node_selector : device.slice->node_selector;
    if (!selector) continue;
    for (const api::NodeSelectorTerm& term : selector->terms) {
      if (!node_matches(api::NodeSelector{{term}}, *scene.node)) continue;
      for (const auto& one : term.match_expressions) merged.match_expressions.push_back(one);
      for (const auto& one : term.match_fields) merged.match_fields.push_back(one);
      break;
    }
  }
  if (merged.match_expressions.empty() && merged.match_fields.empty()) return std::nullopt;
  return api::NodeSelector{{merged}};
}

class GroupSearch {
 public:
  GroupSearch(const GroupWorld& group, uint64_t max_steps) : group_(group), left_(max_steps) {}

  GroupVerdict run() {
    GroupVerdict verdict;
    std::set<std::string> values{""};
    if (group_.required) {
      values.clear();
      for (const api::Node& node : group_.world.nodes)
        if (const auto label = node.metadata.labels.find(*group_.required); label != node.metadata.labels.end())
          values.insert(label->second);
    }
    for (const std::string& value : values) {
      State state{group_.world, group_.cpu, std::vector<int>(group_.members.size(), -1), {}};
      domain_ = value;
      seen_.clear();
      if (place(state, 0)) {
        verdict.answer = Answer::kFeasible;
        verdict.places = places_;
        return verdict;
      }
    }
    if (left_ == 0) verdict.answer = Answer::kTooBig;
    return verdict;
  }

 private:
  struct State {
    World world;  // decided claims have their selector in status.allocation
    std::vector<int64_t> cpu;
    std::vector<int> node_of;
    std::set<std::string> devices;  // of decided claims
  };

  bool in_domain(size_t n) const {
    if (!group_.required) return true;
    const api::StringMap& labels = group_.world.nodes[n].metadata.labels;
    const auto label = labels.find(*group_.required);
    return label != labels.end() && label->second == domain_;
  }

  static std::string key_of(const State& state) {
    std::string key;
    for (const int node : state.node_of) key += std::to_string(node) + ",";
    for (const std::string& device : state.devices) key += device + ";";
    for (const auto& [name, consumed] : state.world.consumed)
      for (const auto& [capacity, amount] : consumed) key += name.text() + capacity + amount;
    return key;
  }

  bool place(const State& state, size_t placed) {
    if (group_.parts.empty() ? placed >= group_.min_count : is_enough(state, 0)) return true;
    if (left_ == 0 || !seen_.insert(key_of(state)).second) return false;
    for (size_t m = 0; m < group_.members.size(); ++m)
      for (size_t n = 0; state.node_of[m] < 0 && n < state.cpu.size(); ++n)
        if (place_on(state, placed, m, n)) return true;
    // A shared claim may be decided for any node that one of its members might go to.
    for (size_t c = 0; c < state.world.claims.size(); ++c)
      for (size_t n = 0; users(c) > 1 && !state.world.claims[c].status.allocation && n < state.cpu.size(); ++n)
        if (in_domain(n) && any_cpu(n) &&
            decide(state, {c}, n, "shared claim", [&](const State& next) { return place(next, placed); }))
          return true;
    return false;
  }

  // A larger set of members than this part needs was a smaller one before, so that nobody need be left out here.
  bool is_enough(const State& state, size_t part) const {
    const GroupPartOf& own = group_.parts[part];
    size_t count = 0;
    for (const size_t member : own.members) count += state.node_of[member] >= 0;
    for (size_t child = part + 1; child < group_.parts.size(); ++child)
      if (group_.parts[child].parent == part) count += is_enough(state, child);
    if (count < own.need) return false;
    if (!own.required) return true;
    std::set<std::string> values;
    for (const size_t member : members_below(part)) {
      if (state.node_of[member] < 0) continue;
      const api::StringMap& labels = group_.world.nodes[static_cast<size_t>(state.node_of[member])].metadata.labels;
      const auto label = labels.find(*own.required);
      if (label == labels.end()) return false;
      values.insert(label->second);
    }
    return values.size() <= 1;
  }

  std::vector<size_t> members_below(size_t part) const {
    std::vector<size_t> all = group_.parts[part].members;
    for (size_t child = part + 1; child < group_.parts.size(); ++child)
      if (group_.parts[child].parent == part)
        for (const size_t member : members_below(child)) all.push_back(member);
    return all;
  }

  bool any_cpu(size_t n) const {
    return std::any_of(group_.members.begin(), group_.members.end(),
                       [&](const GroupMember& member) { return member.cpu <= group_.cpu[n]; });
  }

  size_t users(size_t claim) const {
    size_t count = 0;
    for (const GroupMember& member : group_.members)
      count += std::count(member.claims.begin(), member.claims.end(), claim) > 0;
    return count;
  }

  bool place_on(const State& state, size_t placed, size_t m, size_t n) {
    const GroupMember& member = group_.members[m];
    if (!in_domain(n) || state.cpu[n] < member.cpu) return false;
    std::vector<size_t> open;
    for (const size_t c : member.claims) {
      const auto& allocation = state.world.claims[c].status.allocation;
      if (!allocation) {
        if (std::find(open.begin(), open.end(), c) == open.end()) open.push_back(c);
      } else if (allocation->node_selector && !node_matches(*allocation->node_selector, state.world.nodes[n])) {
        return false;
      }
    }
    return decide(state, open, n, "member " + std::to_string(m), [&](State next) {
      next.cpu[n] -= member.cpu;
      next.node_of[m] = static_cast<int>(n);
      return place(next, placed + 1);
    });
  }

  // Calls `then` with each way to decide the claims for the node.
  bool decide(const State& state, const std::vector<size_t>& claims, size_t n, const std::string& who,
              const std::function<bool(State)>& then) {
    World asked = state.world;
    asked.claims.clear();
    for (const size_t c : claims) asked.claims.push_back(state.world.claims[c]);
    const Scene scene = build_scene(asked, asked.nodes[n]);
    if (!scene.error.empty()) return false;
    bool found = false;
    const bool whole = for_each_solution(scene, 20'000, [&](const std::vector<Pick>& picks) {
      if (found || left_ == 0) return;
      --left_;
      State next = state;
      hold(next.world, scene, picks);
      std::string line = who + " on " + asked.nodes[n].metadata.name + " with";
      for (size_t i = 0; i < claims.size(); ++i) {
        std::vector<Pick> own;
        for (const Pick& pick : picks)
          if (pick.option->claim == i) own.push_back(pick);
        api::AllocationResult& result = next.world.claims[claims[i]].status.allocation.emplace();
        result.node_selector = selector_of(scene, own);
        next.devices.insert("claim " +
                            (users(claims[i]) > 1 ? std::to_string(claims[i]) + asked.nodes[n].metadata.name : ""));
      }
      for (const Pick& pick : picks) {
        next.devices.insert(scene.devices[pick.device].name.text());
        line += " " + scene.devices[pick.device].name.text();
      }
      places_.push_back(line);
      found = then(std::move(next));
      if (!found) places_.pop_back();
    });
    if (!whole) left_ = 0;
    return found;
  }

  const GroupWorld& group_;
  uint64_t left_;
  std::string domain_;
  std::set<std::string> seen_;
  std::vector<std::string> places_;
};

// Decides some claims beforehand, as if another controller had.
void allocate_some(GroupWorld& group, Dice& dice) {
  for (api::ResourceClaim& claim : group.world.claims) {
    if (!dice.chance(12)) continue;
    World alone = group.world;
    alone.claims = {claim};
    const api::Node& node = dice.one_of(alone.nodes);
    const Scene scene = build_scene(alone, node);
    if (!scene.error.empty()) continue;
    std::vector<Pick> first;
    bool any = false;
    for_each_solution(scene, 2'000, [&](const std::vector<Pick>& picks) {
      if (!any) first = picks;
      any = true;
    });
    if (!any) continue;
    hold(group.world, scene, first);
    claim.status.allocation.emplace().node_selector = selector_of(scene, first);
  }
}

// Usually one that fits on some node: groups of which no member fits test little.
api::ResourceClaim possible_claim(const World& world, const Ingredients& with, Dice& dice) {
  World alone = world;
  for (int tries = dice.between(1, 12);; --tries) {
    alone.claims = {random_claim(7, 3, with, dice)};
    if (tries == 0 || solve(alone, 2'000).answer == Answer::kFeasible) return alone.claims[0];
  }
}

}  // namespace

GroupWorld random_group(uint64_t seed) {
  Dice dice(seed * 0x9e3779b97f4a7c15ull + 17);
  Ingredients with;
  with.max_claims = 1;
  with.max_devices = dice.between(3, 8);
  with.limits = false;
  with.odd_pools = dice.chance(20);
  with.selector_errors = false;
  with.taints = dice.chance(30);
  with.per_device_nodes = dice.chance(40);
  with.gates_off = false;
  GroupWorld group;
  group.world = random_world(dice.below(1u << 30), with);
  std::vector<api::ResourceClaim> templates;
  const int kinds = dice.chance(60) ? 2 : 1;
  for (int k = 0; k < kinds; ++k) templates.push_back(possible_claim(group.world, with, dice));
  group.world.claims.clear();
  const auto add_claim = [&](const api::ResourceClaim& spec) {
    api::ResourceClaim claim = spec;
    claim.metadata.name = claim.metadata.uid = "g" + std::to_string(group.world.claims.size());
    group.world.claims.push_back(std::move(claim));
    return group.world.claims.size() - 1;
  };
  const int members = dice.between(2, 4);
  std::optional<size_t> shared;
  if (dice.chance(30)) shared = add_claim(templates.back());
  for (int m = 0; m < members; ++m) {
    GroupMember& member = group.members.emplace_back();
    const size_t kind = dice.below(templates.size());
    member.cpu = dice.chance(60) ? 1 : dice.between(0, 2);
    if (dice.chance(85)) member.claims.push_back(add_claim(templates[kind]));
    if (shared && dice.chance(70)) member.claims.push_back(*shared);
    if (dice.chance(70))
      member.shape = "t" + std::to_string(member.claims.empty() ? -1 : static_cast<int>(kind)) + "c" +
                     std::to_string(member.claims.size()) +
                     (member.claims.empty() || (shared && member.claims[0] == *shared) ? "s" : "") + "/" +
                     std::to_string(member.cpu);
  }
  for (size_t n = 0; n < group.world.nodes.size(); ++n) group.cpu.push_back(dice.between(1, 5));
  group.min_count = dice.chance(75) ? group.members.size() : static_cast<size_t>(dice.between(1, members));
  if (dice.chance(25)) group.required = dice.chance(85) ? "zone" : "nowhere";
  allocate_some(group, dice);
  return group;
}

GroupWorld random_group_of_groups(uint64_t seed) {
  GroupWorld group = random_group(seed);
  Dice dice(seed * 0xbf58476d1ce4e5b9ull + 5);
  for (api::Node& node : group.world.nodes)
    if (dice.chance(90)) node.metadata.labels["rack"] = dice.chance(60) ? "r0" : "r1";
  const auto maybe_required = [&]() -> std::optional<std::string> {
    if (!dice.chance(30)) return std::nullopt;
    return dice.chance(92) ? (dice.chance(70) ? "rack" : "zone") : "nowhere";
  };
  group.required = dice.chance(25) ? std::optional<std::string>("zone") : std::nullopt;
  group.parts.push_back({std::nullopt, 0, {}, std::nullopt});
  std::vector<size_t> leaves;
  const size_t middle = dice.chance(40) ? 1 : 0;
  if (middle > 0) group.parts.push_back({0, 0, {}, maybe_required()});
  const size_t count = static_cast<size_t>(dice.between(2, 3));
  for (size_t leaf = 0; leaf < count; ++leaf) {
    leaves.push_back(group.parts.size());
    group.parts.push_back({middle > 0 && dice.chance(60) ? 1 : 0, 0, {}, maybe_required()});
  }
  for (size_t member = 0; member < group.members.size(); ++member)
    group.parts[dice.one_of(leaves)].members.push_back(member);
  for (size_t part = 0; part < group.parts.size(); ++part) {
    size_t children = group.parts[part].members.size();
    for (const GroupPartOf& other : group.parts) children += other.parent == part;
    // One is what `basic` needs of its pods to count.
    const size_t most = std::max<size_t>(children, 1);
    group.parts[part].need = dice.chance(30) ? most : static_cast<size_t>(dice.between(1, static_cast<int>(most)));
  }
  return group;
}

GroupVerdict solve_group(const GroupWorld& group, uint64_t max_steps) {
  return GroupSearch(group, max_steps).run();
}

}  // namespace dra::oracle
