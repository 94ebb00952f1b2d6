#include "pkg/nodes/node_tracker.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "pkg/api/pod_bounds.h"
#include "pkg/api/selectors.h"
#include "pkg/nodes/unready.h"
#include "pkg/placement/decide.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"

namespace dra::nodes {

namespace {

// The most nominated pods of lower priority that are set aside for one decision; those beyond count.
constexpr size_t kMaxSetAside = 64;

bool is_spread_by_default(const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return owner && pod.topology_spread.empty() &&
         (owner->kind == "ReplicaSet" || owner->kind == "StatefulSet" || owner->kind == "ReplicationController");
}

int64_t left_on(const placement::NodeRow& row, const placement::NodeRest& rest, const std::string& resource) {
  const auto minus = [](int64_t a, int64_t b) { return placement::saturating_add(a, -b); };
  if (resource == "cpu") return minus(row.cpu, row.used_cpu);
  if (resource == "memory") return minus(row.memory, row.used_memory);
  if (resource == "ephemeral-storage") return minus(row.ephemeral_storage, row.used_ephemeral_storage);
  return minus(placement::amount_of(rest.allocatable, resource), placement::amount_of(rest.used, resource));
}

int64_t charged(const placement::Charge& charge, const std::string& resource) {
  if (resource == "cpu") return charge.cpu;
  if (resource == "memory") return charge.memory;
  if (resource == "ephemeral-storage") return charge.ephemeral_storage;
  for (const auto& [name, amount] : charge.others)
    if (name == resource) return amount;
  return 0;
}

}  // namespace

void NodeTracker::changes(std::string_view node) {
  if (supposing_) return;
  ++version_;
  if (changed_.size() >= kMaxChanged && !changed_.contains(node)) {
    changed_.clear();
    changed_everywhere_ = version_;
  }
  changed_.insert_or_assign(std::string(node), version_);
}

bool NodeTracker::changed_since(std::string_view node, uint64_t version) const {
  if (changed_everywhere_ > version) return true;
  const auto changed = changed_.find(node);
  return changed != changed_.end() && changed->second > version;
}

// A pod that came meanwhile can keep others from every node by terms that match them; one that left keeps nobody.
bool NodeTracker::still_takes(const api::Pod& pod, const std::string& node, uint64_t version) const {
  if (changed_since(node, version) || reads_beyond_node(pod)) return false;
  if (nominated_.size() > kMaxSetAside || !avoided_by(pod).empty() || !cluster_.find_node(node)) return false;
  const api::ObjectMeta& metadata = pod.metadata;
  const placement::AffinityTerms::Audience& audience =
      cluster_.terms().audience(metadata.ns, cluster_.namespace_labels(metadata.ns), metadata.labels);
  return audience.terms == 0 && audience.selecting == 0;
}

void NodeTracker::set_node(std::shared_ptr<const api::Node> node) {
  changes(node->metadata.name);
  if (std::vector<api::Taint> taints = taints_in_force(*node); taints.size() != node->taints.size()) {
    auto tainted = std::make_shared<api::Node>(*node);
    tainted->taints = std::move(taints);
    node = std::move(tainted);
  }
  cluster_.set_node(std::move(node));
}

void NodeTracker::set_pod(const api::Pod& pod) {
  const std::string& uid = pod.metadata.uid;
  if (pod.terminal()) return remove_pod(uid);
  if (const placement::PlacedPod* counted = cluster_.pod(uid)) changes(cluster_.rest(counted->node).name);
  if (!pod.node_name.empty())
    changes(pod.node_name);
  else if (const std::string& node = nomination_of(pod); !node.empty())
    changes(node);
  if (!pod.node_name.empty()) {
    nominated_.erase(uid);
    volumes_.forget(uid);
    takes_.erase(uid);
    return cluster_.set_pod(pod, pod.node_name, false);
  }
  const placement::PlacedPod* counted = cluster_.pod(uid);
  const bool was_nominated = nominated_.contains(uid);
  // An assumption about the pod stays, with the pod as it is now.
  if (counted && counted->assumed && !was_nominated)
    return count_assumed(pod, std::string(cluster_.rest(counted->node).name));
  if (const std::string& node = nomination_of(pod); !node.empty() && !pod.metadata.deleting()) {
    if (const auto promised = places_.find(uid); promised != places_.end())
      if (const std::optional<protocol::GroupRef> group = protocol::group_of(pod))
        for (const auto& [owner, place] : promised->second) units_[owner].group = group->key();
    nominated_[uid] = pod.priority;
    return cluster_.set_pod(pod, node, true);
  }
  if (was_nominated) remove_pod(uid);
}

void NodeTracker::remove_pod(const std::string& uid) {
  if (const placement::PlacedPod* counted = cluster_.pod(uid)) changes(cluster_.rest(counted->node).name);
  nominated_.erase(uid);
  volumes_.forget(uid);
  takes_.erase(uid);
  cluster_.remove_pod(uid);
}

void NodeTracker::count_assumed(const api::Pod& pod, const std::string& node) {
  const auto takes = takes_.find(pod.metadata.uid);
  if (takes == takes_.end()) return cluster_.set_pod(pod, node, true);
  api::Pod counted = pod;
  counted.claims_take = takes->second;
  cluster_.set_pod(counted, node, true);
}

void NodeTracker::assume(const api::Pod& pod, const std::string& node,
                         std::optional<std::vector<api::ClaimTakes>> takes) {
  if (!pod.node_name.empty() || pod.terminal()) return;
  const std::string& uid = pod.metadata.uid;
  const placement::PlacedPod* counted = cluster_.pod(uid);
  changes(node);
  if (counted) changes(cluster_.rest(counted->node).name);
  const bool moves = !counted || cluster_.rest(counted->node).name != node;
  nominated_.erase(uid);
  if (takes) takes->empty() ? void(takes_.erase(uid)) : void(takes_.insert_or_assign(uid, std::move(*takes)));
  count_assumed(pod, node);
  if (pod.volumes.empty() || (!moves && volumes_.has(uid))) return;
  volumes_.forget(uid);
  volumes_.assume(uid, pod.metadata.ns, node, plan(pod, node));
}

void NodeTracker::forget(const std::string& uid) {
  if (const placement::PlacedPod* counted = cluster_.pod(uid); !counted || !counted->assumed) return;
  remove_pod(uid);
}

const std::string& NodeTracker::nomination_of(const api::Pod& pod) const {
  static const std::string kNone;
  if (const auto promised = places_.find(pod.metadata.uid); promised != places_.end())
    return promised->second.begin()->second;
  return protocol::is_nominated_by_others(pod) ? pod.nominated_node_name : kNone;
}

const NodeTracker::Unit* NodeTracker::promised_to_group_of(const api::Pod& pod) const {
  if (units_.empty()) return nullptr;
  const std::optional<protocol::GroupRef> group = protocol::group_of(pod);
  if (!group) return nullptr;
  const auto found = std::find_if(units_.begin(), units_.end(),
                                  [key = group->key()](const auto& unit) { return unit.second.group == key; });
  return found == units_.end() ? nullptr : &found->second;
}

void NodeTracker::set_places(const std::string& owner, const std::vector<PromisedPlace>& places,
                             const std::vector<const api::Pod*>& known) {
  if (const auto before = units_.find(owner); before != units_.end()) {
    for (const std::string& uid : before->second.pods) {
      const auto place = places_.find(uid);
      if (place == places_.end() || place->second.erase(owner) == 0) continue;
      if (place->second.empty()) places_.erase(place);
      if (nominated_.contains(uid)) remove_pod(uid);
    }
    units_.erase(before);
  }
  for (const PromisedPlace& place : places) {
    places_[place.uid][owner] = place.node;
    units_[owner].pods.push_back(place.uid);
  }
  for (const api::Pod* pod : known) set_pod(*pod);
}

std::vector<std::string> NodeTracker::nominated() const {
  std::vector<std::string> uids;
  for (const auto& [uid, priority] : nominated_) uids.push_back(uid);
  return uids;
}

// Nominations come from the server and are not assumptions: they stay.
void NodeTracker::forget_all() {
  for (const std::string& uid : cluster_.assumed_pods())
    if (!nominated_.contains(uid)) forget(uid);
}

std::optional<gang::Resources> NodeTracker::takes(const api::Pod& pod) const {
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) return std::nullopt;
  return gang::Resources{needs->charge().cpu, needs->charge().memory, 1};
}

