// Session: one group's attempt, from its first slice to its answer: the domains in the order in which they are tried,
// and the progress of the search.
//
//   Decision decision = session.go_on(request, nodes);   // again in the next slice while it is kUnfinished
//
// States, in this order: the claims decided first, the candidates of each kind, the counts (things), the domains of
// each level, then the search in one domain after the other; every one of them may end a slice. An error of the request
// or of the allocator ends the session with Outcome::kError. If inventory or nodes changed between two slices, it
// begins again; spent steps stay spent. Gangs bounds the bytes() of all sessions. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/gang/request.h"
#include "pkg/gang/search/domain_search.h"
#include "pkg/gang/search/rail_list.h"
#include "pkg/gang/search/table.h"

namespace dra::gang {

class Session {
 public:
  // Decides whether a session belongs to a request: a hash of its members, claims (by object) and wishes.
  static inventory::Hash128 identity(const GangRequest& request);

  // `spent`: steps of the budget that are used up already.
  Session(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
          allocator::Meter& meter, Table table, uint64_t spent)
      : inventory_(inventory), allocator_(allocator), options_(options), meter_(meter), table_(std::move(table)) {
    progress_.steps = spent;
  }
  // Before the first slice: the values that members' devices must stand for, and kinds of which one must be placed.
  void set_rails(std::vector<RailList> rails, std::vector<uint32_t> must_place) {
    rails_ = std::move(rails);
    must_place_ = std::move(must_place);
  }

  // Runs one slice.
  Decision go_on(const GangRequest& request, Nodes& nodes);
  // What it found is void, since something changed: most of it may still fit, and the next slice begins with that.
  // `nodes_version` and `tables_version` are those for which it was found.
  void begin_from(const Decision& found, uint64_t nodes_version, uint64_t tables_version);
  // Some of that was not placed again yet.
  bool places_again() const { return (changed_ && !memory_.path.empty()) || !memory_.unchecked.empty(); }
  // An estimate of what it keeps.
  size_t bytes() const;

 private:
  using End = DomainSearch::End;
  // What is known about a domain that has no capacity.
  struct Refuted {
    bool known = false;
    const Domain* domain = nullptr;
    uint64_t placed = 0;
    bool counted = false;         // by counting, not by a search
    std::vector<uint32_t> alone;  // SearchMemory::alone, of a search that got so far
  };
  // A kind for which there is not enough capacity even alone.
  struct Blame {
    std::optional<uint32_t> kind;
    uint64_t fits_of_kind = 0;
  };
  // The level whose domains are being counted.
  struct Counting {
    std::optional<uint32_t> level;  // nothing: the cluster
    size_t next = 0;                // the next of all_nodes_ whose path is looked up
    std::map<std::string, std::vector<NodeId>> by_path;
    bool divided = false;             // the following are made
    std::vector<uint32_t> domain_of;  // by node; kInNone
    std::vector<std::string> paths;   // by domain
    std::vector<Domain> domains;
    std::vector<uint64_t> now, at_best;  // by domain, of the current kind
    uint32_t kind = 0;                   // the next to count
  };
  static constexpr uint32_t kInNone = UINT32_MAX;

  // Devices that members of several kinds may want: one request for one of them.
  struct Thing {
    api::DeviceSubRequest what;
    std::shared_ptr<const api::ResourceClaim> claim;
    std::vector<uint32_t> has;  // by node
    bool counted = false;
  };

  // session.cc
  void begin_slice(Nodes& nodes);
  bool prepare(const GangRequest& request, Nodes& nodes);
  bool prepare_kind(const GangRequest& request, uint32_t kind, Nodes& nodes);
  bool find_first_claims();
  Decision search(const GangRequest& request, Nodes& nodes);
  End search_domain(const Domain& domain, const DomainSearch::World& world, Nodes& nodes, Decision& decision);
  void take_over(const Trial& trial, const Domain& domain, Decision& decision) const;
  bool must_be_placed(uint32_t kind) const {
    return std::find(must_place_.begin(), must_place_.end(), kind) != must_place_.end();
  }
  void note_refuted(const Domain& domain, const GangRequest& request);

  // domains.cc
  void begin_domains(const GangRequest& request);
  // The following are false when the slice ended first.
  bool make_domains(const GangRequest& request, const Nodes& nodes);
  bool find_paths(const Nodes& nodes);
  bool count_fits();
  void divide(const GangRequest& request, const Nodes& nodes);
  void end_level();
  const std::string* value_of(NodeId node, uint32_t level, const Nodes& nodes) const;
  std::optional<std::string> path_of(NodeId node, uint32_t level, const Nodes& nodes) const;
  std::vector<const Domain*> chain_from(const Domain& domain, const Nodes& nodes) const;
  uint64_t fit_count_of_kind(uint32_t kind, const Domain& domain) const;

  // together.cc
  void find_things();
  void find_resources(Nodes& nodes);
  bool count_things();
  void find_most();
  uint64_t together(const Domain& domain, uint32_t need);

  // reasons.cc
  Decision impossible(const GangRequest& request) const;
  Decision undecided(const GangRequest& request) const;
  Blame blame(const GangRequest& request) const;
  std::string largest(const GangRequest& request, const Blame& blame) const;
  bool never_anywhere(const GangRequest& request) const;

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options& options_;
  allocator::Meter& meter_;
  Table table_;
  std::vector<RailList> rails_;
  std::vector<uint32_t> must_place_;  // kinds

  // of the state when the previous slice ended
  uint64_t inventory_version_ = 0;
  uint64_t nodes_version_ = 0;
  bool changed_ = false;  // since what memory_ holds was found; a slice may end before the search begins

  bool first_claims_known_ = false;
  uint32_t first_claims_at_ = 0;  // the next claim to judge
  std::vector<uint32_t> first_claims_;
  std::vector<bool> is_first_;  // by claim
  std::vector<bool> tied_;      // by kind
  std::vector<KindNodes> kinds_;
  std::vector<uint32_t> kind_order_;
  bool first_claims_order_matters_ = false;
  bool node_local_ = false;
  bool any_order_ = false;
  bool counted_ = false;  // all but the domains is prepared
  bool prepared_ = false;
  bool things_known_ = false;
  std::vector<Thing> things_;
  std::vector<std::vector<uint64_t>> wants_;  // by kind, then thing
  std::vector<std::vector<uint32_t>> most_;   // by node, then kind: members that fit there; empty: not counted together
  // Of CPU, memory and pods; by kind, and by node. Empty: unknown.
  std::vector<std::array<uint64_t, 3>> takes_, left_;
  std::vector<std::string> levels_;
  mutable std::map<std::pair<NodeId, uint32_t>, std::optional<std::string>> attributes_;  // of nodes, by level
  std::vector<Domain> domains_;                       // in the order in which they are tried
  std::vector<std::string> paths_;                    // by domain
  std::vector<NodeId> all_nodes_;                     // that some kind may go to
  std::vector<std::optional<uint32_t>> levels_left_;  // to be made into domains, the next one last
  std::optional<Counting> counting_;
  size_t at_domain_ = 0;
  std::vector<std::string> unknown_levels_;
  std::string no_domain_;  // why there is none

  SearchMemory memory_;
  Progress progress_;
  Refuted best_;  // among the widest domains: the one in which most members were placed
  bool never_ = true;
  uint32_t slices_ = 0;
};

}  // namespace dra::gang
