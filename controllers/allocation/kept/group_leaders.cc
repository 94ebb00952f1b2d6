#include "controllers/allocation/kept/group_leaders.h"

#include "controllers/allocation/members/group_members.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

const api::Pod* GroupLeaders::leader_of(const View& view, const std::string& group, const api::Pod* changed,
                                        const Options& options) {
  if (is_too_large(view, group)) {
    known_.erase(group);
    return nullptr;
  }
  const api::Pod* leader = nullptr;
  if (const auto known = known_.find(group); known != known_.end()) {
    const api::Pod* pod = view.pod(known->second.pod);
    if (pod != nullptr && pod->metadata.uid == known->second.uid && may_lead(view, *pod, group, options)) {
      leader = pod;
      if (changed != nullptr && is_older(changed, leader) && may_lead(view, *changed, group, options)) leader = changed;
    }
  }
  if (leader == nullptr) leader = allocation::leader_of(view, group, options);
  if (leader == nullptr) {
    known_.erase(group);
    return nullptr;
  }
  if (known_.size() >= kMost && !known_.contains(group)) known_.clear();
  known_[group] = {leader->metadata.key(), leader->metadata.uid};
  return leader;
}

bool GroupLeaders::has_launched(const View& view, const std::string& group, const Options& options) {
  if (none_launched_.contains(group)) return false;
  if (launched_of(view, group, 1, options) > 0) return true;
  if (none_launched_.size() >= kMost) none_launched_.clear();
  none_launched_.insert(group);
  return false;
}

bool GroupLeaders::changed(const View& view, const api::Pod& pod, const Options& options) {
  if (none_launched_.empty() || !is_launched(view, pod, options)) return false;
  const std::optional<GroupRef> group = group_of(pod);
  return group && none_launched_.erase(group->key()) > 0;
}

void GroupLeaders::forget_all() {
  known_.clear();
  none_launched_.clear();
}

}  // namespace dra::allocation