// decide() sets aside the pod itself, and nominated pods of lower priority: here all of them do not count.
std::vector<gang::Resources> NodeTracker::left_for(const std::vector<const api::Pod*>& pods,
                                                   const std::vector<std::string>& nodes) const {
  std::set<std::string_view> aside;
  for (const api::Pod* pod : pods) aside.insert(pod->metadata.uid);
  for (const auto& [uid, priority] : nominated_) aside.insert(uid);
  std::map<placement::NodeIndex, gang::Resources> given_back;
  for (const std::string_view uid : aside) {
    const placement::PlacedPod* counted = cluster_.pod(uid);
    if (counted == nullptr) continue;
    gang::Resources& back = given_back[counted->node];
    back.cpu_milli += counted->charge.cpu;
    back.memory += counted->charge.memory;
    back.pods += 1;
  }
  std::vector<gang::Resources> left;
  left.reserve(nodes.size());
  for (const std::string& name : nodes) {
    gang::Resources& here = left.emplace_back();
    const auto node = cluster_.find_node(name);
    if (!node) continue;
    const placement::NodeRow& row = cluster_.row(*node);
    if (const auto back = given_back.find(*node); back != given_back.end()) here = back->second;
    here.cpu_milli += row.cpu - row.used_cpu;
    here.memory += row.memory - row.used_memory;
    here.pods += row.max_pods - row.pods;
  }
  return left;
}

