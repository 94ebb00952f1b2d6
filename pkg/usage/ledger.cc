#include "pkg/usage/ledger.h"

#include <algorithm>
#include <utility>

namespace dra::usage {

namespace {

// Room for the group of which all labels are "other", with its shares.
constexpr size_t kKeptForOther = Ledger::kSeriesOfGroup + Ledger::kMaxShareNames + 1;

const Labels& labels_of_rest() {
  static const Labels labels{std::string(kOther), std::string(kOther), std::string(kOther), std::string(kOther)};
  return labels;
}

double seconds_of(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / static_cast<double>(Ledger::kSecond);
}

double cards_of(int64_t nanos) {
  return static_cast<double>(nanos) / static_cast<double>(kWholeCard);
}

// Only credit() takes time away, of what is counted too early.
double not_below_zero(double seconds) {
  return std::max(seconds, 0.0);
}

}  // namespace

int64_t Ledger::advance(int64_t now) {
  if (!begun_) return floor_;
  now_ = std::max(now_, now);
  return now_;
}

void Ledger::settle(Group& group, int64_t at) {
  if (at <= group.settled) return;
  const double seconds = seconds_of(at - group.settled);
  group.settled = at;
  group.device_seconds += static_cast<double>(group.devices) * seconds;
  group.card_seconds += cards_of(group.cards) * seconds;
  for (auto& [name, share] : group.shares) share.seconds += cards_of(share.held) * seconds;
}

// ---- labels

std::string Ledger::admit(const Known& known, size_t most, const std::string& wanted) {
  if (wanted == kOther || known.contains(wanted)) return wanted;
  return known.size() < most && wanted.size() <= kMaxLabelBytes ? wanted : std::string(kOther);
}

void Ledger::count_labels(const Labels& labels, int by) {
  const auto count = [by](Known& known, const std::string& label) {
    if (label == kOther) return;
    if (by > 0)
      ++known[label];
    else if (const auto found = known.find(label); found != known.end() && --found->second == 0)
      known.erase(found);
  };
  count(namespaces_, labels.ns);
  count(classes_, labels.device_class);
  count(drivers_, labels.driver);
  count(owners_, labels.owner);
}

Ledger::Groups::iterator Ledger::make_group(const Labels& labels) {
  const auto made = groups_.try_emplace(labels).first;
  made->second.settled = begun_ ? now_ : floor_;
  made->second.idle_since = made->second.settled;
  count_labels(labels, 1);
  return made;
}

Ledger::Groups::iterator Ledger::group_for(const Labels& wanted) {
  const Labels labels{admit(namespaces_, kMaxNamespaces, wanted.ns), admit(classes_, kMaxClasses, wanted.device_class),
                      admit(drivers_, kMaxDrivers, wanted.driver), admit(owners_, kMaxOwners, wanted.owner)};
  if (const auto known = groups_.find(labels); known != groups_.end()) return known;
  if (series() + kSeriesOfGroup + kKeptForOther <= kMaxSeries) return make_group(labels);
  const auto rest = groups_.find(labels_of_rest());
  return rest != groups_.end() ? rest : make_group(labels_of_rest());
}

Ledger::HeldShare Ledger::share_for(Group& group, const Share& share) {
  const std::string name = admit(names_, kMaxShareNames, share.name);
  const auto rest = groups_.find(labels_of_rest());
  Group* of = &group;
  auto found = of->shares.find(name);
  const bool is_rest = rest != groups_.end() && &rest->second == of;
  const size_t kept = is_rest ? 0 : kKeptForOther;
  if (found == of->shares.end() && (share_series_ + kept >= kMaxShareSeries || series() + kept >= kMaxSeries)) {
    const auto at = rest != groups_.end() ? rest : make_group(labels_of_rest());
    of = &at->second;
    found = of->shares.find(name);
  }
  if (found == of->shares.end()) {
    found = of->shares.try_emplace(name).first;
    ++share_series_;
    if (name != kOther) ++names_[name];
  }
  return {of, &found->second, share.nanos};
}

void Ledger::drop_idle() {
  for (auto at = groups_.begin(); at != groups_.end();) {
    const Group& group = at->second;
    const bool shares_held =
        std::any_of(group.shares.begin(), group.shares.end(), [](const auto& one) { return one.second.held != 0; });
    if (group.devices > 0 || shares_held || now_ - group.idle_since < kIdle || at->first == labels_of_rest()) {
      ++at;
      continue;
    }
    for (const auto& [name, share] : group.shares)
      if (const auto known = names_.find(name); known != names_.end() && --known->second == 0) names_.erase(known);
    share_series_ -= group.shares.size();
    count_labels(at->first, -1);
    at = groups_.erase(at);
  }
}

// ---- cards

void Ledger::recount(Card& card, int64_t at) {
  for (Card::Of& of : card.parts) {
    const int64_t counts = card.nanos <= kWholeCard
                               ? of.nanos
                               : static_cast<int64_t>(static_cast<__int128>(of.nanos) * kWholeCard / card.nanos);
    if (counts == of.counted) continue;
    settle(*of.group, at);
    of.group->cards += counts - of.counted;
    of.counted = counts;
  }
}

int64_t Ledger::put_on_card(Group& group, const Part& part, int64_t at) {
  Card& card = cards_[part.card];
  const int64_t left = std::max<int64_t>(kWholeCard - card.nanos, 0);
  auto found = std::find_if(card.parts.begin(), card.parts.end(), [&](const auto& one) { return one.group == &group; });
  if (found == card.parts.end()) found = card.parts.insert(card.parts.end(), {&group, 0, 0, 0});
  found->nanos += part.nanos;
  ++found->parts;
  card.nanos += part.nanos;
  recount(card, at);
  return std::min(part.nanos, left);
}

void Ledger::take_off_card(Group& group, const Part& part, int64_t at) {
  const auto card = cards_.find(part.card);
  if (card == cards_.end()) return;
  auto& parts = card->second.parts;
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.group == &group; });
  if (found == parts.end()) return;
  found->nanos -= part.nanos;
  card->second.nanos -= part.nanos;
  recount(card->second, at);
  if (--found->parts == 0) parts.erase(found);
  if (parts.empty()) cards_.erase(card);
}

