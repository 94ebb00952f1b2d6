#include "pkg/inspect/verbs/top.h"

#include <algorithm>
#include <map>

#include "pkg/api/selectors.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/verbs/top_cells.h"
#include "pkg/protocol/keep.h"

namespace dra::inspect {
namespace {

constexpr uint64_t kLargestSteps = 200'000;  // for each count that is tried

}  // namespace

LargestRequest largest_request(State& state, const std::string& device_class) {
  LargestRequest largest;
  const std::vector<inventory::NodeId> nodes = state.inventory.nodes();
  const auto fits = [&](uint32_t count) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.name = "largest";
    claim->metadata.uid = "largest-" + device_class + "-" + std::to_string(count);
    api::DeviceRequest request;
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = device_class;
    request.exactly->count = count;
    claim->spec.requests.push_back(std::move(request));
    const auto found = state.allocator().find_nodes({{std::move(claim)}, false, kLargestSteps}, nodes, 1);
    if (found.outcome == allocator::Outcome::kBudgetSpent) largest.exact = false;
    if (found.decisions.empty()) return false;
    largest.count = count;
    largest.node = state.inventory.node_name(found.decisions.front().node);
    return true;
  };
  uint32_t most = 1;
  while (most <= api::kMaxAllocationResults && fits(most)) most *= 2;
  uint32_t low = largest.count, high = std::min<uint32_t>(most, api::kMaxAllocationResults + 1);
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return largest;
}

