#include "controllers/preemption/world.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "pkg/placement/decision.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/facts.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/promises.h"
#include "pkg/preempt/stage.h"
#include "pkg/protocol/extended.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/pin.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/proof.h"
#include "pkg/protocol/topology.h"

namespace dra::preemption {

using reconcile::View;

namespace {

constexpr size_t kNamedVictims = 8;

// The instance is the one that is known now.
template <typename Known>
bool is_same(const Known* known, const protocol::Instance& instance) {
  return known != nullptr && known->metadata.uid == instance.uid;
}

}  // namespace

LiveWorld::LiveWorld(const View& view, const Engines& engines, const Options& options)
    : view_(view), engines_(engines), options_(options) {
  world_ = std::make_unique<preempt::World>(preempt::World{engines.inventory,
                                                           engines.allocator,
                                                           *engines.nodes.cluster(),
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           {},
                                                           placement::Volumes::kIgnored});
  add_claims();
  add_pods();
  add_groups();
  add_budgets();
  add_promises();
  if (options.kind == preempt::Kind::kMoves) add_facts_of_moves();
}

LiveWorld::~LiveWorld() {
  for (const auto& pod : aside_) world_->cluster.set_pod(*pod, pod->nominated_node_name, true);
}

// ---- what is there

void LiveWorld::add_claims() {
  for (auto& claim : view_.all_streamed_claims()) {
    claims_.emplace(claim->metadata.key(), static_cast<uint32_t>(world_->claims.size()));
    world_->claims.push_back(std::move(claim));
  }
}

void LiveWorld::add_pods() {
  for (auto& object : view_.all_pods()) {
    if (object->terminal()) continue;
    pods_.emplace(object->metadata.key(), static_cast<uint32_t>(world_->pods.size()));
    preempt::Pod& pod = world_->pods.emplace_back();
    pod.object = std::move(object);
    pod.preempts = !pod.object->never_preempts;
    pod.start = pod.object->started;
    pod.ours = is_ours(*pod.object, options_);
    for (const std::string& key : protocol::claim_keys_of(*pod.object)) {
      const auto claim = claims_.find(key);
      if (claim == claims_.end()) continue;
      pod.claims.push_back(claim->second);
      pod.kept_by_class = pod.kept_by_class ||
                          protocol::names_kept_class(world_->claims[claim->second]->spec,
                                                     [&](const std::string& name) { return view_.device_class(name); });
    }
    pod.preempts = pod.preempts && !pod.kept_by_class;
    if (options_.scheduler_names.empty()) pod.ours = is_allocated_by_us(pod);
  }
}

bool LiveWorld::is_allocated_by_us(const preempt::Pod& pod) const {
  return std::any_of(pod.claims.begin(), pod.claims.end(), [this](uint32_t claim) {
    const api::ResourceClaim& one = *world_->claims[claim];
    return one.status.allocation && protocol::allocation_author(one) != protocol::Author::kOthers;
  });
}

void LiveWorld::add_groups() {
  std::vector<preempt::PodGroupFacts> groups;
  std::set<std::string> seen;
  for (const preempt::Pod& pod : world_->pods) {
    const std::optional<protocol::GroupRef> group = protocol::group_of(*pod.object);
    if (!group || group->source == protocol::GroupRef::Source::kJob || !seen.insert(group->key()).second) continue;
    const bool of_plugins = group->source == protocol::GroupRef::Source::kPlugins;
    const std::string key = group->ns + "/" + group->name;
    const api::PodGroup* known =
        view_.pod_group(of_plugins ? reconcile::GroupApi::kPlugins : reconcile::GroupApi::kCore, key);
    if (known != nullptr) groups.push_back({of_plugins, key, known->min_count, known->whole});
  }
  preempt::join_groups(*world_, groups);
}

void LiveWorld::add_budgets() {
  const auto all = view_.budgets();
  budgets_known_ = all.has_value();
  if (!all) return;
  const preempt::PodsByNamespace pods(*world_);
  for (const auto& budget : *all) world_->budgets.push_back(preempt::budget_of(*world_, pods, *budget));
}

// Proven ones before others, then the older ones, then by uid: so two managers have the same order.
void LiveWorld::add_promises() {
  struct One {
    protocol::Promise promise;
    const api::Pod* owner;
  };
  std::vector<One> all;
  for (const preempt::Pod& pod : world_->pods) {
    if (!pod.object->node_name.empty() || pod.object->metadata.deleting() || !is_ours(*pod.object, options_)) continue;
    auto written = protocol::promise_of(*pod.object);
    if (written && *written) all.push_back({std::move(**written), pod.object.get()});
  }
  std::sort(all.begin(), all.end(), [](const One& a, const One& b) {
    return std::tuple(!a.promise.proven, std::cref(a.promise.since).get(), std::cref(a.owner->metadata.uid).get()) <
           std::tuple(!b.promise.proven, std::cref(b.promise.since).get(), std::cref(b.owner->metadata.uid).get());
  });
  for (One& one : all) {
    preempt::Promise& promise = world_->promises.emplace_back();
    promise.placements[one.owner->metadata.key()] = one.promise.node;
    promise.allocations = std::move(one.promise.allocations);
    for (const protocol::Instance& victim : one.promise.victims) {
      const auto known = pods_.find(victim.key);
      const api::Pod* pod = known == pods_.end() ? nullptr : world_->pods[known->second].object.get();
      // A pod that was made anew under this name is another one: the victim is gone.
      promise.victims.push_back(is_same(pod, victim) ? victim.key : victim.key + "/" + victim.uid);
    }
    for (const protocol::Instance& claim : one.promise.victim_claims) {
      const auto known = claims_.find(claim.key);
      if (known != claims_.end() && is_same(world_->claims[known->second].get(), claim))
        promise.victim_claims.push_back(claim.key);
    }
    owners_.push_back(one.owner->metadata.key());
  }
}

LiveWorld::Count LiveWorld::promises(const std::string& ns) const {
  Count count{owners_.size(), 0};
  for (const std::string& owner : owners_)
    if (owner.starts_with(ns + "/")) ++count.of_namespace;
  return count;
}

// ---- who may move

// Its next one could not be placed by what is known here, or not yet.
bool LiveWorld::stays(const preempt::Pod& pod) const {
  const api::Pod& object = *pod.object;
  const auto age = std::chrono::duration_cast<Duration>(view_.now() - WallTime(std::chrono::seconds(object.started)));
  if (object.started == 0 || age < options_.move_after) return true;
  if (!protocol::volume_claim_keys_of(object).empty() || object.extended_resource_claim_status) return true;
  if (object.scheduling_parts_dropped > 0) return true;
  const auto needs = placement::PodNeeds::of(object);
  if (!needs || needs->reads_namespaces()) return true;
  return pod.group != preempt::kNobody && !protocol::topology_wish(object.metadata.annotations).required.empty();
}

void LiveWorld::add_facts_of_moves() {
  world_->max_moves = options_.max_moves;
  for (preempt::Pod& pod : world_->pods) {
    if (!pod.runs() || !pod.ours || pod.object->metadata.controller() == nullptr) continue;
    pod.tied = stays(pod);
    if (pod.tied) continue;
    const api::OwnerReference& owner = *pod.object->metadata.controller();
    // Unknown: it stays. Asking makes the Jobs be read.
    if (owner.kind == "Job")
      pod.replaced =
          engines_.nodes.job_policy(pod.object->metadata.ns, owner.name, owner.uid).pod_replacement_policy == "Failed";
    protocol::AllocatedClaims claims;
    for (const uint32_t claim : pod.claims) claims.push_back(world_->claims[claim]);
    const alignment::PodPairs pairs = protocol::pairs_of_pod(*pod.object, claims);
    pod.tied = pairs.refusal.has_value();
    pod.pairs = pairs.entries;
    // In gate mode the next one comes without the pin. Otherwise it asks for the same, and no copy is made.
    if (!options_.scheduler_names.empty()) continue;
    auto next = std::make_shared<api::Pod>(*pod.object);
    next->node_name.clear();
    protocol::remove_pin(*next, claims);
    pod.next = std::move(next);
  }
  // The inventory keeps no capacities by name: each device counts as one, or by what it consumes.
  preempt::measure(*world_, [](const api::DeviceRequestAllocationResult&) { return 1.0; });
}

// ---- the question

// The place of a pod with a promise is kept by the promise; a nomination by somebody else keeps a place for a pod of
// its own priority and above.
void LiveWorld::set_nominations_aside() {
  const api::Pod& asking = *world_->pods[pods_.at(asked_)].object;
  std::set<std::string> nominated;
  for (std::string& uid : engines_.nodes.nominated()) nominated.insert(std::move(uid));
  if (nominated.empty()) return;
  for (const preempt::Pod& pod : world_->pods) {
    if (!nominated.contains(pod.object->metadata.uid)) continue;
    const bool promised = std::find(owners_.begin(), owners_.end(), pod.object->metadata.key()) != owners_.end();
    if (!promised && pod.object->priority >= asking.priority && pod.object->metadata.key() != asked_) continue;
    world_->cluster.remove_pod(pod.object->metadata.uid);
    aside_.push_back(pod.object);
  }
}

LiveWorld::Refusal LiveWorld::ask_for(const api::Pod& pod) {
  const auto number = pods_.find(pod.metadata.key());
  if (number == pods_.end() || world_->pods[number->second].object->metadata.uid != pod.metadata.uid)
    return {"the pod is not known any more", true};
  preempt::Pod& asking = world_->pods[number->second];
  if (!budgets_known_)
    return {"PodDisruptionBudgets cannot be read here: the manager's role " +
                std::string(options_.kind == preempt::Kind::kMoves ? "defragment" : "preemption") + " permits it",
            false};
  const std::string searches_more =
      options_.kind == preempt::Kind::kMoves ? "kubectl dra whatif make-room -f FILE" : "kubectl dra whatif preempt";
  if (asking.group != preempt::kNobody || asking.group_missing)
    return {"it belongs to a group, and groups only get advice: " + searches_more + " names the pods", false};
  if (pod.scheduling_parts_dropped > 0) return {"it has more rules than are read", false};
  if (!protocol::volume_claim_keys_of(pod).empty())
    return {"it has PersistentVolumeClaims, whose place is not judged here: " + searches_more + " names the pods",
            false};
  if (!protocol::extended_resources_of(view_, pod).empty())
    return {"it asks for extended resources that claims provide: " + searches_more + " names the pods", false};
  const auto needs = placement::PodNeeds::of(pod);
  if (!needs) return {needs.error().message(), false};
  if (needs->reads_namespaces())
    return {"its affinity selects namespaces by label: " + searches_more + " names the pods", false};
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  for (const std::string& key : protocol::claim_keys_of(pod)) {
    const auto claim = claims_.find(key);
    const api::ResourceClaim* newest = view_.claim(key);
    if (claim == claims_.end() || newest == nullptr ||
        newest->metadata.resource_version != world_->claims[claim->second]->metadata.resource_version)
      return {"its claims are being written", true};
    if (newest->metadata.deleting()) return {"a claim of it is being deleted", true};
    claims.push_back(world_->claims[claim->second]);
  }
  if (claims.size() < protocol::claim_keys_of(pod).size()) return {"its claims are being made", true};
  const alignment::PodPairs pairs = protocol::pairs_of_pod(pod, claims);
  if (pairs.refusal) return {pairs.refusal->message, false};
  asking.pairs = pairs.entries;
  world_->pending = {number->second};
  asked_ = pod.metadata.key();
  set_nominations_aside();
  return {};
}

preempt::Answer LiveWorld::answer() {
  preempt::Options options;
  options.max_checks = options_.max_checks;
  options.clock = engines_.allocator.options().slice.clock;
  options.time = options_.longest_question;
  return options_.kind == preempt::Kind::kMoves ? preempt::who_must_move(*world_, options)
                                                : preempt::who_must_go(*world_, options);
}

bool LiveWorld::has_rival() {
  preempt::Stage stage(*world_);
  preempt::Fit fit(*world_, stage, preempt::Options{}.check_steps);
  const std::vector<preempt::Judged> judged = preempt::judge_promises(*world_, stage, fit);
  const int64_t priority = world_->pods[world_->pending.front()].object->priority;
  for (size_t i = 0; i < judged.size(); ++i)
    if (owners_[i] != asked_ && !judged[i].stands && judged[i].priority == priority) return true;
  return false;
}

// ---- what is written and said

protocol::Promise LiveWorld::promise_of(const preempt::Answer& answer) const {
  protocol::Promise promise;
  promise.node = answer.placements.at(asked_);
  promise.allocations = answer.allocations;
  for (auto& [claim, allocation] : promise.allocations) {
    allocation.config.clear();
    allocation.node_selector.reset();
  }
  std::set<std::string> gone;
  for (const uint32_t pod : answer.pods) {
    const api::ObjectMeta& victim = world_->pods[pod].object->metadata;
    promise.victims.push_back({victim.key(), victim.uid});
    gone.insert(victim.uid);
  }
  for (const auto& claim : world_->claims) {
    const auto& consumers = claim->status.reserved_for;
    if (claim->status.allocation && !consumers.empty() &&
        std::all_of(consumers.begin(), consumers.end(), [&](const auto& one) { return gone.contains(one.uid); }))
      promise.victim_claims.push_back({claim->metadata.key(), claim->metadata.uid});
  }
  return promise;
}

std::string LiveWorld::why_driver_is_shared(const std::string& driver) const {
  size_t foreign = 0;
  for (const auto& claim : world_->claims) {
    if (!claim->status.allocation || protocol::needs_proof(*claim)) continue;
    const auto& results = claim->status.allocation->results;
    if (std::any_of(results.begin(), results.end(),
                    [&](const auto& one) { return one.driver == driver && !one.admin_access; }))
      ++foreign;
  }
  if (foreign == 0) return "";
  bool tainted = !engines_.allocator.options().ignored_taints.empty();
  for (const inventory::PoolInfo& pool : world_->devices.pools()) {
    if (pool.driver != driver) continue;
    const inventory::Usage usage = world_->devices.usage(pool.id);
    tainted = tainted && usage.tainted == usage.total;
  }
  if (tainted) return "";
  return std::to_string(foreign) + (foreign == 1 ? " claim" : " claims") + " of driver " + driver +
         " got devices from others, who could take what is freed (dra_driver_exclusive is 0; docs/install.md, "
         "exclusivity)";
}

std::string LiveWorld::why_others_could_take(const preempt::Answer& answer) {
  std::set<std::string> drivers;
  for (const auto& [claim, allocation] : answer.allocations)
    for (const api::DeviceRequestAllocationResult& result : allocation.results) drivers.insert(result.driver);
  for (const std::string& driver : drivers)
    if (std::string why = why_driver_is_shared(driver); !why.empty()) return why;
  const std::string& name = answer.placements.at(asked_);
  const api::Node* node = view_.node(name);
  if (node != nullptr && std::any_of(node->taints.begin(), node->taints.end(), [](const api::Taint& taint) {
        return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
      }))
    return "";
  // Without a taint only what the victims hold of devices may be promised.
  preempt::Stage stage(*world_);
  preempt::Fit fit(*world_, stage, preempt::Options{}.check_steps);
  stage.arrange({true, {}, {}});
  if (fit.takes(world_->pending.front(), name)) return "";
  return "it needs CPU, memory or a place that pods of node " + name +
         " hold, and that node has no NoSchedule taint that keeps pods of other schedulers away";
}

// Names of other namespaces are not for this one.
std::string LiveWorld::name_of(uint32_t number) const {
  const api::ObjectMeta& pod = world_->pods[number].object->metadata;
  return asked_.starts_with(pod.ns + "/") ? "pod " + pod.key() : "pod of another namespace";
}

std::string LiveWorld::shown(const std::vector<uint32_t>& pods) const {
  std::string text;
  for (size_t i = 0; i < pods.size() && i < kNamedVictims; ++i) {
    const api::Pod& pod = *world_->pods[pods[i]].object;
    text += (i == 0 ? "" : ", ") + name_of(pods[i]) + " (priority " + std::to_string(pod.priority) + ", node " +
            pod.node_name + ")";
  }
  if (pods.size() > kNamedVictims) text += " and " + std::to_string(pods.size() - kNamedVictims) + " more";
  return text;
}

std::string LiveWorld::shown_moves(const preempt::Answer& answer) const {
  std::string text;
  for (size_t i = 0; i < answer.pods.size() && i < kNamedVictims; ++i) {
    const uint32_t number = answer.pods[i];
    const api::Pod& pod = *world_->pods[number].object;
    const auto place = answer.placements.find(pod.metadata.key());
    std::string devices;
    for (const uint32_t claim : world_->pods[number].claims)
      if (const auto given = answer.allocations.find(world_->claims[claim]->metadata.key());
          given != answer.allocations.end())
        for (const auto& result : given->second.results) devices += (devices.empty() ? " with " : ", ") + result.device;
    text += (i == 0 ? "" : "; ") + name_of(number) + " from node " + pod.node_name + " to node " +
            (place == answer.placements.end() ? "?" : place->second) + devices;
  }
  if (answer.pods.size() > kNamedVictims)
    text += " and " + std::to_string(answer.pods.size() - kNamedVictims) + " more";
  return text;
}

}  // namespace dra::preemption