// What does not count for a choice of the pod's node, beside the pod itself: nominated pods of lower priority, and
// those of its group that were promised places, until one is chosen for them.
template <class F>
void NodeTracker::each_aside(const api::Pod& pod, F&& f) const {
  if (nominated_.empty()) return;
  static const Unit kNone;
  const Unit* unit = promised_to_group_of(pod);
  const std::vector<std::string>& together = (unit == nullptr ? kNone : *unit).pods;
  for (const std::string& uid : together)
    if (uid != pod.metadata.uid && nominated_.contains(uid)) f(uid);
  size_t lower = 0;
  for (const auto& [uid, priority] : nominated_) {
    if (priority >= pod.priority || uid == pod.metadata.uid || lower >= kMaxSetAside) continue;
    if (std::find(together.begin(), together.end(), uid) != together.end()) continue;
    ++lower;
    f(uid);
  }
}

// As decide().
std::function<api::Quantity(const std::string&, const std::string&)> NodeTracker::room_for(const api::Pod& pod) const {
  Result<placement::RoomForDevices> room = placement::RoomForDevices::of(pod);
  if (!room) return nullptr;
  // Copies: a search that supposes pods puts others in their place.
  std::vector<std::pair<placement::NodeIndex, placement::Charge>> aside;
  const auto set_aside = [&](const std::string& uid) {
    if (const placement::PlacedPod* counted = cluster_.pod(uid)) aside.emplace_back(counted->node, counted->charge);
  };
  set_aside(pod.metadata.uid);
  each_aside(pod, set_aside);
  return [this, room = std::move(*room), aside = std::move(aside)](const std::string& name,
                                                                   const std::string& resource) -> api::Quantity {
    const auto node = cluster_.find_node(name);
    if (!node) return api::Quantity::from_int64(-1);
    int64_t left = left_on(cluster_.row(*node), cluster_.rest(*node), resource);
    for (const auto& [where, charge] : aside)
      if (where == *node) left = placement::saturating_add(left, charged(charge, resource));
    return room.beside(resource, left);
  };
}

