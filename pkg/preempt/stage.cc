#include "pkg/preempt/stage.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace dra::preempt {
namespace {

// Calls f for what is in `from` and not in `without`; both are sorted.
template <class F>
void each_of_difference(const std::vector<uint32_t>& from, const std::vector<uint32_t>& without, F&& f) {
  size_t at = 0;
  for (const uint32_t one : from) {
    while (at < without.size() && without[at] < one) ++at;
    if (at == without.size() || without[at] != one) f(one);
  }
}

}  // namespace

std::string Stage::uid_of_promise(uint32_t promise, const std::string& name) {
  return "promise/" + std::to_string(promise) + "/" + name;
}

Stage::Lists Stage::Lists::turned(size_t items_known) const {
  Lists out;
  out.begins.assign(items_known + 1, 0);
  for (const uint32_t item : items) ++out.begins[item + 1];
  for (size_t i = 0; i < items_known; ++i) out.begins[i + 1] += out.begins[i];
  out.items.resize(items.size());
  std::vector<uint32_t> next(out.begins.begin(), out.begins.end() - 1);
  for (uint32_t list = 0; list + 1 < begins.size(); ++list)
    for (const uint32_t item : of(list)) out.items[next[item]++] = list;
  return out;
}

Stage::Stage(World& world)
    : world_(world),
      still_there_(world.claims.size(), 0),
      can_be_freed_(world.claims.size(), false),
      freed_(world.claims.size(), false) {
  Lists named;  // by pod
  named.begins.reserve(world.pods.size() + 1);
  named.begins.push_back(0);
  for (uint32_t pod = 0; pod < world.pods.size(); ++pod) {
    const std::vector<uint32_t>& claims = world.pods[pod].claims;
    named.items.insert(named.items.end(), claims.begin(), claims.end());
    named.begins.push_back(static_cast<uint32_t>(named.items.size()));
    if (world.pods[pod].terminates()) terminating_.push_back(pod);
  }
  const Lists naming = named.turned(world.claims.size());
  // Nearly all consumers name the claim.
  std::unordered_map<std::string_view, uint32_t> by_uid;
  const auto find = [&](uint32_t claim, const std::string& uid) {
    for (const uint32_t pod : naming.of(claim))
      if (world.pods[pod].object->metadata.uid == uid) return pod;
    if (by_uid.empty())
      for (uint32_t pod = 0; pod < world.pods.size(); ++pod) by_uid.emplace(world.pods[pod].object->metadata.uid, pod);
    const auto known = by_uid.find(uid);
    return known == by_uid.end() ? kNobody : known->second;
  };
  std::unordered_set<std::string> on_its_way;
  for (const Promise& promise : world.promises)
    on_its_way.insert(promise.victim_claims.begin(), promise.victim_claims.end());
  std::unordered_set<uint32_t> wanted;
  for (const uint32_t pod : world.pending) wanted.insert(world.pods[pod].claims.begin(), world.pods[pod].claims.end());
  consumers_.begins.reserve(world.claims.size() + 1);
  consumers_.begins.push_back(0);
  for (uint32_t number = 0; number < world.claims.size(); ++number) {
    const api::ResourceClaim& claim = *world.claims[number];
    const size_t before = consumers_.items.size();
    size_t unknown = 0;
    if (claim.status.allocation) {
      for (const api::ResourceClaimConsumerReference& consumer : claim.status.reserved_for) {
        const uint32_t pod = find(number, consumer.uid);
        if (pod == kNobody || !world.pods[pod].has_node()) {
          ++unknown;
        } else {
          consumers_.items.push_back(pod);
        }
      }
      const bool expected = !on_its_way.empty() && on_its_way.contains(claim.metadata.key());
      can_be_freed_[number] =
          !wanted.contains(number) && (expected || (unknown == 0 && !claim.status.reserved_for.empty()));
    }
    consumers_.begins.push_back(static_cast<uint32_t>(consumers_.items.size()));
    still_there_[number] = static_cast<uint32_t>(consumers_.items.size() - before);
    if (can_be_freed_[number] && still_there_[number] == 0) released_.push_back(number);
  }
  holds_ = consumers_.turned(world.pods.size());
}

Stage::~Stage() {
  arrange({});
}

bool Stage::frees(uint32_t claim, const std::vector<uint32_t>& gone) const {
  const std::span<const uint32_t> pods = consumers(claim);
  return can_be_freed_[claim] && std::all_of(pods.begin(), pods.end(), [&](uint32_t pod) {
           return world_.pods[pod].terminates() || std::binary_search(gone.begin(), gone.end(), pod);
         });
}

