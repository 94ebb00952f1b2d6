#include "pkg/manager/report/instruments.h"

#include <algorithm>

#include "controllers/allocation/allocation.h"
#include "controllers/allocation/pod/refused.h"
#include "pkg/log/log.h"
#include "pkg/manager/report/stuck_claims.h"
#include "pkg/protocol/device_health.h"

namespace dra::manager {

namespace {

double seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}

metrics::LabelValues values_of(const reconcile::Labels& labels) {
  metrics::LabelValues values;
  for (const auto& [name, value] : labels) values.push_back(value);
  return values;
}

const char* text_of(bool value) {
  return value ? "true" : "false";
}

// Serves exactly these series; `shown` are those served last time.
void show_exactly(metrics::GaugeFamily& family, const std::map<metrics::LabelValues, double>& figures,
                  std::set<metrics::LabelValues>& shown) {
  for (const auto& gone : shown)
    if (!figures.contains(gone)) family.remove(gone);
  shown.clear();
  for (const auto& [labels, value] : figures) {
    family.with(labels).set(value);
    shown.insert(labels);
  }
}

}  // namespace

ClaimLabels claim_labels(const api::ResourceClaim& claim) {
  ClaimLabels labels;
  labels.allocated = claim.status.allocation.has_value();
  labels.admin_access =
      std::any_of(claim.spec.requests.begin(), claim.spec.requests.end(),
                  [](const api::DeviceRequest& request) { return request.exactly && request.exactly->admin_access; });
  const api::StringMap& annotations = claim.metadata.annotations;
  const auto extended = annotations.find(api::kExtendedResourceClaimAnnotation);
  if (extended != annotations.end() && extended->second == "true")
    labels.source = "extended_resource";
  else if (annotations.contains(api::kPodClaimNameAnnotation))
    labels.source = "resource_claim_template";
  return labels;
}

void add_build_info(metrics::Registry& registry, const std::string& version) {
  registry.gauges("dra_build_info", "[ALPHA] 1, by the version of this program.", {"version"}).with({version}).set(1);
}

metrics::Counter& slow_path_counter(metrics::Registry& registry, const std::string& lease) {
  return registry
      .counters("leader_election_slowpath_total",
                "[ALPHA] Renewals of the lease that had to read it first, by the name of the lease.", {"name"})
      .with({lease});
}

class Instruments::QueueObserver : public queue::Observer {
 public:
  QueueObserver(metrics::Counter& adds, metrics::Counter& retries, metrics::Histogram& queued,
                metrics::Histogram& worked, metrics::Gauge& depth)
      : adds_(adds), retries_(retries), queued_(queued), worked_(worked), depth_(depth) {}
  void added() override { adds_.increment(); }
  void retried() override { retries_.increment(); }
  void taken(Duration waited) override { queued_.observe(seconds(waited)); }
  void finished(Duration work) override { worked_.observe(seconds(work)); }
  void depth_changed(size_t ready_keys) override { depth_.set(static_cast<double>(ready_keys)); }

 private:
  metrics::Counter& adds_;
  metrics::Counter& retries_;
  metrics::Histogram& queued_;
  metrics::Histogram& worked_;
  metrics::Gauge& depth_;
};