// ---- claims

// Adds what was held between two times at the present weights; takes it away if `to` is before `from`.
void Ledger::credit(Held& held, int64_t cards, int64_t from, int64_t to) {
  const double seconds = seconds_of(to - from);
  Group& group = held.group->second;
  group.device_seconds += static_cast<double>(held.devices) * seconds;
  group.card_seconds += cards_of(cards) * seconds;
  for (HeldShare& one : held.shares) one.share->seconds += cards_of(one.nanos) * seconds;
}

// The claim was held when the totals were written: the group need not be told that it is gone.
void Ledger::carry_on(Held& held) {
  Group& group = held.group->second;
  group.carried_devices -= held.devices;
  group.carried_cards -= held.cards;
  for (const HeldShare& one : held.shares) one.share->carried -= one.nanos;
}

void Ledger::begin_use(Use use, int64_t since, int64_t now, std::vector<Held>& held) {
  const int64_t at = advance(now);
  held.push_back({group_for(use.labels), use.devices, 0, std::clamp(since, floor_, std::max(floor_, now)), {}, {}});
  Held& one = held.back();
  Group& group = one.group->second;
  settle(group, at);
  const auto average = [&group]() -> int64_t {
    if (group.devices > 0) return std::min(group.cards / group.devices, kWholeCard);
    if (group.carried_devices > 0)
      return std::clamp<int64_t>(group.carried_cards / group.carried_devices, 0, kWholeCard);
    return kWholeCard;
  };
  if (!use.unknown.empty()) {
    const int64_t nanos = average();
    for (Part& part : use.unknown) use.parts.push_back({std::move(part.card), nanos});
  }
  const int64_t cards_before = group.cards;
  int64_t before = 0;
  for (const Part& part : use.parts) before += put_on_card(group, part, at);
  one.cards = group.cards - cards_before;
  one.parts = std::move(use.parts);
  group.devices += one.devices;
  for (const Share& share : use.shares) {
    one.shares.push_back(share_for(group, share));
    settle(*one.shares.back().group, at);
    one.shares.back().share->held += share.nanos;
  }
  if (begun_) return credit(one, before, one.since, at);
  if (one.since == floor_) carry_on(one);
  // Until time goes on, everything counts from the beginning.
  credit(one, one.cards, one.since, floor_);
}

