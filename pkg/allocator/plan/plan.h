// Plan: the claims of a request, checked and compiled once: requests in order, their alternatives, constraints.
//
// Independent of nodes, devices and use; valid until the classes change. Costs about a microsecond per
// alternative, and more for each selector not yet compiled; if the slice ends, it continues in the next
// one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/allocator/locality.h"
#include "pkg/allocator/plan/columns.h"
#include "pkg/allocator/plan/filters.h"
#include "pkg/allocator/plan/plan_pairs.h"
#include "pkg/allocator/reasons.h"
#include "pkg/allocator/value_list.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"

namespace dra::allocator {

// Claims with more than this together are refused. One claim has at most 32 requests of 8 alternatives, and is stored
// with all its texts in 3 MiB; a pod may name any number of claims.
inline constexpr size_t kMaxPlanClaims = 64;
inline constexpr size_t kMaxPlanAlternatives = 1024;
inline constexpr size_t kMaxPlanBytes = 4u << 20;
// Of distinct selectors: compiled, they use a fraction of Selectors::kMaxProgramBytes.
inline constexpr size_t kMaxPlanSelectorBytes = 192u << 10;

struct PlanDerived {
  const std::string* name = nullptr;  // of the attribute
  SelectorId expression = 0;
};

struct PlanAlternative {
  std::string name;  // "req" or "req/sub", as in results
  const api::DeviceSubRequest* spec = nullptr;
  FilterId filter = 0;
  uint32_t slot = 0;  // index in Plan::filters
  bool all = false;   // allocationMode All
  bool admin = false;
  bool shares_silicon = false;        // the class says that its requests share silicon
  uint32_t count = 1;                 // ExactCount
  std::vector<uint32_t> constraints;  // indices in Plan::constraints
  const api::DeviceClass* device_class = nullptr;
  std::vector<PlanDerived> derived;
  // Where an expression takes the place of the devices' attribute: the constraint, and its column (DerivedColumns).
  std::vector<std::pair<uint32_t, uint32_t>> derived_columns;
};

struct PlanRequest {
  uint32_t claim = 0;
  const api::DeviceRequest* spec = nullptr;
  bool prioritized = false;
  std::vector<PlanAlternative> alternatives;
};

// For a constraint on requests of several claims (Request::preferences, Request::lists).
inline constexpr uint32_t kAllClaims = UINT32_MAX;

struct PlanColumn {
  inventory::StrId key = 0;  // of the attribute; referenced
  Values which = Values::kAll;
};

struct PlanConstraint {
  uint32_t claim = 0;                            // or kAllClaims
  const std::vector<Anchor>* anchors = nullptr;  // devices that those of the requests must agree with
  const ValueList* list = nullptr;               // neither match nor distinct: devices stand for its entries
  bool distinct = false;
  std::string attribute;
  uint32_t column = 0;              // index in Plan::columns
  std::vector<uint32_t> requests;   // indices in Plan::requests, ascending, with at least one alternative in it
  std::vector<SelectorId> derived;  // expressions that some alternatives have for the attribute: columns from 1 on
};

struct Plan {
  Plan(std::vector<std::shared_ptr<const api::ResourceClaim>> claim_objects, std::vector<Preference> demanded,
       std::vector<PairRule> rules, inventory::DeviceIndex& device_index)
      : claims(std::move(claim_objects)),
        ties(std::move(demanded)),
        pair_rules(std::move(rules)),
        device_index_(device_index) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<Preference> ties;  // preferences that this plan must meet
  std::vector<ValueList> lists;
  std::vector<PairRule> pair_rules;                              // that this plan must meet
  std::vector<std::shared_ptr<const api::DeviceClass>> classes;  // kept alive
  std::vector<PlanRequest> requests;                             // of all claims, in order
  std::vector<PlanConstraint> constraints;
  std::vector<PlanPairs> pairs;     // first one for each of pair_rules, then implied ones
  std::vector<FilterId> filters;    // distinct ones in use
  std::vector<PlanColumn> columns;  // distinct ones of constraints
  bool any_all = false;
  bool any_admin = false;
  bool any_prioritized = false;
  bool any_derived = false;   // some constraint reads derived attributes
  bool counts_takes = false;  // devices that take something of their node are candidates (Request::room)
  bool apart = false;  // no claim takes a device twice, where the driver's rule prefers that (Shares::never_twice)
  // Why nothing can ever satisfy the claims.
  std::optional<Error> error;
  // An error only in strict mode (upstream's behaviour); otherwise it is the reason why the claims are infeasible.
  bool error_only_when_strict = false;
  // Two requests of one name (no API server accepts that): results would be ambiguous. Upstream continues, so this is
  // an error except in strict mode.
  std::optional<Error> ambiguous;
  Cause error_cause = Cause::kInvalidRequest;
  // The claim that `error`, or else `ambiguous`, is about; nullopt: all of them together.
  std::optional<uint32_t> guilty_claim;
  // The slice ended first: call go_on() in another one.
  bool unfinished = false;
  size_t bytes = 0;  // of this and the claims it keeps, roughly
  uint64_t classes_version = 0;
  // Everything that decides whether the claims fit: equal shapes fit on the same nodes.
  std::string shape;

 private:
  friend class Planner;
  // How far planning has come, and the index from filters and columns to their numbers.
  struct Progress {
    uint32_t claim = 0;         // index in `claims`: the current one
    size_t request = 0;         // its next request
    size_t alternatives = 0;    // of all requests planned
    size_t first_request = 0;   // index in `requests`: the claim's first
    size_t selector_bytes = 0;  // of the distinct selectors
    std::unordered_set<SelectorId> selectors;
    std::unordered_map<FilterId, uint32_t> slot_of;
    std::map<std::pair<inventory::StrId, Values>, uint32_t> column_of;
  };
  Progress progress_;
  inventory::DeviceIndex& device_index_;
};

// Never null: errors in the claims are in Plan::error.
std::shared_ptr<Plan> begin_plan(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                                 std::vector<Preference> ties, std::vector<PairRule> pairs,
                                 std::vector<ValueList> lists, bool apart, bool counts_takes,
                                 inventory::DeviceIndex& device_index);
// Plans what is missing, or a part of it (see Plan::unfinished). Each call makes progress, however short the slice.
void go_on(Plan& plan, inventory::DeviceIndex& device_index, Selectors& selectors, Filters& filters, Meter& meter);

}  // namespace dra::allocator
