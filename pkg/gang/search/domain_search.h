// DomainSearch: places members of a group on the nodes of one domain, or proves that fewer than `need` fit.
//
// Three stages, each of which can end it (docs/design/groups.md has the proofs):
//  1. dive      kind by kind, member by member, each where the allocator's strategy puts it, without backtracking.
//               Exact for one kind of members that affect only their own node, because a full node is first packed
//               again.
//  2. alone     how many of each kind fit if no other kind is placed
//  3. search    exhaustive; remembers states that have no solution
// Claims shared by members whose devices several nodes can use are decided before any member ("first claims").
//
// A slice may end anywhere: SearchMemory keeps what is placed as a path, and the next slice places it again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/gang/request.h"
#include "pkg/gang/search/rail_list.h"
#include "pkg/gang/search/table.h"
#include "pkg/gang/search/trial.h"

namespace dra::gang {

using HashSet = std::unordered_set<inventory::Hash128, inventory::Hash128Hash>;

// What is known about a kind of members while nothing is placed.
struct KindNodes {
  bool ready = false;
  std::vector<Candidate> candidates;  // best first; the selectors of allocated claims hold
  std::vector<NodeId> ids;            // of `candidates`
  allocator::FitCounts fits;          // by candidate; of the kind's claims except those decided first
};

struct Domain {
  std::optional<uint32_t> level;
  std::string text;  // "rack=r7"; empty: the cluster
  std::vector<NodeId> nodes;
  uint64_t fits = 0;          // upper bound of members of the group that fit, by counting
  uint64_t spare = 0;         // the same for any number of members: distinguishes small domains from large ones
  uint64_t at_best = 0;       // the same if no claim held any device
  bool holds_placed = false;  // some members of the group are already there
  bool joint = false;         // `fits` also counts kinds together
};

// What is kept between slices.
struct SearchMemory {
  static constexpr size_t kMaxStates = 20'000;

  enum class Stage : uint8_t { kDive, kAlone, kSearch, kExtend };
  struct Step {
    uint32_t member = 0;
    NodeId node = inventory::kNone;
    ClaimResults results;
  };

  Stage stage = Stage::kDive;
  uint32_t kind = 0;            // for kDive, kAlone, kExtend: the current one
  std::vector<uint32_t> alone;  // for kAlone: how many fit, by kind
  std::vector<Step> path;
  // Steps behind the path that were not placed again yet since something changed, and how often something changed again
  // before all were.
  std::vector<Step> unchecked;
  uint32_t restarts = 0;
  // Versions of the nodes and of the inventory's tables for which all these steps were possible.
  uint64_t nodes_version = 0, tables_version = 0;
  HashSet dead;     // states of kSearch without a solution
  HashSet refused;  // combinations of kinds that do not fit on a node
  uint64_t most_placed = 0;
  uint64_t ways = 0;      // number of refuted ways to decide the first claims
  uint64_t searched = 0;  // steps of kSearch in earlier slices
};

// For one attempt, across domains.
struct Progress {
  uint64_t steps = 0;
  bool undecided = false;  // something was left out: "none" is not a proof
  std::optional<Error> error;
  std::optional<size_t> guilty;
  Duration ask_again{};
};

class DomainSearch {
 public:
  enum class End : uint8_t { kFound, kNone, kStopped, kError };

  struct World {
    const GangRequest& request;
    const Table& table;
    const std::vector<uint32_t>& kind_order;  // kinds, hardest first
    const std::vector<uint32_t>& first_claims;
    std::vector<KindNodes>& kinds;
    inventory::Inventory& inventory;
    allocator::Allocator& allocator;
    Nodes& nodes;
    const Options& options;
    allocator::Meter& meter;
    std::vector<bool> tied;   // by kind: its members share a claim that is not decided first
    bool node_local = false;  // members affect only their own node, in devices and otherwise
    bool any_order = false;   // placing one member may make another possible
    bool changed = false;     // something may differ from when the path was saved
    const std::vector<RailList>& rails;
    const std::vector<uint32_t>& must_place;  // kinds of which a member must be placed
  };

  DomainSearch(const World& world, SearchMemory& memory, Progress& progress, Trial& trial);

  // kFound: at least `need` members are placed in the trial. kStopped: by the slice or the budget; the path is saved.
  End run(const Domain& domain, uint32_t need);
  // After kFound: places the other members where they fit, in `domains`, narrow to wide. Never kNone.
  End extend(const std::vector<const Domain*>& domains);
  // Enough members are placed, and those that must be.
  bool enough() const {
    if (trial_.placed() < need_) return false;
    for (const uint32_t kind : world_.must_place)
      if (trial_.placed_of_kind(kind) == 0) return false;
    return true;
  }
  bool out_of_budget() const { return progress_.steps >= world_.options.step_budget; }
  // Up to this many members an exhaustive search ends in acceptable time; with more, practically never.
  static constexpr size_t kFewMembers = 32;
  static constexpr uint64_t kSearchStepsOfMember = 1'000;
  // Placing a thousand members again takes several slices. If something changed so often before all were, a slice may
  // take longer for it, by a quarter more with each further change.
  static constexpr uint32_t kMostRestarts = 4;
  // A slice that spent its time on placing again still gets so much for new work.
  static constexpr Duration kLeastAfterReplay = std::chrono::microseconds(1500);

