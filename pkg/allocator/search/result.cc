#include "pkg/allocator/search/result.h"

#include <algorithm>

#include "pkg/api/claim_bounds.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/identity/record.h"

namespace dra::allocator {
namespace {

using inventory::Pool;
using inventory::SliceTable;
using inventory::Where;

class ResultMaker {
 public:
  ResultMaker(const Plan& plan, const Search& search, const inventory::DeviceIndex& device_index, Random& random,
              bool strict)
      : plan_(plan), search_(search), device_index_(device_index), random_(random), strict_(strict) {}

  Result<std::vector<api::AllocationResult>> run() {
    std::vector<api::AllocationResult> results(plan_.claims.size());
    for (const Pick& pick : search_.picks()) {
      api::AllocationResult& result = results[plan_.requests[pick.request].claim];
      if (result.results.empty() && plan_.claims.size() == 1) result.results.reserve(search_.picks().size());
      add_device(pick, result);
    }
    for (uint32_t c = 0; c < results.size(); ++c) {
      auto selector = node_selector(c);
      if (!selector) return fail(selector.error());
      results[c].node_selector = std::move(*selector);
      add_class_config(c, results[c]);
      const bool recorded = any_records_ && add_records(c, results[c]);
      add_claim_config(c, results[c]);
      if (recorded && results[c].config.size() > api::kMaxAllocationConfigs) return too_many_configs(results[c]);
    }
    return results;
  }

 private:
  const PlanAlternative& alternative_of(const Pick& pick) const {
    return plan_.requests[pick.request].alternatives[pick.alternative];
  }

  const SliceTable& slice_of(const Pick& pick, uint32_t* local) const {
    const MatrixSegment& segment = search_.matrix().segment_of(pick.local);
    return segment.pool->slice_of(search_.matrix().device_of(segment, pick.local), local);
  }

  void add_device(const Pick& pick, api::AllocationResult& result) {
    const PlanAlternative& alternative = alternative_of(pick);
    const MatrixSegment& segment = search_.matrix().segment_of(pick.local);
    uint32_t local;
    const SliceTable& slice = segment.pool->slice_of(search_.matrix().device_of(segment, pick.local), &local);
    any_records_ = any_records_ || device_index_.silicon().names(slice, local);
    api::DeviceRequestAllocationResult& added = result.results.emplace_back();
    added.request = alternative.name;
    added.driver = segment.pool->driver_text;
    added.pool = segment.pool->name_text;
    added.device = device_index_.strings().text(slice.names[local]);
    added.admin_access = alternative.admin;
    added.tolerations = alternative.spec->tolerations;
    if (const inventory::BindingConditions* conditions = slice.conditions_of(local)) {
      added.binding_conditions = conditions->conditions;
      added.binding_failure_conditions = conditions->failure_conditions;
    }
    if (!slice.skip_operations.empty()) added.skip_node_operations = slice.skip_operations;
    if (pick.fit == nullptr) return;
    added.share_id = random_.uuid();
    const inventory::CapacityShape& shape = *slice.shapes[slice.shape_of[local]];
    for (size_t i = 0; i < shape.entries.size(); ++i)
      added.consumed_capacity[shape.entries[i].name] = pick.fit->quantities[i].to_string();
  }

  // One term metadata.name In [node] if any device is local to the node, else the devices' own requirements combined.
  Result<std::optional<api::NodeSelector>> node_selector(uint32_t claim) const {
    api::NodeSelectorTerm term;
    auto merge = [](std::vector<api::NodeSelectorRequirement>& into,
                    const std::vector<api::NodeSelectorRequirement>& from) {
      for (const api::NodeSelectorRequirement& r : from)
        if (std::find(into.begin(), into.end(), r) == into.end()) into.push_back(r);
    };
    for (const Pick& pick : search_.picks()) {
      if (plan_.requests[pick.request].claim != claim) continue;
      uint32_t local;
      const SliceTable& slice = slice_of(pick, &local);
      const Where& place = slice.where_of(local);
      bool binds = device_index_.features().binding_conditions && (slice.flags[local] & inventory::kBindsToNode) != 0;
      if (place.kind == Where::kNode || binds) {
        std::optional<api::NodeSelector> selector(std::in_place);
        selector->terms.resize(1);
        selector->terms[0].match_fields.resize(1);
        api::NodeSelectorRequirement& requirement = selector->terms[0].match_fields[0];
        requirement.key = "metadata.name";
        requirement.op = "In";
        requirement.values.push_back(device_index_.node_name(search_.matrix().node()));
        return selector;
      }
      if (place.kind != Where::kSelector || place.selector->terms.empty()) continue;
      if (place.selector->terms.size() > 1 && strict_)
        return fail(Code::kInvalidArgument, "ResourceSlice " + quote(slice.name) + ": a node selector with " +
                                                std::to_string(place.selector->terms.size()) +
                                                " terms is not supported; use exactly one");
      const api::NodeSelectorTerm& matching = matching_term(*place.selector);
      merge(term.match_fields, matching.match_fields);
      merge(term.match_expressions, matching.match_expressions);
    }
    if (term.match_fields.empty() && term.match_expressions.empty()) return std::optional<api::NodeSelector>();
    api::NodeSelector selector;
    selector.terms.push_back(std::move(term));
    // It would be read as one that matches no node.
    if (const size_t bytes = api::bytes_of(selector); bytes > api::kMaxAllocationSelectorBytes)
      return fail(Code::kResourceExhausted, "the node selectors of the devices take " + std::to_string(bytes >> 10) +
                                                " KiB together, and at most " +
                                                std::to_string(api::kMaxAllocationSelectorBytes >> 10) +
                                                " KiB go into an allocation: let their ResourceSlices select nodes by "
                                                "fewer labels");
    return std::optional<api::NodeSelector>(std::move(selector));
  }