Answer top_classes(State& state) {
  Answer answer{"DRATopClasses"};
  Table table{"",
              "classes",
              {{"CLASS", "class"},
               {"TOTAL", "total"},
               {"USED", "used"},
               {"CUT", "cut"},
               {"FREE", "free"},
               {"BAD", "bad"},
               {"LARGEST", "largestRequest"},
               {"ON NODE", "onNode"}},
              {}};
  for (const auto& [name, device_class] : state.objects.classes) {
    uint64_t budget = UINT64_MAX;
    const auto usage = state.allocator().class_usage(name, budget);
    if (!usage) {
      table.rows.push_back(
          {"deviceclass/" + name,
           {name, "-", "-", "-", "-", "-", "-", Cell("a selector of it cannot be evaluated", Tone::kBad)}});
      answer.status = Status::kNo;
      continue;
    }
    const LargestRequest largest = largest_request(state, name);
    table.rows.push_back({"deviceclass/" + name,
                          {name, usage->total, usage->used, usage->cut, usage->free, bad_cell(usage->tainted),
                           largest.exact ? Cell(largest.count) : Cell(">=" + std::to_string(largest.count)),
                           some_or_dash(largest.node)}});
  }
  const bool hidden = state.objects.hides("deviceclasses");
  if (table.rows.empty())
    answer.say(
        hidden ? "NotVisible" : "NoClasses",
        hidden ? "device classes are not visible: you may not list deviceclasses" : "there are no device classes");
  answer.tables.push_back(std::move(table));
  if (hidden || devices_are_uncertain(state.objects)) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

std::string node_of(const api::ResourceClaim& claim) {
  const std::string* node = claim.status.allocation ? api::only_node(*claim.status.allocation) : nullptr;
  return node ? *node : "";
}

// Whether none of a kind can be seen where they are asked for. Those of one namespace are shown, with a note on the
// others.
bool hidden_in(const Objects& objects, std::string_view plural, const Scope& scope) {
  if (!scope.ns.empty()) return objects.hides_in(plural, scope.ns);
  return std::any_of(objects.hidden.begin(), objects.hidden.end(),
                     [&](const Hidden& one) { return one.what == plural; });
}

Answer top_claims(const State& state, const Scope& scope) {
  Answer answer{"DRATopClaims"};
  Table table{"",
              "claims",
              {{"NAMESPACE", "namespace"},
               {"CLAIM", "claim"},
               {"STATE", "state"},
               {"DEVICES", "devices"},
               {"NODE", "node"},
               {"PODS", "pods"},
               {"AGE", "age"},
               {"HOLDS", "holds", true}},
              {}};
  for (const auto& [key, claim] : state.objects.claims) {
    if (!scope.ns.empty() && claim->metadata.ns != scope.ns) continue;
    if (!scope.labels.match_expressions.empty() && !api::matches(scope.labels, claim->metadata.labels)) continue;
    std::vector<std::string> devices;
    if (claim->status.allocation)
      for (const auto& result : claim->status.allocation->results)
        devices.push_back(result.driver + "/" + result.pool + "/" + result.device);
    const bool held = claim->status.allocation.has_value();
    Cell what = protocol::is_only_kept(*claim) ? Cell("kept", Tone::kPlain)
                : claim->metadata.deleting()   ? Cell("deleting", Tone::kWarn)
                : !held                        ? Cell("pending", Tone::kWarn)
                : !protocol::has_users(*claim) ? Cell("allocated", Tone::kPlain)
                                               : Cell("reserved", Tone::kGood);
    table.rows.push_back(
        {"resourceclaim/" + claim->metadata.name,
         {claim->metadata.ns, claim->metadata.name, std::move(what), static_cast<uint64_t>(devices.size()),
          some_or_dash(node_of(*claim)), some_or_dash(join(consumers_of(state.objects, *claim), ",")),
          age_text(claim->metadata.creation_timestamp, state.objects.taken), join(devices, " ")}});
  }
  const bool hidden = hidden_in(state.objects, "resourceclaims", scope);
  if (table.rows.empty())
    answer.say(hidden ? "NotVisible" : "NoClaims",
               hidden ? "claims are not visible: you may not list resourceclaims" : "there are no claims here");
  answer.tables.push_back(std::move(table));
  if (hidden) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

Answer top_namespaces(const State& state, const Scope& scope) {
  struct Sum {
    uint32_t claims = 0, allocated = 0, devices = 0, waiting = 0;
  };
  std::map<std::string, Sum> sums;
  for (const auto& [key, claim] : state.objects.claims) {
    Sum& sum = sums[claim->metadata.ns];
    ++sum.claims;
    if (!claim->status.allocation) continue;
    ++sum.allocated;
    sum.devices += static_cast<uint32_t>(claim->status.allocation->results.size());
  }
  for (const auto& [key, pod] : state.objects.pods)
    if (pod->node_name.empty() && !pod->terminal() &&
        (!pod->resource_claims.empty() || asked_by_class(state.objects, *pod)))
      ++sums[pod->metadata.ns].waiting;
  Answer answer{"DRATopNamespaces"};
  Table table{"",
              "namespaces",
              {{"NAMESPACE", "namespace"},
               {"CLAIMS", "claims"},
               {"ALLOCATED", "allocated"},
               {"DEVICES", "devices"},
               {"WAITING PODS", "waitingPods"}},
              {}};
  for (const auto& [name, sum] : sums) {
    if (!scope.ns.empty() && name != scope.ns) continue;
    if (!scope.labels.match_expressions.empty()) {
      const auto ns = state.objects.namespaces.find(name);
      if (ns == state.objects.namespaces.end() || !api::matches(scope.labels, ns->second->metadata.labels)) continue;
    }
    table.rows.push_back({"namespace/" + name, {name, sum.claims, sum.allocated, sum.devices, sum.waiting}});
  }
  const bool hidden = hidden_in(state.objects, "resourceclaims", scope);
  if (table.rows.empty()) {
    const bool unseen = hidden || hidden_in(state.objects, "pods", scope);
    answer.say(unseen ? "NotVisible" : "NoClaims",
               unseen ? "whether there are claims, or pods that wait for any, is not visible"
                      : "there are no claims, and no pods that wait for any");
  }
  answer.tables.push_back(std::move(table));
  if (hidden) answer.status = Status::kUnknown;
  note_hidden(answer, state.objects);
  return answer;
}

}  // namespace dra::inspect
