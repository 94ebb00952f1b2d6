// Ledger: who holds what, and the seconds that add up while it is held.
//
//   Ledger ledger(now);
//   ledger.restore(record, as_of);                // what an earlier leader wrote, if there is something
//   ledger.hold("uid", uses, since, now);         // each claim that is allocated
//   ledger.settle_absent(now);                    // these were all; from now on hold() is called for what changes
//   ledger.release("uid", now);                   // it holds nothing any more
//   Record record = ledger.record(now);           // the totals up to now
//
// Times are on a line of the caller's own, in nanoseconds, that never goes back; a caller that gives an earlier time
// than before is taken to give the latest one.
//
// What counts: each device of a claim counts 1 in device seconds, and in card seconds its part of the card (parts.h).
// All parts of one card count at most 1 together: if more is held (devices shared without limit, or handed out twice),
// each part counts in proportion.
//
// Labels are bounded: a namespace gets its label with its first claim and keeps it until it has held nothing for kIdle;
// newcomers beyond kMaxNamespaces count as "other" until their claim ends. The same for classes, drivers, kinds of
// owners and names of shares. At most kMaxSeries series in all: further combinations of labels count under one whose
// four labels are "other".
//
// After a change of leaders: restore() takes the totals as they were written, and what was held then. Claims that are
// held with a start before that moment go on from there; what was held then and is not held any more counts until
// settle_absent(), but for at most kMostUnseen. A claim that began and ended in between does not count.
//
// Not thread-safe. hold() and release() take time proportional to the claim's devices and the groups on their cards.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/usage/limits.h"
#include "pkg/usage/parts.h"
#include "pkg/usage/record.h"

namespace dra::usage {

// What one claim holds with the same labels.
struct Use {
  Labels labels;
  int64_t devices = 0;
  std::vector<Part> parts;
  std::vector<Share> shares;
  // Of devices that no slice publishes: each counts as much as the group's devices do on average, or a whole card.
  std::vector<Part> unknown;
};

class Ledger : public Limits {
 public:
  // Nothing that was held before `begin` counts.
  explicit Ledger(int64_t begin) : floor_(begin), now_(begin) {}

  // Before the first hold(): the totals of the record are those at `as_of`, where the ledger now begins.
  void restore(const Record& record, int64_t as_of);
  // Once every claim that is held now was given to hold(). Until then time stands still, and totals mean nothing.
  void settle_absent(int64_t now);
  bool begun() const { return begun_; }

  // The claim holds this since then; replaces what it held. `since` before the ledger begins counts from its beginning.
  void hold(std::string_view uid, std::vector<Use> uses, int64_t since, int64_t now);
  void release(std::string_view uid, int64_t now);
  bool holds(std::string_view uid) const { return claims_.contains(std::string(uid)); }

  // The totals up to now, and what is held. Drops the labels that have been idle for long.
  Record record(int64_t now);

  size_t claim_count() const { return claims_.size(); }
  size_t series() const { return groups_.size() * kSeriesOfGroup + share_series_; }

 private:
  struct OfShare {
    double seconds = 0;
    int64_t held = 0;     // nanos
    int64_t carried = 0;  // of restore(), and not yet of a claim
  };
  struct Group {
    double device_seconds = 0, card_seconds = 0;
    int64_t devices = 0, cards = 0;                  // held; cards in nanos
    int64_t carried_devices = 0, carried_cards = 0;  // of restore(), and not yet of a claim
    int64_t settled = 0;                             // the totals are those at this time
    int64_t idle_since = 0;                          // while nothing is held
    std::map<std::string, OfShare, std::less<>> shares;
  };
  using Groups = std::map<Labels, Group>;
  // A card, and the parts of it by group. `counted` is what a part counts, in nanos, now.
  struct Card {
    struct Of {
      Group* group;
      int64_t nanos, counted;
      size_t parts;
    };
    int64_t nanos = 0;
    std::vector<Of> parts;
  };
  struct HeldShare {
    Group* group;
    OfShare* share;
    int64_t nanos;
  };
  struct Held {
    Groups::iterator group;
    int64_t devices = 0;
    int64_t cards = 0;  // what it added to the group when it began
    int64_t since = 0;
    std::vector<Part> parts;
    std::vector<HeldShare> shares;
  };

  // The time at which a change takes place: `now`, or, until settle_absent(), when the ledger began.
  int64_t advance(int64_t now);
  static void settle(Group& group, int64_t at);
  Groups::iterator group_for(const Labels& wanted);
  Groups::iterator make_group(const Labels& labels);
  HeldShare share_for(Group& group, const Share& share);
  // Returns what the part can have counted before.
  int64_t put_on_card(Group& group, const Part& part, int64_t at);
  void take_off_card(Group& group, const Part& part, int64_t at);
  static void recount(Card& card, int64_t at);
  void begin_use(Use use, int64_t since, int64_t now, std::vector<Held>& held);
  void end_use(Held& held, int64_t now);
  static void carry_on(Held& held);
  static void credit(Held& held, int64_t cards, int64_t from, int64_t to);
  void drop_idle();
  void count_labels(const Labels& labels, int by);

  int64_t floor_;
  int64_t now_;
  bool begun_ = false;  // settle_absent() was called
  Groups groups_;
  std::unordered_map<std::string, Card> cards_;
  std::unordered_map<std::string, std::vector<Held>> claims_;
  // Labels in use, and by how many groups.
  using Known = std::map<std::string, size_t, std::less<>>;
  static std::string admit(const Known& known, size_t most, const std::string& wanted);
  Known namespaces_, classes_, drivers_, owners_, names_;
  size_t share_series_ = 0;
};

}  // namespace dra::usage