std::vector<bool> Stage::reaches_further() const {
  std::vector<bool> out(world_.pods.size(), false);
  const std::vector<inventory::PoolInfo> pools = world_.devices.pools();
  std::unordered_map<std::string_view, std::vector<const inventory::PoolInfo*>> by_name;
  by_name.reserve(pools.size());
  for (const inventory::PoolInfo& pool : pools) by_name[pool.name].push_back(&pool);
  const auto is_on = [&](const api::DeviceRequestAllocationResult& result, const std::string& node) {
    const auto known = by_name.find(result.pool);
    return known != by_name.end() && std::any_of(known->second.begin(), known->second.end(), [&](const auto* pool) {
             return pool->driver == result.driver && pool->node == node;
           });
  };
  for (uint32_t claim = 0; claim < world_.claims.size(); ++claim) {
    const std::span<const uint32_t> pods = consumers(claim);
    if (pods.empty()) continue;
    const std::string& node = world_.pods[pods.front()].object->node_name;
    bool local = !node.empty();
    for (const uint32_t pod : pods.subspan(1)) local = local && world_.pods[pod].object->node_name == node;
    const api::DeviceRequestAllocationResult* before = nullptr;  // most devices of a claim are in one pool
    for (const api::DeviceRequestAllocationResult& result : world_.claims[claim]->status.allocation->results) {
      if (before != nullptr && before->pool == result.pool && before->driver == result.driver) continue;
      local = local && is_on(result, node);
      before = &result;
    }
    for (const uint32_t pod : pods) out[pod] = out[pod] || !local;
  }
  return out;
}

void Stage::settle(uint32_t claim) {
  const bool free = can_be_freed_[claim] && still_there_[claim] == 0 && (!consumers(claim).empty() || left_);
  if (free == freed_[claim]) return;
  freed_[claim] = free;
  if (free) {
    world_.devices.remove_claim(world_.claims[claim]->metadata.uid);
  } else {
    world_.devices.apply_claim(*world_.claims[claim]);
  }
}

void Stage::leave(uint32_t pod) {
  world_.cluster.remove_pod(world_.pods[pod].object->metadata.uid);
  for (const uint32_t claim : held_by(pod)) {
    --still_there_[claim];
    settle(claim);
  }
}

void Stage::come_back(uint32_t pod) {
  const api::Pod& object = *world_.pods[pod].object;
  world_.cluster.set_pod(object, object.node_name, false);
  for (const uint32_t claim : held_by(pod)) {
    ++still_there_[claim];
    settle(claim);
  }
}

// Claims that are allocated, and pods that have a node, hold their own. Those that move hold both places until they
// left.
void Stage::keep(uint32_t number) {
  const Promise& promise = world_.promises[number];
  for (const auto& [name, allocation] : promise.allocations) {
    const auto claim = std::find_if(world_.claims.begin(), world_.claims.end(),
                                    [&name = name](const auto& one) { return one->metadata.key() == name; });
    if (claim != world_.claims.end() && (promise.moves || !(*claim)->status.allocation))
      world_.devices.assume(uid_of_promise(number, name), allocation);
  }
  for (const auto& [name, node] : promise.placements) {
    const auto pod = std::find_if(world_.pods.begin(), world_.pods.end(),
                                  [&name = name](const Pod& one) { return one.object->metadata.key() == name; });
    if (pod == world_.pods.end() || (!promise.moves && !pod->object->node_name.empty())) continue;
    api::Pod promised = *pod->object;
    promised.node_name.clear();
    promised.metadata.uid = uid_of_promise(number, name);
    world_.cluster.set_pod(promised, node, true);
  }
}

void Stage::drop(uint32_t number) {
  for (const auto& [name, allocation] : world_.promises[number].allocations)
    world_.devices.forget(uid_of_promise(number, name));
  for (const auto& [name, node] : world_.promises[number].placements)
    world_.cluster.remove_pod(uid_of_promise(number, name));
}

void Stage::arrange(const Scene& scene) {
  std::vector<uint32_t> gone = scene.gone;
  if (scene.left) {
    gone.insert(gone.end(), terminating_.begin(), terminating_.end());
    std::sort(gone.begin(), gone.end());
    gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  }
  if (gone == gone_ && scene.promises == promises_ && scene.left == left_) return;
  ++version_;
  left_ = scene.left;
  each_of_difference(promises_, scene.promises, [this](uint32_t promise) { drop(promise); });
  each_of_difference(gone, gone_, [this](uint32_t pod) { leave(pod); });
  each_of_difference(gone_, gone, [this](uint32_t pod) { come_back(pod); });
  each_of_difference(scene.promises, promises_, [this](uint32_t promise) { keep(promise); });
  for (const uint32_t claim : released_) settle(claim);
  gone_ = std::move(gone);
  promises_ = scene.promises;
}

}  // namespace dra::preempt
