// View: what a reconciler sees. Everything in it is const and stays valid during one reconcile.
//
// Objects are the newest this process knows: what list and watch delivered, overlaid with the answers to our own writes
// and live GETs. Proofs read streamed_claim(), which comes from list and watch alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/eviction.h"
#include "pkg/api/prepare_event.h"
#include "pkg/api/resource.h"
#include "pkg/api/scheduling.h"
#include "pkg/base/clock.h"
#include "pkg/reconcile/key.h"

namespace dra::reconcile {

// What the API server itself said about one object.
enum class Presence {
  kUnknown,  // no live GET since the key's last reconcile without one
  kPresent,  // a live GET found it; it is in the stores now
  kAbsent,   // a live GET did not find it (or found another uid), or the watch delivered the deletion of this uid
};

// The APIs that have PodGroups, and CompositePodGroups, which are read as PodGroups.
enum class GroupApi : uint8_t {
  kCore,       // scheduling.k8s.io
  kPlugins,    // scheduling.x-k8s.io, a CustomResourceDefinition
  kComposite,  // CompositePodGroup of scheduling.k8s.io
};
inline constexpr size_t kGroupApis = 3;

// Whether the PodGroups of an API can be read here.
struct GroupsKnown {
  enum class State : uint8_t {
    kListing,  // not yet: wait; `why` if that fails
    kKnown,    // a group that is not found does not exist
    kCannot,   // not served, or not permitted: `why` is a clause for people
  };
  State state = State::kCannot;
  std::string why;
};

class View {
 public:
  virtual ~View() = default;

  // By store key ("namespace/name", or "name"); nullptr when not known.
  virtual const api::Pod* pod(std::string_view key) const = 0;
  virtual const api::ResourceClaim* claim(std::string_view key) const = 0;
  virtual const api::ResourceClaimTemplate* claim_template(std::string_view key) const = 0;
  virtual const api::Node* node(std::string_view name) const = 0;
  virtual const api::Namespace* ns(std::string_view name) const = 0;
  virtual const api::DeviceClass* device_class(std::string_view name) const = 0;
  // All of them, sorted by name.
  virtual std::vector<const api::DeviceClass*> device_classes() const = 0;
  // DeviceTaintRules, if the API server serves them.
  virtual const api::DeviceTaintRule* taint_rule(std::string_view name) const = 0;
  virtual std::vector<const api::DeviceTaintRule*> taint_rules() const = 0;  // by name
  // The same object as claim() returns, for callers that keep it.
  virtual std::shared_ptr<const api::ResourceClaim> shared_claim(std::string_view key) const = 0;
  // The claim as list and watch alone delivered it.
  virtual const api::ResourceClaim* streamed_claim(std::string_view key) const = 0;

  // The pod as list and watch alone delivered it.
  virtual const api::Pod* streamed_pod(std::string_view /*key*/) const { return nullptr; }

  // What a choice of victims reads: all pods and, as list and watch alone delivered them, all claims, by name. Visits
  // every object.
  virtual std::vector<std::shared_ptr<const api::Pod>> all_pods() const { return {}; }
  virtual std::vector<std::shared_ptr<const api::ResourceClaim>> all_streamed_claims() const { return {}; }
  // PodDisruptionBudgets, by name. Nothing: they are not watched, or not listed yet.
  virtual std::optional<std::vector<std::shared_ptr<const api::PodDisruptionBudget>>> budgets() const {
    return std::nullopt;
  }

  // Events of a pod's namespace that say of the pod of this uid that its devices could not be prepared, by name, at
  // most `most`. Whoever may create events there may have written them. None while they are not watched.
  virtual std::vector<const api::PrepareEvent*> prepare_events_of(std::string_view /*pod_uid*/, size_t /*most*/) const {
    return {};
  }

  // Claims whose controlling owner has this uid, by name.
  virtual std::vector<const api::ResourceClaim*> claims_controlled_by(std::string_view uid) const = 0;
  // Claims that are reserved for the pod of this uid, whether or not the pod names them, by name.
  virtual std::vector<const api::ResourceClaim*> claims_reserved_for(std::string_view pod_uid) const = 0;
  // Nullptr: no allocated claim has this uid.
  virtual const api::ResourceClaim* allocated_claim(std::string_view uid) const = 0;
  // A portion of the claims whose allocation names a device of the pool, with administrative access or without, by
  // name: at most `most`, with keys after `key`.
  virtual std::vector<const api::ResourceClaim*> claims_on_pool_after(std::string_view driver, std::string_view pool,
                                                                      std::string_view key, size_t most) const = 0;
  // A portion of all claims, by name: at most `most`, with keys after `key`.
  virtual std::vector<const api::ResourceClaim*> claims_after(std::string_view key, size_t most) const = 0;
  // Claims that are allocated, by name. Visits every claim.
  virtual std::vector<const api::ResourceClaim*> allocated_claims() const = 0;
  // Pods one of whose entries resolves to the claim (or whose extended resource claim it is), by name.
  virtual std::vector<const api::Pod*> pods_of_claim(std::string_view key) const = 0;
  // Pods one of whose entries names the template, by name.
  virtual std::vector<const api::Pod*> pods_of_template(std::string_view key) const = 0;

