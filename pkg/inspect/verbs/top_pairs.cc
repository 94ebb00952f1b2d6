#include "pkg/inspect/verbs/top_pairs.h"

#include <algorithm>
#include <map>

#include "pkg/alignment/pod_pairs.h"
#include "pkg/allocator/pairs.h"
#include "pkg/api/selectors.h"
#include "pkg/inspect/answer/sort.h"
#include "pkg/inspect/verbs/top_cells.h"

namespace dra::inspect {
namespace {

constexpr uint32_t kMostGroups = 256;    // that are counted on a node
constexpr uint64_t kAskSteps = 200'000;  // for each number of groups that is tried
constexpr const char* kForm =
    "write CLASS+CLASS by DOMAIN/ATTRIBUTE, as gpu.nvidia.com+dranet by resource.kubernetes.io/pcieRoot";

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

struct Wanted {
  std::vector<std::string> classes;  // of the terms
  alignment::Entry entry;            // its requests are "r0", "r1", ...
  std::string text;                  // for people
};

Result<Wanted> read_wanted(const std::string& text) {
  Wanted wanted;
  const size_t by = text.rfind(" by ");
  if (by == std::string::npos) return fail(Code::kInvalidArgument, quote(text) + " has no \" by \"; " + kForm);
  std::string anonymous;
  for (const std::string& part : split(text.substr(0, by), '+')) {
    const std::string term = without_blanks(part);
    const size_t star = term.find('*');
    wanted.classes.push_back(term.substr(0, star));
    if (wanted.classes.back().empty())
      return fail(Code::kInvalidArgument, quote(text) + " has an empty term; " + kForm);
    wanted.text += (anonymous.empty() ? "" : "+") + term;
    anonymous += (anonymous.empty() ? "r" : "+r") + std::to_string(wanted.classes.size() - 1) +
                 (star == std::string::npos ? "" : term.substr(star));
  }
  const std::string attribute = without_blanks(text.substr(by + 4));
  wanted.text += " by " + attribute;
  alignment::Reading read =
      alignment::read_entries(alignment::kPairsAnnotation, anonymous + " by " + attribute, alignment::Place::kClaim);
  if (!read.refusal && read.entries.size() == 1) read.refusal = alignment::check_attribute("", read.entries[0]);
  if (read.refusal || read.entries.size() != 1)
    return fail(Code::kInvalidArgument,
                quote(text) + " cannot be understood" +
                    (read.refusal ? " (" + std::string(alignment::kind_name(read.refusal->kind)) + ")" : "") + "; " +
                    kForm + "; numbers are 1 to " + std::to_string(alignment::kMaxNumber) + ", and there are at most " +
                    std::to_string(alignment::kMaxTerms) + " classes");
  wanted.entry = std::move(read.entries[0]);
  return wanted;
}

// A request for so many groups.
allocator::Request request_for(const Wanted& wanted, uint32_t groups) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.name = "pairs";
  claim->metadata.uid = "pairs-" + std::to_string(groups);
  alignment::PairEntry entry;
  for (size_t t = 0; t < wanted.classes.size(); ++t) {
    api::DeviceRequest request;
    request.name = "r" + std::to_string(t);
    request.exactly.emplace();
    request.exactly->device_class_name = wanted.classes[t];
    request.exactly->count = int64_t{wanted.entry.terms[t].number} * groups;
    claim->spec.requests.push_back(std::move(request));
    entry.terms.push_back({0, static_cast<uint32_t>(t), wanted.entry.terms[t].number});
  }
  entry.attribute = wanted.entry.attribute;
  entry.text = wanted.text;
  allocator::Request request;
  request.claims = {std::move(claim)};
  request.step_budget = kAskSteps;
  request.pairs = allocator::pair_rules({entry}, request.claims);
  return request;
}

std::vector<inventory::NodeId> nodes_in(const State& state, const Scope& scope) {
  std::vector<inventory::NodeId> nodes = state.inventory.nodes();
  if (scope.labels.match_expressions.empty()) return nodes;
  std::erase_if(nodes, [&](inventory::NodeId id) {
    const auto node = state.objects.nodes.find(state.inventory.node_name(id));
    return node == state.objects.nodes.end() || !api::matches(scope.labels, node->second->metadata.labels);
  });
  return nodes;
}

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_less(a, b); }
};

struct Counted {
  std::map<std::string, uint32_t, NaturalOrder> groups;  // by node
  size_t undecided = 0;
};

