#include "cmd/dra-conformance/preempt_judge.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "pkg/api/selectors.h"
#include "pkg/preempt/candidates.h"
#include "pkg/preempt/fit.h"
#include "pkg/preempt/promises.h"
#include "pkg/preempt/stage.h"
#include "test/oracle/amount.h"
#include "test/oracle/checker.h"

namespace dra::conformance {
namespace {

using preempt::Answer;
using preempt::Verdict;

bool is_close(double a, double b) {
  return std::fabs(a - b) <= 1e-6 * std::max(1.0, std::fabs(b));
}

class Judge {
 public:
  Judge(PreemptCase& one, const Answer& answer) : one_(one), world_(*one.world), answer_(answer) {}

  std::string judge() {
    const std::string verdict = verdict_name(answer_.verdict, one_.moves);
    if (verdict != one_.expect.verdict) return "verdict " + verdict + ", expected " + one_.expect.verdict;
    if (std::string why = wrong_set(); !why.empty()) return why;
    if (answer_.verdict == Verdict::kNever)
      return answer_.placements.empty() && answer_.pods.empty() ? "" : "never, but with pods or places";
    if (one_.expect.fixed) return answer_.placements == one_.expect.placements ? "" : "not the promised places";
    if (answer_.verdict != Verdict::kFits) return wrong_places(true);
    const std::string now = wrong_places(false);
    return now.empty() ? wrong_places(true) : now;
  }

 private:
  std::string wrong_set() {
    if (answer_.verdict != Verdict::kEvict) return "";
    const preempt::Kind kind = one_.moves ? preempt::Kind::kMoves : preempt::Kind::kVictims;
    bool anybody = one_.moves;
    if (!anybody)
      anybody = std::all_of(world_.pending.begin(), world_.pending.end(),
                            [this](uint32_t pod) { return world_.pods[pod].preempts; });
    const preempt::Candidates candidates(world_, kind, preempt::priority_of(world_, world_.pending), anybody);
    if (!candidates.allowed(answer_.pods)) return "a pod that may not go, or a part of a group";
    const preempt::Harm harm = one_.moves ? harm_of_moves(world_, answer_.pods) : harm_of_victims(world_, answer_.pods);
    if (one_.moves && harm.violations > 0) return "a broken budget";
    const std::vector<double> key =
        one_.moves ? std::vector<double>{double(harm.number), harm.gib}
                   : std::vector<double>{double(harm.violations), double(harm.highest), double(harm.sum),
                                         double(harm.number), double(harm.start)};
    const size_t compared = one_.moves ? 2 : 4;
    for (size_t i = 0; i < compared; ++i)
      if (i < one_.expect.key.size() && !is_close(key[i], one_.expect.key[i]))
        return "field " + std::to_string(i) + " of the rank is " + std::to_string(key[i]) + ", expected " +
               std::to_string(one_.expect.key[i]);
    return one_.moves ? "" : wrong_start(harm);
  }

  // Of the start only the order is meant: the pods that are known to be a best set give the value.
  std::string wrong_start(const preempt::Harm& harm) const {
    std::vector<uint32_t> best;
    for (uint32_t pod = 0; pod < world_.pods.size(); ++pod)
      if (std::find(one_.expect.pods.begin(), one_.expect.pods.end(), world_.pods[pod].object->metadata.key()) !=
          one_.expect.pods.end())
        best.push_back(pod);
    return harm_of_victims(world_, best).start == harm.start ? "" : "an older pod than necessary goes";
  }

