#include "pkg/inspect/state/evictions.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "pkg/api/encode.h"
#include "pkg/api/quantity.h"
#include "pkg/api/selectors.h"
#include "pkg/base/strings.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/groups.h"
#include "pkg/inspect/state/successor.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/placement/decide.h"
#include "pkg/protocol/annotations.h"
#include "pkg/protocol/extended_claim.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/manager_lease.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/topology.h"

namespace dra::inspect {
namespace {

using preempt::Kind;

constexpr size_t kMostKinds = 64;  // of pending pods; others are each of their own
constexpr double kBytesInGib = 1024.0 * 1024.0 * 1024.0;

int64_t seconds_of(const std::string& text) {
  Timestamp time;
  return parse_rfc3339(text, time) ? time.seconds() : 0;
}

bool names_kept_class(const Objects& objects, const api::ResourceClaimSpec& spec) {
  return protocol::names_kept_class(spec, [&](const std::string& name) -> const api::DeviceClass* {
    const auto known = objects.classes.find(name);
    return known == objects.classes.end() ? nullptr : known->second.get();
  });
}

std::string scheduler_of(const api::Pod& pod) {
  return pod.scheduler_name.empty() ? "default-scheduler" : pod.scheduler_name;
}

}  // namespace

Result<std::vector<Claim>> claims_to_come(const Objects& objects, const api::Pod& pod) {
  std::vector<Claim> claims;
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const protocol::ResolvedClaim resolved = protocol::resolve_created_claim(pod, entry);
    if (resolved.state == protocol::ResolvedClaim::State::kNotNeeded) continue;
    const std::string prefix = pod.metadata.ns + "/";
    if (resolved.state == protocol::ResolvedClaim::State::kNamed) {
      const auto claim = objects.claims.find(prefix + resolved.name);
      if (claim == objects.claims.end() && !entry.resource_claim_template_name)
        return fail(Code::kNotFound,
                    "ResourceClaim " + prefix + resolved.name + " of pod " + pod.metadata.key() + " is not there");
      if (claim != objects.claims.end()) {
        claims.push_back(claim->second);
        continue;
      }
    }
    const auto from = objects.templates.find(prefix + entry.resource_claim_template_name.value_or(""));
    if (from == objects.templates.end())
      return fail(Code::kNotFound, "ResourceClaimTemplate " + prefix + entry.resource_claim_template_name.value_or("") +
                                       " of pod " + pod.metadata.key() + " is not there");
    const std::string name = pod.metadata.name + "-" + entry.name;
    claims.push_back(claim_from_template(*from->second, pod.metadata.ns, name, pod.metadata.uid + "/" + entry.name));
  }
  return claims;
}

EvictionWorld::EvictionWorld(State& state, Kind kind, std::span<const PendingPod> more,
                             std::vector<preempt::PodGroupFacts> groups)
    : state_(state), kind_(kind) {
  world_ = std::make_unique<preempt::World>(
      preempt::World{state.inventory, state.allocator(), state.cluster, {}, {}, {}, {}, {}, {}, {}, state.volumes()});
  for (const auto& [key, lease] : state.objects.managers.leases) {
    const protocol::ManagerNotes notes = protocol::notes_of(lease->metadata.annotations);
    if (notes.mode != "bind") continue;
    binds_ = true;
    scheduler_names_.insert(scheduler_names_.end(), notes.scheduler_names.begin(), notes.scheduler_names.end());
  }
  add_claims(more);
  add_pods();
  for (const PendingPod& pending : more) {
    more_.push_back(static_cast<uint32_t>(world_->pods.size()));
    add_pending(pending);
  }
  add_groups(std::move(groups));
  add_budgets();
  add_promises();
  if (kind == Kind::kMoves) {
    add_sizes();
    for (preempt::Pod& pod : world_->pods)
      if (pod.runs()) pod.tied = pod.tied || is_tied(pod);
  }
  note_unknown();
}

// ---- what is there

uint32_t EvictionWorld::number_of(const Claim& claim) {
  const auto [at, is_new] = claims_.emplace(claim->metadata.uid, static_cast<uint32_t>(world_->claims.size()));
  // As the manager does (controllers/preemption/world.cc).
  if (is_new) world_->claims.push_back(kind_ == Kind::kVictims ? protocol::without_keep(claim) : claim);
  return at->second;
}

void EvictionWorld::add_claims(std::span<const PendingPod> more) {
  for (const auto& [key, claim] : state_.objects.claims) number_of(claim);
  for (const PendingPod& pending : more)
    for (const Claim& claim : pending.claims) number_of(claim);
}

