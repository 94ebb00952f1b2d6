#include "pkg/inspect/state/state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pkg/api/selectors.h"
#include "pkg/inspect/state/extended.h"
#include "pkg/inspect/state/pairs.h"
#include "pkg/inspect/state/unknown.h"
#include "pkg/inspect/state/unseen.h"
#include "pkg/inspect/state/volumes.h"
#include "pkg/inventory/device_index.h"
#include "pkg/placement/decide.h"
#include "pkg/protocol/annotations.h"
#include "pkg/protocol/keep.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/verdict/causes.h"
#include "pkg/verdict/verdict.h"

namespace dra::inspect {
namespace {

constexpr size_t kMostLearned = 512;  // limit for allocated claims, and for templates

const std::array<verdict::SetAside, 1>& set_aside() {
  static const std::array<verdict::SetAside, 1> aside{
      {{std::string(kPromisedToPods), "promised to a pod that takes the place of others"}}};
  return aside;
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::binary_search(names.begin(), names.end(), name);
}

void put_into_words(Placed& placed, const verdict::Verdict& found) {
  placed.why = verdict::sentence(found);
  const std::vector<verdict::Cause> causes = verdict::causes_of(found);
  if (!causes.empty()) placed.cause = causes.front().code;
}

}  // namespace

State::State(const Objects& given, StateOptions chosen)
    : objects(given),
      options(std::move(chosen)),
      inventory(options.features.on(given.server_version)),
      numbers_(inventory),
      assumed_volumes_(cluster.storage, clock_),
      random_(1) {
  inventory.device_index().set_identity_rules(options.identities);
  inventory.device_index().set_share_rules(options.sharing);
  for (const auto& [name, one] : objects.classes) inventory.apply_class(*one);
  for (const auto& [name, node] : objects.nodes) {
    inventory.apply_node(node);
    cluster.set_node(node);
  }
  for (const auto& [name, slice] : objects.slices) inventory.apply_slice(*slice);
  for (const auto& [name, rule] : objects.taint_rules) inventory.apply_taint_rule(*rule);
  for (const auto& [name, ns] : objects.namespaces) cluster.set_namespace(name, ns->metadata.labels);
  if (why_volumes_are_not_judged(objects).empty()) {
    volumes_ = placement::Volumes::kChecked;
    add_storage(objects, cluster.storage);
  }
  if (!options.empty) {
    for (const auto& [key, claim] : objects.claims)
      if (claim->status.allocation) inventory.apply_claim(*claim);
    for (const auto& [key, pod] : objects.pods)
      if (!pod->node_name.empty() && !pod->terminal()) cluster.set_pod(*pod, pod->node_name, false);
    promises = proven_promises(objects);
  }
  allocator::Options limits;
  limits.ignored_taints = options.ignored_taints;
  limits.step_budget = limits.max_step_budget = options.step_budget;
  limits.strategy = options.strategy;
  allocator_ = std::make_unique<allocator::Allocator>(inventory, limits, random_);
  find_plugins();
}

void State::find_plugins() {
  nodes::PluginNodes plugins(inventory, *allocator_);
  for (const auto& [name, one] : objects.classes) plugins.set_class(nullptr, one.get());
  for (const auto& [name, node] : objects.nodes) plugins.set_node(*node);
  if (!options.empty)
    for (const auto& [key, pod] : objects.pods) plugins.set_pod(*pod);
  while (!plugins.settle(SIZE_MAX)) {
  }
  plugin_overlaps = plugins.overlaps();
  std::erase_if(plugin_overlaps, [](const auto& one) { return one.use == identity::PluginUse::kApart; });
}

// Templates first, then allocated claims, oldest first.
void State::learn() {
  if (std::exchange(learned_, true) || options.strategy != allocator::Strategy::kBestFit) return;
  std::vector<Claim> asked;
  for (const auto& [key, one] : objects.templates)
    if (asked.size() < kMostLearned)
      asked.push_back(claim_from_template(*one, one->metadata.ns, one->metadata.name, key));
  std::vector<Claim> allocated;
  for (const auto& [key, claim] : objects.claims)
    if (claim->status.allocation) allocated.push_back(claim);
  std::stable_sort(allocated.begin(), allocated.end(), [](const Claim& a, const Claim& b) {
    return a->metadata.creation_timestamp < b->metadata.creation_timestamp;
  });
  if (allocated.size() > kMostLearned) allocated.erase(allocated.begin(), allocated.end() - kMostLearned);
  asked.insert(asked.end(), allocated.begin(), allocated.end());
  for (const Claim& claim : asked) {
    allocator::Request request;
    request.claims = {claim};
    request.cpu_milli = -1;  // not known
    allocator_->learn(request);
  }
}

verdict::Facts State::facts() {
  verdict::Facts known{cluster, inventory, *allocator_, nullptr};
  known.numbers = &numbers_;
  known.volumes = volumes_;
  known.set_aside = set_aside();
  known.name_of_holder = [this](std::string_view uid) {
    verdict::Holder holder;
    holder.uid = std::string(uid);
    const auto claim = objects.claim_by_uid.find(uid);
    if (claim == objects.claim_by_uid.end()) return holder;
    holder.claim = claim->second->metadata.key();
    if (protocol::is_only_kept(*claim->second)) {
      holder.kept = protocol::keep_words(*protocol::keep_of(*claim->second));
      return holder;
    }
    for (const std::string& pod : consumers_of(objects, *claim->second))
      holder.pods.push_back(claim->second->metadata.ns + "/" + pod);
    return holder;
  };
  return known;
}

bool State::usable(const std::vector<Claim>& allocated, const std::string& node) const {
  const auto known = objects.nodes.find(node);
  const api::StringMap none;
  const api::StringMap& labels = known == objects.nodes.end() ? none : known->second->metadata.labels;
  return std::all_of(allocated.begin(), allocated.end(), [&](const Claim& claim) {
    const auto& selector = claim->status.allocation->node_selector;
    return !selector || api::matches(*selector, node, labels);
  });
}

State::Nodes State::nodes_for(const api::Pod* pod, const std::vector<Claim>& allocated,
                              const std::vector<std::string>& among, Placed& refused, bool quickly) {
  Nodes nodes;
  const auto may_be = [&](const std::string& name) { return is_among(among, name) && usable(allocated, name); };
  if (pod == nullptr) {
    for (const inventory::NodeId node : inventory.nodes())
      if (may_be(inventory.node_name(node))) nodes.ids.push_back(node);
    if (nodes.ids.empty()) refused.why = "no node is known that the claims could be used on";
    return nodes;
  }
  const auto needs = placement::PodNeeds::of(*pod);
  if (!needs) {
    refused.outcome = allocator::Outcome::kError;
    refused.why = needs.error().message();
    return nodes;
  }
  placement::DecisionOptions asked;
  asked.volumes = volumes_;
  std::vector<placement::NodeIndex> only;
  for (const std::string& name : quickly ? among : std::vector<std::string>())
    if (const auto node = cluster.find_node(name)) only.push_back(*node);
  if (quickly) asked.only = &only;
  const placement::Cluster::Aside aside(cluster, pod->metadata.uid);
  const placement::Decision decision = placement::decide(cluster, *needs, asked);
  numbers_.follow(cluster);
  const bool all = among.empty() && allocated.empty();
  nodes.cpu_milli = needs->charge().cpu;
  for (const placement::RankedNode& ranked : decision.nodes) {
    if (!all && !may_be(cluster.rest(ranked.node).name)) continue;
    const placement::NodeRow& row = cluster.row(ranked.node);
    nodes.ids.push_back(numbers_.of(ranked.node));
    nodes.facts.push_back({row.cpu - row.used_cpu, ranked.preferred});
  }
  if (nodes.ids.empty())
    refused.why = !decision.nodes.empty() ? "its allocated claims cannot be used on any node that would take the pod"
                                          : decision.summary();
  return nodes;
}

// Device plugins that offer an extended resource serve it on their nodes; elsewhere a claim for the class does.
Placed State::place(const api::Pod* pod, const std::vector<Claim>& claims, const std::string& only) {
  const KeptPromises kept(*this, {&pod, 1});
  std::vector<std::string> among;
  if (!only.empty()) among.push_back(only);
  if (std::string why = why_allocation_refused(inventory.features().ignored_fields, pod, claims); !why.empty()) {
    Placed refused;
    refused.outcome = allocator::Outcome::kError;
    refused.why = std::move(why);
    return refused;
  }
  const std::optional<ByClass> asked = pod == nullptr ? std::nullopt : asked_by_class(objects, *pod);
  if (!asked) return place_as_is(pod, claims, among);
  std::vector<std::string> by_claim;
  for (const std::string& node : asked->nodes)
    if (is_among(among, node)) by_claim.push_back(node);
  Placed placed;
  if (asked->others || by_claim.empty()) placed = place_as_is(pod, claims, among);
  if (by_claim.empty() || placed.outcome == allocator::Outcome::kFeasible) return placed;
  std::vector<Claim> all = claims;
  all.push_back(asked->claim);
  if (!asked->others && only.empty()) by_claim.clear();  // all nodes
  return place_as_is(&asked->rest, all, by_claim);
}

Placed State::place_as_is(const api::Pod* pod, const std::vector<Claim>& claims,
                          const std::vector<std::string>& among) {
  Placed placed;
  std::vector<Claim> allocated;
  allocator::Request request;
  request.weigh_alternatives = pod != nullptr;
  for (const Claim& claim : claims) (claim->status.allocation ? allocated : request.claims).push_back(claim);
  const std::vector<allocator::PairRule> pairs = pairs_asked(pod, claims, inventory, placed.why);
  if (!placed.why.empty()) return placed;
  const Nodes nodes = nodes_for(pod, allocated, among, placed);
  if (nodes.ids.empty()) {
    if (options.explain_refusals && placed.outcome == allocator::Outcome::kInfeasible) {
      put_into_words(placed, verdict::judge(facts(), {pod, claims, {}, among, pairs}));
      if (pod != nullptr)
        for (const std::string& trouble : trouble_of_volumes(objects, *pod)) placed.why += "; " + trouble;
    }
    return placed;
  }
  if (request.claims.empty()) {
    placed.outcome = allocator::Outcome::kFeasible;
    placed.node = inventory.node_name(nodes.ids.front());
    return placed;
  }
  request.preferences = allocator::preferences_of(claims).of;
  request.pairs = pairs;
  request.facts = nodes.facts;
  request.cpu_milli = nodes.cpu_milli;
  learn();
  allocator::FoundNodes found = allocator_->find_nodes(request, nodes.ids, 1);
  placed.outcome = found.outcome;
  if (!found.decisions.empty()) {
    placed.node = inventory.node_name(found.decisions.front().node);
    placed.results = std::move(found.decisions.front().results);
  } else if (found.error) {
    placed.why = found.error->message();
  } else if (found.outcome == allocator::Outcome::kInfeasible) {
    if (options.explain_refusals) put_into_words(placed, verdict::judge(facts(), {pod, claims, {}, among, pairs}));
  } else {
    placed.why = "could not be decided within " + std::to_string(found.budget) + " steps";
  }
  return placed;
}

void State::take(const api::Pod* pod, const std::vector<Claim>& claims, const Placed& placed) {
  size_t next = 0;
  for (const Claim& claim : claims)
    if (!claim->status.allocation && next < placed.results.size())
      inventory.assume(claim->metadata.uid, placed.results[next++], claim.get());
  // One result more than there are claims: that for its extended resources.
  if (pod != nullptr && next < placed.results.size())
    inventory.assume(supposed_uid(pod->metadata.uid), placed.results[next]);
  if (pod == nullptr) return;
  take_volumes(*pod, placed.node);
  cluster.set_pod(*pod, placed.node, true);
}

// As the manager does between the decision and the binding: two waiting pods get two volumes, and the second pod of a
// claim goes where the first one binds it.
void State::take_volumes(const api::Pod& pod, const std::string& node) {
  const auto index = cluster.find_node(node);
  if (volumes_ != placement::Volumes::kChecked || !has_volume_claims(pod) || !index) return;
  // If a claim serves the pod's extended resources, no node offers them: then also tries the pod without them.
  const std::optional<ByClass> asked = asked_by_class(objects, pod);
  for (const api::Pod* of : {&pod, asked ? &asked->rest : static_cast<const api::Pod*>(nullptr)}) {
    if (of == nullptr) continue;
    const auto needs = placement::PodNeeds::of(*of);
    if (!needs) continue;
    const std::vector<placement::NodeIndex> only{*index};
    placement::DecisionOptions asked_for;
    asked_for.volumes = volumes_;
    asked_for.keep_plans = true;
    asked_for.only = &only;
    const placement::Cluster::Aside aside(cluster, pod.metadata.uid);
    placement::Decision decision = placement::decide(cluster, *needs, asked_for);
    if (decision.nodes.empty()) continue;
    return assumed_volumes_.assume(pod.metadata.uid, pod.metadata.ns, node,
                                   placement::plan_on(*index, std::move(decision)));
  }
}

void State::release(const std::string& pod_uid, const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) inventory.forget(claim->metadata.uid);
  if (pod_uid.empty()) return;
  inventory.forget(supposed_uid(pod_uid));
  leave_node(pod_uid);
}

