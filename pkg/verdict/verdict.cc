#include "pkg/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <set>

#include "pkg/api/claim_bounds.h"
#include "pkg/api/selectors.h"
#include "pkg/placement/decide.h"
#include "pkg/verdict/words.h"

namespace dra::verdict {

namespace {

constexpr size_t kMaxDeviceText = 256;
constexpr size_t kMaxRefusalText = 600;  // at its end it says what to do

DeviceProblem problem_of(const allocator::CauseCount& count) {
  using allocator::Cause;
  switch (count.cause) {
    case Cause::kPoolIncomplete:
      return DeviceProblem::kPoolIncomplete;
    case Cause::kPoolInvalid:
      return DeviceProblem::kPoolInvalid;
    case Cause::kUnknownField:
      return DeviceProblem::kUnknownField;
    case Cause::kFeatureDisabled:
      return DeviceProblem::kFeature;
    case Cause::kRequestSelector:
      return DeviceProblem::kSelector;
    case Cause::kEvaluationError:
      return DeviceProblem::kSelectorFails;
    case Cause::kTaint:
      return DeviceProblem::kTaint;
    case Cause::kCapacityShort:
      return DeviceProblem::kCapacity;
    case Cause::kInUse:
      return DeviceProblem::kHeld;
    case Cause::kCounterShort:
      return count.holders.empty() && !count.holders_sampled ? DeviceProblem::kCounter : DeviceProblem::kCut;
    case Cause::kNotShared:
      return DeviceProblem::kNotShared;
    case Cause::kSameSilicon:
      return DeviceProblem::kSameSilicon;
    case Cause::kDevicePlugin:
      return DeviceProblem::kPlugin;
    case Cause::kConstraint:
      return DeviceProblem::kConstraint;
    case Cause::kLimit:
      return DeviceProblem::kLimit;
    case Cause::kNodeRefused:
      return DeviceProblem::kFreeElsewhere;
    // Of the request as a whole, or of devices that it does not ask for.
    case Cause::kWrongNode:
    case Cause::kClassSelector:
    case Cause::kCombination:
    case Cause::kClassMissing:
    case Cause::kInvalidRequest:
      break;
  }
  return DeviceProblem::kFree;
}

DeviceGroup group_of(const allocator::CauseCount& count) {
  DeviceGroup group;
  group.problem = problem_of(count);
  group.text = clean(count.example.empty() ? count.detail : count.example,
                     count.cause == allocator::Cause::kUnknownField || count.cause == allocator::Cause::kNotShared
                         ? kMaxRefusalText
                         : kMaxDeviceText);
  group.values = clean(count.values, kMaxDeviceText);
  group.devices = count.devices;
  if (!count.device.empty()) group.names.push_back(clean(count.device, kMaxDeviceText));
  group.more_holders = count.more_holders;
  group.holders_sampled = count.holders_sampled;
  for (const allocator::HeldBy& held : count.holders) {
    Holder& holder = group.holders.emplace_back();
    holder.uid = held.claim_uid;
    holder.devices = held.devices;
  }
  return group;
}

// Devices that no claim holds are not in use.
void take_set_aside(std::vector<DeviceGroup>& groups, const DeviceFacts& facts) {
  for (const SetAside& aside : facts.set_aside) {
    DeviceGroup own;
    own.problem = DeviceProblem::kSetAside;
    own.text = clean(aside.why, kMaxDeviceText);
    for (DeviceGroup& group : groups) {
      const auto holder = std::find_if(group.holders.begin(), group.holders.end(),
                                       [&](const Holder& one) { return one.uid == aside.uid; });
      if (group.problem != DeviceProblem::kHeld || holder == group.holders.end()) continue;
      own.devices += std::min(holder->devices, group.devices);
      group.devices -= std::min(holder->devices, group.devices);
      group.holders.erase(holder);
    }
    std::erase_if(groups, [](const DeviceGroup& group) { return group.devices == 0; });
    if (own.devices > 0) groups.push_back(std::move(own));
  }
}

void name_holders(DeviceGroup& group, const DeviceFacts& facts) {
  size_t named = 0;
  for (Holder& holder : group.holders) {
    if (!facts.name_of_holder || named >= facts.most_named) return;
    Holder known = facts.name_of_holder(holder.uid);
    named += known.claim.empty() ? 0 : 1;
    holder.claim = std::move(known.claim);
    holder.pods = std::move(known.pods);
    holder.kept = std::move(known.kept);
  }
}

// The same problem and text under several keys (one counter of many sets) is one group.
void merge_into(std::vector<DeviceGroup>& groups, DeviceGroup group) {
  const auto same = std::find_if(groups.begin(), groups.end(), [&](const DeviceGroup& known) {
    return known.problem == group.problem && (known.text == group.text || group.problem == DeviceProblem::kCut);
  });
  if (same == groups.end()) return groups.push_back(std::move(group));
  same->devices += group.devices;
  same->more_holders += group.more_holders;
  for (std::string& name : group.names)
    if (same->names.size() < kMaxNames) same->names.push_back(std::move(name));
  for (Holder& holder : group.holders) {
    const auto known = std::find_if(same->holders.begin(), same->holders.end(),
                                    [&](const Holder& one) { return one.uid == holder.uid; });
    if (known != same->holders.end())
      known->devices += holder.devices;
    else if (same->holders.size() < kMaxNames)
      same->holders.push_back(std::move(holder));
    else
      ++same->more_holders;
  }
}

// Devices that the request's selectors leave: their obstacle can change without the request.
bool is_of_the_request(DeviceProblem problem) {
  return problem != DeviceProblem::kSelector && problem != DeviceProblem::kSelectorFails;
}

// Enough usable devices, but too few on each node: that comes first. Then the obstacle that blocks most devices; the
// request's own selectors count only if they leave too few devices to satisfy it, whatever happens to these.
void sort_groups(RequestVerdict& request) {
  const uint32_t left = request.selected();
  const bool too_picky = left == 0 || left < request.wanted;
  const auto rank = [&](const DeviceGroup& group) {
    if (group.problem == DeviceProblem::kFree) return request.most_on_one_node ? -1 : 3;
    if (group.problem == DeviceProblem::kFreeElsewhere) return 0;
    return is_of_the_request(group.problem) == too_picky ? 2 : 1;
  };
  std::stable_sort(request.groups.begin(), request.groups.end(), [&](const DeviceGroup& a, const DeviceGroup& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.devices > b.devices;
  });
}

RequestVerdict request_verdict(const allocator::RequestReason& reason, const DeviceFacts& facts,
                               const Question& question) {
  using allocator::Cause;
  RequestVerdict out;
  out.claim = reason.claim;
  for (size_t i = 0; i < question.entries.size() && i < question.claims.size(); ++i)
    if (question.claims[i]->metadata.key() == reason.claim) out.entry = clean(question.entries[i], kMaxDeviceText);
  out.request = clean(reason.request, kMaxDeviceText);
  out.device_class = clean(reason.device_class, kMaxDeviceText);
  out.wanted = reason.devices_wanted;
  out.asked = reason.devices_asked;
  out.examined = reason.devices_examined;
  out.nearest_miss = clean(reason.nearest_miss, kMaxDeviceText);
  uint32_t usable = 0, others = 0;
  for (const allocator::CauseCount& count : reason.counts) {
    // A claim that asks for more than the limit is refused before any device is examined.
    const bool refused = count.cause == Cause::kClassMissing || count.cause == Cause::kInvalidRequest ||
                         (count.cause == Cause::kLimit && count.devices == 0);
    if (refused) {
      out.invalid = clean(count.detail, kMaxSentence / 2);
    } else if (count.cause == Cause::kWrongNode) {
      out.asked -= std::min(out.asked, count.devices);
      out.examined -= count.devices;
    } else if (count.cause == Cause::kClassSelector) {
      out.not_selected += count.devices;
    } else if (count.devices > 0) {
      merge_into(out.groups, group_of(count));
      (count.cause == Cause::kCombination ? usable : others) += count.devices;
    }
  }
  take_set_aside(out.groups, facts);
  // Mode All takes every device of a node, and a claim has room for 32.
  const bool too_many = out.wanted == 0 && others == 0 && reason.most_on_one_node > api::kMaxAllocationResults;
  for (DeviceGroup& group : out.groups) {
    name_holders(group, facts);
    if (!too_many || group.problem != DeviceProblem::kFree) continue;
    group.problem = DeviceProblem::kLimit;
    group.text = "mode All takes all " + std::to_string(reason.most_on_one_node) +
                 " of a node, and a claim can have at most " + std::to_string(api::kMaxAllocationResults) +
                 ": use allocationMode ExactCount, or a selector that leaves fewer";
  }
  out.nodes_blocked = reason.nodes_blocked;
  out.blocked_by = clean(reason.blocked_by, kMaxDeviceText);
  // Mode All wants every selected device, so any unavailable one blocks it.
  out.possible = out.wanted == 0 ? usable > 0 && others == 0 && !too_many : reason.most_on_one_node >= out.wanted;
  // Of part of the devices nobody knows how many the fullest node has.
  const bool complete = out.examined == out.asked;
  if (complete && usable >= out.wanted && out.wanted > 0 && !out.possible)
    out.most_on_one_node = reason.most_on_one_node;
  if (!out.invalid.empty()) out.possible = false;
  const bool picky = std::any_of(out.groups.begin(), out.groups.end(),
                                 [](const DeviceGroup& group) { return !is_of_the_request(group.problem); });
  if (complete && reason.most_there < out.wanted && (picky ? out.selected() >= out.wanted : out.selected() > 0))
    out.most_there = reason.most_there;
  sort_groups(out);
  return out;
}

// A constraint over several requests rules out devices of one because another has none: then the other is the obstacle.
bool is_short_by_constraint(const RequestVerdict& request) {
  return request.invalid.empty() && !request.groups.empty() &&
         request.groups.front().problem == DeviceProblem::kConstraint;
}

// The main request: the first of which no alternative is possible alone; one that never fits before all others, one
// that lacks only a common value after them.
std::optional<size_t> first_impossible(const Verdict& verdict) {
  const std::vector<RequestVerdict>& requests = verdict.requests;
  std::optional<size_t> first, first_short;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (has_possible_alternative(verdict, requests[i])) continue;
    if (never_fits(verdict, requests[i])) return i;
    std::optional<size_t>& of_its_kind = is_short_by_constraint(requests[i]) ? first_short : first;
    if (!of_its_kind) of_its_kind = i;
  }
  return first ? first : first_short;
}

// Of alternatives none of which is possible now, the first that waiting can help.
size_t alternative_to_name(const std::vector<RequestVerdict>& requests, size_t impossible) {
  const std::string base = requests[impossible].base();
  for (size_t i = impossible; i < requests.size(); ++i)
    if (!requests[i].most_there && requests[i].invalid.empty() && requests[i].base() == base) return i;
  return impossible;
}

// Alternatives of one request are never wanted together.
bool is_one_request(const std::vector<RequestVerdict>& requests) {
  return std::all_of(requests.begin(), requests.end(),
                     [&](const RequestVerdict& other) { return other.base() == requests.front().base(); });
}

void choose_main(Verdict& verdict) {
  uint32_t able = 0;
  for (const NodeGroup& group : verdict.node_groups)
    if (group.problem != NodeProblem::kDevices) able += group.with_devices;
  const std::optional<size_t> impossible = first_impossible(verdict);
  // If none is impossible by itself, the alternatives that are not possible are none of the reasons.
  const auto possible = std::find_if(verdict.requests.begin(), verdict.requests.end(),
                                     [](const RequestVerdict& request) { return request.possible; });
  verdict.main_request = impossible                           ? alternative_to_name(verdict.requests, *impossible)
                         : possible != verdict.requests.end() ? static_cast<size_t>(possible - verdict.requests.begin())
                                                              : 0;
  if (!verdict.refused.empty())
    verdict.main = Verdict::Main::kRefused;
  else if (verdict.passed == 0 || able > 0)
    verdict.main = Verdict::Main::kNodes;
  else if (verdict.answer == Answer::kUndecided)
    verdict.main = Verdict::Main::kUndecided;
  else
    verdict.main = impossible || is_one_request(verdict.requests) ? Verdict::Main::kDevices : Verdict::Main::kTogether;
}

// How many nodes of each refused group have a device of the class, and the names of the first, after those in `able`.
void note_class(Verdict& verdict, const NodeFindings& findings, const std::vector<inventory::NodeId>& of_class,
                const DeviceFacts& facts, std::vector<std::vector<std::string>>& able) {
  std::vector<uint32_t> placed(able.size(), 0);
  for (const uint16_t number : findings.group_by_index)
    if (number < placed.size()) ++placed[number];
  // Of a group whose nodes cannot be told apart from others, all count.
  const auto is_known = [&](size_t number) { return placed[number] == verdict.node_groups[number].nodes; };
  for (size_t i = 0; i < able.size(); ++i)
    if (is_known(i)) verdict.node_groups[i].without_class = verdict.node_groups[i].nodes;
  for (const inventory::NodeId id : of_class) {
    const std::string name = facts.inventory.node_name(id);
    const uint16_t number = findings.group_of(name);
    if (number >= able.size() || !is_known(number)) continue;
    NodeGroup& group = verdict.node_groups[number];
    group.without_class -= std::min(group.without_class, 1u);
    std::vector<std::string>& names = able[number];
    if (names.size() < kMaxNames && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

void add_node_groups(Verdict& verdict, const NodeFindings& findings, const allocator::Reasons& reasons,
                     const DeviceFacts& facts) {
  verdict.nodes = findings.nodes;
  verdict.passed = findings.passed;
  verdict.node_groups = findings.groups;
  std::vector<std::vector<std::string>> able(findings.groups.size());
  for (const inventory::NodeId id : reasons.able_though_refused) {
    const std::string name = facts.inventory.node_name(id);
    const uint16_t number = findings.group_of(name);
    if (number >= able.size()) continue;
    ++verdict.node_groups[number].with_devices;
    if (able[number].size() < kMaxNames) able[number].push_back(name);
  }
  if (reasons.of_class) note_class(verdict, findings, *reasons.of_class, facts, able);
  for (size_t i = 0; i < able.size(); ++i) {
    NodeGroup& group = verdict.node_groups[i];
    const bool some = group.without_class > 0 && nodes_of_class(group) > 0;  // `able` has the names of these
    for (std::string& name : group.names)
      if (!some && able[i].size() < kMaxNames && std::find(able[i].begin(), able[i].end(), name) == able[i].end())
        able[i].push_back(std::move(name));
    group.names = std::move(able[i]);
    for (std::string& name : group.names) name = clean(name, kMaxDeviceText);
  }
  if (findings.passed > 0) {
    NodeGroup& passed = verdict.node_groups.emplace_back();
    passed.text = "too few devices for the claims";
    passed.nodes = findings.passed;
  }
  std::stable_sort(verdict.node_groups.begin(), verdict.node_groups.end(), [](const NodeGroup& a, const NodeGroup& b) {
    if (a.with_devices != b.with_devices) return a.with_devices > b.with_devices;
    return nodes_of_class(a) != nodes_of_class(b) ? nodes_of_class(a) > nodes_of_class(b) : a.nodes > b.nodes;
  });
}

void add_short_of_pairs(Verdict& verdict, const allocator::Reasons& reasons, const DeviceFacts& facts) {
  std::vector<allocator::PairShort> all = reasons.short_of_pairs;
  std::stable_sort(all.begin(), all.end(), [](const allocator::PairShort& a, const allocator::PairShort& b) {
    return a.asked - a.has < b.asked - b.has;
  });
  std::set<inventory::NodeId> shown, others;
  for (const allocator::PairShort& one : all) {
    if (verdict.short_of_pairs.size() < kMaxNames) {
      verdict.short_of_pairs.push_back(
          allocator::short_sentence(clean(facts.inventory.node_name(one.node), kMaxDeviceText),
                                    clean(reasons.pair_texts[one.entry], kMaxDeviceText), one.has, one.asked));
      shown.insert(one.node);
    } else {
      others.insert(one.node);
    }
  }
  if (!reasons.pair_gaps.empty()) verdict.short_of_pairs.front() += ": " + clean(reasons.pair_gaps, kMaxDeviceText);
  for (const inventory::NodeId node : others) verdict.more_short_of_pairs += shown.contains(node) ? 0 : 1;
}

// The nodes that the question is about, and which of them accept the pod.
struct Choice {
  NodeFindings findings;
  std::vector<inventory::NodeId> passed;
};

enum class Grouping { kByProblem, kNone };  // kNone: nobody asks what is wrong with the other nodes

Choice choose_nodes(const Facts& facts, const Question& question, Grouping grouping) {
  Choice choice;
  if (question.pod == nullptr) {
    if (question.nodes.empty()) choice.passed = facts.inventory.nodes();
    for (const std::string& name : question.nodes) choice.passed.push_back(facts.inventory.node_id(name));
    choice.findings.nodes = choice.findings.passed = static_cast<uint32_t>(choice.passed.size());
    return choice;
  }
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(*question.pod);
  if (!needs) {
    choice.findings.refused = clean(needs.error().message(), kMaxSentence / 2);
    return choice;
  }
  placement::DecisionOptions options;
  options.volumes = facts.volumes;
  std::vector<placement::NodeIndex> only;
  for (const std::string& name : question.nodes)
    if (const auto node = facts.cluster.find_node(name)) only.push_back(*node);
  if (!question.nodes.empty()) options.only = &only;
  const placement::Cluster::Aside aside(facts.cluster, question.pod->metadata.uid);
  const placement::Decision decision = placement::decide(facts.cluster, *needs, options);
  if (grouping == Grouping::kByProblem)
    choice.findings = findings_of(facts.cluster, *needs, decision);
  else if (decision.error || decision.pod_refused_by != placement::Plugin::kNone)
    choice.findings.refused = "refused";
  if (facts.numbers) facts.numbers->follow(facts.cluster);
  choice.passed.reserve(decision.nodes.size());
  for (const placement::RankedNode& node : decision.nodes)
    choice.passed.push_back(facts.numbers ? facts.numbers->of(node.node)
                                          : facts.inventory.node_id(facts.cluster.rest(node.node).name));
  return choice;
}

// Allocated claims leave only the nodes on which their allocation can be used.
void pin(const Facts& facts, const Question& question, Choice& choice) {
  for (const auto& claim : question.claims) {
    if (!claim->status.allocation || !claim->status.allocation->node_selector) continue;
    const api::NodeSelector& selector = *claim->status.allocation->node_selector;
    const auto usable = [&](inventory::NodeId id) {
      const std::string name = facts.inventory.node_name(id);
      const auto node = facts.cluster.find_node(name);
      return api::matches(selector, name, node ? facts.cluster.rest(*node).node->metadata.labels : api::StringMap());
    };
    const size_t unread = claim->status.allocation->selector_bytes_dropped;
    pin_nodes(choice.findings, choice.passed, facts.inventory, claim->metadata.key(), usable,
              unread == 0
                  ? "has devices elsewhere"
                  : "has a node selector of " + std::to_string(unread >> 10) + " KiB in its allocation, and at most " +
                        std::to_string(api::kMaxAllocationSelectorBytes >> 10) + " KiB are checked");
  }
}

}  // namespace

void pin_nodes(NodeFindings& findings, std::vector<inventory::NodeId>& passed, const inventory::Inventory& inventory,
               const std::string& claim, const std::function<bool(inventory::NodeId)>& usable, const std::string& why) {
  NodeGroup group;
  group.problem = NodeProblem::kPinned;
  group.text = "claim " + clean(claim, kMaxDeviceText) + " " + why;
  const auto number = static_cast<uint16_t>(findings.groups.size());
  std::erase_if(passed, [&](inventory::NodeId id) {
    if (usable(id)) return false;
    const std::string name = inventory.node_name(id);
    ++group.nodes;
    if (group.names.size() < kMaxNames) group.names.push_back(name);
    if (findings.cluster)
      if (const auto index = findings.cluster->find_node(name)) findings.group_by_index[*index] = number;
    return true;
  });
  if (group.nodes == 0) return;
  findings.passed -= std::min(findings.passed, group.nodes);
  findings.groups.push_back(std::move(group));
}

std::string_view device_problem_name(DeviceProblem problem) {
  static constexpr std::array<std::string_view, 19> kNames = {
      "Free",           "FreeElsewhere", "Held",         "Cut",           "Counter",
      "Capacity",       "Taint",         "Selector",     "SelectorFails", "Constraint",
      "PoolIncomplete", "PoolInvalid",   "UnknownField", "Feature",       "Limit",
      "NotShared",      "SameSilicon",   "Plugin",       "SetAside"};
  return kNames.at(static_cast<size_t>(problem));
}

std::string RequestVerdict::base() const {
  return claim + "//" + request.substr(0, request.find('/'));
}

bool no_node_ever(const Verdict& verdict, const RequestVerdict& request) {
  return request.most_there && verdict.passed == verdict.nodes && verdict.passed > 0;
}

bool never_fits(const Verdict& verdict, const RequestVerdict& request) {
  return std::all_of(verdict.requests.begin(), verdict.requests.end(), [&](const RequestVerdict& other) {
    return other.base() != request.base() || no_node_ever(verdict, other);
  });
}

bool has_possible_alternative(const Verdict& verdict, const RequestVerdict& request) {
  return std::any_of(verdict.requests.begin(), verdict.requests.end(),
                     [&](const RequestVerdict& other) { return other.possible && other.base() == request.base(); });
}

uint32_t RequestVerdict::free() const {
  for (const DeviceGroup& group : groups)
    if (group.problem == DeviceProblem::kFree) return group.devices;
  return 0;
}

uint32_t RequestVerdict::selected() const {
  uint32_t devices = 0;
  for (const DeviceGroup& group : groups)
    if (is_of_the_request(group.problem)) devices += group.devices;
  return devices;
}

Verdict explain(const DeviceFacts& facts, const Question& question, const NodeFindings& findings,
                std::span<const inventory::NodeId> passed, const allocator::FoundNodes* found) {
  Verdict verdict;
  verdict.nodes = findings.nodes;
  verdict.passed = findings.passed;
  verdict.refused = findings.refused;
  if (found && found->error) verdict.refused = clean(found->error->message(), kMaxSentence);
  const bool undecided = found && (found->outcome == allocator::Outcome::kBudgetSpent ||
                                   found->outcome == allocator::Outcome::kUnfinished);
  verdict.answer = undecided ? Answer::kUndecided : Answer::kDoesNotFit;
  allocator::Request request;
  request.pairs = question.pairs;
  request.room = question.room;
  for (const auto& claim : question.claims)
    if (!claim->status.allocation) request.claims.push_back(claim);
  allocator::Reasons reasons;
  if (verdict.refused.empty() && !request.claims.empty()) {
    allocator::ExplainScope scope;
    scope.everywhere = question.nodes.empty();
    scope.passed = passed;
    std::vector<inventory::NodeId> others;
    for (const std::string& name : question.nodes)
      if (const inventory::NodeId id = facts.inventory.node_id(name);
          std::find(passed.begin(), passed.end(), id) == passed.end())
        others.push_back(id);
    scope.others = others;
    reasons = facts.allocator.explain(request, scope);
  }
  add_node_groups(verdict, findings, reasons, facts);
  for (const allocator::RequestReason& reason : reasons.requests) {
    verdict.requests.push_back(request_verdict(reason, facts, question));
    if (verdict.refused.empty()) verdict.refused = verdict.requests.back().invalid;
  }
  verdict.drivers = reasons.drivers;
  if (reasons.proof != allocator::kExhausted) verdict.together = clean(reasons.proof, kMaxDeviceText);
  if (!reasons.short_of_pairs.empty()) add_short_of_pairs(verdict, reasons, facts);
  choose_main(verdict);
  return verdict;
}

namespace {

// The part that judge() and fits_on() share.
struct Decided {
  Choice choice;
  allocator::FoundNodes found;
  bool searched = false;  // false: no node was left, or no claim needs an allocation
};

Decided decide(const Facts& facts, const Question& question, Grouping grouping) {
  Decided out;
  out.choice = choose_nodes(facts, question, grouping);
  pin(facts, question, out.choice);
  allocator::Request request;
  request.weigh_alternatives = true;
  request.pairs = question.pairs;
  request.room = question.room;
  for (const auto& claim : question.claims)
    if (!claim->status.allocation) request.claims.push_back(claim);
  if (out.choice.passed.empty() || !out.choice.findings.refused.empty() || request.claims.empty()) return out;
  out.searched = true;
  do {
    out.found = facts.allocator.find_nodes(request, out.choice.passed, 1);
  } while (out.found.outcome == allocator::Outcome::kUnfinished);
  return out;
}

bool does_fit(const Decided& decided) {
  if (decided.choice.passed.empty() || !decided.choice.findings.refused.empty()) return false;
  return !decided.searched || decided.found.outcome == allocator::Outcome::kFeasible;
}

std::string node_of(const Facts& facts, const Decided& decided) {
  return facts.inventory.node_name(decided.searched ? decided.found.decisions.front().node
                                                    : decided.choice.passed.front());
}

}  // namespace

std::optional<std::string> fits_on(const Facts& facts, const Question& question) {
  const Decided decided = decide(facts, question, Grouping::kNone);
  if (!does_fit(decided)) return std::nullopt;
  return node_of(facts, decided);
}

Verdict refusal(const std::string& why) {
  Verdict verdict;
  verdict.refused = clean(why, kMaxSentence);
  verdict.main = Verdict::Main::kRefused;
  return verdict;
}

Verdict judge(const Facts& facts, const Question& question) {
  Decided decided = decide(facts, question, Grouping::kByProblem);
  if (!does_fit(decided))
    return explain({facts.inventory, facts.allocator, facts.name_of_holder, kMaxNames, facts.set_aside}, question,
                   decided.choice.findings, decided.choice.passed, decided.searched ? &decided.found : nullptr);
  Verdict verdict;
  verdict.answer = Answer::kFits;
  verdict.nodes = decided.choice.findings.nodes;
  verdict.passed = decided.choice.findings.passed;
  verdict.node_groups = decided.choice.findings.groups;
  verdict.node = node_of(facts, decided);
  if (decided.searched) verdict.results = std::move(decided.found.decisions.front().results);
  return verdict;
}

}  // namespace dra::verdict