void EvictionWorld::add_pods() {
  const Objects& objects = state_.objects;
  for (const auto& [key, object] : objects.pods) {
    if (object->terminal()) continue;
    const bool runs = !object->node_name.empty();
    std::vector<Claim> claims;
    std::string refused;
    if (runs) {
      for (const auto& claim : claims_used_by(objects, *object)) claims.push_back(claim);
    } else {
      // Only pods that somebody asks about must be understood.
      auto found = claims_to_come(objects, *object);
      if (found) claims = std::move(*found);
      if (!found) refused = found.error().message();
      waiting_.emplace(key, static_cast<uint32_t>(world_->pods.size()));
    }
    const auto facts = objects.evictions.pods.find(key);
    const bool preempts = facts == objects.evictions.pods.end() || facts->second->preemption_policy != "Never";
    add_pending({object, std::move(claims), preempts});
    if (!refused.empty()) refused_.back() = std::move(refused);
  }
}

void EvictionWorld::add_pending(const PendingPod& pending) {
  const Objects& objects = state_.objects;
  preempt::Pod& pod = world_->pods.emplace_back();
  std::string& refused = refused_.emplace_back();
  pod.object = pending.pod;
  pod.preempts = pending.preempts;
  for (const Claim& claim : pending.claims) {
    pod.claims.push_back(number_of(claim));
    pod.kept_by_class = pod.kept_by_class || names_kept_class(objects, claim->spec);
  }
  add_facts_of(pod);
  if (pod.has_node()) {
    if (kind_ == Kind::kMoves && pod.runs()) add_next(pod);
    return;
  }
  pod.preempts = pod.preempts && !pod.kept_by_class;
  if (const auto needs = placement::PodNeeds::of(*pending.pod); !needs) refused = needs.error().message();
  const alignment::PodPairs pairs = protocol::pairs_of_pod(*pending.pod, pending.claims);
  if (pairs.refusal) refused = pairs.refusal->message;
  pod.pairs = pairs.entries;
  if (const std::optional<ByClass> asked = asked_by_class(objects, *pending.pod)) {
    if (asked->others) refused = "device plugins of some nodes offer extended resources that it asks for";
    pod.next = std::make_shared<const api::Pod>(asked->rest);
    pod.claims.push_back(number_of(asked->claim));
    pod.kept_by_class = pod.kept_by_class || names_kept_class(objects, asked->claim->spec);
    pod.preempts = pod.preempts && !pod.kept_by_class;
  }
}

void EvictionWorld::add_facts_of(preempt::Pod& pod) const {
  const Objects& objects = state_.objects;
  const api::Pod& object = *pod.object;
  const api::OwnerReference* owner = object.metadata.controller();
  if (const auto facts = objects.evictions.pods.find(object.metadata.key()); facts != objects.evictions.pods.end()) {
    pod.start = seconds_of(facts->second->start_time);
    pod.of_node = facts->second->of_node;
    pod.tied = facts->second->host_path;
  }
  pod.ours = is_ours(object);
  if (owner == nullptr || owner->kind != "Job") return;
  const auto job = objects.evictions.jobs.find(object.metadata.ns + "/" + owner->name);
  pod.replaced = job != objects.evictions.jobs.end() && job->second->pod_replacement_policy == "Failed";
}

// As its controller makes it again: without what lifting the gate added, and without the extended resources for which
// it gets a claim.
void EvictionWorld::add_next(preempt::Pod& pod) const {
  if (pod.claims.empty()) return;
  const UsedClaims used = claims_used_by(state_.objects, *pod.object);
  auto next = std::make_shared<api::Pod>(successor_of(*pod.object, used, nullptr));
  next->metadata.uid = pod.object->metadata.uid;
  if (pod.object->extended_resource_claim_status) {
    std::vector<const api::DeviceClass*> classes;
    for (const auto& [name, one] : state_.objects.classes) classes.push_back(one.get());
    *next = protocol::without_resources(*next, protocol::extended_resources_of(classes, *next));
  }
  std::vector<Claim> claims;
  for (const uint32_t claim : pod.claims) claims.push_back(world_->claims[claim]);
  const alignment::PodPairs pairs = protocol::pairs_of_pod(*next, claims);
  pod.tied = pod.tied || pairs.refusal.has_value();
  pod.pairs = pairs.entries;
  pod.next = std::move(next);
}

