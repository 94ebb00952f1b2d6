// GroupCounter: can devices form so many groups, each of which shares a value of an attribute?
//
//   GroupCounter counter;
//   counter.can_form(terms, 8, limit)   // 8 groups, each with terms[t].number devices of every term t
//   counter.most(terms, 8, limit)       // how many, at most 8
//
// A group takes `number` devices of each term, and one value is among the values of all of them. So a choice is a
// number of groups for each value, for which every term has enough devices that each stand for one of their values.
//  - If every device has one value, values are independent: what a value can serve is a minimum over the terms, and,
//    where terms compete for devices, Hall's condition over sets of terms.
//  - With lists, a flow from the devices of one term over the values to those of another bounds what the two can serve;
//    for two terms of one device each it is exact. Beyond that a search over numbers of groups by value, with a
//    matching of devices to values, within `limit`.
//
// In a search some devices are taken already and the rest is open: each taken device counts, in a group or beside one,
// and only `more` of the free ones follow. "No" is a proof; "yes" is exact if nothing is taken or nothing is free, and
// otherwise means that no bound refutes it.
//
// Not thread-safe: it keeps its buffers between calls. Costs about a nanosecond per device, value and term for single
// values; see work().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace dra::allocator {

// GroupDevice::id of a device for which terms do not compete.
inline constexpr uint32_t kNoRival = UINT32_MAX;

struct GroupDevice {
  const uint32_t* begin = nullptr;  // its values by number, ascending; at least one
  const uint32_t* end = nullptr;
  uint32_t id = kNoRival;  // free devices that several terms could take, but only one of them: equal in all of them
};

struct GroupTerm {
  uint32_t number = 1;
  std::vector<GroupDevice> taken;
  std::vector<GroupDevice> free;
  uint64_t taken_without_value = 0;  // taken devices that are in no group
  uint64_t more = 0;                 // how many of `free` are taken in the end

  void clear() {
    number = 1;
    taken.clear();
    free.clear();
    taken_without_value = more = 0;
  }
};

class GroupCounter {
 public:
  enum class Answer : uint8_t { kYes, kNo, kUnknown };

  // `limit`: of work() for this call beyond its reading of the devices, exceeded by one flow at most; then the answer
  // is kUnknown. At most 8 terms.
  Answer can_form(std::span<const GroupTerm> terms, uint64_t groups, uint64_t limit);
  // The most groups, at most `at_most`; nothing may be taken, and `more` is ignored. Nullopt: the limit, of the whole
  // call, was reached.
  std::optional<uint32_t> most(std::span<const GroupTerm> terms, uint32_t at_most, uint64_t limit);

  // Devices and values visited since construction; about as many nanoseconds.
  uint64_t work() const { return work_; }

 private:
  // A device with those of its values that every term has.
  struct Device {
    uint32_t term = 0;
    uint32_t id = kNoRival;
    bool taken = false;
    uint32_t first = 0, count = 0;  // in device_values_
  };
  bool lay_out(std::span<const GroupTerm> terms);
  void find_common_values(std::span<const GroupTerm> terms);
  void add_devices(std::span<const GroupTerm> terms);
  bool enough_devices(std::span<const GroupTerm> terms, uint64_t groups) const;
  void limit_by_rivals(std::span<const GroupTerm> terms);
  uint32_t least_cap(std::span<const GroupTerm> terms, uint32_t value, const std::vector<uint32_t>& within);
  Answer form_of_single_values(std::span<const GroupTerm> terms, uint64_t groups) const;
  bool waste_suffices(const GroupTerm& term, uint32_t t, uint64_t groups, const std::vector<uint32_t>& least) const;

  // group_flow.cc: lists
  Answer form_of_lists(std::span<const GroupTerm> terms, uint64_t groups, uint64_t limit);
  bool flows_suffice(std::span<const GroupTerm> terms, uint64_t groups);
  uint64_t flow(std::span<const GroupTerm> terms, uint32_t s, uint32_t t, bool taken_of_t, uint64_t enough);
  void make_nodes(std::span<const GroupTerm> terms);
  Answer choose(std::span<const GroupTerm> terms, uint32_t value, uint64_t left);
  void forget(std::span<const GroupTerm> terms, uint32_t value);
  bool serve(std::span<const GroupTerm> terms, uint32_t value);
  bool augment(uint32_t slot, bool taken_only);
  bool few_of_the_free(std::span<const GroupTerm> terms);

  uint32_t value_count() const { return static_cast<uint32_t>(common_.size()); }

  uint64_t work_ = 0;
  std::vector<uint32_t> index_;    // by value: 1 + its index in common_; 0: not common
  std::vector<uint32_t> common_;   // values that all terms have
  std::vector<uint32_t> seen_;     // by value: terms that have it, while they are found
  std::vector<uint32_t> touched_;  // values with an entry in seen_
  std::vector<Device> devices_;
  std::vector<uint32_t> device_values_;
  std::vector<uint32_t> taken_, free_;                  // by term and value: devices that have it
  std::vector<uint32_t> cap_;                           // by value: an upper bound of its groups
  std::vector<uint64_t> in_play_taken_, in_play_free_;  // by term: devices with a common value
  bool lists_ = false, rivals_ = false;

  // group_flow.cc: the matching. A node is one device for all terms that it could serve, a slot a term and a value.
  std::vector<bool> node_taken_;
  std::vector<uint32_t> slot_of_node_;  // that it serves; kNoRival: none
  std::vector<std::vector<uint32_t>> nodes_of_slot_;
  std::vector<uint64_t> need_, have_;  // by slot (term and value)
  std::vector<uint64_t> later_caps_;
  uint64_t work_limit_ = 0;
  struct Edge {
    uint32_t to;
    uint32_t left;
  };
  std::vector<Edge> edges_;
  std::vector<std::vector<uint32_t>> edges_of_;
  std::vector<uint32_t> level_, next_edge_;
  void add_edge(uint32_t from, uint32_t to, uint32_t capacity);
  bool find_levels(uint32_t from, uint32_t to);
  uint32_t push(uint32_t from, uint32_t to, uint32_t most);
};

}  // namespace dra::allocator
