// Gang: nodes and devices for the members of a group of pods together, or the certainty that there are none.
//
//   Gangs gangs(inventory, allocator, options);
//   Decision d = gangs.decide(request, nodes);             // again while d.outcome is kUnfinished
//   if (d.outcome == Outcome::kFound)
//     for (const Placed& p : d.members) ... request.members[p.member] goes to p.node
//     for (const ClaimResult& c : d.claims) inventory.assume(c.claim->metadata.uid, c.result);
//
// One search with backtracking across members: over which member goes to which node, and over which devices it takes
// there. "Found" obeys every rule of the allocator, of Nodes and of the topology; "impossible" is a proof for things as
// they are; "undecided" says that the budget was spent. docs/design/groups.md has the search and its proofs.
//
// While decide() runs, what it tries is assumed in the inventory, under uids of its own, and placed in Nodes; all of it
// is taken back before it returns. What has to outlive a slice is kept by GangRequest::uid, for kMaxKept groups.
//
// Not thread-safe: one thread owns it, the allocator and the inventory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/allocator/allocator.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/inventory/inventory.h"

namespace dra::gang {

using allocator::NodeFacts;
using inventory::NodeId;

// More waiting members than this are an error: each costs every slice (a search begins a slice by placing again what it
// had placed at the end of the one before).
inline constexpr size_t kMaxMembers = 4096;
inline constexpr size_t kMaxTopologyLevels = 16;

// A pod of the group that waits for a node.
struct Member {
  std::string name;  // "namespace/name", for messages
  std::string uid;
  // In the pod's order; not null. A claim that several members share is in each of them, by one uid. A claim with
  // status.allocation is not decided: it only keeps the member to the nodes of its selector. Pass the store's objects:
  // plans are cached by object.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  // Members with the same text, other than "", differ in nothing but their names and the uids of their own claims: to
  // the allocator and to Nodes one is as good as the other. Claims that are shared or allocated need not be in it.
  std::string shape;
  int64_t cpu_milli = 0;  // for the strategies, as allocator::Request
};

// Domains are the nodes that agree in the label of a level and of all wider ones.
struct Topology {
  std::vector<std::string> levels;    // label keys, or attributes of devices (levels.h), from wide to narrow
  std::optional<uint32_t> required;   // of `levels`: all members in one domain of this level, or narrower
  std::optional<uint32_t> preferred;  // the narrowest level that is tried; then wider ones up to `required`, or to all
};

struct GangRequest {
  std::string uid;   // of the group: what a slice leaves behind is kept under it
  std::string name;  // "namespace/name", for messages
  std::vector<Member> members;
  uint32_t min_count = 0;  // how many of `members` must be placed; the others join where they fit
  Topology topology;
  // Where members of the group are already that are not among `members`. They decide the domain: the required one is
  // theirs, a preferred one is tried with theirs first.
  std::vector<NodeId> placed;
};

struct Candidate {
  NodeId node = inventory::kNone;
  NodeFacts facts;
};

// What the search asks about nodes, apart from devices. Implemented over pkg/placement by the controller.
class Nodes {
 public:
  // What placing a member may change for others.
  enum class Influence : uint8_t {
    kNode,     // takes from its own node alone (CPU, memory, host ports): never makes room, nothing changes elsewhere
    kShrinks,  // takes here and elsewhere (anti-affinity, spreading over domains): never makes a node possible
    kAny,      // may make nodes possible (affinity to other members): the order of placing matters
  };

  virtual ~Nodes() = default;
  virtual Influence influence() const = 0;
  // Grows with every change but those of place() and take_back().
  virtual uint64_t version() const = 0;
  // The nodes that take the member beside what is placed, best first. `member` is an index into GangRequest::members.
  virtual std::vector<Candidate> candidates(size_t member) = 0;
  // The same question about one node; nothing: no.
  virtual std::optional<NodeFacts> look(size_t member, NodeId node) = 0;
  // The member counts as a pod of the node. Only where look() would say yes.
  virtual void place(size_t member, NodeId node) = 0;
  // Undoes the latest place() that is not undone; it was of this member.
  virtual void take_back(size_t member) = 0;
  // Nothing: the node has no such label. Good until the node changes.
  virtual const std::string* label(NodeId node, const std::string& key) const = 0;
};

enum class Outcome : uint8_t {
  kFound,
  kImpossible,  // proven, with things as they are
  kUndecided,   // neither found nor refuted within the budget
  kUnfinished,  // the slice ended first: asking again goes on
  kError,       // the request or a claim of it is unusable; `error` says why
};
std::string_view outcome_name(Outcome outcome);

struct Placed {
  size_t member = 0;  // of GangRequest::members
  NodeId node = inventory::kNone;
};

struct ClaimResult {
  std::shared_ptr<const api::ResourceClaim> claim;
  api::AllocationResult result;  // allocationTimestamp is left empty for the caller to set
};

struct Decision {
  Outcome outcome = Outcome::kImpossible;
  // kFound: in the order in which they can be placed, at least min_count. Members that are not among them wait.
  std::vector<Placed> members;
  // kFound: what was decided for claims of these members, each claim once.
  std::vector<ClaimResult> claims;
  // kFound: the level (of Topology::levels) and the domain that holds them, "rack=r7"; no level: the cluster.
  std::optional<uint32_t> level;
  std::string domain;
  // kImpossible, kUndecided: a clause that says what stands in the way ("the largest rack (rack=r7) has room for 12 of
  // 16 members"). At most kMaxReason bytes.
  std::string reason;
  // kImpossible: would not fit either if nobody held any device ("never", as far as devices can be counted).
  bool never = false;
  // kImpossible: one member of the kind that cannot be placed, where one kind is to blame.
  std::optional<size_t> guilty;
  std::optional<Error> error;
  // Topology keys that no candidate carries: they were ignored, unless required.
  std::vector<std::string> unknown_levels;
  uint64_t steps = 0;    // of the attempt, so far
  uint32_t slices = 0;   // of the attempt, so far
  Duration ask_again{};  // kUnfinished: no earlier than after this time, for the sake of others
};
inline constexpr size_t kMaxReason = 1024;

// One step is an attempt to take one device, or what takes as long (0.1 to 1 microsecond).
inline constexpr uint64_t kDefaultStepBudget = 4'000'000;

struct Options {
  uint64_t step_budget = kDefaultStepBudget;  // of an attempt, all slices together
  // Steps that one question to the allocator may take: a node that needs more is left undecided.
  uint64_t node_step_budget = 4'000;
  // Where one call of decide() ends at the latest, but for the question to the allocator at hand (a slice of its own,
  // see allocator::Options) and for placing again what was placed (2 microseconds a claim). Without steps: nowhere.
  allocator::SliceLimit slice;
};

class Gangs {
 public:
  static constexpr size_t kMaxKept = 32;  // groups whose search can go on

  // Both must outlive this.
  Gangs(inventory::Inventory& inventory, allocator::Allocator& allocator, Options options);
  ~Gangs();
  Gangs(const Gangs&) = delete;
  Gangs& operator=(const Gangs&) = delete;

  Decision decide(const GangRequest& request, Nodes& nodes);
  // The group is gone, or was decided otherwise.
  void forget(const std::string& uid);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dra::gang
