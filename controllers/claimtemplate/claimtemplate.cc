#include "controllers/claimtemplate/claimtemplate.h"

#include <algorithm>
#include <set>

#include "pkg/api/claim_bounds.h"
#include "pkg/base/timestamp.h"
#include "pkg/protocol/group_claims.h"
#include "pkg/protocol/groups.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::claimtemplate {

using namespace protocol;
using namespace reconcile;

namespace {

bool has_template_entries(const api::Pod& pod) {
  return std::any_of(pod.resource_claims.begin(), pod.resource_claims.end(),
                     [](const api::PodResourceClaim& entry) { return entry.resource_claim_template_name.has_value(); });
}

// Only for pods that can still start: a finished pod, or one being deleted, gets no new claims.
bool wants_claims(const api::Pod& pod) {
  return !pod.terminal() && !pod.metadata.deleting() && has_template_entries(pod);
}

bool asks_admin_access(const api::ResourceClaimSpec& spec) {
  return std::any_of(spec.requests.begin(), spec.requests.end(), [](const api::DeviceRequest& request) {
    return request.exactly && request.exactly->admin_access;
  });
}

bool is_gated(const api::Pod& pod, const Options& options) {
  return !options.held_by_gate.empty() && pod.node_name.empty() && pod.scheduling_gates.size() == 1 &&
         pod.scheduling_gates.front() == options.held_by_gate;
}

// Until the pod is bound; then the kubelet writes its status.
bool is_bound_by_us(const api::Pod& pod, const Options& options) {
  const auto& names = options.scheduler_names;
  return pod.node_name.empty() && std::find(names.begin(), names.end(), pod.scheduler_name) != names.end();
}

// This controller wrote the node in status.nominatedNodeName.
bool nominated_by_us(const api::Pod& pod) {
  const std::vector<api::ManagedFieldsEntry>& managers = pod.metadata.managed_fields;
  return std::any_of(managers.begin(), managers.end(), [](const api::ManagedFieldsEntry& entry) {
    return entry.manager == kFieldManager && entry.nominates_node;
  });
}

// One reconcile of one pod.
class Pass {
 public:
  Pass(const View& view, const api::Pod& pod, const Options& options)
      : view_(view), pod_(pod), options_(options), gated_(is_gated(pod, options)) {}

  ReconcileResult run() {
    for (const api::PodResourceClaim& entry : pod_.resource_claims)
      if (entry.resource_claim_template_name) consider(entry);
    finish();
    return std::move(outcome_);
  }

 private:
  std::string in_namespace(const std::string& name) const { return pod_.metadata.ns + "/" + name; }

  void consider(const api::PodResourceClaim& entry) {
    const api::PodResourceClaimStatus* published = published_claim(pod_, entry.name);
    if (published && !published->resource_claim_name) {
      complete_.push_back(*published);
      return;
    }
    // One claim serves the whole group: none is made for each member.
    if (is_entry_of_group(view_, pod_, entry)) {
      if (published)
        complete_.push_back(*published);
      else
        warn(entry.name, why_entry_of_group_waits(pod_, entry));
      return;
    }
    if (published && !replaceable(*published)) {
      complete_.push_back(*published);
      return;
    }
    if (const api::ResourceClaim* own = adoptable(entry.name)) {
      complete_.push_back({entry.name, own->metadata.name});
      publish_first_ = true;
      return;
    }
    if (!create(entry) && published) complete_.push_back(*published);
  }

  // True when the published claim is certainly gone or belongs to another pod, so that the entry needs another claim.
  bool replaceable(const api::PodResourceClaimStatus& published) {
    const std::string& name = *published.resource_claim_name;
    if (const api::ResourceClaim* claim = view_.claim(in_namespace(name))) return !is_for_pod(pod_, *claim);
    const Ref ref{Kind::kClaim, pod_.metadata.ns, name, ""};
    switch (view_.live_presence(ref)) {
      case Presence::kAbsent:
        return true;
      case Presence::kUnknown:
        outcome_.add(LiveGet{ref});
        return false;
      case Presence::kPresent:
        return false;
    }
    return false;
  }

