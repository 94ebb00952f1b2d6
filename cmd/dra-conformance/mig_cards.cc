#include "cmd/dra-conformance/mig_cards.h"

#include <algorithm>
#include <stdexcept>

namespace dra::conformance {
namespace {

constexpr int kMemorySlices = 8;
// What a card is worth if nothing is on it: then a whole-card ask fits.
constexpr int kFreeCardBonus = 8;

unsigned bits_of(const MigProfile& profile, int start) {
  return ((1u << static_cast<unsigned>(profile.memory)) - 1) << static_cast<unsigned>(start);
}

}  // namespace

const std::array<MigProfile, 6>& mig_profiles() {
  static const std::array<MigProfile, 6> kProfiles = {{{"1g.10gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}},
                                                       {"1g.20gb", 2, 1, {0, 2, 4, 6}},
                                                       {"2g.20gb", 2, 2, {0, 2, 4}},
                                                       {"3g.40gb", 4, 3, {0, 4}},
                                                       {"4g.40gb", 4, 4, {0}},
                                                       {"7g.80gb", 8, 7, {0}}}};
  return kProfiles;
}

const MigProfile& mig_profile(const std::string& name) {
  for (const MigProfile& one : mig_profiles())
    if (name == one.name) return one;
  throw std::runtime_error("profile \"" + name + "\" is not known");
}

MigCards::MigCards(int nodes, int gpus, int compute)
    : nodes_(nodes),
      gpus_(gpus),
      compute_(compute),
      cards_(static_cast<size_t>(nodes * gpus)),
      on_node_(static_cast<size_t>(nodes)) {}

void MigCards::put(const std::string& id, const MigAsk& ask, const MigPlace& place) {
  for (const MigSlot& slot : place.slots) {
    card(place.node, slot.gpu).used |= bits_of(*ask.profile, slot.start);
    card(place.node, slot.gpu).compute += ask.profile->compute;
  }
  on_node_[static_cast<size_t>(place.node)].push_back(id);
  running_[id] = {ask, place};
  partitions_ += ask.count;
}

void MigCards::lift(const std::string& id) {
  const auto found = running_.find(id);
  const MigPlace& place = found->second.place;
  for (const MigSlot& slot : place.slots) {
    card(place.node, slot.gpu).used &= ~bits_of(*found->second.ask.profile, slot.start);
    card(place.node, slot.gpu).compute -= found->second.ask.profile->compute;
  }
  std::erase(on_node_[static_cast<size_t>(place.node)], id);
  partitions_ -= found->second.ask.count;
  running_.erase(found);
}

bool MigCards::is_free(const Card& card, const MigProfile& profile, int start) const {
  return (card.used & bits_of(profile, start)) == 0 && card.compute + profile.compute <= compute_;
}

// The starts of all profiles, weighted by their slices, that the card loses.
int MigCards::broken_by(const Card& before, const MigProfile& profile, int start) const {
  Card after = before;
  after.used |= bits_of(profile, start);
  after.compute += profile.compute;
  int broken = before.used == 0 ? kFreeCardBonus : 0;
  for (const MigProfile& other : mig_profiles())
    for (const int at : other.starts)
      if (is_free(before, other, at) && !is_free(after, other, at)) broken += other.memory;
  return broken;
}

// The slots on the node that break the least, one after the other.
std::optional<MigPlace> MigCards::place_on(const MigAsk& ask, int node, int& broken) const {
  std::vector<Card> cards(cards_.begin() + node * gpus_, cards_.begin() + (node + 1) * gpus_);
  MigPlace place{node, {}};
  for (int i = 0; i < ask.count; ++i) {
    std::optional<MigSlot> best;
    int least = 0;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      for (const int start : ask.profile->starts) {
        const Card& one = cards[static_cast<size_t>(gpu)];
        if (!is_free(one, *ask.profile, start)) continue;
        const int loss = broken_by(one, *ask.profile, start);
        if (best && loss >= least) continue;
        best = MigSlot{gpu, start};
        least = loss;
      }
    if (!best) return std::nullopt;
    Card& taken = cards[static_cast<size_t>(best->gpu)];
    taken.used |= bits_of(*ask.profile, best->start);
    taken.compute += ask.profile->compute;
    broken += least;
    place.slots.push_back(*best);
  }
  return place;
}

std::optional<MigPlace> MigCards::best_place(const MigAsk& ask) const {
  std::optional<MigPlace> best;
  int least = 0;
  for (int node = 0; node < nodes_; ++node) {
    int broken = 0;
    std::optional<MigPlace> place = place_on(ask, node, broken);
    if (!place || (best && broken >= least)) continue;
    best = std::move(place);
    least = broken;
  }
  return best;
}

std::vector<std::string> MigCards::holders(int node, int gpu) const {
  std::vector<std::string> ids;
  for (const std::string& id : on_node_[static_cast<size_t>(node)]) {
    const std::vector<MigSlot>& slots = running_.at(id).place.slots;
    if (std::any_of(slots.begin(), slots.end(), [gpu](const MigSlot& slot) { return slot.gpu == gpu; }))
      ids.push_back(id);
  }
  return ids;
}

// Who must be lifted for one partition there: those on its slices, then the smallest until its compute is free.
std::optional<MigCards::Clearing> MigCards::clear_slot(const MigAsk& ask, int node, const MigSlot& slot,
                                                       int limit) const {
  Clearing clearing{{node, {slot}}, {}, 0, 0};
  Card left = card(node, slot.gpu);
  const unsigned wanted = bits_of(*ask.profile, slot.start);
  std::vector<std::pair<int, std::string>> others;
  const auto take_off = [&](const std::string& id) {
    const Running& one = running_.at(id);
    for (const MigSlot& held : one.place.slots)
      if (held.gpu == slot.gpu) {
        left.used &= ~bits_of(*one.ask.profile, held.start);
        left.compute -= one.ask.profile->compute;
      }
    clearing.lifted.push_back(id);
    clearing.partitions += one.ask.count;
  };
  for (const std::string& id : holders(node, slot.gpu)) {
    const Running& one = running_.at(id);
    const bool in_the_way = std::any_of(one.place.slots.begin(), one.place.slots.end(), [&](const MigSlot& held) {
      return held.gpu == slot.gpu && (bits_of(*one.ask.profile, held.start) & wanted) != 0;
    });
    if (in_the_way) {
      take_off(id);
    } else {
      others.emplace_back(one.ask.count * 100 + one.ask.profile->compute, id);
    }
    if (clearing.partitions > limit) return std::nullopt;
  }
  std::sort(others.begin(), others.end());
  for (const auto& [size, id] : others)
    if (left.compute + ask.profile->compute > compute_) take_off(id);
  if (clearing.partitions > limit || !is_free(left, *ask.profile, slot.start)) return std::nullopt;
  clearing.broken = broken_by(left, *ask.profile, slot.start);
  return clearing;
}

// For several partitions: the cheapest slots one after the other, counting free ones as cheapest.
std::optional<MigCards::Clearing> MigCards::clear_node(const MigAsk& ask, int node, int limit) const {
  MigCards rest = *this;
  Clearing all{{node, {}}, {}, 0, 0};
  const MigAsk single{ask.profile, 1};
  for (int i = 0; i < ask.count; ++i) {
    std::optional<Clearing> best;
    for (int gpu = 0; gpu < gpus_; ++gpu)
      for (const int start : ask.profile->starts) {
        const bool taken = std::any_of(all.place.slots.begin(), all.place.slots.end(), [&](const MigSlot& slot) {
          return slot.gpu == gpu && (bits_of(*ask.profile, slot.start) & bits_of(*ask.profile, start)) != 0;
        });
        if (taken) continue;
        std::optional<Clearing> one = rest.clear_slot(single, node, {gpu, start}, limit - all.partitions);
        if (one && (!best || std::pair(one->partitions, one->broken) < std::pair(best->partitions, best->broken)))
          best = std::move(one);
      }
    if (!best) return std::nullopt;
    for (const std::string& id : best->lifted) {
      rest.lift(id);
      all.lifted.push_back(id);
    }
    all.partitions += best->partitions;
    all.broken += best->broken;
    all.place.slots.push_back(best->place.slots.front());
    Card& used = rest.card(node, best->place.slots.front().gpu);
    used.used |= bits_of(*ask.profile, best->place.slots.front().start);
    used.compute += ask.profile->compute;
  }
  return all;
}

// The big ones first; restores the cards.
std::optional<MigCards::Plan> MigCards::carry_out(const MigAsk& ask, const Clearing& clearing) {
  Plan plan{clearing.place, {}, clearing.partitions};
  std::map<std::string, Running> before;
  for (const std::string& id : clearing.lifted) {
    before.emplace(id, running_.at(id));
    lift(id);
  }
  put("", ask, clearing.place);
  std::vector<std::string> order = clearing.lifted;
  std::stable_sort(order.begin(), order.end(), [&](const std::string& a, const std::string& b) {
    return before.at(a).ask.profile->memory * before.at(a).ask.count >
           before.at(b).ask.profile->memory * before.at(b).ask.count;
  });
  for (const std::string& id : order) {
    const std::optional<MigPlace> place = best_place(before.at(id).ask);
    if (!place) break;
    put(id, before.at(id).ask, *place);
    plan.moved.emplace(id, *place);
  }
  for (const auto& [id, place] : plan.moved) lift(id);
  lift("");
  for (const auto& [id, one] : before) put(id, one.ask, one.place);
  if (plan.moved.size() < clearing.lifted.size()) return std::nullopt;
  return plan;
}

std::optional<MigCards::Plan> MigCards::make_room(const MigAsk& ask, int limit) {
  std::vector<Clearing> ways;
  for (int node = 0; node < nodes_; ++node) {
    if (ask.count > 1) {
      if (std::optional<Clearing> way = clear_node(ask, node, limit)) ways.push_back(std::move(*way));
      continue;
    }
    for (int gpu = 0; gpu < gpus_; ++gpu)
      for (const int start : ask.profile->starts)
        if (std::optional<Clearing> way = clear_slot(ask, node, {gpu, start}, limit)) ways.push_back(std::move(*way));
  }
  std::stable_sort(ways.begin(), ways.end(), [](const Clearing& a, const Clearing& b) {
    return std::pair(a.partitions, a.broken) < std::pair(b.partitions, b.broken);
  });
  for (const Clearing& way : ways)
    if (std::optional<Plan> plan = carry_out(ask, way)) return plan;
  return std::nullopt;
}

}  // namespace dra::conformance