void Ledger::end_use(Held& held, int64_t now) {
  const int64_t at = advance(now);
  Group& group = held.group->second;
  settle(group, at);
  const int64_t cards_before = group.cards;
  for (const Part& part : held.parts) take_off_card(group, part, at);
  const int64_t cards = cards_before - group.cards;
  group.devices -= held.devices;
  for (const HeldShare& one : held.shares) {
    settle(*one.group, at);
    one.share->held -= one.nanos;
  }
  if (!begun_) credit(held, cards, floor_, std::max(floor_, now));
  if (group.devices == 0) group.idle_since = std::max(at, now);
}

void Ledger::hold(std::string_view uid, std::vector<Use> uses, int64_t since, int64_t now) {
  release(uid, now);
  if (uses.empty()) return;
  std::vector<Held>& held = claims_[std::string(uid)];
  held.reserve(uses.size());
  for (Use& use : uses) begin_use(std::move(use), since, now, held);
}

void Ledger::release(std::string_view uid, int64_t now) {
  const auto found = claims_.find(std::string(uid));
  if (found == claims_.end()) return;
  for (Held& held : found->second) end_use(held, now);
  claims_.erase(found);
}

// ---- totals

void Ledger::restore(const Record& record, int64_t as_of) {
  floor_ = as_of;
  now_ = std::max(now_, as_of);
  for (const GroupTotal& one : record.groups) {
    const auto made = group_for(one.labels);
    Group& group = made->second;
    group.device_seconds += one.device_seconds;
    group.card_seconds += one.card_seconds;
    group.carried_devices += one.devices;
    group.carried_cards += one.cards;
    group.idle_since = as_of - one.idle_seconds * kSecond;
    for (const ShareTotal& share : one.shares) {
      const HeldShare at = share_for(group, {share.name, 0});
      at.share->seconds += share.seconds;
      at.share->carried += share.held;
    }
  }
}

void Ledger::settle_absent(int64_t now) {
  if (begun_) return;
  begun_ = true;
  now_ = std::max({now_, now, floor_});
  const double seconds = seconds_of(std::min(now_ - floor_, kMostUnseen));
  for (auto& [labels, group] : groups_) {
    settle(group, now_);
    if (group.devices == 0 && group.carried_devices > 0) group.idle_since = now_;
    group.device_seconds += static_cast<double>(std::max<int64_t>(group.carried_devices, 0)) * seconds;
    group.card_seconds += cards_of(std::max<int64_t>(group.carried_cards, 0)) * seconds;
    group.carried_devices = group.carried_cards = 0;
    for (auto& [name, share] : group.shares) {
      share.seconds += cards_of(std::max<int64_t>(share.carried, 0)) * seconds;
      share.carried = 0;
    }
  }
}

Record Ledger::record(int64_t now) {
  const int64_t at = advance(now);
  if (begun_) drop_idle();
  Record record;
  for (auto& [labels, group] : groups_) {
    settle(group, at);
    GroupTotal total{
        labels, not_below_zero(group.device_seconds), not_below_zero(group.card_seconds), group.devices, group.cards, 0,
        {}};
    if (group.devices == 0) total.idle_seconds = std::max<int64_t>(at - group.idle_since, 0) / kSecond;
    for (const auto& [name, share] : group.shares)
      total.shares.push_back({name, not_below_zero(share.seconds), share.held});
    record.groups.push_back(std::move(total));
  }
  return record;
}

}  // namespace dra::usage
