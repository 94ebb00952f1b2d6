// Reads a cluster from an API server, by lists only: pages of 500, all kinds at once.
//
//   AsioReactor reactor(clock);
//   client::CurlTransport transport(reactor, config);
//   auto objects = load_from_server(reactor, transport, options);
//
// Kinds that may not be listed in the whole cluster are listed in the namespace of the flags; kinds that may not be
// listed at all are recorded in Objects::hidden, and the rest is read. An error means that nothing could be read: the
// server does not answer, does not authenticate us, or allows none of the lists. A list whose continue token expires
// begins again, at most kMaxRestarts times. Runs the reactor until it is done or times out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/transport.h"
#include "pkg/inspect/state/objects.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::inspect {

inline constexpr int kPageSize = 500;
inline constexpr int kMaxPages = 20'000;  // of one list
inline constexpr int kMaxRestarts = 3;

struct ServerOptions {
  std::string server;      // for messages
  std::string ns;          // used where lists of the whole cluster are forbidden
  std::string manager_ns;  // where the manager's Lease is looked for; empty: everywhere
  Duration time_limit = std::chrono::minutes(2);
  // Only lists of these kinds (plurals), and namespaced ones only in `ns`: for completion. Empty: all, everywhere.
  std::vector<std::string> kinds;
  // Also read the feature gates: from the server's /metrics, which are large and which few users may read.
  bool feature_gates = false;
  // Also read what decides about evictions: PodDisruptionBudgets, PriorityClasses, Jobs.
  bool evictions = false;
  // Gets each page as the server sent it, of lists that did not begin again. Null: not called.
  std::function<Result<void>(std::string_view plural, std::string_view page)> on_page;
};

// The gates that concern devices ("DRA...", DynamicResourceAllocation) in an API server's metrics.
std::map<std::string, bool> device_gates(std::string_view metrics);

Result<Objects> load_from_server(AsioReactor& reactor, client::Transport& transport, const ServerOptions& options);

}  // namespace dra::inspect
