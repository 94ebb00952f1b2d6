// Serving: the manager's HTTP and HTTPS ports, on a thread of their own.
//
// Probes are answered from the reactor's last report, so that they wait neither for a long reconcile nor for other
// requests; /livez fails when there was no report for `stuck_after`. Metrics and configuration are computed on the
// reactor, metrics at most once a second; the text of the metrics is made by the thread of the ports. Over HTTPS only
// those who may read the path get them (AccessReview); tokens are never read over plain HTTP. The same people see why a
// probe fails, and it is logged.
//
// Everything public is called on the reactor's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "pkg/base/error.h"
#include "pkg/http/server.h"
#include "pkg/manager/permit/access_review.h"
#include "pkg/manager/serve/endpoints.h"
#include "pkg/metrics/metrics.h"
#include "pkg/reactor/reactor.h"

namespace dra::manager {

enum class MetricsAuthentication {
  kSecure,  // over HTTPS; plain HTTP serves everybody
  kAlways,  // plain HTTP serves probes only
  kNever,
};

struct ServingOptions {
  std::string bind_address = "127.0.0.1";
  int metrics_port = -1;  // HTTP; 0: any free port, negative: none
  int secure_port = 0;    // HTTPS; 0: none
  // Called at the start and then once a minute, on the serving thread after the start: files may be replaced.
  std::function<Result<http::Certificate>()> certificate;
  MetricsAuthentication authentication = MetricsAuthentication::kSecure;
  Duration stuck_after = std::chrono::seconds(60);
  Duration answer_timeout = std::chrono::seconds(10);  // for what the reactor computes; then 503
};

// How late the reactor starts due tasks because of the tasks that it runs; sampled five times a second. The rule is 20
// ms at most.
metrics::Histogram& reactor_delays(metrics::Registry& registry);

// How long each task of the reactor took (AsioReactor::observe_tasks). The rule is 20 ms at most.
metrics::Histogram& reactor_tasks(metrics::Registry& registry);
// The processor time of each of these tasks: without what the thread waited for a core.
metrics::Histogram& reactor_task_processor(metrics::Registry& registry);

class Serving {
 public:
  // `reactor` and `access` must outlive it; `sources` are called on the reactor's thread. Errors name the address and
  // the flag to check.
  static Result<std::unique_ptr<Serving>> start(Reactor& reactor, EndpointSources sources, AccessReview& access,
                                                ServingOptions options);
  ~Serving();

  uint16_t metrics_port() const;
  uint16_t secure_port() const;

  struct Core;

 private:
  explicit Serving(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace dra::manager
