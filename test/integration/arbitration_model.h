// ArbitrationModel: the arbitration P1 to P8 ("why no two writers give one device twice"), run by the real code of
// reconcilers, runner, stores, inventory and allocator, against a server made of a few maps, in steps that a random
// source chooses.
//
// Several writers all believe that they lead. In each step one of these happens: a writer's watch of pods or of claims
// delivers its next event (each lags independently); a write reaches the server; an answer reaches its writer, or is
// lost; a writer crashes and restarts; a writer lists again; a pod is added or deleted; a claim that several pods share
// is deleted, and recreated once it is gone; a node is cordoned or uncordoned, which each writer learns at its own
// time; kube-scheduler binds an ungated pod, or takes it out of reservedFor (Unreserve) and binds it later without
// another write of the claim, or takes it out after a binding whose answer was lost; time passes.
//
// With a forger, a tenant also marks its own claims as proven, rightly or wrongly, and may remove marks.
//
// With `bind`, three of four pods have no gate: the writers bind them. A Binding may reach the server late, in any
// order or never. With a foreign binder somebody else binds such a pod, without a condition, at any moment at which its
// claims are proven and their lists name it, also as one that left. kubelet uses a claim as soon as it is allocated and
// reserved for a bound pod.
//
// With rails: at no mark are the marked members of a group on different rails.
//
// With claims of groups: half of the pods belong to PodGroups with a claim each (arbitration_groups.cc).
//
// With groups: when the first member of a group is ungated, enough members for the group's minimum must have been
// marked before it.
//
// The model records each moment at which one device is used through two claims (a pod uses what is allocated and
// reserved for it, as kubelet requires), and at which a claim loses its allocation under a pod ungated with it.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/api/scheduling.h"
#include "pkg/base/error.h"
#include "pkg/base/random.h"
#include "pkg/reactor/sim_reactor.h"
#include "pkg/reconcile/effect.h"

namespace dra::integration {

// A tenant who may write the metadata of half of the claims, but no status. Its pods and claims are named "t...".
enum class Forger : uint8_t {
  kNone,
  kMarks,       // marks claims as proven, rightly or wrongly, before the manager does
  kTakesMarks,  // and removes every valid mark that it sees
  kUsers,       // takes its pods off the lists of users
};

// A part of P4 and P8 for pods to be bound, or of G9, that is left out.
enum class Without : uint8_t {
  kNothing,
  kVersion,       // a Binding names no version of the pod
  kHeeding,       // a writer does not see what others announce
  kExactVersion,  // a claim is left at whatever version it has
  kGet,           // an allocation is removed without a live GET
  kOrder,         // reservation and allocation go in one write, after the GET
  kRails,         // marks do not wait for the rails of the group (G9)
};

struct ArbitrationOptions {
  uint64_t seed = 1;
  size_t writers = 3;
  size_t nodes = 3;
  size_t devices = 3;  // of each node
  size_t pods = 14;    // at most this many at a time
  size_t shared = 2;   // number of claims that any pod may name
  // The durable mark of P3. Off: a writer acts on its own proof at once, and nobody else can see it.
  bool durable_proof = true;
  // The announcement of P8 on the pod. Off: a writer withdraws reservations on its own view of the gate.
  bool durable_leaving = true;
  // The list of the pods that may use a claim. Off: a writer lists a pod that shares a claim only in its own view.
  bool durable_users = true;
  Forger forger = Forger::kNone;
  // The first writer hears of pods forty times less often than the others, so that its view of them is mostly old.
  bool old_view = false;
  // Half of the pods come as groups of 2 to 4, all of which must be placed together.
  bool groups = false;
  // With groups: their members must be on the same rails, and others join them later.
  bool rails = false;
  // Three of four pods are the writers' to bind.
  bool bind = false;
  bool foreign_binder = false;
  Without without = Without::kNothing;
  // Half of the pods are of PodGroups with a claim for all their pods.
  bool group_claims = false;
  bool stock_members = false;  // some of them are kube-scheduler's
};

struct ArbitrationStats {
  uint64_t steps = 0, allocations = 0, withdrawals = 0, proofs = 0, released = 0, conflicts = 0, lost = 0, crashes = 0,
           relists = 0, left = 0, unreserved = 0, enlisted = 0, unlisted = 0, shared_deletions = 0, forged = 0,
           groups = 0, groups_launched = 0, joiners = 0, bindings = 0, foreign_bindings = 0, lost_requests = 0,
           left_unbound = 0,  // allocations freed after a pod without a gate left
      group_members = 0, groups_ended = 0, stock_bound = 0,
           unseen = 0,   // claims freed under a pod of kube-scheduler's whose binding the writer had not seen
      forged_early = 0;  // true marks of allocations that are not proven yet
};

class ArbitrationModel {
 public:
  explicit ArbitrationModel(ArbitrationOptions options);
  ~ArbitrationModel();

  void step();
  // Nothing new happens, no writer crashes, everything is delivered, ten minutes pass. Then no devices may be available
  // for any pod that is still gated. Returns what is wrong, one sentence each.
  std::vector<std::string> settle();

  const std::vector<std::string>& violations() const { return violations_; }
  const ArbitrationStats& stats() const { return stats_; }

  static constexpr const char* kSchedulerName = "ours";