void NodeTracker::suppose(const api::Pod& pod, const std::string& node) {
  const uint64_t volumes = volumes_version();
  const placement::PlacedPod* counted = cluster_.pod(pod.metadata.uid);
  const bool assumed = counted && counted->assumed && !nominated_.contains(pod.metadata.uid);
  supposed_[pod.metadata.uid] = assumed ? std::string(cluster_.rest(counted->node).name) : "";
  supposing_ = true;
  assume(pod, node);
  supposing_ = false;
  supposed_changes_ += volumes_version() - volumes;
}

void NodeTracker::stop_supposing(const api::Pod& pod) {
  const auto supposed = supposed_.find(pod.metadata.uid);
  if (supposed == supposed_.end()) return;
  const uint64_t volumes = volumes_version();
  const std::string before = std::move(supposed->second);
  supposed_.erase(supposed);
  supposing_ = true;
  forget(pod.metadata.uid);
  before.empty() ? set_pod(pod) : assume(pod, before);
  supposing_ = false;
  supposed_changes_ += volumes_version() - volumes;
}

void NodeTracker::avoid(const std::string& uid, const std::vector<std::string>& nodes, Duration lasts,
                        const std::string& why) {
  changes_everywhere();
  ++shapes_version_;
  forget(uid);
  const MonoTime now = clock_.mono_now();
  const std::set<std::string_view> again(nodes.begin(), nodes.end());
  for (auto next = avoided_.begin(); next != avoided_.end();) {
    const auto one = next++;
    if (one->second.until <= now || (one->first == uid && again.contains(one->second.node))) avoided_.erase(one);
  }
  for (const std::string_view node : again) {
    if (avoided_.size() >= kMaxAvoided)
      avoided_.erase(std::min_element(avoided_.begin(), avoided_.end(),
                                      [](const auto& a, const auto& b) { return a.second.until < b.second.until; }));
    avoided_.emplace(uid, Avoided{std::string(node), why, now + lasts});
  }
}

void NodeTracker::set_known(Facts facts, bool known, std::string why) {
  changes_everywhere();
  known_[static_cast<size_t>(facts)] = {known, std::move(why)};
}

// The pod's own terms select namespaces by label, or a term of a pod on some node would match this pod if its namespace
// had certain labels.
bool NodeTracker::needs_namespaces(const placement::PodNeeds& needs) const {
  const api::ObjectMeta& pod = needs.pod().metadata;
  return needs.reads_namespaces() ||
         cluster_.terms().audience(pod.ns, cluster_.namespace_labels(pod.ns), pod.labels).selecting > 0;
}

const NodeTracker::Known* NodeTracker::missing_facts(const placement::PodNeeds& needs) {
  const Known* missing = nullptr;
  const auto need = [&](Facts facts) {
    const Known& known = known_[static_cast<size_t>(facts)];
    if (known.known) return;
    if (needed_) needed_(facts);
    if (!missing || missing->why.empty()) missing = &known;
  };
  if (needs_namespaces(needs)) need(Facts::kNamespaces);
  if (needs.reads_storage()) need(Facts::kVolumes);
  return missing;
}

// Without the permission to list them, pods do not wait: they matter for scores only, and a score refuses no node.
bool NodeTracker::waits_for_scores(const api::Pod& pod) {
  const Known& known = known_[static_cast<size_t>(Facts::kWorkloads)];
  if (known.known || !needed_ || !is_spread_by_default(pod)) return false;
  needed_(Facts::kWorkloads);
  const MonoTime now = clock_.mono_now();
  if (!scores_needed_) scores_needed_ = now;
  return known.why.empty() && now - *scores_needed_ < kScoreWait;
}

