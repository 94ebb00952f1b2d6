#include "pkg/protocol/wholes.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "pkg/base/strings.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

using Source = GroupRef::Source;

GroupApi api_of_group(Source source) {
  return source == Source::kPlugins     ? GroupApi::kPlugins
         : source == Source::kComposite ? GroupApi::kComposite
                                        : GroupApi::kCore;
}

std::string kind_and_name(const GroupRef& group) {
  const char* kind = group.source == Source::kComposite ? "CompositePodGroup "
                     : group.source == Source::kJob     ? "Job "
                                                        : "PodGroup ";
  return kind + group.ns + "/" + group.name;
}

const api::PodGroup* object_of_group(const View& view, const GroupRef& group) {
  if (group.source == Source::kJob) return nullptr;
  return view.pod_group(api_of_group(group.source), group.ns + "/" + group.name);
}

// Nothing: no group is above it. The API of a Job's parent is the first that has it.
std::optional<GroupRef> parent_of_group(const View& view, const GroupRef& group, const api::Pod* pod) {
  if (group.source == Source::kJob) {
    const std::string key = pod == nullptr ? "" : parent_key_of(*pod);
    if (key.empty()) return std::nullopt;
    const std::string name = key.substr(group.ns.size() + 1);
    const bool plugins = view.pod_group(GroupApi::kCore, key) == nullptr &&
                         (view.pod_group(GroupApi::kPlugins, key) != nullptr ||
                          view.groups_known(GroupApi::kCore).state == GroupsKnown::State::kCannot);
    return GroupRef{plugins ? Source::kPlugins : Source::kCore, group.ns, name, ""};
  }
  const api::PodGroup* object = object_of_group(view, group);
  if (object == nullptr) return std::nullopt;
  if (!object->parent.empty()) return GroupRef{Source::kComposite, group.ns, object->parent, ""};
  if (group.source == Source::kComposite) return std::nullopt;
  const std::string key = parent_key_of(*object);
  if (key.empty()) return std::nullopt;
  return GroupRef{group.source, group.ns, key.substr(group.ns.size() + 1), ""};
}

std::optional<uint32_t> number_from_one(const std::string& text, uint32_t most) {
  uint32_t value = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc() || end != text.data() + text.size() || value < 1 || value > most) return std::nullopt;
  return value;
}

struct Policy {
  uint32_t min_groups = 0;  // 0: basic
  std::string why;          // a clause: it is none
};

Policy policy_of(const GroupRef& group, const api::PodGroup& object, const View& view) {
  const std::string name = kind_and_name(group);
  if (const api::UnknownField* field = api::refusing_field(object.unknown, view.ignored_fields()))
    return {0, name + ": " + api::why_refused(*field)};
  if (group.source == Source::kComposite) {
    if (!object.min_groups) return {};
    if (*object.min_groups < 1 || static_cast<uint32_t>(*object.min_groups) > kMaxGroupsOfWhole)
      return {0, "minGroupCount of " + name + " is " + std::to_string(*object.min_groups) +
                     ", which is not a number of groups from 1 to " + std::to_string(kMaxGroupsOfWhole)};
    return {static_cast<uint32_t>(*object.min_groups), ""};
  }
  const auto annotation = object.metadata.annotations.find(std::string(kMinGroupsAnnotation));
  if (annotation == object.metadata.annotations.end()) {
    if (!object.min_count) return {};  // basic
    return {0, name +
                   " has groups below it and does not say how many of them are placed together; add the annotation " +
                   std::string(kMinGroupsAnnotation) + ", or give it the policy basic"};
  }
  const std::optional<uint32_t> count = number_from_one(annotation->second, kMaxGroupsOfWhole);
  if (!count)
    return {0, "annotation " + std::string(kMinGroupsAnnotation) + " of " + name + ": " + quote(annotation->second) +
                   " is not a number of groups from 1 to " + std::to_string(kMaxGroupsOfWhole)};
  return {*count, ""};
}

