// Table: a checked GangRequest whose claims and kinds of members are numbered. Plain data; compile() is pure. Numbers
// are positions in the vectors, and members have their number in the request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/error.h"
#include "pkg/gang/request.h"

namespace dra::gang {

struct TableClaim {
  std::shared_ptr<const api::ResourceClaim> object;
  std::string trial_uid;        // the uid under which the search assumes it
  std::vector<uint32_t> users;  // members, ascending
  bool any_admin = false;       // some request has adminAccess
  bool only_admin = false;      // all have: the claim takes nothing from others
  bool shared() const { return users.size() > 1; }
};

// Interchangeable members: any of them can take another's place.
struct Kind {
  std::vector<uint32_t> members;  // in the request's order
  bool shares = false;            // they name a claim to be decided that other members also name
};

struct Table {
  std::vector<TableClaim> claims;                                    // to be decided
  std::vector<std::vector<uint32_t>> claims_of;                      // by member: into `claims`, in the pod's order
  std::vector<std::shared_ptr<const api::ResourceClaim>> allocated;  // kept alive
  // By member: the selectors of its allocated claims.
  std::vector<std::vector<const api::NodeSelector*>> selectors_of;
  std::vector<Kind> kinds;
  std::vector<uint32_t> kind_of;  // by member
  bool any_pairs = false;         // some member has Member::pairs
};

// The group has more kinds of members than are decided together. `where`: a clause, " on 900 nodes", or empty.
Error too_different(const GangRequest& request, size_t kinds, const std::string& where);
// Makes the member a kind of its own, and returns it.
uint32_t own_kind(Table& table, uint32_t member);
// An error names what is wrong with the request. The table does not refer to the request.
Result<Table> compile(const GangRequest& request);

}  // namespace dra::gang
