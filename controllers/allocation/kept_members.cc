#include "controllers/allocation/kept_members.h"

#include <algorithm>
#include <utility>

namespace dra::allocation {

using namespace reconcile;

MemberSteps::MemberSteps(const View& view, const Tools& tools, Membership of, GroupMembers all)
    : membership(std::move(of)), members(std::move(all)) {
  for (const api::Pod* pod : members.waiting) steps.emplace_back(view, *pod, role_of(*pod, tools.options), tools);
}

std::shared_ptr<MemberSteps> KeptMembers::take(const View& view, const Membership& membership) {
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.made->membership.group == membership.group; });
  if (known == kept_.end()) return nullptr;
  const Kept kept = std::move(*known);
  kept_.erase(known);
  const bool same = kept.view == &view && kept.version == view.version_of_namespace(membership.group.ns) &&
                    kept.made->membership == membership;
  return same ? kept.made : nullptr;
}

void KeptMembers::keep(const View& view, std::shared_ptr<MemberSteps> made) {
  const std::optional<uint64_t> version = view.version_of_namespace(made->membership.group.ns);
  if (!version) return;
  // Nodes and device plugins decide about extended resources too.
  if (std::any_of(made->steps.begin(), made->steps.end(),
                  [](const PodReconcile& steps) { return steps.asks_for_extended(); }))
    return;
  for (PodReconcile& steps : made->steps) steps.begin_again();
  if (kept_.size() >= kMost) kept_.pop_front();
  kept_.push_back({&view, *version, std::move(made)});
}

}  // namespace dra::allocation
