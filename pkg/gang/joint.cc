#include "pkg/gang/joint.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dra::gang {
namespace {

constexpr int64_t kOne = 720'720;  // a weight of 1: divisible by 1 to 16
constexpr int kMaxRounds = 8;

using Set = std::vector<uint32_t>;  // members by kind
using Weights = std::vector<int64_t>;

// Maximal sets, each fitting set being part of one: for each number of the earlier kinds, as many of the last as fit.
// list(): false if there are too many.
class Sets {
 public:
  Sets(const JointCount& count, const JointCount::Nodes& nodes) : count_(count), nodes_(nodes), left_(nodes.has) {}
  bool list(std::vector<Set>& out) {
    out_ = &out;
    now_.assign(count_.kinds.size(), 0);
    return add(0);
  }

 private:
  uint32_t room_for(size_t kind) const {
    uint32_t room = std::min(nodes_.most[kind], count_.kinds[kind].size);
    for (size_t thing = 0; thing < left_.size(); ++thing)
      if (const uint32_t wants = count_.kinds[kind].wants[thing]; wants > 0)
        room = std::min(room, left_[thing] / wants);
    return room;
  }
  void take(size_t kind, uint32_t members) {
    now_[kind] = members;
    for (size_t thing = 0; thing < left_.size(); ++thing) left_[thing] -= members * count_.kinds[kind].wants[thing];
  }
  void give_back(size_t kind) {
    for (size_t thing = 0; thing < left_.size(); ++thing) left_[thing] += now_[kind] * count_.kinds[kind].wants[thing];
    now_[kind] = 0;
  }
  bool add(size_t kind) {
    if (++looked_ > 16 * JointCount::kMaxSets) return false;
    const uint32_t room = room_for(kind);
    if (kind + 1 == count_.kinds.size()) {
      now_[kind] = room;
      out_->push_back(now_);
      now_[kind] = 0;
      return out_->size() <= JointCount::kMaxSets;
    }
    for (uint32_t members = room + 1; members-- > 0;) {
      take(kind, members);
      const bool more = add(kind + 1);
      give_back(kind);
      if (!more) return false;
    }
    return true;
  }

  const JointCount& count_;
  const JointCount::Nodes& nodes_;
  std::vector<uint32_t> left_;
  std::vector<Set>* out_ = nullptr;
  Set now_;
  size_t looked_ = 0;
};

class Dual {
 public:
  Dual(const JointCount& count, std::vector<std::vector<Set>> sets) : count_(count), sets_(std::move(sets)) {}

  // In members, times kOne.
  int64_t bound(const Weights& weights) const {
    int64_t sum = 0;
    for (size_t k = 0; k < weights.size(); ++k) sum += (kOne - weights[k]) * count_.kinds[k].size;
    for (size_t n = 0; n < sets_.size(); ++n) {
      int64_t heaviest = 0;
      for (const Set& set : sets_[n])
        heaviest = std::max(heaviest, std::inner_product(set.begin(), set.end(), weights.begin(), int64_t{0}));
      sum += heaviest * count_.nodes[n].count;
    }
    return sum;
  }

  // One weight after the other, as long as that helps.
  int64_t improve(Weights weights, int64_t enough) const {
    static const std::vector<int64_t> fractions = all_fractions();
    int64_t best = bound(weights);
    for (int round = 0; round < kMaxRounds && best >= enough; ++round) {
      const int64_t before = best;
      for (size_t k = 0; k < weights.size() && best >= enough; ++k) {
        int64_t kept = weights[k];
        for (const int64_t fraction : fractions) {
          weights[k] = fraction;
          if (const int64_t now = bound(weights); now < best) {
            best = now;
            kept = fraction;
          }
        }
        weights[k] = kept;
      }
      if (best == before) break;
    }
    return best;
  }

 private:
  static std::vector<int64_t> all_fractions() {
    std::vector<int64_t> all;
    for (int64_t of = 1; of <= 16; ++of)
      for (int64_t part = 0; part <= of; ++part) all.push_back(kOne / of * part);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  const JointCount& count_;
  std::vector<std::vector<Set>> sets_;  // by count_.nodes
};

// Starting weights: all equal, and by what members want of each thing.
std::vector<Weights> beginnings(const JointCount& count) {
  std::vector<Weights> all = {Weights(count.kinds.size(), kOne)};
  const size_t things = count.kinds.empty() ? 0 : count.kinds[0].wants.size();
  for (size_t thing = 0; thing < things; ++thing) {
    uint32_t most = 0;
    for (const JointCount::Kind& kind : count.kinds) most = std::max(most, kind.wants[thing]);
    if (most == 0) continue;
    Weights weights;
    for (const JointCount::Kind& kind : count.kinds) weights.push_back(kOne * kind.wants[thing] / most);
    all.push_back(std::move(weights));
  }
  return all;
}

}  // namespace

uint64_t most_together(const JointCount& count, uint64_t need) {
  constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();
  if (count.kinds.empty() || count.kinds.size() > JointCount::kMaxKinds) return kNoBound;
  if (count.nodes.size() > JointCount::kMaxNodesKinds) return kNoBound;
  std::vector<std::vector<Set>> sets;
  size_t all = 0;
  for (const JointCount::Nodes& nodes : count.nodes) {
    if (!Sets(count, nodes).list(sets.emplace_back())) return kNoBound;
    if ((all += sets.back().size()) > JointCount::kMaxSets) return kNoBound;
  }
  const Dual dual(count, std::move(sets));
  const int64_t enough = static_cast<int64_t>(need) * kOne;
  int64_t best = std::numeric_limits<int64_t>::max();
  for (Weights& weights : beginnings(count)) {
    best = std::min(best, dual.improve(std::move(weights), enough));
    if (best < enough) break;
  }
  return static_cast<uint64_t>(best / kOne);
}

}  // namespace dra::gang