  // `later`: terminating pods have left, and promises are kept.
  std::string wrong_places(bool later) {
    preempt::Stage stage(world_);
    preempt::Fit fit(world_, stage, 200'000);
    std::vector<uint32_t> gone = answer_.pods;
    for (const uint32_t pod : stage.terminating())
      if (later) gone.push_back(pod);
    std::sort(gone.begin(), gone.end());
    oracle::World held = one_.objects;
    held.claims.clear();
    held.stale_generations = false;
    for (uint32_t claim = 0; claim < world_.claims.size(); ++claim) {
      const bool free = stage.frees(claim, gone) && (later || !stage.consumers(claim).empty());
      if (world_.claims[claim]->status.allocation && !free) hold(held, *world_.claims[claim]->status.allocation);
    }
    std::map<std::string, std::vector<const api::Pod*>> pods_on;
    for (uint32_t pod = 0; pod < world_.pods.size(); ++pod)
      if (world_.pods[pod].has_node() && !std::binary_search(gone.begin(), gone.end(), pod))
        pods_on[world_.pods[pod].object->node_name].push_back(world_.pods[pod].object.get());
    if (later) keep_promises(held, pods_on, preempt::judge_promises(world_, stage, fit));
    return wrong_in(held, pods_on, gone, stage, fit.needed());
  }

  static void hold(oracle::World& held, const api::AllocationResult& allocation) {
    for (const api::DeviceRequestAllocationResult& result : allocation.results) {
      const oracle::DeviceName name{result.driver, result.pool, result.device};
      if (!result.share_id) {
        held.allocated.insert(name);
        continue;
      }
      held.allocated_shares.insert({name, std::to_string(held.allocated_shares.size())});
      for (const auto& [capacity, amount] : result.consumed_capacity) {
        const oracle::Amount before = oracle::parse_amount(held.consumed[name][capacity]).value_or(0);
        const int64_t sum = oracle::whole(before + oracle::parse_amount(amount).value_or(0));
        held.consumed[name][capacity] = std::to_string(sum);
      }
    }
  }

  void keep_promises(oracle::World& held, std::map<std::string, std::vector<const api::Pod*>>& pods_on,
                     const std::vector<preempt::Judged>& judged) {
    const int64_t priority = preempt::priority_of(world_, world_.pending);
    for (size_t i = 0; i < judged.size(); ++i) {
      const bool own = std::any_of(judged[i].waiting.begin(), judged[i].waiting.end(), [this](uint32_t pod) {
        return std::find(world_.pending.begin(), world_.pending.end(), pod) != world_.pending.end();
      });
      if (!judged[i].stands || own || (!one_.moves && judged[i].priority < priority)) continue;
      for (const auto& claim : world_.claims) {
        const auto promised = world_.promises[i].allocations.find(claim->metadata.key());
        if (promised != world_.promises[i].allocations.end() && !claim->status.allocation) hold(held, promised->second);
      }
      for (const uint32_t pod : judged[i].waiting)
        pods_on[world_.promises[i].placements.at(world_.pods[pod].object->metadata.key())].push_back(
            world_.pods[pod].object.get());
    }
  }

  std::string wrong_in(oracle::World& held, std::map<std::string, std::vector<const api::Pod*>>& pods_on,
                       const std::vector<uint32_t>& gone, const preempt::Stage& stage, size_t needed) {
    size_t pending = 0;
    std::set<std::string> given;
    for (const auto& [name, node] : answer_.placements) {
      const auto pod = std::find_if(world_.pods.begin(), world_.pods.end(), [&name = name](const preempt::Pod& other) {
        return other.object->metadata.key() == name;
      });
      if (pod == world_.pods.end()) return "a place for an unknown pod " + name;
      const auto number = static_cast<uint32_t>(pod - world_.pods.begin());
      pending += std::find(world_.pending.begin(), world_.pending.end(), number) != world_.pending.end();
      pods_on[node].push_back(pod->object.get());
      if (std::string why = wrong_claims(held, *pod, node, gone, stage, given); !why.empty()) return why;
      if (std::string why = wrong_node(*pod->object, node, pods_on[node]); !why.empty()) return why;
    }
    if (pending < needed) return "too few of the pending pods have a place";
    if (one_.moves)
      for (const uint32_t pod : answer_.pods)
        if (!answer_.placements.contains(world_.pods[pod].object->metadata.key())) return "a moved pod has no place";
    return given.size() == answer_.allocations.size() ? "" : "an allocation that nobody needs";
  }

  std::string wrong_claims(oracle::World& held, const preempt::Pod& pod, const std::string& node,
                           const std::vector<uint32_t>& gone, const preempt::Stage& stage,
                           std::set<std::string>& given) {
    const std::string name = pod.object->metadata.key();
    for (const uint32_t number : pod.claims) {
      const api::ResourceClaim& claim = *world_.claims[number];
      const std::string key = claim.metadata.key();
      if (claim.status.allocation && !stage.frees(number, gone)) {
        if (!usable(*claim.status.allocation, node)) return name + " on " + node + " cannot use " + key;
        continue;
      }
      const auto allocation = answer_.allocations.find(key);
      if (allocation == answer_.allocations.end()) return key + " is not allocated";
      if (!given.insert(key).second) {
        if (!usable(allocation->second, node)) return name + " on " + node + " cannot use " + key;
        continue;
      }
      held.claims = {claim};
      held.claims.front().status.allocation.reset();
      const std::string why = oracle::broken_rule(held, node, {allocation->second});
      if (!why.empty()) return key + ": " + why;
      hold(held, allocation->second);
    }
    return "";
  }

  bool usable(const api::AllocationResult& allocation, const std::string& node) const {
    if (!allocation.node_selector) return true;
    for (const api::Node& one : one_.objects.nodes)
      if (one.metadata.name == node) return api::matches(*allocation.node_selector, node, one.metadata.labels);
    return false;
  }

  std::string wrong_node(const api::Pod& pod, const std::string& name, const std::vector<const api::Pod*>& pods) const {
    const auto node = std::find_if(one_.objects.nodes.begin(), one_.objects.nodes.end(),
                                   [&](const api::Node& other) { return other.metadata.name == name; });
    const std::string what = pod.metadata.key() + " on " + name + ": ";
    if (node == one_.objects.nodes.end()) return what + "no such node";
    if (node->unschedulable) return what + "it is unschedulable";
    if (!api::has_labels(pod.node_selector, node->metadata.labels)) return what + "not in the pod's nodeSelector";
    for (const char* resource : {"cpu", "memory"}) {
      oracle::Amount sum = 0;
      for (const api::Pod* other : pods)
        for (const api::Container& container : other->containers)
          if (const auto asked = container.requests.find(resource); asked != container.requests.end())
            sum += oracle::parse_amount(asked->second).value_or(0);
      const auto there = node->allocatable.find(resource);
      if (there != node->allocatable.end() && sum > oracle::parse_amount(there->second).value_or(0))
        return what + "not enough " + resource;
    }
    const auto limit = node->allocatable.find("pods");
    const bool full = limit != node->allocatable.end() && pods.size() > std::stoul(limit->second);
    return full ? what + "too many pods" : "";
  }

  PreemptCase& one_;
  preempt::World& world_;
  const Answer& answer_;
};

}  // namespace

std::string wrong_with(PreemptCase& one, const Answer& answer) {
  return Judge(one, answer).judge();
}

std::string verdict_name(Verdict verdict, bool moves) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kWait:
      return "wait";
    case Verdict::kEvict:
      return moves ? "move" : "preempt";
    case Verdict::kNever:
      return "never";
    case Verdict::kUndecided:
      break;
  }
  return "undecided";
}

}  // namespace dra::conformance