placement::Decision NodeTracker::decide(const placement::PodNeeds& needs,
                                        const placement::DecisionOptions& options) const {
  using Aside = placement::Cluster::Aside;
  const Aside self(cluster_, needs.pod().metadata.uid);
  std::vector<std::unique_ptr<Aside>> others;
  each_aside(needs.pod(), [&](const std::string& uid) { others.push_back(std::make_unique<Aside>(cluster_, uid)); });
  return placement::decide(cluster_, needs, options);
}

NodeChoice NodeTracker::choose(const api::Pod& pod, const std::vector<std::string>& only) {
  last_ = {};
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs) return {{}, needs.error().message(), false, {}};
  if (const Known* missing = missing_facts(*needs)) return {{}, missing->why, false, {}, missing->why.empty()};
  if (only.size() != 1 && waits_for_scores(pod)) return {{}, "", false, {}, true};
  if (!volumes_unbindable_.empty() && pod.scheduling_gates.empty() && has_volumes_to_bind(pod))
    return {{}, volumes_unbindable_, false, {}};
  placement::DecisionOptions options;
  std::vector<placement::NodeIndex> nodes;
  if (!only.empty()) {
    std::vector<std::string_view> names(only.begin(), only.end());  // each once, in order
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const std::string_view name : names)
      if (const auto node = cluster_.find_node(name)) nodes.push_back(*node);
    if (nodes.empty()) return {{}, "0/" + std::to_string(cluster_.nodes().size()) + " nodes are available", false, {}};
    options.only = &nodes;
  }
  last_ = {pod.metadata.uid, options.only != nullptr, nullptr};
  NodeChoice choice = options.only ? choice_of(*needs, options) : choose_among_all(*needs);
  if (choice.nodes.empty()) choice.why_none = last_.decision->summary() + absent_class(pod);
  choice.watch_lags = choice.nodes.empty() && waits_for_volumes(pod);
  drop_avoided(pod, choice);
  // The nominated node comes first, as in kube-scheduler; before it only the node that we promised the pod.
  if (const std::string& promised = nomination_of(pod); !promised.empty())
    prefer(promised, choice);
  else if (!pod.nominated_node_name.empty())
    prefer(pod.nominated_node_name, choice);
  if (const placement::PlacedPod* counted = cluster_.pod(pod.metadata.uid); counted && counted->assumed)
    prefer(cluster_.rest(counted->node).name, choice);
  return choice;
}

NodeChoice NodeTracker::choice_of(const placement::PodNeeds& needs, const placement::DecisionOptions& options) {
  last_.decision = std::make_shared<const placement::Decision>(decide(needs, options));
  const placement::Decision& decision = *last_.decision;
  NodeChoice choice;
  choice.nodes.reserve(decision.nodes.size());
  choice.facts.reserve(decision.nodes.size());
  choice.cpu_milli = needs.charge().cpu;
  for (const placement::RankedNode& node : decision.nodes) {
    const placement::NodeRow& row = cluster_.row(node.node);
    choice.nodes.push_back(cluster_.rest(node.node).name);
    choice.facts.push_back({row.cpu - row.used_cpu, node.preferred});
  }
  if (numbers_) {
    numbers_->follow(cluster_);
    choice.numbers.reserve(decision.nodes.size());
    for (const placement::RankedNode& node : decision.nodes) choice.numbers.push_back(numbers_->of(node.node));
  }
  choice.depends_on_pods = decision.depends_on_pods();
  choice.depends_on_capacity = decision.depends_on_capacity();
  return choice;
}

bool NodeTracker::may_share_choice(const api::Pod& pod) const {
  if (cluster_.pod(pod.metadata.uid)) return false;
  return promised_to_group_of(pod) == nullptr &&
         std::none_of(nominated_.begin(), nominated_.end(), [&](const auto& other) {
           return other.second < pod.priority && other.first != pod.metadata.uid;
         });
}

NodeChoice NodeTracker::choose_among_all(const placement::PodNeeds& needs) {
  std::string shape = may_share_choice(needs.pod()) ? node_shape(needs.pod()) : "";
  if (shape.empty()) return choice_of(needs, {});
  if (numbers_) numbers_->follow(cluster_);
  const ChoiceCache::Kept* kept = choices_.of(cluster_, needs, std::move(shape), numbers_ ? &*numbers_ : nullptr);
  if (!kept) return choice_of(needs, {});
  last_.decision = kept->decision;
  return kept->choice;
}

