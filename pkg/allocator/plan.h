// Plan: the claims of a request, checked and compiled once: requests in order, their alternatives, constraints.
//
// Independent of nodes, devices and use; valid as long as the classes do not change.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/filters.h"
#include "pkg/allocator/reasons.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"

namespace dra::allocator {

// Results of all claims together; deeper searches are refused.
inline constexpr size_t kMaxPlanResults = 2048;

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

struct PlanConstraint {
  uint32_t claim = 0;
  bool distinct = false;
  std::string attribute;
  uint32_t column = 0;             // which of Plan::columns
  std::vector<uint32_t> requests;  // of Plan::requests, ascending, with at least one alternative in it
};

struct Plan {
  Plan(std::vector<std::shared_ptr<const api::ResourceClaim>> claim_objects, inventory::Core& core)
      : claims(std::move(claim_objects)), core_(core) {}
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
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
  // The slice ended while selectors were compiled: make it again. Those that were compiled are kept.
  bool unfinished = false;
  size_t bytes = 0;  // of this and the claims it keeps, roughly
  uint64_t classes_version = 0;
  // Everything that decides whether the claims fit somewhere: equal shapes fit on the same nodes.
  std::string shape;

 private:
  inventory::Core& core_;
};

// Never null: what is wrong with the claims is in Plan::error.
std::shared_ptr<const Plan> make_plan(const std::vector<std::shared_ptr<const api::ResourceClaim>>& claims,
                                      inventory::Core& core, Selectors& selectors, Filters& filters,
                                      const Meter& meter);

}  // namespace dra::allocator