Ancestors refused_above(std::string why, bool ordinary = false) {
  Ancestors above;
  above.why = std::move(why);
  above.ordinary = ordinary;
  return above;
}

GroupRef ref_of_whole(const GroupRef& top) {
  return {Source::kWhole, top.ns, (top.source == Source::kComposite ? "composite/" : "") + top.name, top.key()};
}

std::optional<GroupRef> group_with_key(const View& view, std::string_view key) {
  const size_t colon = key.find(':'), slash = key.find('/');
  if (colon == std::string_view::npos || slash == std::string_view::npos || slash < colon) return std::nullopt;
  const std::string_view prefix = key.substr(0, colon);
  const std::string ns(key.substr(colon + 1, slash - colon - 1)), name(key.substr(slash + 1));
  if (prefix == "core") return GroupRef{Source::kCore, ns, name, ""};
  if (prefix == "plugins") return GroupRef{Source::kPlugins, ns, name, ""};
  if (prefix == "composite") return GroupRef{Source::kComposite, ns, name, ""};
  for (const api::Pod* pod : view.started_of_group(key, 1)) return group_of(*pod);
  for (const api::Pod* pod : view.pods_of_group(key)) return group_of(*pod);
  return std::nullopt;
}

// A pod of a Job, by which its annotations are read.
const api::Pod* pod_of_job(const View& view, const std::string& key) {
  const std::vector<const api::Pod*> pods = view.pods_of_group(key);
  return pods.empty() ? nullptr : pods.front();
}

void fill_leaf(const View& view, WholePart& part) {
  part.has_pods = true;
  if (part.group.source == Source::kJob) {
    for (const api::Pod* pod : view.pods_of_group(part.group.key())) {
      const auto text = pod->metadata.annotations.find(std::string(kGroupAnnotation));
      const std::optional<uint32_t> count =
          text == pod->metadata.annotations.end() ? std::nullopt : number_from_one(text->second, kMaxGroupMembers);
      part.need = std::max(part.need, count.value_or(1));
      if (part.topology.empty()) part.topology = topology_wish(pod->metadata.annotations);
    }
    part.need = std::max(part.need, 1u);
    return;
  }
  const api::PodGroup* object = object_of_group(view, part.group);
  part.need = kNever;
  if (object == nullptr || object->metadata.deleting() || api::refusing_field(object->unknown, view.ignored_fields()))
    return;
  const int32_t count = object->min_count.value_or(1);
  if (count > static_cast<int32_t>(kMaxGroupMembers)) return;
  part.need = static_cast<uint32_t>(std::max(count, 1));
}

// False: there are too many groups.
bool add_below(const View& view, Whole& whole, uint32_t at, uint32_t level) {
  const GroupRef group = whole.parts[at].group;
  std::vector<std::string> children;
  if (group.source != Source::kJob) children = view.child_groups(group.ns + "/" + group.name);
  for (const std::string& key : children) {
    const std::optional<GroupRef> child = group_with_key(view, key);
    if (!child) continue;
    const api::Pod* pod = child->source == Source::kJob ? pod_of_job(view, key) : nullptr;
    if (parent_of_group(view, *child, pod) != group) continue;  // it names a group of another API
    if (whole.parts.size() >= kMaxGroupsOfWhole) return false;
    WholePart& part = whole.parts.emplace_back();
    part.group = *child;
    part.parent = at;
    if (const api::PodGroup* object = object_of_group(view, *child)) {
      part.topology = topology_wish(object->metadata.annotations);
      if (!object->topology_key.empty()) part.topology.required = object->topology_key;
    }
    const uint32_t own = static_cast<uint32_t>(whole.parts.size()) - 1;
    const api::PodGroup* object = object_of_group(view, *child);
    const bool holds_groups =
        child->source == Source::kComposite ||
        (object != nullptr &&
         (object->metadata.annotations.contains(std::string(kMinGroupsAnnotation)) ||
          (child->source != Source::kJob && !view.child_groups(child->ns + "/" + child->name).empty())));
    if (!holds_groups) {
      fill_leaf(view, whole.parts[own]);
      continue;
    }
    const Policy policy = object == nullptr ? Policy{0, "is gone"} : policy_of(*child, *object, view);
    whole.parts[own].need = !policy.why.empty() || level + 1 >= kMaxLevels ? kNever : std::max(policy.min_groups, 1u);
    if (level + 1 < kMaxLevels && !add_below(view, whole, own, level + 1)) return false;
  }
  return true;
}

