#include "controllers/preemption/world.h"

#include <algorithm>
#include <set>

#include "pkg/placement/decision.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/facts.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/stage.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/moves.h"
#include "pkg/protocol/pin.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/pod_pairs.h"
#include "pkg/protocol/proof.h"

namespace dra::preemption {

using reconcile::View;

namespace {

constexpr size_t kNamedVictims = 8;

bool keeps_others_away(const api::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [](const api::Taint& taint) {
    return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
  });
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

// ---- what is there

void LiveWorld::add_claims() {
  auto all = view_.all_streamed_claims();
  claims_.reserve(all.size());
  world_->claims.reserve(all.size());
  // What victims leave and their claims keep, with their priority, goes to the preemptor (docs/design/keep.md, K5): so
  // an annotation of theirs keeps nobody from being a victim. A pod that moves has perhaps the same priority.
  const bool taken = options_.kind == preempt::Kind::kVictims;
  for (auto& claim : all) {
    auto& added = world_->claims.emplace_back(taken ? protocol::without_keep(std::move(claim)) : std::move(claim));
    claims_.add(added->metadata, static_cast<uint32_t>(world_->claims.size() - 1));
  }
}

void LiveWorld::add_pods() {
  auto all = view_.all_pods();
  pods_.reserve(all.size());
  world_->pods.reserve(all.size());
  const std::vector<const api::DeviceClass*> classes = view_.device_classes();
  const bool some_kept =
      std::any_of(classes.begin(), classes.end(), [](const auto* one) { return protocol::is_kept_class(*one); });
  const auto class_of = [this](const std::string& name) { return view_.device_class(name); };
  for (auto& object : all) {
    if (object->terminal()) continue;
    const auto number = static_cast<uint32_t>(world_->pods.size());
    preempt::Pod& pod = world_->pods.emplace_back();
    pod.object = std::move(object);
    pods_.add(pod.object->metadata, number);
    pod.preempts = !pod.object->never_preempts;
    pod.start = pod.object->started;
    pod.ours = is_ours(*pod.object, options_);
    if (preempt::names_group(*pod.object)) grouped_.push_back(number);
    protocol::each_claim_name(*pod.object, [&](std::string_view name) {
      const uint32_t* claim = claims_.find(pod.object->metadata.ns, name);
      if (claim == nullptr || std::find(pod.claims.begin(), pod.claims.end(), *claim) != pod.claims.end()) return;
      pod.claims.push_back(*claim);
      if (some_kept && protocol::names_kept_class(world_->claims[*claim]->spec, class_of)) pod.kept_by_class = true;
    });
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
  for (const uint32_t number : grouped_) {
    const std::optional<protocol::GroupRef> group = protocol::group_of(*world_->pods[number].object);
    if (!group || group->source == protocol::GroupRef::Source::kJob || !seen.insert(group->key()).second) continue;
    const bool of_plugins = group->source == protocol::GroupRef::Source::kPlugins;
    const std::string key = group->ns + "/" + group->name;
    const api::PodGroup* known =
        view_.pod_group(of_plugins ? reconcile::GroupApi::kPlugins : reconcile::GroupApi::kCore, key);
    if (known != nullptr) groups.push_back({of_plugins, key, known->min_count, known->whole});
  }
  preempt::join_groups(*world_, groups, grouped_);
}

void LiveWorld::add_budgets() {
  const auto all = view_.budgets();
  budgets_known_ = all.has_value();
  if (all) preempt::add_budgets(*world_, *all);
}

// ---- who may move

// Its next one could not be placed by what is known here, or not yet.
bool LiveWorld::stays(const preempt::Pod& pod) const {
  const api::Pod& object = *pod.object;
  const Duration age = Timestamp(view_.now()) - Timestamp::at(object.started);
  if (object.started == 0 || age < options_.move_after) return true;
  if (object.has_host_path || !protocol::volume_claim_keys_of(object).empty() || object.extended_resource_claim_status)
    return true;
  if (object.scheduling_parts_dropped > 0) return true;
  // A claim that outlives the pod keeps its allocation, or the next pod finds it before it is freed.
  for (const uint32_t claim : pod.claims)
    if (!protocol::is_for_pod(object, *world_->claims[claim])) return true;
  const auto needs = placement::PodNeeds::of(object);
  if (!needs || needs->reads_namespaces()) return true;
  // Some of a group's new members are there while others have still to leave: its rule would look at both.
  return pod.group != preempt::kNobody;
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

preempt::Answer LiveWorld::answer() {
  preempt::Options options;
  options.max_checks = options_.max_checks;
  options.clock = engines_.allocator.options().slice.clock;
  options.time = options_.longest_question;
  return options_.kind == preempt::Kind::kMoves ? preempt::who_must_move(*world_, options)
                                                : preempt::who_must_go(*world_, options);
}

// ---- what is written and said

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
  std::set<std::string> shared;  // nodes that others may use
  for (const auto& [pod, name] : answer.placements)
    if (const api::Node* node = view_.node(name); node == nullptr || !keeps_others_away(*node)) shared.insert(name);
  if (shared.empty()) return "";
  // Between a pod's end and its next one's beginning nothing but the taint keeps its new place.
  if (options_.kind == preempt::Kind::kMoves)
    return "node " + *shared.begin() + " has no NoSchedule taint that keeps pods of other schedulers away";
  // Without a taint only what the victims hold of devices may be promised.
  preempt::Stage stage(*world_);
  preempt::Fit fit(*world_, stage, preempt::Options{}.check_steps);
  stage.arrange({true, {}, {}});
  std::vector<uint32_t> put;
  std::string refused;
  for (const uint32_t pod : world_->pending) {
    const auto place = answer.placements.find(world_->pods[pod].object->metadata.key());
    if (place == answer.placements.end() || !shared.contains(place->second)) continue;
    if (!fit.takes(pod, place->second)) {
      refused = place->second;
      break;
    }
    fit.put(pod, place->second);
    put.push_back(pod);
  }
  for (const uint32_t pod : put) fit.take_back(pod);
  if (refused.empty()) return "";
  return "it needs CPU, memory or a place that pods of node " + refused +
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
