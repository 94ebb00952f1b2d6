// What a search for a group is asked and what it answers: plain values, and the questions about nodes that it asks
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/alignment/pod_pairs.h"
#include "pkg/alignment/rail_values.h"
#include "pkg/allocator/decision.h"
#include "pkg/api/resource.h"
#include "pkg/base/error.h"
#include "pkg/inventory/inventory.h"

namespace dra::gang {

using allocator::NodeFacts;
using inventory::NodeId;

// More waiting members than this are an error: each costs every slice (a slice begins by placing again what was placed
// at the end of the one before).
inline constexpr size_t kMaxMembers = 4096;
inline constexpr size_t kMaxTopologyLevels = 16;
// Kinds of interchangeable members. Each kind has lists of all its nodes, of which a group has at most kMaxListBytes.
inline constexpr size_t kMaxKinds = 256;
inline constexpr size_t kMaxListBytes = 16u << 20;

// A pod of the group that waits for a node.
struct Member {
  std::string name;  // "namespace/name", for messages
  std::string uid;
  // In the pod's order; not null. A claim that several members share is in each of them, with one uid. A claim with
  // status.allocation is not decided: it only restricts the member to the nodes of its selector. Pass the store's
  // objects: plans are cached by object.
  std::vector<std::shared_ptr<const api::ResourceClaim>> claims;
  // Members with the same text, other than "", differ only in their names and the uids of their own claims: to the
  // allocator and to Nodes they are interchangeable. Claims that are shared or allocated need not be in it.
  std::string shape;
  int64_t cpu_milli = 0;                    // for the strategies, as allocator::Request
  std::vector<alignment::PairEntry> pairs;  // their terms name claims by index in `claims`
};

// A domain is the set of nodes with equal values of the label of a level and of all wider levels.
struct Topology {
  std::vector<std::string> levels;    // label keys, or attributes of devices (levels.h), from wide to narrow
  std::optional<uint32_t> required;   // index of `levels`: all members in one domain of this level, or narrower
  std::optional<uint32_t> preferred;  // the narrowest level to try; then wider ones up to `required`, or to all
};

// Devices of all members that must be on the same rails: pkg/alignment/rail_values.h has the rule.
struct RailRule {
  // The devices of one waiting member that the rule is about.
  struct Of {
    // Index in Member::claims and name of the request; empty: the rule does not bind the member.
    std::vector<std::pair<uint32_t, std::string>> requests;
    alignment::MemberRails taken;  // of devices of its claims that are allocated already
    bool operator==(const Of&) const = default;
  };
  std::string attribute;
  bool soft = false;   // met if possible; never a reason to wait
  std::vector<Of> of;  // by member of GangRequest::members
  // Members that run already, by name, and their devices.
  std::vector<std::pair<std::string, alignment::MemberRails>> running;
};
inline constexpr size_t kMaxRailRules = 32;

// A part of a group of groups: a group of members, or of further parts. Part 0 is the whole. A part is placed with
// `need` of its children, each placed by its own `need`, or not at all.
struct GroupPart {
  std::string name;                // for messages
  std::optional<uint32_t> parent;  // index of an earlier part that has no members; part 0 alone has none
  // How many of its children are placed: parts, or `members` beside those that are placed already. 0: nothing is
  // missing.
  uint32_t need = 0;
  std::vector<uint32_t> members;  // indexes into GangRequest::members; of a part without children
  // Of the whole it is GangRequest::topology. Elsewhere `preferred` counts for nothing; `required`: all members below
  // this part are in one domain, inside those of the parts above.
  Topology topology;
  std::vector<NodeId> placed;  // nodes of members below it that are not among GangRequest::members
};
inline constexpr size_t kMaxParts = 256;
inline constexpr uint32_t kMaxPartDepth = 4;  // levels, the whole among them

struct GangRequest {
  std::string uid;   // the group's uid: key of the state kept between slices
  std::string name;  // "namespace/name", for messages
  std::string ns;    // whose share of the kept state it uses
  std::vector<Member> members;
  uint32_t min_count = 0;  // how many of `members` must be placed; the others are placed where they fit
  Topology topology;
  // The nodes of the group's members that are not among `members`. They decide the domain: the required one is theirs;
  // a preferred level is tried with theirs first.
  std::vector<NodeId> placed;
  // Hard ones first; the soft ones in the order in which they are tried.
  std::vector<RailRule> rails;
  // Empty: a group of members. Else `min_count` counts for nothing, and no more members are placed than are needed.
  std::vector<GroupPart> parts;
};

struct Candidate {
  NodeId node = inventory::kNone;
  NodeFacts facts;
};

// What pods take of a node apart from devices, as far as it adds up.
struct Resources {
  int64_t cpu_milli = 0;
  int64_t memory = 0;  // bytes
  int64_t pods = 0;
};

// The search's questions about nodes, apart from devices. Implemented over pkg/placement by the controller.
class Nodes {
 public:
  // How placing a member may affect others.
  enum class Influence : uint8_t {
    kNode,     // takes from its own node alone (CPU, memory, host ports): never adds capacity or changes other nodes
    kShrinks,  // takes here and elsewhere (anti-affinity, spreading over domains): never makes a node possible
    kAny,      // may make nodes possible (affinity to other members): the order of placing matters
  };

