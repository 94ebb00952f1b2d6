// Instruments: every metric of the manager, under upstream's name where the meaning is the same, and the sinks that the
// runner and its queues write to.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "pkg/api/resource.h"
#include "pkg/base/timestamp.h"
#include "pkg/manager/permit/preflight.h"
#include "pkg/manager/report/exclusivity.h"
#include "pkg/manager/report/pending_pods.h"
#include "pkg/manager/run/sinks.h"
#include "pkg/metrics/metrics.h"
#include "pkg/queue/work_queue.h"

namespace dra::manager {

// The labels of one claim in resourceclaim_controller_resource_claims: allocated, admin_access, source.
struct ClaimLabels {
  bool allocated = false;
  bool admin_access = false;
  std::string source;  // "", "resource_claim_template" or "extended_resource"
  auto operator<=>(const ClaimLabels&) const = default;
};
ClaimLabels claim_labels(const api::ResourceClaim& claim);

// dra_build_info{version}.
void add_build_info(metrics::Registry& registry, const std::string& version);

// leader_election_slowpath_total{name} of this lease: renewals that had to read the lease first.
metrics::Counter& slow_path_counter(metrics::Registry& registry, const std::string& lease);

class Instruments : public MetricSink {
 public:
  // The registry must outlive this. `lease` is the name of the Lease in leader_election_master_status.
  explicit Instruments(metrics::Registry& registry, std::string lease = "dra-controller-manager");
  ~Instruments() override;

  void record(const reconcile::Metric& metric) override;
  void write_answered(const std::string& purpose, std::string_view result) override;

  // The workqueue_* metrics of one queue.
  queue::Observer* queue_observer(const std::string& name);
  void set_queue_figures(const std::string& name, Duration unfinished, Duration longest, size_t parked, size_t paced);

  // Updated with every change, so that no scrape lists all claims.
  void count_claim(const api::ResourceClaim* before, const api::ResourceClaim* after);
  void set_leader(bool leader);
  void set_running(std::string_view controller, bool running);
  // The result of a check of /readyz.
  void set_ready(const std::string& check, bool ok);
  void set_over_committed(double findings);
  void add_audit_differences(double differences);
  // The times of the last whole audit and of its longest piece.
  void set_audit_times(double whole_seconds, double piece_seconds);
  void count_request(const std::string& method, const std::string& code, const std::string& host, double seconds);
  // A request was delayed by our own rate limit or by the server's Retry-After.
  void observe_held(const std::string& method, const std::string& host, double seconds);
  // In the order of StuckClaims::kStates.
  void set_stuck(const std::array<size_t, 3>& counts);
  // Pods that we ungated and nobody has bound, and since when the oldest of them waits.
  void set_pinned(size_t pods, std::optional<Timestamp> since);
  // Counted at a scrape; a standby counts nothing as waiting (forget_pending).
  void set_pending(const reconcile::View& view);
  void forget_pending() { pending_.clear(); }
  void pod_gone(const std::string& key) { pending_.gone(key); }
  void set_drivers(const std::map<std::string, Exclusivity::Driver>& drivers);
  // Lasting causes of failed requests, and the keys that wait for them to end.
  void set_outages(size_t causes, size_t waiting);
  void set_missing_permissions(const std::vector<Preflight::Missing>& missing);

 private:
  class QueueObserver;

  metrics::CounterFamily& creates_;
  metrics::CounterFamily& creates_137_;
  metrics::GaugeFamily& claims_;
  metrics::GaugeFamily& claims_137_;
  metrics::CounterFamily& writes_;
  metrics::CounterFamily& failures_;
  metrics::CounterFamily& refused_;
  metrics::CounterFamily& device_troubles_;
  metrics::Histogram& allocation_seconds_;
  metrics::Counter& evictions_;
  metrics::Counter& victims_;
  metrics::Counter &advised_pods_, &advised_moves_, &held_back_;  // of --defragment
  metrics::Counter &plans_, &moves_, &placed_, &places_lost_;
  metrics::Counter& recovered_;
  metrics::Counter& quarantined_;
  metrics::Histogram& eviction_seconds_;
  const std::string lease_;
  metrics::GaugeFamily& leader_;
  metrics::GaugeFamily& running_;
  metrics::GaugeFamily& checks_;
  metrics::GaugeFamily& stuck_;
  metrics::Gauge& pinned_;
  metrics::Gauge& pinned_since_;
  PendingPods pending_;
  metrics::GaugeFamily& pending_pods_;
  metrics::GaugeFamily& driver_exclusive_;
  metrics::GaugeFamily& foreign_claims_;
  metrics::Gauge& outages_;
  metrics::Gauge& outage_keys_;
  metrics::Gauge& over_committed_;
  metrics::Gauge& audit_seconds_;
  metrics::Gauge& audit_piece_seconds_;
  metrics::Counter& differences_;
  metrics::GaugeFamily& missing_permissions_;
  metrics::GaugeFamily& parked_;
  metrics::GaugeFamily& paced_;
  metrics::GaugeFamily& depth_;
  metrics::CounterFamily& adds_;
  metrics::CounterFamily& retries_;
  metrics::HistogramFamily& queue_seconds_;
  metrics::HistogramFamily& work_seconds_;
  metrics::GaugeFamily& unfinished_;
  metrics::GaugeFamily& longest_;
  metrics::CounterFamily& requests_;
  metrics::HistogramFamily& request_seconds_;
  metrics::HistogramFamily& held_seconds_;
  std::map<std::string, std::unique_ptr<QueueObserver>> observers_;
  std::map<ClaimLabels, size_t> claim_counts_;
  std::set<metrics::LabelValues> shown_missing_, shown_pending_, shown_drivers_;
};

}  // namespace dra::manager
