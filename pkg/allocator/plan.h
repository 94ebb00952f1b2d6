// Plan: the claims of a request, checked and compiled once: requests in order, their alternatives, constraints.
//
// Independent of nodes, devices and use; valid as long as the classes do not change. Making it costs about a
// microsecond an alternative, and more for each selector that is not compiled yet; it goes on in the next slice where
// one ends.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/allocator/filters.h"
#include "pkg/allocator/locality.h"
#include "pkg/allocator/reasons.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"

namespace dra::allocator {

// Claims with more of these together are refused. One claim has at most 32 requests of 8 alternatives, and is stored
// with all its texts in 3 MiB; a pod may name any number of claims.
inline constexpr size_t kMaxPlanClaims = 64;
inline constexpr size_t kMaxPlanAlternatives = 1024;
inline constexpr size_t kMaxPlanBytes = 4u << 20;
// Of distinct selectors: compiled, they take a fraction of Selectors::kMaxProgramBytes.
inline constexpr size_t kMaxPlanSelectorBytes = 192u << 10;

struct PlanAlternative {
  std::string name;  // "req" or "req/sub", as results have it
  const api::DeviceSubRequest* spec = nullptr;
  FilterId filter = 0;
  uint32_t slot = 0;  // which of Plan::filters
  bool all = false;   // allocationMode All
  bool admin = false;
  uint32_t count = 1;                 // ExactCount
  std::vector<uint32_t> constraints;  // of Plan::constraints
  const api::DeviceClass* device_class = nullptr;
};

struct PlanRequest {
  uint32_t claim = 0;
  const api::DeviceRequest* spec = nullptr;
  bool prioritized = false;
  std::vector<PlanAlternative> alternatives;
};

// Of a constraint that binds requests of several claims (Request::preferences).
inline constexpr uint32_t kAllClaims = UINT32_MAX;

struct PlanConstraint {
  uint32_t claim = 0;                            // or kAllClaims
  const std::vector<Anchor>* anchors = nullptr;  // devices that those of the requests must agree with
  bool distinct = false;
  std::string attribute;
  uint32_t column = 0;             // which of Plan::columns
  std::vector<uint32_t> requests;  // of Plan::requests, ascending, with at least one alternative in it
};

struct Plan {
  Plan(std::vector<std::shared_ptr<const api::ResourceClaim>> claim_objects, std::vector<Preference> demanded,
       inventory::Core& core)
      : claims(std::move(claim_objects)), ties(std::move(demanded)), core_(core) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  std::vector<Preference> ties;                                  // preferences that must be met by this plan
  std::vector<std::shared_ptr<const api::DeviceClass>> classes;  // kept alive
  std::vector<PlanRequest> requests;                             // of all claims, in order
  std::vector<PlanConstraint> constraints;
  std::vector<FilterId> filters;          // distinct ones in use
  std::vector<inventory::StrId> columns;  // distinct attribute keys of constraints; referenced
  bool any_all = false;
  bool any_admin = false;
  bool any_prioritized = false;
  // Why nothing can ever satisfy the claims.
  std::optional<Error> error;
  // An error only where upstream's behaviour is asked for: otherwise the claims are infeasible for this reason.
  bool error_only_when_strict = false;
  // Two requests of one name (no API server takes that): results could not be told apart. Upstream goes on all the
  // same, so this is an error unless its behaviour is asked for.
  std::optional<Error> ambiguous;
  Cause error_cause = Cause::kInvalidRequest;
  // Which of `claims` `error`, or else `ambiguous`, is about; nothing: all of them together.
  std::optional<uint32_t> guilty_claim;
  // The slice ended first: go_on() in another one.
  bool unfinished = false;
  size_t bytes = 0;  // of this and the claims it keeps, roughly
  uint64_t classes_version = 0;
  // Everything that decides whether the claims fit somewhere: equal shapes fit on the same nodes.
  std::string shape;

 private:
  friend class Planner;
  // How far making it is, and the way back from filters and columns to their numbers.
  struct Progress {
    uint32_t claim = 0;         // of `claims`: the one at hand
    size_t request = 0;         // its next request
    size_t alternatives = 0;    // of all requests made
    size_t first_request = 0;   // of `requests`: the claim's first
    size_t selector_bytes = 0;  // of the distinct ones
    std::unordered_set<SelectorId> selectors;
    std::unordered_map<FilterId, uint32_t> slot_of;
    std::unordered_map<inventory::StrId, uint32_t> column_of;
  };
  Progress progress_;
  inventory::Core& core_;
};

// Never null: what is wrong with the claims is in Plan::error.
std::shared_ptr<Plan> begin_plan(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                                 std::vector<Preference> ties, inventory::Core& core);
// Makes what is missing of it, or a part: Plan::unfinished says which. Each call gets further, however short the slice.
void go_on(Plan& plan, inventory::Core& core, Selectors& selectors, Filters& filters, Meter& meter);

}  // namespace dra::allocator
