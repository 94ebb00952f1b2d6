// How pods and claims belong to each other, by the rules of kube-scheduler, kubelet and kube-controller-manager
// (k8s.io/dynamic-resource-allocation/resourceclaim). Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/core.h"
#include "pkg/api/resource.h"
#include "pkg/api/unknown_fields.h"

namespace dra::protocol {

// The field manager of our writes, and that of the single write that sets an allocation. A server forgets a manager
// whose fields are gone, so its presence distinguishes our allocations from those of others.
inline constexpr std::string_view kFieldManager = "dra-controller-manager";
inline constexpr std::string_view kAllocationManager = "dra-controller-manager-allocation";
// Applies only a pod's DisruptionTarget condition: server-side apply removes fields that a manager leaves out.
inline constexpr std::string_view kEvictionManager = "dra-controller-manager-eviction";
// Applies a pod's status.extendedResourceClaimStatus and nothing else.
inline constexpr std::string_view kExtendedManager = "dra-controller-manager-extended";

// A program other than this one wrote status.nominatedNodeName. (The controller claimtemplate nominates the node of the
// devices, and clears that itself.)
bool is_nominated_by_others(const api::Pod& pod);

struct ResolvedClaim {
  enum class State {
    kNamed,        // `name` is the claim's name
    kNotNeeded,    // the status says that this entry needs no claim
    kNotCreated,   // generated from a template and not published yet
    kUnsupported,  // names neither a claim nor a template: an entry of a newer API
  };
  State state = State::kUnsupported;
  std::string name;
  bool must_check_owner = false;  // generated: usable only if the pod controls it
};

ResolvedClaim resolve_claim(const api::Pod& pod, const api::PodResourceClaim& entry);
// The containers that use the claim, each once: init containers first.
std::vector<std::string> containers_of_claim(const api::Pod& pod, std::string_view claim);
// As above, but a template entry whose claim is not published yet resolves to the claim that this program creates for
// it (generated_claim_name), whether or not it exists. If others create the claims, no claim has that name.
ResolvedClaim resolve_created_claim(const api::Pod& pod, const api::PodResourceClaim& entry);
// The published status of the entry, or nullptr.
const api::PodResourceClaimStatus* published_claim(const api::Pod& pod, std::string_view entry);

// "namespace/uid" of the pod's controller; empty: it has none. Whoever makes a pod writes its owner references, which
// may name the uid of another namespace's object: what is kept for an owner is kept for its namespace.
std::string owner_key(const api::Pod& pod);

// The pod controls the claim (same namespace, controlling owner reference with the pod's uid).
bool is_for_pod(const api::Pod& pod, const api::ResourceClaim& claim);
// The claim, which the pod controls, was made for this template entry: its annotation or else its name says so.
bool is_made_for(const api::Pod& pod, const std::string& entry, const api::ResourceClaim& claim);
// The claim's reservedFor names this uid.
bool is_reserved_for(const api::ResourceClaim& claim, std::string_view pod_uid);
// A field of its allocation that this build does not know may say that others cannot use the devices: so a pod for
// which the claim is not reserved yet cannot. Null: there is none.
const api::UnknownField* field_that_keeps_out(const api::ResourceClaim& claim, std::string_view pod_uid,
                                              const api::IgnoredFields& ignored);
// The consumer is a pod, not another kind.
bool is_pod_reference(const api::ResourceClaimConsumerReference& consumer);
api::ResourceClaimConsumerReference pod_reference(const api::Pod& pod);
// The controlling owner reference if it is a pod (apiVersion v1, kind Pod), else nullptr.
const api::OwnerReference* pod_owner(const api::ResourceClaim& claim);
// Who wrote the allocation of an allocated claim. Unknown: the object has no managed fields (anybody who may write it
// can clear them, and old servers keep none).
enum class Author { kUs, kOthers, kUnknown };
Author allocation_author(const api::ResourceClaim& claim);
// Certainly ours: an allocation that is not certainly ours is never withdrawn.
bool is_allocated_by_us(const api::ResourceClaim& claim);
// Ours, or perhaps ours: it may be used only once it bears its proof.
bool needs_proof(const api::ResourceClaim& claim);

// Index functions. The store keys of the claims that the pod's entries resolve to, published or not, and its extended
// resource claim; of the templates its entries name. Without duplicates, in the order of the entries.
std::vector<std::string> claim_keys_of(const api::Pod& pod);
// The same without copies: calls f with each name, perhaps more than once; valid during the call.
void each_claim_name(const api::Pod& pod, const std::function<void(std::string_view)>& f);
// What View::pods_of_claim() finds the pod under: the same, and unknown_claims_key() of its namespace if entries of the
// pod were not kept (api::may_have_more_claims). No claim has that key.
std::vector<std::string> claim_index_keys_of(const api::Pod& pod);
std::string unknown_claims_key(const std::string& ns);
std::vector<std::string> template_keys_of(const api::Pod& pod);
// The PersistentVolumeClaims that the pod's volumes use, including those of ephemeral volumes, without duplicates.
std::vector<std::string> volume_claim_keys_of(const api::Pod& pod);
// The uids of the pods that the claim is reserved for, without duplicates.
std::vector<std::string> consumer_uids_of(const api::ResourceClaim& claim);
// The pools of the devices in the claim's allocation as pool_key(), without duplicates.
std::vector<std::string> pools_of(const api::ResourceClaim& claim);
std::string pool_key(std::string_view driver, std::string_view pool);  // "driver/pool"

// The name under which the claim for a template entry is created: "<pod>-<entry>-<10 characters of a hash of the pod's
// uid and the entry>". A valid DNS subdomain of at most 63 characters for every pod and entry name, and always the
// same, so that a second create answers AlreadyExists.
std::string generated_claim_name(std::string_view pod_name, std::string_view entry, std::string_view pod_uid);
// The name of the claim that this program creates for a pod's extended resources:
// "<pod>-extended-resources-<10 characters>".
std::string extended_claim_name(const api::Pod& pod);
// The claim has the name extended_claim_name() and was made for this pod: controlled by it, with the annotation.
// Anybody who may create claims in the namespace can fake this, so callers also compare what the claim asks for.
bool is_extended_claim_of(const api::Pod& pod, const api::ResourceClaim& claim);

}  // namespace dra::protocol
