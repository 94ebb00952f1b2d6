// Held: the fixture of tests in which the server refuses what starts the pods (Bindings, or the lifting of gates) while
// nodes and devices change.
#pragma once

#include <nlohmann/json.hpp>

#include "pkg/protocol/pod_claims.h"
#include "pkg/protocol/proof.h"
#include "test/integration/faults.h"
#include "test/integration/groups.h"
#include "test/integration/node_changes.h"
#include "test/integration/world.h"

namespace dra::integration {

class Held : public World {
 protected:
  // Whether the request starts a pod: a Binding, or the patch that lifts a gate (which no other patch of these pods
  // is).
  static bool starts_pod(const client::Request& request) {
    if (request.method == "POST") return request.target.find("/binding") != std::string::npos;
    return request.method == "PATCH" && request.target.find("/pods/") != std::string::npos &&
           request.body.find("schedulingGates") != std::string::npos;
  }

  void begin_bind(size_t nodes) {
    nodes_ = nodes;
    begin(Claims::kOwn, /*manager=*/false);
    label_usable(api(), nodes);
    start_manager([](manager::ManagerOptions& options) {
      options.settings.scheduling = reconcile::Scheduling::kBind;
      options.settings.scheduler_names = {"dra"};
    });
  }
  // As a webhook that is down.
  void hold(bool on) {
    manager().network().set_plan([on](const client::Request& request, bool) {
      client::Fault fault;
      if (!on || !starts_pod(request)) return fault;
      fault.kind = client::Fault::Kind::kAnswer;
      fault.answer = refused_by_webhook();
      return fault;
    });
  }

  static PodOptions ours() {
    PodOptions options;
    options.gated = false;
    options.scheduler = "dra";
    options.run_seconds = 100'000;
    return options;
  }
  std::shared_ptr<const api::ResourceClaim> claim_of(const std::string& pod) {
    const auto known = get_pod(pod);
    const std::vector<std::string> keys = known ? protocol::claim_keys_of(*known) : std::vector<std::string>{};
    return keys.empty() ? nullptr : cluster().watchdog().claim(keys.front());
  }
  bool proven(const std::vector<std::string>& pods) {
    return std::all_of(pods.begin(), pods.end(), [&](const std::string& pod) {
      const auto held = claim_of(pod);
      return held && protocol::is_proven(*held);
    });
  }
  std::string devices_node(const std::string& pod) { return claim_of(pod)->status.allocation->results.front().pool; }
  bool all_bound(const std::vector<std::string>& pods) {
    return std::all_of(pods.begin(), pods.end(), [&](const std::string& pod) { return bound(pod); });
  }
  // All are bound in this time; a group of them is never seen partly bound for longer than a second.
  void expect_bound_together(const std::vector<std::string>& pods, Duration limit) {
    Duration partly{};
    const bool in_time = cluster().eventually(
        [&] {
          const auto count =
              std::count_if(pods.begin(), pods.end(), [&](const std::string& pod) { return bound(pod); });
          if (count > 0 && static_cast<size_t>(count) < pods.size()) partly += std::chrono::milliseconds(20);
          return static_cast<size_t>(count) == pods.size();
        },
        cluster().plane().simulated() ? limit : limit + std::chrono::seconds(60), std::chrono::milliseconds(20));
    EXPECT_TRUE(in_time) << cluster().verdict();
    EXPECT_LE(partly, std::chrono::seconds(1));
  }
  void expect_each_bound_once(const std::vector<std::string>& pods) {
    EXPECT_EQ(writes("allocation/bind"), pods.size());
  }
};

}  // namespace dra::integration