void State::leave_node(const std::string& pod_uid) {
  assumed_volumes_.forget(pod_uid);
  cluster.remove_pod(pod_uid);
}

bool State::fits_as_is(const api::Pod& pod, const std::vector<Claim>& claims) {
  return place_as_is(&pod, claims, {}).outcome == allocator::Outcome::kFeasible;
}

Result<std::vector<Claim>> claims_of(const Objects& objects, const api::Pod& pod) {
  std::vector<Claim> claims;
  for (const api::PodResourceClaim& entry : pod.resource_claims) {
    const protocol::ResolvedClaim resolved = protocol::resolve_created_claim(pod, entry);
    if (resolved.state == protocol::ResolvedClaim::State::kNotNeeded) continue;
    if (resolved.state != protocol::ResolvedClaim::State::kNamed)
      return fail(Code::kNotFound, "entry " + quote(entry.name) + " of the pod has no claim yet");
    const auto claim = objects.claims.find(pod.metadata.ns + "/" + resolved.name);
    if (claim == objects.claims.end())
      return fail(
          not_known(objects, "resourceclaims", pod.metadata.ns,
                    "ResourceClaim " + quote(resolved.name) + " (used by pod claim " + quote(entry.name) + ")"));
    claims.push_back(claim->second);
  }
  return claims;
}

Claim claim_from_template(const api::ResourceClaimTemplate& from, const std::string& ns, const std::string& name,
                          const std::string& uid) {
  auto claim = std::make_shared<api::ResourceClaim>();
  claim->metadata.ns = ns;
  claim->metadata.name = name;
  claim->metadata.uid = uid;
  claim->metadata.labels = from.claim_labels;
  for (const auto& [key, value] : from.claim_annotations)
    if (key.starts_with(protocol::kAnnotationPrefix)) claim->metadata.annotations.emplace(key, value);
  claim->spec = from.spec;
  return claim;
}

}  // namespace dra::inspect