Membership with_ancestors(Membership member, GroupRef group, Ancestors above) {
  if (member.state == Membership::State::kWaits) return member;
  if (!above.why.empty()) {
    Membership refused_one;
    refused_one.state = Membership::State::kWaits;
    refused_one.group = std::move(group);
    refused_one.why = std::move(above.why);
    refused_one.ordinary = above.ordinary;
    return refused_one;
  }
  if (member.state == Membership::State::kAlone) {
    member.state = Membership::State::kMember;
    member.min_count = 1;
    member.why.clear();
  }
  member.group = std::move(group);
  member.above = std::move(above.gangs);
  if (member.topology.required.empty()) member.topology.required = std::move(above.required_level);
  return member;
}

}  // namespace

std::string parent_key_of(const api::PodGroup& group) {
  if (!group.parent.empty()) return group.metadata.ns + "/" + group.parent;
  const auto named = group.metadata.annotations.find(std::string(kParentGroupAnnotation));
  return named == group.metadata.annotations.end() || named->second.empty() ? ""
                                                                            : group.metadata.ns + "/" + named->second;
}

std::string parent_key_of(const api::Pod& pod) {
  const auto named = pod.metadata.annotations.find(std::string(kParentGroupAnnotation));
  if (named == pod.metadata.annotations.end() || named->second.empty()) return "";
  const std::optional<GroupRef> group = group_of(pod);
  return group && group->source == Source::kJob ? pod.metadata.ns + "/" + named->second : "";
}

std::optional<Ancestors> ancestors_of(const View& view, const GroupRef& group, const api::Pod& pod) {
  std::optional<GroupRef> parent = parent_of_group(view, group, &pod);
  if (!parent) return std::nullopt;
  std::vector<GroupRef> chain{group};
  std::vector<GroupRef> gangs;
  std::string level;
  while (parent) {
    const bool circle = std::find(chain.begin(), chain.end(), *parent) != chain.end();
    chain.push_back(*parent);
    if (circle || chain.size() > kMaxLevels) {
      std::vector<std::string> names;
      for (const GroupRef& one : chain) names.push_back(one.name);
      if (circle)
        return refused_above("the groups above it form a circle: " + join(names, ", ") +
                             "; let one of them name no parent");
      return refused_above("it is on level " + std::to_string(chain.size()) + " of the groups " + join(names, ", ") +
                           "; at most " + std::to_string(kMaxLevels) + " levels are placed together");
    }
    const GroupsKnown known = view.groups_known(api_of_group(parent->source));
    const std::string name = kind_and_name(*parent) + ", the group above " + chain[chain.size() - 2].name + ",";
    if (known.state == GroupsKnown::State::kListing)
      return refused_above(known.why.empty() ? "the groups above it are being listed" : known.why, known.why.empty());
    if (known.state == GroupsKnown::State::kCannot) return refused_above(name + " cannot be read: " + known.why);
    const api::PodGroup* object = object_of_group(view, *parent);
    if (object == nullptr) return refused_above(name + " does not exist");
    if (object->metadata.deleting()) return refused_above(name + " is being deleted");
    const Policy policy = policy_of(*parent, *object, view);
    if (!policy.why.empty()) return refused_above(policy.why);
    if (policy.min_groups > 0) gangs.insert(gangs.begin(), *parent);
    // Of groups that bind nobody, nothing holds for all.
    if (policy.min_groups > 0 && level.empty())
      level =
          object->topology_key.empty() ? topology_wish(object->metadata.annotations).required : object->topology_key;
    parent = parent_of_group(view, *parent, nullptr);
  }
  if (gangs.empty()) return std::nullopt;
  Ancestors above;
  above.gangs = std::move(gangs);
  above.required_level = std::move(level);
  return above;
}