// kube-scheduler says only that such a claim is unbound.
std::string NodeTracker::absent_class(const api::Pod& pod) const {
  for (const api::PodVolume& volume : pod.volumes) {
    const auto claim = volumes_.claim(placement::claim_key(pod.metadata.ns, pod.metadata.name, volume));
    if (!claim || !claim->volume_name.empty()) continue;
    const std::string name = placement::class_of(*claim);
    if (!name.empty() && !cluster_.storage.classes.find(name))
      return " persistentvolumeclaim \"" + claim->metadata.name + "\" names StorageClass \"" + name +
             "\", which does not exist.";
  }
  return "";
}

bool NodeTracker::has_volumes_to_bind(const api::Pod& pod) const {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(), [&](const api::PodVolume& volume) {
    const auto claim = volumes_.claim(placement::claim_key(pod.metadata.ns, pod.metadata.name, volume));
    if (!claim || !claim->volume_name.empty()) return false;
    const auto class_of_claim = cluster_.storage.classes.find(placement::class_of(*claim));
    return class_of_claim && class_of_claim->volume_binding_mode == "WaitForFirstConsumer";
  });
}

void NodeTracker::prefer(std::string_view node, NodeChoice& choice) const {
  const auto found = std::find(choice.nodes.begin(), choice.nodes.end(), node);
  if (found == choice.nodes.end()) return;
  const auto at = found - choice.nodes.begin();
  const auto less = [](const auto& a, const auto& b) { return a.preferred < b.preferred; };
  const int64_t best = std::max_element(choice.facts.begin(), choice.facts.end(), less)->preferred;
  std::rotate(choice.nodes.begin(), found, found + 1);
  std::rotate(choice.facts.begin(), choice.facts.begin() + at, choice.facts.begin() + at + 1);
  choice.facts.front().preferred = best + 1;
  if (!choice.numbers.empty())
    std::rotate(choice.numbers.begin(), choice.numbers.begin() + at, choice.numbers.begin() + at + 1);
}

std::vector<const NodeTracker::Avoided*> NodeTracker::avoided_by(const api::Pod& pod) const {
  std::vector<const Avoided*> found;
  if (avoided_.empty()) return found;
  const MonoTime now = clock_.mono_now();
  for (const std::string& whose : {pod.metadata.uid, protocol::owner_key(pod)}) {
    const auto [begin, end] = avoided_.equal_range(whose);
    for (auto one = begin; one != end; ++one)
      if (one->second.until > now) found.push_back(&one->second);
  }
  return found;
}

void NodeTracker::drop_avoided(const api::Pod& pod, NodeChoice& choice) const {
  const MonoTime now = clock_.mono_now();
  std::string why;
  for (const Avoided* avoided : avoided_by(pod)) {
    if (choice.drop_nodes([&](std::string_view node) { return node == avoided->node; }) == 0) continue;
    why = "node " + avoided->node + " is avoided for a while: " + avoided->why;
    if (!choice.ask_again || avoided->until - now < *choice.ask_again) choice.ask_again = avoided->until - now;
  }
  if (choice.nodes.empty() && !why.empty()) choice.why_none = std::move(why);
}

verdict::NodeFindings NodeTracker::findings(const api::Pod& pod) {
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  if (!needs || last_.uid != pod.metadata.uid || !last_.decision) return {};
  return verdict::findings_of(cluster_, *needs, *last_.decision,
                              last_.pinned ? "claims of the pod have devices elsewhere" : "");
}

bool NodeTracker::matches(const api::NodeSelector& selector, const std::string& node) {
  const auto known = cluster_.find_node(node);
  return known && api::matches(selector, node, cluster_.rest(*known).node->metadata.labels);
}

