// RailSupply: which values devices offer for a rule about rails, per kind of members, and bounds that follow by
// counting: how many members can stand for a list of values at most.
//
// Bounds are sound, not exact: they leave aside everything but free devices and their values. Nodes with equal offers
// count as one line. Valid for one state of inventory and nodes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/gang/request.h"
#include "pkg/gang/search/table.h"

namespace dra::gang {

class RailSupply {
 public:
  static constexpr uint32_t kMany = 1u << 20;  // devices that can be taken several times

  // How many devices a member has for the rule, its allocated ones included.
  struct Range {
    uint32_t least = 0, most = 0;
  };
  struct Line {
    std::vector<uint32_t> devices;    // by value, for all members together
    std::vector<uint32_t> of_member;  // by value: what one member can have of them
    auto operator<=>(const Line&) const = default;
  };
  struct KindOffer {
    uint32_t kind = 0;
    Range devices;
    size_t next = 0;                 // of `nodes`: the next one to ask
    std::vector<NodeId> nodes;       // that accept its members, as far as Nodes decides it
    bool asked = false;              // `nodes` is known
    std::map<Line, uint32_t> lines;  // so many nodes
    std::vector<uint32_t> taken;     // devices that members have already, by value
    uint32_t most_here = 0;          // devices that a member can have on one node, of any value
    bool shares = false;             // members share claims: devices are not divided among them
  };

  RailSupply(const GangRequest& request, const Table& table, uint32_t rule);

  // False: the slice ended first, call again. Uses the allocator's and the meter's time.
  bool collect(const GangRequest& request, const Table& table, Nodes& nodes, allocator::Allocator& allocator,
               allocator::Meter& meter);

  // Range::most is what a node can give, if collected.
  const std::vector<KindOffer>& kinds() const { return kinds_; }
  const std::vector<std::string>& values() const { return values_; }
  // The number of a value; values that only running members have get one, too.
  uint32_t number_of(const std::string& value);
  // Members of the kind that fit at most, each with devices for every entry: `wanted` devices by value.
  uint64_t with_all(const KindOffer& kind, const std::vector<std::pair<uint32_t, uint32_t>>& wanted) const;
  // The same, each with at least KindOffer::devices.least devices for some of the entries.
  uint64_t with_some(const KindOffer& kind, const std::vector<std::pair<uint32_t, uint32_t>>& wanted) const;
  uint64_t work() const { return work_; }

 private:
  static uint32_t of(const std::vector<uint32_t>& line, uint32_t value) {
    return value < line.size() ? line[value] : 0;
  }

  void add_line(KindOffer& kind, const allocator::ValueSupply& supply, uint32_t requests);

  const uint32_t rule_;
  std::vector<KindOffer> kinds_;  // that the rule binds
  std::vector<std::string> values_;
  std::map<std::string, uint32_t> numbers_;
  mutable uint64_t work_ = 0;  // lines looked at
};

}  // namespace dra::gang
