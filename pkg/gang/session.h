// Session: one group's attempt, from its first slice to its answer: the domains in the order in which they are tried,
// and the progress of the search.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "pkg/gang/domain_search.h"
#include "pkg/gang/gang.h"
#include "pkg/gang/table.h"

namespace dra::gang {

class Session {
 public:
  // Decides whether a session belongs to a request: a hash of its members, claims (by object) and wishes.
  static inventory::Hash128 identity(const GangRequest& request);

  Session(inventory::Inventory& inventory, allocator::Allocator& allocator, const Options& options,
          allocator::Meter& meter, Table table)
      : inventory_(inventory), allocator_(allocator), options_(options), meter_(meter), table_(std::move(table)) {}

  // Runs one slice.
  Decision go_on(const GangRequest& request, Nodes& nodes);

 private:
  using End = DomainSearch::End;
  // What is known about a domain that has no capacity.
  struct Refuted {
    bool known = false;
    const Domain* domain = nullptr;
    uint64_t placed = 0;
    bool counted = false;          // by counting, not by a search
    std::optional<uint32_t> kind;  // there is not enough capacity for this kind even alone
    uint64_t fits_of_kind = 0;
  };

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
  bool prepare_kind(uint32_t kind, Nodes& nodes);
  bool find_first_claims();
  Decision search(const GangRequest& request, Nodes& nodes);
  End search_domain(const Domain& domain, const DomainSearch::World& world, Nodes& nodes, Decision& decision);
  void take_over(const Trial& trial, const Domain& domain, Decision& decision) const;
  void note_refuted(const Domain& domain, const GangRequest& request);

  // domains.cc
  void make_domains(const GangRequest& request, const Nodes& nodes);
  void add_level(uint32_t level, const GangRequest& request, const Nodes& nodes, const std::vector<NodeId>& all);
  void count_fits(Domain& domain);
  const std::string* value_of(NodeId node, uint32_t level, const Nodes& nodes) const;
  std::optional<std::string> path_of(NodeId node, uint32_t level, const Nodes& nodes) const;
  std::vector<const Domain*> chain_from(const Domain& domain, const Nodes& nodes) const;
  uint64_t fit_count_of_kind(uint32_t kind, const Domain& domain) const;

  // together.cc
  void find_things();
  void find_resources(Nodes& nodes);
  bool count_things();
  uint64_t together(const Domain& domain, uint32_t need);

  // reasons.cc
  Decision impossible(const GangRequest& request) const;
  Decision undecided(const GangRequest& request) const;
  std::string largest(const GangRequest& request) const;
  bool never_anywhere(const GangRequest& request) const;

  inventory::Inventory& inventory_;
  allocator::Allocator& allocator_;
  const Options& options_;
  allocator::Meter& meter_;
  Table table_;

  // of the state when the previous slice ended
  uint64_t inventory_version_ = 0;
  uint64_t nodes_version_ = 0;
  bool changed_ = false;

  bool first_claims_known_ = false;
  std::vector<uint32_t> first_claims_;
  std::vector<bool> is_first_;  // by claim
  std::vector<bool> tied_;      // by kind
  std::vector<KindNodes> kinds_;
  std::vector<uint32_t> kind_order_;
  bool first_claims_order_matters_ = false;
  bool node_local_ = false;
  bool any_order_ = false;
  bool prepared_ = false;
  bool things_known_ = false;
  std::vector<Thing> things_;
  std::vector<std::vector<uint64_t>> wants_;  // by kind, then thing
  // Of CPU, memory and pods; by kind, and by node. Empty: unknown.
  std::vector<std::array<uint64_t, 3>> takes_, left_;
  std::vector<std::string> levels_;
  mutable std::map<std::pair<NodeId, uint32_t>, std::optional<std::string>> attributes_;  // of nodes, by level
  std::vector<Domain> domains_;     // in the order in which they are tried
  std::vector<std::string> paths_;  // by domain
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