Counted count_on(State& state, const Wanted& wanted, const std::vector<inventory::NodeId>& nodes) {
  Counted out;
  const allocator::Request request = request_for(wanted, 1);
  for (size_t begin = 0; begin < nodes.size();) {
    const std::span<const inventory::NodeId> rest = std::span(nodes).subspan(begin);
    const auto found = state.allocator().count_groups(request, 0, rest, kMostGroups);
    for (const allocator::GroupsOnNode& one : found) out.groups[state.inventory.node_name(one.node)] = one.has;
    // The last node that was counted ends what this slice reached.
    size_t reached =
        found.empty() ? 0
                      : static_cast<size_t>(std::find(rest.begin(), rest.end(), found.back().node) - rest.begin()) + 1;
    if (reached == 0) reached = 1;  // that node takes too long
    begin += reached;
  }
  out.undecided = nodes.size() - out.groups.size();
  return out;
}

struct Largest {
  uint32_t groups = 0;
  std::string node;
  bool exact = true;
};

// The most groups that one claim can have on one of the nodes.
Largest largest_ask(State& state, const Wanted& wanted, const std::vector<inventory::NodeId>& nodes, uint32_t most) {
  Largest largest;
  uint32_t of_a_group = 0;
  for (const alignment::Term& term : wanted.entry.terms) of_a_group += term.number;
  uint32_t low = 0, high = std::min<uint32_t>(most, api::kMaxAllocationResults / of_a_group) + 1;
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    const auto found = state.allocator().find_nodes(request_for(wanted, middle), nodes, 1);
    if (found.decisions.empty()) {
      if (found.outcome != allocator::Outcome::kInfeasible) largest.exact = false;
      high = middle;
      continue;
    }
    largest.groups = low = middle;
    largest.node = state.inventory.node_name(found.decisions.front().node);
  }
  return largest;
}

// Names the first class that does not exist.
Result<void> check_classes_exist(const Objects& objects, const Wanted& wanted) {
  if (objects.hides("deviceclasses")) return {};
  std::vector<std::string> names;
  for (const auto& [name, one] : objects.classes) names.push_back(name);
  for (const std::string& name : wanted.classes) {
    if (objects.classes.contains(name)) continue;
    const std::string near = nearest(name, names);
    return fail(Code::kNotFound, "device class " + quote(name) + " does not exist" +
                                     (!near.empty()   ? "; did you mean " + quote(near) + "?"
                                      : names.empty() ? ""
                                                      : "; there are " + join(names, ", ")));
  }
  return {};
}

std::string ask_text(const Wanted& wanted, uint32_t groups) {
  std::vector<std::string> parts;
  for (size_t t = 0; t < wanted.classes.size(); ++t)
    parts.push_back(std::to_string(wanted.entry.terms[t].number * groups) + " x " + wanted.classes[t]);
  return join(parts, ", ");
}

}  // namespace

Result<Answer> top_pairs(State& state, const std::string& text, const Scope& scope) {
  const auto wanted = read_wanted(text);
  if (!wanted) return fail(wanted.error());
  if (const auto exist = check_classes_exist(state.objects, *wanted); !exist) return fail(exist.error());
  Answer answer{"DRATopPairs"};
  const std::vector<inventory::NodeId> nodes = nodes_in(state, scope);
  const Counted by_node = count_on(state, *wanted, nodes);
  Table table{"", "nodes", {{"NODE", "node"}, {"FREE GROUPS", "freeGroups"}}, {}};
  uint32_t most = 0;
  uint64_t sum = 0;
  for (const auto& [node, groups] : by_node.groups) {
    if (groups == 0) continue;
    most = std::max(most, groups);
    sum += groups;
    table.rows.push_back({"node/" + node, {node, groups}});
  }
  const bool hidden = state.objects.hides("resourceslices") || state.objects.hides("deviceclasses");
  if (table.rows.empty()) {
    answer.status = Status::kNo;
    answer.say(hidden ? "NotVisible" : "NoPairs",
               hidden ? "devices are not visible: you may not list resourceslices and deviceclasses"
                      : "no node has a free group (" + wanted->text + ")");
  } else {
    const Largest largest = largest_ask(state, *wanted, nodes, most);
    answer.say(
        {"LargestAsk",
         "the largest ask that fits is " + std::to_string(largest.groups) +
             (largest.groups == 1 ? " group" : " groups") + (largest.exact ? "" : " at least") +
             (largest.groups == 0 ? "" : ", on node " + largest.node + ": " + ask_text(*wanted, largest.groups)),
         {},
         "",
         {{"groups", largest.groups}, {"freeGroups", sum}},
         {{"nodes", largest.node.empty() ? std::vector<std::string>() : std::vector<std::string>{largest.node}}}});
  }
  if (by_node.undecided > 0) {
    answer.notes.push_back("the groups of " + counted(by_node.undecided, "node") + " could not be counted in time");
    answer.status = Status::kUnknown;
  }
  answer.tables.push_back(std::move(table));
  if (hidden || devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