bool EvictionWorld::is_ours(const api::Pod& pod) const {
  const std::string scheduler = scheduler_of(pod);
  if (binds_) return std::find(scheduler_names_.begin(), scheduler_names_.end(), scheduler) != scheduler_names_.end();
  if (scheduler == protocol::kManagerName) return true;
  for (const auto& claim : claims_used_by(state_.objects, pod))
    if (claim->status.allocation && protocol::allocation_author(*claim) != protocol::Author::kOthers) return true;
  return false;
}

// ---- what keeps pods where they are

bool EvictionWorld::is_tied(const preempt::Pod& pod) const {
  const api::Pod& object = *pod.object;
  if (!placement::PodNeeds::of(object)) return true;
  // Its place depends on the other members' places.
  if (pod.group != preempt::kNobody && !protocol::topology_wish(object.metadata.annotations).required.empty())
    return true;
  if (!has_volume_claims(object)) return false;
  const Objects& objects = state_.objects;
  if (!why_volumes_are_not_judged(objects).empty()) return true;
  for (const api::PodVolume& volume : object.volumes) {
    const std::string name = volume.ephemeral ? object.metadata.name + "-" + volume.name : volume.claim_name;
    const auto claim = objects.volume_claims.find(object.metadata.ns + "/" + name);
    if (name.empty() || claim == objects.volume_claims.end()) continue;
    const auto bound = objects.volumes.find(claim->second->volume_name);
    if (bound == objects.volumes.end() || !bound->second->node_affinity) continue;
    const auto usable = std::count_if(objects.nodes.begin(), objects.nodes.end(), [&](const auto& node) {
      return api::matches(*bound->second->node_affinity, node.first, node.second->metadata.labels);
    });
    if (usable < 2) return true;
  }
  return false;
}

void EvictionWorld::add_groups(std::vector<preempt::PodGroupFacts> groups) {
  const Objects& objects = state_.objects;
  for (const auto& [api, known] : objects.pod_groups) {
    const auto modes = objects.evictions.groups.find(api);
    for (const auto& [key, group] : known) {
      preempt::PodGroupFacts facts{api == reconcile::GroupApi::kPlugins, key, group->min_count, false};
      if (modes != objects.evictions.groups.end())
        if (const auto mode = modes->second.find(key); mode != modes->second.end()) facts.whole = mode->second->whole;
      groups.push_back(std::move(facts));
    }
  }
  preempt::join_groups(*world_, groups);
}

void EvictionWorld::add_budgets() {
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> all;
  for (const auto& [key, budget] : state_.objects.evictions.budgets) all.push_back(budget);
  preempt::add_budgets(*world_, all);
}

// As controllers/preemption/world.cc: whether they stand is judged by the search.
void EvictionWorld::add_promises() {
  std::vector<Promised> all = state_.promises;
  std::sort(all.begin(), all.end(), [](const Promised& a, const Promised& b) {
    return std::tie(a.promise.since, a.pod->metadata.uid) < std::tie(b.promise.since, b.pod->metadata.uid);
  });
  for (Promised& one : all) {
    preempt::Promise& promise = world_->promises.emplace_back();
    for (const protocol::Promise::Place& place : protocol::places_of(one.promise, *one.pod)) {
      const auto known = state_.objects.pods.find(place.pod.key);
      if (known != state_.objects.pods.end() && known->second->metadata.uid == place.pod.uid)
        promise.placements[place.pod.key] = place.node;
    }
    promise.allocations = std::move(one.promise.allocations);
    promise.moves = one.promise.has_moves();
    for (const protocol::Promise::Move& move : one.promise.moves) {
      const auto known = state_.objects.pods.find(move.pod.key);
      if (!protocol::has_left(move, known == state_.objects.pods.end() ? nullptr : known->second.get())) {
        promise.placements[move.pod.key] = move.node;
        continue;
      }
      if (move.settled()) continue;
      api::AllocationResult devices;
      for (const std::string& claim : move.claims)
        if (const auto given = promise.allocations.extract(claim); !given.empty())
          devices.results.insert(devices.results.end(), given.mapped().results.begin(), given.mapped().results.end());
      moved_away_.emplace_back(move, std::move(devices));
    }
    for (const protocol::Instance& victim : one.promise.victims) {
      const auto known = state_.objects.pods.find(victim.key);
      const bool same = known != state_.objects.pods.end() && known->second->metadata.uid == victim.uid;
      // A pod that was made anew under this name is another one: the victim is gone.
      promise.victims.push_back(same ? victim.key : victim.key + "/" + victim.uid);
    }
    for (const protocol::Instance& claim : one.promise.victim_claims)
      if (claims_.contains(claim.uid)) promise.victim_claims.push_back(claim.key);
  }
}