  // An unpublished claim made for this entry: an earlier reconcile was cut off, or another controller made it. Of
  // several, the allocated one, then the one with our name, then the first by name: always the same choice.
  const api::ResourceClaim* adoptable(const std::string& entry) const {
    const std::string our_name = generated_claim_name(pod_.metadata.name, entry, pod_.metadata.uid);
    const api::ResourceClaim* best = nullptr;
    const auto rank = [&](const api::ResourceClaim& claim) {
      return std::make_tuple(!claim.status.allocation.has_value(), claim.metadata.name != our_name,
                             std::string_view(claim.metadata.name));
    };
    for (const api::ResourceClaim* claim : view_.claims_controlled_by(pod_.metadata.uid)) {
      if (claim->metadata.deleting() || !is_made_for(pod_, entry, *claim)) continue;
      if (!best || rank(*claim) < rank(*best)) best = claim;
    }
    return best;
  }

  // Adds the create; false when it must wait.
  bool create(const api::PodResourceClaim& entry) {
    // The PodGroup's own events, and the end of the list, requeue the key.
    if (may_be_entry_of_group(view_, pod_)) return false;
    const std::string name = generated_claim_name(pod_.metadata.name, entry.name, pod_.metadata.uid);
    if (const api::ResourceClaim* taken = view_.claim(in_namespace(name))) {
      // Our own claim is being deleted: its deletion requeues the key. Another's: somebody has to remove it.
      if (!is_for_pod(pod_, *taken))
        warn(entry.name, "the claim \"" + name +
                             "\" that would be created for it exists and is not controlled by this pod"
                             "; delete it, or recreate the pod");
      return false;
    }
    const std::string template_key = in_namespace(*entry.resource_claim_template_name);
    const api::ResourceClaimTemplate* from = view_.claim_template(template_key);
    if (!from) {
      missing_template(entry);
      return false;
    }
    if (from->bytes_dropped > 0) {
      warn(entry.name, "resourceclaimtemplates \"" + *entry.resource_claim_template_name + "\" has a spec of " +
                           std::to_string(from->bytes_dropped >> 10) + " KiB, and at most " +
                           std::to_string(api::kMaxTemplateBytes >> 10) +
                           " KiB are copied into a claim: shorten its parameters, selectors or annotations");
      return false;
    }
    Write write = write_generated_claim(pod_, entry.name, *from, name, view_.dra_api_version());
    const std::string admin = asks_admin_access(from->spec) ? "true" : "false";
    const auto counted = [&](const char* status) {
      return Metric{Metric::Type::kCounter,
                    "resourceclaim_controller_creates_total",
                    {{"status", status}, {"admin_access", admin}}};
    };
    write.on_success.push_back(counted("success"));
    write.on_failure.push_back(counted("failure"));
    write.failure_event = event(entry.name, "create ResourceClaim \"" + name + "\"");
    creates_.push_back(std::move(write));
    created_.push_back({entry.name, name});
    return true;
  }

  // Manifests often name the pod before its template.
  void missing_template(const api::PodResourceClaim& entry) {
    constexpr Duration kTemplateMayFollow = std::chrono::seconds(2);
    Timestamp created;
    if (parse_rfc3339(pod_.metadata.creation_timestamp, created))
      if (const Duration age = view_.now() - created; age < kTemplateMayFollow)
        return void(outcome_.requeue_in(kTemplateMayFollow - age));
    const Ref ref{Kind::kClaimTemplate, pod_.metadata.ns, *entry.resource_claim_template_name, ""};
    const std::string named = "resourceclaimtemplates \"" + *entry.resource_claim_template_name + "\" ";
    switch (view_.live_presence(ref)) {
      case Presence::kUnknown:
        outcome_.add(LiveGet{ref});
        return;
      case Presence::kAbsent:
        // The template's add event requeues the key; no timer is needed.
        return warn(entry.name, named + "not found");
      case Presence::kPresent:
        return warn(entry.name, named +
                                    "exists, and the watch has not shown it in a form that this version can read: its "
                                    "spec may have fields that this version does not know (see the manager's log)");
    }
  }

  Event event(const std::string& entry, const std::string& what) const {
    return {ref_of(pod_), true, "FailedResourceClaimCreation", "CreateResourceClaim",
            "PodResourceClaim " + entry + ": " + what};
  }
  void warn(const std::string& entry, const std::string& what) { warnings_.push_back(event(entry, what)); }