Membership membership_of(const View& view, const api::Pod& pod) {
  std::optional<GroupRef> group = group_of(pod);
  if (!group) {
    if (!pod.metadata.annotations.contains(std::string(kGroupAnnotation))) return {};
    Membership alone;
    alone.why = "annotation " + std::string(kGroupAnnotation) + " counts on pods whose controller is a Job only";
    return alone;
  }
  Membership member = membership_in(view, pod, *group);
  if (std::optional<Ancestors> above = ancestors_of(view, *group, pod))
    return with_ancestors(std::move(member), std::move(*group), std::move(*above));
  return member;
}

Whole whole_of(const View& view, const GroupRef& top) {
  Whole whole;
  whole.group = ref_of_whole(top);
  WholePart& root = whole.parts.emplace_back();
  root.group = top;
  root.need = kNever;
  const api::PodGroup* object = object_of_group(view, top);
  if (object == nullptr) return whole;
  const Policy policy = policy_of(top, *object, view);
  root.need = policy.why.empty() ? std::max(policy.min_groups, 1u) : kNever;
  root.topology = topology_wish(object->metadata.annotations);
  if (!object->topology_key.empty()) root.topology.required = object->topology_key;
  if (!add_below(view, whole, 0, 1))
    whole.why = "more than " + std::to_string(kMaxGroupsOfWhole) + " groups are below " + kind_and_name(top) +
                "; at most so many are placed together";
  return whole;
}

uint64_t Whole::least() const {
  std::vector<uint64_t> least(parts.size(), 0);
  constexpr uint64_t kMany = UINT32_MAX;
  for (size_t p = parts.size(); p-- > 0;) {
    if (parts[p].need == kNever) {
      least[p] = kMany;
      continue;
    }
    if (parts[p].has_pods) {
      least[p] = parts[p].need;
      continue;
    }
    std::vector<uint64_t> below;
    for (size_t c = p + 1; c < parts.size(); ++c)
      if (parts[c].parent == p) below.push_back(least[c]);
    std::sort(below.begin(), below.end());
    if (below.size() < parts[p].need)
      least[p] = kMany;
    else
      least[p] = std::min(kMany, std::accumulate(below.begin(), below.begin() + parts[p].need, uint64_t{0}));
  }
  return least.empty() ? 0 : least[0];
}

std::vector<bool> satisfied_parts(const Whole& whole, const std::vector<uint32_t>& count) {
  std::vector<bool> satisfied(whole.parts.size(), false);
  std::vector<uint32_t> have = count;
  for (size_t p = whole.parts.size(); p-- > 0;) {
    satisfied[p] = have[p] >= whole.parts[p].need;
    if (satisfied[p] && whole.parts[p].parent) ++have[*whole.parts[p].parent];
  }
  return satisfied;
}

std::vector<std::string> groups_below(const View& view, std::string_view key) {
  std::vector<std::string> found, open{std::string(key)};
  for (uint32_t level = 0; level < kMaxLevels && !open.empty(); ++level) {
    std::vector<std::string> next;
    for (const std::string& one : open) {
      const size_t colon = one.find(':');
      if (view.size_of_group(one) > 0) found.push_back(one);
      if (one.starts_with("job:") || colon == std::string::npos) continue;
      for (std::string& child : view.child_groups(one.substr(colon + 1))) next.push_back(std::move(child));
      if (found.size() + next.size() > kMaxGroupsOfWhole) return found;
    }
    open = std::move(next);
  }
  return found;
}

}  // namespace dra::protocol
