// Endpoints: what a manager serves to probes, Prometheus and people: /healthz, /livez, /readyz (with ?verbose,
// ?exclude=NAME and /NAME), /metrics, /configz, /version.
//
// Belongs to the reactor's thread; /metrics and /version do not: their text is the same from any thread. The caller of
// /metrics refreshes the registry before (metrics::Registry::refresh).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/http/message.h"
#include "pkg/manager/manager.h"
#include "pkg/metrics/metrics.h"

namespace dra::manager {

struct EndpointSources {
  // Live: the process works. Ready: it can do its work.
  std::function<std::vector<HealthCheck>()> live;
  std::function<std::vector<HealthCheck>()> ready;
  std::function<std::string()> config_json;
  std::string version;
  metrics::Registry* registry = nullptr;
};

// Anybody may see which check fails; only those who may read the path see why.
enum class Audience { kAnybody, kPermitted };

// The answer to one request; never throws.
http::Response answer(const EndpointSources& sources, const http::Request& request,
                      Audience audience = Audience::kPermitted);

}  // namespace dra::manager
