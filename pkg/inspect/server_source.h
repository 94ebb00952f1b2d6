// Reads a cluster from an API server, with lists only: pages of 500, all kinds at once.
//
//   AsioReactor reactor(clock);
//   client::CurlTransport transport(reactor, config);
//   auto objects = load_from_server(reactor, transport, options);
//
// What may not be listed in the whole cluster is listed in the namespace of the flags; what may not be listed at all is
// noted in Objects::hidden, and the rest is read. An error means that nothing could be found out: the server does not
// answer, does not know us, or allows none of the lists. A list whose continue token expires begins again, at most
// kMaxRestarts times. Runs the reactor until it is done or the time is up.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/transport/transport.h"
#include "pkg/inspect/objects.h"
#include "pkg/reactor/asio_reactor.h"

namespace dra::inspect {

inline constexpr int kPageSize = 500;
inline constexpr int kMaxPages = 20'000;  // of one list
inline constexpr int kMaxRestarts = 3;

struct ServerOptions {
  std::string server;  // for messages
  std::string ns;      // where lists of the whole cluster are forbidden
  Duration time_limit = std::chrono::minutes(2);
  // Only lists of these kinds (plurals), and namespaced ones of `ns` alone: for completion. Empty: all, everywhere.
  std::vector<std::string> kinds;
  // Ask for the feature gates, too: the server's /metrics, which are large and which few may read.
  bool feature_gates = false;
  // Sees each page as the server sent it, of lists that did not begin again. Null: nobody.
  std::function<Result<void>(std::string_view plural, std::string_view page)> on_page;
};

// The gates that concern devices ("DRA...", DynamicResourceAllocation) in an API server's metrics.
std::map<std::string, bool> device_gates(std::string_view metrics);

Result<Objects> load_from_server(AsioReactor& reactor, client::Transport& transport, const ServerOptions& options);

}  // namespace dra::inspect
