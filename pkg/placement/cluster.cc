#include "pkg/placement/cluster.h"

#include <algorithm>
#include <tuple>

#include "pkg/base/check.h"

namespace dra::placement {
namespace {

std::string taints_text(const std::vector<api::Taint>& taints) {
  std::string out;
  for (const api::Taint& taint : taints) out += taint.key + '\x1f' + taint.value + '\x1f' + taint.effect + '\x1e';
  return out;
}

int64_t take(Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  if (found == amounts.end()) return 0;
  const int64_t amount = found->second;
  amounts.erase(found);
  return amount;
}

// A resource whose quantity cannot be read counts as absent.
Amounts readable_amounts(const api::ResourceList& list) {
  if (Result<Amounts> all = amounts_of(list)) return std::move(*all);
  Amounts out;
  for (const auto& entry : list)
    if (Result<Amounts> one = amounts_of({entry})) out.merge(*one);
  return out;
}

void add_to(int64_t& sum, int64_t amount, int64_t sign) {
  sum = saturating_add(sum, sign * amount);
}

}  // namespace

NodeIndex Cluster::slot_of(std::string_view name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  NodeIndex slot = 0;
  if (free_.empty()) {
    slot = static_cast<NodeIndex>(rows_.size());
    rows_.emplace_back();
    rest_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  rest_[slot].name = name;
  ++slots_version_;
  by_name_.emplace(std::string(name), slot);
  return slot;
}

void Cluster::drop_slot_if_unused(NodeIndex node) {
  if (rows_[node].known || rows_[node].pods > 0) return;
  by_name_.erase(rest_[node].name);
  rows_[node] = {};
  rest_[node] = {};
  free_.push_back(node);
}

uint32_t Cluster::acquire_taints(const std::vector<api::Taint>& taints) {
  std::string text = taints_text(taints);
  if (const auto known = taint_set_by_text_.find(text); known != taint_set_by_text_.end()) {
    ++taint_sets_[known->second].users;
    return known->second;
  }
  uint32_t set = static_cast<uint32_t>(taint_sets_.size());
  if (free_taint_sets_.empty()) {
    taint_sets_.emplace_back();
  } else {
    set = free_taint_sets_.back();
    free_taint_sets_.pop_back();
  }
  taint_set_by_text_.emplace(text, set);
  taint_sets_[set] = {std::move(text), taints, 1};
  return set;
}

void Cluster::release_taints(uint32_t set) {
  if (--taint_sets_[set].users > 0) return;
  taint_set_by_text_.erase(taint_sets_[set].text);
  taint_sets_[set] = {};
  free_taint_sets_.push_back(set);
}

void Cluster::count_images(const api::Node& node, int change) {
  for (const api::NodeImage& image : node.images)
    if ((images_[image.name_hash] += static_cast<uint32_t>(change)) == 0) images_.erase(image.name_hash);
}

void Cluster::log_change(NodeIndex node) {
  if (log_.size() >= kMaxLog) {
    log_.erase(log_.begin(), log_.begin() + kMaxLog / 2);
    first_change_ += kMaxLog / 2;
  }
  log_.push_back(node);
}

void Cluster::set_node(std::shared_ptr<const api::Node> node) {
  const NodeIndex slot = slot_of(node->metadata.name);
  NodeRow& row = rows_[slot];
  NodeRest& rest = rest_[slot];
  const uint32_t old_taints = row.taints;
  const std::shared_ptr<const api::Node> before = std::move(rest.node);
  row.taints = acquire_taints(node->taints);
  count_images(*node, 1);
  if (before) {
    release_taints(old_taints);
    count_images(*before, -1);
  }
  if (!row.known) order_stale_ = true;
  if (!before || before->images != node->images) ++nodes_version_;
  log_change(slot);
  row.known = true;
  row.unschedulable = node->unschedulable;
  row.deleting = node->metadata.deleting();
  if (!before || before->allocatable != node->allocatable) {
    rest.allocatable = readable_amounts(node->allocatable);
    row.cpu = take(rest.allocatable, "cpu");
    row.memory = take(rest.allocatable, "memory");
    row.ephemeral_storage = take(rest.allocatable, "ephemeral-storage");
    row.max_pods = take(rest.allocatable, "pods");
  }
  rest.node = std::move(node);
  if (before && before->metadata.labels == rest.node->metadata.labels)
    columns_.moved(slot, &rest.node->metadata.labels);
  else
    columns_.set(slot, &rest.node->metadata.labels);
}

void Cluster::remove_node(std::string_view name) {
  const std::optional<NodeIndex> found = find_node(name);
  if (!found) return;
  NodeRow& row = rows_[*found];
  release_taints(row.taints);
  count_images(*rest_[*found].node, -1);
  columns_.set(*found, nullptr);
  row.known = false;
  rest_[*found].node.reset();
  order_stale_ = true;
  ++nodes_version_;
  drop_slot_if_unused(*found);
}

void Cluster::count_claims(const PlacedPod& pod, int64_t sign) {
  for (const api::PodVolume& volume : pod.volumes) {
    if (volume.claim_name.empty()) continue;
    const std::string key = claim_key(pod.ns, pod.name, volume);
    std::vector<const PlacedPod*>& users = claim_users_[key];
    if (sign > 0)
      users.push_back(&pod);
    else if (const auto user = std::find(users.begin(), users.end(), &pod); user != users.end())
      users.erase(user);
    if (users.empty()) claim_users_.erase(key);
  }
}

void Cluster::count(PlacedPod& pod, int64_t sign) {
  NodeRow& row = rows_[pod.node];
  NodeRest& rest = rest_[pod.node];
  log_change(pod.node);
  add_to(row.used_cpu, pod.charge.cpu, sign);
  add_to(row.used_memory, pod.charge.memory, sign);
  add_to(row.used_ephemeral_storage, pod.charge.ephemeral_storage, sign);
  add_to(row.score_cpu, pod.charge.score_cpu, sign);
  add_to(row.score_memory, pod.charge.score_memory, sign);
  row.pods += sign;
  for (const auto& [name, amount] : pod.charge.others) {
    const auto used = rest.used.try_emplace(name).first;
    add_to(used->second, amount, sign);
    if (used->second == 0) rest.used.erase(used);
  }
  for (const api::HostPort& port : pod.charge.ports) {
    if (sign > 0)
      rest.ports.push_back(port);
    else if (const auto taken = std::find(rest.ports.begin(), rest.ports.end(), port); taken != rest.ports.end())
      rest.ports.erase(taken);
  }
  if (!pod.volumes.empty()) {
    if (sign > 0)
      rest.with_volumes.push_back(&pod);
    else
      std::erase(rest.with_volumes, &pod);
    count_claims(pod, sign);
  }
  counts_.add(pod.labels, pod.node, pod.terminating, static_cast<int32_t>(sign));
  terms_.add(pod.terms, pod.node, sign);
}

Charge Cluster::charge_of(const api::Pod& pod) {
  if (!pod.resized_containers.empty() || pod.resized || pod.claims_take)
    return bound_charge(pod);  // the status counts too
  const auto fields = [](const auto& of) {
    return std::tie(of.containers, of.init_containers, of.overhead, of.pod_requests);
  };
  if (fields(last_charged_) != fields(pod))
    last_charged_ = {pod.containers, pod.init_containers, pod.overhead, pod.pod_requests, bound_charge(pod)};
  return last_charged_.charge;
}

void Cluster::set_pod(const api::Pod& pod, std::string_view node, bool assumed) {
  const NodeIndex slot = slot_of(node);
  PlacedPod placed;
  placed.node = slot;
  placed.assumed = assumed;
  placed.terminating = pod.metadata.deleting();
  placed.ns = pod.metadata.ns;
  placed.name = pod.metadata.name;
  placed.charge = charge_of(pod);
  placed.labels = pod.labels_dropped > 0 ? counts_.acquire_unknown(pod.metadata.ns)
                                         : counts_.acquire(pod.metadata.ns, pod.metadata.labels);
  placed.terms = terms_.acquire(pod);
  placed.volumes = pod.volumes;
  auto [entry, added] = pods_.try_emplace(pod.metadata.uid);
  assumed ? void(assumed_.insert(pod.metadata.uid)) : void(assumed_.erase(pod.metadata.uid));
  PlacedPod& kept = *entry;
  const bool same = !added && kept.node == slot && kept.terminating == placed.terminating &&
                    kept.charge == placed.charge && kept.labels == placed.labels && kept.terms == placed.terms &&
                    kept.volumes.size() == placed.volumes.size();
  const NodeIndex before = kept.node;
  if (!added && !same) count(kept, -1);
  if (!added) {
    counts_.release(kept.labels);
    terms_.release(kept.terms);
  }
  if (same) {
    kept.assumed = assumed;
    return;
  }
  kept = std::move(placed);
  count(kept, 1);
  if (!added && before != slot) drop_slot_if_unused(before);
}

void Cluster::remove_pod(std::string_view uid) {
  PlacedPod* const pod = pods_.find(uid);
  if (!pod) return;
  count(*pod, -1);
  counts_.release(pod->labels);
  terms_.release(pod->terms);
  const NodeIndex node = pod->node;
  if (const auto assumed = assumed_.find(uid); assumed != assumed_.end()) assumed_.erase(assumed);
  pods_.erase(uid);
  drop_slot_if_unused(node);
}

const PlacedPod* Cluster::pod(std::string_view uid) const {
  return pods_.find(uid);
}

std::vector<std::string> Cluster::assumed_pods() const {
  return {assumed_.begin(), assumed_.end()};
}

Cluster::Aside::Aside(Cluster& cluster, std::string_view uid) : cluster_(cluster), pod_(cluster.pods_.find(uid)) {
  if (pod_) cluster_.count(*pod_, -1);
}

Cluster::Aside::~Aside() {
  if (pod_) cluster_.count(*pod_, 1);
}

const std::vector<NodeIndex>& Cluster::nodes() const {
  if (!order_stale_) return ordered_;
  ordered_.clear();
  for (NodeIndex node = 0; node < rows_.size(); ++node)
    if (rows_[node].known) ordered_.push_back(node);
  std::sort(ordered_.begin(), ordered_.end(),
            [this](NodeIndex a, NodeIndex b) { return rest_[a].name < rest_[b].name; });
  order_stale_ = false;
  return ordered_;
}

std::optional<NodeIndex> Cluster::find_node(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || !rows_[found->second].known) return std::nullopt;
  return found->second;
}

size_t Cluster::nodes_with_image(uint64_t name_hash) const {
  const auto found = images_.find(name_hash);
  return found == images_.end() ? 0 : found->second;
}

size_t Cluster::users_of_claim(const std::string& key) const {
  const auto found = claim_users_.find(key);
  if (found == claim_users_.end()) return 0;
  return static_cast<size_t>(std::count_if(found->second.begin(), found->second.end(),
                                           [this](const PlacedPod* pod) { return rows_[pod->node].known; }));
}

const api::StringMap& Cluster::namespace_labels(const std::string& name) const {
  static const api::StringMap kNone;
  const auto found = namespaces_.find(name);
  return found == namespaces_.end() ? kNone : found->second;
}

bool Cluster::has_soft_taints() const {
  return std::any_of(taint_sets_.begin(), taint_sets_.end(), [](const TaintSet& set) {
    return std::any_of(set.taints.begin(), set.taints.end(),
                       [](const api::Taint& taint) { return taint.effect == "PreferNoSchedule"; });
  });
}

void Cluster::begin_decision() const {
  columns_.trim();
  counts_.trim();
}

}  // namespace dra::placement