 private:
  friend class ModelWriter;
  template <typename T>
  struct Event {
    uint64_t revision;
    std::shared_ptr<const T> before, after;
  };
  template <typename T>
  struct Table {
    std::map<std::string, std::shared_ptr<const T>> objects;
    std::deque<Event<T>> log;
    uint64_t floor = 0;  // events at or below it are forgotten
  };
  struct Applied {
    Result<uint64_t> answer = 0;
    std::shared_ptr<const api::ResourceClaim> claim;
    std::shared_ptr<const api::Pod> pod;
  };

  template <typename T>
  void put(Table<T>& table, const std::string& key, std::shared_ptr<const T> object);
  // `seen`: the revision up to which the writer saw pods when it decided that.
  Applied apply(const reconcile::Write& write, uint64_t seen);
  Applied apply_to_claim(const reconcile::Write& write, uint64_t seen);
  Applied apply_to_pod(const reconcile::Write& write);
  Applied bind(const reconcile::Write& write);
  void bind_by_others(bool only_leaving);
  void hurry(class ModelWriter& writer);
  void edit_claim();
  // Never held by a gate of ours.
  bool is_stock(const api::Pod& pod) const { return pod.metadata.name.front() == 'k'; }
  bool is_to_bind(const api::Pod& pod) const { return pod.scheduler_name == kSchedulerName; }
  // It may run: ungated, or bound if it never had a gate.
  bool has_started(const api::Pod& pod) const {
    return is_to_bind(pod) || is_stock(pod) ? !pod.node_name.empty() : pod.scheduling_gates.empty();
  }
  void lift_gate(const api::Pod& pod);
  void use(const api::Pod& pod, const api::ResourceClaim& claim);
  void stop_using(const api::ResourceClaim& claim, const std::string& pod);
  void freed(const api::ResourceClaim& claim, const std::string& by, uint64_t seen);
  // docs/design/arbitration.md, "A PodGroup whose pods have several schedulers".
  bool is_bound_unseen(const std::string& pod, uint64_t seen) const;
  void unreserve();
  void turn_node();
  bool is_cordoned(const std::string& node) const;
  void forge();
  void add_pod();
  bool draw_to_bind() { return options_.bind && random_.below(4) != 0; }
  std::shared_ptr<api::Pod> make_pod(const std::string& name, bool shares, bool to_bind,
                                     std::optional<size_t> own_claims = std::nullopt);
  void add_group();
  // arbitration_rails.cc
  struct RailGroup {
    std::string job;
    size_t min = 2, next = 0;
    bool mixed = false;  // members with one device and with two
    int64_t devices = 1;
    bool to_bind = false;
  };
  void add_rail_group();
  void add_rail_member(RailGroup& group);
  void add_joiner();
  void check_rails(const api::ResourceClaim& proven);
  void note_marks(const api::ResourceClaim& claim);
  void check_group(const api::Pod& pod);
  // What is wrong with waiting groups once everything is quiet.
  void check_groups(std::vector<std::string>& findings) const;
  bool group_fits(const std::vector<std::shared_ptr<const api::Pod>>& members) const;
  // arbitration_groups.cc
  void make_pod_groups();
  void add_group_member();
  void end_pod_groups(bool begin);
  void drop_ended_groups();
  void bind_stock_members();
  bool may_use(const api::Pod& pod, const api::ResourceClaim& claim) const;
  bool unreserve_group(api::ResourceClaim& claim, const api::Pod& pod);
  void remove_pod();
  std::string shared_name(size_t i) const { return "s" + std::to_string(i); }
  void make_shared_claims();
  void delete_claim(const std::string& key);
  bool has_user(const api::ResourceClaim& claim) const;
  bool is_named_by_bound(const std::string& claim) const;
  void bind_released();
  bool fits(const api::Pod& pod) const;
  void run_idle();

  ArbitrationOptions options_;
  SeededRandom random_;
  ManualClock clock_;
  SimReactor reactor_;
  uint64_t revision_ = 100;
  uint64_t next_pod_ = 0, next_claim_ = 0;
  Table<api::Pod> pods_;
  Table<api::ResourceClaim> claims_;
  std::vector<std::shared_ptr<const api::Node>> nodes_;
  std::map<std::string, std::shared_ptr<const api::PodGroup>> pod_groups_;
  std::map<std::string, uint64_t> stock_bound_at_;     // pods of kube-scheduler's: revision of the binding
  std::map<std::string, std::string> claim_of_group_;  // by the key of a PodGroup: the name of its claim
  std::set<std::string> unreserved_;     // keys of claims whose group kube-scheduler took out of the reservations once
  std::set<std::string> ending_groups_;  // keys of PodGroups that are being deleted
  std::vector<api::ResourceSlice> slices_;
  api::DeviceClass class_;
  // Device -> its users: (claim, pod).
  std::map<std::string, std::set<std::pair<std::string, std::string>>> used_;
  // Uid of a claim -> keys of the pods that were ungated with its present allocation and still exist.
  std::map<std::string, std::set<std::string>> ungated_with_;
  std::vector<std::unique_ptr<class ModelWriter>> writers_;
  std::set<std::string> marked_once_;                  // pods all of whose claims were proven at one moment
  std::map<std::string, std::set<std::string>> ever_;  // uid of a group -> keys of all pods that it ever had
  std::set<std::string> launched_;                     // uids of groups
  std::map<std::string, RailGroup> rail_groups_;       // by uid
  std::vector<std::string> violations_;
  ArbitrationStats stats_;
};

}  // namespace dra::integration
