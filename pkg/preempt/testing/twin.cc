#include "pkg/preempt/testing/twin.h"

#include <algorithm>
#include <functional>
#include <set>

namespace dra::preempt::testing {
namespace {

bool runs(const ModelPod& pod) {
  return pod.node >= 0 && !pod.terminates;
}

template <class T>
bool has(const std::vector<T>& list, const T& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

// ---- who may go

bool may_go(const Model& m, int number, int priority, Kind kind) {
  const ModelPod& pod = m.pods[number];
  if (!runs(pod) || pod.mirror || pod.foreign) return false;
  if (kind == Kind::kVictims) return pod.priority < priority;
  if (pod.priority > priority || !pod.owned || pod.kept) return false;
  return std::count_if(m.budgets.begin(), m.budgets.end(), [&](const ModelBudget& b) { return b.app == pod.app; }) < 2;
}

bool allowed(const Model& m, const std::vector<int>& set, int priority, bool anybody, Kind kind) {
  for (const int pod : set)
    if (!anybody || !may_go(m, pod, priority, kind)) return false;
  for (size_t g = 0; g < m.groups.size(); ++g) {
    int running = 0, chosen = 0;
    for (size_t p = 0; p < m.pods.size(); ++p) {
      if (m.pods[p].group != static_cast<int>(g) || !runs(m.pods[p])) continue;
      ++running;
      chosen += has(set, static_cast<int>(p));
    }
    if (chosen == 0 || chosen == running) continue;
    if (m.groups[g].whole || running - chosen < m.groups[g].min_count) return false;
  }
  return true;
}

int lowest_priority(const Model& m, const std::vector<int>& pods) {
  int lowest = INT32_MAX;
  for (const int pod : pods) lowest = std::min(lowest, m.pods[pod].priority);
  return lowest;
}

int needed(const Model& m, const std::vector<int>& waiting) {
  const int group = m.pods[waiting.front()].group;
  if (group < 0) return static_cast<int>(waiting.size());
  int running = 0;
  for (const ModelPod& pod : m.pods) running += pod.group == group && runs(pod);
  return std::clamp(m.groups[group].min_count - running, 1, static_cast<int>(waiting.size()));
}

// ---- what is taken

struct Taken {
  std::vector<int> cpu;                    // by node
  std::set<int> exclusive;                 // devices
  std::map<int, int> shared;               // device -> GiB
  std::map<int, std::vector<int>> slices;  // card -> how many partitions use each slice
};

void take(const Model& m, const ModelClaim& claim, const std::vector<int>& devices, Taken& taken) {
  for (const int device : devices) {
    if (m.devices[device].kind == DeviceKind::kShared) {
      taken.shared[device] += claim.size;
      continue;
    }
    if (!taken.exclusive.insert(device).second || m.devices[device].kind != DeviceKind::kPartition) continue;
    std::vector<int>& slices = taken.slices[m.devices[device].card];
    slices.resize(4);
    for (int s = 0; s < 4; ++s) slices[s] += (m.devices[device].slices >> s) & 1;
  }
}

bool is_free(const Model& m, const ModelClaim& claim, int device, const Taken& taken) {
  const ModelDevice& d = m.devices[device];
  if (d.kind == DeviceKind::kShared) {
    const auto used = taken.shared.find(device);
    return (used == taken.shared.end() ? 0 : used->second) + claim.size <= d.gib;
  }
  if (taken.exclusive.contains(device)) return false;
  if (d.kind != DeviceKind::kPartition) return true;
  const auto slices = taken.slices.find(d.card);
  if (slices == taken.slices.end()) return true;
  for (int s = 0; s < 4; ++s)
    if (((d.slices >> s) & 1) && slices->second[s] > 0) return false;
  return true;
}

bool freed(const Model& m, int number, const std::vector<int>& gone) {
  const ModelClaim& claim = m.claims[number];
  if (claim.devices.empty() || claim.pods.empty() || claim.stranger) return false;
  for (const int pod : m.pending)
    if (has(m.pods[pod].claims, number)) return false;
  return std::all_of(claim.pods.begin(), claim.pods.end(), [&](int pod) { return has(gone, pod); });
}

// `gone` includes terminating pods, where they count as gone.
Taken taken_in(const Model& m, const std::vector<int>& gone, const std::vector<int>& promises) {
  Taken taken;
  taken.cpu.resize(m.cpu.size());
  for (size_t p = 0; p < m.pods.size(); ++p)
    if (m.pods[p].node >= 0 && !has(gone, static_cast<int>(p))) taken.cpu[m.pods[p].node] += m.pods[p].cpu;
  for (size_t c = 0; c < m.claims.size(); ++c)
    if (!m.claims[c].devices.empty() && !freed(m, static_cast<int>(c), gone))
      take(m, m.claims[c], m.claims[c].devices, taken);
  for (const int promise : promises) {
    for (const auto& [pod, node] : m.promises[promise].places)
      if (m.pods[pod].node < 0) taken.cpu[node] += m.pods[pod].cpu;
    for (const auto& [claim, devices] : m.promises[promise].allocations)
      if (m.claims[claim].devices.empty()) take(m, m.claims[claim], devices, taken);
  }
  return taken;
}

bool serves(const Model& m, const ModelClaim& claim, int device) {
  const ModelDevice& d = m.devices[device];
  if (d.kind != claim.kind) return false;
  return d.kind != DeviceKind::kPartition || __builtin_popcount(d.slices) == claim.size;
}

bool can_use(const Model& m, int device, int node) {
  return m.devices[device].node < 0 || m.devices[device].node == node;
}

// As in kube-scheduler, a pod that requests no CPU fits on a node of which more is promised than it has.
bool takes(const Model& m, const ModelPod& pod, int node, const Taken& taken) {
  const bool cpu = pod.cpu == 0 || taken.cpu[node] + pod.cpu <= m.cpu[node];
  return cpu && !m.cordoned[node] && (pod.only < 0 || pod.only == node);
}

// ---- whether pods fit: every order of nothing but the list, every node, every set of devices

class Placing {
 public:
  // `gone`: whose claims are given out anew.
  Placing(const Model& m, std::vector<int> optional, int wanted, std::vector<int> all, std::vector<int> gone)
      : m_(m), optional_(std::move(optional)), wanted_(wanted), all_(std::move(all)), gone_(std::move(gone)) {}

  bool in(std::vector<Taken> states) {
    decided_.clear();
    return next(0, 0, states);
  }

 private:
  bool next(size_t at, int placed, const std::vector<Taken>& states) {
    if (at < optional_.size()) {
      if (placed < wanted_ && each_node(optional_[at], at, placed, states)) return true;
      return next(at + 1, placed, states);
    }
    if (placed < wanted_) return false;
    if (at - optional_.size() == all_.size()) return true;
    return each_node(all_[at - optional_.size()], at, placed, states);
  }

  bool each_node(int pod, size_t at, int placed, const std::vector<Taken>& states) {
    for (int node = 0; node < static_cast<int>(m_.cpu.size()); ++node) {
      if (!std::all_of(states.begin(), states.end(), [&](const Taken& t) { return takes(m_, m_.pods[pod], node, t); }))
        continue;
      std::vector<Taken> with = states;
      for (Taken& taken : with) taken.cpu[node] += m_.pods[pod].cpu;
      if (each_claim(pod, 0, node, with, [&](const std::vector<Taken>& after) {
            return next(at + 1, placed + (at < optional_.size()), after);
          }))
        return true;
    }
    return false;
  }

  using Then = std::function<bool(const std::vector<Taken>&)>;

  bool each_claim(int pod, size_t i, int node, const std::vector<Taken>& states, const Then& then) {
    if (i == m_.pods[pod].claims.size()) return then(states);
    const int number = m_.pods[pod].claims[i];
    const ModelClaim& claim = m_.claims[number];
    const bool fixed = !claim.devices.empty() && !freed(m_, number, gone_);
    const auto decided = decided_.find(number);
    if (fixed || decided != decided_.end()) {
      for (const int device : fixed ? claim.devices : decided->second)
        if (!can_use(m_, device, node)) return false;
      return each_claim(pod, i + 1, node, states, then);
    }
    std::vector<int> chosen;
    return each_device(number, claim.kind == DeviceKind::kGpu ? claim.count : 1, 0, node, states, chosen,
                       [&](const std::vector<Taken>& after) { return each_claim(pod, i + 1, node, after, then); });
  }

  bool each_device(int number, int left, int from, int node, const std::vector<Taken>& states, std::vector<int>& chosen,
                   const Then& then) {
    if (left == 0) {
      decided_[number] = chosen;
      if (then(states)) return true;
      decided_.erase(number);
      return false;
    }
    const ModelClaim& claim = m_.claims[number];
    for (int device = from; device < static_cast<int>(m_.devices.size()); ++device) {
      if (!serves(m_, claim, device) || !can_use(m_, device, node)) continue;
      if (!std::all_of(states.begin(), states.end(), [&](const Taken& t) { return is_free(m_, claim, device, t); }))
        continue;
      std::vector<Taken> after = states;
      for (Taken& taken : after) take(m_, claim, {device}, taken);
      chosen.push_back(device);
      if (each_device(number, left - 1, device + 1, node, after, chosen, then)) return true;
      chosen.pop_back();
    }
    return false;
  }

  const Model& m_;
  const std::vector<int> optional_;
  const int wanted_;
  const std::vector<int> all_;
  const std::vector<int> gone_;
  std::map<int, std::vector<int>> decided_;
};

// ---- promises

struct TwinJudged {
  bool stands = false;
  int priority = INT32_MIN;
  std::vector<int> waiting, running_victims;
  bool begun = false, rest_of_group = false;
};

class Twin {
 public:
  explicit Twin(const Model& m) : m_(m), wanted_(needed(m, m.pending)) {
    for (size_t p = 0; p < m.pods.size(); ++p)
      if (m.pods[p].terminates) terminating_.push_back(static_cast<int>(p));
  }

  TwinAnswer answer() {
    judge_all();
    const int priority = lowest_priority(m_, m_.pending);
    int own = -1;
    for (size_t i = 0; i < judged_.size(); ++i) {
      if (!judged_[i].stands) continue;
      const bool is_own = std::any_of(judged_[i].waiting.begin(), judged_[i].waiting.end(),
                                      [this](int pod) { return has(m_.pending, pod); });
      if (is_own) {
        if (own < 0) own = static_cast<int>(i);
      } else if (m_.kind == Kind::kMoves || judged_[i].priority >= priority) {
        binding_.push_back(static_cast<int>(i));
      }
    }
    if (Placing(m_, m_.pending, wanted_, {}, {}).in({taken_in(m_, {}, {}), taken_in(m_, terminating_, binding_)}))
      return {Verdict::kFits, {}, {}, false};
    if (own >= 0 && m_.kind == Kind::kVictims) return own_answer(judged_[own]);
    return choose();
  }

  std::vector<int> binding() {
    answer();
    return binding_;
  }

 private:
  bool fits_without(const std::vector<int>& set) {
    std::vector<int> gone = terminating_;
    gone.insert(gone.end(), set.begin(), set.end());
    const std::vector<int> moved = m_.kind == Kind::kMoves ? set : std::vector<int>{};
    return Placing(m_, m_.pending, wanted_, moved, gone).in({taken_in(m_, gone, binding_)});
  }

  TwinAnswer choose() {
    if (fits_without({})) return {Verdict::kWait, {}, {}, false};
    const int priority = lowest_priority(m_, m_.pending);
    const bool anybody = m_.kind == Kind::kMoves || std::none_of(m_.pending.begin(), m_.pending.end(), [this](int pod) {
                           return m_.pods[pod].never_preempts;
                         });
    std::vector<int> candidates;
    for (size_t p = 0; p < m_.pods.size(); ++p)
      if (may_go(m_, static_cast<int>(p), priority, m_.kind)) candidates.push_back(static_cast<int>(p));
    TwinAnswer best;
    for (unsigned bits = 1; bits < (1u << candidates.size()); ++bits) {
      std::vector<int> set;
      for (size_t i = 0; i < candidates.size(); ++i)
        if ((bits >> i) & 1) set.push_back(candidates[i]);
      if (!allowed(m_, set, priority, anybody, m_.kind)) continue;
      const std::vector<double> rank = rank_of(m_, set);
      if (m_.kind == Kind::kMoves &&
          (rank[0] > 0 || (m_.max_moves >= 0 && static_cast<int>(set.size()) > m_.max_moves)))
        continue;
      if (best.verdict == Verdict::kEvict && rank >= best.rank) continue;
      if (fits_without(set)) best = {Verdict::kEvict, set, rank, false};
    }
    return best;
  }

  TwinAnswer own_answer(const TwinJudged& own) {
    const std::vector<double> rank = rank_of(m_, own.running_victims);
    if (!own.begun) {
      const TwinAnswer anew = choose();
      if (anew.verdict == Verdict::kWait || (anew.verdict == Verdict::kEvict && anew.rank < rank)) return anew;
    }
    if (!own.running_victims.empty() && !own.rest_of_group && fits_without({})) return {Verdict::kWait, {}, {}, false};
    return {own.running_victims.empty() ? Verdict::kWait : Verdict::kEvict, own.running_victims, rank, true};
  }

  void judge_all() {
    judged_.assign(m_.promises.size(), {});
    binding_.clear();
    std::vector<int> order;
    for (size_t i = 0; i < m_.promises.size(); ++i) {
      judge_alone(static_cast<int>(i));
      order.push_back(static_cast<int>(i));
    }
    std::stable_sort(order.begin(), order.end(),
                     [this](int a, int b) { return judged_[a].priority > judged_[b].priority; });
    std::vector<int> standing, gone = terminating_;
    for (const int i : order) {
      if (!judged_[i].stands) continue;
      std::vector<int> with = gone;
      with.insert(with.end(), judged_[i].running_victims.begin(), judged_[i].running_victims.end());
      judged_[i].stands = is_possible(i, taken_in(m_, with, standing));
      if (!judged_[i].stands) continue;
      standing.push_back(i);
      gone = with;
    }
  }

  void judge_alone(int i) {
    const ModelPromise& promise = m_.promises[i];
    TwinJudged& judged = judged_[i];
    std::vector<int> owners;
    for (const auto& [pod, node] : promise.places) {
      owners.push_back(pod);
      if (m_.pods[pod].node < 0) judged.waiting.push_back(pod);
    }
    judged.priority = lowest_priority(m_, owners);
    std::vector<int> groups_begun;
    for (const int victim : promise.victims) {
      if (victim >= 0 && runs(m_.pods[victim])) {
        judged.running_victims.push_back(victim);
        continue;
      }
      judged.begun = true;
      if (victim >= 0 && m_.pods[victim].group >= 0) groups_begun.push_back(m_.pods[victim].group);
    }
    judged.begun = judged.begun || judged.running_victims.empty();
    for (const int victim : judged.running_victims) {
      const int group = m_.pods[victim].group;
      if (group < 0 || !has(groups_begun, group)) continue;
      int running = 0;
      for (const ModelPod& pod : m_.pods) running += pod.group == group && runs(pod);
      judged.rest_of_group = judged.rest_of_group || m_.groups[group].whole || running < m_.groups[group].min_count;
    }
    if (judged.waiting.empty()) return;
    const int group = m_.pods[judged.waiting.front()].group;
    std::vector<int> all = judged.waiting;
    if (group >= 0) {
      all.clear();
      for (size_t p = 0; p < m_.pods.size(); ++p)
        if (m_.pods[p].group == group && m_.pods[p].node < 0) all.push_back(static_cast<int>(p));
    }
    if (static_cast<int>(judged.waiting.size()) < needed(m_, all)) return;
    bool anybody = true;
    for (const int pod : judged.waiting) {
      anybody = anybody && !m_.pods[pod].never_preempts;
      for (const int claim : m_.pods[pod].claims)
        if (m_.claims[claim].devices.empty() && !promise.allocations.contains(claim)) return;
    }
    judged.stands = allowed(m_, judged.running_victims, judged.priority, anybody, Kind::kVictims);
  }

  bool is_possible(int i, Taken taken) {
    const ModelPromise& promise = m_.promises[i];
    for (const int pod : judged_[i].waiting) {
      const int node = promise.places.at(pod);
      if (!takes(m_, m_.pods[pod], node, taken)) return false;
      taken.cpu[node] += m_.pods[pod].cpu;
      for (const int claim : m_.pods[pod].claims) {
        const bool has_own = !m_.claims[claim].devices.empty();
        for (const int device : has_own ? m_.claims[claim].devices : promise.allocations.at(claim))
          if (!can_use(m_, device, node)) return false;
      }
    }
    for (const auto& [claim, devices] : promise.allocations) {
      if (!m_.claims[claim].devices.empty()) continue;
      for (const int device : devices) {
        if (!is_free(m_, m_.claims[claim], device, taken)) return false;
        take(m_, m_.claims[claim], {device}, taken);
      }
    }
    return true;
  }

  const Model& m_;
  const int wanted_;
  std::vector<int> terminating_;
  std::vector<TwinJudged> judged_;
  std::vector<int> binding_;
};

}  // namespace

TwinAnswer slow_answer(const Model& model) {
  return Twin(model).answer();
}

std::vector<double> rank_of(const Model& m, const std::vector<int>& pods) {
  double violations = 0, highest = -1e18, sum = 0, gib = 0, earliest = 0;
  for (const ModelBudget& budget : m.budgets) {
    const auto counted = std::count_if(
        pods.begin(), pods.end(), [&](int pod) { return m.pods[pod].app == budget.app && !m.pods[pod].not_ready; });
    violations += std::max(0.0, static_cast<double>(counted) - budget.allowed);
  }
  for (const int number : pods) {
    const ModelPod& pod = m.pods[number];
    sum += pod.priority + 2147483648.0;
    if (pod.priority > highest || (pod.priority == highest && pod.start < earliest)) earliest = pod.start;
    highest = std::max<double>(highest, pod.priority);
    for (const int claim : pod.claims) {
      double size = 0;
      for (const int device : m.claims[claim].devices)
        size += m.devices[device].kind == DeviceKind::kShared ? m.claims[claim].size : m.devices[device].gib;
      const double consumers = static_cast<double>(m.claims[claim].pods.size()) + m.claims[claim].stranger;
      if (consumers > 0) gib += size / consumers;
    }
  }
  const auto number = static_cast<double>(pods.size());
  if (m.kind == Kind::kMoves) return {violations, number, gib};
  return {violations, highest, sum, number, -earliest};
}

std::string wrong_placement(const Model& m, const std::vector<int>& pods, bool later, const std::map<int, int>& places,
                            const std::map<int, std::vector<int>>& devices) {
  std::vector<int> gone = pods;
  for (size_t p = 0; p < m.pods.size(); ++p)
    if (later && m.pods[p].terminates) gone.push_back(static_cast<int>(p));
  Taken taken = taken_in(m, gone, later ? Twin(m).binding() : std::vector<int>{});
  std::set<int> given;
  int pending = 0;
  for (const auto& [number, node] : places) {
    const ModelPod& pod = m.pods[number];
    const std::string what = "pod " + std::to_string(number) + " on node " + std::to_string(node);
    pending += has(m.pending, number);
    if (!takes(m, pod, node, taken)) return what + ": the node does not take it";
    taken.cpu[node] += pod.cpu;
    for (const int claim : pod.claims) {
      const bool fixed = !m.claims[claim].devices.empty() && !freed(m, claim, gone);
      if (!fixed && !devices.contains(claim)) return what + ": a claim has no devices";
      const std::vector<int>& its = fixed ? m.claims[claim].devices : devices.at(claim);
      for (const int device : its)
        if (!can_use(m, device, node)) return what + ": it cannot use " + m.devices[device].name;
      if (fixed || !given.insert(claim).second) continue;
      if (m.claims[claim].kind == DeviceKind::kGpu && static_cast<int>(its.size()) != m.claims[claim].count)
        return what + ": a claim has another number of devices";
      for (const int device : its) {
        if (!serves(m, m.claims[claim], device) || !is_free(m, m.claims[claim], device, taken))
          return what + ": " + m.devices[device].name + " is not free, or of another kind";
        take(m, m.claims[claim], {device}, taken);
      }
    }
  }
  if (pending < needed(m, m.pending)) return "too few of the pending pods have a place";
  if (m.kind == Kind::kMoves)
    for (const int pod : pods)
      if (!places.contains(pod)) return "a moved pod has no place";
  return "";
}

}  // namespace dra::preempt::testing