  void finish() {
    // One warning per reconcile: two of one reason would alternately count as new.
    if (!warnings_.empty()) {
      Event first = std::move(warnings_.front());
      for (size_t i = 1; i < warnings_.size(); ++i) first.note += "; " + warnings_[i].note;
      emit_once(view_, outcome_, std::move(first));
    }
    // Publishes existing claims before trying anything else, so that one bad entry does not delay the good ones.
    const bool publish_now = publish_first_ && !creates_.empty();
    if (publish_now) publish();
    for (Write& create : creates_) outcome_.add(std::move(create));
    if (publish_now) return;
    complete_.insert(complete_.end(), created_.begin(), created_.end());
    publish();
  }

  // Finds the node that the allocations of the pod's claims leave it, and how long a claim has been unallocated.
  void read_allocations() {
    for (const api::PodResourceClaim& entry : pod_.resource_claims) {
      const api::PodResourceClaimStatus* wished = wished_for(entry.name);
      if (wished && !wished->resource_claim_name) continue;  // needs no claim
      const std::optional<std::string>& name = wished ? wished->resource_claim_name : entry.resource_claim_name;
      const api::ResourceClaim* claim = name ? view_.claim(in_namespace(*name)) : nullptr;
      if (claim && entry.resource_claim_template_name && !is_for_pod(pod_, *claim)) claim = nullptr;
      if (!claim) {
        all_known_ = false;
        hopeless_ = hopeless_ || !is_created_now(entry.name);
      } else if (!claim->status.allocation) {
        all_allocated_ = false;
        unallocated_for_ = std::max(unallocated_for_, view_.unchanged_for(Kind::kClaim, claim->metadata.key()));
      } else if (const std::string* only = api::only_node(*claim->status.allocation)) {
        allocated_on_ = *only;
      }
    }
  }

  // What our status.nominatedNodeName should be; empty: nothing. Never replaces a node that others nominated.
  std::string node_to_nominate() const {
    const bool ours = nominated_by_us(pod_);
    if (!pod_.node_name.empty() || (!ours && (!gated_ || !pod_.nominated_node_name.empty()))) return "";
    if (!all_known_) return ours ? pod_.nominated_node_name : "";  // the claim may be on its way in the watch
    return all_allocated_ ? allocated_on_ : "";
  }

  const api::PodResourceClaimStatus* wished_for(const std::string& entry) const {
    for (const api::PodResourceClaimStatus& status : complete_)
      if (status.name == entry) return &status;
    return nullptr;
  }
  bool is_created_now(const std::string& entry) const {
    return std::any_of(created_.begin(), created_.end(), [&](const auto& status) { return status.name == entry; });
  }

  // Of a group's members only one gets the event.
  Duration patience() const {
    const bool refused = view_.has_event(pod_.metadata.uid) || group_of(pod_);
    return refused ? options_.patience : options_.patience_for_its_turn;
  }

  // What may wait for the allocation: first names of claims that allocation can use unpublished, and the end of a
  // nomination.
  bool may_wait() const {
    if (!gated_ || (all_known_ && all_allocated_) || hopeless_ || unallocated_for_ >= patience()) return false;
    return std::all_of(complete_.begin(), complete_.end(), [&](const api::PodResourceClaimStatus& status) {
      const api::PodResourceClaimStatus* published = published_claim(pod_, status.name);
      if (published) return *published == status;
      return status.resource_claim_name == generated_claim_name(pod_.metadata.name, status.name, pod_.metadata.uid);
    });
  }

  // Writes the complete set, and only if it is new: a set with fewer entries would delete the others.
  void publish() {
    const bool ours = nominated_by_us(pod_);
    if (gated_ || ours) read_allocations();
    const std::string node = node_to_nominate();
    bool news = ours && pod_.node_name.empty() && pod_.nominated_node_name != node;
    std::vector<api::PodResourceClaimStatus> set;
    for (const api::PodResourceClaim& entry : pod_.resource_claims)
      if (const api::PodResourceClaimStatus* wished = wished_for(entry.name)) {
        const api::PodResourceClaimStatus* published = published_claim(pod_, entry.name);
        news = news || !published || *published != *wished;
        set.push_back(*wished);
      }
    if (!news) return;
    // An event about the pod enqueues nothing, so the wait for it is checked every few seconds.
    if (may_wait()) return void(outcome_.requeue_in(std::min(options_.patience, patience() - unallocated_for_)));
    const std::string purpose = "publish-claim-names";
    if (!gated_ && !ours && !is_bound_by_us(pod_, options_))
      return void(outcome_.add(write_claim_statuses(pod_, set, purpose)));
    const bool renominate = pod_.nominated_node_name != node && (ours || !node.empty());
    outcome_.add(write_claim_statuses_and_node(pod_, set, renominate ? std::optional<std::string>(node) : std::nullopt,
                                               purpose));
  }