  // Terms are alternatives, a result has one: the first that matches the node, so that the claim never appears usable
  // where a device is not.
  const api::NodeSelectorTerm& matching_term(const api::NodeSelector& selector) const {
    inventory::NodeId node = search_.matrix().node();
    for (const api::NodeSelectorTerm& term : selector.terms)
      if (api::matches(term, device_index_.node_name(node), device_index_.node_labels(node))) return term;
    return selector.terms[0];
  }

  static void add_config(api::AllocationResult& result, api::DeviceAllocationConfiguration config) {
    if (std::find(result.config.begin(), result.config.end(), config) == result.config.end())
      result.config.push_back(std::move(config));
  }

  // For every class in use, in the order of first use: its entries, each naming all requests that use the class.
  void add_class_config(uint32_t claim, api::AllocationResult& result) const {
    std::vector<const api::DeviceClass*> done;
    for (uint32_t r = 0; r < plan_.requests.size(); ++r) {
      if (plan_.requests[r].claim != claim) continue;
      const api::DeviceClass* device_class = chosen(r).device_class;
      if (device_class == nullptr || device_class->config.empty()) continue;
      if (std::find(done.begin(), done.end(), device_class) != done.end()) continue;
      done.push_back(device_class);
      std::vector<std::string> users;
      for (uint32_t other = r; other < plan_.requests.size(); ++other)
        if (plan_.requests[other].claim == claim && chosen(other).device_class == device_class)
          users.push_back(chosen(other).name);
      for (const api::OpaqueConfig& opaque : device_class->config)
        if (opaque.driver != identity::kRecordDriver) add_config(result, {"FromClass", users, opaque});
    }
  }

  // Entries without requests are copied; others if one of their requests is in the result.
  void add_claim_config(uint32_t claim, api::AllocationResult& result) const {
    for (const api::DeviceClaimConfig& config : plan_.claims[claim]->spec.config) {
      bool applies = config.requests.empty();
      for (uint32_t r = 0; r < plan_.requests.size() && !applies; ++r) {
        if (plan_.requests[r].claim != claim) continue;
        for (const std::string& name : config.requests)
          applies = applies || name == plan_.requests[r].spec->name || name == chosen(r).name;
      }
      if (applies) add_config(result, {"FromClaim", config.requests, config.opaque});
    }
  }

  // What the claim's devices are, for the time when their driver withdraws them (pkg/identity/record.h).
  // Whether there was something.
  bool add_records(uint32_t claim, api::AllocationResult& result) const {
    identity::Records records;
    for (const Pick& pick : search_.picks()) {
      if (plan_.requests[pick.request].claim != claim || alternative_of(pick).admin) continue;
      const MatrixSegment& segment = search_.matrix().segment_of(pick.local);
      const uint32_t device = search_.matrix().device_of(segment, pick.local);
      std::optional<identity::Record> record = device_index_.silicon().record_of(*segment.pool, device);
      if (!record) continue;
      const bool shared = alternative_of(pick).shares_silicon;
      record->shared = shared;
      const std::string name = segment.pool->driver_text + "/" + segment.pool->name_text + "/" +
                               std::string(device_index_.strings().text(segment.pool->device_name(device)));
      const auto [at, fresh] = records.try_emplace(name, std::move(*record));
      if (!fresh) at->second.shared = at->second.shared && shared;
    }
    for (std::string& text : identity::encode_records(records))
      result.config.push_back(
          {"FromClass", {}, api::OpaqueConfig{std::string(identity::kRecordDriver), std::move(text)}});
    return !records.empty();
  }

  static tl::unexpected<Error> too_many_configs(const api::AllocationResult& result) {
    return fail(Code::kResourceExhausted,
                "the allocation would have " + std::to_string(result.config.size()) + " config entries, and at most " +
                    std::to_string(api::kMaxAllocationConfigs) +
                    " are stored: use fewer devices a claim, or fewer entries in the class and in the claim");
  }

  const PlanAlternative& chosen(uint32_t r) const { return plan_.requests[r].alternatives[search_.chosen()[r]]; }

  const Plan& plan_;
  const Search& search_;
  const inventory::DeviceIndex& device_index_;
  Random& random_;
  const bool strict_;
  bool any_records_ = false;  // some device has one
};

}  // namespace

Result<std::vector<api::AllocationResult>> make_results(const Plan& plan, const Search& search,
                                                        const inventory::DeviceIndex& device_index, Random& random,
                                                        bool strict) {
  return ResultMaker(plan, search, device_index, random, strict).run();
}

}  // namespace dra::allocator
