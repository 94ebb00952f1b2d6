// Table: a GangRequest, checked, with its claims and kinds of members numbered.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/gang/gang.h"

namespace dra::gang {

struct TableClaim {
  std::shared_ptr<const api::ResourceClaim> object;
  std::string trial_uid;        // under which it is assumed while the search tries something
  std::vector<uint32_t> users;  // members, ascending
  bool any_admin = false;       // some request has adminAccess
  bool only_admin = false;      // all have: the claim takes nothing from others
  bool shared() const { return users.size() > 1; }
};

// Members that are interchangeable: one is placed where another would have been.
struct Kind {
  std::vector<uint32_t> members;  // in the request's order
  bool shares = false;            // they name a claim that is to be decided and that other members name, too
};

struct Table {
  std::vector<TableClaim> claims;                                    // to be decided
  std::vector<std::vector<uint32_t>> claims_of;                      // by member, of `claims`, in the pod's order
  std::vector<std::shared_ptr<const api::ResourceClaim>> allocated;  // kept alive
  // By member: the selectors of its claims that are allocated.
  std::vector<std::vector<const api::NodeSelector*>> selectors_of;
  std::vector<Kind> kinds;
  std::vector<uint32_t> kind_of;  // by member
};

// An error names what is wrong with the request. The table does not refer to the request.
Result<Table> compile(const GangRequest& request);

}  // namespace dra::gang
