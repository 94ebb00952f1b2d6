#include "pkg/gang/search/joint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace dra::gang {
namespace {

constexpr int64_t kOne = 720'720;  // a weight of 1: divisible by 1 to 16
constexpr int kMaxRounds = 8;
constexpr size_t kMaxLooks = 200'000;  // at numbers of members of one kind on one node
constexpr uint64_t kNoBound = std::numeric_limits<uint64_t>::max();

using Set = std::vector<uint32_t>;  // members by kind
using Weights = std::vector<int64_t>;

// Maximal sets, each fitting set being part of one: for each number of the earlier kinds, as many of the last as fit.
// list(): false if there are too many.
class Sets {
 public:
  Sets(const JointCount& count, const JointCount::Nodes& nodes, size_t& looked)
      : count_(count), nodes_(nodes), left_(nodes.has), looked_(looked) {}
  bool list(std::vector<Set>& out) {
    out_ = &out;
    now_.assign(count_.kinds.size(), 0);
    return add(0);
  }

 private:
  uint32_t room_for(size_t kind) const {
    uint64_t fits = std::min(nodes_.most[kind], count_.kinds[kind].size);
    for (size_t thing = 0; thing < left_.size(); ++thing)
      if (const uint64_t wants = count_.kinds[kind].wants[thing]; wants > 0)
        fits = std::min(fits, left_[thing] / wants);
    return static_cast<uint32_t>(fits);
  }
  void take(size_t kind, uint32_t members) {
    now_[kind] = members;
    for (size_t thing = 0; thing < left_.size(); ++thing) left_[thing] -= members * count_.kinds[kind].wants[thing];
  }
  void undo(size_t kind) {
    for (size_t thing = 0; thing < left_.size(); ++thing) left_[thing] += now_[kind] * count_.kinds[kind].wants[thing];
    now_[kind] = 0;
  }
  bool add(size_t kind) {
    if (++looked_ > kMaxLooks) return false;
    const uint32_t fits = room_for(kind);
    if (kind + 1 == count_.kinds.size()) {
      now_[kind] = fits;
      out_->push_back(now_);
      now_[kind] = 0;
      return out_->size() <= JointCount::kMaxWork;
    }
    for (uint32_t members = fits + 1; members-- > 0;) {
      take(kind, members);
      const bool more = add(kind + 1);
      undo(kind);
      if (!more) return false;
    }
    return true;
  }

  const JointCount& count_;
  const JointCount::Nodes& nodes_;
  std::vector<uint64_t> left_;
  std::vector<Set>* out_ = nullptr;
  Set now_;
  size_t& looked_;
};

// Nodes with the same maximal sets are one: by sets, how many.
using Distinct = std::map<std::vector<Set>, uint32_t>;

// False if there are too many.
bool list_sets(const JointCount& count, Distinct& distinct) {
  size_t looked = 0, work = 0;
  const size_t square = count.kinds.size() * count.kinds.size();
  for (const JointCount::Nodes& nodes : count.nodes) {
    std::vector<Set> sets;
    if (!Sets(count, nodes, looked).list(sets)) return false;
    const size_t size = sets.size();
    uint32_t& known = distinct[std::move(sets)];
    if (known == 0) work += size * square;
    known += nodes.count;
    if (work > JointCount::kMaxWork) return false;
  }
  return true;
}

// Rounds what nodes have up to multiples of the smallest request: more nodes are equal, and at least as many members
// fit.
JointCount rounded(JointCount count) {
  for (size_t thing = 0; !count.kinds.empty() && thing < count.kinds[0].wants.size(); ++thing) {
    uint64_t unit = 0;
    for (const JointCount::Kind& kind : count.kinds)
      if (const uint64_t wants = kind.wants[thing]; wants > 0) unit = unit == 0 ? wants : std::min(unit, wants);
    for (JointCount::Nodes& nodes : count.nodes)
      if (unit > 0) nodes.has[thing] = (nodes.has[thing] + unit - 1) / unit * unit;
  }
  return count;
}

// As many of the members that want least of one thing as all nodes have of it in sum.
uint64_t by_sums(const JointCount& count) {
  uint64_t best = 0;
  for (const JointCount::Kind& kind : count.kinds) best += kind.size;
  for (size_t thing = 0; !count.kinds.empty() && thing < count.kinds[0].wants.size(); ++thing) {
    uint64_t left = 0, members = 0;
    for (const JointCount::Nodes& nodes : count.nodes) left += nodes.has[thing] * nodes.count;
    std::vector<std::pair<uint64_t, uint32_t>> wants;
    for (const JointCount::Kind& kind : count.kinds) wants.emplace_back(kind.wants[thing], kind.size);
    std::sort(wants.begin(), wants.end());
    for (const auto& [each, size] : wants) {
      const uint64_t fit = each == 0 ? size : std::min<uint64_t>(size, left / each);
      members += fit;
      left -= fit * each;
    }
    best = std::min(best, members);
  }
  return best;
}

class Dual {
 public:
  Dual(const JointCount& count, const Distinct& distinct) : count_(count), distinct_(distinct) {}

  // In members, times kOne.
  int64_t bound(const Weights& weights) const {
    int64_t sum = 0;
    for (size_t k = 0; k < weights.size(); ++k) sum += (kOne - weights[k]) * count_.kinds[k].size;
    for (const auto& [sets, nodes] : distinct_) {
      int64_t heaviest = 0;
      for (const Set& set : sets)
        heaviest = std::max(heaviest, std::inner_product(set.begin(), set.end(), weights.begin(), int64_t{0}));
      sum += heaviest * nodes;
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
  const Distinct& distinct_;
};

// Starting weights: all equal, and by what members want of each thing.
std::vector<Weights> beginnings(const JointCount& count) {
  std::vector<Weights> all = {Weights(count.kinds.size(), kOne)};
  const size_t things = count.kinds.empty() ? 0 : count.kinds[0].wants.size();
  for (size_t thing = 0; thing < things; ++thing) {
    uint64_t most = 0;
    for (const JointCount::Kind& kind : count.kinds) most = std::max(most, kind.wants[thing]);
    if (most == 0) continue;
    Weights weights;
    for (const JointCount::Kind& kind : count.kinds)
      weights.push_back(static_cast<int64_t>(static_cast<double>(kOne) * static_cast<double>(kind.wants[thing]) /
                                             static_cast<double>(most)));
    all.push_back(std::move(weights));
  }
  return all;
}

}  // namespace

uint64_t most_together(const JointCount& count, uint64_t need) {
  if (count.kinds.empty()) return kNoBound;
  const uint64_t sums = by_sums(count);
  if (sums < need || count.kinds.size() > JointCount::kMaxKinds) return sums;
  Distinct distinct;
  if (!list_sets(count, distinct)) {
    distinct.clear();
    if (!list_sets(rounded(count), distinct)) return sums;
  }
  const Dual dual(count, distinct);
  const int64_t enough = static_cast<int64_t>(need) * kOne;
  int64_t best = std::numeric_limits<int64_t>::max();
  for (Weights& weights : beginnings(count)) {
    best = std::min(best, dual.improve(std::move(weights), enough));
    if (best < enough) break;
  }
  return std::min(sums, static_cast<uint64_t>(best / kOne));
}

}  // namespace dra::gang
