#include "pkg/preempt/selection.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace dra::preempt {
namespace {

constexpr Cost kNever{INT64_MAX / 4, 0, 0};          // two of them can be added
constexpr size_t kMostCells = size_t{1} << 21;       // of tables that have a cost in each
constexpr size_t kMostSmallCells = size_t{1} << 25;  // two bytes in each
constexpr uint32_t kMostMembers = 60'000;            // kept in 16 bits
constexpr int64_t kMostAllowed = 60'000;             // of a budget that binds, as its uses are kept in 16 bits
constexpr size_t kMostStates = 250'000;              // after a node; two such sets are kept
constexpr size_t kMostSteps = 1'000'000;             // of all paths, 16 bytes each
constexpr size_t kNoSlot = SIZE_MAX;

bool possible(const Cost& cost) {
  return cost.violations < kNever.violations;
}

struct Option {
  const Way* way = nullptr;
  Cost cost;
  std::vector<uint32_t> uses;  // of budgets that bind, sorted
};

struct Item {
  uint32_t node = 0;
  std::vector<Option> options;
};

// Calls f with each budget of a sorted list and how often it is there.
template <class F>
void each_use(const std::vector<uint32_t>& uses, F&& f) {
  for (size_t i = 0; i < uses.size();) {
    size_t end = i;
    while (end < uses.size() && uses[end] == uses[i]) ++end;
    f(uses[i], static_cast<int64_t>(end - i));
    i = end;
  }
}

bool within(const std::vector<uint32_t>& few, const std::vector<uint32_t>& many) {
  return std::includes(many.begin(), many.end(), few.begin(), few.end());
}

// One question.
class Choosing {
 public:
  Choosing(const std::vector<std::vector<Way>>& nodes, uint32_t needed, const std::vector<int64_t>& allowed,
           const Selection::Question& question, const std::function<bool()>& spent, uint64_t& work_left)
      : nodes_(nodes), needed_(needed), allowed_(allowed), question_(question), spent_(spent), work_left_(work_left) {}

  Selection::Choice choose() {
    find_binding_budgets();
    make_items();
    const size_t row = size_t{needed_} + 1;
    const bool too_large = (bound_.size() + 1) * row > kMostCells || free_.size() * row > kMostSmallCells;
    if (too_large || needed_ > kMostMembers) return {};
    sum_up_free_nodes();
    order_bound_nodes();
    sum_up_bound_nodes();
    const Cost least = rest_[needed_];
    if (!possible(least) || (question_.enough && least > *question_.enough)) return {true, std::nullopt, {}};
    if (bound_.empty()) {
      take(least, -1, needed_);
      return finish(true);
    }
    choose_in_one_pass();
    const Cost enough = std::max(least, question_.enough.value_or(least));
    if (best_ && *best_ <= enough) return finish(true);
    const bool all_seen = choose_by_all_uses();
    const bool too_dear = question_.enough && best_ && *best_ > *question_.enough;
    if (all_seen && too_dear) best_.reset();
    return finish(all_seen);
  }

 private:
  struct Step {
    int32_t before = -1;
    uint32_t item = 0;  // of bound_
    const Option* option = nullptr;
  };
  struct Path {  // to so many members
    Cost cost = kNever;
    size_t uses = 0;
    int32_t step = -1;
    std::vector<uint16_t> used;  // by budget that binds
  };
  struct State {
    Cost cost;
    int32_t step = -1;
  };
  using States = std::unordered_map<std::u16string, State>;  // by members, and uses of the open budgets

  // ---- which budgets bind

  void find_binding_budgets() {
    std::vector<int64_t> most(allowed_.size(), 0), peak(allowed_.size(), 0);
    std::vector<uint32_t> touched;
    for (const std::vector<Way>& ways : nodes_) {
      for (const Way& way : ways) {
        if (way.rank > question_.rank) continue;
        each_use(way.uses, [&](uint32_t budget, int64_t times) {
          if (peak[budget] == 0) touched.push_back(budget);
          peak[budget] = std::max(peak[budget], times);
        });
      }
      for (const uint32_t budget : touched) {
        most[budget] += peak[budget];
        peak[budget] = 0;
      }
      touched.clear();
    }
    number_.assign(allowed_.size(), UINT32_MAX);
    for (uint32_t budget = 0; budget < allowed_.size(); ++budget) {
      if (most[budget] <= allowed_[budget]) continue;
      number_[budget] = static_cast<uint32_t>(limit_.size());
      limit_.push_back(allowed_[budget]);
    }
  }