Instruments::Instruments(metrics::Registry& r, std::string lease)
    : creates_(r.counters("resourceclaim_controller_creates_total",
                          "[ALPHA] Number of ResourceClaims creation requests, by status and admin access.",
                          {"status", "admin_access"})),
      creates_137_(r.counters(
          "dynamic_resource_allocation_resourceclaim_creates_total",
          "[ALPHA] Number of ResourceClaims creation requests, by status and admin access (the name of 1.37).",
          {"status", "admin_access"})),
      claims_(r.gauges("resourceclaim_controller_resource_claims",
                       "[ALPHA] Number of ResourceClaims, by allocation, admin access and source.",
                       {"allocated", "admin_access", "source"})),
      claims_137_(r.gauges("dynamic_resource_allocation_resource_claims",
                           "[ALPHA] Number of ResourceClaims, by allocation, admin access and source (the name of "
                           "1.37).",
                           {"allocated", "admin_access", "source"})),
      writes_(r.counters("dra_writes_total", "[ALPHA] Writes that the API server answered, by purpose and result.",
                         {"purpose", "result"})),
      failures_(r.counters("dra_allocation_failures_total",
                           "[ALPHA] Decisions that found no devices or no node, by the main cause.", {"cause"})),
      refused_(r.counters("dra_bindings_refused_by_kubelet_total",
                          "[ALPHA] Pods that this manager bound and whose kubelet then refused them, by the kubelet's "
                          "reason.",
                          {"reason"})),
      device_troubles_(r.counters(
          "dra_device_troubles_total",
          "[ALPHA] Devices in use that went missing, got not ready or unhealthy, by what it is.", {"trouble"})),
      allocation_seconds_(r.histogram("dra_claim_allocation_duration_seconds",
                                      "[ALPHA] Time from the creation of a claim to its allocation.",
                                      {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800})),
      evictions_(r.counter("device_taint_eviction_controller_pod_deletions_total",
                           "[ALPHA] Total number of Pods deleted by the device taint eviction controller.")),
      victims_(r.counter("dra_preemption_victims_total",
                         "[ALPHA] Pods deleted so that pods of higher priority got their place.")),
      advised_pods_(r.counter("dra_defragment_advised_pods_total",
                              "[ALPHA] Waiting pods for which moves were advised that would make them fit.")),
      advised_moves_(r.counter("dra_defragment_advised_moves_total", "[ALPHA] Moves of pods that were advised.")),
      held_back_(r.counter("dra_defragment_held_back_total",
                           "[ALPHA] Sets of moves that would make a pod fit, and that a limit an hour kept back.")),
      plans_(
          r.counter("dra_defragment_plans_total", "[ALPHA] Plans of moves that were written down for pods that wait.")),
      moves_(r.counter("dra_defragment_moves_total", "[ALPHA] Pods that were evicted so that others fit.")),
      placed_(r.counter("dra_defragment_placed_total", "[ALPHA] Pods that got their place because others moved.")),
      places_lost_(r.counter("dra_defragment_places_lost_total",
                             "[ALPHA] Places of moved pods that no next pod of their controller took in time.")),
      recovered_(
          r.counter("dra_recovered_pods_total", "[ALPHA] Pods evicted because their devices could not be prepared.")),
      quarantined_(r.counter("dra_quarantined_devices_total",
                             "[ALPHA] Devices that nobody gets for a while, because they could not be prepared.")),
      eviction_seconds_(r.histogram("device_taint_eviction_controller_pod_deletion_duration_seconds",
                                    "[ALPHA] Time between the moment a Pod had to be deleted and its deletion.",
                                    {0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240})),
      lease_(std::move(lease)),
      leader_(r.gauges("leader_election_master_status",
                       "[ALPHA] 1 when this instance leads, 0 when it stands by, by the name of the lease.", {"name"})),
      running_(r.gauges("running_managed_controllers",
                        "[ALPHA] 1 while the controller runs here, by its name and its manager.", {"name", "manager"})),
      checks_(r.gauges("kubernetes_healthcheck", "[ALPHA] 1 for each check that passes, 0 for one that does not.",
                       {"name", "type"})),
      stuck_(
          r.gauges("dra_stuck_claims",
                   "[ALPHA] Claims that have been pending for a living pod, allocated but not proven, or deleted but "
                   "still there, for over five minutes, by state.",
                   {"state"})),
      pinned_(r.gauge("dra_pinned_pods",
                      "[ALPHA] Pods whose gate this manager lifted and that no scheduler has bound yet.")),
      pinned_since_(r.gauge("dra_pinned_pods_oldest_timestamp_seconds",
                            "[ALPHA] When the oldest of dra_pinned_pods got its devices, as Unix time; 0 when there is "
                            "none.")),
      pending_pods_(r.gauges("dra_pending_pods",
                             "[ALPHA] Pods that the last decision about them left waiting, by DeviceClass and main "
                             "cause.",
                             {"class", "cause"})),
      driver_exclusive_(r.gauges("dra_driver_exclusive",
                                 "[ALPHA] 1 where nobody else was seen to hand out devices of the driver, or all of "
                                 "them bear a taint and --ignore-taints is set; else 0.",
                                 {"driver"})),
      foreign_claims_(r.gauges("dra_foreign_claims",
                               "[ALPHA] Claims that hold devices of the driver and were allocated by others.",
                               {"driver"})),
      outages_(r.gauge("dra_outages",
                       "[ALPHA] What the API server refuses or does not answer at present, by cause, counted.")),
      outage_keys_(r.gauge("dra_outage_keys", "[ALPHA] Keys that wait for the end of one of dra_outages.")),
      over_committed_(r.gauge("dra_over_committed",
                              "[ALPHA] Devices, counters and capacities that are handed out more often than they "
                              "exist, as the last audit found them.")),
      audit_seconds_(r.gauge("dra_audit_duration_seconds",
                             "[ALPHA] How long the last whole audit took, from its first piece to its last.")),
      audit_piece_seconds_(r.gauge("dra_audit_longest_piece_seconds",
                                   "[ALPHA] The longest piece of the last whole audit; other work waits for a piece.")),
      differences_(r.counter("dra_audit_differences_total",
                             "[ALPHA] Differences that audits found between derived state and the same rebuilt.")),
      missing_permissions_(r.gauges("dra_missing_permissions",
                                    "[ALPHA] 1 for each permission that the API server does not grant, by the role "
                                    "that needs it.",
                                    {"permission", "role"})),
      parked_(r.gauges("dra_parked_keys", "[ALPHA] Keys that wait for a change, by queue.", {"name"})),
      paced_(
          r.gauges("dra_paced_keys", "[ALPHA] Keys that wait for their turn under a rate limit, by queue.", {"name"})),
      depth_(r.gauges("workqueue_depth", "[ALPHA] Current depth of workqueue", {"name"})),
      adds_(r.counters("workqueue_adds_total", "[ALPHA] Total number of adds handled by workqueue", {"name"})),
      retries_(r.counters("workqueue_retries_total", "[ALPHA] Total number of retries handled by workqueue", {"name"})),
      queue_seconds_(r.histograms("workqueue_queue_duration_seconds",
                                  "[ALPHA] How long in seconds an item stays in workqueue before being requested.",
                                  {"name"}, metrics::exponential_buckets(1e-8, 10, 10))),
      work_seconds_(r.histograms("workqueue_work_duration_seconds",
                                 "[ALPHA] How long in seconds processing an item from workqueue takes.", {"name"},
                                 metrics::exponential_buckets(1e-8, 10, 10))),
      unfinished_(r.gauges("workqueue_unfinished_work_seconds",
                           "[ALPHA] Seconds of work in progress that work_duration has not observed yet.", {"name"})),
      longest_(r.gauges("workqueue_longest_running_processor_seconds",
                        "[ALPHA] How many seconds has the longest running processor for workqueue been running.",
                        {"name"})),
      requests_(r.counters("rest_client_requests_total",
                           "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                           {"code", "method", "host"})),
      request_seconds_(r.histograms("rest_client_request_duration_seconds",
                                    "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
                                    {"verb", "host"}, {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60})),
      held_seconds_(
          r.histograms("rest_client_rate_limiter_duration_seconds",
                       "[ALPHA] How long requests were held back by the client's rate limit or a Retry-After, "
                       "in seconds. Broken down by verb, and host.",
                       {"verb", "host"}, {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60})) {
  // Every member of a closed set is served from the start, so that a rate shows its first event.
  for (const char* status : {"success", "failure"})
    for (const char* admin_access : {"false", "true"})
      for (metrics::CounterFamily* family : {&creates_, &creates_137_}) family->with({status, admin_access});
  for (const std::string& cause : allocation::failure_causes()) failures_.with({cause});
  for (const std::string& reason : allocation::refusal_reasons()) refused_.with({reason});
  using Trouble = protocol::DeviceTrouble::Kind;
  for (const Trouble kind :
       {Trouble::kDriverAbsent, Trouble::kPoolUnusable, Trouble::kDeviceGone, Trouble::kNotReady, Trouble::kUnhealthy})
    device_troubles_.with({std::string(protocol::trouble_name(kind))});
}

Instruments::~Instruments() = default;

void Instruments::record(const reconcile::Metric& metric) {
  if (metric.name == "resourceclaim_controller_creates_total")
    for (metrics::CounterFamily* family : {&creates_, &creates_137_})
      family->with(values_of(metric.labels)).increment(metric.value);
  else if (metric.name == "dra_allocation_failures_total")
    failures_.with(values_of(metric.labels)).increment(metric.value);
  else if (metric.name == "dra_bindings_refused_by_kubelet_total")
    refused_.with(values_of(metric.labels)).increment(metric.value);
  else if (metric.name == "dra_device_troubles_total")
    device_troubles_.with(values_of(metric.labels)).increment(metric.value);
  else if (metric.name == "dra_pending_pods")
    pending_.waits(metric.labels);
  else if (metric.name == "dra_claim_allocation_duration_seconds")
    allocation_seconds_.observe(metric.value);
  else if (metric.name == "device_taint_eviction_controller_pod_deletions_total")
    evictions_.increment(metric.value);
  else if (metric.name == "dra_preemption_victims_total")
    victims_.increment(metric.value);
  else if (metric.name == "dra_defragment_advised_pods_total")
    advised_pods_.increment(metric.value);
  else if (metric.name == "dra_defragment_advised_moves_total")
    advised_moves_.increment(metric.value);
  else if (metric.name == "dra_defragment_held_back_total")
    held_back_.increment(metric.value);
  else if (metric.name == "dra_defragment_plans_total")
    plans_.increment(metric.value);
  else if (metric.name == "dra_defragment_moves_total")
    moves_.increment(metric.value);
  else if (metric.name == "dra_defragment_placed_total")
    placed_.increment(metric.value);
  else if (metric.name == "dra_defragment_places_lost_total")
    places_lost_.increment(metric.value);
  else if (metric.name == "dra_recovered_pods_total")
    recovered_.increment(metric.value);
  else if (metric.name == "dra_quarantined_devices_total")
    quarantined_.increment(metric.value);
  else if (metric.name == "device_taint_eviction_controller_pod_deletion_duration_seconds")
    eviction_seconds_.observe(metric.value);
  else
    log::error("A metric is not in the catalogue", {{"name", metric.name}});
}

void Instruments::write_answered(const std::string& purpose, std::string_view result) {
  writes_.with({purpose, std::string(result)}).increment();
}

queue::Observer* Instruments::queue_observer(const std::string& name) {
  auto& observer = observers_[name];
  if (!observer)
    observer = std::make_unique<QueueObserver>(adds_.with({name}), retries_.with({name}), queue_seconds_.with({name}),
                                               work_seconds_.with({name}), depth_.with({name}));
  return observer.get();
}

void Instruments::set_queue_figures(const std::string& name, Duration unfinished, Duration longest, size_t parked,
                                    size_t paced) {
  unfinished_.with({name}).set(seconds(unfinished));
  longest_.with({name}).set(seconds(longest));
  parked_.with({name}).set(static_cast<double>(parked));
  paced_.with({name}).set(static_cast<double>(paced));
}

void Instruments::count_claim(const api::ResourceClaim* before, const api::ResourceClaim* after) {
  const auto change = [this](const api::ResourceClaim& claim, bool more) {
    const ClaimLabels labels = claim_labels(claim);
    size_t& count = claim_counts_[labels];
    if (more)
      ++count;
    else if (count > 0)
      --count;
    for (metrics::GaugeFamily* family : {&claims_, &claims_137_})
      family->with({text_of(labels.allocated), text_of(labels.admin_access), labels.source})
          .set(static_cast<double>(count));
  };
  if (before) change(*before, false);
  if (after) change(*after, true);
}

void Instruments::set_leader(bool leader) {
  leader_.with({lease_}).set(leader ? 1 : 0);
}

void Instruments::set_running(std::string_view controller, bool running) {
  running_.with({std::string(controller), "dra-controller-manager"}).set(running ? 1 : 0);
}

void Instruments::set_ready(const std::string& check, bool ok) {
  checks_.with({check, "readyz"}).set(ok ? 1 : 0);
}

void Instruments::set_stuck(const std::array<size_t, 3>& counts) {
  for (size_t state = 0; state < counts.size(); ++state)
    stuck_.with({StuckClaims::kStates[state]}).set(static_cast<double>(counts[state]));
}

void Instruments::set_pinned(size_t pods, std::optional<Timestamp> since) {
  pinned_.set(static_cast<double>(pods));
  pinned_since_.set(since ? static_cast<double>(since->seconds()) : 0);
}

void Instruments::set_outages(size_t causes, size_t waiting) {
  outages_.set(static_cast<double>(causes));
  outage_keys_.set(static_cast<double>(waiting));
}

void Instruments::set_missing_permissions(const std::vector<Preflight::Missing>& missing) {
  std::map<metrics::LabelValues, double> now;
  for (const Preflight::Missing& m : missing) now[{m.permission, m.role}] = 1;
  show_exactly(missing_permissions_, now, shown_missing_);
}

void Instruments::set_pending(const reconcile::View& view) {
  std::map<metrics::LabelValues, double> now;
  for (const auto& [labels, pods] : pending_.count(view))
    now[{labels.first, labels.second}] = static_cast<double>(pods);
  show_exactly(pending_pods_, now, shown_pending_);
}

void Instruments::set_drivers(const std::map<std::string, Exclusivity::Driver>& drivers) {
  std::map<metrics::LabelValues, double> exclusive, foreign;
  for (const auto& [name, driver] : drivers) {
    exclusive[{name}] = driver.exclusive ? 1 : 0;
    foreign[{name}] = static_cast<double>(driver.foreign_claims);
  }
  std::set<metrics::LabelValues> shown = shown_drivers_;
  show_exactly(driver_exclusive_, exclusive, shown);
  show_exactly(foreign_claims_, foreign, shown_drivers_);
}

void Instruments::observe_held(const std::string& method, const std::string& host, double held) {
  held_seconds_.with({method, host}).observe(held);
}

void Instruments::set_over_committed(double findings) {
  over_committed_.set(findings);
}

void Instruments::set_audit_times(double whole_seconds, double piece_seconds) {
  audit_seconds_.set(whole_seconds);
  audit_piece_seconds_.set(piece_seconds);
}

void Instruments::add_audit_differences(double differences) {
  differences_.increment(differences);
}

void Instruments::count_request(const std::string& method, const std::string& code, const std::string& host,
                                double duration) {
  requests_.with({code, method, host}).increment();
  request_seconds_.with({method, host}).observe(duration);
}

}  // namespace dra::manager
