// A pod whose group is below groups of groups (pkg/protocol/wholes.h): it is placed together with the widest of them
// that is not launched. Once all are, with its own group, by the policy of that: so the groups beyond the number that
// is placed together join later.
#pragma once

#include <memory>
#include <optional>

#include "controllers/allocation/members/group_members.h"
#include "controllers/allocation/tools.h"
#include "pkg/reconcile/effect.h"

namespace dra::allocation {

// Nothing: all groups above it are launched.
std::optional<protocol::Whole> open_whole(const reconcile::View& view, const Tools& tools,
                                          const protocol::Membership& membership);
// The waiting pod that is reconciled for all of them; null: none waits.
const api::Pod* leader_of_whole(const reconcile::View& view, const Tools& tools, const protocol::Whole& whole,
                                const api::Pod& changed);
GroupMembers members_of_whole(const reconcile::View& view, const protocol::Membership& membership,
                              protocol::Whole whole, const Options& options);
// How many pods they are together.
size_t size_of_whole(const reconcile::View& view, const protocol::Whole& whole);

}  // namespace dra::allocation