  // What is left of the ways once their ranks and the other budgets do not matter.
  void make_items() {
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      Item item{node, {}};
      for (const Way& way : nodes_[node]) {
        if (way.rank > question_.rank) continue;
        Option option{&way, way.cost, {}};
        if (question_.violations_only) option.cost = {way.cost.violations, 0, 0};
        for (const uint32_t budget : way.uses)
          if (number_[budget] != UINT32_MAX) option.uses.push_back(number_[budget]);
        const bool dominated = std::any_of(item.options.begin(), item.options.end(), [&](const Option& other) {
          return other.way->members >= way.members && other.cost <= option.cost && within(other.uses, option.uses);
        });
        if (!dominated) item.options.push_back(std::move(option));
      }
      if (item.options.empty()) continue;
      const bool bound =
          std::any_of(item.options.begin(), item.options.end(), [](const Option& one) { return !one.uses.empty(); });
      (bound ? bound_ : free_).push_back(std::move(item));
    }
  }

  // ---- without budgets

  uint32_t left(uint32_t needed, const Option& option) const {
    return needed > option.way->members ? needed - option.way->members : 0;
  }

  // The least cost of so many members on the free nodes, and of the last node how.
  void sum_up_free_nodes() {
    free_cost_.assign(needed_ + 1, kNever);
    free_cost_[0] = {};
    how_.assign(free_.size() * (needed_ + 1), 0);
    for (size_t i = 0; i < free_.size(); ++i)
      for (uint32_t at = needed_; at > 0; --at)
        for (size_t o = 0; o < free_[i].options.size(); ++o) {
          const Option& option = free_[i].options[o];
          const Cost cost = free_cost_[left(at, option)] + option.cost;
          if (!possible(cost) || cost >= free_cost_[at]) continue;
          free_cost_[at] = cost;
          how_[i * (needed_ + 1) + at] = static_cast<uint16_t>(o + 1);
        }
  }

  // The nodes of one budget follow each other as far as possible, so that few budgets are open at a time: next is
  // always the open budget with the fewest nodes left.
  void order_bound_nodes() {
    std::vector<std::vector<uint32_t>> nodes_of(limit_.size()), budgets_of(bound_.size());
    for (uint32_t i = 0; i < bound_.size(); ++i) {
      for (const Option& option : bound_[i].options)
        budgets_of[i].insert(budgets_of[i].end(), option.uses.begin(), option.uses.end());
      std::sort(budgets_of[i].begin(), budgets_of[i].end());
      budgets_of[i].erase(std::unique(budgets_of[i].begin(), budgets_of[i].end()), budgets_of[i].end());
      for (const uint32_t budget : budgets_of[i]) nodes_of[budget].push_back(i);
    }
    std::vector<size_t> remaining;
    for (const auto& nodes : nodes_of) remaining.push_back(nodes.size());
    std::vector<bool> open(limit_.size(), false), taken(bound_.size(), false);
    std::vector<Item> ordered;
    while (ordered.size() < bound_.size()) {
      size_t next = SIZE_MAX;
      for (size_t budget = 0; budget < limit_.size(); ++budget) {
        if (remaining[budget] == 0) continue;
        const bool better = next == SIZE_MAX || (open[budget] && !open[next]) ||
                            (open[budget] == open[next] && remaining[budget] < remaining[next]);
        if (better) next = budget;
      }
      for (const uint32_t i : nodes_of[next]) {
        if (taken[i]) continue;
        taken[i] = true;
        for (const uint32_t budget : budgets_of[i]) {
          --remaining[budget];
          open[budget] = true;
        }
        ordered.push_back(std::move(bound_[i]));
      }
    }
    bound_ = std::move(ordered);
  }

  // The least cost of so many members on the free nodes and the bound ones from each on, as if no budget did bind.
  void sum_up_bound_nodes() {
    const size_t row = needed_ + 1;
    rest_.assign((bound_.size() + 1) * row, kNever);
    std::copy(free_cost_.begin(), free_cost_.end(), rest_.end() - static_cast<std::ptrdiff_t>(row));
    for (size_t i = bound_.size(); i-- > 0;)
      for (uint32_t at = 0; at <= needed_; ++at) {
        Cost& cost = rest_[i * row + at];
        cost = rest_[(i + 1) * row + at];
        for (const Option& option : bound_[i].options)
          cost = std::min(cost, rest_[(i + 1) * row + left(at, option)] + option.cost);
      }
  }

  const Cost& rest(size_t item, uint32_t members) const { return rest_[item * (needed_ + 1) + needed_ - members]; }

  // ---- with them

  // What more it costs to use a budget so often; nothing: that is not allowed.
  std::optional<int64_t> violations(uint32_t budget, int64_t used, int64_t more) const {
    const int64_t over =
        std::max<int64_t>(0, used + more - limit_[budget]) - std::max<int64_t>(0, used - limit_[budget]);
    if (over > 0 && !question_.may_break) return std::nullopt;
    return over;
  }

