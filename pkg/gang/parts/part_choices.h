// PartChoices: the ways to choose, of a group of groups, the children and members that are placed, and a domain for
// each part that needs one, in the order in which they are tried.
//
//   for (bool more = choices.begin(...); more; ) {
//     if (choices.at_members() && impossible(choices.chosen())) { more = choices.skip(); continue; }
//     if (choices.complete()) break;                              // everything is chosen
//     more = choices.deeper();
//   }
//
// A depth-first walk: from the whole downwards, for each part its domain, then its children or members. What is chosen
// so far only grows with deeper(), so that what refutes it refutes all that follows from it. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/gang/request.h"

namespace dra::gang {

using NodeBits = std::shared_ptr<const std::vector<bool>>;  // by node

struct ChosenMember {
  uint32_t member = 0;  // index into GangRequest::members
  NodeBits allowed;     // null: every node
};

class PartChoices {
 public:
  // What the caller knows of the request; must outlive this. `domains` is by part: its domains, those of the members
  // placed already alone; empty for parts that require none.
  struct Tree {
    const std::vector<GroupPart>& parts;
    const std::vector<uint32_t>& kind_of;  // by member: members of one kind can take each other's place
    std::vector<std::vector<NodeBits>> domains;
  };

  explicit PartChoices(Tree tree);

  // The first choice; false: there is no way at all.
  bool begin();
  // One more is chosen. False: there is none; the walk is over.
  bool deeper();
  // The latest one is chosen in another way.
  bool skip();
  bool complete() const { return agenda_.empty(); }
  // The latest choice was that of members: chosen() has grown.
  bool at_members() const;
  const std::vector<ChosenMember>& chosen() const { return chosen_; }
  // The part whose members were chosen last.
  uint32_t part() const { return levels_.empty() ? 0 : levels_.back().part; }
  size_t bytes() const { return levels_.size() * kBytesOfLevel; }

 private:
  static constexpr size_t kBytesOfLevel = 512;
  enum class What : uint8_t { kDomain, kChildren, kMembers };
  struct Level {
    What what = What::kChildren;
    uint32_t part = 0;
    // kDomain: one number; kChildren: ascending places in children_; kMembers: how many of each kind.
    std::vector<uint32_t> way;
    // To undo it.
    std::vector<std::pair<uint32_t, What>> agenda_before;
    size_t chosen_before = 0;
    NodeBits allowed_before;
  };

  bool first_way(Level& level) const;
  bool next_way(Level& level) const;
  void apply(Level& level);
  void undo(const Level& level);
  NodeBits narrowed(uint32_t part, const NodeBits& domain) const;

  const Tree tree_;
  std::vector<std::vector<uint32_t>> children_;            // by part
  std::vector<std::vector<std::vector<uint32_t>>> kinds_;  // by part: members of each kind
  std::vector<NodeBits> allowed_;                          // by part, as chosen; null: every node
  std::vector<std::pair<uint32_t, What>> agenda_;          // to be chosen, the next one last
  std::vector<Level> levels_;
  std::vector<ChosenMember> chosen_;
};

}  // namespace dra::gang
