// RailChoices: the lists of values that a rule about rails allows, one after the other, without those that counting
// refutes.
//
// A list is as long as the devices of the member with the most. So for every length that some member can have: the
// multisets of values of that length that contain what running members need, and for which devices are left in sum. If
// no member has that length in any case, one of a kind that can have it must be placed (RailList::longest).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/gang/rails/supply.h"
#include "pkg/gang/request.h"
#include "pkg/gang/search/rail_list.h"
#include "pkg/gang/search/table.h"

namespace dra::gang {

class RailChoices {
 public:
  // Lists looked at before the best of them is tried.
  static constexpr size_t kBatch = 64;
  // Fewer are enough when so many beginnings were judged since the last one.
  static constexpr uint64_t kJudgedABatch = 8192;

  // The supply must be collected; both must outlive this.
  RailChoices(const GangRequest& request, const Table& table, uint32_t rule, RailSupply& supply);

  enum class Step : uint8_t { kList, kNone, kStopped };
  // The next list. kStopped: the slice ended first.
  Step next(RailList& out, allocator::Meter& meter);

  // Members for which the best refuted list had devices, by counting, and that list; for reasons.
  uint64_t best_count() const { return best_count_; }
  const std::vector<std::string>& best_entries() const { return best_entries_; }

 private:
  struct Branch {
    uint32_t length = 0;
    std::optional<uint32_t> longest;     // a member
    std::optional<size_t> longest_kind;  // of the supply
  };
  struct Found {
    uint64_t count = 0;
    RailList list;
  };

  void find_needs(const GangRequest& request, const Table& table);
  void find_branches(const Table& table);
  void add_branches(uint32_t length, const Table& table);
  void begin_branch();
  // To the next list or beginning of one; false: the branch has no more.
  bool advance();
  // Judges what is chosen so far. False: nothing that begins so can hold the members.
  bool judge();
  bool fits_running(bool complete) const;
  uint64_t count_of(size_t kind, bool complete) const;
  std::vector<std::string> entries() const;
  void charge(allocator::Meter& meter);

  const uint32_t rule_;
  RailSupply& supply_;
  const uint32_t min_count_;
  bool all_placed_ = false;
  uint64_t unbound_ = 0;  // waiting members that the rule does not bind
  std::vector<alignment::MemberRails> running_;
  std::vector<uint32_t> needed_;        // values that running members need, ascending
  std::vector<uint64_t> sizes_, need_;  // by kind of the supply: its members; of these, must be placed
  std::vector<Branch> branches_;
  size_t branch_ = 0;
  bool begun_ = false;
  bool pruned_ = false;
  std::vector<uint32_t> order_;       // values, those with most devices first
  std::vector<uint32_t> sequence_;    // of positions in order_, ascending: entries beside the needed ones
  std::vector<uint32_t> entries_of_;  // by value
  std::vector<std::pair<uint32_t, uint32_t>> wanted_;  // value, entries; those with any
  std::vector<Found> batch_;                           // best last
  uint64_t best_count_ = 0;
  std::vector<std::string> best_entries_;
  uint64_t judged_ = 0, charged_ = 0, batch_ends_ = kJudgedABatch;
};

}  // namespace dra::gang