  uint32_t with(uint32_t members, const Option& option) const {
    return std::min(needed_, members + option.way->members);
  }

  // Keeps one path to each number of members, the cheapest, of equals the one with the fewest uses.
  void choose_in_one_pass() {
    std::vector<Path> paths(needed_ + 1);
    paths[0] = {{}, 0, -1, std::vector<uint16_t>(limit_.size(), 0)};
    for (uint32_t i = 0; i < bound_.size(); ++i)
      for (uint32_t from = needed_; from-- > 0;) {
        if (!possible(paths[from].cost)) continue;
        for (const Option& option : bound_[i].options) try_path(paths, from, i, option);
      }
    for (uint32_t members = 0; members <= needed_; ++members)
      if (possible(paths[members].cost))
        take(paths[members].cost + free_cost_[needed_ - members], paths[members].step, needed_ - members);
  }

  void try_path(std::vector<Path>& paths, uint32_t from, uint32_t i, const Option& option) {
    const Path& path = paths[from];
    Path& to = paths[with(from, option)];
    Cost cost = path.cost + option.cost;
    bool allowed = cost <= to.cost;
    if (allowed)
      each_use(option.uses, [&](uint32_t budget, int64_t times) {
        const auto more = violations(budget, path.used[budget], times);
        allowed = allowed && more;
        cost.violations += more.value_or(0);
      });
    const size_t uses = path.uses + option.uses.size();
    if (!allowed || cost > to.cost || (cost == to.cost && uses >= to.uses)) return;
    steps_.push_back({path.step, i, &option});
    to.cost = cost;
    to.uses = uses;
    to.step = static_cast<int32_t>(steps_.size() - 1);
    to.used = path.used;
    for (const uint32_t budget : option.uses)
      to.used[budget] = static_cast<uint16_t>(std::min(to.used[budget] + 1, 0xffff));
  }

  // True: every choice that is better than the best so far, or good enough, was seen.
  bool choose_by_all_uses() {
    if (std::any_of(limit_.begin(), limit_.end(), [](int64_t limit) { return limit > kMostAllowed; })) return false;
    find_last_uses();
    States states;
    states.emplace(std::u16string(1, u'\0'), State{});
    for (uint32_t i = 0; i < bound_.size(); ++i) {
      const uint64_t work = states.size() * (1 + bound_[i].options.size());
      if (work > work_left_ || spent_()) return false;
      work_left_ -= work;
      states = after(i, states);
      if (states.size() > kMostStates || steps_.size() > kMostSteps) return false;
    }
    for (const auto& [key, state] : states) {
      const auto members = static_cast<uint32_t>(key[0]);
      take(state.cost + free_cost_[needed_ - members], state.step, needed_ - members);
    }
    return true;
  }

  // How often each budget may be used by this node and later ones; and where it is in the keys while it is open.
  void find_last_uses() {
    still_.assign(limit_.size(), 0);
    slot_.assign(limit_.size(), kNoSlot);
    peaks_.resize(bound_.size());
    for (size_t i = 0; i < bound_.size(); ++i) {
      std::vector<std::pair<uint32_t, int64_t>>& peaks = peaks_[i];
      for (const Option& option : bound_[i].options)
        each_use(option.uses, [&peaks](uint32_t budget, int64_t times) {
          const auto known =
              std::find_if(peaks.begin(), peaks.end(), [budget](const auto& one) { return one.first == budget; });
          if (known == peaks.end()) {
            peaks.emplace_back(budget, times);
          } else {
            known->second = std::max(known->second, times);
          }
        });
      for (const auto& [budget, times] : peaks) still_[budget] += times;
    }
  }

  States after(uint32_t i, States& before) {
    for (const auto& [budget, times] : peaks_[i]) {
      if (slot_[budget] == kNoSlot) {
        slot_[budget] = std::find(taken_slots_.begin(), taken_slots_.end(), false) - taken_slots_.begin();
        if (slot_[budget] == taken_slots_.size()) taken_slots_.push_back(false);
        taken_slots_[slot_[budget]] = true;
      }
      still_[budget] -= times;
    }
    States states;
    for (const auto& [key, state] : before) {
      if (states.size() > kMostStates || steps_.size() > kMostSteps) break;  // the caller gives up
      keep(states, i, key, state.cost, state.step, nullptr);
      for (const Option& option : bound_[i].options) keep(states, i, key, state.cost, state.step, &option);
    }
    for (const auto& [budget, times] : peaks_[i])
      if (still_[budget] == 0) taken_slots_[slot_[budget]] = false;
    return states;
  }

