// PartedSession: one attempt for a group of groups. Walks through the ways to choose children, members and domains
// (part_choices.h), and asks a RailedSession about all members that are chosen so far, together: what has no place
// refutes everything that follows from it. Exact: found and impossible are so for the whole. docs/design/groups.md,
// "Groups of groups".
//
//   Decision decision = session.go_on(request, nodes);   // as Session
//
// Without parts it is the RailedSession itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/gang/parts/part_choices.h"
#include "pkg/gang/rails/railed_session.h"

namespace dra::gang {

class PartedSession {
 public:
  PartedSession(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
                allocator::Meter& meter, bool parted, Table table, uint64_t spent);

  Decision go_on(const GangRequest& request, Nodes& nodes);
  void begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version);
  bool places_again() const { return flat_ != nullptr && !parted_ && flat_->places_again(); }
  size_t bytes() const;

 private:
  void begin(const GangRequest& request, Nodes& nodes);
  std::vector<NodeBits> domains_of(const GroupPart& part, const Nodes& nodes) const;
  // The question about the members that are chosen so far.
  GangRequest question(const GangRequest& request) const;
  // kInfeasible: what is chosen is refuted.
  Decision ask(const GangRequest& request, Nodes& nodes);
  void note_refuted(const GangRequest& request, Decision& decision);
  Decision impossible(const GangRequest& request) const;

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options& options_;
  allocator::Meter& meter_;
  const bool parted_;
  const Table table_;                    // of all members; empty without parts
  std::unique_ptr<RailedSession> flat_;  // of the members that are chosen; without parts the whole attempt
  std::unique_ptr<PartChoices> choices_;
  bool more_ = false;     // choices_ has a choice
  bool changed_ = false;  // since some choice was refuted
  bool undecided_ = false;
  uint64_t inventory_version_ = 0, nodes_version_ = 0;
  uint64_t steps_ = 0;
  uint32_t slices_ = 0;
  // The refutation that came furthest.
  size_t furthest_ = 0;
  std::string reason_;
  std::optional<size_t> guilty_;
  std::vector<std::string> unknown_levels_;
};

}  // namespace dra::gang
