#include "pkg/protocol/groups.h"

#include <charconv>

#include "pkg/base/strings.h"

namespace dra::protocol {

using namespace reconcile;

namespace {

std::string_view prefix_of(GroupRef::Source source) {
  switch (source) {
    case GroupRef::Source::kCore:
      return "core:";
    case GroupRef::Source::kPlugins:
      return "plugins:";
    case GroupRef::Source::kComposite:
      return "composite:";
    case GroupRef::Source::kWhole:
      return "whole:";
    case GroupRef::Source::kJob:
      break;
  }
  return "job:";
}

std::optional<int64_t> number_in(std::string_view text) {
  int64_t value = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (trouble != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Membership alone(std::string why) {
  Membership member;
  member.why = std::move(why);
  return member;
}

Membership waiting(GroupRef group, std::string why, bool ordinary) {
  Membership member;
  member.state = Membership::State::kWaits;
  member.group = std::move(group);
  member.why = std::move(why);
  member.ordinary = ordinary;
  return member;
}

// `what` names the field that the count was read from.
Membership member_of(GroupRef group, int64_t min_count, const std::string& what) {
  if (min_count < 1) return alone(what + " is " + std::to_string(min_count) + ", which is not a number of pods");
  if (min_count == 1) return {};
  if (min_count > kMaxGroupMembers)
    return waiting(std::move(group),
                   what + " is " + std::to_string(min_count) + ", and at most " + std::to_string(kMaxGroupMembers) +
                       " pods are placed together",
                   false);
  Membership member;
  member.state = Membership::State::kMember;
  member.group = std::move(group);
  member.min_count = static_cast<uint32_t>(min_count);
  return member;
}

Membership of_job(const api::Pod& pod, GroupRef group) {
  const std::string what = "annotation " + std::string(kGroupAnnotation);
  const std::string& text = pod.metadata.annotations.at(std::string(kGroupAnnotation));
  const std::optional<int64_t> count = number_in(text);
  if (!count) return alone(what + ": " + quote(text) + " is not a number of pods");
  Membership member = member_of(std::move(group), *count, what);
  if (member.state == Membership::State::kMember) member.topology = topology_wish(pod.metadata.annotations);
  return member;
}

Membership of_pod_group(const View& view, GroupRef group) {
  const bool core = group.source == GroupRef::Source::kCore;
  const GroupApi api = core ? GroupApi::kCore : GroupApi::kPlugins;
  const std::string name = "PodGroup " + group.ns + "/" + group.name;
  const GroupsKnown known = view.groups_known(api);
  if (known.state == GroupsKnown::State::kCannot)
    return alone("PodGroups of " + std::string(core ? "scheduling.k8s.io" : "scheduling.x-k8s.io") +
                 " cannot be read: " + known.why);
  if (known.state == GroupsKnown::State::kListing)
    return waiting(std::move(group),
                   known.why.empty() ? "PodGroups are being listed" : "PodGroups cannot be listed: " + known.why,
                   known.why.empty());
  const api::PodGroup* object = view.pod_group(api, group.ns + "/" + group.name);
  if (object == nullptr) return waiting(std::move(group), name + " does not exist", false);
  if (object->metadata.deleting()) return waiting(std::move(group), name + " is being deleted", false);
  if (const api::UnknownField* field = api::refusing_field(object->unknown, view.ignored_fields())) {
    Membership refused = waiting(std::move(group), name + ": " + api::why_refused(*field), false);
    refused.keeps = true;
    return refused;
  }
  if (object->metadata.annotations.contains(std::string(kMinGroupsAnnotation)))
    return waiting(std::move(group),
                   name + " is a group of groups (annotation " + std::string(kMinGroupsAnnotation) +
                       "); let its pods name a PodGroup below it",
                   false);
  // Policy "basic", or no minMember: its pods are placed one by one.
  if (!object->min_count) return {};
  Membership member = member_of(std::move(group), *object->min_count, (core ? "minCount of " : "minMember of ") + name);
  if (object->schedule_timeout_seconds && *object->schedule_timeout_seconds > 0)
    member.timeout = std::chrono::seconds(*object->schedule_timeout_seconds);
  if (member.state == Membership::State::kMember) {
    member.topology = topology_wish(object->metadata.annotations);
    // The API server validates this field, so it overrides an annotation.
    if (!object->topology_key.empty()) member.topology.required = object->topology_key;
  }
  return member;
}

}  // namespace

std::string GroupRef::key() const {
  return std::string(prefix_of(source)) + ns + "/" + (source == Source::kJob ? owner : name);
}

std::string GroupRef::shown() const {
  return (source == Source::kJob ? "job " : "group ") + ns + "/" + name;
}

std::string group_key(GroupApi api, std::string_view store_key) {
  const GroupRef::Source source = api == GroupApi::kCore      ? GroupRef::Source::kCore
                                  : api == GroupApi::kPlugins ? GroupRef::Source::kPlugins
                                                              : GroupRef::Source::kComposite;
  return std::string(prefix_of(source)) + std::string(store_key);
}

std::optional<GroupRef> group_of(const api::Pod& pod) {
  const std::string& ns = pod.metadata.ns;
  if (!pod.pod_group_name.empty()) return GroupRef{GroupRef::Source::kCore, ns, pod.pod_group_name, ""};
  if (const auto label = pod.metadata.labels.find(kGroupLabel);
      label != pod.metadata.labels.end() && !label->second.empty())
    return GroupRef{GroupRef::Source::kPlugins, ns, label->second, ""};
  if (!pod.metadata.annotations.contains(kGroupAnnotation)) return std::nullopt;
  const api::OwnerReference* owner = pod.metadata.controller();
  if (owner == nullptr || owner->kind != "Job" || !owner->api_version.starts_with("batch/")) return std::nullopt;
  return GroupRef{GroupRef::Source::kJob, ns, owner->name, owner->uid};
}

Membership membership_in(const View& view, const api::Pod& pod, GroupRef group) {
  if (group.source == GroupRef::Source::kJob) return of_job(pod, std::move(group));
  return of_pod_group(view, std::move(group));
}

bool has_started(const api::Pod& pod) {
  if (pod.phase == "Succeeded") return true;
  return !pod.node_name.empty() && !pod.terminal() && !pod.metadata.deleting();
}

bool is_too_large(const View& view, std::string_view group) {
  return view.size_of_group(group) > kMaxGroupMembers;
}

std::string waits_since(const View& view, const api::Pod& pod) {
  std::string since = pod.metadata.creation_timestamp;
  const Membership member = membership_of(view, pod);
  if (member.state != Membership::State::kMember) return since;
  const auto consider = [&](const std::string& created) {
    if (!created.empty() && (since.empty() || created < since)) since = created;
  };
  if (!is_too_large(view, member.group.key()))
    for (const api::Pod* other : view.pods_of_group(member.group.key())) consider(other->metadata.creation_timestamp);
  if (member.group.source != GroupRef::Source::kJob) {
    const GroupApi api = member.group.source == GroupRef::Source::kCore ? GroupApi::kCore : GroupApi::kPlugins;
    if (const api::PodGroup* group = view.pod_group(api, member.group.ns + "/" + member.group.name))
      consider(group->metadata.creation_timestamp);
  }
  return since;
}

}  // namespace dra::protocol