  // Adds the state that follows when the node is left alone, or the option is taken.
  void keep(States& states, uint32_t i, std::u16string key, Cost cost, int32_t step, const Option* option) {
    key.resize(taken_slots_.size() + 1, u'\0');
    auto members = static_cast<uint32_t>(key[0]);
    if (option != nullptr) {
      members = with(members, *option);
      key[0] = static_cast<char16_t>(members);
      cost = cost + option->cost;
      bool allowed = true;
      each_use(option->uses, [&](uint32_t budget, int64_t times) {
        char16_t& used = key[slot_[budget] + 1];
        const auto more = violations(budget, used, times);
        allowed = allowed && more;
        cost.violations += more.value_or(0);
        used = static_cast<char16_t>(std::min<int64_t>(limit_[budget], used + times));
      });
      if (!allowed) return;
    }
    const Cost bound = cost + rest(i + 1, members);
    if (!possible(bound) || (question_.enough ? bound > *question_.enough : best_ && bound >= *best_)) return;
    // Amounts at which the rest of the nodes cannot exceed the budget are alike.
    for (const auto& [budget, times] : peaks_[i]) {
      char16_t& used = key[slot_[budget] + 1];
      if (still_[budget] == 0) {
        used = u'\0';
      } else {
        used = static_cast<char16_t>(std::max<int64_t>(used, limit_[budget] - still_[budget]));
      }
    }
    State& known = states.try_emplace(std::move(key), State{kNever, -1}).first->second;
    if (known.cost <= cost) return;
    known.cost = cost;
    known.step = step;
    if (option == nullptr) return;
    steps_.push_back({step, i, option});
    known.step = static_cast<int32_t>(steps_.size() - 1);
  }

  // ---- the best choice

  void take(const Cost& cost, int32_t step, uint32_t on_free_nodes) {
    if (!possible(cost) || (best_ && *best_ <= cost)) return;
    best_ = cost;
    best_step_ = step;
    best_on_free_ = on_free_nodes;
  }

  Selection::Choice finish(bool known) const {
    Selection::Choice choice{known, best_, {}};
    if (!best_) return choice;
    for (int32_t step = best_step_; step >= 0; step = steps_[step].before)
      choice.sets.emplace_back(bound_[steps_[step].item].node, steps_[step].option->way->set);
    uint32_t at = best_on_free_;
    for (size_t i = free_.size(); i-- > 0 && at > 0;) {
      const uint16_t how = how_[i * (needed_ + 1) + at];
      if (how == 0) continue;
      choice.sets.emplace_back(free_[i].node, free_[i].options[how - 1].way->set);
      at = left(at, free_[i].options[how - 1]);
    }
    return choice;
  }

  const std::vector<std::vector<Way>>& nodes_;
  const uint32_t needed_;
  const std::vector<int64_t>& allowed_;
  const Selection::Question& question_;
  const std::function<bool()>& spent_;
  uint64_t& work_left_;

  std::vector<uint32_t> number_;  // by budget: among those that bind
  std::vector<int64_t> limit_;    // of those that bind
  std::vector<Item> bound_;       // nodes with an option that uses one of these
  std::vector<Item> free_;        // the other nodes
  std::vector<Cost> free_cost_;   // by members
  std::vector<uint16_t> how_;     // by free node and members: its option, from 1; 0: the node is left alone
  std::vector<Cost> rest_;        // by bound node and members that are still needed

  std::vector<std::vector<std::pair<uint32_t, int64_t>>> peaks_;  // by bound node: budgets, how often at most
  std::vector<int64_t> still_;                                    // by budget that binds
  std::vector<size_t> slot_;
  std::vector<bool> taken_slots_;

  std::vector<Step> steps_;
  std::optional<Cost> best_;
  int32_t best_step_ = -1;
  uint32_t best_on_free_ = 0;
};

}  // namespace

void keep_best(std::vector<Way>& ways) {
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    return a.uses.size() < b.uses.size();
  });
  std::vector<Way> best;
  for (Way& way : ways) {
    const bool dominated = std::any_of(best.begin(), best.end(), [&way](const Way& other) {
      return other.members >= way.members && other.rank <= way.rank && within(other.uses, way.uses);
    });
    if (!dominated) best.push_back(std::move(way));
  }
  ways = std::move(best);
}

Selection::Selection(uint32_t needed, std::vector<int64_t> allowed, std::function<bool()> spent, uint64_t most_work)
    : needed_(needed), allowed_(std::move(allowed)), spent_(std::move(spent)), work_left_(most_work) {}

Selection::Choice Selection::choose(const Question& question) const {
  return Choosing(nodes_, needed_, allowed_, question, spent_, work_left_).choose();
}

}  // namespace dra::preempt
