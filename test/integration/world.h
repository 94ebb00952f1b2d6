// World: the fixture of experiments and situations: two nodes (or nodes_) with four devices each, one class, two
// templates, and short names for common checks of tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "test/integration/cluster.h"

// For a test that needs this much time to pass, which a real control plane allows only if DRA_REAL_PATIENCE says so.
#define DRA_NEEDS_TIME(time) \
  if (!this->cluster().can_wait(time)) GTEST_SKIP() << "needs more real time than DRA_REAL_PATIENCE"

namespace dra::integration {

class World : public testing::Test {
 protected:
  // Who creates and cleans up claims: the manager alone, or kube-controller-manager's stand-in with the manager as a
  // back-up.
  enum class Claims { kOwn, kObserve };

  void begin(Claims claims = Claims::kOwn, bool manager = true, bool scheduler = true);
  void start_manager(const std::function<void(manager::ManagerOptions&)>& change = nullptr);
  void start_scheduler();

  Api& api() { return cluster_->api(); }
  Cluster& cluster() { return *cluster_; }
  Process& manager() { return cluster_->process("m1"); }
  Scheduler& scheduler() { return cluster_->scheduler(); }
  void pass(Duration time) { cluster_->pass(time); }
  // It happens. Speed does not matter: on a real control plane half a minute is soon enough.
  bool soon(const std::function<bool()>& done, Duration limit = std::chrono::seconds(10));
  // It happens within this time, which the test is about.
  bool within(Duration limit, const std::function<bool()>& done) { return cluster_->eventually(done, limit); }
  // It does not happen in this time, or in the part of it that DRA_REAL_PATIENCE allows.
  bool never(const std::function<bool()>& done, Duration limit);

  std::shared_ptr<const api::Pod> get_pod(const std::string& name) {
    return cluster_->watchdog().pod("default/" + name);
  }
  std::shared_ptr<const api::ResourceClaim> get_claim(const std::string& name) {
    return cluster_->watchdog().claim("default/" + name);
  }
  bool bound(const std::string& pod);
  bool gated(const std::string& pod);
  bool allocated(const std::string& claim);
  std::string node_of(const std::string& pod);
  // The claim published for an entry; empty if there is none.
  std::string generated(const std::string& pod, const std::string& entry = "gpu");
  std::vector<std::string> consumers(const std::string& claim);  // names
  uint64_t revision(const std::string& path);
  std::string now();
  // An allocation as another program would write it.
  void allocate(const std::string& claim, const Json& allocation, const Json& reserved_for = nullptr,
                bool finalizer = true);
  Json status_patch(const std::string& claim, const Json& status);  // the answer, success or not
  int status_code(const std::string& claim, const Json& status);
  void finish_pod(const std::string& pod, const char* phase = "Succeeded");
  std::set<std::string> reasons();  // of all events so far
  size_t writes(const std::string& point);

  std::unique_ptr<Cluster> cluster_;
  Claims claims_ = Claims::kOwn;
  bool volumes_ = false;  // read by begin(): ComponentOptions::volumes
  bool kubelets_ = true;  // read by begin(): ComponentOptions::kubelets
  bool elect_ = false;    // read by start_manager(): ProcessOptions::elect
  size_t nodes_ = 2;      // read by begin(); as many as the test's pods need
};

}  // namespace dra::integration
