// What a reconciler returns: an ordered list of effects, and when to requeue the key. All of it is plain data.
//
// The runner (pkg/manager) performs the list in order. The first write that fails drops the rest unsent, with their
// assumptions; the next reconcile derives what is left. A reconcile writes each object at most once, unless all writes
// but the first are not bound to a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/key.h"
#include "pkg/reconcile/reasons.h"

namespace dra::reconcile {

enum class Verb {
  kCreate,      // POST of the body; AlreadyExists makes the runner read the object and run the key again
  kMergePatch,  // application/merge-patch+json
  kJsonPatch,   // application/json-patch+json
  kApply,       // application/apply-patch+yaml, forced, under the field manager
  kDelete,      // the body is empty; uid and resourceVersion become preconditions; "not found" is success
};

using Labels = std::vector<std::pair<std::string, std::string>>;

// One count (a counter grows by value) or one observation (of a histogram).
struct Metric {
  enum class Type { kCounter, kHistogram };
  Type type = Type::kCounter;
  std::string name;
  Labels labels;
  double value = 1;
};

// An event about an object, for people.
struct Event {
  Ref regarding;
  bool warning = false;
  EventReason reason;
  std::string action;
  std::string note;
  // Two events of one reason with the same signature are the same, although their notes differ (counts change). Empty:
  // the note. An event equal to the last one of its reason about the same uid is not emitted again.
  std::string signature;
};

struct AssumedPod {
  Ref pod;
  std::string node;
  // What its claims take of the node, before its status says it; nullopt: as it is known.
  std::optional<std::vector<api::ClaimTakes>> takes{};
};

// What the body of an allocation is built from, with Write::assume.
struct UnbuiltAllocation {
  std::shared_ptr<const api::ResourceClaim> claim;
  std::vector<api::ResourceClaimConsumerReference> consumers;
};

// A write of one object. The preconditions are the object's uid and `resource_version`; for patches they are also in
// the body, where the API server checks them.
struct Write {
  Verb verb = Verb::kMergePatch;
  Ref object;
  std::string subresource;       // "", "status" or "binding"
  std::string resource_version;  // empty: the write is not bound to a version
  std::string body;              // JSON, once build_body() was called
  std::string field_manager;     // empty: the manager's usual one (pkg/protocol/pod_claims.h)
  std::string purpose;           // one of a closed set: in logs and as a metric's label
  // The object's claim (by object.uid) holds these devices from now on. Ends when the watch delivers the claim at or
  // after the write, or when the write certainly failed.
  std::optional<api::AllocationResult> assume;
  // The body is built when the write is sent (build_body() of pkg/protocol/writes.h): a reconcile that returns 1,000 of
  // them would otherwise build all their bodies at once.
  std::optional<UnbuiltAllocation> unbuilt;
  // A pod that counts as running on a node from now on, until the watch shows it bound, finished or deleted.
  std::optional<AssumedPod> assume_pod;
  // The same for other pods, which the write takes along.
  std::vector<AssumedPod> assume_beside;
  // Once the write is answered, the pod of this uid no longer counts on any node, unless it is bound.
  std::string release_pod;
  // The uids whose tally grows by one when the write succeeds (View::tallied).
  std::vector<std::string> tally;
  // Only people read what is written. If it is refused, the rest of the outcome is still performed and the key does not
  // back off: similar writes in the same namespace are skipped for a minute (the reconciler sees no answer).
  bool for_people = false;
  // Identifies the decision, one reconcile, that made an assumption: set by the runner, unique in the process.
  uint64_t id = 0;
  // Counted when the answer arrives: metrics count answers, not intentions.
  std::vector<Metric> on_success;
  std::vector<Metric> on_failure;
  // Emitted when the write is refused for good (no conflict, no lost connection), with ": <message>" after its note.
  std::optional<Event> failure_event;
  std::optional<Event> success_event;
};

// A live GET: asks the API server whether the object exists. The key runs again with the answer in the view.
struct LiveGet {
  Ref object;
  // What the reconcile had seen when it asked (View::live_presence_after); empty: it does not matter.
  std::string seen;
};

// These nodes are not chosen for a while: for the pod of this uid, which no longer counts on any node unless it is
// bound, or for the pods of this controller (owner_key() of pkg/protocol/pod_claims.h). Kept in memory only.
struct AvoidNodes {
  std::string uid;
  std::vector<std::string> nodes;
  Duration lasts{};
  std::string why;  // "the volumes of this pod were not bound there"
};

// The process remembers a text about an object, and since when (View::note); an empty text forgets it. Bounded, and
// lost with the process: for pauses between writes, never for correctness.
struct Note {
  std::string uid;
  std::string topic;
  std::string text;
};

// The pod of the key waits for a write that another key makes for it: it counts as running on the node until the key
// has run again without this effect and without a write that assumes the pod. Kept in memory only.
struct HoldPlace {
  AssumedPod pod;
};

using Effect = std::variant<Write, LiveGet, Event, Metric, AvoidNodes, Note, HoldPlace>;

// The decision about the key's pod, for the log.
struct Decided {
  bool allocated = false;
  std::string node;
  std::string devices;
  std::string why;  // why it was refused
};

// Why a pod waits, as short texts: "class/gpu", "pool/driver/name", "node/cpu". A change unparks keys that wait for its
// causes.
using Cause = std::string;

struct Park {
  std::vector<Cause> causes;
  int32_t priority = 0;
  std::string since;  // waits_since() of pkg/protocol/groups.h: older ones are unparked first
  // Keys of one namespace and shape want the same: if one does not fit, none does. Empty: unlike any other.
  std::string shape;
};

struct ReconcileResult {
  std::vector<Effect> effects;
  // Run the key again after this time even if nothing changes.
  std::optional<Duration> requeue_after;
  // The key does not run again until this time has passed since its writes were answered, whatever changes.
  std::optional<Duration> min_interval;
  // The key is parked until a change matches one of the causes.
  std::optional<Park> park;
  // Replaces `park` if a write for people was refused or skipped: then no answer runs the key again.
  std::optional<Park> park_unless_written;
  // The reconcile did only part of its work and goes on at requeue_after. Its decision is not known yet, so no other
  // key of its shape is tried in its place.
  bool goes_on = false;
  // The effects are costly for users and count against the reconciler's pace (reconciler.h). When the pace is used up,
  // they are dropped, and the key runs again when its turn comes.
  bool paced = false;
  // The reconcile could not decide (a budget was spent): run it again after the key's back-off. A sentence for the log.
  std::string retry;
  // The first word about why a pod waits, which thousands of pods may need at once: performed after `effects` when it
  // is the key's turn (pkg/queue/turns.h), and then `park` becomes `park_unless_written`. Otherwise it is dropped, and
  // the key runs again when its turn comes.
  std::vector<Effect> at_its_turn;
  std::string turn_since;  // keys that wait for longer come first; by waits_since() of pkg/protocol/groups.h
  // Keys of this reconciler that run next: they read a note of this outcome.
  std::vector<Key> enqueue;
  // Unparks keys of this reconciler that are parked under these causes, as by EnqueueRequests::causes: something kept
  // in memory is free again, and no object shows that.
  std::vector<Cause> unparks;
  // One line in the log, with the time that the reconcile took.
  std::optional<Decided> decided;

  ReconcileResult& add(Effect effect) {
    effects.push_back(std::move(effect));
    return *this;
  }
  ReconcileResult& requeue_in(Duration delay) {
    if (!requeue_after || delay < *requeue_after) requeue_after = delay;
    return *this;
  }
  bool has_writes() const;
  bool has_live_gets() const;
};

}  // namespace dra::reconcile