void EvictionWorld::add_sizes() {
  std::unordered_map<std::string, double> gib;
  for (const auto& [name, slice] : state_.objects.slices)
    for (const api::Device& device : slice->devices) {
      const auto memory = device.capacity.find("memory");
      if (memory == device.capacity.end()) continue;
      const Result<api::Quantity> amount = api::Quantity::parse(memory->second.value);
      if (amount) gib[slice->driver + "/" + slice->pool.name + "/" + device.name] = amount->approximate() / kBytesInGib;
    }
  preempt::measure(*world_, [&gib](const api::DeviceRequestAllocationResult& result) {
    const auto known = gib.find(result.driver + "/" + result.pool + "/" + result.device);
    return known == gib.end() ? 0.0 : known->second;
  });
}

void EvictionWorld::note_unknown() {
  const EvictionObjects& read = state_.objects.evictions;
  const auto why = [&](std::string_view plural) {
    for (const Hidden& hidden : read.hidden)
      if (hidden.what.starts_with(plural)) return hidden.what + ": " + hidden.why;
    return std::string();
  };
  if (!read.asked) {
    unknown_.emplace_back(
        "which pods budgets protect, who has preemptionPolicy Never, and since when pods run: what was read is without "
        "these objects");
    return;
  }
  if (const std::string text = why("poddisruptionbudgets"); !text.empty())
    unknown_.push_back("which of the pods budgets protect (" + text + ")");
  if (const std::string text = why("jobs"); !text.empty() && kind_ == Kind::kMoves)
    unknown_.push_back("which Jobs take an eviction for a failure, so that pods of Jobs are left where they are (" +
                       text + ")");
  if (state_.objects.hides("podgroups"))
    unknown_.emplace_back("how many members of groups must stay (podgroups are not visible)");
}

// ---- the question

// Pods that are placed alike: what may differ between copies of one template is left out.
void EvictionWorld::find_equal_pods() {
  std::vector<api::Pod> kinds;
  for (const uint32_t number : world_->pending) {
    preempt::Pod& pod = world_->pods[number];
    api::Pod alike = pod.next ? *pod.next : *pod.object;
    const api::StringMap labels = alike.metadata.labels;
    alike.metadata = {};
    alike.metadata.ns = pod.object->metadata.ns;
    const bool by_labels = !alike.pod_affinity.required.empty() || !alike.pod_anti_affinity.required.empty() ||
                           !alike.topology_spread.empty() || world_->cluster.terms().terms() > 0;
    if (by_labels) alike.metadata.labels = labels;
    alike.resource_claims.clear();
    alike.resource_claim_statuses.clear();
    alike.conditions.clear();
    alike.nominated_node_name.clear();
    alike.scheduling_gates.clear();
    const auto known = std::find(kinds.begin(), kinds.end(), alike);
    pod.shape = std::to_string(known - kinds.begin());
    if (known == kinds.end() && kinds.size() < kMostKinds)
      kinds.push_back(std::move(alike));
    else if (known == kinds.end())
      pod.shape.clear();
    if (pod.shape.empty()) continue;
    for (const uint32_t claim : pod.claims) pod.shape += "\n" + api::encode(world_->claims[claim]->spec);
    for (const alignment::PairEntry& pair : pod.pairs) pod.shape += "\n" + pair.text;
  }
}

std::string EvictionWorld::why_not_judged() const {
  for (const uint32_t pod : world_->pending) {
    const api::Pod& object = *world_->pods[pod].object;
    const std::string name = "pod " + object.metadata.key();
    if (!refused_[pod].empty()) return name + ": " + refused_[pod];
    if (object.scheduling_parts_dropped > 0) return name + " has more rules than are read";
    if (world_->pending.size() < 2) continue;
    const protocol::TopologyWish wish = protocol::topology_wish(object.metadata.annotations);
    if (!wish.required.empty()) return name + ": its group must be in one domain of " + wish.required;
    for (const char* rails : {"dra-controller-manager/same-across-members"})
      if (object.metadata.annotations.contains(rails)) return name + ": its group must be on the same rails";
  }
  if (const std::string why = why_volumes_are_not_judged(state_.objects); !why.empty())
    for (const uint32_t pod : world_->pending)
      if (has_volume_claims(*world_->pods[pod].object))
        return "the volumes of pod " + world_->pods[pod].object->metadata.key() + ": " + why;
  return "";
}