  // Pods one of whose volumes is the PersistentVolumeClaim, by name.
  virtual std::vector<const api::Pod*> pods_of_volume_claim(std::string_view key) const = 0;

  // Pods of the group (GroupRef::key() of pkg/protocol/groups.h), by name.
  virtual std::vector<const api::Pod*> pods_of_group(std::string_view /*key*/) const { return {}; }
  // The number of these pods, without visiting them.
  virtual size_t size_of_group(std::string_view key) const { return pods_of_group(key).size(); }
  // Those of them that run or ran (has_started() of pkg/protocol/groups.h), by name, at most `most`.
  virtual std::vector<const api::Pod*> started_of_group(std::string_view key, size_t most) const = 0;
  // The PodGroup of this API, by store key.
  virtual const api::PodGroup* pod_group(GroupApi, std::string_view /*key*/) const { return nullptr; }
  virtual GroupsKnown groups_known(GroupApi) const { return {}; }
  // Keys of the groups that name this one ("namespace/name") as the group above them (pkg/protocol/wholes.h), sorted.
  virtual std::vector<std::string> child_groups(std::string_view /*parent*/) const { return {}; }

  // The same object as pod() returns, for a reconciler that keeps what it derived from it until it is notified of a
  // change. Null: unknown, or reconcilers are not notified of every change of this view (tests).
  virtual std::shared_ptr<const api::Pod> watched_pod(std::string_view /*key*/) const { return nullptr; }
  // Grows when the server's history was rewound (restored from a backup): what was derived before is void, although
  // reconcilers are not notified of objects whose uid and version stayed the same.
  virtual uint64_t rewinds() const { return 0; }

  // What the server said about this object since this key's last reconcile without live GETs.
  virtual Presence live_presence(const Ref& object) const = 0;
  // The same, but an answer counts only if its LiveGet had this text as `seen`: it shows the object later than
  // whatever the text names ("<uid of a claim>@<its version>").
  virtual Presence live_presence_after(const Ref& object, std::string_view seen) const = 0;
  // A Binding of the pod is about to be sent, under way, or accepted and not in the stream yet: a second one would be
  // refused.
  virtual bool is_being_bound(std::string_view /*pod_uid*/) const { return false; }
  // How long the object has been unchanged, as far as this process saw; zero for an unknown object.
  virtual Duration unchanged_for(Kind kind, std::string_view key) const = 0;
  // The signature of the last event of this reason about this uid; nothing if there was none (or it is forgotten).
  virtual std::optional<std::string> last_event(std::string_view uid, std::string_view reason) const = 0;
  // Whether any event about this uid was recorded (and is not forgotten).
  virtual bool has_event(std::string_view uid) const = 0;

  // How many writes that count for this uid (Write::tally) succeeded since this process started; a forgotten uid counts
  // from zero.
  virtual uint64_t tallied(std::string_view uid) const = 0;

  struct Noted {
    std::string text;
    Duration age{};  // since the note was made
  };
  // The last Note of this topic about this uid; nothing if there was none (or it is forgotten). The topic
  // "said/<reason>" is set with every event.
  virtual std::optional<Noted> note(std::string_view /*uid*/, std::string_view /*topic*/) const { return std::nullopt; }

  virtual WallTime now() const = 0;
  // What an administrator lists by --ignore-unknown-fields (pkg/api/unknown_fields.h).
  virtual const api::IgnoredFields& ignored_fields() const {
    static const api::IgnoredFields none;
    return none;
  }
  // The version of resource.k8s.io in use: "resource.k8s.io/v1".
  virtual std::string_view dra_api_version() const { return "resource.k8s.io/v1"; }
  // kube-controller-manager leaves consumers that it does not know in status.reservedFor, and prunes the pods beside
  // them: from 1.36 on. An older one fails on the whole claim.
  virtual bool may_have_foreign_consumers() const { return true; }
  // The version in which DeviceTaintRules are read and written.
  virtual std::string_view taint_rule_api_version() const { return "resource.k8s.io/v1beta2"; }
};

}  // namespace dra::reconcile
