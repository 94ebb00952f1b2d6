#include "controllers/allocation/group/whole.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "controllers/allocation/kept/group_leaders.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

std::optional<Whole> open_whole(const View& view, const Tools& tools, const Membership& membership) {
  for (const GroupRef& top : membership.above) {
    Whole whole = whole_of(view, top);
    const bool launched = std::any_of(whole.parts.begin(), whole.parts.end(), [&](const WholePart& part) {
      return part.has_pods && tools.leaders.has_launched(view, part.group.key(), tools.options);
    });
    if (!launched) return whole;
  }
  return std::nullopt;
}

const api::Pod* leader_of_whole(const View& view, const Tools& tools, const Whole& whole, const api::Pod& changed) {
  const api::Pod* leader = nullptr;
  const std::optional<GroupRef> own = group_of(changed);
  for (const WholePart& part : whole.parts) {
    if (!part.has_pods) continue;
    const bool is_own = own && *own == part.group;
    const api::Pod* one = tools.leaders.leader_of(view, part.group.key(), is_own ? &changed : nullptr, tools.options);
    if (one != nullptr && (leader == nullptr || is_older(one, leader))) leader = one;
  }
  return leader;
}

size_t size_of_whole(const View& view, const Whole& whole) {
  size_t sum = 0;
  for (const WholePart& part : whole.parts)
    if (part.has_pods) sum += view.size_of_group(part.group.key());
  return sum;
}

GroupMembers members_of_whole(const View& view, const Membership& membership, Whole whole, const Options& options) {
  GroupMembers members;
  members.group = whole.group;
  members.min_count = static_cast<uint32_t>(std::min<uint64_t>(whole.least(), UINT32_MAX));
  members.topology = whole.parts.front().topology;
  members.hold_timeout = std::min(options.gang_hold_timeout, membership.timeout.value_or(options.gang_hold_timeout));
  for (const GroupRef& top : membership.above) {
    if (top == whole.parts.front().group) break;
    members.joins.push_back(top);
  }
  std::vector<std::pair<const api::Pod*, uint32_t>> waiting;
  for (uint32_t p = 0; p < whole.parts.size(); ++p) {
    const WholePart& part = whole.parts[p];
    if (!part.has_pods) continue;
    for (const api::Pod* pod : view.pods_of_group(part.group.key())) {
      if (may_lead(view, *pod, part.group.key(), options))
        waiting.emplace_back(pod, p);
      else
        members.launched = members.launched || is_launched(view, *pod, options);
    }
  }
  std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) { return is_older(a.first, b.first); });
  for (const auto& [pod, part] : waiting) {
    members.waiting.push_back(pod);
    members.part_of.push_back(part);
  }
  members.whole = std::make_shared<const Whole>(std::move(whole));
  return members;
}

}  // namespace dra::allocation
