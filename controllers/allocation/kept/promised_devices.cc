#include "controllers/allocation/kept/promised_devices.h"

#include <algorithm>

#include "controllers/allocation/causes.h"
#include "controllers/allocation/options.h"
#include "controllers/allocation/protocol.h"
#include "pkg/protocol/groups.h"

namespace dra::allocation {

using namespace protocol;
using namespace reconcile;

bool PromisedDevices::within_limits(const api::Pod& pod) const {
  if (promised_.contains(pod.metadata.uid)) return true;
  const auto of_namespace = static_cast<size_t>(std::count_if(
      promised_.begin(), promised_.end(), [&](const auto& entry) { return entry.second.ns == pod.metadata.ns; }));
  return promised_.size() < kMostPromises && 2 * of_namespace < kMostPromises;
}

// A record that names pods of others keeps nothing of nodes for these.
void PromisedDevices::tell(const View& view, const std::string& owner, const One& one,
                           const std::vector<Instance>& before, const std::vector<Promise::Place>& places,
                           nodes::NodeChooser& nodes) {
  std::vector<nodes::NodeChooser::PromisedPlace> told;
  std::map<std::string, const api::Pod*> waiting;  // by uid
  const auto add = [&](const Instance& instance) {
    const api::Pod* pod = view.pod(instance.key);
    if (pod == nullptr || pod->metadata.uid != instance.uid) return true;
    if (pod->node_name.empty()) waiting.emplace(instance.uid, pod);
    const std::optional<GroupRef> group = group_of(*pod);
    return group && group->key() == one.group;
  };
  for (const Instance& instance : before) add(instance);
  for (const Promise::Place& place : places)
    if (add(place.pod)) told.push_back({place.pod.uid, place.node});
  std::vector<const api::Pod*> known;
  for (const auto& [uid, pod] : waiting) known.push_back(pod);
  nodes.set_places(owner, told, known);
}

// ---- moves

// Those that are to move, and the waiting pods that were made in the place of others.
void PromisedDevices::set_moves(const View& view, const std::string& uid, One& one, const Promise& promise,
                                nodes::NodeChooser& nodes) {
  std::set<std::string> owners;
  for (const Promise::Move& planned : promise.moves) {
    if (planned.settled()) continue;
    Move& move = one.moves.emplace_back();
    move = {planned.pod, owner_key(planned), planned.node, {}, has_left(planned, view.pod(planned.pod.key)), ""};
    for (const std::string& claim : planned.claims) {
      const auto given = promise.allocations.find(claim);
      if (given == promise.allocations.end()) continue;
      const auto& results = given->second.results;
      move.devices.results.insert(move.devices.results.end(), results.begin(), results.end());
    }
    moving_[planned.pod.uid].insert(uid);
    next_places_[move.owner].insert(uid);
    owners.insert(move.owner);
  }
  // After a restart they may be known before the record is.
  for (const auto& pod : view.all_pods())
    if (pod->node_name.empty() && owners.contains(owner_key(*pod))) next_pod_changed(*pod, false, nodes);
}

void PromisedDevices::drop_moves(const std::string& uid, const std::vector<Move>& moves, nodes::NodeChooser& nodes) {
  const auto drop = [&uid](auto& index, const auto& key) {
    const auto entry = index.find(key);
    if (entry != index.end() && entry->second.erase(uid) > 0 && entry->second.empty()) index.erase(entry);
  };
  for (const Move& move : moves) {
    drop(moving_, move.pod.uid);
    drop(next_places_, move.owner);
  }
  if (!moves.empty()) nodes.set_places(uid, {}, {});
}

// What is satisfied when these places are not kept any more: also by what is free of the nodes.
void PromisedDevices::add_causes(const std::vector<Move>& moves, std::set<Cause>& causes) {
  causes.emplace(kCapacityCause);
  for (const Move& move : moves) add_driver_causes(move.devices, causes);
}

void PromisedDevices::moved_pod_changed(const std::string& uid, bool left) {
  const auto records = moving_.find(uid);
  if (records == moving_.end()) return;
  for (const std::string& record : records->second)
    for (Move& move : promised_.at(record).moves)
      if (move.pod.uid == uid) move.left = left;
}

// A next pod that waits counts on the node of a place that no other has. One that is gone leaves it to another.
void PromisedDevices::next_pod_changed(const api::Pod& pod, bool gone, nodes::NodeChooser& nodes) {
  const auto records = next_places_.find(owner_key(pod));
  if (records == next_places_.end() || moving_.contains(pod.metadata.uid)) return;
  for (const std::string& record : records->second) {
    std::vector<Move>& moves = promised_.at(record).moves;
    const auto find = [&](const std::string& next) {
      return std::find_if(moves.begin(), moves.end(),
                          [&](const Move& move) { return move.owner == records->first && move.next == next; });
    };
    if (record == pod.metadata.uid) continue;  // others move for it
    const auto has = find(pod.metadata.uid);
    if (gone ? has == moves.end() : has != moves.end()) continue;
    const auto place = gone ? has : find("");
    if (place == moves.end()) continue;
    place->next = gone ? "" : pod.metadata.uid;
    std::vector<nodes::NodeChooser::PromisedPlace> told;
    for (const Move& move : moves)
      if (!move.next.empty()) told.push_back({move.next, move.node});
    nodes.set_places(record, told, gone ? std::vector<const api::Pod*>{} : std::vector<const api::Pod*>{&pod});
    return;
  }
}

// ---- all promises

std::set<Cause> PromisedDevices::pod_changed(const View& view, const api::Pod* before, const api::Pod* after,
                                             const Options& options, nodes::NodeChooser& nodes) {
  if (!options.promises) return {};
  const api::Pod& pod = after != nullptr ? *after : *before;
  const std::string& uid = pod.metadata.uid;
  if (before != nullptr && before->metadata.uid != uid) {  // made anew under the same name
    moved_pod_changed(before->metadata.uid, true);
    next_pod_changed(*before, true, nodes);
  }
  moved_pod_changed(uid, after == nullptr || after->metadata.deleting() || after->done());
  if (after == nullptr || after->node_name.empty()) next_pod_changed(pod, after == nullptr, nodes);
  const auto known = promised_.find(uid);
  const bool has = after != nullptr && has_promise(*after) && !after->done() && is_ours_to_bind(*after, options);
  if (!has && known == promised_.end()) return {};
  const std::optional<Result<Promise>> promise = has ? promise_of(*after) : std::nullopt;
  std::set<Cause> causes;
  const bool counts = promise && *promise && (after->node_name.empty() || (*promise)->outlasts_binding());
  if (counts && within_limits(*after)) {
    One& one = promised_[uid];
    const std::vector<Instance> others = std::move(one.pods);
    const std::vector<Move> kept = std::move(one.moves);
    drop_moves(uid, kept, nodes);
    one = {after->metadata.ns, "", after->priority, {}, {}, {}};
    if ((*promise)->of_group()) {
      const std::optional<GroupRef> group = group_of(*after);
      one.group = group ? group->key() : "";
      for (const Promise::Place& place : (*promise)->places) one.pods.push_back(place.pod);
    }
    if (!one.pods.empty() || !others.empty()) tell(view, uid, one, others, (*promise)->places, nodes);
    std::set<std::string> moved;
    for (const Promise::Move& move : (*promise)->moves) moved.insert(move.claims.begin(), move.claims.end());
    for (const auto& [claim, allocation] : (*promise)->allocations)
      if (!moved.contains(claim) && ((*promise)->of_group() || after->node_name.empty()))
        one.devices.results.insert(one.devices.results.end(), allocation.results.begin(), allocation.results.end());
    if ((*promise)->has_moves()) set_moves(view, uid, one, **promise, nodes);
    if (one.moves.size() < kept.size()) add_causes(kept, causes);
    return causes;
  }
  if (known == promised_.end()) return causes;
  add_driver_causes(known->second.devices, causes);
  add_causes(known->second.moves, causes);
  if (!known->second.pods.empty()) tell(view, uid, known->second, known->second.pods, {}, nodes);
  drop_moves(uid, known->second.moves, nodes);
  promised_.erase(uid);
  return causes;
}

api::AllocationResult PromisedDevices::promised_from(int64_t priority, const api::Pod& pod,
                                                     const inventory::Inventory& inventory) const {
  api::AllocationResult all;
  const std::optional<GroupRef> group = group_of(pod);
  const std::string own = group ? group->key() : "";
  const std::string controller = owner_key(pod);
  for (const auto& [owner, one] : promised_) {
    if (priority > one.priority) continue;
    const bool is_own = owner == pod.metadata.uid || (!one.group.empty() && one.group == own);
    if (!is_own) add_unheld(one.devices, inventory, all);
    for (const Move& move : one.moves)
      if (is_own ? move.left : move.owner != controller) add_unheld(move.devices, inventory, all);
  }
  return all;
}

}  // namespace dra::allocation