  virtual ~Nodes() = default;
  virtual Influence influence() const = 0;
  // Grows with every change except those by place() and take_back().
  virtual uint64_t version() const = 0;
  // The nodes that accept the member beside what is placed, best first. `member` is an index into GangRequest::members.
  virtual std::vector<Candidate> candidates(size_t member) = 0;
  // The same question about one node; nothing: it does not accept the member.
  virtual std::optional<NodeFacts> look(size_t member, NodeId node) = 0;
  // True only if a member that the node accepted at that version() is accepted there now, beside the same members.
  // Cheap.
  virtual bool still_takes(size_t /*member*/, NodeId /*node*/, uint64_t /*version*/) const { return false; }
  // The member counts as a pod of the node. Only if look() would accept it.
  virtual void place(size_t member, NodeId node) = 0;
  // For counting kinds of members together; nothing: unknown. What the member takes at least,
  virtual std::optional<Resources> takes(size_t /*member*/) { return std::nullopt; }
  // and what each of these nodes has left for members at most, while none is placed. look() refuses what exceeds it.
  virtual std::vector<Resources> left(const std::vector<NodeId>& /*nodes*/) { return {}; }
  // Undoes the latest place() that is not undone yet, which must be this member's.
  virtual void take_back(size_t member) = 0;
  // Nothing: the node has no such label. Valid until the node changes.
  virtual const std::string* label(NodeId node, const std::string& key) const = 0;
};

using allocator::Outcome;
// The words for a group: "Found", "Impossible", "Undecided" (the budget is spent), "Unfinished", "Error".
std::string_view group_outcome_name(Outcome outcome);

struct Placed {
  size_t member = 0;  // index into GangRequest::members
  NodeId node = inventory::kNone;
};

struct ClaimResult {
  std::shared_ptr<const api::ResourceClaim> claim;
  api::AllocationResult result;  // allocationTimestamp is left empty for the caller to set
};

struct Decision {
  Outcome outcome = Outcome::kInfeasible;
  // kFeasible: in the order in which they can be placed, at least min_count. Members that are not listed wait.
  std::vector<Placed> members;
  // kFeasible: what was decided for claims of these members, each claim once.
  std::vector<ClaimResult> claims;
  // kFeasible: the level (of Topology::levels) and the domain that contains them, "rack=r7"; no level: the cluster.
  std::optional<uint32_t> level;
  std::string domain;
  // kInfeasible, kBudgetSpent: a clause that names the obstacle ("the largest domain of level rack (rack=r7) has room
  // for 12 of 16 members"). At most kMaxReason bytes.
  std::string reason;
  // kInfeasible: it would not fit even if no claim held any device ("never", as far as devices can be counted).
  bool never = false;
  // kInfeasible: one member of the kind that cannot be placed, if a single kind is to blame.
  std::optional<size_t> guilty;
  std::optional<Error> error;
  // kFeasible: by rule of GangRequest::rails. Hard ones always hold.
  std::vector<bool> rails_met;
  // Topology keys that no candidate has: they were ignored, unless required.
  std::vector<std::string> unknown_levels;
  uint64_t steps = 0;   // of the attempt, so far
  uint32_t slices = 0;  // of the attempt, so far
  // kUnfinished: call again no earlier than after this time, to let others run. kBudgetSpent: an earlier call is
  // answered with kBudgetSpent at once.
  Duration ask_again{};
};
inline constexpr size_t kMaxReason = 1024;

// One step is an attempt to take one device, or work that takes as long (0.1 to 1 microsecond).
inline constexpr uint64_t kDefaultStepBudget = 4'000'000;

struct Options {
  // For an attempt, all slices together. A request of the same uid with other members or claims goes on with what is
  // left of it. Once it is spent, further calls are answered kBudgetSpent at once for kFirstPause, and twice as long
  // after each further attempt, up to kLongestPause. Without a clock in `slice` there are no pauses.
  uint64_t step_budget = kDefaultStepBudget;
  // Steps that one question to the allocator may take: a node that needs more is left undecided.
  uint64_t node_step_budget = 4'000;
  // The limit of one call of decide(), not counting the current question to the allocator (a slice of its own, see
  // allocator::Options) and placing again what was placed (2 microseconds a claim). Without steps: no limit.
  allocator::SliceLimit slice;
};

}  // namespace dra::gang