std::vector<std::string> NodeTracker::all_nodes() {
  std::vector<std::string> names;
  for (const placement::NodeIndex node : cluster_.nodes()) names.push_back(cluster_.rest(node).name);
  return names;
}

placement::VolumePlan NodeTracker::plan(const api::Pod& pod, const std::string& node) {
  const Result<placement::PodNeeds> needs = placement::PodNeeds::of(pod);
  const auto index = cluster_.find_node(node);
  if (!needs || !index || !needs->reads_storage() || !known_[static_cast<size_t>(Facts::kVolumes)].known) return {};
  const std::vector<placement::NodeIndex> only{*index};
  placement::DecisionOptions options;
  options.keep_plans = true;
  options.only = &only;
  return placement::plan_on(*index, decide(*needs, options));
}

VolumeNeeds NodeTracker::volumes(const api::Pod& pod, const std::string& node) {
  VolumeNeeds needs;
  if (pod.volumes.empty()) return needs;
  const placement::VolumePlan planned = plan(pod, node);
  const auto key = [&](const std::string& name) { return pod.metadata.ns + "/" + name; };
  for (const std::string& name : planned.provision)
    if (auto claim = volumes_.claim(key(name))) needs.provision.push_back(std::move(claim));
  for (const auto& [name, volume_name] : planned.bind) {
    auto claim = volumes_.claim(key(name));
    auto volume = volumes_.volume(volume_name);
    if (claim && volume) needs.bind.push_back({std::move(claim), std::move(volume)});
  }
  return needs;
}

bool NodeTracker::waits_for_volumes(const api::Pod& pod) const {
  const std::vector<std::string> keys = protocol::volume_claim_keys_of(pod);
  return std::any_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return volumes_.waits_for_volume(key); });
}

bool NodeTracker::knows_namespaces() {
  if (known_[static_cast<size_t>(Facts::kNamespaces)].known) return true;
  if (needed_) needed_(Facts::kNamespaces);
  return false;
}

std::optional<api::StringMap> NodeTracker::namespace_annotations(const std::string& ns) {
  if (!knows_namespaces()) return std::nullopt;
  const auto found = namespace_annotations_.find(ns);
  return found == namespace_annotations_.end() ? api::StringMap() : found->second;
}

std::optional<std::string> NodeTracker::namespace_label(const std::string& ns, const std::string& key) {
  if (!knows_namespaces()) return std::nullopt;
  const api::StringMap& labels = cluster_.namespace_labels(ns);
  const auto found = labels.find(key);
  return found == labels.end() ? "" : found->second;
}

NodeChooser::JobPolicy NodeTracker::job_policy(const std::string& ns, const std::string& name, const std::string& uid) {
  const Known& known = known_[static_cast<size_t>(Facts::kJobs)];
  if (!known.known) {
    if (needed_) needed_(Facts::kJobs);
    return {"", known.why};
  }
  const auto job = jobs_.find(ns + "/" + name);
  if (!job || job->metadata.uid != uid) return {};
  std::optional<int64_t> left;
  if (!job->ignores_disruption)
    left = job->backoff_limit_per_index ? 0 : std::max<int64_t>(job->backoff_limit - job->failed, 0);
  return {job->pod_replacement_policy, "", left};
}

std::string NodeTracker::shape(const api::Pod& pod) const {
  // A pod beyond a bound is refused by itself, and its text would take long.
  if (!api::check_bounds(pod)) return "";
  return avoided_by(pod).empty() ? node_shape(pod) : "";
}

std::string_view NodeTracker::counts_on(const api::Pod& pod) const {
  const placement::PlacedPod* counted = cluster_.pod(pod.metadata.uid);
  return counted ? std::string_view(cluster_.rest(counted->node).name) : "";
}

bool NodeTracker::have_same_shape(const api::Pod& a, const api::Pod& b) const {
  return has_same_node_shape(a, b) && api::check_bounds(b) && avoided_by(b).empty();
}

}  // namespace dra::nodes
