#include "controllers/recovery/recovery.h"

#include <algorithm>

#include "controllers/recovery/failures.h"
#include "controllers/recovery/kept.h"
#include "pkg/base/strings.h"
#include "pkg/protocol/avoided.h"
#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/writes.h"

namespace dra::recovery {

using namespace protocol;
using namespace reconcile;

namespace {

// About a pod: what its driver or kubelet reports, and since when.
constexpr std::string_view kTroubleNote = "prepare-trouble";
// Labels, owners and other consumers change without an event that enqueues the pod.
constexpr Duration kLookAgain = std::chrono::minutes(1);
constexpr Duration kAskSoon = std::chrono::seconds(5);

// How long until the failures count as enough; zero: they do. Nothing: the next event brings the key again.
std::optional<Duration> time_left(const View& view, const api::Pod& pod, const Failures& failures,
                                  const Options& options, ReconcileResult& out) {
  const std::optional<View::Noted> noted = view.note(pod.metadata.uid, kTroubleNote);
  const bool same = noted && noted->text == failures.troubles;
  if (noted ? !same : !failures.troubles.empty())
    out.add(Note{pod.metadata.uid, std::string(kTroubleNote), failures.troubles});
  if (failures.times >= options.failures) return Duration::zero();
  if (failures.troubles.empty()) return std::nullopt;
  return same ? std::max(options.stands - noted->age, Duration::zero()) : options.stands;
}

void say_kept(const View& view, const api::Pod& pod, const Failures& failures, const std::string& why,
              ReconcileResult& out) {
  emit_once(view, out,
            {ref_of(pod), true, "NotRecovered", "Recover",
             "its devices could not be prepared: " + failures.text() + "; it is not made anew: " + why, why});
}

// Why no pod of any owner is evicted now, as a clause; empty: one may.
std::string why_paused(State& state, WallTime now) {
  // A clock that was set back does not stop it.
  while (!state.lately.empty() && (now - state.lately.front() > std::chrono::minutes(1) || state.lately.front() > now))
    state.lately.pop_front();
  return state.lately.size() < kMostAMinute
             ? ""
             : std::to_string(kMostAMinute) + " pods were evicted for this in the last minute";
}

// A device of the same pool failed before for a pod of this owner.
bool failed_there_before(const std::vector<AvoidedDevice>& before, const std::vector<inventory::DeviceName>& now) {
  return std::any_of(before.begin(), before.end(), [&](const AvoidedDevice& one) {
    return std::any_of(now.begin(), now.end(), [&](const inventory::DeviceName& name) {
      return one.name.driver == name.driver && one.name.pool == name.pool && one.name != name;
    });
  });
}

// What the next pods of the owner avoid; before the eviction, so that it is known when the next pod comes.
void note_avoided(const View& view, const api::Pod& pod, const Failures& failures, ReconcileResult& out) {
  const std::string owner = owner_key(pod);
  const std::optional<View::Noted> noted = view.note(owner, kAvoidedByOwner);
  std::vector<AvoidedDevice> avoided = noted ? avoided_in(noted->text, view.now()) : std::vector<AvoidedDevice>();
  if (failed_there_before(avoided, failures.devices))
    out.add(AvoidNodes{owner, {pod.node_name}, kNodeIsAvoided, "its driver failed to prepare several devices there"});
  for (const inventory::DeviceName& name : failures.devices) {
    std::erase_if(avoided, [&](const AvoidedDevice& one) { return one.name == name; });
    avoided.push_back({name, Timestamp(view.now()) + kAvoidDevice});
  }
  out.add(Note{owner, std::string(kAvoidedByOwner), avoided_text(std::move(avoided))});
}

std::string names_of(const std::vector<inventory::DeviceName>& devices) {
  std::vector<std::string> names;
  for (const inventory::DeviceName& device : devices) names.push_back(device.text());
  return join_some(names, 3);
}

// What nobody gets for a while. For the event: a clause, or nothing.
std::string quarantine(const View& view, const api::Pod& pod, const Failures& failures, State& state,
                       ReconcileResult& out) {
  state.quarantine.release(released_devices(view));
  const std::vector<inventory::DeviceName> fresh =
      state.quarantine.failed(failures.devices, pod.metadata.ns, failures.named, view.now());
  if (fresh.empty()) return "";
  out.add(Note{std::string(kQuarantine), std::string(kAvoidedByOwner), state.quarantine.text(view.now())});
  out.add(Metric{Metric::Type::kCounter, "dra_quarantined_devices_total", {}, static_cast<double>(fresh.size())});
  return "; nobody gets " + names_of(fresh) + " until " + format_rfc3339(Timestamp(view.now()) + kAvoidDevice);
}

void evict(const View& view, const api::Pod& pod, const Failures& failures, State& state, ReconcileResult& out) {
  state.recreations.begin(pod, view.now());
  state.lately.push_back(view.now());
  note_avoided(view, pod, failures, out);
  const std::string kept_from_all = quarantine(view, pod, failures, state, out);
  Write write = write_eviction(pod, "recover");
  write.success_event =
      Event{ref_of(pod),
            true,
            "PodRecovered",
            "Evict",
            "its devices could not be prepared: " + failures.text() +
                "; its controller makes another, which does not get " + names_of(failures.devices) + kept_from_all,
            ""};
  write.on_success.push_back({Metric::Type::kCounter, "dra_recovered_pods_total", {}, 1});
  out.add(std::move(write));
  out.requeue_in(kAskSoon);  // if it was refused
}

}  // namespace

ReconcileResult RecoveryReconciler::reconcile(const Key& key, const View& view, reconcile::State& handed) const {
  State& state = static_cast<State&>(handed);
  ReconcileResult out;
  const api::Pod* pod = key.kind == Kind::kPod ? view.pod(key.object) : nullptr;
  if (pod == nullptr || !may_fail(*pod)) return out;
  const Failures failures = failures_of(view, *pod);
  if (!failures.any() && !view.note(pod->metadata.uid, kTroubleNote)) return out;
  const std::optional<std::string> label = nodes_.namespace_label(pod->metadata.ns, std::string(kRecoverLabel));
  if (!label) return out.requeue_in(std::chrono::seconds(1));
  if (*label != "true") return out.requeue_in(kLookAgain);
  const std::optional<Duration> left = time_left(view, *pod, failures, options_, out);
  if (!left) return out;
  if (*left > Duration::zero()) return out.requeue_in(*left);
  if (const std::string why = why_kept(view, *pod, failures); !why.empty()) {
    say_kept(view, *pod, failures, why, out);
    return out.requeue_in(kLookAgain);
  }
  std::string later = state.recreations.why_later(view, *pod);
  if (later.empty()) later = why_paused(state, view.now());
  if (!later.empty()) {
    say_kept(view, *pod, failures, "not yet: " + later, out);
    return out.requeue_in(kAskSoon);
  }
  evict(view, *pod, failures, state, out);
  return out;
}

void RecoveryEvents::changed(const Change& change, const View&, reconcile::State& handed, EnqueueRequests& out) const {
  State& state = static_cast<State&>(handed);
  std::visit(Cases{[&](const Changed<api::Pod>& pod) {
                     const auto& [before, after] = pod;
                     if (after == nullptr) return;
                     if (before == nullptr && !state.recreations.empty()) state.recreations.pod_came(*after);
                     if (!may_fail(*after)) return;
                     if (before == nullptr || before->node_name.empty() ||
                         before->unhealthy_devices != after->unhealthy_devices)
                       out.add(pod_key(after->metadata.key()));
                   },
                   [&](const Changed<api::PrepareEvent>& event) {
                     if (event.after != nullptr && !event.after->pod.empty()) out.add(pod_key(event.after->pod));
                   },
                   [&](const Changed<api::ResourceClaim>& claim) {
                     const auto& [before, after] = claim;
                     if (before == nullptr || after == nullptr || before->status.devices == after->status.devices)
                       return;
                     for (const api::ResourceClaimConsumerReference& consumer : after->status.reserved_for)
                       if (is_pod_reference(consumer)) out.add(pod_key(after->metadata.ns + "/" + consumer.name));
                   },
                   [](const auto&) {}},
             change);
}

Parts parts(const Options& options, nodes::NodeChooser& nodes) {
  return {.name = "recovery",
          .reconciler = std::make_unique<RecoveryReconciler>(options, nodes),
          .events = std::make_unique<RecoveryEvents>(),
          .state = std::make_unique<State>()};
}

}  // namespace dra::recovery