  const View& view_;
  const api::Pod& pod_;
  const Options& options_;
  const bool gated_;
  ReconcileResult outcome_;
  std::vector<api::PodResourceClaimStatus> complete_;  // the claim exists (or existed, and is not replaced)
  std::vector<api::PodResourceClaimStatus> created_;   // this reconcile creates the claim
  std::vector<Write> creates_;
  std::vector<Event> warnings_;
  bool publish_first_ = false;
  bool all_known_ = true;      // every entry's claim is in the view
  bool hopeless_ = false;      // one is not, and this reconcile does not create it
  bool all_allocated_ = true;  // of the claims in the view
  Duration unallocated_for_{};
  std::string allocated_on_;  // the only node, if there is one
};

void on_pod(const Options& options, const Changed<api::Pod>& pod, EnqueueRequests& out) {
  const auto& [before, after] = pod;
  if (!after || !wants_claims(*after)) return;
  if (before && before->resource_claim_statuses == after->resource_claim_statuses &&
      is_gated(*before, options) == is_gated(*after, options))
    return;
  out.add(pod_key(after->metadata.key()));
}

void on_claim(const Options& options, const View& view, const Changed<api::ResourceClaim>& change,
              EnqueueRequests& out) {
  const auto& [before, after] = change;
  // Of a claim only its existence, its owner and its deletion matter.
  if (before && after && before->metadata.deleting() == after->metadata.deleting() &&
      before->metadata.owner_references == after->metadata.owner_references &&
      before->metadata.annotations == after->metadata.annotations) {
    // For pods that wait for a node, also whether it is allocated.
    if (before->status.allocation == after->status.allocation) return;
    for (const api::Pod* pod : view.pods_of_claim(after->metadata.key()))
      if (wants_claims(*pod) && (is_gated(*pod, options) || nominated_by_us(*pod)))
        out.add(pod_key(pod->metadata.key()));
    return;
  }
  const api::ResourceClaim& claim = after ? *after : *before;
  std::set<std::string> keys;
  for (const api::Pod* pod : view.pods_of_claim(claim.metadata.key()))
    if (wants_claims(*pod)) keys.insert(pod->metadata.key());
  if (const api::OwnerReference* owner = pod_owner(claim)) {
    const api::Pod* pod = view.pod(claim.metadata.ns + "/" + owner->name);
    if (pod && pod->metadata.uid == owner->uid && wants_claims(*pod)) keys.insert(pod->metadata.key());
  }
  for (const std::string& key : keys) out.add(pod_key(key));
}

// Whether an entry is the group's is known only with the PodGroup.
void on_group(const View& view, std::string_view group, EnqueueRequests& out) {
  for (const api::Pod* pod : view.pods_of_group(group))
    if (wants_claims(*pod)) out.add(pod_key(pod->metadata.key()));
}

void on_claim_template(const View& view, const api::ResourceClaimTemplate* after, EnqueueRequests& out) {
  if (!after) return;
  for (const api::Pod* pod : view.pods_of_template(after->metadata.key()))
    if (wants_claims(*pod)) out.add(pod_key(pod->metadata.key()));
}

}  // namespace

ReconcileResult ClaimTemplateReconciler::reconcile(const Key& key, const View& view, State&) const {
  if (key.kind != Kind::kPod) return {};
  const api::Pod* pod = view.pod(key.object);
  if (!pod || !wants_claims(*pod)) return {};
  return Pass(view, *pod, options_).run();
}

void ClaimTemplateEvents::changed(const Change& change, const View& view, State&, EnqueueRequests& out) const {
  std::visit(Cases{[&](const Changed<api::Pod>& pod) { on_pod(options_, pod, out); },
                   [&](const Changed<api::ResourceClaim>& claim) { on_claim(options_, view, claim, out); },
                   [&](const Changed<api::ResourceClaimTemplate>& made) { on_claim_template(view, made.after, out); },
                   [&](const GroupChanged& change_of) { on_group(view, change_of.group, out); }, [](const auto&) {}},
             change);
}

Parts parts(const Options& options) {
  return {.name = "claimtemplate",
          .reconciler = std::make_unique<ClaimTemplateReconciler>(options),
          .events = std::make_unique<ClaimTemplateEvents>(options)};
}

}  // namespace dra::claimtemplate