 private:
  struct Child {
    NodeId node = inventory::kNone;
    ClaimResults results;
  };
  enum class Next : uint8_t { kChild, kNone, kStopped, kError };
  using NodeSet = std::unordered_set<NodeId>;

  // domain_search.cc
  void set_domain(const Domain& domain);
  bool in_domain(NodeId node) const { return node < in_domain_.size() && in_domain_[node]; }
  // `ends`: the trial is only undone after this, so its decisions are moved.
  void save_path(bool ends);
  // kNone: done. kStopped: the slice ended first.
  End replay();
  bool place_again(SearchMemory::Step step, bool check);
  void hand_over(SearchMemory::Step& step, uint32_t member) const;
  // Nothing has changed that concerns the step, as far as is known without a search.
  bool is_untouched(const SearchMemory::Step& step) const;
  void begin_stage(SearchMemory::Stage stage);
  void undo(size_t steps);
  End dive();
  void dive_into_claims();
  End alone();
  End search_ways();
  End fill(uint32_t kind, uint64_t until);
  uint32_t size_of(uint32_t kind) const { return static_cast<uint32_t>(world_.table.kinds[kind].members.size()); }
  // Members of the kind are independent except for capacity on a node: filling node by node places the most possible.
  bool fills_exactly(uint32_t kind) const { return world_.node_local && !world_.tied[kind]; }
  End stop() {
    save_path(false);
    return End::kStopped;
  }
  // The exhaustive search takes steps back after this, and a search out of budget uses what it has.
  End stop_in_fill() {
    save_path(!searching_ && !out_of_budget());
    return End::kStopped;
  }
  bool must_stop() const { return out_of_budget() || searched_enough() || (world_.meter.stopped() && worked_); }
  bool searched_enough() const {
    const size_t members = world_.request.members.size();
    return searching_ && members > kFewMembers &&
           memory_.searched + (progress_.steps - searched_from_) >= kSearchStepsOfMember * members;
  }
  void work(uint64_t steps) {
    worked_ = true;
    progress_.steps += steps;
    world_.meter.charge(steps);
  }
  // A member of the kind must be placed and none is.
  bool must_place(uint32_t kind) const {
    return std::find(world_.must_place.begin(), world_.must_place.end(), kind) != world_.must_place.end() &&
           trial_.placed_of_kind(kind) == 0;
  }
  static End end_of(Next next) {
    return next == Next::kStopped ? End::kStopped : next == Next::kError ? End::kError : End::kNone;
  }

  // children.cc: where the next member of a kind can go
  Next next_child(uint32_t kind, NodeSet& tried, Child& child);
  void gather(uint32_t kind, uint32_t member, NodeSet& tried);
  bool usable(uint32_t member, NodeId node) const;
  bool is_first(uint32_t claim) const;
  bool lacks_claim(uint32_t member) const;
  void refuse(const std::vector<uint32_t>& claims);
  std::optional<NodeFacts> look(uint32_t kind, uint32_t member, NodeId node);
  Next pack_anew(uint32_t kind, uint32_t member, NodeSet& tried, Child& child);
  Next pack_node(uint32_t member, NodeId node, Child& child);
  allocator::Request request_for(uint32_t member, const std::vector<uint32_t>& claims) const;
  void add_rails(allocator::Request& request, uint32_t member, const std::vector<uint32_t>& claims) const;
  void add_pairs(allocator::Request& request, const std::vector<uint32_t>& members,
                 const std::vector<uint32_t>& claims) const;
  std::vector<uint32_t> concerned(uint32_t member, const std::vector<uint32_t>& claims, bool waiting) const;
  Next fail_with(uint32_t member, std::optional<Error> error);
  void push(uint32_t member, Child child);
  void pop();

  // exhaustive.cc
  End place_kinds(size_t at);
  End place_next(size_t at);
  End place_last(size_t at);
  End place_any(size_t from);
  End any_child(uint32_t kind, size_t from);
  End each_solution(uint32_t member, NodeId node, size_t from);
  const SearchMemory::Step* next_hint();
  End decide_first_claims(size_t at, uint64_t& way);
  End search_way(uint64_t& way);
  End each_way(size_t at, NodeId node, HashSet& seen, uint64_t& way);
  uint64_t still_possible(size_t at) const;
  NodeSet known_dead_ends(size_t at) const;
  inventory::Hash128 state(size_t at) const;
  static inventory::Hash128 state_with(inventory::Hash128 state, const inventory::Hash128& places);
  static inventory::Hash128 hash_of(const api::AllocationResult& result);
  End dead_end(const inventory::Hash128& key);

  const World& world_;
  SearchMemory& memory_;
  Progress& progress_;
  Trial& trial_;
  uint32_t need_ = 0;
  std::vector<bool> in_domain_;
  const Domain* domain_ = nullptr;
  bool worked_ = false;     // in this slice
  bool searching_ = false;  // kSearch
  uint64_t searched_from_ = 0;
  bool relaxed_ = false;  // the claims decided first are left out of the question
  size_t hint_ = 0;       // index into the path: the next step to follow
  // Nodes on which something was placed, and when; look()'s answer since then.
  std::unordered_map<NodeId, uint64_t> touched_;
  struct Seen {
    uint64_t stamp = 0;
    std::optional<NodeFacts> facts;
  };
  std::unordered_map<uint64_t, Seen> looks_;
  uint64_t clock_ = 0;
  std::vector<NodeId> order_;
  std::vector<NodeFacts> facts_;
};

}  // namespace dra::gang