// What was given to a next pod already is held by it; others than next pods leave the rest.
void EvictionWorld::hold_places_of_moved() {
  api::AllocationResult held;
  for (const auto& [move, devices] : moved_away_) {
    const bool next = std::any_of(world_->pending.begin(), world_->pending.end(), [&, &to = move](uint32_t pod) {
      return protocol::is_next_of(to, *world_->pods[pod].object);
    });
    if (!next) protocol::add_unheld(devices, state_.inventory, held);
  }
  if (held.results.empty() || holds_places_) return;
  state_.inventory.assume(kPromisedToPods, held);
  holds_places_ = true;
}

EvictionWorld::~EvictionWorld() {
  if (holds_places_) state_.inventory.forget(kPromisedToPods);
}

std::string EvictionWorld::ask_for(const std::string& key) {
  const auto pod = waiting_.find(key);
  if (pod == waiting_.end()) return "pod " + key + " does not wait";
  const uint32_t group = world_->pods[pod->second].group;
  world_->pending = {pod->second};
  if (group != preempt::kNobody) {
    world_->pending.clear();
    for (const auto& [name, number] : waiting_)
      if (world_->pods[number].group == group &&
          (number == pod->second || can_be_decided(*world_->pods[number].object)))
        world_->pending.push_back(number);
    std::sort(world_->pending.begin(), world_->pending.end());
  }
  for (const auto& [api, groups] : state_.objects.pod_groups)
    for (const auto& [name, one] : groups)
      if (group != preempt::kNobody && name == world_->groups[group].name && world_->pending.size() > 1 &&
          (!one->topology_key.empty() || !protocol::topology_wish(one->metadata.annotations).required.empty()))
        return "its group must be in one domain of a topology";
  find_equal_pods();
  hold_places_of_moved();
  return why_not_judged();
}

std::string EvictionWorld::ask_for_more() {
  world_->pending = more_;
  find_equal_pods();
  hold_places_of_moved();
  return why_not_judged();
}

std::vector<LeftOut> EvictionWorld::left_out() const {
  const int64_t priority = preempt::priority_of(*world_, world_->pending);
  const bool moves = kind_ == Kind::kMoves;
  const preempt::Candidates candidates(*world_, kind_, priority, true);
  std::vector<LeftOut> all{{"of another scheduler", 0},
                           {"run by kubelet itself, whatever the API says", 0},
                           {"of a DeviceClass whose annotation dra-controller-manager/preemption is never", 0},
                           {"without a controller that would make it again", 0},
                           {"of a DaemonSet", 0},
                           {"of a Job without podReplacementPolicy Failed", 0},
                           {"with the annotation dra-controller-manager/do-not-move", 0},
                           {"under two PodDisruptionBudgets", 0},
                           {"tied to its node or its group's place", 0}};
  for (uint32_t number = 0; number < world_->pods.size(); ++number) {
    const preempt::Pod& pod = world_->pods[number];
    const int64_t own = pod.object->priority;
    if (!pod.runs() || candidates.may_go(number) || (moves ? own > priority : own >= priority)) continue;
    const api::OwnerReference* owner = pod.object->metadata.controller();
    const auto mark = pod.object->metadata.annotations.find(preempt::kDoNotMove);
    const size_t why = !pod.ours                                                                  ? 0
                       : pod.of_node                                                              ? 1
                       : !moves && pod.kept_by_class                                              ? 2
                       : !moves                                                                   ? 1
                       : owner == nullptr                                                         ? 3
                       : owner->kind == "DaemonSet"                                               ? 4
                       : !pod.replaced                                                            ? 5
                       : mark != pod.object->metadata.annotations.end() && mark->second == "true" ? 6
                       : pod.tied                                                                 ? 8
                                                                                                  : 7;
    ++all[why].count;
  }
  std::erase_if(all, [](const LeftOut& one) { return one.count == 0; });
  return all;
}

size_t EvictionWorld::candidates() const {
  return preempt::Candidates(*world_, kind_, preempt::priority_of(*world_, world_->pending), true).all().size();
}

std::vector<std::string> EvictionWorld::budgets_of(uint32_t pod) const {
  std::vector<std::string> names;
  for (const preempt::Budget& budget : world_->budgets)
    if (std::binary_search(budget.pods.begin(), budget.pods.end(), pod)) names.push_back(budget.name);
  return names;
}

}  // namespace dra::inspect
